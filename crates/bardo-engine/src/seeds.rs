//! The seed of agents that have not earned yet: what their calls may cost on one day (UTC) at the
//! backend that revenue pays for.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bardo_router::SEED_OF_A_DAY;
use bardo_types::money::MicroUsd;

pub(crate) const DAY_MS: u64 = 86_400_000;
/// Number of agents in memory before those of earlier days are forgotten.
const AGENTS_MAX: usize = 10_000;

/// The amount that an agent has spent of its seed on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedSpent {
    /// The account and the agent.
    pub agent: String,
    /// Days since 1970-01-01.
    pub day: u64,
    /// All that was spent on that day so far.
    pub spent: MicroUsd,
}

type Keep = Box<dyn Fn(&SeedSpent) + Send + Sync>;

/// The seeds of all agents.
#[derive(Default)]
pub struct Seeds {
    agents: Mutex<HashMap<String, Purse>>,
    keep: OnceLock<Keep>,
}

/// The credit of the account at Bankr, as it was last told.
pub(crate) struct Credit(AtomicU64);

const UNKNOWN: u64 = u64::MAX;

impl Default for Credit {
    fn default() -> Self {
        Self(AtomicU64::new(UNKNOWN))
    }
}

impl Credit {
    pub(crate) fn get(&self) -> Option<MicroUsd> {
        let told = self.0.load(Ordering::Relaxed);
        (told != UNKNOWN).then(|| MicroUsd::new(told))
    }

