//! Whether the profile of a request may let its provider search the web.

use bardo_types::Degradation;
use tokio::time::Instant;

use crate::call::Call;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::plan::Plan;
use crate::price::USUAL_SEARCH_FEE;
use crate::searches::SearchFee;

impl Engine {
    /// A profile's search goes on where the budget of its cycle pays for it; else another plan
    /// leaves it out and says so.
    ///
    /// # Errors
    /// When no backend may serve the request without it.
    pub(crate) fn allow_search(
        &self,
        call: &Call,
        plan: Plan,
    ) -> Result<(Plan, Option<SearchFee>), EngineError> {
        let Some(routed) = plan.routed().filter(|routed| routed.searches()) else {
            return Ok((plan, None));
        };
        let fees = plan.legs().iter().map(|leg| {
            let fee = leg.price.and_then(|price| price.web_search);
            fee.unwrap_or(USUAL_SEARCH_FEE)
        });
        let fee = fees.max().unwrap_or(USUAL_SEARCH_FEE);
        let route = call.hints().route.as_deref();
        let agent = route.and_then(|route| route.golem_id.as_deref());
        let cycle = route
            .and_then(|route| route.cycle)
            .map(|cycle| cycle.to_string());
        let name = format!(
            "{}\0{}\0{}",
            call.principal().account.as_str(),
            agent.unwrap_or_default(),
            cycle.unwrap_or_default()
        );
        let budget = call.snapshot().setup.web_search_budget;
        let taken = self.searches.take(name, fee, budget, Instant::now());
        if taken.is_some() {
            return Ok((plan, taken));
        }
        let mut routed = (**routed).clone();
        if let Some(wanted) = &mut routed.wanted {
            wanted.profile.web_search = None;
        }
        let mut said = plan.said().to_vec();
        said.push(Degradation::new(
            "web_search",
            "the searches of this cycle have used up `providers.venice.web_search_budget_per_cycle_usdc`",
        ));
        Ok((self.plan_of(call, routed, said)?, None))
    }
}
