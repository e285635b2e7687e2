use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bardo_types::ids::AccountId;
use tokio::sync::watch;
use tokio::time::Instant;

use super::kept::{
    ANSWERS_MAX, ANSWERS_PER_ACCOUNT, KEYS_MAX, KEYS_PER_ACCOUNT_MAX, Kept, REMEMBERED,
};

/// An account and a key of its choice.
pub(super) type Name = Arc<(AccountId, String)>;

#[derive(Debug)]
pub(super) enum KeyOutcome {
    Running {
        /// Whether the answer is a stream.
        streams: bool,
        ended: watch::Receiver<()>,
    },
    Answered(Arc<Kept>),
    Unknown,
}

#[derive(Debug)]
pub(super) struct KeyedRequest {
    pub(super) digest: [u8; 32],
    pub(super) since: Instant,
    pub(super) outcome: KeyOutcome,
}

/// The answers that are kept for one account.
#[derive(Debug, Default)]
struct AccountAnswers {
    /// Names in the order in which their keys came.
    order: BTreeMap<u64, Name>,
    /// Size of the answers, in bytes.
    bytes: usize,
}

/// The keys in the order in which they came. What is running is never forgotten. Of the other keys
/// the oldest goes first, an account's own before another's; of the answers that of an account with
/// many bytes.
#[derive(Debug)]
pub(super) struct KeyTable {
    entries: HashMap<Name, (u64, KeyedRequest)>,
    order: BTreeMap<u64, Name>,
    /// The keys in their order, by account.
    accounts: HashMap<AccountId, BTreeMap<u64, Name>>,
    /// The keys whose answers are kept, by account.
    answered: HashMap<AccountId, AccountAnswers>,
    next: u64,
    /// Size of all kept answers together, in bytes.
    bytes: usize,
    swept: Instant,
}

