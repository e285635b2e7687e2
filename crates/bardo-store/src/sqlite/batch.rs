//! One transaction of the writer: decided under the lock, written without it, then carried out in
//! the books, or taken back.

use bardo_ledger::{
    Balance, CapScope, Charge, End, HoldState, HoldView, Paid, Pending, Prepared, Record, Refusal,
    Settle, Settled, Window,
};
use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;
use hashbrown::{HashMap, HashSet};
use rusqlite::Connection;

use super::journal::{self, ChargeRow, HoldRow};
use super::keys::Written;
use super::shared::{Action, Core, HoldKey, LAZY};

/// Receipts that are written at once.
const RECORDS: usize = 1_024;

/// What a command came to.
pub(super) enum Answer {
    Settled(Settled),
    Deposited(Result<Balance, Refusal>),
    Key(Written),
    Pruned(u64),
    Done,
    /// Another end of the same hold was under way; it goes back to the queue.
    Again,
}

/// What is to be done about a command.
pub(super) enum Plan {
    /// It is known what to answer; a receipt may have to be kept.
    Ended(Settled),
    /// Written, then finished; with what the account has afterwards.
    Pending(Pending, MicroUsd),
    /// The request was charged long ago: the hold is given back.
    Superseded(Pending, Paid),
    Again,
    /// What it comes to is known when it is written.
    Open,
    Answered(Answer),
}

/// What is written in one transaction.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) plans: Vec<Plan>,
    /// Holds that get a row or whose row changes.
    pub(super) holds: Vec<(HoldView, Option<String>)>,
    /// Holds that ended without the writer.
    pub(super) ended: Vec<HoldKey>,
    pub(super) records: Vec<Record>,
    sums: Sums,
    /// Rows of holds as they are afterwards; `None`: there is none.
    pub(super) rows: Vec<(HoldKey, Option<MicroUsd>)>,
    /// Accounts as their rows say, for the books.
    pub(super) deposits: Vec<(AccountId, MicroUsd, MicroUsd)>,
    /// Keys were changed.
    pub(super) keys_changed: bool,
}

/// What is added to each account and each cap, once per transaction.
#[derive(Default)]
struct Sums {
    accounts: HashMap<i64, (i64, i64)>,
    caps: HashMap<(i64, CapScope, Window, u64), MicroUsd>,
}

/// What the writer remembers of the file between transactions.
#[derive(Default)]
pub(super) struct Known {
    /// Numbers of accounts.
    pub(super) numbers: HashMap<AccountId, i64>,
    /// Numbers that were given in a transaction that has not been committed yet.
    fresh: Vec<AccountId>,
    /// Holds that have a row, and how much it says.
    pub(super) held: HashMap<HoldKey, MicroUsd>,
}

/// Numbers of accounts that are remembered; beyond it all are forgotten.
const NUMBERS: usize = 65_536;

impl Known {
    pub(super) fn number(
        &mut self,
        connection: &Connection,
        account: &AccountId,
    ) -> rusqlite::Result<i64> {
        if let Some(no) = self.numbers.get(account) {
            return Ok(*no);
        }
        let no = journal::account_no(connection, account)?;
        if self.numbers.len() >= NUMBERS {
            self.numbers.clear();
        }
        self.numbers.insert(account.clone(), no);
        self.fresh.push(account.clone());
        Ok(no)
    }

    pub(super) fn committed(&mut self, rows: Vec<(HoldKey, Option<MicroUsd>)>) {
        self.fresh.clear();
        for (key, amount) in rows {
            match amount {
                Some(amount) => self.held.insert(key, amount),
                None => self.held.remove(&key),
            };
        }
    }

    pub(super) fn rolled_back(&mut self) {
        for account in self.fresh.drain(..) {
            self.numbers.remove(&account);
        }
    }
}

/// Whether what nobody waits for is written too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chores {
    /// None of it.
    No,
    /// What is due.
    Due,
    /// All of it.
    All,
}

