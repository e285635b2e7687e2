//! Whether the profile of a request may let its provider search the web.

use bardo_router::Candidate;
use bardo_types::Degradation;
use bardo_types::model::Price;
use tokio::time::Instant;

use crate::admitted::Admitted;
use crate::engine::Engine;
use crate::searches::USUAL_FEE;

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
