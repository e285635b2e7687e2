//! What a request takes of its agent's seed, and what is told of Bankr's credit.

use std::sync::Arc;

use bardo_types::model::Service;
use bardo_types::money::MicroUsd;
use bardo_types::usage::Usage;

use crate::call::Call;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::leg::Leg;
use crate::plan::Plan;
use crate::received::Principal;
use crate::seeds::{DAY_MS, SeedTaken, Seeds};

/// The name under which an agent's seed is counted.
pub(crate) fn agent_of(principal: &Principal, golem: Option<&str>) -> String {
    format!(
        "{}/{}",
        principal.account.as_str(),
        golem.unwrap_or_default()
    )
}

impl Engine {
    /// The seeds of agents that have not earned yet.
    #[must_use]
    pub fn seeds(&self) -> &Arc<Seeds> {
        &self.seeds
    }

    /// Bankr told the credit of the account; `None`: it is not known any more.
    pub fn set_bankr_credit(&self, credit: Option<MicroUsd>) {
        self.bankr_credit.set(credit);
    }

    /// Credit of the account at Bankr, as far as it is known.
    #[must_use]
    pub fn bankr_credit(&self) -> Option<MicroUsd> {
        self.bankr_credit.get()
    }

    /// The rest of an agent's seed for today.
    pub(crate) fn seed_left(&self, principal: &Principal, golem: Option<&str>) -> MicroUsd {
        let day = self.services.clock.now_ms() / DAY_MS;
        self.seeds.left(&agent_of(principal, golem), day)
    }

    /// Takes what the request can cost from the seed of its agent, where that pays for it. Where
    /// calls under way have taken it meanwhile, the backend is left out.
    ///
    /// # Errors
    /// When no other backend is left.
    pub(crate) fn take_seed(
        &self,
        call: &Call,
        plan: Plan,
    ) -> Result<(Plan, Option<Arc<SeedTaken>>), EngineError> {
        let Some(left) = plan.routed().and_then(|routed| routed.seed) else {
            return Ok((plan, None));
        };
        let of_seed = |leg: &Leg| leg.endpoint.service == Service::Bankr;
        let costs = plan.legs().iter().filter(|leg| of_seed(leg));
        let Some(most) = costs.map(|leg| worst(call, leg)).max() else {
            return Ok((plan, None));
        };
        let route = call.hints().route.as_ref();
        let golem = route.and_then(|route| route.golem_id.as_deref());
        let agent = agent_of(call.principal(), golem);
        let day = call.received_at_ms() / DAY_MS;
        // The router has bound the answer to what was left then.
        let amount = most.unwrap_or(left).min(left);
        if let Some(taken) = self.seeds.take(agent, day, amount) {
            return Ok((plan, Some(Arc::new(taken))));
        }
        let others = plan.kept(|leg| !of_seed(leg));
        let others = others.ok_or_else(|| EngineError::Required {
            feature: "self_funding".to_owned(),
            detail: "calls under way have taken what is left today of the agent's seed".to_owned(),
        })?;
        Ok((others, None))
    }
}

/// The most that the request can cost at a leg; `None` where that is not known.
fn worst(call: &Call, leg: &Leg) -> Option<MicroUsd> {
    let reckoned = leg.reckoned(call)?;
    let size = call.size();
    let output = leg.choice()?.max_output.or(size.output_of_all());
    let usage = Usage {
        fresh_input: leg.prompt_bound,
        output: output.unwrap_or(reckoned.max_output),
        ..Usage::default()
    };
    usage.cost(&reckoned.price)?.charge()
}
