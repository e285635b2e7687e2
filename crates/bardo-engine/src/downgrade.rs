//! Where a budget does not pay for what was asked, a cheaper model answers, if the caller lets it.
//! Never for a protected subsystem, never at another backend than a pinned one, and never unseen.

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
        let pins = call.snapshot().router.pinned_backends(call.model(), &hints);
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
            self.below(call, plan, &hints, dearest, pins.as_deref())
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
        said.push(Degradation::new(
            "quality",
            "the cheaper model is of a lower tier than the requested one",
        ));
        self.plan_of(call, routed, said).ok()
    }

    /// The choices of a lower tier that satisfy the hints; `None` where there are none.
    fn below(
        &self,
        call: &Call,
        plan: &Plan,
        hints: &RouteHints,
        dearest: Tier,
        pins: Option<&[usize]>,
    ) -> Option<Routed> {
        let serves = |backend| {
            let mut named = plan.legs().iter().map(|leg| leg.candidate.backend);
            named.any(|one| one == backend)
        };
        let is_family = hints.intent.model.is_some();
        let router = &call.snapshot().router;
        let takes_free = takes_free(plan);
        let is_below = |candidate: &Candidate| {
            candidate.entry.tier < Some(dearest)
                && pins.is_none_or(|pins| pins.contains(&candidate.backend))
                && (!is_family || serves(candidate.backend))
                && (takes_free || !router.excludes_free(candidate))
        };
        let question = Question {
            model: "bardo/auto",
            hints: Some(hints),
            only: Some(&is_below),
            ..Question::of(call, &self.memory)
        };
        let mut routed = self.route(&question, &mut Router::route).ok()?;
        for choice in &mut routed.choices {
            // All of them are of a lower tier, and the plan says so once.
            choice.below_quality = false;
        }
        Some(routed)
    }
}

/// Whether the request took free models before the money was too little.
fn takes_free(plan: &Plan) -> bool {
    let chosen = plan.routed().filter(|routed| routed.automatic);
    chosen
        .is_some_and(|routed| routed.instead_of.is_none() && routed.intent.quality <= Quality::Low)
}

/// The amount that can still be spent, read from the refusal of a hold.
fn room(short: &EngineError) -> MicroUsd {
    match short {
        EngineError::Funds { available, .. } => *available,
        EngineError::Budget { limit, used, .. } => limit.saturating_sub(*used),
        _ => MicroUsd::ZERO,
    }
}
