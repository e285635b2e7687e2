//! What the searches of profiles may cost in one cycle of an agent. It lives in this process's
//! memory.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bardo_types::money::MicroUsd;
use tokio::time::Instant;

/// Number of cycles in memory before the ended ones are removed.
const CYCLES_MAX: usize = 10_000;
/// A cycle is over when nothing was heard of it for so long.
const CYCLE: Duration = Duration::from_secs(24 * 3600);
/// The cost of web searches so far, by cycle of an agent.
#[derive(Debug, Default)]
pub(crate) struct Searches(Mutex<HashMap<String, Spent>>);

#[derive(Debug, Clone, Copy)]
struct Spent {
    amount: MicroUsd,
    since: Instant,
}

impl Searches {
    /// Takes a fee from the budget of a cycle; `false`: it is used up.
    pub(crate) fn take(
        &self,
        cycle: String,
        fee: MicroUsd,
        budget: MicroUsd,
        now: Instant,
    ) -> bool {
        let mut cycles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cycles.len() >= CYCLES_MAX && !cycles.contains_key(&cycle) {
            cycles.retain(|_, spent| now.duration_since(spent.since) < CYCLE);
            if cycles.len() >= CYCLES_MAX {
                return false;
            }
        }
        let nothing = Spent {
            amount: MicroUsd::ZERO,
            since: now,
        };
        let spent = cycles.entry(cycle).or_insert(nothing);
        if now.duration_since(spent.since) >= CYCLE {
            *spent = nothing;
        }
        match spent.amount.checked_add(fee) {
            Some(sum) if sum <= budget => {
                spent.amount = sum;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_pays_for_so_many_searches_and_the_next_one_for_its_own() {
        let searches = Searches::default();
        let now = Instant::now();
        let usd = MicroUsd::new;
        let take = |cycle: &str| searches.take(cycle.into(), usd(10), usd(35), now);
        let taken: Vec<bool> = (0..5).map(|_| take("one")).collect();
        assert_eq!(taken, [true, true, true, false, false]);
        assert!(take("two"));
        let later = now + CYCLE;
        assert!(searches.take("one".into(), usd(10), usd(35), later));
    }

    #[test]
    fn cycles_are_bounded() {
        let searches = Searches::default();
        let now = Instant::now();
        for cycle in 0..CYCLES_MAX {
            assert!(searches.take(cycle.to_string(), MicroUsd::ZERO, MicroUsd::ZERO, now));
        }
        let more = |now| searches.take("more".into(), MicroUsd::ZERO, MicroUsd::ZERO, now);
        assert!(!more(now));
        assert!(more(now + CYCLE));
    }
}
