//! What will be asked of which backend, decided before anything is held or sent. A dry run shows
//! the same plan.

use std::sync::{Arc, OnceLock};

use bardo_ledger::budget::BudgetStanding;
use bardo_router::{Candidate, NoRoute, Router};
use bardo_types::Degradation;
use bardo_types::chat::{CacheTtl, MarkPlan};
use bardo_types::model::Tier;
use bardo_types::privacy::SecurityClass;
use bardo_types::receipt::PassedOver;

use crate::call::Call;
use crate::claims::BackendClaim;
use crate::cost_limit::{self, CostLimitError};
use crate::engine::Engine;
use crate::entitle;
use crate::error::EngineError;
use crate::header_lists::warnings_list;
use crate::least_limit;
use crate::leg::Leg;
use crate::limit::Limited;
use crate::operation;
use crate::prepare::Prepared;
use crate::price::{self, write_lifetime};
use crate::receipt_builder::Passed;
use crate::received::Task;
use crate::routed::Routed;
use crate::routing::{Ask, DearCandidate, Question, allows_downgrade};
use crate::settings::{PlannedSettings, Subject};
use crate::snapshot::Snapshot;
use crate::unseen::reasons_unseen;

/// The legs of a request in the order in which they are tried. Never empty.
pub(crate) struct Plan {
    legs: Vec<Arc<Leg>>,
    routed: Option<Arc<Routed>>,
    /// Said where it is not what the caller asked for.
    said: Vec<Degradation>,
    /// The chosen candidates that cannot be legs.
    rejected: Vec<UnfitBackend>,
    /// One of two requests that must not use the same backend.
    claim: Option<BackendClaim>,
}

/// A candidate that cannot take the request.
pub(crate) struct UnfitBackend {
    /// The number of legs before it in the order.
    pub(crate) place: usize,
    pub(crate) candidate: Candidate,
    /// The name of its backend.
    pub(crate) backend: String,
    pub(crate) error: EngineError,
}

impl UnfitBackend {
    /// The leg at an index of a plan that cannot take the request.
    pub(crate) fn leg(index: usize, leg: &Leg, error: EngineError) -> Self {
        Self {
            place: index + 1,
            candidate: leg.candidate.clone(),
            backend: leg.endpoint.name.clone(),
            error,
        }
    }

    /// Whether it would have been asked before the leg at an index.
    pub(crate) fn is_before(&self, index: usize) -> bool {
        self.place <= index
    }

    /// Its entry in the receipt.
    pub(crate) fn passed_over(&self, call: &Call) -> PassedOver {
        PassedOver {
            backend: self.backend.as_str().into(),
            reason: self.reason(call).into(),
        }
    }

    /// Why the backend cannot take the request, as the end of a sentence about the backend.
    fn reason(&self, call: &Call) -> String {
        let top = call.top();
        let is_value = |name: &str| {
            let json = top.get(name).map(str::trim);
            json.is_some_and(|json| !json.starts_with(['{', '[', '"']))
        };
        match &self.error {
            EngineError::Required { feature, .. } => format!("would lose `{feature}`"),
            EngineError::Invalid(refusal) if is_value(&refusal.param) => {
                format!("would lose `{}`", refusal.param)
            }
            EngineError::NoOperation { operation, .. } => format!("does not support {operation}"),
            other => format!("cannot take the request: {other}"),
        }
    }
}

/// Why no candidate of a choice can be a leg.
struct UnfitCandidates {
    /// The error of the first one.
    error: EngineError,
    /// Those that the limit of costs alone excludes.
    dear: Vec<DearCandidate>,
}

/// A request whose plan is made.
pub(crate) struct Planned {
    limited: Limited,
    plan: Plan,
}

impl Planned {
    /// A request within its limits, with a plan that was made for it.
    pub(crate) fn new(limited: Limited, plan: Plan) -> Self {
        Self { limited, plan }
    }

    /// One of two requests that must not use the same backend.
    pub(crate) fn beside(mut self, claim: BackendClaim) -> Self {
        self.plan = self.plan.beside(claim);
        self
    }

