//! What the searches of profiles may cost in one cycle of an agent. It lives in this process's
//! memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
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

/// A fee that a request has taken from the budget of its cycle. Dropped, it goes back, unless the
/// request was sent to a provider that may search.
#[derive(Debug)]
pub(crate) struct SearchFee {
    searches: Arc<Searches>,
    cycle: String,
    fee: MicroUsd,
    /// The start of the cycle whose budget it was taken from.
    since: Instant,
    is_spent: bool,
}

impl SearchFee {
    /// Notes that a provider that may search was asked.
    pub(crate) fn spend(&mut self) {
        self.is_spent = true;
    }
}

impl Drop for SearchFee {
    fn drop(&mut self) {
        if self.is_spent {
            return;
        }
        let cycles = &self.searches.0;
        let mut cycles = cycles.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(spent) = cycles.get_mut(&self.cycle)
            && spent.since == self.since
        {
            spent.amount = spent.amount.saturating_sub(self.fee);
        }
    }
}

impl Searches {
    /// Takes a fee from the budget of a cycle; `None`: it is used up.
    pub(crate) fn take(
        self: &Arc<Self>,
        cycle: String,
        fee: MicroUsd,
        budget: MicroUsd,
        now: Instant,
    ) -> Option<SearchFee> {
        let mut cycles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cycles.len() >= CYCLES_MAX && !cycles.contains_key(&cycle) {
            cycles.retain(|_, spent| now.duration_since(spent.since) < CYCLE);
            if cycles.len() >= CYCLES_MAX {
                return None;
            }
        }
        let nothing = Spent {
            amount: MicroUsd::ZERO,
            since: now,
        };
        let spent = cycles.entry(cycle.clone()).or_insert(nothing);
        if now.duration_since(spent.since) >= CYCLE {
            *spent = nothing;
        }
        spent.amount = (spent.amount.checked_add(fee)).filter(|sum| *sum <= budget)?;
        Some(SearchFee {
            searches: Arc::clone(self),
            cycle,
            fee,
            since: spent.since,
            is_spent: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes a fee of 10 for a request that is sent.
    fn spends(searches: &Arc<Searches>, cycle: &str, now: Instant) -> bool {
        let fee = searches.take(cycle.into(), MicroUsd::new(10), MicroUsd::new(35), now);
        fee.map(|mut fee| fee.spend()).is_some()
    }

    #[test]
    fn a_cycle_pays_for_so_many_searches_and_the_next_one_for_its_own() {
        let searches = Arc::new(Searches::default());
        let now = Instant::now();
        let taken: Vec<bool> = (0..5).map(|_| spends(&searches, "one", now)).collect();
        assert_eq!(taken, [true, true, true, false, false]);
        assert!(spends(&searches, "two", now));
        assert!(spends(&searches, "one", now + CYCLE));
    }

    #[test]
    fn a_request_that_was_never_sent_gives_its_fee_back_to_its_own_cycle() {
        let searches = Arc::new(Searches::default());
        let now = Instant::now();
        let usd = MicroUsd::new;
        let take = |now| searches.take("one".into(), usd(30), usd(35), now);
        let first = take(now);
        assert!(
            first.is_some() && take(now).is_none(),
            "requests under way count"
        );
        drop(first);
        let stale = take(now);
        assert!(stale.is_some());
        let later = take(now + CYCLE);
        drop(stale);
        assert!(take(now + CYCLE).is_none(), "the fee of an ended cycle");
        drop(later);
        assert!(take(now + CYCLE).is_some());
    }

    #[test]
    fn cycles_are_bounded() {
        let searches = Arc::new(Searches::default());
        let now = Instant::now();
        let take = |cycle: String, now| {
            let fee = searches.take(cycle, MicroUsd::ZERO, MicroUsd::ZERO, now);
            fee.is_some()
        };
        for cycle in 0..CYCLES_MAX {
            assert!(take(cycle.to_string(), now));
        }
        assert!(!take("more".into(), now));
        assert!(take("more".into(), now + CYCLE));
    }
}
