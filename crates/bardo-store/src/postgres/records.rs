//! Receipts that move no money: kept in batches, beside the requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bardo_ledger::{ReceiptRecord, StoreError};
use bardo_types::money::MicroUsd;
use tokio::sync::{mpsc, watch};

use super::arguments::{Argument, Statement, clean, short, signed};
use super::pool::PostgresPool;
use crate::thread::StoreThread;

const BATCH_MAX: usize = 256;
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// Takes receipts and keeps them when the database has time. Where more wait than there is room
/// for, new ones are dropped and counted.
#[derive(Debug)]
pub(super) struct Records {
    queue: mpsc::Sender<(ReceiptRecord, Underway)>,
    dropped: Arc<AtomicU64>,
    underway: watch::Sender<u64>,
}

/// One thing that nobody waits for, but the end of the process should.
#[derive(Debug)]
pub(super) struct Underway(watch::Sender<u64>);

impl Drop for Underway {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl Records {
    pub(super) fn start(thread: &StoreThread, pool: Arc<PostgresPool>, room: usize) -> Self {
        let (queue, waiting) = mpsc::channel(room.max(1));
        let dropped = Arc::new(AtomicU64::new(0));
        thread.spawn(keep_all(waiting, pool, Arc::clone(&dropped)));
        Self {
            queue,
            dropped,
            underway: watch::Sender::new(0),
        }
    }

    pub(super) fn push(&self, record: ReceiptRecord) {
        if self.queue.try_send((record, self.enter())).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Says that something is under way until the answer is dropped.
    pub(super) fn enter(&self) -> Underway {
        self.underway.send_modify(|count| *count += 1);
        Underway(self.underway.clone())
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits until nothing is under way.
    pub(super) async fn drain(&self) {
        // Fails only where the sender is gone, and it is here.
        let _ = self
            .underway
            .subscribe()
            .wait_for(|count| *count == 0)
            .await;
    }
}

async fn keep_all(
    mut waiting: mpsc::Receiver<(ReceiptRecord, Underway)>,
    pool: Arc<PostgresPool>,
    dropped: Arc<AtomicU64>,
) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    while waiting.recv_many(&mut batch, BATCH_MAX).await > 0 {
        if let Err(StoreError::Damaged(_)) = keep(&pool, &batch).await {
            // One of them is not taken; the others are not lost with it.
            for each in batch.chunks(1) {
                if let Err(error) = keep(&pool, each).await {
                    let request = each.first().map(|(record, _)| record.request.as_str());
                    tracing::error!(%error, request, "the database refused a receipt");
                    dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        batch.clear();
    }
}

/// Tries until the database answers.
async fn keep(pool: &PostgresPool, batch: &[(ReceiptRecord, Underway)]) -> Result<(), StoreError> {
    let mut pause = PAUSE_MIN;
    loop {
        match pool.run(&command(batch)).await {
            Ok(_) => return Ok(()),
            Err(StoreError::Unavailable(_)) => {}
            Err(damaged) => return Err(damaged),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

fn command(batch: &[(ReceiptRecord, Underway)]) -> Statement {
    let (mut all_texts, mut all_numbers) = (Vec::new(), Vec::new());
    for (record, _) in batch {
        all_texts.extend(texts(record));
        all_numbers.extend(numbers(record));
    }
    Statement::new(
        "SELECT bardo.keep_receipts($1, $2, $3)",
        vec![
            super::arguments::number(batch.len() as u64),
            Argument::Texts(Some(all_texts)),
            Argument::Numbers(Some(all_numbers)),
        ],
    )
}

/// A receipt as `bardo.settle` takes it, or none.
pub(super) fn arguments(record: Option<&ReceiptRecord>) -> [Argument; 2] {
    [
        Argument::Texts(record.map(|record| texts(record).into())),
        Argument::Numbers(record.map(|record| {
            let list_price = record.list_price().map(|price| signed(price.get()));
            numbers(record).into_iter().chain([list_price]).collect()
        })),
    ]
}

/// The last three are numbers: those that settling takes by their places stay as they were.
fn texts(record: &ReceiptRecord) -> [Option<String>; 13] {
    [
        Some(record.account.to_string()),
        Some(record.request.to_string()),
        record.client_request_id.as_deref().map(short),
        record.key.as_ref().map(ToString::to_string),
        Some(short(&record.model)),
        Some(short(&record.provider)),
        Some(record.outcome.to_owned()),
        Some(clean(&record.json.json())),
        record.subsystem.as_deref().map(short),
        record.session.as_deref().map(short),
        Some(signed(record.prompt_cache.read_tokens).to_string()),
        Some(signed(record.prompt_cache.written_tokens).to_string()),
        Some(record.prompt_cache.saved.get().to_string()),
    ]
}

fn numbers(record: &ReceiptRecord) -> [Option<i64>; 6] {
    [
        Some(record.at_ms),
        Some(record.input_tokens),
        Some(record.output_tokens),
        record.provider_cost.map(MicroUsd::get),
        Some(record.charge.get()),
        Some(record.savings.get()),
    ]
    .map(|number| number.map(signed))
}