    /// The request with those legs alone that pass a test; `None` where none does.
    pub(crate) fn kept(self, is_kept: impl Fn(&Leg) -> bool) -> Option<Self> {
        let plan = self.plan.kept(is_kept)?;
        Some(Self { plan, ..self })
    }

    /// The request, its state and its plan, for the stage that holds its money.
    pub(crate) fn into_parts(self) -> (Limited, Plan) {
        (self.limited, self.plan)
    }

    /// The request of this stage.
    pub(crate) fn call(&self) -> &Call {
        self.limited.call()
    }

    /// Notes when a later stage was passed.
    pub(crate) fn passed(&mut self, stage: Passed) {
        self.limited.passed(stage);
    }

    /// Notes that a stage had nothing to do.
    pub(crate) fn skipped(&mut self, stage: Passed) {
        self.limited.skipped(stage);
    }

    /// The request and its state, to look at.
    pub(crate) fn limited(&self) -> &Limited {
        &self.limited
    }

    /// The request and its state.
    pub(crate) fn limited_mut(&mut self) -> &mut Limited {
        &mut self.limited
    }

    /// The legs in order.
    pub(crate) fn legs(&self) -> &[Arc<Leg>] {
        self.plan.legs()
    }

    /// How well an answer has to be kept.
    pub(crate) fn class(&self) -> SecurityClass {
        self.plan.first().effective_class()
    }
}

impl Plan {
    /// The plan of a request for one backend and no other.
    pub(crate) fn of_leg(leg: Arc<Leg>) -> Self {
        Self {
            legs: vec![leg],
            routed: None,
            said: Vec::new(),
            rejected: Vec::new(),
            claim: None,
        }
    }

    /// The legs in order.
    pub(crate) fn legs(&self) -> &[Arc<Leg>] {
        &self.legs
    }

    /// The leg that is tried first.
    pub(crate) fn first(&self) -> &Arc<Leg> {
        &self.legs[0]
    }

    /// What the router decided, where the caller left anything to it.
    pub(crate) fn routed(&self) -> Option<&Arc<Routed>> {
        self.routed.as_ref()
    }

    /// What every answer is said to lack, whatever leg it comes from.
    pub(crate) fn said(&self) -> &[Degradation] {
        &self.said
    }

    /// Notes what every answer lacks, whatever leg it comes from.
    pub(crate) fn degrade(&mut self, lost: Degradation) {
        self.said.push(lost);
    }

    /// The chosen candidates that cannot be legs, in order.
    pub(crate) fn take_rejected(&mut self) -> Vec<UnfitBackend> {
        std::mem::take(&mut self.rejected)
    }

    /// What was odd about the hints, as a header value.
    pub(crate) fn warnings(&self) -> String {
        let routed = self.routed.iter();
        let all = routed.flat_map(|routed| routed.all_warnings().cloned());
        warnings_list(&all.collect::<Vec<_>>())
    }

    /// Whether the profile lets the provider search.
    pub(crate) fn searches(&self) -> bool {
        self.routed.as_ref().is_some_and(|routed| routed.searches())
    }

    /// The plan with those legs alone that pass a test; the whole plan where none does.
    pub(crate) fn with_only(mut self, is_kept: impl Fn(&Leg) -> bool) -> Self {
        if self.legs.iter().any(|leg| is_kept(leg)) {
            self.legs.retain(|leg| is_kept(leg));
        }
        self
    }

    /// The tier of the model that is tried first.
    pub(crate) fn tier(&self) -> Option<Tier> {
        self.first().candidate.entry.tier
    }

    /// The plan with the legs of another one behind its own, each once and so many at most.
    pub(crate) fn followed_by(mut self, other: Self, most: usize) -> Self {
        for leg in other.legs {
            if !self.legs.iter().any(|known| known.is_at_same_backend(&leg)) {
                self.legs.push(leg);
            }
        }
        self.legs.truncate(most.max(1));
        self
    }

