//! What a request takes of its agent's seed, and what is told of Bankr's credit.

use std::sync::Arc;

use bardo_router::Candidate;
use bardo_types::model::Service;
use bardo_types::money::MicroUsd;
use bardo_types::usage::Usage;

use crate::admitted::Admitted;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::received::Principal;
use crate::seeds::{DAY_MS, Seeds};

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

    /// What is left today of the seed of an agent.
    pub(crate) fn seed_left(&self, principal: &Principal, golem: Option<&str>) -> MicroUsd {
        let day = self.services.clock.now_ms() / DAY_MS;
        self.seeds.left(&agent_of(principal, golem), day)
    }

    /// Takes what the request can cost from the seed of its agent, where that pays for it. Where
    /// calls under way have taken it meanwhile, the backend is left out.
    pub(crate) fn take_seed(&self, admitted: &mut Admitted) -> Result<(), EngineError> {
        let Some(left) = admitted.routed.as_ref().and_then(|routed| routed.seed) else {
            return Ok(());
        };
        let of_seed = |one: &Candidate| {
            let endpoint = admitted.world.endpoint(one);
            endpoint.service == Service::Bankr
        };
        let costs = admitted.candidates.iter().filter(|one| of_seed(one));
        let Some(most) = costs.map(|one| admitted.worst(one)).max() else {
            return Ok(());
        };
        let golem = admitted
            .hints
            .route
            .as_ref()
            .and_then(|route| route.golem_id.as_deref());
        let agent = agent_of(&admitted.principal, golem);
        let day = admitted.received_at_ms / DAY_MS;
        // The router has bound the answer to what was left then.
        let amount = most.unwrap_or(left).min(left);
        if let Some(taken) = self.seeds.take(agent, day, amount) {
            admitted.seed = Some(Arc::new(taken));
            return Ok(());
        }
        let others = admitted.candidates.iter().filter(|one| !of_seed(one));
        let others: Vec<Candidate> = others.cloned().collect();
        if others.is_empty() {
            return Err(EngineError::Required {
                feature: "self_funding".to_owned(),
                detail: "calls under way have taken what is left today of the agent's seed"
                    .to_owned(),
            });
        }
        admitted.candidates = others;
        Ok(())
    }
}

impl Admitted {
    /// What the request costs at most at a candidate; `None` where nobody knows.
    fn worst(&self, candidate: &Candidate) -> Option<MicroUsd> {
        let reckoned = self.reckoned(candidate)?;
        let choice = self.routed.as_ref()?.choice(candidate)?;
        let size = self.size();
        let output = choice.max_output.or(size.output_of_all());
        let usage = Usage {
            fresh_input: size.prompt,
            output: output.unwrap_or(reckoned.max_output),
            ..Usage::default()
        };
        usage.cost(&reckoned.price)?.charge()
    }
}
