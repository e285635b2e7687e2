//! What goes into the database at once: deposits, keys, and receipts that are old.

use std::sync::atomic::Ordering;

use bardo_access::KeyRecord;
use bardo_ledger::series::RolledUp;
use bardo_ledger::{Balance, Deposit, LedgerRefusal, Reserve, StoreError};
use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;

use super::{PRUNE, Writer, WriterFailure};
use crate::sqlite::apply;
use crate::sqlite::error::gone;
use crate::sqlite::keys::{self, KeyWrite};
use crate::sqlite::loading;
use crate::sqlite::rows::{self, AuditRow, Deposited};
use crate::sqlite::series;
use crate::sqlite::shared::WriterAction;

/// The result of a command.
enum CommandResult {
    Deposited(Result<Balance, LedgerRefusal>),
    Key(KeyWrite),
    Pruned(u64),
    RolledUp(bool),
    AddedUp(RolledUp),
    Done,
}

/// The effects of a transaction of commands that count once it is committed.
#[derive(Default)]
struct Batch {
    /// Accounts as their rows say, for the books.
    deposits: Vec<(AccountId, MicroUsd, MicroUsd)>,
    /// Holds of deposits, promised in the books until the transaction is committed, and whether
    /// each deposit is new.
    holds: Vec<(Reserve, bool)>,
    keys_changed: bool,
}

impl Writer {
    /// Does these in one transaction, and answers them.
    pub(super) fn perform_all(&mut self, actions: Vec<WriterAction>) {
        match self.attempt(&actions) {
            Ok(answers) => {
                for (action, answer) in actions.into_iter().zip(answers) {
                    self.answer(action, answer);
                }
            }
            Err(WriterFailure::Impossible(error)) => {
                // One of them is impossible. The others must not suffer for it.
                tracing::error!(%error, "a group of writes to the ledger failed; trying each write alone");
                for action in actions {
                    match self.attempt(std::slice::from_ref(&action)) {
                        Ok(mut answers) => {
                            let answer = answers.pop().expect("one action has one answer");
                            self.answer(action, answer);
                        }
                        Err(failure) => refuse(action, &failure.store()),
                    }
                }
            }
            Err(WriterFailure::Store(error)) => {
                let error = self.fails(error);
                for action in actions {
                    refuse(action, &error);
                }
            }
        }
    }

    /// Tries to do them; on an error nothing has happened, in the file or in the books.
    fn attempt(&mut self, actions: &[WriterAction]) -> Result<Vec<CommandResult>, WriterFailure> {
        self.begin().map_err(WriterFailure::Store)?;
        let mut batch = Batch::default();
        let answers: rusqlite::Result<Vec<CommandResult>> = actions
            .iter()
            .map(|action| self.perform(&mut batch, action))
            .collect();
        let answers = answers.map_err(WriterFailure::of).and_then(|answers| {
            self.commit()?;
            Ok(answers)
        });
        if answers.is_err() {
            self.roll_back();
            let mut core = self.shared.lock();
            for (hold, _) in &batch.holds {
                core.book.break_promise(&hold.account, hold.amount);
            }
            return answers;
        }
        self.known.committed(apply::TransactionEffects::default());
        if batch.keys_changed {
            self.shared.revision.fetch_add(1, Ordering::Release);
        }
        let mut core = self.shared.lock();
        for (account, deposited, spent) in batch.deposits {
            core.book.load_account(account, deposited, spent);
        }
        for (hold, is_new) in &batch.holds {
            match is_new {
                true => drop(core.book.keep_promise(hold)),
                // The request may have been charged already.
                false => core.book.break_promise(&hold.account, hold.amount),
            }
        }
        answers
    }

