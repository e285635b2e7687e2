//! The plans of the two requests of a verification: models of two makers at two backends, within one
//! limit of costs (`max_cost_usd`) for both.

use std::sync::Arc;

use bardo_router::{Candidate, Router};
use bardo_types::hints::RouteHints;
use bardo_types::model::Service;
use bardo_types::money::MicroUsd;

use crate::call::Call;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::least_limit;
use crate::leg::Leg;
use crate::plan::Plan;
use crate::routing::Question;

/// One step between two limits of costs that are tried, as a part of the smaller one.
const STEP: u64 = 16;

impl Engine {
    /// The plans of both requests, where `plan` is that of the first one alone. A limit of costs is
    /// for both: each is planned within its part, and their answers may be limited. The first result
    /// is the new plan of the first request; `None` where it stays as it is.
    ///
    /// # Errors
    /// When no second model may be asked, or the limit of costs does not pay for two models.
    pub(crate) fn plans_of_both(
        &self,
        call: &Call,
        plan: &Plan,
    ) -> Result<(Option<Plan>, Plan), EngineError> {
        let Some(most) = least_limit::limit(call) else {
            return Ok((None, self.second_plan(call, plan)?));
        };
        // What such a plan takes of a budget is taken already, so it is not made again.
        let is_fixed = plan.searches() || plan.legs().iter().any(|leg| is_funded_apart(leg));
        if is_fixed {
            let second = self.second_beside(call, plan, most);
            return second
                .map(|second| (None, second))
                .ok_or_else(|| too_little(call, None));
        }
        let planned = limits_up_to(most).rev().map_while(|limit| {
            let alone = self.routed_plan(&call.within_cost(Some(limit)), &mut Router::route);
            // What pays for no first model pays for no two.
            alone
                .ok()
                .map(|alone| self.plans_within(call, alone, limit))
        });
        match planned.flatten().next() {
            Some((first, second)) => Ok((Some(first), second)),
            None => Err(self.too_little_for_two(call, most)?),
        }
    }

    /// The plans of both requests within one limit of costs; `None` where it does not pay for both.
    /// First the second request gets what the first one, planned alone, leaves; then both are
    /// planned within parts.
    fn plans_within(&self, call: &Call, alone: Plan, most: u64) -> Option<(Plan, Plan)> {
        if let Some(second) = self.second_beside(call, &alone, most) {
            return Some((alone, second));
        }
        let parts = [most / 2, most / 4 * 3, most / 4, most / 8 * 7, most / 8];
        parts.into_iter().filter(|part| *part > 0).find_map(|part| {
            let within = call.within_cost(Some(part));
            let first = self.routed_plan(&within, &mut Router::route).ok()?;
            let is_fixed = first.searches() || first.legs().iter().any(|leg| is_funded_apart(leg));
            let second = self
                .second_beside(call, &first, most)
                .filter(|_| !is_fixed)?;
            Some((first, second))
        })
    }

    /// The plan of the second request with what the first one leaves of a limit of costs.
    fn second_beside(&self, call: &Call, first: &Plan, most: u64) -> Option<Plan> {
        let left = most.checked_sub(dearest(call, first)?.get())?;
        let left = call.within_cost(Some(left).filter(|left| *left > 0));
        least_limit::limit(&left)?;
        self.second_plan(&left, first).ok()
    }

    /// The refusal of a limit of costs that does not pay for two models, with the least that does.
    ///
    /// # Errors
    /// When no second model may be asked, whatever the limit is.
    fn too_little_for_two(&self, call: &Call, most: u64) -> Result<EngineError, EngineError> {
        let free = call.within_cost(None);
        let whole = self.routed_plan(&free, &mut Router::route)?;
        self.second_plan(&free, &whole)?;
        let limits: Vec<u64> = limits_up_to(least_limit::MOST)
            .skip_while(|limit| *limit <= most)
            .collect();
        let too_low = limits.partition_point(|limit| {
            let call = call.within_cost(Some(*limit));
            let alone = self.routed_plan(&call, &mut Router::route).ok();
            alone
                .and_then(|alone| self.plans_within(&call, alone, *limit))
                .is_none()
        });
        Ok(too_little(call, limits.get(too_low).copied()))
    }

