//! From a decision in the books to the journal: decided under the lock, written without it, then
//! carried out in the books, or taken back.
//!
//! Writes are grouped (group commit). A caller that decides something becomes the leader of the
//! group if there is none, writes all waiting entries in one call and answers the other callers.
//! So no thread is woken for a write that takes microseconds. If writes take longer, because each
//! one waits for the disk or because the disk is slow, the journal thread does them.

use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bardo_ledger::{
    End, FinalFigures, HoldState, HoldView, PendingEnd, PreparedEnd, Settle, Settled, SettledCost,
    StoreError,
};
use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;
use tokio::sync::oneshot::{self, Receiver};

use super::caps;
use super::entry::{Ending, JournalEntry, JournalHold};
use super::error::gone;
use super::shared::{CloseMode, Core, LAZY, ReplySender, Shared};

/// A write that takes longer is one that no caller should have to make.
const SLOW: Duration = Duration::from_millis(5);
/// After so many of them on end, because one alone may have waited for a processor, ...
const SLOW_ONES: u32 = 3;
/// ... callers do not write for so long.
const CALM: Duration = Duration::from_secs(5);

/// A decision, and what follows when it is written.
pub(super) struct Item {
    entry: JournalEntry,
    then: Then,
}

enum Then {
    End(Box<ToEnd>),
    Hold(Option<ReplySender<()>>),
    Nothing,
}

struct ToEnd {
    decided: Decided,
    /// Nobody: who writes waits for it.
    reply: Option<ReplySender<Settled>>,
}

enum Decided {
    Pending(PendingEnd),
    /// Only a receipt is kept.
    Ended(Settled),
}

/// How an end goes on.
pub(super) enum GroupStep {
    Done(Result<Settled, StoreError>),
    /// Another thread writes this entry.
    Wait(Receiver<Result<Settled, StoreError>>),
    /// The database has to be asked.
    Ask(Box<Settle>),
}

/// The answers that are sent once the lock is given back.
#[derive(Default)]
struct Answers {
    own: Option<Result<Settled, StoreError>>,
    ends: Vec<(ReplySender<Settled>, Result<Settled, StoreError>)>,
    holds: Vec<(ReplySender<()>, Result<(), StoreError>)>,
}

impl Answers {
    fn send(&mut self) {
        // Whoever asked may have gone; what was asked for is done all the same.
        for (reply, answer) in self.ends.drain(..) {
            let _ = reply.send(answer);
        }
        for (reply, answer) in self.holds.drain(..) {
            let _ = reply.send(answer);
        }
    }

    fn end(&mut self, reply: Option<ReplySender<Settled>>, answer: Result<Settled, StoreError>) {
        match reply {
            Some(reply) => self.ends.push((reply, answer)),
            None => self.own = Some(answer),
        }
    }
}

impl Shared {
    /// Ends a hold that the books know, and writes that down.
    pub(super) fn settle(&self, command: Settle) -> GroupStep {
        let mut core = self.lock();
        if core.closing != CloseMode::No {
            return GroupStep::Done(Err(gone()));
        }
        let (account, request) = (&command.account, &command.request);
        // One of unknown outcome may be ended by another process too.
        let is_ours = match core.book.hold_state(account, request) {
            Some(HoldState::Open) => !core.book.is_ending(account, request),
            Some(HoldState::Unknown) => false,
            None => core.book.knows(account, request),
        };
        if !is_ours {
            return GroupStep::Ask(Box::new(command));
        }
        if !self.may_write(&core) {
            let (reply, answer) = oneshot::channel();
            return match core.decide(command, Some(reply)) {
                SettleDecision::Settled(settled) => GroupStep::Done(Ok(settled)),
                SettleDecision::Ending(command) => GroupStep::Ask(command),
                SettleDecision::Queued => {
                    self.pass_on(&core);
                    GroupStep::Wait(answer)
                }
            };
        }
        match core.decide(command, None) {
            SettleDecision::Settled(settled) => GroupStep::Done(Ok(settled)),
            SettleDecision::Ending(command) => GroupStep::Ask(command),
            SettleDecision::Queued => {
                core.is_writing = true;
                let own = self.write_and_step_down(core);
                GroupStep::Done(own.unwrap_or_else(|| Err(gone())))
            }
        }
    }

