//! What the callers' threads and the writers share: the books in memory, and what waits to be
//! written. Locked for moments, in plain functions, never while anything is read or written.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bardo_access::KeyRecord;
use bardo_ledger::series::{RolledUp, SeriesKeep};
use bardo_ledger::{
    Balance, Book, CapScope, CapWindow, Deposit, End, LedgerRefusal, ReceiptRecord, Reservation,
    Reserve, Sessions, Settle, Settled, StoreError,
};
use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;
use hashbrown::HashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::drill::Drill;
use super::entry::JournalEntry;
use super::error::gone;
use super::group::Item;
use super::journal::Journal;
use super::keys::{self, KeyWrite};
use super::series::SeriesStep;

/// Commands that wait for the writer; a caller with one more waits itself.
pub(super) const COMMANDS: usize = 16_384;
/// Receipts of unbilled requests that wait; one more is dropped and counted.
const RECORDS: usize = 8_192;
/// A hold that lives this long is written down.
pub(super) const LAZY: Duration = Duration::from_millis(50);

pub(super) type HoldKey = (AccountId, RequestId);
pub(super) type ReplySender<T> = oneshot::Sender<Result<T, StoreError>>;

/// Something that the database has to do, and who waits for it.
pub(super) enum WriterAction {
    /// An end of which the books know nothing, or which another process may decide too.
    Settle(Box<Settle>, ReplySender<Settled>),
    /// A deposit, and the request that it is held for.
    Deposit(
        Deposit,
        Option<RequestId>,
        ReplySender<Result<Balance, LedgerRefusal>>,
    ),
    Key(Box<(KeyRecord, keys::Write)>, ReplySender<KeyWrite>),
    /// Deletes some of the receipts from before this Unix millisecond; answers how many.
    Prune(u64, ReplySender<u64>),
    /// Writes a step of rolling receipts up; answers whether it was written.
    RollUp(Box<SeriesStep>, ReplySender<bool>),
    /// Adds the receipts to the series that the writer added up as it wrote them; answers how many,
    /// and whether others have to be read.
    AddUp(SeriesKeep, ReplySender<RolledUp>),
    /// Brings the database up to date, and reads what other processes did.
    Refresh(ReplySender<()>),
}

pub(super) struct WriterCommand {
    pub(super) action: WriterAction,
    /// Its place in the queue, kept until it is answered.
    pub(super) place: OwnedSemaphorePermit,
}

pub(super) struct Shared {
    core: Mutex<Core>,
    wake: Condvar,
    /// For the thread that writes the journal where callers do not.
    pub(super) wake_journal_writer: Condvar,
    /// Wakes callers that wait to become the leader.
    pub(super) leader_free: Condvar,
    /// Used by the leader alone ([`Core::is_writing`]), so the lock is never contended.
    pub(super) journal: Mutex<Journal>,
    /// Each caller writes the journal himself where that takes microseconds.
    pub(super) callers_write: bool,
    pub(super) drill: Arc<Drill>,
    /// Places in the queue of commands.
    pub(super) places: Arc<Semaphore>,
    /// Rises with every change to a key.
    pub(super) revision: AtomicU64,
    /// Receipts that were not kept.
    pub(super) dropped: AtomicU64,
    /// There is something that the database does not have yet.
    pub(super) is_behind: AtomicBool,
}

