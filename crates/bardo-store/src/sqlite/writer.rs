//! The thread that writes: everything that waits goes into one transaction, and is answered when
//! that is on disk.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bardo_access::KeyRecord;
use bardo_ledger::{Balance, Deposit, Refusal, StoreError};
use bardo_types::clock::Clock;
use bardo_types::ids::{AccountId, RequestId};
use rusqlite::Connection;

use super::Faults;
use super::batch::{Answer, Batch, Chores, Known, Plan};
use super::changes;
use super::error::{gone, store_error};
use super::journal::{self, AuditRow, Deposited};
use super::keys::{self, Written};
use super::loading;
use super::shared::{Action, Command, Shared, Wake};

/// Commands in one transaction.
const BATCH: usize = 1_024;
/// How often it looks for changes by other processes, and for holds that need a row.
const TICK: Duration = Duration::from_millis(50);
/// Transactions begin at least this far apart, so that under load each carries more. An idle store
/// answers at once.
const PACE: Duration = Duration::from_millis(2);
/// How often counters of windows that are over are dropped.
const SWEEP: Duration = Duration::from_secs(600);
/// A window may be used this long after its end, by clocks that are late.
const LATE_MS: u64 = 86_400_000;
/// Receipts that are deleted in one transaction.
pub(super) const PRUNE: u64 = 500;

pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) shared: Arc<Shared>,
    pub(super) known: Known,
    /// The last change by another process that was read.
    pub(super) seen: i64,
    pub(super) actor: String,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) faults: Option<Faults>,
    /// How many transactions were tried.
    pub(super) tries: u64,
}

impl Writer {
    /// Serves until the store is closed.
    pub(super) fn run(mut self) {
        let mut pace = Instant::now();
        let mut tick = Instant::now() + TICK;
        let mut sweep = Instant::now() + SWEEP;
        loop {
            let wake = self.shared.wait(pace, tick);
            let now = Instant::now();
            if wake == Wake::Tick || now >= tick {
                tick = now + TICK;
            }
            match wake {
                Wake::Commands => {
                    pace = now + PACE;
                    self.round(Chores::Due);
                }
                Wake::Tick => self.idle(),
                Wake::Last => {
                    // Where nothing can be written, nobody was told that it was.
                    if !self.round(Chores::All) || self.shared.lock().is_idle() {
                        return;
                    }
                }
                #[cfg(test)]
                Wake::Now => return,
            }
            if now >= sweep {
                sweep = now + SWEEP;
                self.shared
                    .lock()
                    .sweep(self.clock.now_ms().saturating_sub(LATE_MS));
            }
        }
    }

    /// Nobody waits: writes what is due, or finds out whether writing works again, or only looks
    /// what others did.
    fn idle(&mut self) {
        let (has_chores, is_failing) = {
            let core = self.shared.lock();
            (core.has_chores(), core.failing.is_some())
        };
        if has_chores || is_failing {
            self.round(Chores::Due);
            return;
        }
        if let Err(error) = self.read_changes() {
            tracing::warn!(%error, "the ledger cannot be read");
        }
    }

    /// One transaction with everything that waits; answers whether it could be written.
    fn round(&mut self, chores: Chores) -> bool {
        let commands: Vec<Command> = {
            let mut core = self.shared.lock();
            let count = core.commands.len().min(BATCH);
            core.commands.drain(..count).collect()
        };
        let (actions, places): (Vec<Action>, Vec<_>) = commands
            .into_iter()
            .map(|command| (command.action, command.place))
            .unzip();
        match self.attempt(&actions, chores) {
            Ok(answers) => {
                self.works_again();
                for ((action, answer), place) in actions.into_iter().zip(answers).zip(places) {
                    self.answer(action, answer, place);
                }
                true
            }
            Err(StoreError::Damaged(why)) if !actions.is_empty() => {
                // One of them is impossible. The others must not suffer for it.
                tracing::error!(
                    why,
                    "a write to the ledger was impossible; trying one by one"
                );
                for (action, place) in actions.into_iter().zip(places) {
                    match self.attempt(std::slice::from_ref(&action), Chores::No) {
                        Ok(mut answers) => {
                            let answer = answers.pop().expect("one action has one answer");
                            self.answer(action, answer, place);
                        }
                        Err(error) => refuse(action, &error),
                    }
                }
                true
            }
            Err(error) => {
                self.fails(&error);
                for action in actions {
                    refuse(action, &error);
                }
                false
            }
        }
    }

