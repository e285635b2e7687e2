//! The prefixes that a provider stores on order: how often their calls come, which are stored until
//! when, and what the owner has spent.

use std::collections::HashMap;

use bardo_types::money::MicroUsd;

use super::gaps::Gaps;
use super::storage::{MARGIN_MS, StorageCase, StoragePlan};
use super::warm::{DAY_MS, DaySpending, KeepaliveLimits, SPENDERS};
use super::{Millis, PrefixId};

/// What to do beside a call. The cost is counted already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorageStep<T> {
    /// Nothing pays, or it is being done.
    None,
    /// Store the prefix. [`StoredTable::created`] or [`StoredTable::not_created`] follows.
    Create(StoragePlan),
    /// Store it for longer. [`StoredTable::extended`] follows.
    Extend(T, StoragePlan),
}

#[derive(Debug)]
enum PrefixState<T> {
    Absent,
    /// Being created, or it is not known whether it was: nothing is created until then.
    Pending {
        until: Millis,
    },
    Stored {
        what: T,
        expires: Millis,
        is_extending: bool,
    },
}

#[derive(Debug)]
struct PrefixEntry<T> {
    gaps: Gaps,
    last: Millis,
    /// Tokens that the provider's own cache read in calls without the stored prefix.
    read: u64,
    /// Number of those calls.
    plain: u64,
    /// Tokens of the prefix as the provider counted them.
    tokens: Option<u64>,
    state: PrefixState<T>,
}

impl<T> PrefixEntry<T> {
    /// Tokens that the provider's own cache reads of a prompt on average.
    fn already(&self) -> u64 {
        self.read.div_ceil(self.plain.max(1))
    }
}

/// The prefixes of a process. `T` is what it takes to name and to delete a stored one.
#[derive(Debug)]
pub struct StoredTable<T> {
    entries: HashMap<PrefixId, PrefixEntry<T>>,
    capacity: usize,
    day: u64,
    all: DaySpending,
    by_prefix: HashMap<PrefixId, DaySpending>,
}