impl Batch {
    /// Decides what is written. From here to the end of the transaction, what this frees stays out
    /// of reach.
    pub(super) fn plan(core: &mut Core, known: &Known, actions: &[Action], chores: Chores) -> Self {
        let mut batch = Self::default();
        let mut persisted: Vec<&HoldKey> = Vec::new();
        let mut freed = HashMap::new();
        for action in actions {
            let plan = match action {
                Action::Settle(command, _) => match core.book.prepare(command) {
                    Prepared::Ended(settlement) => Plan::Ended(settlement.settled()),
                    Prepared::Ending => Plan::Again,
                    Prepared::Pending(pending) => {
                        let left = left(core, command, &pending, &mut freed);
                        Plan::Pending(pending, left)
                    }
                },
                Action::Persist(key, _) => {
                    persisted.push(key);
                    Plan::Answered(Answer::Done)
                }
                Action::Refresh(_) => Plan::Answered(Answer::Done),
                Action::Deposit(..)
                | Action::InsertKey(..)
                | Action::UpdateKey(..)
                | Action::Prune(..) => Plan::Open,
            };
            batch.plans.push(plan);
        }
        // Holds that ended are taken along whatever is asked: what they freed may be in use.
        batch.ended = std::mem::take(&mut core.ended);
        let mut seen = HashSet::new();
        for key in persisted {
            batch.add_hold(core, known, key, &mut seen);
        }
        if chores != Chores::No {
            while let Some((at, _)) = core.touched.front()
                && (chores == Chores::All || at.elapsed() >= LAZY)
            {
                let (_, key) = core.touched.pop_front().expect("looked at above");
                batch.add_hold(core, known, &key, &mut seen);
            }
            let count = core.records.len().min(RECORDS);
            batch.records.extend(core.records.drain(..count));
        }
        batch
    }

    /// Adds a hold if its row is missing or says something else. One that ends in this very
    /// transaction never gets a row.
    fn add_hold(&mut self, core: &Core, known: &Known, key: &HoldKey, seen: &mut HashSet<HoldKey>) {
        if core.book.is_ending(&key.0, &key.1) || seen.contains(key) {
            return;
        }
        if let Some((view, caps)) = core.book.hold(&key.0, &key.1)
            && known.held.get(key) != Some(&view.amount)
        {
            seen.insert(key.clone());
            self.holds.push((view, super::caps::to_text(&caps)));
        }
    }

    /// Writes ends, holds and receipts; what else there is, the writer does.
    pub(super) fn write(
        &mut self,
        connection: &Connection,
        known: &mut Known,
        actions: &[Action],
    ) -> rusqlite::Result<()> {
        let mut plans = std::mem::take(&mut self.plans);
        let mut result = Ok(());
        for (plan, action) in plans.iter_mut().zip(actions) {
            if let Action::Settle(command, _) = action {
                result = self.settle(connection, known, plan, command);
                if result.is_err() {
                    break;
                }
            }
        }
        self.plans = plans;
        result?;
        for key in std::mem::take(&mut self.ended) {
            let gone = self.end_hold(connection, known, &key);
            // Kept, so that it can be put back if the transaction fails.
            self.ended.push(key);
            gone?;
        }
        for (view, caps) in &self.holds {
            let account = known.number(connection, &view.account)?;
            let key = (view.account.clone(), view.request.clone());
            put_hold(
                connection,
                known,
                &mut self.sums,
                account,
                view,
                caps.clone(),
            )?;
            self.rows.push((key, Some(view.amount)));
        }
        for record in &self.records {
            let account = known.number(connection, &record.account)?;
            journal::insert_receipt(connection, account, record)?;
        }
        self.sums.write(connection)
    }

