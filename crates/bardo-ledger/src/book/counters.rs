//! What is spent and held within each window of each cap.

use std::collections::HashMap;

use bardo_types::money::MicroUsd;

use super::Sessions;
use crate::caps::{Cap, CapScope, CapWindow};
use crate::command::LedgerRefusal;

/// A counter of a cap: one window of one scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapCounter {
    /// The key, account or session whose spending is counted.
    pub scope: CapScope,
    /// Over which kind of time.
    pub window: CapWindow,
    /// Unix milliseconds at which the window began; 0 for [`CapWindow::Total`].
    pub start_ms: u64,
    /// All that was captured in it so far.
    pub spent: MicroUsd,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct CounterKey {
    scope: CapScope,
    window: CapWindow,
    /// Where the clock steps back over the start, the earlier window's counter goes on.
    start_ms: u64,
}

impl CounterKey {
    pub(super) fn parts(&self) -> (&CapScope, CapWindow, u64) {
        (&self.scope, self.window, self.start_ms)
    }
}

/// A cap that a hold counts in, with the window it was made in.
#[derive(Debug, Clone)]
pub(super) struct HeldCap {
    pub(super) key: CounterKey,
    limit: MicroUsd,
}

impl HeldCap {
    pub(super) fn cap(&self) -> Cap {
        Cap {
            scope: self.key.scope.clone(),
            window: self.key.window,
            limit: self.limit,
        }
    }
}

#[derive(Debug, Default)]
struct SpendCounter {
    spent: MicroUsd,
    held: MicroUsd,
}

impl SpendCounter {
    fn used(&self) -> MicroUsd {
        self.spent.checked_add(self.held).unwrap_or(MicroUsd::MAX)
    }
}

#[derive(Debug, Default)]
pub(super) struct Counters(HashMap<CounterKey, SpendCounter>);

/// The counters that caps name at a time. Of two caps on the same counter the lower one holds.
pub(super) fn resolve(caps: &[Cap], now_ms: u64) -> Box<[HeldCap]> {
    let mut held: Vec<HeldCap> = Vec::with_capacity(caps.len());
    for cap in caps {
        let key = CounterKey {
            scope: cap.scope.clone(),
            window: cap.window,
            start_ms: cap.window.bounds(now_ms).0,
        };
        match held.iter_mut().find(|known| known.key == key) {
            Some(known) => known.limit = known.limit.min(cap.limit),
            None => held.push(HeldCap {
                key,
                limit: cap.limit,
            }),
        }
    }
    held.into_boxed_slice()
}

impl Counters {
    pub(super) fn has(&self, scope: &CapScope, window: CapWindow, start_ms: u64) -> bool {
        self.0.contains_key(&CounterKey {
            scope: scope.clone(),
            window,
            start_ms,
        })
    }

    pub(super) fn load(
        &mut self,
        scope: CapScope,
        window: CapWindow,
        start_ms: u64,
        spent: MicroUsd,
    ) {
        let key = CounterKey {
            scope,
            window,
            start_ms,
        };
        let counter = self.0.entry(key).or_default();
        counter.spent = counter.spent.max(spent);
    }

    pub(super) fn used(&self, scope: &CapScope, window: CapWindow, start_ms: u64) -> MicroUsd {
        let key = CounterKey {
            scope: scope.clone(),
            window,
            start_ms,
        };
        self.0.get(&key).map_or(MicroUsd::ZERO, SpendCounter::used)
    }

    /// Whether `needed` more fits under every cap. A cap of zero blocks also what is free.
    pub(super) fn check(&self, caps: &[HeldCap], needed: MicroUsd) -> Result<(), LedgerRefusal> {
        for cap in caps {
            let used = self.used_of(&cap.key);
            let fits = used
                .checked_add(needed)
                .is_some_and(|sum| sum <= cap.limit && cap.limit > MicroUsd::ZERO);
            if !fits {
                return Err(LedgerRefusal::Capped {
                    scope: cap.key.scope.clone(),
                    window: cap.key.window,
                    limit: cap.limit,
                    used,
                    needed,
                    resets_at_ms: cap.key.window.bounds(cap.key.start_ms).1,
                });
            }
        }
        Ok(())
    }

    /// How much more may be spent under every cap; `None`: there is no cap.
    pub(super) fn room(&self, caps: &[HeldCap]) -> Option<MicroUsd> {
        caps.iter()
            .map(|cap| cap.limit.saturating_sub(self.used_of(&cap.key)))
            .min()
    }

    pub(super) fn hold(&mut self, caps: &[HeldCap], amount: MicroUsd) {
        for cap in caps {
            let counter = self.0.entry(cap.key.clone()).or_default();
            counter.held = counter.held.checked_add(amount).unwrap_or(MicroUsd::MAX);
        }
    }

    pub(super) fn release(&mut self, caps: &[HeldCap], amount: MicroUsd) {
        for cap in caps {
            let counter = self.0.entry(cap.key.clone()).or_default();
            counter.held = counter
                .held
                .checked_sub(amount)
                .expect("what is held under a cap is the sum of its holds");
        }
    }

    pub(super) fn spend(&mut self, caps: &[HeldCap], amount: MicroUsd) -> Vec<CapCounter> {
        caps.iter()
            .map(|cap| {
                let counter = self.0.entry(cap.key.clone()).or_default();
                counter.spent = counter.spent.checked_add(amount).unwrap_or(MicroUsd::MAX);
                CapCounter {
                    scope: cap.key.scope.clone(),
                    window: cap.key.window,
                    start_ms: cap.key.start_ms,
                    spent: counter.spent,
                }
            })
            .collect()
    }

    pub(super) fn take_back(
        &mut self,
        scope: &CapScope,
        window: CapWindow,
        start_ms: u64,
        amount: MicroUsd,
    ) {
        let key = CounterKey {
            scope: scope.clone(),
            window,
            start_ms,
        };
        if let Some(counter) = self.0.get_mut(&key) {
            counter.spent = counter.spent.saturating_sub(amount);
        }
    }

    pub(super) fn forget(&mut self, before_ms: u64, sessions: Sessions) {
        self.0.retain(|key, counter| {
            let is_over = key
                .window
                .bounds(key.start_ms)
                .1
                .is_some_and(|end_ms| end_ms < before_ms);
            let is_session = matches!(key.scope, CapScope::Session(..));
            let goes = is_over || (is_session && sessions == Sessions::Forget);
            counter.held > MicroUsd::ZERO || !goes
        });
    }

    /// The held amount of each counter that is not empty.
    pub(super) fn held(&self) -> HashMap<&CounterKey, MicroUsd> {
        self.0
            .iter()
            .filter(|(_, counter)| counter.held > MicroUsd::ZERO)
            .map(|(key, counter)| (key, counter.held))
            .collect()
    }

    fn used_of(&self, key: &CounterKey) -> MicroUsd {
        self.0.get(key).map_or(MicroUsd::ZERO, SpendCounter::used)
    }
}