    pub(crate) fn set(&self, credit: Option<MicroUsd>) {
        let told = credit.map_or(UNKNOWN, MicroUsd::get);
        self.0.store(told, Ordering::Relaxed);
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Purse {
    day: u64,
    spent: MicroUsd,
    /// For calls under way.
    taken: MicroUsd,
}

impl Purse {
    fn on(&mut self, day: u64) -> &mut Self {
        if self.day != day {
            *self = Self {
                day,
                // Calls that were begun yesterday give back what they took.
                taken: self.taken,
                ..Self::default()
            };
        }
        self
    }

    fn left(&self) -> MicroUsd {
        SEED_OF_A_DAY
            .saturating_sub(self.spent)
            .saturating_sub(self.taken)
    }
}

impl Seeds {
    /// Takes over what agents had spent before the process began.
    pub fn load(&self, spent: impl IntoIterator<Item = SeedSpent>) {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        for SeedSpent { agent, day, spent } in spent {
            let purse = agents.entry(agent).or_default();
            if day >= purse.day {
                purse.on(day).spent = spent;
            }
        }
    }

    /// Calls this whenever an agent has spent something, to store it. Only the first call counts.
    pub fn store_by(&self, keep: impl Fn(&SeedSpent) + Send + Sync + 'static) {
        let _ = self.keep.set(Box::new(keep));
    }

    pub(crate) fn left(&self, agent: &str, day: u64) -> MicroUsd {
        let agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.get(agent).map_or(SEED_OF_A_DAY, |purse| {
            let mut purse = *purse;
            purse.on(day).left()
        })
    }

    /// Takes an amount for a call; `None` where less is left.
    pub(crate) fn take(
        self: &Arc<Self>,
        agent: String,
        day: u64,
        amount: MicroUsd,
    ) -> Option<SeedTaken> {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        if agents.len() >= AGENTS_MAX && !agents.contains_key(&agent) {
            agents.retain(|_, purse| purse.day == day || purse.taken > MicroUsd::ZERO);
            if agents.len() >= AGENTS_MAX {
                return None;
            }
        }
        let purse = agents.entry(agent.clone()).or_default().on(day);
        if purse.left() < amount {
            return None;
        }
        purse.taken = purse.taken.checked_add(amount)?;
        Some(SeedTaken {
            seeds: Arc::clone(self),
            agent,
            day,
            amount,
            cost: OnceLock::new(),
        })
    }
}

/// The part of its agent's seed that a call has taken. The unused rest is given back at its end.
pub(crate) struct SeedTaken {
    seeds: Arc<Seeds>,
    agent: String,
    day: u64,
    amount: MicroUsd,
    cost: OnceLock<MicroUsd>,
}

impl SeedTaken {
    /// The call was made, and costs this; all that was taken where nobody knows.
    pub(crate) fn cost(&self, cost: Option<MicroUsd>) {
        let _ = self.cost.set(cost.unwrap_or(self.amount));
    }
}

impl Drop for SeedTaken {
    fn drop(&mut self) {
        let cost = self.cost.get().copied().unwrap_or_default();
        let mut agents = self
            .seeds
            .agents
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let purse = agents.entry(std::mem::take(&mut self.agent));
        let agent = purse.key().clone();
        let purse = purse.or_default();
        purse.taken = purse.taken.saturating_sub(self.amount);
        if cost == MicroUsd::ZERO || purse.day != self.day {
            return;
        }
        purse.spent = purse.spent.checked_add(cost).unwrap_or(MicroUsd::MAX);
        let told = SeedSpent {
            agent,
            day: self.day,
            spent: purse.spent,
        };
        // In this order, so that what is stored never goes back.
        if let Some(keep) = self.seeds.keep.get() {
            keep(&told);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(micro: u64) -> MicroUsd {
        MicroUsd::new(micro)
    }

    #[test]
    fn a_day_has_one_seed_however_many_calls_are_made() {
        let seeds = Arc::new(Seeds::default());
        let take = |amount, day| seeds.take("a/g".into(), day, usd(amount));
        let first = take(60_000, 1).unwrap();
        assert!(take(60_000, 1).is_none(), "calls under way count");
        let second = take(40_000, 1).unwrap();
        first.cost(Some(usd(10_000)));
        drop((first, second));
        assert_eq!(
            seeds.left("a/g", 1),
            usd(90_000),
            "the second was never made"
        );
        let unknown = take(90_000, 1).unwrap();
        unknown.cost(None);
        drop(unknown);
        assert_eq!(seeds.left("a/g", 1), MicroUsd::ZERO);
        assert_eq!(
            seeds.left("a/h", 1),
            SEED_OF_A_DAY,
            "each agent has its own"
        );
        assert_eq!(seeds.left("a/g", 2), SEED_OF_A_DAY, "each day has its own");
    }

    #[test]
    fn what_was_stored_is_spent_after_a_restart_too() {
        let stored: Arc<Mutex<Vec<SeedSpent>>> = Arc::default();
        let first = Arc::new(Seeds::default());
        let kept = Arc::clone(&stored);
        first.store_by(move |spent| kept.lock().unwrap().push(spent.clone()));
        for _ in 0..2 {
            let taken = first.take("a/g".into(), 7, usd(30_000)).unwrap();
            taken.cost(Some(usd(25_000)));
        }
        let again = Arc::new(Seeds::default());
        again.load(stored.lock().unwrap().clone());
        assert_eq!(again.left("a/g", 7), usd(50_000));
        assert_eq!(again.left("a/g", 8), SEED_OF_A_DAY);
        // An older line does not bring an earlier day back.
        again.load([SeedSpent {
            agent: "a/g".into(),
            day: 6,
            spent: usd(1),
        }]);
        assert_eq!(again.left("a/g", 7), usd(50_000));
    }

    #[test]
    fn a_call_over_midnight_counts_on_the_day_it_began() {
        let seeds = Arc::new(Seeds::default());
        let taken = seeds.take("a/g".into(), 1, usd(100_000)).unwrap();
        assert!(seeds.take("a/g".into(), 2, usd(100_000)).is_none());
        taken.cost(Some(usd(100_000)));
        drop(taken);
        assert_eq!(seeds.left("a/g", 2), SEED_OF_A_DAY);
    }
}