    fn settle(
        &mut self,
        connection: &Connection,
        known: &mut Known,
        plan: &mut Plan,
        command: &Settle,
    ) -> rusqlite::Result<()> {
        let (mut figures, mut superseded) = (None, None);
        match plan {
            Plan::Pending(pending, left) => {
                let account = known.number(connection, &command.account)?;
                if let End::Capture(charge) = &command.end {
                    figures = Some(pending.paid().final_figures(Some(*left)));
                    superseded = self.charge(connection, account, command, charge, pending)?;
                }
                self.write_end(connection, known, account, pending)?;
            }
            Plan::Ended(settled) if !settled.repeated => {}
            Plan::Ended(_)
            | Plan::Superseded(..)
            | Plan::Again
            | Plan::Open
            | Plan::Answered(_) => return Ok(()),
        }
        if let Some(paid) = superseded {
            let before = std::mem::replace(plan, Plan::Open);
            if let Plan::Pending(pending, _) = before {
                *plan = Plan::Superseded(pending, paid);
            }
            return Ok(());
        }
        if let Some(record) = &command.record {
            let account = known.number(connection, &record.account)?;
            match &figures {
                None => journal::insert_receipt(connection, account, record)?,
                Some(figures) => {
                    let record = record.with_final(figures);
                    journal::insert_receipt(connection, account, &record)?;
                }
            }
        }
        Ok(())
    }

    /// Writes the transfer and what it adds up to. Answers what was paid before, where the request
    /// turns out to have been charged already.
    fn charge(
        &mut self,
        connection: &Connection,
        account: i64,
        command: &Settle,
        charge: &Charge,
        pending: &Pending,
    ) -> rusqlite::Result<Option<Paid>> {
        let paid = pending.paid();
        if paid == Paid::default() {
            return Ok(None);
        }
        let row = ChargeRow {
            at_ms: command.now_ms,
            account,
            request: command.request.as_str(),
            provider: &charge.provider,
            paid,
        };
        if !journal::insert_charge(connection, &row)? {
            return journal::find_charge(connection, account, command.request.as_str());
        }
        let charged = paid.charged();
        if charged > MicroUsd::ZERO {
            self.sums.accounts.entry(account).or_default().0 += signed(charged);
            for (scope, window, start) in pending.counters() {
                let sum = self
                    .sums
                    .caps
                    .entry((account, scope.clone(), window, start))
                    .or_default();
                *sum = sum.checked_add(charged).unwrap_or(MicroUsd::MAX);
            }
        }
        Ok(None)
    }

    /// Deletes the row of a hold that ends, or says in it that nobody knows.
    fn write_end(
        &mut self,
        connection: &Connection,
        known: &mut Known,
        account: i64,
        pending: &Pending,
    ) -> rusqlite::Result<()> {
        let Some(before) = pending.hold() else {
            return Ok(());
        };
        let key = (before.account.clone(), before.request.clone());
        if pending.leaves_unknown() {
            let view = HoldView {
                state: HoldState::Unknown,
                ..before.clone()
            };
            let caps = super::caps::to_text(&pending.caps());
            put_hold(connection, known, &mut self.sums, account, &view, caps)?;
            self.rows.push((key, Some(view.amount)));
            return Ok(());
        }
        self.end_hold(connection, known, &key)
    }

    fn end_hold(
        &mut self,
        connection: &Connection,
        known: &mut Known,
        key: &HoldKey,
    ) -> rusqlite::Result<()> {
        let Some(amount) = known.held.get(key).copied() else {
            return Ok(());
        };
        let account = known.number(connection, &key.0)?;
        journal::delete_hold(connection, account, key.1.as_str())?;
        self.sums.accounts.entry(account).or_default().1 -= signed(amount);
        self.rows.push((key.clone(), None));
        Ok(())
    }