    /// Writes a hold down, if it is there and that was not done.
    pub(super) fn persist(
        &self,
        account: &AccountId,
        request: &RequestId,
    ) -> Result<Option<Receiver<Result<(), StoreError>>>, StoreError> {
        let mut core = self.lock();
        if core.closing != CloseMode::No {
            return Err(gone());
        }
        let Some(held) = core.unwritten(account, request) else {
            return Ok(None);
        };
        let (reply, mut answer) = oneshot::channel();
        core.write_hold(held, Some(reply));
        if !self.may_write(&core) {
            self.pass_on(&core);
            return Ok(Some(answer));
        }
        core.is_writing = true;
        self.write_and_step_down(core);
        match answer.try_recv() {
            Ok(written) => written.map(|()| None),
            Err(_) => Ok(Some(answer)),
        }
    }

    /// Whether the caller may lead the group commit.
    fn may_write(&self, core: &Core) -> bool {
        let is_calm = |until| Instant::now() >= until;
        self.callers_write && !core.is_writing && core.slow_until.is_none_or(is_calm)
    }

    /// Leaves the write to the current leader, or to the journal thread.
    fn pass_on(&self, core: &Core) {
        if !core.is_writing {
            self.wake_journal_writer.notify_one();
        }
    }

    /// Becomes the leader of the group commit, as soon as there is no other.
    pub(super) fn lead(&self) -> MutexGuard<'_, Core> {
        let mut core = self.lock();
        while core.is_writing {
            core.leader_wanted = true;
            core = self
                .leader_free
                .wait(core)
                .expect("nothing panics while it holds the books");
        }
        core.is_writing = true;
        core
    }

    /// Writes all waiting entries and gives the lead up. Returns the result of the one item without
    /// another waiting caller.
    pub(super) fn write_and_step_down(
        &self,
        core: MutexGuard<'_, Core>,
    ) -> Option<Result<Settled, StoreError>> {
        let mut answers = Answers::default();
        let mut core = self.write_all(core, &mut answers);
        core.is_writing = false;
        let is_wanted = std::mem::take(&mut core.leader_wanted);
        drop(core);
        if is_wanted {
            self.leader_free.notify_all();
        }
        answers.send();
        answers.own
    }

    fn write_all<'a>(
        &'a self,
        mut core: MutexGuard<'a, Core>,
        answers: &mut Answers,
    ) -> MutexGuard<'a, Core> {
        let mut is_probe = core.journal_failing.is_some();
        while is_probe || !core.group.is_empty() {
            is_probe = false;
            let mut group = std::mem::take(&mut core.group);
            drop(core);
            let start = Instant::now();
            let written = self.append(&group);
            let end = Instant::now();
            core = self.lock();
            core.slow_writes = if end - start > SLOW {
                core.slow_writes + 1
            } else {
                0
            };
            if core.slow_writes >= SLOW_ONES {
                core.slow_until = Some(end + CALM);
            }
            if let Err(error) = written {
                core.take_back(group, &error, answers);
                if core.journal_failing.replace(error.clone()).is_none() {
                    tracing::error!(%error, "cannot write the journal; requests that cost money are refused \
                        until it works again");
                }
                return core;
            }
            if core.journal_failing.take().is_some() {
                tracing::warn!("the journal works again");
            }
            core.carry_out(&mut group, answers);
            if core.group.is_empty() {
                // The next group has its room already.
                core.group = group;
            }
            self.is_behind.store(true, Ordering::Release);
        }
        core
    }

    fn append(&self, group: &[Item]) -> Result<(), StoreError> {
        // What was called off leaves no trace, so it is asked before.
        self.drill.check()?;
        let entries = group.iter().map(|item| &item.entry);
        let mut journal = self.journal.lock().expect("nothing panics while it writes");
        journal.append(entries)
    }

    /// The loop of the journal thread, which writes where callers do not.
    pub(super) fn write_journal(&self) {
        let mut core = self.lock();
        while core.closing == CloseMode::No {
            if core.group.is_empty() || core.is_writing {
                core = self
                    .wake_journal_writer
                    .wait(core)
                    .expect("nothing panics while it holds the books");
                continue;
            }
            core.is_writing = true;
            self.write_and_step_down(core);
            core = self.lock();
            if core.journal_failing.is_some() {
                // The next who comes tries again, and the writer does now and then.
                core = self
                    .wake_journal_writer
                    .wait(core)
                    .expect("nothing panics while it holds the books");
            }
        }
    }
}

