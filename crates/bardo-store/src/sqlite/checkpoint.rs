//! The thread that moves the journal into the file, so that the writer never waits for the disk
//! to do so.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::schema::{Tuning, open_writer};

/// How often it looks.
const EVERY: Duration = Duration::from_secs(1);
/// A journal of so many pages is begun anew, for which the writer has to wait a moment.
const LONG: i64 = 8_000;

#[derive(Debug)]
pub(super) struct Checkpointer {
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    pub(super) fn start(path: PathBuf, tuning: Tuning) -> std::io::Result<Self> {
        let (stop, stopped) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("ledger-move".to_owned())
            .spawn(move || run(&path, tuning, &stopped))?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing left to do; the writer moves the journal itself
            // when it gets too long.
            let _ = thread.join();
        }
    }
}

fn run(path: &std::path::Path, tuning: Tuning, stopped: &Receiver<()>) {
    let mut open: Option<Connection> = None;
    while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
        if open.is_none() {
            open = open_writer(path, tuning).ok();
        }
        if let Some(connection) = &open
            && let Err(error) = check(connection)
        {
            // What is in the journal is safe there.
            tracing::debug!(%error, "the ledger's journal was not moved into its file");
        }
    }
}

/// Moves all it can without holding anybody up. Under steady writing that is never all, so a long
/// journal is then finished while the writer waits.
fn check(connection: &Connection) -> rusqlite::Result<()> {
    let pages: i64 =
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(1))?;
    if pages > LONG {
        connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(()))?;
    }
    Ok(())
}