pub(super) struct Core {
    pub(super) book: Book,
    pub(super) commands: VecDeque<WriterCommand>,
    pub(super) records: VecDeque<ReceiptRecord>,
    /// Holds that were made or have grown, in the order in which that happened.
    pub(super) touched: VecDeque<(Instant, HoldKey)>,
    /// Decided, and not in the journal yet.
    pub(super) group: Vec<Item>,
    /// The amounts that decided ends will free, as long as they are not in the journal.
    pub(super) freed: HashMap<AccountId, MicroUsd>,
    /// There is a leader, which writes the journal or keeps others from it.
    pub(super) is_writing: bool,
    /// A caller waits to become the leader.
    pub(super) leader_wanted: bool,
    /// In the journal, and not in the database yet.
    pub(super) unapplied: Vec<JournalEntry>,
    /// Holds that the journal has or will have: how much it says, and whether it has that.
    pub(super) held: HashMap<HoldKey, (MicroUsd, bool)>,
    /// How many writes on end took long.
    pub(super) slow_writes: u32,
    /// The disk is slow: callers do not write the journal themselves until then.
    pub(super) slow_until: Option<Instant>,
    /// Why the database cannot be written at present. Money is not held meanwhile: there is no end
    /// to what would have to be kept for it.
    pub(super) failing: Option<StoreError>,
    /// Why the journal cannot be written at present. Money is not held meanwhile: what could not be
    /// settled should not be spent.
    pub(super) journal_failing: Option<StoreError>,
    /// Rises when counters are dropped, so that nothing that was read before is put in their place.
    pub(super) generation: u64,
    pub(super) closing: CloseMode,
    writer_waits: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CloseMode {
    No,
    /// Everything is written first.
    Orderly,
    /// As if the process died.
    #[cfg(test)]
    Crash,
}

/// Why the writer was woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wake {
    Commands,
    /// Nobody waits, but time has passed.
    Tick,
    /// Write what there is, then stop.
    Last,
    /// Stop without writing.
    #[cfg(test)]
    Now,
}

/// The result of trying to hold money without reading the database.
pub(super) enum QuickReserve {
    Answer(Result<Reservation, LedgerRefusal>),
    /// Counters that are not in memory.
    Missing(Vec<(CapScope, CapWindow, u64)>),
}

