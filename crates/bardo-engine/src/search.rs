//! What the searches of profiles may cost in one cycle of an agent (BUDGET-10). It lives in this
//! process's memory.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bardo_router::Candidate;
use bardo_types::Degradation;
use bardo_types::model::Price;
use bardo_types::money::MicroUsd;
use tokio::time::Instant;

use crate::run::{Admitted, Engine};

/// So many cycles are remembered before those are looked for that are over.
const CYCLES_MAX: usize = 10_000;
/// A cycle is over when nothing was heard of it for so long.
const CYCLE: Duration = Duration::from_secs(24 * 3600);
/// What a search costs where no list says it (BUDGET-10).
const USUAL_FEE: MicroUsd = MicroUsd::new(10_000);

/// What the searches of each cycle have cost.
#[derive(Debug, Default)]
pub(crate) struct Searches(Mutex<HashMap<String, Spent>>);

#[derive(Debug, Clone, Copy)]
struct Spent {
    amount: MicroUsd,
    since: Instant,
}

impl Searches {
    /// Takes a fee from the budget of a cycle; `false`: it is used up.
    fn take(&self, cycle: String, fee: MicroUsd, budget: MicroUsd, now: Instant) -> bool {
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

impl Engine {
    /// A profile's search goes on where the budget of its cycle pays for it, and is left out and
    /// named where it does not.
    pub(crate) fn allow_search(&self, admitted: &mut Admitted) {
        if !admitted.searches() {
            return;
        }
        let fees = admitted.candidates.iter().map(|one| {
            let fee = admitted.world.price(one).and_then(|price| price.web_search);
            fee.unwrap_or(USUAL_FEE)
        });
        let fee = fees.max().unwrap_or(USUAL_FEE);
        let route = admitted.hints.route.as_deref();
        let agent = route.and_then(|route| route.golem_id.as_deref());
        let cycle = route
            .and_then(|route| route.cycle)
            .map(|cycle| cycle.to_string());
        let name = format!(
            "{}\0{}\0{}",
            admitted.principal.account.as_str(),
            agent.unwrap_or_default(),
            cycle.unwrap_or_default()
        );
        let budget = admitted.world.setup.web_search_budget;
        if self.searches.take(name, fee, budget, Instant::now()) {
            return;
        }
        if let Some(wanted) = admitted
            .routed
            .as_mut()
            .and_then(|routed| routed.wanted.as_mut())
        {
            wanted.profile.web_search = None;
        }
        admitted.unfunded.push(Degradation::new(
            "web_search",
            "the searches of this cycle have used up `providers.venice.web_search_budget_per_cycle_usdc`",
        ));
    }
}

impl Admitted {
    /// What a candidate costs this request; `None` where it must not be billed.
    pub(crate) fn price(&self, candidate: &Candidate) -> Option<Price> {
        let mut price = self.world.price(candidate)?;
        if self.searches() {
            price.web_search.get_or_insert(USUAL_FEE);
        }
        Some(price)
    }

    /// Whether the profile lets the provider search.
    pub(crate) fn searches(&self) -> bool {
        let routed = self.routed.as_ref();
        let wanted = routed.and_then(|routed| routed.wanted.as_ref());
        wanted.is_some_and(|wanted| wanted.profile.web_search == Some(true))
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
