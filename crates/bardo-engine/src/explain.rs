//! Why a request would go where it would go, without asking anybody (`POST /v1/route/explain`).

use std::sync::Arc;

use bardo_profile::{Applied, Wanted};
use bardo_router::{Candidate, Explanation, Route, RoutedCandidate};
use bardo_types::Degradation;
use bardo_types::chat::MarkPlan;
use bardo_types::money::MicroUsd;
use bardo_types::privacy::SecurityClass;

use crate::call::Call;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::header_lists::degraded_list;
use crate::leg::{Grant, Leg};
use crate::plan::{Plan, UnfitBackend};
use crate::received::Received;
use crate::reserve::whole_hold;
use crate::routing::Question;
use crate::shape::shape;

/// One backend of a plan.
#[derive(Debug)]
pub struct ExplainedLeg {
    /// The name of the backend.
    pub backend: String,
    /// The id of the model.
    pub model: String,
    /// Tokens of one answer at most, where the request carries a limit.
    pub output_limit: Option<u64>,
    /// The features that an answer by this leg would be reported to lack.
    pub degraded: Vec<Degradation>,
}

/// The decisions about a provider's prompt cache.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ExplainedPromptCache {
    /// Marks that the gateway sets; `None` where the caller, the provider or nobody sets any.
    pub marks: Option<MarkPlan>,
    /// The figures behind the marks, in words.
    pub reason: Option<String>,
    /// The backend that has the session in its cache, in words; `None` where none is known.
    pub affinity: Option<String>,
}

/// A decision and all that led to it.
#[derive(Debug)]
pub struct Explained {
    /// The model as the caller named it.
    pub model: String,
    /// The candidates that were considered, with the reasons for and against each.
    pub explanation: Explanation,
    /// How the model is to be set up.
    pub wanted: Option<Wanted>,
    /// The part of these settings that the chosen model takes.
    pub applied: Option<Applied>,
    /// The features that the answer would be reported to lack.
    pub degraded: Vec<Degradation>,
    /// The value of the header `x-bardo-degraded`.
    pub degraded_list: String,
    /// The backends in the order in which they are tried, as far as they can take the request.
    pub legs: Vec<ExplainedLeg>,
    /// The backends that come before the first leg and cannot take the request, a sentence each.
    pub warnings: Vec<String>,
    /// What is decided of the provider's prompt cache.
    pub prompt_cache: ExplainedPromptCache,
    /// The most that the caller's balance has to hold for the request; `None` where nothing is held.
    pub hold: Option<MicroUsd>,
    /// Why the chosen backend could not be sent the request after all.
    pub refused: Option<EngineError>,
}

impl Engine {
    /// Reads and plans a request as for an answer, and shows the plan. Nothing is asked, held or
    /// charged.
    ///
    /// # Errors
    /// When the body is malformed. That no backend may serve the request is part of the
    /// explanation.
    pub fn explain(&self, received: Received) -> Result<Explained, EngineError> {
        let call = self.read(received)?;
        let mut seen = None;
        let planned = self.plan_for(&call, &mut |router, request| {
            let explanation = router.explain(request);
            let outcome = explanation.outcome.clone();
            seen = Some(explanation);
            outcome
        });
        // A model that is named without any hint is planned without the router.
        let explanation =
            seen.unwrap_or_else(|| self.explain_route(&Question::of(&call, &self.memory)));
        let mut explained = Explained {
            model: call.model().to_string(),
            explanation,
            wanted: None,
            applied: None,
            degraded: Vec::new(),
            degraded_list: String::new(),
            legs: Vec::new(),
            warnings: Vec::new(),
            prompt_cache: ExplainedPromptCache::default(),
            hold: None,
            refused: None,
        };
        match planned {
            Ok(plan) => self.show(&call, plan, &mut explained),
            Err(error) => explained.refused = Some(error),
        }
        Ok(explained)
    }