    /// Tries to write; on an error nothing has happened, in the file or in the books.
    fn attempt(&mut self, actions: &[Action], chores: Chores) -> Result<Vec<Answer>, StoreError> {
        self.execute("BEGIN IMMEDIATE")?;
        let mut batch = Batch::default();
        let written = self
            .read_changes()
            .and_then(|()| self.recall(actions))
            .and_then(|()| {
                let mut core = self.shared.lock();
                batch = Batch::plan(&mut core, &self.known, actions, chores);
                drop(core);
                self.write(&mut batch, actions)
            })
            .and_then(|()| self.commit());
        if let Err(error) = written {
            self.roll_back();
            batch.abandon(&mut self.shared.lock());
            return Err(error);
        }
        self.known.committed(std::mem::take(&mut batch.rows));
        if batch.keys_changed {
            self.shared.revision.fetch_add(1, Ordering::Release);
        }
        Ok(batch.finish(&mut self.shared.lock(), actions))
    }

    fn write(&mut self, batch: &mut Batch, actions: &[Action]) -> Result<(), StoreError> {
        let failing = |error: rusqlite::Error| store_error(&error);
        let mut plans = std::mem::take(&mut batch.plans);
        let mut result = Ok(());
        for (plan, action) in plans.iter_mut().zip(actions) {
            if matches!(plan, Plan::Open) {
                match self.perform(batch, action) {
                    Ok(answer) => *plan = Plan::Answered(answer),
                    Err(error) => {
                        result = Err(failing(error));
                        break;
                    }
                }
            }
        }
        batch.plans = plans;
        result?;
        if actions.is_empty() && self.shared.lock().failing.is_some() {
            self.execute("UPDATE probe SET tries = tries + 1")?;
        }
        batch
            .write(&self.connection, &mut self.known, actions)
            .map_err(failing)
    }

    /// What no hold is involved in.
    fn perform(&mut self, batch: &mut Batch, action: &Action) -> rusqlite::Result<Answer> {
        match action {
            Action::Deposit(command, _) => {
                let answer = self.deposit(batch, command)?;
                Ok(Answer::Deposited(answer))
            }
            Action::InsertKey(record, _) => self.key(batch, record, keys::CREATED),
            Action::UpdateKey(record, _) => self.key(batch, record, keys::CHANGED),
            Action::Prune(before_ms, _) => {
                journal::prune(&self.connection, *before_ms, PRUNE).map(Answer::Pruned)
            }
            Action::Settle(..) | Action::Persist(..) | Action::Refresh(_) => Ok(Answer::Done),
        }
    }

    fn deposit(
        &mut self,
        batch: &mut Batch,
        command: &Deposit,
    ) -> rusqlite::Result<Result<Balance, Refusal>> {
        let account = self.known.number(&self.connection, &command.account)?;
        match journal::deposit(&self.connection, account, command)? {
            Deposited::Overflow => return Ok(Err(Refusal::Overflow)),
            Deposited::Before => {}
            Deposited::Now => journal::audit(
                &self.connection,
                &AuditRow::of_deposit(&self.actor, command),
            )?,
        }
        let row = loading::account(&self.connection, &command.account)?;
        let (deposited, spent) = row.unwrap_or_default();
        batch
            .deposits
            .push((command.account.clone(), deposited, spent));
        // The balance is known when the books have it: see `answer`.
        Ok(Ok(Balance::default()))
    }