impl KeyTable {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            entries: HashMap::new(),
            order: BTreeMap::new(),
            accounts: HashMap::new(),
            answered: HashMap::new(),
            next: 0,
            bytes: 0,
            swept: now,
        }
    }

    pub(super) fn get(&self, name: &Name) -> Option<&KeyedRequest> {
        self.entries.get(name).map(|(_, entry)| entry)
    }

    pub(super) fn insert(&mut self, name: &Name, entry: KeyedRequest) {
        let own = self.accounts.get(&name.0);
        if let Some(own) = own.filter(|own| own.len() >= KEYS_PER_ACCOUNT_MAX) {
            let oldest = self.oldest_ended(own);
            self.remove_all(oldest);
        } else if self.entries.len() >= KEYS_MAX {
            let oldest = self.oldest_ended(&self.order);
            self.remove_all(oldest);
        }
        let number = self.next;
        self.next += 1;
        self.order.insert(number, Arc::clone(name));
        self.accounts
            .entry(name.0.clone())
            .or_default()
            .insert(number, Arc::clone(name));
        self.entries.insert(Arc::clone(name), (number, entry));
    }

    fn oldest_ended(&self, among: &BTreeMap<u64, Name>) -> Option<Name> {
        among
            .values()
            .find(|name| {
                self.get(name)
                    .is_some_and(|entry| !matches!(entry.outcome, KeyOutcome::Running { .. }))
            })
            .cloned()
    }

    fn remove_all(&mut self, names: impl IntoIterator<Item = Name>) {
        for name in names {
            self.remove(&name);
        }
    }

    pub(super) fn remove(&mut self, name: &Name) {
        let Some((number, entry)) = self.entries.remove(name) else {
            return;
        };
        self.order.remove(&number);
        if let Some(own) = self.accounts.get_mut(&name.0) {
            own.remove(&number);
            if own.is_empty() {
                self.accounts.remove(&name.0);
            }
        }
        if let KeyOutcome::Answered(kept) = entry.outcome {
            self.forget_answer(&name.0, number, kept.body.len());
        }
    }

    /// Takes an answer of `bytes` bytes out of the sums.
    fn forget_answer(&mut self, account: &AccountId, number: u64, bytes: usize) {
        self.bytes -= bytes;
        if let Some(own) = self.answered.get_mut(account) {
            own.bytes -= bytes;
            own.order.remove(&number);
            if own.order.is_empty() {
                self.answered.remove(account);
            }
        }
    }

    pub(super) fn streams(&mut self, name: &Name) {
        if let Some((_, entry)) = self.entries.get_mut(name)
            && let KeyOutcome::Running { streams, .. } = &mut entry.outcome
        {
            *streams = true;
        }
    }

    pub(super) fn settle(&mut self, name: &Name, outcome: KeyOutcome) {
        let Some((number, entry)) = self.entries.get_mut(name) else {
            return;
        };
        if let KeyOutcome::Answered(kept) = &outcome {
            self.bytes += kept.body.len();
            let own = self.answered.entry(name.0.clone()).or_default();
            own.bytes += kept.body.len();
            own.order.insert(*number, Arc::clone(name));
        }
        entry.outcome = outcome;
        // Answers go before keys: that a request was carried out is worth more than its words.
        while self.bytes > ANSWERS_MAX
            && let Some((number, name)) = self.superfluous(&name.0)
        {
            let outcome = self
                .entries
                .get_mut(&name)
                .map(|(_, entry)| std::mem::replace(&mut entry.outcome, KeyOutcome::Unknown));
            let bytes = match outcome {
                Some(KeyOutcome::Answered(kept)) => kept.body.len(),
                _ => 0,
            };
            self.forget_answer(&name.0, number, bytes);
        }
    }

    /// The answer that goes when an account stores one too many: the account's own oldest where it
    /// holds much, else the oldest of the account that holds the most.
    fn superfluous(&self, storing: &AccountId) -> Option<(u64, Name)> {
        let own = self.answered.get(storing);
        let held = match own.filter(|own| own.bytes > ANSWERS_PER_ACCOUNT) {
            Some(own) => own,
            None => {
                // The answer that has just come stays.
                let others = self
                    .answered
                    .iter()
                    .filter(|(account, held)| *account != storing || held.order.len() > 1);
                let oldest = |held: &AccountAnswers| Reverse(held.order.keys().next().copied());
                others
                    .map(|(_, held)| held)
                    .max_by_key(|held| (held.bytes, oldest(held)))?
            }
        };
        let (number, name) = held.order.first_key_value()?;
        Some((*number, Arc::clone(name)))
    }

    pub(super) fn forget_old(&mut self, now: Instant) {
        // Once a second is often enough for a day.
        if now.saturating_duration_since(self.swept).as_secs() < 1 {
            return;
        }
        self.swept = now;
        let old: Vec<Name> = self
            .order
            .values()
            .map_while(|name| {
                let entry = self.get(name)?;
                let age = now.saturating_duration_since(entry.since);
                (age >= REMEMBERED).then_some((name, entry))
            })
            .filter(|(_, entry)| !matches!(entry.outcome, KeyOutcome::Running { .. }))
            .map(|(name, _)| Arc::clone(name))
            .collect();
        self.remove_all(old);
    }

    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        let by_account: usize = self.accounts.values().map(BTreeMap::len).sum();
        assert_eq!(self.entries.len(), self.order.len());
        assert_eq!(self.entries.len(), by_account);
        let kept = self
            .entries
            .values()
            .map(|(_, entry)| match &entry.outcome {
                KeyOutcome::Answered(kept) => kept.body.len(),
                KeyOutcome::Running { .. } | KeyOutcome::Unknown => 0,
            });
        assert_eq!(self.bytes, kept.sum::<usize>());
        let answered = self.answered.values().map(|own| own.bytes);
        assert_eq!(self.bytes, answered.sum::<usize>());
        (self.entries.len(), self.bytes)
    }
}