    /// Puts what a plan comes to into an explanation: the legs that can take the request, in the
    /// order in which they are tried.
    fn show(&self, call: &Call, mut plan: Plan, explained: &mut Explained) {
        explained.wanted = plan.routed().and_then(|routed| routed.wanted.clone());
        explained.hold = whole_hold(call, &plan);
        let mut rejected = plan.take_rejected();
        explained.prompt_cache.affinity = plan.routed().and_then(|routed| routed.affinity.clone());
        let mut choices = Vec::new();
        let mut first = plan.legs().len();
        for (index, leg) in plan.legs().iter().enumerate() {
            let shaped = match shape(call, leg, Grant::default(), plan.said(), &self.memory) {
                Ok(shaped) => shaped,
                // What the first backend cannot read goes to no other one.
                Err(error) if error.is_unreadable() && choices.is_empty() => {
                    rejected.insert(0, UnfitBackend::leg(index, leg, error));
                    break;
                }
                Err(error) => {
                    rejected.push(UnfitBackend::leg(index, leg, error));
                    continue;
                }
            };
            if choices.is_empty() {
                first = index;
                explained.applied = leg.settings.applied().cloned();
                explained.degraded_list = degraded_list(&shaped.degraded);
                explained.degraded.clone_from(&shaped.degraded);
                explained.prompt_cache.marked_as(leg);
            }
            explained.legs.push(ExplainedLeg {
                backend: leg.endpoint.name.clone(),
                model: leg.candidate.entry.id.clone(),
                output_limit: leg.output_bound,
                degraded: shaped.degraded,
            });
            choices.push(choice(leg, &explained.explanation));
        }
        for one in &rejected {
            let told = one.passed_over(call);
            not_eligible(&mut explained.explanation, &one.candidate, &told.reason);
            if one.is_before(first) && !choices.is_empty() {
                explained.warnings.push(told.warning());
            }
        }
        // The rest is never tried, however many of these fail.
        let most = call.snapshot().max_attempts;
        explained.legs.truncate(most);
        choices.truncate(most);
        if choices.is_empty() {
            explained.refused = rejected.into_iter().next().map(|one| one.error);
            choices = plan
                .legs()
                .iter()
                .map(|leg| choice(leg, &explained.explanation))
                .collect();
        }
        explained.explanation.outcome = Ok(route(&plan, choices, &explained.explanation));
    }
}

/// Takes the backend of a candidate that cannot take the request out of the eligible ones.
fn not_eligible(explanation: &mut Explanation, candidate: &Candidate, reason: &str) {
    let mut considered = explanation.considered.iter_mut();
    let seen = considered.find(|seen| is_same(&seen.candidate, candidate));
    if let Some(seen) = seen {
        seen.eligible = false;
        seen.reasons.insert(0, reason.to_owned());
    }
}

fn is_same(one: &Candidate, other: &Candidate) -> bool {
    one.backend == other.backend && Arc::ptr_eq(&one.entry, &other.entry)
}

impl ExplainedPromptCache {
    fn marked_as(&mut self, leg: &Leg) {
        let cache = leg.prompt_cache.as_ref();
        let Some((cache, decision)) = cache.and_then(|cache| Some((cache, cache.decision()?)))
        else {
            return;
        };
        self.marks = Some(cache.plan());
        self.reason = Some(decision.to_string());
    }
}

/// The description of one leg.
fn choice(leg: &Leg, explanation: &Explanation) -> RoutedCandidate {
    if let Some(choice) = leg.choice() {
        return choice.clone();
    }
    let same = |candidate: &Candidate| is_same(candidate, &leg.candidate);
    let route = explanation.outcome.as_ref().ok();
    let known = route.and_then(|route| route.choices.iter().find(|one| same(&one.candidate)));
    let seen = explanation
        .considered
        .iter()
        .find(|one| same(&one.candidate));
    known.cloned().unwrap_or_else(|| RoutedCandidate {
        candidate: leg.candidate.clone(),
        features: seen.map(|seen| seen.features).unwrap_or_default(),
        degraded: Vec::new(),
        below_quality: false,
        security: seen.map_or(leg.candidate.entry.security, |seen| seen.security),
        tee: None,
        sort: None,
        estimated_cost: seen.and_then(|seen| seen.estimated_cost),
        score: None,
        group: usize::MAX,
        max_output: None,
    })
}

/// The route of a plan as explanations show it.
fn route(plan: &Plan, choices: Vec<RoutedCandidate>, explanation: &Explanation) -> Route {
    match plan.routed() {
        Some(routed) => Route {
            choices,
            intent: routed.intent.clone(),
            subsystem: routed.subsystem.clone(),
            security_class: routed.security_class,
            wished_class: routed.wished_class,
            automatic: routed.automatic,
            instead_of: routed.instead_of.clone(),
            warnings: routed.warnings.clone(),
        },
        None => {
            let seen = explanation.outcome.as_ref().ok();
            Route {
                choices,
                intent: explanation.intent.clone(),
                subsystem: None,
                security_class: SecurityClass::Standard,
                wished_class: SecurityClass::Standard,
                automatic: false,
                instead_of: None,
                warnings: seen.map(|route| route.warnings.clone()).unwrap_or_default(),
            }
        }
    }
}