/// The decision about an end.
pub(super) enum SettleDecision {
    /// There is nothing to write.
    Settled(Settled),
    /// Another command is ending this hold now.
    Ending(Box<Settle>),
    Queued,
}

impl Core {
    /// Decides how a hold ends. From here until that is written, what it frees stays out of reach.
    pub(super) fn decide(
        &mut self,
        command: Settle,
        reply: Option<ReplySender<Settled>>,
    ) -> SettleDecision {
        let (decided, figures) = match self.book.prepare(&command) {
            PreparedEnd::Ending => return SettleDecision::Ending(Box::new(command)),
            PreparedEnd::Ended(settlement) => {
                let settled = settlement.settled();
                if settled.repeated || command.record.is_none() {
                    return SettleDecision::Settled(settled);
                }
                (Decided::Ended(settled), None)
            }
            PreparedEnd::Pending(pending) => {
                let left = self.left(&command.account, &pending);
                let is_captured = matches!(command.end, End::Capture(_));
                let figures = is_captured.then(|| pending.paid().final_figures(Some(left)));
                (Decided::Pending(pending), figures)
            }
        };
        let entry = JournalEntry::Ending(Box::new(ending(command, &decided, figures)));
        let end = ToEnd { decided, reply };
        self.group.push(Item {
            entry,
            then: Then::End(Box::new(end)),
        });
        SettleDecision::Queued
    }

    /// The balance of an account after an end, and after those before it that are not written yet.
    fn left(&mut self, account: &AccountId, pending: &PendingEnd) -> MicroUsd {
        let rest = rest(pending);
        let freed = match self.freed.get_mut(account) {
            Some(sum) => {
                *sum = sum.checked_add(rest).unwrap_or(MicroUsd::MAX);
                *sum
            }
            None => {
                self.freed.insert(account.clone(), rest);
                rest
            }
        };
        let balance = self.book.balance(account).unwrap_or_default();
        balance
            .available
            .checked_add(freed)
            .unwrap_or(MicroUsd::MAX)
    }

    fn is_free(&mut self, account: &AccountId, pending: &PendingEnd) {
        if let Some(sum) = self.freed.get_mut(account) {
            *sum = sum.saturating_sub(rest(pending));
            if *sum == MicroUsd::ZERO {
                self.freed.remove(account);
            }
        }
    }

    /// The hold as it is to be written, unless the journal has it so.
    fn unwritten(&self, account: &AccountId, request: &RequestId) -> Option<JournalHold> {
        if self.book.is_ending(account, request) {
            return None;
        }
        let (view, caps) = self.book.hold(account, request)?;
        let held = JournalHold {
            view,
            caps: caps::to_text(&caps),
        };
        let is_written = self.held.get(&held.key()) == Some(&(held.view.amount, true));
        (!is_written).then_some(held)
    }

    fn write_hold(&mut self, held: JournalHold, reply: Option<ReplySender<()>>) {
        self.held.insert(held.key(), (held.view.amount, false));
        self.group.push(Item {
            entry: JournalEntry::Hold(held),
            then: Then::Hold(reply),
        });
    }

    /// Has holds written that have lived long, or all of them.
    pub(super) fn write_old_holds(&mut self, all: bool) {
        let now = Instant::now();
        while let Some((at, _)) = self.touched.front()
            && (all || now.saturating_duration_since(*at) >= LAZY)
        {
            let (_, (account, request)) = self.touched.pop_front().expect("looked at above");
            if let Some(held) = self.unwritten(&account, &request)
                && self.held.get(&held.key()) != Some(&(held.view.amount, false))
            {
                self.write_hold(held, None);
            }
        }
    }