    /// The plan of one of two requests that must not use the same backend.
    pub(crate) fn beside(mut self, claim: BackendClaim) -> Self {
        self.claim = Some(claim);
        self
    }

    /// The claim that each leg needs before it is used, where there is another request beside.
    pub(crate) fn claim(&self) -> Option<&BackendClaim> {
        self.claim.as_ref()
    }

    /// The plan with those legs alone that pass a test; `None` where none does.
    pub(crate) fn kept(mut self, is_kept: impl Fn(&Leg) -> bool) -> Option<Self> {
        self.legs.retain(|leg| is_kept(leg));
        (!self.legs.is_empty()).then_some(self)
    }

    /// What a budget may do about the request.
    pub(crate) fn standing(&self, call: &Call) -> BudgetStanding {
        let routed = self.routed.as_ref();
        let row = routed.and_then(|routed| routed.subsystem.as_ref());
        if row.is_some_and(|row| row.protected) {
            BudgetStanding::Protected
        } else if allows_downgrade(call.principal(), call.hints().route.as_deref()) {
            BudgetStanding::Flexible
        } else {
            BudgetStanding::Strict
        }
    }

    /// The plan with its first leg, and those that cost the caller nothing; `None` where that is
    /// the whole plan.
    pub(crate) fn without_billed_failover(&self) -> Option<Self> {
        let (first, others) = self.legs.split_first()?;
        let free = others.iter().filter(|leg| leg.is_free());
        let legs: Vec<_> = std::iter::once(first).chain(free).cloned().collect();
        (legs.len() < self.legs.len()).then(|| Self {
            legs,
            routed: self.routed.clone(),
            said: self.said.clone(),
            rejected: Vec::new(),
            claim: self.claim.clone(),
        })
    }

    /// The plan with those legs alone that cost the caller nothing; `None` where there are none
    /// beside others, or where they lack protection that others have.
    pub(crate) fn without_billed(&self) -> Option<Self> {
        let is_free = |leg: &&Arc<Leg>| leg.is_free();
        let mut free = self.legs.iter().filter(is_free).peekable();
        if free.peek().is_none() || self.legs.iter().all(|leg| leg.is_free()) {
            return None;
        }
        // A floor does not yield for a price.
        let mut kept = self.legs.iter().filter(|leg| leg.meets_floor()).peekable();
        if kept.peek().is_some() && !kept.any(|leg| leg.is_free()) {
            return None;
        }
        let mut said = self.said.clone();
        let detail = "the balance or a cap is too small for the other backends of this model";
        said.push(Degradation::new("fallback_backends", detail));
        Some(Self {
            legs: free.cloned().collect(),
            routed: self.routed.clone(),
            said,
            rejected: Vec::new(),
            claim: self.claim.clone(),
        })
    }
}

impl Engine {
    /// The stage: chooses the legs and sets up their models. A profile's search goes on where the
    /// budget of its cycle pays for it.
    ///
    /// # Errors
    /// When no backend may serve the request.
    pub(crate) fn plan(&self, prepared: Prepared) -> Result<Planned, EngineError> {
        let mut limited = prepared.into_limited();
        let plan = self.plan_for(limited.call(), &mut Router::route)?;
        let plan = match limited.call().task() {
            Task::Generate => {
                let (plan, search) = self.allow_search(limited.call(), plan)?;
                let (plan, seed) = self.take_seed(limited.call(), plan)?;
                limited.draw_on(seed, search);
                plan
            }
            Task::Embeddings | Task::CountTokens => plan,
        };
        limited.planned(&plan.legs);
        limited.passed(Passed::Plan);
        Ok(Planned { limited, plan })
    }

    /// The plan of a call. Has no effect beside.
    ///
    /// # Errors
    /// When no backend may serve the request.
    pub(crate) fn plan_for(&self, call: &Call, ask: Ask<'_>) -> Result<Plan, EngineError> {
        if call.is_open() {
            return least_limit::named(self, call, self.routed_plan(call, ask));
        }
        let candidates = self.report_unpriced(by_name(call))?;
        self.drawn(call, None, candidates, Vec::new())
            .map_err(|unfit| unfit.error)
    }