    fn key(
        &mut self,
        batch: &mut Batch,
        record: &KeyRecord,
        action: &'static str,
    ) -> rusqlite::Result<Answer> {
        let now_ms = self.clock.now_ms();
        let written = keys::write(&self.connection, record, action, &self.actor, now_ms)?;
        batch.keys_changed |= written == Written::Done;
        Ok(Answer::Key(written))
    }

    /// Reads what other processes did, and puts it into the books.
    fn read_changes(&mut self) -> Result<(), StoreError> {
        let read = changes::read(&self.connection, &self.shared, &mut self.known, self.seen);
        self.seen = read.map_err(|error| store_error(&error))?;
        Ok(())
    }

    /// Puts accounts and ends into the books that they do not remember.
    fn recall(&mut self, actions: &[Action]) -> Result<(), StoreError> {
        let forgotten: Vec<(&AccountId, &RequestId, u64)> = {
            let core = self.shared.lock();
            actions
                .iter()
                .filter_map(|action| match action {
                    Action::Settle(command, _) => Some(command),
                    _ => None,
                })
                .filter(|command| !core.book.knows(&command.account, &command.request))
                .map(|command| (&command.account, &command.request, command.now_ms))
                .collect()
        };
        for (account, request, now_ms) in forgotten {
            loading::end(&self.connection, &self.shared, account, request, now_ms)
                .map_err(|error| store_error(&error))?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.tries += 1;
        if self
            .faults
            .as_ref()
            .is_some_and(|faults| faults.fails(self.tries))
        {
            return Err(StoreError::Unavailable(
                "this write was told to fail".to_owned(),
            ));
        }
        self.execute("COMMIT")
    }

    fn roll_back(&mut self) {
        self.known.rolled_back();
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "a transaction of the ledger could not be rolled back");
        }
    }

    fn execute(&self, statement: &str) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(statement)
            .and_then(|mut statement| statement.execute([]))
            .map(|_| ())
            .map_err(|error| store_error(&error))
    }

    fn fails(&self, error: &StoreError) {
        let before = self.shared.lock().failing.replace(error.clone());
        if before.is_none() {
            tracing::error!(%error, "the ledger cannot be written; no money is held until it can");
        }
    }

    fn works_again(&self) {
        if self.shared.lock().failing.take().is_some() {
            tracing::warn!("the ledger can be written again");
        }
    }

    fn answer(&self, action: Action, answer: Answer, place: tokio::sync::OwnedSemaphorePermit) {
        // Whoever asked may have gone; what was asked for is done all the same.
        match (action, answer) {
            (action @ Action::Settle(..), Answer::Again) => {
                let mut core = self.shared.lock();
                core.commands.push_front(Command { action, place });
            }
            (Action::Settle(_, reply), Answer::Settled(settled)) => {
                let _ = reply.send(Ok(settled));
            }
            (Action::Deposit(command, reply), Answer::Deposited(answer)) => {
                let balance = self.shared.lock().book.balance(&command.account);
                let _ = reply.send(Ok(answer.map(|_| balance.unwrap_or_default())));
            }
            (Action::InsertKey(_, reply) | Action::UpdateKey(_, reply), Answer::Key(written)) => {
                let _ = reply.send(Ok(written));
            }
            (Action::Prune(_, reply), Answer::Pruned(count)) => {
                let _ = reply.send(Ok(count));
            }
            (Action::Persist(_, reply) | Action::Refresh(reply), _) => {
                let _ = reply.send(Ok(()));
            }
            (action, _) => refuse(action, &gone()),
        }
    }
}

fn refuse(action: Action, error: &StoreError) {
    let error = error.clone();
    match action {
        Action::Settle(_, reply) => drop(reply.send(Err(error))),
        Action::Deposit(_, reply) => drop(reply.send(Err(error))),
        Action::Persist(_, reply) | Action::Refresh(reply) => drop(reply.send(Err(error))),
        Action::InsertKey(_, reply) | Action::UpdateKey(_, reply) => drop(reply.send(Err(error))),
        Action::Prune(_, reply) => drop(reply.send(Err(error))),
    }
}