impl Shared {
    /// Over books in which these holds are, all of them on disk.
    pub(super) fn new(
        book: Book,
        held: impl IntoIterator<Item = (HoldKey, MicroUsd)>,
        journal: Journal,
        callers_write: bool,
        drill: Arc<Drill>,
    ) -> Self {
        let held = held.into_iter().map(|(key, amount)| (key, (amount, true)));
        Self {
            core: Mutex::new(Core {
                book,
                commands: VecDeque::new(),
                records: VecDeque::new(),
                touched: VecDeque::new(),
                group: Vec::new(),
                freed: HashMap::new(),
                is_writing: false,
                leader_wanted: false,
                unapplied: Vec::new(),
                held: held.collect(),
                slow_writes: 0,
                slow_until: None,
                failing: None,
                journal_failing: None,
                generation: 0,
                closing: CloseMode::No,
                writer_waits: false,
            }),
            wake: Condvar::new(),
            wake_journal_writer: Condvar::new(),
            leader_free: Condvar::new(),
            journal: Mutex::new(journal),
            callers_write,
            drill,
            places: Arc::new(Semaphore::new(COMMANDS)),
            revision: AtomicU64::new(1),
            dropped: AtomicU64::new(0),
            is_behind: AtomicBool::new(false),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Core> {
        self.core
            .lock()
            .expect("nothing panics while it holds the books")
    }

    /// Queues a command and wakes the writer where it sleeps.
    pub(super) fn push(&self, command: WriterCommand) -> Result<(), StoreError> {
        let mut core = self.lock();
        if core.closing != CloseMode::No {
            return Err(gone());
        }
        core.commands.push_back(command);
        if std::mem::take(&mut core.writer_waits) {
            drop(core);
            self.wake.notify_one();
        }
        Ok(())
    }

    /// Sleeps until there are commands and it is `pace`, or until `tick`.
    pub(super) fn wait(&self, pace: Instant, tick: Instant) -> Wake {
        let mut core = self.lock();
        loop {
            match core.closing {
                CloseMode::No => {}
                CloseMode::Orderly => return Wake::Last,
                #[cfg(test)]
                CloseMode::Crash => return Wake::Now,
            }
            let now = Instant::now();
            let until = if core.commands.is_empty() {
                core.writer_waits = true;
                tick
            } else {
                pace
            };
            if until <= now {
                core.writer_waits = false;
                return if core.commands.is_empty() {
                    Wake::Tick
                } else {
                    Wake::Commands
                };
            }
            core = self
                .wake
                .wait_timeout(core, until - now)
                .expect("nothing panics while it holds the books")
                .0;
        }
    }

    /// No command is taken any more; the writer writes what there is and stops.
    pub(super) fn close(&self) {
        self.stop(CloseMode::Orderly);
    }

    /// The writer stops as if its process had died.
    #[cfg(test)]
    pub(super) fn crash(&self) {
        self.stop(CloseMode::Crash);
    }

    fn stop(&self, how: CloseMode) {
        self.lock().closing = how;
        self.places.close();
        self.wake.notify_one();
        self.wake_journal_writer.notify_one();
    }

    /// Holds money if everything that decides is in memory.
    pub(super) fn try_reserve(&self, command: &Reserve) -> Result<QuickReserve, StoreError> {
        let mut core = self.lock();
        core.check()?;
        let missing: Vec<_> = command
            .caps
            .iter()
            .map(|cap| {
                let starts_at_ms = cap.window.bounds(command.now_ms).0;
                (&cap.scope, cap.window, starts_at_ms)
            })
            .filter(|(scope, window, start)| !core.book.has_cap(scope, *window, *start))
            .map(|(scope, window, start)| (scope.clone(), window, start))
            .collect();
        if !missing.is_empty() && core.book.has(&command.account) {
            return Ok(QuickReserve::Missing(missing));
        }
        let answer = core.book.reserve(command);
        if answer.is_ok() {
            core.touch(&command.account, &command.request);
        }
        Ok(QuickReserve::Answer(answer))
    }

    pub(super) fn extend(
        &self,
        account: &AccountId,
        request: &RequestId,
        by: MicroUsd,
    ) -> Result<Result<Reservation, LedgerRefusal>, StoreError> {
        let mut core = self.lock();
        core.check()?;
        let answer = core.book.extend(account, request, by);
        if answer.is_ok() {
            core.touch(account, request);
        }
        Ok(answer)
    }

    /// Gives a hold back at once. Its row goes later; until then a crash would release it anyway.
    pub(super) fn release(&self, account: &AccountId, request: &RequestId, now_ms: u64) {
        let mut core = self.lock();
        if core.book.is_ending(account, request) || core.book.hold(account, request).is_none() {
            return;
        }
        core.book.settle(&Settle {
            account: account.clone(),
            request: request.clone(),
            end: End::Release,
            record: None,
            now_ms,
        });
        core.gone(account, request);
    }

    pub(super) fn expire(&self, now_ms: u64) -> u64 {
        let mut core = self.lock();
        let over = core.book.expire(now_ms);
        let count = over.len();
        for hold in over {
            core.gone(&hold.account, &hold.request);
        }
        u64::try_from(count).unwrap_or(u64::MAX)
    }

    /// Queues a receipt; answers whether there was room for it.
    pub(super) fn record(&self, record: ReceiptRecord) -> bool {
        let mut core = self.lock();
        let has_room = core.records.len() < RECORDS && core.closing == CloseMode::No;
        if has_room {
            core.records.push_back(record);
            self.is_behind.store(true, Ordering::Release);
        }
        has_room
    }
}

impl Core {
    fn check(&self) -> Result<(), StoreError> {
        if self.closing != CloseMode::No {
            return Err(gone());
        }
        let failing = self.journal_failing.as_ref().or(self.failing.as_ref());
        failing.cloned().map_or(Ok(()), Err)
    }

    fn touch(&mut self, account: &AccountId, request: &RequestId) {
        self.touched
            .push_back((Instant::now(), (account.clone(), request.clone())));
    }

    /// Drops counters of windows that ended before this Unix millisecond, and of sessions.
    pub(super) fn sweep(&mut self, before_ms: u64) {
        self.book.forget_counters(before_ms, Sessions::Forget);
        self.generation += 1;
    }

    /// Whether nothing waits to be written.
    pub(super) fn is_idle(&self) -> bool {
        self.commands.is_empty() && self.group.is_empty() && self.is_applied()
    }

    /// Whether the database has all that the journal has.
    pub(super) fn is_applied(&self) -> bool {
        self.records.is_empty() && self.unapplied.is_empty()
    }
}
