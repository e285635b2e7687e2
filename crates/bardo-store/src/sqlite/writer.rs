//! The thread that writes the database: what the journal has gathered, in bulk, and what goes there
//! at once: deposits and keys.

mod carrying;
mod direct;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bardo_ledger::series::RolledUp;
use bardo_ledger::{Settle, Settled, StoreError};
use bardo_types::clock::Clock;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::apply::{self, RowMemory};
use super::changes;
use super::error::{gone, store_error};
use super::group::SettleDecision;
use super::loading;
use super::shared::{Shared, Wake, WriterAction, WriterCommand};

/// Commands in one transaction.
const BATCH: usize = 1_024;
/// How often it looks for changes by other processes, and for holds that are to be written down.
const TICK: Duration = Duration::from_millis(50);
/// How long what is in the journal gathers before it goes into the database.
const GATHER: Duration = Duration::from_millis(250);
/// Number of journal entries that go into the database without waiting for [`GATHER`].
const MANY: usize = 2_048;
/// Largest number of entries in one transaction; all its pages stay in memory until its end.
const MOST: usize = 8_192;
/// Transactions of commands begin at least this far apart, so that under load each carries more. An
/// idle store answers at once.
const PACE: Duration = Duration::from_millis(2);
/// A journal that is longer is begun anew, for which all settling waits a moment.
const LONG: u64 = 8 << 20;
/// How often SQLite moves its own log into its file.
const CHECKPOINT: Duration = Duration::from_secs(1);
/// How often counters of windows that are over are dropped.
const SWEEP: Duration = Duration::from_secs(600);
/// A window may be used this long after its end, by clocks that are late.
const LATE_MS: u64 = 86_400_000;
/// Receipts that are deleted in one transaction.
pub(super) const PRUNE: u64 = 500;

pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) shared: Arc<Shared>,
    pub(super) known: RowMemory,
    /// The number of the last entry of the journal that the database has.
    pub(super) applied: u64,
    /// The last change by another process that was read.
    pub(super) seen: i64,
    pub(super) actor: String,
    pub(super) clock: Arc<dyn Clock>,
    /// Something was written since SQLite's log was last moved.
    pub(super) has_log: bool,
}

/// When something is due.
struct Times {
    pace: Instant,
    tick: Instant,
    apply: Instant,
    checkpoint: Instant,
    sweep: Instant,
}

impl Writer {
    /// Serves until the store is closed.
    pub(super) fn run(mut self) {
        let now = Instant::now();
        let mut times = Times {
            pace: now,
            tick: now + TICK,
            apply: now + GATHER,
            checkpoint: now + CHECKPOINT,
            sweep: now + SWEEP,
        };
        loop {
            let wake = self.shared.wait(times.pace, times.tick);
            let now = Instant::now();
            match wake {
                Wake::Commands => {
                    times.pace = now + PACE;
                    self.round();
                }
                Wake::Tick => {}
                Wake::Last => {
                    self.finish();
                    return;
                }
                #[cfg(test)]
                Wake::Now => return,
            }
            if now >= times.tick {
                times.tick = now + TICK;
                self.tick(now, &mut times);
            }
        }
    }

    /// Does the work that is due from time to time, whatever commands wait.
    fn tick(&mut self, now: Instant, times: &mut Times) {
        let (has_group, is_failing, count) = {
            let mut core = self.shared.lock();
            core.write_old_holds(false);
            (
                !core.group.is_empty() || core.journal_failing.is_some(),
                core.failing.is_some(),
                core.unapplied.len() + core.records.len(),
            )
        };
        if has_group {
            let core = self.shared.lead();
            self.shared.write_and_step_down(core);
        }
        let is_due = now >= times.apply || count >= MANY;
        if is_failing || (count > 0 && is_due) {
            times.apply = now + GATHER;
            // A failure is told where it is found.
            let _ = self.apply();
        } else if let Err(error) = self.read_changes() {
            tracing::warn!(%error, "cannot read the ledger");
        }
        self.shorten(LONG);
        if now >= times.checkpoint && self.has_log {
            times.checkpoint = now + CHECKPOINT;
            self.move_log();
        }
        if now >= times.sweep {
            times.sweep = now + SWEEP;
            self.sweep();
        }
    }

    /// Writes all there is, before the end. Where it cannot be written, nobody was told that it was,
    /// or it is in the journal.
    fn finish(&mut self) {
        loop {
            self.round();
            self.shared.lock().write_old_holds(true);
            let core = self.shared.lead();
            self.shared.write_and_step_down(core);
            if self.apply().is_err() || self.shared.lock().is_idle() {
                break;
            }
        }
        self.shorten(0);
    }

    /// Does what is asked of the database.
    fn round(&mut self) {
        let mut commands = Vec::new();
        {
            let mut core = self.shared.lock();
            let count = core.commands.len().min(BATCH);
            commands.extend(core.commands.drain(..count));
        }
        let mut direct = Vec::new();
        let mut refreshes = Vec::new();
        for WriterCommand { action, place } in commands {
            match action {
                WriterAction::Settle(command, reply) => {
                    let _ = reply.send(self.settle(*command));
                    drop(place);
                }
                WriterAction::AddUp(_, reply) if !self.known.series.is_some() => {
                    let _ = reply.send(Ok(RolledUp::default()));
                    drop(place);
                }
                WriterAction::Refresh(reply) => refreshes.push((reply, place)),
                action => direct.push((action, place)),
            }
        }
        if !direct.is_empty() {
            let (actions, places): (Vec<_>, Vec<_>) = direct.into_iter().unzip();
            self.perform_all(actions);
            drop(places);
        }
        if !refreshes.is_empty() {
            let refreshed = self.refresh();
            for (reply, _) in refreshes {
                let _ = reply.send(refreshed.clone());
            }
        }
    }

