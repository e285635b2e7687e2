//! Hearing of changes of keys that other processes make.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use bardo_ledger::StoreError;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_postgres::{AsyncMessage, Client};

use super::arguments::Statement;
use super::failure::classify;
use super::pool::PostgresPool;
use super::rows::{get, one};
use crate::thread::StoreThread;

/// How long it takes at most to listen again after the connection was lost.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// A number that rises with every change of a key that is heard of.
#[derive(Debug, Clone, Default)]
pub(super) struct Revision(Arc<RevisionState>);

#[derive(Debug, Default)]
struct RevisionState {
    ours: AtomicU64,
    /// The database's own number, as it was seen last. It may fall, where a backup is restored.
    seen: AtomicI64,
}

impl Revision {
    /// Listens for notices, and asks now and then in case one was lost.
    pub(super) fn watch(thread: &StoreThread, pool: &Arc<PostgresPool>, poll: Duration) -> Self {
        let revision = Self::default();
        thread.spawn(watch(revision.clone(), Arc::clone(pool), poll));
        revision
    }

    pub(super) fn get(&self) -> u64 {
        self.0.ours.load(Ordering::Acquire)
    }

    /// Takes note of the database's number.
    pub(super) fn observe(&self, number: i64) {
        if self.0.seen.swap(number, Ordering::AcqRel) != number {
            self.0.ours.fetch_add(1, Ordering::AcqRel);
        }
    }

    async fn ask(&self, pool: &PostgresPool) -> Result<(), StoreError> {
        let command = Statement::new("SELECT revision FROM bardo.key_revision", Vec::new());
        let rows = pool.run(&command).await?;
        self.observe(get(one(&rows)?, "revision")?);
        Ok(())
    }
}

async fn watch(revision: Revision, pool: Arc<PostgresPool>, poll: Duration) {
    loop {
        if let Ok((_client, mut listening)) = listen(&revision, &pool).await {
            // Asked after listening has begun, so that no change falls between the two. What is
            // not answered now is asked again.
            let _ = revision.ask(&pool).await;
            // The handle may be waited for again after the other arm was taken.
            while tokio::select! {
                () = sleep(poll) => true,
                _ = &mut listening => false,
            } {
                let _ = revision.ask(&pool).await;
            }
        } else {
            let _ = revision.ask(&pool).await;
        }
        sleep(poll.min(PAUSE_MAX)).await;
    }
}

/// A connection that hears of changes until its task ends.
async fn listen(
    revision: &Revision,
    pool: &PostgresPool,
) -> Result<(Client, JoinHandle<()>), StoreError> {
    let (client, mut connection) = pool.open_with_connection().await?;
    let revision = revision.clone();
    let task = tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(notice) = message
                && let Ok(number) = notice.payload().parse()
            {
                revision.observe(number);
            }
        }
    });
    client
        .batch_execute("LISTEN bardo_keys")
        .await
        .map_err(|error| classify(&error).into_error())?;
    Ok((client, task))
}