    /// The refusal of a request that is to be verified and that has no plan. A limit of costs that
    /// does not even pay for the first model has to pay for both.
    pub(crate) fn refused_for_two(&self, call: &Call, error: EngineError) -> EngineError {
        match least_limit::limit(call).filter(|_| least_limit::is_about_cost(&error)) {
            Some(most) => self
                .too_little_for_two(call, most)
                .unwrap_or_else(|other| other),
            None => error,
        }
    }

    /// The plan of the second request within the limit of costs of `call`. Backends that the first
    /// one does not need for its failover come first, where their models are of no lower tier.
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
        let is_apart = |candidate: &Candidate| {
            let mut legs = plan.legs().iter();
            is_other(candidate) && legs.all(|leg| leg.candidate.backend != candidate.backend)
        };
        let any = self.second_among(call, &lead, &is_other)?;
        match self.second_among(call, &lead, &is_apart) {
            Ok(apart) if apart.tier() >= any.tier() => {
                Ok(apart.followed_by(any, snapshot.max_attempts))
            }
            _ => Ok(any),
        }
    }

    /// The plan of the second request among these candidates.
    fn second_among(
        &self,
        call: &Call,
        lead: &Leg,
        only: &dyn Fn(&Candidate) -> bool,
    ) -> Result<Plan, EngineError> {
        let hints = hints(call, lead);
        let question = Question {
            model: "bardo/auto",
            hints: Some(&hints),
            only: Some(only),
            ..Question::of(call, &self.memory)
        };
        let second = self.planned_by(call, &question, &mut |question| {
            self.route(question, &mut Router::route)
        });
        let none = |_| {
            unavailable(
                "no allowed backend has a model of another maker that meets the same requirements",
            )
        };
        let kept = second.map_err(none)?.kept(|leg| leg.holds_back(call));
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

/// Whether a budget of the owner pays for a leg, which a plan takes when it is made.
fn is_funded_apart(leg: &Leg) -> bool {
    leg.endpoint.service == Service::Bankr
}

/// The limits of costs that are tried for two requests, up to `most`, the lowest first. They are
/// the same for each `most`, so a higher limit pays for all that a lower one pays for.
fn limits_up_to(most: u64) -> impl DoubleEndedIterator<Item = u64> {
    let next = |limit: &u64| Some(limit + (limit / STEP).max(1));
    let limits: Vec<u64> = std::iter::successors(Some(1), next)
        .take_while(|limit| *limit <= most)
        .collect();
    limits.into_iter()
}

/// The refusal of a request whose own limit of costs does not pay for two models.
fn too_little(call: &Call, least: Option<u64>) -> EngineError {
    let amount = least.map_or(String::new(), |least| {
        format!(" to {} USD", MicroUsd::new(least))
    });
    let lower = match call.size().output {
        Some(_) => ", or lower `max_tokens`",
        None => "",
    };
    least_limit::refusal(
        call,
        format!(
            "`max_cost_usd` must pay for two models, because a second model verifies the \
             decision; raise it{amount}{lower}"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_that_are_tried_are_close_and_the_same_for_each_limit() {
        let all: Vec<u64> = limits_up_to(least_limit::MOST).collect();
        for pair in all.windows(2) {
            assert!(pair[0] < pair[1] && pair[1] <= pair[0] + (pair[0] / STEP).max(1));
        }
        assert!(all.len() < 400, "{}", all.len());
        for most in [0, 1, 7, 40_474, 1_000_000] {
            let some: Vec<u64> = limits_up_to(most).collect();
            assert_eq!(some, all[..some.len()]);
        }
    }
}
