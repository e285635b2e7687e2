//! What the callers' threads and the writer share: the books in memory, and what waits to be
//! written. Locked for moments, in plain functions, never while anything is read or written.

use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bardo_access::KeyRecord;
use bardo_ledger::{
    Balance, Book, CapScope, Deposit, End, Record, Refusal, Reservation, Reserve, Sessions, Settle,
    Settled, StoreError, Window,
};
use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::error::gone;
use super::keys::Written;

/// Commands that wait for the writer; a caller with one more waits itself.
pub(super) const COMMANDS: usize = 16_384;
/// Receipts of unbilled requests that wait; one more is dropped and counted.
const RECORDS: usize = 8_192;
/// A hold that lives this long gets a row.
pub(super) const LAZY: Duration = Duration::from_millis(50);

pub(super) type HoldKey = (AccountId, RequestId);
pub(super) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// Something to be written, and who waits for it.
pub(super) enum Action {
    Settle(Settle, Reply<Settled>),
    Deposit(Deposit, Reply<Result<Balance, Refusal>>),
    /// Writes the hold now.
    Persist(HoldKey, Reply<()>),
    InsertKey(Box<KeyRecord>, Reply<Written>),
    UpdateKey(Box<KeyRecord>, Reply<Written>),
    /// Deletes some of the receipts from before this Unix millisecond; answers how many.
    Prune(u64, Reply<u64>),
    /// Reads what other processes did.
    Refresh(Reply<()>),
}

pub(super) struct Command {
    pub(super) action: Action,
    /// Its place in the queue, kept until it is answered.
    pub(super) place: OwnedSemaphorePermit,
}

pub(super) struct Shared {
    core: Mutex<Core>,
    wake: Condvar,
    /// Places in the queue of commands.
    pub(super) places: Arc<Semaphore>,
    /// Rises with every change to a key.
    pub(super) revision: AtomicU64,
    /// Receipts that were not kept.
    pub(super) dropped: AtomicU64,
}

pub(super) struct Core {
    pub(super) book: Book,
    pub(super) commands: VecDeque<Command>,
    pub(super) records: VecDeque<Record>,
    /// Holds that were made or have grown, in the order in which that happened.
    pub(super) touched: VecDeque<(Instant, HoldKey)>,
    /// Holds that ended without the writer.
    pub(super) ended: Vec<HoldKey>,
    /// Why nothing can be written at present. Money is not held meanwhile: what could not be
    /// settled should not be spent.
    pub(super) failing: Option<StoreError>,
    /// Rises when counters are dropped, so that nothing that was read before is put in their place.
    pub(super) generation: u64,
    closing: Closing,
    writer_waits: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closing {
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
    /// Stop.
    #[cfg(test)]
    Now,
}

/// What came of trying to hold money without reading anything.
pub(super) enum Attempt {
    Answer(Result<Reservation, Refusal>),
    /// Counters that are not in memory.
    Missing(Vec<(CapScope, Window, u64)>),
}

impl Shared {
    pub(super) fn new(book: Book) -> Self {
        Self {
            core: Mutex::new(Core {
                book,
                commands: VecDeque::new(),
                records: VecDeque::new(),
                touched: VecDeque::new(),
                ended: Vec::new(),
                failing: None,
                generation: 0,
                closing: Closing::No,
                writer_waits: false,
            }),
            wake: Condvar::new(),
            places: Arc::new(Semaphore::new(COMMANDS)),
            revision: AtomicU64::new(1),
            dropped: AtomicU64::new(0),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Core> {
        self.core
            .lock()
            .expect("nothing panics while it holds the books")
    }

    /// Queues a command and wakes the writer where it sleeps.
    pub(super) fn push(&self, command: Command) -> Result<(), StoreError> {
        let mut core = self.lock();
        if core.closing != Closing::No {
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
                Closing::No => {}
                Closing::Orderly => return Wake::Last,
                #[cfg(test)]
                Closing::Crash => return Wake::Now,
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
        self.stop(Closing::Orderly);
    }

    /// The writer stops as if its process had died.
    #[cfg(test)]
    pub(super) fn crash(&self) {
        self.stop(Closing::Crash);
    }

    fn stop(&self, how: Closing) {
        self.lock().closing = how;
        self.places.close();
        self.wake.notify_one();
    }

    /// Holds money if everything that decides is in memory.
    pub(super) fn try_reserve(&self, command: &Reserve) -> Result<Attempt, StoreError> {
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
            return Ok(Attempt::Missing(missing));
        }
        let answer = core.book.reserve(command);
        if answer.is_ok() {
            core.touch(&command.account, &command.request);
        }
        Ok(Attempt::Answer(answer))
    }

    pub(super) fn extend(
        &self,
        account: &AccountId,
        request: &RequestId,
        by: MicroUsd,
    ) -> Result<Result<Reservation, Refusal>, StoreError> {
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
        core.ended.push((account.clone(), request.clone()));
    }

    pub(super) fn expire(&self, now_ms: u64) -> u64 {
        let mut core = self.lock();
        let over = core.book.expire(now_ms);
        let count = over.len();
        core.ended
            .extend(over.into_iter().map(|hold| (hold.account, hold.request)));
        u64::try_from(count).unwrap_or(u64::MAX)
    }

    /// Queues a receipt; answers whether there was room for it.
    pub(super) fn record(&self, record: Record) -> bool {
        let mut core = self.lock();
        let has_room = core.records.len() < RECORDS && core.closing == Closing::No;
        if has_room {
            core.records.push_back(record);
        }
        has_room
    }
}

impl Core {
    fn check(&self) -> Result<(), StoreError> {
        if self.closing != Closing::No {
            return Err(gone());
        }
        self.failing.clone().map_or(Ok(()), Err)
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
        self.commands.is_empty() && self.records.is_empty() && self.ended.is_empty()
    }

    /// Whether there is something to write that nobody waits for.
    pub(super) fn has_chores(&self) -> bool {
        !self.records.is_empty()
            || !self.ended.is_empty()
            || self
                .touched
                .front()
                .is_some_and(|(at, _)| at.elapsed() >= LAZY)
    }
}