    /// The plan of a call that leaves a choice to the router.
    ///
    /// # Errors
    /// When no backend may serve the request.
    pub(crate) fn routed_plan(&self, call: &Call, ask: Ask<'_>) -> Result<Plan, EngineError> {
        let question = Question::of(call, &self.memory);
        self.planned_by(call, &question, &mut |question| {
            self.report_unpriced(self.route_with_fallbacks(question, ask))
        })
    }

    /// The plan of what the router decides. The router does not know what a profile adds to the
    /// prompt of a candidate. Where that exceeds the limit of costs at every candidate of its
    /// choice, it is told so and chooses again.
    ///
    /// # Errors
    /// When no backend may serve the request, or no choice can be set up as is wanted.
    pub(crate) fn planned_by(
        &self,
        call: &Call,
        question: &Question<'_>,
        route: &mut dyn FnMut(&Question<'_>) -> Result<Routed, EngineError>,
    ) -> Result<Plan, EngineError> {
        let mut dear: Vec<DearCandidate> = Vec::new();
        loop {
            let question = Question {
                dear: &dear,
                ..*question
            };
            let routed = route(&question)?;
            let said = routed.instead().into_iter().collect();
            let candidates = routed.candidates();
            let unfit = match self.drawn(call, Some(Arc::new(routed)), candidates, said) {
                Ok(plan) => return Ok(plan),
                Err(unfit) if unfit.dear.is_empty() => return Err(unfit.error),
                Err(unfit) => unfit,
            };
            for mut one in unfit.dear {
                // The router counts a little less than the check of the leg.
                if dear.iter().any(|known| known.is_of(&one.candidate)) {
                    one.added = u64::MAX;
                }
                dear.push(one);
            }
        }
    }

    /// The plan of what the router decided.
    ///
    /// # Errors
    /// When no choice can be set up as is wanted.
    pub(crate) fn plan_of(
        &self,
        call: &Call,
        routed: Routed,
        said: Vec<Degradation>,
    ) -> Result<Plan, EngineError> {
        let candidates = routed.candidates();
        self.drawn(call, Some(Arc::new(routed)), candidates, said)
            .map_err(|unfit| unfit.error)
    }

    fn drawn(
        &self,
        call: &Call,
        routed: Option<Arc<Routed>>,
        candidates: Vec<Candidate>,
        said: Vec<Degradation>,
    ) -> Result<Plan, Box<UnfitCandidates>> {
        let mut rejected = Vec::new();
        let mut dear = Vec::new();
        let mut legs = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let error = match self.leg(call, routed.as_ref(), candidate.clone()) {
                Ok(leg) => {
                    legs.push(Arc::new(leg));
                    continue;
                }
                Err(CostLimitError::TooLow { added }) => {
                    dear.push(DearCandidate {
                        candidate: candidate.clone(),
                        added,
                    });
                    least_limit::too_low(call, None)
                }
                Err(CostLimitError::Unfit(error)) => error,
            };
            match error {
                // What the first backend cannot read goes to no other one, which may bill for it.
                error if error.is_unreadable() && legs.is_empty() => {
                    let dear = Vec::new();
                    return Err(Box::new(UnfitCandidates { error, dear }));
                }
                // Another backend may take what this one cannot.
                error => rejected.push(UnfitBackend {
                    place: legs.len(),
                    backend: call.snapshot().endpoint(&candidate).name.clone(),
                    candidate,
                    error,
                }),
            }
        }
        if legs.is_empty() && !rejected.is_empty() {
            let error = rejected.swap_remove(0).error;
            return Err(Box::new(UnfitCandidates { error, dear }));
        }
        Ok(Plan {
            legs,
            routed,
            said,
            rejected,
            claim: None,
        })
    }