    fn perform(
        &mut self,
        batch: &mut Batch,
        action: &WriterAction,
    ) -> rusqlite::Result<CommandResult> {
        match action {
            WriterAction::Deposit(command, request, _) => {
                if let Some(request) = request {
                    self.promise(batch, command.hold_for(request))?;
                }
                let answer = self.deposit(batch, command, request.is_some())?;
                Ok(CommandResult::Deposited(answer))
            }
            WriterAction::Key(key, _) => self.key(batch, &key.0, &key.1),
            WriterAction::Prune(before_ms, _) => {
                rows::prune(&self.connection, *before_ms, PRUNE).map(CommandResult::Pruned)
            }
            WriterAction::RollUp(step, _) => {
                series::write(&self.connection, step).map(CommandResult::RolledUp)
            }
            WriterAction::AddUp(keep, _) => {
                let added = self.known.series.write(&self.connection, *keep)?;
                Ok(CommandResult::AddedUp(added))
            }
            WriterAction::Settle(..) | WriterAction::Refresh(_) => Ok(CommandResult::Done),
        }
    }

    /// Has the books keep a deposit for a request before anybody can see it.
    fn promise(&mut self, batch: &mut Batch, hold: Reserve) -> rusqlite::Result<()> {
        let before = loading::account(&self.connection, &hold.account)?;
        let (deposited, spent) = before.unwrap_or_default();
        let mut core = self.shared.lock();
        core.book
            .load_account(hold.account.clone(), deposited, spent);
        core.book.promise(&hold.account, hold.amount);
        drop(core);
        batch.holds.push((hold, false));
        Ok(())
    }

    fn deposit(
        &mut self,
        batch: &mut Batch,
        command: &Deposit,
        is_held: bool,
    ) -> rusqlite::Result<Result<Balance, LedgerRefusal>> {
        let account = self.known.number(&self.connection, &command.account)?;
        match rows::deposit(&self.connection, account, command)? {
            Deposited::Overflow => return Ok(Err(LedgerRefusal::Overflow)),
            Deposited::Before => {}
            Deposited::Now => {
                let row = AuditRow::of_deposit(&self.actor, command);
                rows::audit(&self.connection, &row)?;
                if let Some((_, is_new)) = batch.holds.last_mut().filter(|_| is_held) {
                    *is_new = true;
                }
            }
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
        write: &keys::Write,
    ) -> rusqlite::Result<CommandResult> {
        let now_ms = self.clock.now_ms();
        let written = keys::write(&self.connection, record, write, &self.actor, now_ms)?;
        batch.keys_changed |= written == KeyWrite::Done;
        Ok(CommandResult::Key(written))
    }

    fn answer(&self, action: WriterAction, answer: CommandResult) {
        // Whoever asked may have gone; what was asked for is done all the same.
        match (action, answer) {
            (WriterAction::Deposit(command, _, reply), CommandResult::Deposited(answer)) => {
                let balance = self.shared.lock().book.balance(&command.account);
                let _ = reply.send(Ok(answer.map(|_| balance.unwrap_or_default())));
            }
            (WriterAction::Key(_, reply), CommandResult::Key(written)) => {
                let _ = reply.send(Ok(written));
            }
            (WriterAction::Prune(_, reply), CommandResult::Pruned(count)) => {
                let _ = reply.send(Ok(count));
            }
            (WriterAction::RollUp(_, reply), CommandResult::RolledUp(is_written)) => {
                let _ = reply.send(Ok(is_written));
            }
            (WriterAction::AddUp(_, reply), CommandResult::AddedUp(added)) => {
                let _ = reply.send(Ok(added));
            }
            (action, _) => refuse(action, &gone()),
        }
    }
}

fn refuse(action: WriterAction, error: &StoreError) {
    let error = error.clone();
    match action {
        WriterAction::Settle(_, reply) => drop(reply.send(Err(error))),
        WriterAction::Deposit(_, _, reply) => drop(reply.send(Err(error))),
        WriterAction::Refresh(reply) => drop(reply.send(Err(error))),
        WriterAction::Key(_, reply) => drop(reply.send(Err(error))),
        WriterAction::Prune(_, reply) => drop(reply.send(Err(error))),
        WriterAction::RollUp(_, reply) => drop(reply.send(Err(error))),
        WriterAction::AddUp(_, reply) => drop(reply.send(Err(error))),
    }
}
