//! The entries that are kept: when the next keepalive call is due, and what the owner has spent.

use std::collections::HashMap;

use bardo_types::money::MicroUsd;

use super::keepalive::Warming;
use super::{Millis, PrefixId};

pub(super) const DAY_MS: Millis = 24 * 60 * 60 * 1_000;
/// Prefixes whose spending of a day is remembered. Others get no keepalive calls on that day.
pub(super) const SPENDERS: usize = 4_096;

/// What the owner allows in a day, which is 24 hours counted from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepaliveLimits {
    /// Keepalive calls for one prefix.
    pub prefix_calls: u32,
    /// Money for one prefix.
    pub prefix_usd: MicroUsd,
    /// Keepalive calls for all prefixes.
    pub calls: u32,
    /// Money for all prefixes.
    pub usd: MicroUsd,
}

/// What keepalive calls were counted in a day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DaySpending {
    calls: u32,
    usd: MicroUsd,
    /// A call did not find the entry, so what is known of its lifetime is wrong.
    pub(super) is_lost: bool,
}

impl DaySpending {
    /// Whether one more call stays within its limits.
    pub(super) fn allows(&self, cost: MicroUsd, calls: u32, usd: MicroUsd) -> bool {
        let sum = self.usd.checked_add(cost);
        !self.is_lost && self.calls < calls && sum.is_some_and(|sum| sum <= usd)
    }

    /// Counts one call.
    pub(super) fn add(&mut self, cost: MicroUsd) {
        self.calls = self.calls.saturating_add(1);
        self.usd = self.usd.checked_add(cost).unwrap_or(MicroUsd::MAX);
    }

    /// Puts the actual cost of a call in place of the expected one.
    pub(super) fn correct(&mut self, expected: MicroUsd, actual: MicroUsd) {
        let rest = self.usd.saturating_sub(expected);
        self.usd = rest.checked_add(actual).unwrap_or(MicroUsd::MAX);
    }
}

/// An entry that is kept.
#[derive(Debug)]
struct WarmEntry<T> {
    what: T,
    warming: Warming,
    /// Number of the call of the agent that the keepalive calls follow.
    serial: u64,
    /// Time of the next keepalive call; `None` while one is under way and where none follows.
    due: Option<Millis>,
    /// Time at which the entry counts as expired.
    expires: Millis,
    /// Keepalive calls that may still follow.
    left: u32,
}

/// A keepalive call to make now. Its expected cost is counted already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueCall<T> {
    /// Prefix of the call.
    pub id: PrefixId,
    /// What is called.
    pub what: T,
    /// The decision behind it.
    pub warming: Warming,
    serial: u64,
}

/// The entries that are kept, and what was spent on the current day. `T` is what a keepalive call
/// needs.
#[derive(Debug)]
pub struct WarmTable<T> {
    entries: HashMap<PrefixId, WarmEntry<T>>,
    capacity: usize,
    serial: u64,
    day: u64,
    all: DaySpending,
    by_prefix: HashMap<PrefixId, DaySpending>,
}