    /// Carries out in the books what the journal has now, and empties the group.
    fn carry_out(&mut self, group: &mut Vec<Item>, answers: &mut Answers) {
        for Item { entry, then } in group.drain(..) {
            match (then, &entry) {
                (Then::End(end), JournalEntry::Ending(ending)) => {
                    let settled = match end.decided {
                        Decided::Pending(pending) => self.finish(ending, pending),
                        Decided::Ended(settled) => settled,
                    };
                    answers.end(end.reply, Ok(settled));
                }
                (Then::Hold(reply), JournalEntry::Hold(held)) => {
                    if let Some((amount, is_written)) = self.held.get_mut(&held.key())
                        && *amount == held.view.amount
                    {
                        *is_written = true;
                    }
                    answers.holds.extend(reply.map(|reply| (reply, Ok(()))));
                }
                _ => {}
            }
            self.unapplied.push(entry);
        }
    }

    fn finish(&mut self, ending: &Ending, pending: PendingEnd) -> Settled {
        self.is_free(&ending.account, &pending);
        if let Some(held) = &ending.unknown {
            self.held.insert(held.key(), (held.view.amount, true));
        } else if !self.held.is_empty() {
            let key = (ending.account.clone(), ending.request.clone());
            self.held.remove(&key);
        }
        self.book.finish(pending).settled()
    }

    /// Takes everything back that could not be written.
    fn take_back(&mut self, group: Vec<Item>, error: &StoreError, answers: &mut Answers) {
        let mut kept = Vec::new();
        let now = Instant::now();
        for Item { entry, then } in group {
            match (then, &entry) {
                (Then::End(end), JournalEntry::Ending(ending)) => {
                    if let Decided::Pending(pending) = end.decided {
                        self.is_free(&ending.account, &pending);
                        self.book.abandon(pending);
                    }
                    answers.end(end.reply, Err(error.clone()));
                }
                (Then::Hold(Some(reply)), _) => answers.holds.push((reply, Err(error.clone()))),
                (Then::Hold(None), JournalEntry::Hold(held)) => {
                    let key = held.key();
                    if let Some(known) = self.held.get_mut(&key) {
                        // Nobody knows any more what the journal will say.
                        *known = (MicroUsd::MAX, false);
                    }
                    let due = now.checked_sub(LAZY).unwrap_or(now);
                    self.touched.push_front((due, key));
                }
                // The money may be in use; its end comes before what follows.
                _ => kept.push(Item {
                    entry,
                    then: Then::Nothing,
                }),
            }
        }
        self.group.splice(..0, kept);
    }

    /// A hold ended without anybody who waits. Where the journal has it, its end follows with the
    /// next group, before anything that the money is used for.
    pub(super) fn gone(&mut self, account: &AccountId, request: &RequestId) {
        if self.held.is_empty() {
            return;
        }
        let key = (account.clone(), request.clone());
        if self.held.remove(&key).is_some() {
            self.group.push(Item {
                entry: JournalEntry::Gone(key),
                then: Then::Nothing,
            });
        }
    }
}

/// The amount that an end gives back to its account.
fn rest(pending: &PendingEnd) -> MicroUsd {
    if pending.leaves_unknown() {
        return MicroUsd::ZERO;
    }
    let held = pending.hold().map_or(MicroUsd::ZERO, |hold| hold.amount);
    held.saturating_sub(pending.paid().charged())
}

fn ending(command: Settle, decided: &Decided, figures: Option<FinalFigures>) -> Ending {
    let provider = match command.end {
        End::Capture(charge) => charge.provider,
        End::Release | End::Unknown => "".into(),
    };
    let mut ending = Ending {
        account: command.account,
        request: command.request,
        now_ms: command.now_ms,
        provider,
        paid: SettledCost::default(),
        counters: Vec::new(),
        unknown: None,
        record: command.record,
        figures,
    };
    let Decided::Pending(pending) = decided else {
        return ending;
    };
    ending.paid = pending.paid();
    if ending.paid.charged() > MicroUsd::ZERO {
        let counters = pending.counters();
        ending.counters = counters
            .map(|(scope, window, start)| (scope.clone(), window, start))
            .collect();
    }
    if let Some(before) = pending.hold().filter(|_| pending.leaves_unknown()) {
        ending.unknown = Some(JournalHold {
            view: HoldView {
                state: HoldState::Unknown,
                ..before.clone()
            },
            caps: caps::to_text(&pending.caps()),
        });
    }
    ending
}