    /// Carries everything out in the books, after the transaction.
    pub(super) fn finish(&mut self, core: &mut Core, actions: &[Action]) -> Vec<Answer> {
        for (account, deposited, spent) in self.deposits.drain(..) {
            core.book.load_account(account, deposited, spent);
        }
        let mut answers = Vec::with_capacity(actions.len());
        for (plan, action) in self.plans.drain(..).zip(actions) {
            answers.push(match plan {
                Plan::Ended(settled) => Answer::Settled(settled),
                Plan::Pending(pending, _) => Answer::Settled(core.book.finish(pending).settled()),
                Plan::Superseded(pending, paid) => supersede(core, action, pending, paid),
                Plan::Again => Answer::Again,
                Plan::Answered(answer) => answer,
                Plan::Open => Answer::Done,
            });
        }
        answers
    }

    /// Takes everything back, after the transaction failed.
    pub(super) fn abandon(&mut self, core: &mut Core) {
        for plan in self.plans.drain(..) {
            if let Plan::Pending(pending, _) | Plan::Superseded(pending, _) = plan {
                core.book.abandon(pending);
            }
        }
        core.ended.append(&mut self.ended);
        let now = std::time::Instant::now();
        for (view, _) in self.holds.drain(..) {
            let due = now.checked_sub(LAZY).unwrap_or(now);
            core.touched.push_front((due, (view.account, view.request)));
        }
        for record in self.records.drain(..).rev() {
            core.records.push_front(record);
        }
    }
}

/// What an account has after an end, and after those before it in the same transaction.
fn left(
    core: &Core,
    command: &Settle,
    pending: &Pending,
    freed: &mut HashMap<AccountId, MicroUsd>,
) -> MicroUsd {
    let account = &command.account;
    let sum = freed.entry(account.clone()).or_default();
    if !pending.leaves_unknown()
        && let Some((hold, _)) = core.book.hold(account, &command.request)
    {
        let rest = hold.amount.saturating_sub(pending.paid().charged());
        *sum = sum.checked_add(rest).unwrap_or(MicroUsd::MAX);
    }
    let balance = core.book.balance(account).unwrap_or_default();
    balance.available.checked_add(*sum).unwrap_or(MicroUsd::MAX)
}

/// The request was charged long ago: its hold is released, and the answer is that charge.
fn supersede(core: &mut Core, action: &Action, pending: Pending, paid: Paid) -> Answer {
    core.book.abandon(pending);
    let Action::Settle(command, _) = action else {
        return Answer::Done;
    };
    core.book.settle(&Settle {
        end: End::Release,
        ..command.clone()
    });
    let (account, request) = (command.account.clone(), command.request.clone());
    core.book.load_ended(account, request, paid, command.now_ms);
    Answer::Settled(core.book.settle(command).settled())
}

fn put_hold(
    connection: &Connection,
    known: &Known,
    sums: &mut Sums,
    account: i64,
    view: &HoldView,
    caps: Option<String>,
) -> rusqlite::Result<()> {
    journal::put_hold(
        connection,
        &HoldRow {
            account,
            request: view.request.as_str(),
            amount: view.amount,
            state: view.state,
            caps,
            created_at_ms: view.created_at_ms,
            expires_at_ms: view.expires_at_ms,
        },
    )?;
    let key = (view.account.clone(), view.request.clone());
    let before = known.held.get(&key).copied().unwrap_or_default();
    sums.accounts.entry(account).or_default().1 += signed(view.amount) - signed(before);
    Ok(())
}

impl Sums {
    fn write(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        for (account, (spent, held)) in self.accounts.drain() {
            if (spent, held) != (0, 0) {
                journal::add_to_account(connection, account, spent, held)?;
            }
        }
        for ((account, scope, window, start), spent) in self.caps.drain() {
            journal::add_to_cap(connection, account, &scope, window, start, spent)?;
        }
        Ok(())
    }
}

fn signed(amount: MicroUsd) -> i64 {
    i64::try_from(amount.get()).expect("no amount in the books is above `MicroUsd::MAX`")
}