impl<T: Clone> WarmTable<T> {
    /// A table of at most `capacity` entries.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            entries: HashMap::new(),
            capacity,
            serial: 0,
            day: 0,
            all: DaySpending::default(),
            by_prefix: HashMap::new(),
        }
    }

    /// Whether a keepalive call of that cost could follow a call now. What is kept already is worth
    /// reading in any case.
    #[must_use]
    pub fn has_room(
        &self,
        id: PrefixId,
        cost: MicroUsd,
        limits: &KeepaliveLimits,
        now: Millis,
    ) -> bool {
        if self
            .entries
            .get(&id)
            .is_some_and(|entry| now < entry.expires)
        {
            return true;
        }
        let has_place = self.entries.len() < self.capacity;
        has_place && self.affords(id, cost, limits, now)
    }

    /// Whether the limits of the day allow a call of that cost.
    fn affords(&self, id: PrefixId, cost: MicroUsd, limits: &KeepaliveLimits, now: Millis) -> bool {
        let is_today = now / DAY_MS == self.day;
        let own = self.by_prefix.get(&id).copied();
        let spent = |spent: Option<DaySpending>| spent.filter(|_| is_today).unwrap_or_default();
        let has_book = own.is_some() || !is_today || self.by_prefix.len() < SPENDERS;
        has_book
            && spent(Some(self.all)).allows(cost, limits.calls, limits.usd)
            && spent(own).allows(cost, limits.prefix_calls, limits.prefix_usd)
    }

    /// Keeps the entry that a call of the agent used at `now`.
    pub fn keep(&mut self, id: PrefixId, what: T, warming: Warming, now: Millis) {
        if self.entries.len() >= self.capacity && !self.entries.contains_key(&id) {
            return;
        }
        self.serial += 1;
        let entry = WarmEntry {
            what,
            warming,
            serial: self.serial,
            due: Some(now.saturating_add(warming.interval_ms())),
            expires: now.saturating_add(warming.usable_ms()),
            left: warming.pings,
        };
        self.entries.insert(id, entry);
    }

    /// Keeps the entry no longer.
    pub fn forget(&mut self, id: PrefixId) {
        self.entries.remove(&id);
    }

    /// Keeps the entries no longer that `is_meant` names.
    pub fn forget_where(&mut self, is_meant: impl Fn(&T) -> bool) {
        self.entries.retain(|_, entry| !is_meant(&entry.what));
    }

    /// Keeps no entry any longer.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Takes the calls that are due, and forgets the entries that have expired: a call for one would
    /// pay for writing it. Where no money is left no call follows.
    pub fn due(&mut self, limits: &KeepaliveLimits, now: Millis) -> Vec<DueCall<T>> {
        if now / DAY_MS != self.day {
            self.day = now / DAY_MS;
            self.all = DaySpending::default();
            self.by_prefix.clear();
        }
        self.entries.retain(|_, entry| now < entry.expires);
        let is_due = |entry: &WarmEntry<T>| entry.due.is_some_and(|due| due <= now);
        let due = self.entries.iter().filter(|(_, entry)| is_due(entry));
        let mut ids: Vec<(Millis, PrefixId)> =
            due.map(|(id, entry)| (entry.expires, *id)).collect();
        ids.sort_unstable();
        ids.into_iter()
            .filter_map(|(_, id)| {
                let entry = self.entries.get_mut(&id)?;
                entry.due = None;
                let cost = entry.warming.ping_charge();
                if !self.affords(id, cost, limits, now) {
                    return None;
                }
                self.all.add(cost);
                self.by_prefix.entry(id).or_default().add(cost);
                let entry = self.entries.get(&id)?;
                Some(DueCall {
                    id,
                    what: entry.what.clone(),
                    warming: entry.warming,
                    serial: entry.serial,
                })
            })
            .collect()
    }

    /// Takes in how a call ended that was made at `at`: whether the provider still had the entry,
    /// and what the call cost. `None`: unknown, so the expected cost stands. A prefix that was lost
    /// is not kept again on that day.
    pub fn ended(&mut self, call: &DueCall<T>, is_warm: bool, cost: Option<MicroUsd>, at: Millis) {
        if let Some(actual) = cost
            && let Some(own) = self.by_prefix.get_mut(&call.id)
        {
            let expected = call.warming.ping_charge();
            self.all.correct(expected, actual);
            own.correct(expected, actual);
        }
        if !is_warm {
            self.by_prefix.entry(call.id).or_default().is_lost = true;
        }
        // The agent called meanwhile, and its entry is another one.
        let Some(entry) = self
            .entries
            .get_mut(&call.id)
            .filter(|entry| entry.serial == call.serial)
        else {
            return;
        };
        entry.left = entry.left.saturating_sub(1);
        if !is_warm {
            self.entries.remove(&call.id);
            return;
        }
        let next = at.saturating_add(entry.warming.interval_ms());
        entry.due = (entry.left > 0).then_some(next);
        entry.expires = at.saturating_add(entry.warming.usable_ms());
    }

    /// Entries that are kept now.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// No entry is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests;
