//! Settles what could not be settled while its caller was there: answers that were left, cut, or
//! whose books did not answer in time.
//!
//! Room in the queue is set aside when a request is received, so handing over never waits and never
//! fails. A settlement is tried until the books take it; nothing is ever dropped.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bardo_providers::transport::Transport;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::afterwards::{Afterwards, Estimate};
use crate::lifecycle::Unsettled;
use crate::record::RequestRecord;
use crate::settlement::Message;

/// Largest number of requests in progress or waiting to be settled; more are refused.
const ROOM: usize = 16_384;
/// Number of requests that are settled at the same time.
const AT_ONCE: usize = 256;
/// The pause after the first time the books did not answer, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The queue to the settler.
pub(crate) struct Settler {
    sender: mpsc::Sender<Message>,
    receiver: Mutex<Option<mpsc::Receiver<Message>>>,
    /// Handed over and not settled.
    waiting: Arc<AtomicU64>,
}

impl Default for Settler {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(ROOM);
        Self {
            sender,
            receiver: Mutex::new(Some(receiver)),
            waiting: Arc::default(),
        }
    }
}

/// Counts one settlement for as long as it lasts.
struct Waiting(Arc<AtomicU64>);

impl Waiting {
    fn enter(count: &Arc<AtomicU64>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Settler {
    /// Sets room aside for one request; `None` when there is none.
    pub(crate) fn room(&self) -> Option<mpsc::OwnedPermit<Message>> {
        self.sender.clone().try_reserve_owned().ok()
    }

    /// Starts settling on `runtime`; once.
    pub(crate) fn start(&self, runtime: &Handle, transport: Transport) {
        let receiver = self
            .receiver
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(receiver) = receiver {
            let afterwards = Afterwards::new(transport);
            runtime.spawn(work(receiver, Arc::clone(&self.waiting), afterwards));
        }
    }

    /// How many were handed over and are not settled yet.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Answers when no request is under way and all are settled. None is let in meanwhile.
    pub(crate) async fn drain(&self) {
        let Ok(mut room) = self.sender.reserve_many(ROOM).await else {
            return;
        };
        let (done, drained) = oneshot::channel();
        if let Some(permit) = room.next() {
            permit.send(Message::Drained(done));
        }
        let _ = drained.await;
    }
}

async fn work(mut queue: mpsc::Receiver<Message>, waiting: Arc<AtomicU64>, afterwards: Afterwards) {
    let mut under_way = JoinSet::new();
    while let Some(message) = queue.recv().await {
        match message {
            Message::Settle(record) => {
                let counted = Waiting::enter(&waiting);
                while under_way.len() >= AT_ONCE {
                    under_way.join_next().await;
                }
                under_way.spawn(settle(record, counted, afterwards.clone()));
                while under_way.try_join_next().is_some() {}
            }
            Message::Drained(done) => {
                while under_way.join_next().await.is_some() {}
                let _ = done.send(());
            }
        }
    }
    while under_way.join_next().await.is_some() {}
}

async fn settle(record: Box<RequestRecord>, _counted: Waiting, afterwards: Afterwards) {
    let mut ended = Unsettled::resume(record).counted().await;
    let mut pause = FIRST_PAUSE;
    while let Err(error) = ended.settle().await {
        let record = ended.record();
        let id = &record.receipt().request_id;
        record.services().sink.settling_delayed(id.as_str());
        tracing::warn!(%id, %error, "the charge is not stored yet; the gateway tries again");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    if let Some(estimate) = Estimate::of(ended.record()) {
        afterwards.look_up(estimate);
    }
    ended.forget();
}
