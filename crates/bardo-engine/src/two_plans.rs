//! The plans of the two requests of a verification: models of two makers at two backends, within one
//! limit of costs (`max_cost_usd`) for both.

use std::sync::Arc;

use bardo_router::{Candidate, Refusal, RefusalKind, Router};
use bardo_types::hints::RouteHints;
use bardo_types::model::Service;
use bardo_types::money::MicroUsd;
use bardo_types::privacy::SecurityClass;
use bardo_types::usage::Usage;

use crate::call::Call;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::leg::Leg;
use crate::plan::Plan;
use crate::routing::Question;

/// Tokens of each answer that the amount in a refusal pays for, where the caller sets no limit.
const ANSWER_TOKENS: u64 = 1_024;

impl Engine {
    /// The plan of the second request, beside that of the first one, `plan`. A limit of costs is
    /// for both: first the second request gets what the first one cannot use; else both are planned
    /// again, each within its part, and their answers may be limited. The first result is the new
    /// plan of the first request; `None` where it stays as it is.
    ///
    /// # Errors
    /// When no second model may be asked, or the limit of costs does not pay for two models.
    pub(crate) fn plans_of_both(
        &self,
        call: &Call,
        plan: &Plan,
    ) -> Result<(Option<Plan>, Plan), EngineError> {
        let route = call.hints().route.as_deref();
        let Some(most) = route.and_then(|route| route.max_cost_micro_usd) else {
            return Ok((None, self.second_plan(call, plan)?));
        };
        let beside = |first: &Plan| {
            let left = dearest(call, first).and_then(|dearest| most.checked_sub(dearest.get()));
            let left = left.filter(|left| *left > 0)?;
            self.second_plan(&call.within_cost(Some(left)), first).ok()
        };
        if let Some(second) = beside(plan) {
            return Ok((None, second));
        }
        let needs = self.needs(call)?;
        for part in parts(most, needs) {
            let within = call.within_cost(Some(part));
            let first = self.plan_for(&within, &mut Router::route).ok();
            // What a plan takes of budgets was taken for the plan before.
            let first = first
                .filter(|first| !first.searches())
                .and_then(|first| first.kept(|leg| leg.endpoint.service != Service::Bankr));
            let Some(first) = first else { continue };
            if let Some(second) = beside(&first) {
                return Ok((Some(first), second));
            }
        }
        Err(too_little(call, needs))
    }

    /// What each of two requests needs at least, whatever the limit of costs is; `None` where a
    /// price is unknown.
    ///
    /// # Errors
    /// When no second model may be asked.
    fn needs(&self, call: &Call) -> Result<Option<(MicroUsd, MicroUsd)>, EngineError> {
        let free = call.within_cost(None);
        let whole = self.plan_for(&free, &mut Router::route)?;
        let second = self.second_plan(&free, &whole)?;
        let first = least(call, &*lead(call, &whole)?);
        Ok(first.zip(least(call, second.first())))
    }

    /// The refusal of a request that is to be verified and that has no plan. A limit of costs that
    /// does not even pay for the first model has to pay for both.
    pub(crate) fn refused_for_two(&self, call: &Call, error: EngineError) -> EngineError {
        match &error {
            EngineError::Refused { refusal, .. } if refusal.missing == ["max_cost_usd"] => {
                let needs = self.needs(call);
                needs.map_or(error, |needs| too_little(call, needs))
            }
            _ => error,
        }
    }

    /// The plan of the second request within the limit of costs of `call`.
    fn second_plan(&self, call: &Call, plan: &Plan) -> Result<Plan, EngineError> {
        let lead = lead(call, plan)?;
        let snapshot = call.snapshot();
        let is_other = |candidate: &Candidate| {
            candidate.backend != lead.candidate.backend
                && takes_part(snapshot.endpoint(candidate).service)
                && snapshot
                    .roster()
                    .has_other_maker(candidate, &lead.candidate)
        };
        let none = |_| {
            unavailable(
                "no allowed backend has a model of another maker that meets the same requirements",
            )
        };
        let hints = hints(call, &lead);
        let question = Question {
            model: "bardo/auto",
            hints: Some(&hints),
            only: Some(&is_other),
            ..Question::of(call, &self.memory)
        };
        let routed = self.route(&question, &mut Router::route);
        let second = routed.and_then(|routed| self.plan_of(call, routed, Vec::new()));
        let second = second.map_err(none)?;
        // The other backends stay with the first request.
        let backend = second.first().candidate.backend;
        let kept = second.kept(|leg| leg.candidate.backend == backend && leg.holds_back(call));
        kept.ok_or_else(|| {
            unavailable("the answer of the second model cannot be checked against the schema")
        })
    }
}