impl<T: Clone + PartialEq> StoredTable<T> {
    /// A table that remembers at most `capacity` prefixes.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            entries: HashMap::new(),
            capacity,
            day: 0,
            all: DaySpending::default(),
            by_prefix: HashMap::new(),
        }
    }

    /// The stored prefix that a call at `now` may name.
    #[must_use]
    pub fn usable(&self, id: PrefixId, now: Millis) -> Option<T> {
        match &self.entries.get(&id)?.state {
            PrefixState::Stored { what, expires, .. }
                if now.saturating_add(MARGIN_MS) < *expires =>
            {
                Some(what.clone())
            }
            _ => None,
        }
    }

    /// Takes in a call that the provider answered, and decides what is done beside it.
    pub fn seen(
        &mut self,
        id: PrefixId,
        case: &StorageCase,
        limits: &KeepaliveLimits,
        now: Millis,
    ) -> StorageStep<T> {
        self.new_day(now);
        if !self.entries.contains_key(&id) && !self.make_room(now) {
            return StorageStep::None;
        }
        let is_new = !self.entries.contains_key(&id);
        let entry = self.entries.entry(id).or_insert_with(|| PrefixEntry {
            gaps: Gaps::default(),
            last: now,
            read: 0,
            plain: 0,
            tokens: None,
            state: PrefixState::Absent,
        });
        if !is_new {
            entry.gaps.add(now.saturating_sub(entry.last));
            entry.last = entry.last.max(now);
        }
        let case = StorageCase {
            tokens: entry.tokens.unwrap_or(case.tokens),
            ..*case
        };
        let (expires, is_busy) = match &entry.state {
            PrefixState::Absent => (None, false),
            PrefixState::Pending { until } => (None, now < *until),
            PrefixState::Stored { expires, .. } if *expires <= now => (None, false),
            PrefixState::Stored {
                expires,
                is_extending,
                ..
            } => (Some(*expires), *is_extending),
        };
        if is_busy {
            return StorageStep::None;
        }
        match expires {
            None => self.create(id, &case, limits, now),
            Some(expires) => self.extend(id, &case, limits, now, expires),
        }
    }

    fn create(
        &mut self,
        id: PrefixId,
        case: &StorageCase,
        limits: &KeepaliveLimits,
        now: Millis,
    ) -> StorageStep<T> {
        let plan = self
            .entries
            .get(&id)
            .and_then(|entry| case.create(&entry.gaps, entry.already()));
        let Some(plan) = plan.filter(|plan| self.affords(id, plan.cost, limits)) else {
            return StorageStep::None;
        };
        self.spend(id, plan.cost);
        if let Some(entry) = self.entries.get_mut(&id) {
            let until = now.saturating_add(plan.ttl_s.saturating_mul(1_000));
            entry.state = PrefixState::Pending { until };
        }
        StorageStep::Create(plan)
    }

    fn extend(
        &mut self,
        id: PrefixId,
        case: &StorageCase,
        limits: &KeepaliveLimits,
        now: Millis,
        expires: Millis,
    ) -> StorageStep<T> {
        let plan = self
            .entries
            .get(&id)
            .and_then(|entry| case.extend(&entry.gaps, entry.already()));
        // The time that is left is paid for already; less than half of a lifetime is made whole.
        let left_s = expires.saturating_sub(now) / 1_000;
        let Some(plan) = plan.filter(|plan| left_s.saturating_mul(2) < plan.ttl_s) else {
            return StorageStep::None;
        };
        let Some(fee) = case.fee(plan.ttl_s - left_s) else {
            return StorageStep::None;
        };
        if !self.affords(id, fee, limits) {
            return StorageStep::None;
        }
        self.spend(id, fee);
        let Some(entry) = self.entries.get_mut(&id) else {
            return StorageStep::None;
        };
        let PrefixState::Stored {
            what, is_extending, ..
        } = &mut entry.state
        else {
            return StorageStep::None;
        };
        *is_extending = true;
        StorageStep::Extend(
            what.clone(),
            StoragePlan {
                added_s: plan.ttl_s - left_s,
                fee,
                cost: fee,
                ..plan
            },
        )
    }

    /// Takes in that the prefix is stored until `expires`, and what that cost. Gives back what is to
    /// be deleted, where nothing waits for it any more.
    ///
    /// # Errors
    /// Where the prefix was forgotten meanwhile.
    pub fn created(
        &mut self,
        id: PrefixId,
        what: T,
        tokens: u64,
        expires: Millis,
        spent: (MicroUsd, MicroUsd),
    ) -> Result<(), T> {
        self.correct(id, spent.0, spent.1);
        let Some(entry) = self.entries.get_mut(&id) else {
            return Err(what);
        };
        if !matches!(entry.state, PrefixState::Pending { .. }) {
            return Err(what);
        }
        entry.tokens = Some(tokens);
        entry.state = PrefixState::Stored {
            what,
            expires,
            is_extending: false,
        };
        Ok(())
    }

    /// Takes in that the prefix was not created, or that nobody knows whether it was. Then it counts
    /// as stored and paid until its lifetime is over, and nothing is created before. It is not
    /// created again on that day.
    pub fn not_created(&mut self, id: PrefixId, expected: MicroUsd, is_unknown: bool) {
        if !is_unknown {
            // Before the entry of this day is made: what was counted on another day is gone with it.
            self.correct(id, expected, MicroUsd::ZERO);
        }
        self.by_prefix.entry(id).or_default().is_lost = true;
        if is_unknown {
            return;
        }
        if let Some(entry) = self.entries.get_mut(&id)
            && matches!(entry.state, PrefixState::Pending { .. })
        {
            entry.state = PrefixState::Absent;
        }
    }

    /// Takes in the new end of a lifetime; `None`: it is the old one. A fee whose outcome is not known
    /// stays counted.
    pub fn extended(
        &mut self,
        id: PrefixId,
        until: Option<Millis>,
        expected: MicroUsd,
        is_unknown: bool,
    ) {
        if until.is_none() && !is_unknown {
            self.correct(id, expected, MicroUsd::ZERO);
        }
        if until.is_none() {
            // What is stored may be used to its end. No further fee is risked on that day.
            self.by_prefix.entry(id).or_default().is_lost = true;
        }
        if let Some(entry) = self.entries.get_mut(&id)
            && let PrefixState::Stored {
                expires,
                is_extending,
                ..
            } = &mut entry.state
        {
            *is_extending = false;
            *expires = until.unwrap_or(*expires);
        }
    }

    /// Takes in that the provider does not have it any more. It is not created again on that day.
    /// Answers whether it was stored until now: of many calls that find this out, the first one.
    pub fn lost(&mut self, id: PrefixId, lost: &T) -> bool {
        let Some(entry) = self.entries.get_mut(&id) else {
            return false;
        };
        if !matches!(&entry.state, PrefixState::Stored { what, .. } if what == lost) {
            return false;
        }
        entry.state = PrefixState::Absent;
        self.by_prefix.entry(id).or_default().is_lost = true;
        true
    }

    /// Takes in how many tokens the provider's own cache read in a call without the stored prefix.
    pub fn read_without(&mut self, id: PrefixId, tokens: u64) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.read = entry.read.saturating_add(tokens);
            entry.plain = entry.plain.saturating_add(1);
        }
    }

    /// Forgets the stored prefixes that `is_meant` names, to be deleted at the provider.
    pub fn take(&mut self, is_meant: impl Fn(&T) -> bool) -> Vec<T> {
        let mut taken = Vec::new();
        self.entries.retain(|_, entry| match &entry.state {
            PrefixState::Stored { what, .. } if is_meant(what) => {
                taken.push(what.clone());
                false
            }
            _ => true,
        });
        taken
    }

    /// Stored prefixes at a time.
    #[must_use]
    pub fn len_at(&self, now: Millis) -> usize {
        let is_stored = |entry: &&PrefixEntry<T>| matches!(&entry.state, PrefixState::Stored { expires, .. } if now < *expires);
        self.entries.values().filter(is_stored).count()
    }

    /// Forgets the prefix that was called the longest ago, one that was called once before others,
    /// unless all are stored.
    fn make_room(&mut self, now: Millis) -> bool {
        if self.entries.len() < self.capacity {
            return true;
        }
        let is_free = |entry: &PrefixEntry<T>| match &entry.state {
            PrefixState::Absent => true,
            PrefixState::Pending { until } => *until <= now,
            PrefixState::Stored { expires, .. } => *expires <= now,
        };
        let free = self.entries.iter().filter(|(_, entry)| is_free(entry));
        let oldest = free
            .min_by_key(|(id, entry)| (!entry.gaps.is_empty(), entry.last, **id))
            .map(|(id, _)| *id);
        oldest.is_some_and(|id| self.entries.remove(&id).is_some())
    }

    fn new_day(&mut self, now: Millis) {
        if now / DAY_MS != self.day {
            self.day = now / DAY_MS;
            self.all = DaySpending::default();
            self.by_prefix.clear();
        }
    }

    fn affords(&self, id: PrefixId, cost: MicroUsd, limits: &KeepaliveLimits) -> bool {
        let own = self.by_prefix.get(&id).copied();
        let has_book = own.is_some() || self.by_prefix.len() < SPENDERS;
        has_book
            && self.all.allows(cost, limits.calls, limits.usd)
            && own
                .unwrap_or_default()
                .allows(cost, limits.prefix_calls, limits.prefix_usd)
    }

    fn spend(&mut self, id: PrefixId, cost: MicroUsd) {
        self.all.add(cost);
        self.by_prefix.entry(id).or_default().add(cost);
    }

    /// Puts the actual cost in place of the expected one. Where a day has begun meanwhile, the
    /// actual cost counts in neither.
    fn correct(&mut self, id: PrefixId, expected: MicroUsd, actual: MicroUsd) {
        if let Some(own) = self.by_prefix.get_mut(&id) {
            own.correct(expected, actual);
            self.all.correct(expected, actual);
        }
    }
}

#[cfg(test)]
mod tests;
