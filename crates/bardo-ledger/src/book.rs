//! The books as a state machine, in memory: accounts, holds and counters of caps.
//!
//! Nothing here waits or fails half-way: a command is checked as a whole and then applied as a
//! whole. A store that is the only writer keeps one under a lock and journals what it answers; the
//! reference store ([`crate::MemoryLedger`]) is nothing but this and a list of postings.

mod account;
mod audit;
mod counters;
mod ended;
mod ending;
mod pair;
mod settle;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;
use hashbrown::{HashMap, HashSet};

use self::account::{Account, Hold};
use self::counters::{Counters, HeldCap};
use self::ended::{Ended, EndedHolds};
use self::pair::RequestKey;
use crate::caps::{Cap, CapScope, CapWindow};
use crate::command::{Balance, Deposit, HoldState, HoldView, LedgerRefusal, Reservation, Reserve};

pub use self::counters::CapCounter;
pub use self::ending::{PendingEnd, PreparedEnd};
pub use self::settle::{SettledCost, Settlement};

/// The books in memory.
///
/// It remembers the requests that ended, so that ending one again changes nothing, but only the
/// latest of them: for older ones a store asks its own index (see [`Self::knows`] and
/// [`Self::load_ended`]).
#[derive(Debug, Default)]
pub struct Book {
    accounts: HashMap<AccountId, Account>,
    /// Open holds by the time at which they expire. Unknown ones are not among them.
    expiries: BTreeSet<(u64, AccountId, RequestId)>,
    counters: Counters,
    ended: EndedHolds,
    /// Requests between [`Self::prepare`] and its end.
    ending: HashSet<RequestKey>,
}

impl Book {
    /// Empty books that remember at most `entries` ended requests, each for `for_ms`.
    #[must_use]
    pub fn with_memory(entries: usize, for_ms: u64) -> Self {
        Self {
            ended: EndedHolds::new(entries, for_ms),
            ..Self::default()
        }
    }

    /// Whether there is such an account.
    #[must_use]
    pub fn has(&self, account: &AccountId) -> bool {
        self.accounts.contains_key(account)
    }

    /// Whether the request has a hold here, or had one of which the end is remembered.
    #[must_use]
    pub fn knows(&self, account: &AccountId, request: &RequestId) -> bool {
        self.accounts
            .get(account)
            .is_some_and(|found| found.holds.contains_key(request))
            || self.ended.get(account, request).is_some()
    }

    /// Whether the counter of a cap is here. One that is not counts from zero.
    #[must_use]
    pub fn has_cap(&self, scope: &CapScope, window: CapWindow, start_ms: u64) -> bool {
        self.counters.has(scope, window, start_ms)
    }

    /// Adds an account as a store has it. Where it is known already, what was deposited rises to
    /// the given sum, because somebody else may have deposited; what was spent stays, because
    /// nobody else spends.
    pub fn load_account(&mut self, id: AccountId, deposited: MicroUsd, spent: MicroUsd) {
        let account = self.accounts.entry(id).or_insert_with(|| Account {
            spent,
            ..Account::default()
        });
        account.deposited = account.deposited.max(deposited);
    }

    /// Adds a hold as a store has it, with the caps it was made under.
    ///
    /// # Errors
    /// When its account is missing or cannot bear it, or when it is known already: the store is
    /// damaged or was loaded twice.
    pub fn load_hold(&mut self, view: HoldView, caps: &[Cap]) -> Result<(), LedgerRefusal> {
        let HoldView {
            request,
            account: id,
            amount,
            state,
            created_at_ms,
            expires_at_ms,
        } = view;
        if self.knows(&id, &request) {
            return Err(LedgerRefusal::Duplicate(request));
        }
        let account = self
            .accounts
            .get_mut(&id)
            .ok_or_else(|| LedgerRefusal::NoAccount(id.clone()))?;
        account.hold_more(amount)?;
        let caps = counters::resolve(caps, created_at_ms);
        self.counters.hold(&caps, amount);
        if state == HoldState::Open {
            self.expiries.insert((expires_at_ms, id, request.clone()));
        }
        let hold = Hold {
            amount,
            state,
            created_at_ms,
            expires_at_ms,
            caps,
        };
        account.holds.insert(request, hold);
        Ok(())
    }

    /// Sets what a window's counter has counted as spent, as a store has it. A counter that is
    /// here already only rises.
    pub fn load_cap(&mut self, scope: CapScope, window: CapWindow, start_ms: u64, spent: MicroUsd) {
        self.counters.load(scope, window, start_ms, spent);
    }