/// The first leg of a plan that takes part in a verification.
///
/// # Errors
/// When there is none, or the request cannot be verified.
pub(crate) fn lead(call: &Call, plan: &Plan) -> Result<Arc<Leg>, EngineError> {
    if call.principal().settles_first() {
        return Err(unavailable(
            "a request that is paid for by itself pays for one model",
        ));
    }
    if call.size().choices > 1 {
        return Err(unavailable("the request asks for several answers"));
    }
    let mut legs = plan.legs().iter();
    let lead = legs.find(|leg| takes_part(leg.endpoint.service) && leg.holds_back(call));
    let none = || unavailable("no backend of the requested model takes part in verification");
    lead.cloned().ok_or_else(none)
}

/// Whether a service takes part: those whose models anybody can compare. Venice and local servers do
/// not.
pub(crate) const fn takes_part(service: Service) -> bool {
    !matches!(service, Service::Venice | Service::Local)
}

/// The error of a request that cannot be verified. Nothing was sent.
pub(crate) fn unavailable(reason: &str) -> EngineError {
    EngineError::Unverified {
        reason: reason.to_owned(),
        is_sent: false,
    }
}

/// The hints of the second request: any model, at least as well protected.
fn hints(call: &Call, lead: &Leg) -> RouteHints {
    let mut hints = call.hints().route.as_deref().cloned().unwrap_or_default();
    hints.intent.model = None;
    hints.warnings.clear();
    hints.remembered_class = hints.remembered_class.max(Some(lead.effective_class()));
    hints
}

/// The largest cost of a request at any leg of a plan, without the spread; `None` where no leg has
/// a price.
fn dearest(call: &Call, plan: &Plan) -> Option<MicroUsd> {
    plan.legs().iter().map(|leg| leg.most(call)).max().flatten()
}

/// The cost of a leg with the caller's limit of output, else with a usual answer, without the spread;
/// `None` where the price is unknown.
fn least(call: &Call, leg: &Leg) -> Option<MicroUsd> {
    let reckoned = leg.reckoned(call)?;
    let output = match call.size().output {
        Some(_) => reckoned.max_output,
        None => reckoned.max_output.min(ANSWER_TOKENS),
    };
    let usage = Usage {
        fresh_input: leg.prompt_bound,
        output,
        // The dearer rate, as where the model thinks all the time.
        reasoning: Some(output),
        ..Usage::default()
    };
    usage.cost(&reckoned.price)?.charge()
}

/// The parts of a limit of costs that the first request is planned within, one after the other: what
/// it needs and half of the rest, then simple shares.
fn parts(most: u64, needs: Option<(MicroUsd, MicroUsd)>) -> Vec<u64> {
    let fair = needs.and_then(|(first, second)| {
        let rest = most.checked_sub(first.get().checked_add(second.get())?)?;
        Some(first.get() + rest / 2)
    });
    let half = most / 2;
    let mut parts: Vec<u64> = fair.into_iter().collect();
    parts.extend([half, most - half / 2, half / 2]);
    parts.retain(|part| *part > 0);
    parts
}

/// The refusal of a request whose own limit of costs does not pay for two models.
fn too_little(call: &Call, needs: Option<(MicroUsd, MicroUsd)>) -> EngineError {
    let needed = needs.and_then(|(first, second)| first.checked_add(second));
    let raise = match (needed, call.size().output) {
        (None, _) => "raise it, or lower `max_tokens`".to_owned(),
        (Some(needed), None) => format!(
            "raise it to {needed} USD, which pays for both prompts and {ANSWER_TOKENS} tokens of \
             each answer"
        ),
        (Some(needed), Some(_)) => format!("raise it to {needed} USD, or lower `max_tokens`"),
    };
    EngineError::Refused {
        model: call.model().to_string(),
        refusal: Box::new(Refusal {
            kind: RefusalKind::Unsatisfiable,
            class: SecurityClass::Standard,
            missing: vec!["max_cost_usd".to_owned()],
            lacks: Vec::new(),
            advice: format!(
                "`max_cost_usd` must pay for two models, because a second model verifies the \
                 decision; {raise}"
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_part_gives_each_request_what_it_needs_and_half_of_the_rest() {
        let needs = Some((MicroUsd::new(300), MicroUsd::new(100)));
        assert_eq!(parts(1_000, needs), [600, 500, 750, 250]);
        assert_eq!(parts(400, needs), [300, 200, 300, 100]);
        assert_eq!(parts(399, needs), [199, 300, 99]);
        assert_eq!(parts(1, None), [1]);
        for most in 1..50 {
            assert!(parts(most, needs).iter().all(|part| *part <= most));
        }
    }
}