    /// Brings the database up to date, and the books.
    fn refresh(&mut self) -> Result<(), StoreError> {
        let has_group = {
            let mut core = self.shared.lock();
            core.write_old_holds(false);
            !core.group.is_empty()
        };
        if has_group {
            let core = self.shared.lead();
            self.shared.write_and_step_down(core);
        }
        self.apply()?;
        self.read_changes()
    }

    /// Begins the journal anew if it is longer than that and all of it is in the database.
    fn shorten(&mut self, limit: u64) {
        let shared = Arc::clone(&self.shared);
        let journal = || {
            shared
                .journal
                .lock()
                .expect("nothing panics while it writes")
        };
        let length = journal().length();
        if length <= limit || self.shared.lock().failing.is_some() {
            return;
        }
        // Nobody writes meanwhile, so there is an end to it.
        drop(self.shared.lead());
        if self.apply().is_ok() && journal().last() == self.applied {
            if (1..=2 * limit).contains(&length) {
                journal().rewind();
            } else if let Err(error) = journal().clear() {
                tracing::warn!(%error, "the journal keeps what the database has too");
            }
        }
        let core = self.shared.lock();
        self.shared.write_and_step_down(core);
    }

    /// Moves SQLite's own log into its file as far as nobody reads it. What is in the log is safe
    /// there.
    fn move_log(&mut self) {
        let moved = self
            .connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        match moved {
            Ok(()) => self.has_log = false,
            Err(error) => tracing::debug!(%error, "cannot move the ledger's log into its file"),
        }
    }

    /// Drops counters that nobody needs. What is read again later has to be in the database by then.
    fn sweep(&mut self) {
        drop(self.shared.lead());
        let applied = self.apply();
        let mut core = self.shared.lock();
        if applied.is_ok() {
            core.sweep(self.clock.now_ms().saturating_sub(LATE_MS));
        }
        self.shared.write_and_step_down(core);
    }

    /// Ends a hold of which the books know nothing, or which another process may end as well: the
    /// database is locked from before it is looked at until it has the end.
    fn settle(&mut self, command: Settle) -> Result<Settled, StoreError> {
        self.begin()?;
        let (account, request) = (&command.account, &command.request);
        let looked = self.read_changes().and_then(|()| {
            if self.shared.lock().book.knows(account, request) {
                return Ok(());
            }
            let shared = &self.shared;
            loading::end(&self.connection, shared, account, request, command.now_ms)
                .map_err(|error| store_error(&error))
        });
        if let Err(error) = looked {
            self.roll_back();
            return Err(self.fails(error));
        }
        let answer = self.end(command);
        // The answer stands, whatever becomes of this: the journal has it.
        let _ = self.carry_over();
        answer
    }

    fn end(&self, command: Settle) -> Result<Settled, StoreError> {
        let mut command = Some(Box::new(command));
        while let Some(asked) = command.take() {
            // As the leader, because then no other caller ends a hold.
            let mut core = self.shared.lead();
            let (reply, mut answer) = oneshot::channel();
            let outcome = core.decide(*asked, Some(reply));
            self.shared.write_and_step_down(core);
            match outcome {
                SettleDecision::Settled(settled) => return Ok(settled),
                SettleDecision::Ending(again) => command = Some(again),
                SettleDecision::Queued => return answer.try_recv().unwrap_or_else(|_| Err(gone())),
            }
        }
        Err(gone())
    }

    /// Reads what other processes did, and puts it into the books.
    fn read_changes(&mut self) -> Result<(), StoreError> {
        let read = changes::read(&self.connection, &self.shared, &mut self.known, self.seen);
        self.seen = read.map_err(|error| store_error(&error))?;
        Ok(())
    }

    fn begin(&self) -> Result<(), StoreError> {
        self.execute("BEGIN IMMEDIATE")
            .map_err(|error| self.fails(store_error(&error)))
    }

    fn commit(&mut self) -> Result<(), WriterFailure> {
        self.shared.drill.check().map_err(WriterFailure::Store)?;
        self.execute("COMMIT").map_err(WriterFailure::of)?;
        self.has_log = true;
        Ok(())
    }

    fn roll_back(&mut self) {
        self.known.rolled_back();
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "cannot roll back a transaction of the ledger");
        }
    }

    fn execute(&self, statement: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(statement)?.execute([])?;
        Ok(())
    }

    fn fails(&self, error: StoreError) -> StoreError {
        let before = self.shared.lock().failing.replace(error.clone());
        if before.is_none() {
            tracing::error!(%error, "cannot write the ledger; requests that cost money are refused until it \
                works again");
        }
        error
    }
}

/// Why a transaction was not carried out.
enum WriterFailure {
    /// No row may say this.
    Impossible(rusqlite::Error),
    Store(StoreError),
}

impl WriterFailure {
    fn of(error: rusqlite::Error) -> Self {
        if apply::is_impossible(&error) {
            Self::Impossible(error)
        } else {
            Self::Store(store_error(&error))
        }
    }

    fn store(self) -> StoreError {
        match self {
            Self::Impossible(error) => store_error(&error),
            Self::Store(error) => error,
        }
    }
}
