//! Where a budget does not pay for what was asked, a cheaper model answers, if the caller lets it
//! (BUDGET-03, C-044, C-165). Never for a protected subsystem, and never unseen.

use bardo_ledger::budget::Standing;
use bardo_router::Candidate;
use bardo_types::Degradation;
use bardo_types::hints::RouteHints;
use bardo_types::intent::Quality;
use bardo_types::model::Tier;
use bardo_types::money::MicroUsd;
use bardo_types::unit::UnitInterval;

use crate::admitted::Admitted;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::received::Task;
use crate::routed::Routed;
use crate::routing::{self, Question, allows_downgrade};

impl Admitted {
    /// What a budget may do about it.
    pub(crate) fn standing(&self) -> Standing {
        let row = self
            .routed
            .as_ref()
            .and_then(|routed| routed.subsystem.as_ref());
        if row.is_some_and(|row| row.protected) {
            Standing::Protected
        } else if allows_downgrade(&self.principal, self.hints.route.as_deref()) {
            Standing::Flexible
        } else {
            Standing::Strict
        }
    }
}

impl Engine {
    /// Goes on with models of a lower tier that satisfy the same requirements; says whether there
    /// are any.
    pub(crate) fn downgrade(&self, admitted: &mut Admitted, short: &EngineError) -> bool {
        if admitted.task != Task::Generate || admitted.standing() != Standing::Flexible {
            return false;
        }
        let dearest = admitted
            .candidates
            .iter()
            .filter_map(|one| one.entry.tier)
            .max();
        let quality = match dearest {
            Some(Tier::Frontier) => Quality::Medium,
            Some(Tier::Strong) => Quality::Low,
            Some(Tier::Small) | None => return false,
        };
        let mut hints = admitted.hints.route.as_deref().cloned().unwrap_or_default();
        hints.intent.quality = Some(quality);
        hints.intent.cost_sensitivity = Some(UnitInterval::ONE);
        // A floor does not yield for a price.
        let kept_as = admitted.candidates.first();
        let kept_as = kept_as.map(|first| admitted.effective_class(first));
        hints.remembered_class = hints.remembered_class.max(kept_as);
        let room = room(short).get();
        let most = hints.max_cost_micro_usd;
        hints.max_cost_micro_usd = Some(most.map_or(room, |most| most.min(room)));
        if admitted.neutral.is_none() {
            let neutral = routing::neutral(admitted.task, admitted.dialect, &admitted.body);
            admitted.neutral = neutral.map(std::sync::Arc::new);
        }
        let vendor = admitted.candidates.first().map(|one| &one.entry.vendor);
        // Opus becomes Sonnet, where Opus would have been asked for, rather than somebody else's
        // model.
        let family = vendor
            .filter(|vendor| !vendor.is_empty())
            .map(|vendor| format!("{vendor}/*").into());
        let cheaper = [family, None].into_iter().find_map(|family| {
            hints.intent.model = family;
            self.below(admitted, &hints, dearest)
        });
        let Some(routed) = cheaper else {
            return false;
        };
        tracing::info!(
            id = %admitted.request_id,
            asked = %admitted.model,
            instead = %routed.choices[0].candidate.entry.id,
            "the budget is too small for the model; a cheaper model is used"
        );
        admitted.candidates = routed.candidates();
        admitted.routed = Some(Box::new(routed));
        if !admitted.unfunded.iter().any(|said| said.feature == "model") {
            admitted.unfunded.push(Degradation::new(
                "model",
                "the balance or a cap is too small for the requested model; a cheaper model is used",
            ));
        }
        true
    }

    /// Who satisfies the hints with a model of a lower tier; `None` where nobody does.
    fn below(
        &self,
        admitted: &Admitted,
        hints: &RouteHints,
        dearest: Option<Tier>,
    ) -> Option<Routed> {
        let question = Question {
            principal: &admitted.principal,
            world: &admitted.world,
            task: admitted.task,
            model: "bardo/auto",
            hints: Some(hints),
            facts: routing::shown(
                admitted.neutral.as_deref(),
                admitted.dialect,
                &admitted.size(),
                admitted.stream,
            ),
        };
        let mut routed = self.route(&question).ok()?;
        let named = &admitted.candidates;
        let serves = |backend| named.iter().any(|one| one.backend == backend);
        let is_family = hints.intent.model.is_some();
        routed.choices.retain(|choice| {
            let Candidate { backend, entry } = &choice.candidate;
            entry.tier < dearest && (!is_family || serves(*backend))
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
