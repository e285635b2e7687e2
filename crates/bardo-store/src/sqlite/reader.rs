//! Threads that read, so that a long look never holds up the writer, and one that changes claims.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use bardo_ledger::StoreError;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::error::{gone, store_error};
use super::schema::{Tuning, open_reader, open_writer};

/// Looks that wait; one more is refused.
const QUEUE: usize = 1024;

type OpenConnection = fn(&Path, Tuning) -> Result<Connection, StoreError>;
type ReadJob = Box<dyn FnOnce(Result<&mut Connection, StoreError>) + Send>;

/// Runs closures over connections, one after the other on each.
#[derive(Debug)]
pub(super) struct Readers {
    /// Short looks: one row, one account.
    short: Worker,
    /// Long ones: sums over receipts, verification.
    long: Worker,
    /// Changes of claims, on a connection that writes.
    change: Worker,
}

/// How long a look takes, as far as can be told.
#[derive(Debug, Clone, Copy)]
pub(super) enum Length {
    /// The query reads a few rows by an index.
    Short,
    /// The query may read whole tables.
    Long,
    /// The job is a short transaction that writes.
    Change,
}

#[derive(Debug)]
struct Worker {
    looks: Option<SyncSender<ReadJob>>,
    thread: Option<JoinHandle<()>>,
}

impl Readers {
    pub(super) fn start(path: PathBuf, tuning: Tuning) -> std::io::Result<Self> {
        Ok(Self {
            short: Worker::start("ledger-read", path.clone(), tuning, read_only)?,
            long: Worker::start("ledger-sum", path.clone(), tuning, read_only)?,
            change: Worker::start("ledger-claims", path, tuning, writing)?,
        })
    }

    /// Runs `look` on a reading thread and answers what it found.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        length: Length,
        look: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let worker = match length {
            Length::Short => &self.short,
            Length::Long => &self.long,
            Length::Change => &self.change,
        };
        let (answer, answered) = oneshot::channel();
        worker.send(Box::new(move |connection| {
            let found =
                connection.and_then(|connection| look(connection).map_err(|e| store_error(&e)));
            // Nobody waits for it any more; the look had no effect.
            let _ = answer.send(found);
        }))?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }
}

impl Worker {
    fn start(
        name: &str,
        path: PathBuf,
        tuning: Tuning,
        open: OpenConnection,
    ) -> std::io::Result<Self> {
        let (looks, waiting) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || serve(&path, tuning, open, &waiting))?;
        Ok(Self {
            looks: Some(looks),
            thread: Some(thread),
        })
    }

    fn send(&self, look: ReadJob) -> Result<(), StoreError> {
        let looks = self.looks.as_ref().ok_or_else(gone)?;
        looks.try_send(look).map_err(|error| match error {
            TrySendError::Full(_) => {
                StoreError::Unavailable("too many reads are waiting".to_owned())
            }
            TrySendError::Disconnected(_) => gone(),
        })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.looks = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing left to give back.
            let _ = thread.join();
        }
    }
}

/// Serves until the sender is gone. The connection is opened when it is first needed, and again
/// after a failure to open, so that a store that comes back is used again.
fn serve(path: &Path, tuning: Tuning, opens: OpenConnection, looks: &Receiver<ReadJob>) {
    let mut open: Option<Connection> = None;
    while let Ok(look) = looks.recv() {
        if open.is_none() {
            match opens(path, tuning) {
                Ok(connection) => open = Some(connection),
                Err(error) => {
                    look(Err(error));
                    continue;
                }
            }
        }
        if let Some(connection) = open.as_mut() {
            look(Ok(connection));
        }
    }
}

fn read_only(path: &Path, tuning: Tuning) -> Result<Connection, StoreError> {
    open_reader(path, tuning).map_err(|error| store_error(&error))
}

fn writing(path: &Path, tuning: Tuning) -> Result<Connection, StoreError> {
    open_writer(path, tuning).map_err(|error| StoreError::Unavailable(error.to_string()))
}