    /// Remembers an end that a store has, so that the same request does not end again.
    pub fn load_ended(
        &mut self,
        account: AccountId,
        request: RequestId,
        paid: SettledCost,
        now_ms: u64,
    ) {
        self.ended
            .insert(account, request, Ended::Settled(paid), now_ms);
    }

    /// Takes money out of reach.
    ///
    /// # Errors
    /// When the account is missing or has less, the request was seen before, or a cap would be
    /// exceeded. Nothing has changed then.
    pub fn reserve(&mut self, command: &Reserve) -> Result<Reservation, LedgerRefusal> {
        if command.amount > MicroUsd::MAX {
            return Err(LedgerRefusal::Overflow);
        }
        if !self.has(&command.account) {
            return Err(LedgerRefusal::NoAccount(command.account.clone()));
        }
        if self.knows(&command.account, &command.request) {
            return Err(LedgerRefusal::Duplicate(command.request.clone()));
        }
        let account = self
            .accounts
            .get_mut(&command.account)
            .expect("looked up above");
        account.check(command.amount)?;
        let caps = counters::resolve(&command.caps, command.now_ms);
        self.counters.check(&caps, command.amount)?;
        account.hold_more(command.amount)?;
        self.counters.hold(&caps, command.amount);
        self.expiries.insert((
            command.expires_at_ms,
            command.account.clone(),
            command.request.clone(),
        ));
        let hold = Hold {
            amount: command.amount,
            state: HoldState::Open,
            created_at_ms: command.now_ms,
            expires_at_ms: command.expires_at_ms,
            caps,
        };
        account.holds.insert(command.request.clone(), hold);
        Ok(Reservation {
            held: command.amount,
            available: account.available(),
        })
    }

    /// Holds `by` more. It counts in the windows in which the hold was made, also when they are
    /// over by now: one request counts in one place.
    ///
    /// # Errors
    /// When there is no open hold, or as [`Self::reserve`]. Nothing has changed then.
    pub fn extend(
        &mut self,
        account: &AccountId,
        request: &RequestId,
        by: MicroUsd,
    ) -> Result<Reservation, LedgerRefusal> {
        let no_hold = || LedgerRefusal::NoHold(request.clone());
        if self.is_ending(account, request) {
            return Err(no_hold());
        }
        let found = self.accounts.get_mut(account).ok_or_else(no_hold)?;
        let is_open = |hold: &&Hold| hold.state == HoldState::Open;
        let hold = found.holds.get(request).filter(is_open);
        let hold = hold.ok_or_else(no_hold)?;
        found.check(by)?;
        self.counters.check(&hold.caps, by)?;
        let held = hold.amount.checked_add(by).ok_or(LedgerRefusal::Overflow)?;
        found.hold_more(by)?;
        let hold = found.holds.get_mut(request).ok_or_else(no_hold)?;
        self.counters.hold(&hold.caps, by);
        hold.amount = held;
        Ok(Reservation {
            held,
            available: found.available(),
        })
    }

    /// Puts money in, making the account where there is none. Whether this deposit has been made
    /// before is the store's to know.
    ///
    /// # Errors
    /// When the sum is out of range.
    pub fn deposit(&mut self, command: &Deposit) -> Result<Balance, LedgerRefusal> {
        let before = self
            .accounts
            .get(&command.account)
            .map_or(MicroUsd::ZERO, |account| account.deposited);
        let deposited = before
            .checked_add(command.amount)
            .ok_or(LedgerRefusal::Overflow)?;
        let account = self.accounts.entry(command.account.clone()).or_default();
        account.deposited = deposited;
        Ok(account.balance())
    }

    /// Keeps an amount that is being deposited for a request out of reach of all others, until
    /// [`Self::keep_promise`] or [`Self::break_promise`]. For stores in which a deposit can be seen
    /// before they have held it. The account must be loaded.
    pub fn promise(&mut self, account: &AccountId, amount: MicroUsd) {
        if let Some(found) = self.accounts.get_mut(account) {
            found.promised = found.promised.checked_add(amount).unwrap_or(MicroUsd::MAX);
        }
    }

    /// Ends a promise: the deposit did not happen.
    pub fn break_promise(&mut self, account: &AccountId, amount: MicroUsd) {
        if let Some(found) = self.accounts.get_mut(account) {
            found.promised = found.promised.saturating_sub(amount);
        }
    }

