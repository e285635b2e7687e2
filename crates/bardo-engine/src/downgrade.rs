//! Where a budget does not pay for what was asked, a cheaper model answers, if the caller lets it.
//! Never for a protected subsystem, and never unseen.

use bardo_ledger::budget::BudgetStanding;
use bardo_router::{Candidate, Router};
use bardo_types::Degradation;
use bardo_types::hints::RouteHints;
use bardo_types::intent::Quality;
use bardo_types::model::Tier;
use bardo_types::money::MicroUsd;
use bardo_types::unit::UnitInterval;

use crate::call::Call;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::plan::Plan;
use crate::received::Task;
use crate::routed::Routed;
use crate::routing::Question;

impl Engine {
    /// A second plan, of models of a lower tier that satisfy the same requirements; `None` where
    /// there are none, or the caller does not take them.
    pub(crate) fn downgrade(&self, call: &Call, plan: &Plan, short: &EngineError) -> Option<Plan> {
        if call.task() != Task::Generate || plan.standing(call) != BudgetStanding::Flexible {
            return None;
        }
        let tiers = plan
            .legs()
            .iter()
            .filter_map(|leg| leg.candidate.entry.tier);
        let dearest = tiers.max()?;
        let quality = match dearest {
            Tier::Frontier => Quality::Medium,
            Tier::Strong => Quality::Low,
            Tier::Small => return None,
        };
        let mut hints = call.hints().route.as_deref().cloned().unwrap_or_default();
        hints.intent.quality = Some(quality);
        hints.intent.cost_sensitivity = Some(UnitInterval::ONE);
        // A floor does not yield for a price.
        let kept_as = plan.first().effective_class();
        hints.remembered_class = hints.remembered_class.max(Some(kept_as));
        let room = room(short).get();
        let most = hints.max_cost_micro_usd;
        hints.max_cost_micro_usd = Some(most.map_or(room, |most| most.min(room)));
        let vendor = &plan.first().candidate.entry.vendor;
        // Opus becomes Sonnet, where Opus would have been asked for, rather than somebody else's
        // model.
        let family = (!vendor.is_empty()).then(|| format!("{vendor}/*").into());
        let routed = [family, None].into_iter().find_map(|family| {
            hints.intent.model = family;
            self.below(call, plan, &hints, dearest)
        })?;
        tracing::info!(
            id = %call.request_id(),
            asked = %call.model(),
            instead = %routed.choices[0].candidate.entry.id,
            "the budget is too small for the model; a cheaper model is used"
        );
        let mut said = plan.said().to_vec();
        if !said.iter().any(|said| said.feature == "model") {
            said.push(Degradation::new(
                "model",
                "the balance or a cap is too small for the requested model; a cheaper model is used",
            ));
        }
        self.plan_of(call, routed, said).ok()
    }

    /// The choices of a lower tier that satisfy the hints; `None` where there are none.
    fn below(&self, call: &Call, plan: &Plan, hints: &RouteHints, dearest: Tier) -> Option<Routed> {
        let question = Question {
            model: "bardo/auto",
            hints: Some(hints),
            ..Question::of(call, &self.memory)
        };
        let mut routed = self.route(&question, &mut Router::route).ok()?;
        let serves = |backend| {
            let mut named = plan.legs().iter().map(|leg| leg.candidate.backend);
            named.any(|one| one == backend)
        };
        let is_family = hints.intent.model.is_some();
        routed.choices.retain(|choice| {
            let Candidate { backend, entry } = &choice.candidate;
            entry.tier < Some(dearest) && (!is_family || serves(*backend))
        });
        (!routed.choices.is_empty()).then_some(routed)
    }
}

/// What is left to spend.
fn room(short: &EngineError) -> MicroUsd {
    match short {
        EngineError::Funds { available, .. } => *available,
        EngineError::Budget { limit, used, .. } => limit.saturating_sub(*used),
        _ => MicroUsd::ZERO,
    }
}