    /// A candidate with all that is decided about it. Has no effect beside.
    ///
    /// # Errors
    /// When it cannot take the request.
    pub(crate) fn leg(
        &self,
        call: &Call,
        routed: Option<&Arc<Routed>>,
        candidate: Candidate,
    ) -> Result<Leg, CostLimitError> {
        operation::check(call, &candidate)?;
        let endpoint = Arc::clone(call.snapshot().endpoint(&candidate));
        let dialect = endpoint.dialect_for(call.dialect(), &candidate.entry);
        let wanted = routed.and_then(|routed| routed.wanted.as_ref());
        let prompt_cache = self.leg_cache(call, &candidate, &endpoint, dialect, routed);
        let subject = Subject {
            call,
            candidate: &candidate,
            endpoint: &endpoint,
            dialect,
            choice: routed.and_then(|routed| routed.choice(&candidate)),
            wanted,
            marks: prompt_cache
                .as_ref()
                .map_or(MarkPlan::USUAL, |cache| cache.plan()),
        };
        let searches = routed.is_some_and(|routed| routed.searches());
        let price = price::of(call, &candidate, dialect, searches);
        let planned = match call.task() {
            Task::Generate => {
                let most = call.size().searches.max(u64::from(searches));
                let cache = prompt_cache.as_deref();
                cost_limit::plan(subject, price.as_ref(), most, cache, &self.memory)?
            }
            Task::Embeddings | Task::CountTokens => PlannedSettings::untouched(call),
        };
        let unlisted = price.is_some_and(|price| price.cache_write_1h.is_none());
        let untold = price.is_some() && price::tells_no_lifetime(endpoint.service, dialect);
        let kept = ((unlisted || untold) && call.task() == Task::Generate)
            .then(|| write_lifetime(call, &candidate, prompt_cache.as_deref(), &self.memory))
            .flatten();
        let capabilities = &candidate.entry.capabilities;
        let reasons_unseen = call.task() == Task::Generate
            && (reasons_unseen(capabilities, &call.top(), wanted.is_some())
                || self.health.reasons_unseen(&endpoint.name, &candidate.entry));
        Ok(Leg {
            price,
            unlisted_write: kept.filter(|_| unlisted),
            untold_hour: untold && kept == Some(CacheTtl::OneHour),
            prompt_bound: call.size().prompt.saturating_add(planned.added),
            output_bound: planned.output,
            settings: planned.settings,
            routed: routed.cloned(),
            reasons_unseen,
            prompt_cache,
            candidate,
            endpoint,
            dialect,
            circuit: OnceLock::new(),
        })
    }

    /// Tells the operator of models without a price.
    fn report_unpriced<T>(&self, result: Result<T, EngineError>) -> Result<T, EngineError> {
        if let Err(EngineError::Unpriced { model }) = &result {
            self.services.sink.unpriced(model);
        }
        result
    }
}

/// The candidates of a model that the caller names without any hint, in the owner's order, and
/// behind them the models that the owner named for when they fail.
fn by_name(call: &Call) -> Result<Vec<Candidate>, EngineError> {
    let (principal, snapshot, model) = (call.principal(), call.snapshot(), call.model());
    let fallbacks = snapshot.fallbacks_of(model);
    let mut candidates = match snapshot.roster().resolve(model) {
        Ok(candidates) => candidates,
        // A model without a backend can still have fallbacks.
        Err(NoRoute::UnknownModel { .. }) if serves_any(snapshot, fallbacks) => Vec::new(),
        Err(no_route) => return Err(no_route.into()),
    };
    entitle::within_scopes(principal, snapshot, model, &mut candidates);
    for other in fallbacks {
        let mut others = snapshot.roster().resolve(other).unwrap_or_default();
        entitle::within_scopes(principal, snapshot, other, &mut others);
        candidates.extend(others);
    }
    entitle::payable(principal, snapshot, model, &mut candidates)?;
    Ok(candidates)
}

fn serves_any(snapshot: &Snapshot, models: &[String]) -> bool {
    let mut models = models.iter();
    models.any(|model| snapshot.roster().resolve(model).is_ok())
}