    /// Ends a promise by the hold that it was for.
    ///
    /// # Errors
    /// As [`Self::reserve`]; the promise has ended all the same.
    pub fn keep_promise(&mut self, command: &Reserve) -> Result<Reservation, LedgerRefusal> {
        self.break_promise(&command.account, command.amount);
        self.reserve(command)
    }

    /// Releases the open holds whose time is over, and answers what they were. Holds of unknown
    /// outcome never expire.
    pub fn expire(&mut self, now_ms: u64) -> Vec<HoldView> {
        let mut over = Vec::new();
        let mut ending = Vec::new();
        while let Some((at_ms, _, _)) = self.expiries.first()
            && *at_ms <= now_ms
        {
            let (at_ms, account, request) = self.expiries.pop_first().expect("looked at above");
            if self.is_ending(&account, &request) {
                ending.push((at_ms, account, request));
                continue;
            }
            let hold = self
                .accounts
                .get_mut(&account)
                .and_then(|found| found.take(&request))
                .expect("an expiry belongs to a hold");
            self.counters.release(&hold.caps, hold.amount);
            let view = hold.view(&account, &request);
            self.ended
                .insert(account, request, Ended::Expired(hold.caps), now_ms);
            over.push(view);
        }
        self.expiries.extend(ending);
        over
    }

    /// Where an account stands; `None` where there is none.
    #[must_use]
    pub fn balance(&self, account: &AccountId) -> Option<Balance> {
        self.accounts.get(account).map(Account::balance)
    }

    /// Holds that have not ended, oldest first; of one account or of all.
    #[must_use]
    pub fn holds(&self, account: Option<&AccountId>) -> Vec<HoldView> {
        let views = |(id, found): (&AccountId, &Account)| {
            let id = id.clone();
            found
                .holds
                .iter()
                .map(move |(request, hold)| hold.view(&id, request))
                .collect::<Vec<_>>()
        };
        let mut all: Vec<_> = match account {
            Some(id) => self.accounts.get_key_value(id).map_or(vec![], views),
            None => self.accounts.iter().flat_map(views).collect(),
        };
        all.sort_by(|a, b| {
            (a.created_at_ms, &a.account, &a.request).cmp(&(
                b.created_at_ms,
                &b.account,
                &b.request,
            ))
        });
        all
    }

    /// A hold that has not ended, with the caps it was made under.
    #[must_use]
    pub fn hold(&self, account: &AccountId, request: &RequestId) -> Option<(HoldView, Vec<Cap>)> {
        let hold = self.accounts.get(account)?.holds.get(request)?;
        let caps = hold.caps.iter().map(HeldCap::cap).collect();
        Some((hold.view(account, request), caps))
    }

    /// The state of a hold that has not ended.
    #[must_use]
    pub fn hold_state(&self, account: &AccountId, request: &RequestId) -> Option<HoldState> {
        let hold = self.accounts.get(account)?.holds.get(request)?;
        Some(hold.state)
    }

    /// Takes a charge back that a store found to have been made long before: the account has its
    /// money again, and the counters have not counted it.
    pub fn take_back(
        &mut self,
        account: &AccountId,
        charged: MicroUsd,
        counters: &[(CapScope, CapWindow, u64)],
    ) {
        if let Some(found) = self.accounts.get_mut(account) {
            found.spent = found.spent.saturating_sub(charged);
        }
        for (scope, window, start_ms) in counters {
            self.counters.take_back(scope, *window, *start_ms, charged);
        }
    }

    /// The sum of spent and held amounts in a window's counter.
    #[must_use]
    pub fn used(&self, scope: &CapScope, window: CapWindow, now_ms: u64) -> MicroUsd {
        self.counters.used(scope, window, window.bounds(now_ms).0)
    }

    /// Drops counters in which nothing is held and that no new request will count in: windows
    /// that ended before `before_ms`, and sessions if `sessions` says so. For stores that ask
    /// [`Self::has_cap`] before they reserve, and load what is missing.
    pub fn forget_counters(&mut self, before_ms: u64, sessions: Sessions) {
        self.counters.forget(before_ms, sessions);
    }

    /// The contradictions in the books, in words. Empty, unless this code or the loaded data is
    /// wrong.
    #[must_use]
    pub fn audit(&self) -> Vec<String> {
        audit::audit(self)
    }

    /// How many accounts there are.
    #[must_use]
    pub fn accounts(&self) -> usize {
        self.accounts.len()
    }
}

/// Whether counters of sessions are kept when others are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sessions {
    /// Counters of sessions stay in memory.
    Keep,
    /// Counters of sessions without holds are removed from memory.
    Forget,
}
