//! Routing of requests: the router decides where the caller leaves a choice, and its decision stays
//! beside the candidates.

use bardo_access::KeyTier;
use bardo_profile::{CACHE_KEY_PREFIX, Sources, Wanted, wanted};
use bardo_router::{
    BankrFunds, Candidate, Explanation, Facts, HealthState, HealthView, ObservedHealth, Refusal,
    RefusalKind, Route, RouteRequest, RoutedCandidate, Router, Variant, VariantFacts, variant,
};
use bardo_types::chat::ChatRequest;
use bardo_types::feature::Feature;
use bardo_types::hints::RouteHints;
use bardo_types::model::Effort;
use bardo_types::money::MicroUsd;
use bardo_types::privacy::{SecurityClass, TaskClass};
use bardo_types::profile::InferenceProfile;
use bardo_types::subsystem::Subsystem;

use crate::cache_key::CacheKey;
use crate::call::Call;
use crate::engine::Engine;
use crate::entitle;
use crate::error::EngineError;
use crate::facts::facts;
use crate::health::BackendState;
use crate::memory::Memory;
use crate::prompt_cache::warm_key;
use crate::received::{Payer, Principal, Task};
use crate::routed::Routed;
use crate::snapshot::Snapshot;

/// The warning to a caller that expects its decision to be verified.
const NO_VERIFICATION: &str = "`stakes_usd` has no effect: `inference.verify_above_usd` is not set";

/// A question to the router, with its caller.
#[derive(Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) task: Task,
    pub(crate) model: &'a str,
    pub(crate) hints: Option<&'a RouteHints>,
    /// Name of the caller's session.
    pub(crate) session: Option<&'a str>,
    pub(crate) facts: Facts,
    /// The request in neutral form, where it could be read.
    pub(crate) request: Option<&'a ChatRequest>,
    /// The candidates that are considered at all; `None`: all.
    pub(crate) only: Option<&'a dyn Fn(&Candidate) -> bool>,
    /// The candidates that are known to cost more than their prompt says.
    pub(crate) dear: &'a [DearCandidate],
}

/// A candidate that a limit of costs does not pay for once its settings are known.
pub(crate) struct DearCandidate {
    pub(crate) candidate: Candidate,
    /// Tokens that its settings add to the prompt.
    pub(crate) added: u64,
}

impl DearCandidate {
    /// Whether a candidate is this one.
    pub(crate) fn is_of(&self, other: &Candidate) -> bool {
        self.candidate.backend == other.backend
            && self.candidate.entry.upstream_id == other.entry.upstream_id
    }
}

/// Asks the router: for a decision alone, or for all that led to it.
pub(crate) type Ask<'a> = &'a mut dyn FnMut(&Router, &RouteRequest<'_>) -> Result<Route, Refusal>;

impl<'a> Question<'a> {
    /// The question of a call. The neutral form is decoded for it.
    pub(crate) fn of(call: &'a Call, memory: &Memory) -> Self {
        let neutral = call.request_body().neutral(memory);
        let facts = match neutral {
            Some(request) => facts(request, &call.size(), call.stream()),
            None => {
                let silent = ChatRequest::new(call.dialect(), String::new());
                facts(&silent, &call.size(), call.stream())
            }
        };
        Self {
            principal: call.principal(),
            snapshot: call.snapshot(),
            task: call.task(),
            model: call.model(),
            hints: call.hints().route.as_deref(),
            session: call.hints().session.as_deref(),
            facts: Facts {
                embeddings: call.task() == Task::Embeddings,
                ..facts
            },
            request: neutral.map(|request| &**request),
            only: None,
            dear: &[],
        }
    }
}

/// Whether a cheaper model than the named one will do, by the caller's word or its tier.
pub(crate) fn allows_downgrade(principal: &Principal, hints: Option<&RouteHints>) -> bool {
    let by_tier = || match &principal.payer {
        Payer::Owner => false,
        Payer::Prepaid(terms) => terms.may_be_downgraded(),
    };
    hints
        .and_then(|hints| hints.allow_downgrade)
        .unwrap_or_else(by_tier)
}

impl Engine {
    /// Asks the router.
    pub(crate) fn route(
        &self,
        question: &Question<'_>,
        ask: Ask<'_>,
    ) -> Result<Routed, EngineError> {
        entitle::protection(question.principal, asked_class(question.hints))?;
        let decided = self.ask_router(question, |request| ask(&question.snapshot.router, request));
        let route = decided.map_err(|refusal| refused(question, refusal))?;
        // A subsystem demands a class that the request does not name.
        entitle::protection(question.principal, route.security_class)?;
        Ok(self.routed(question, route))
    }

    /// Asks the router, and puts behind its choices those of the models that the owner named for
    /// when the named one fails. They satisfy the same requirements.
    pub(crate) fn route_with_fallbacks(
        &self,
        question: &Question<'_>,
        ask: Ask<'_>,
    ) -> Result<Routed, EngineError> {
        let first = self.route(question, ask);
        let others = question.snapshot.fallbacks_of(question.model);
        let others = others.iter().filter_map(|other| {
            let question = Question {
                model: other,
                ..*question
            };
            self.route(&question, &mut Router::route).ok()
        });
        let mut all = first;
        for other in others {
            match &mut all {
                Ok(first) => first.choices.extend(other.choices),
                Err(_) => all = Ok(other),
            }
        }
        all
    }

    /// Everything that the router looks at for a question.
    pub(crate) fn explain_route(&self, question: &Question<'_>) -> Explanation {
        self.ask_router(question, |request| {
            question.snapshot.router.explain(request)
        })
    }

    fn ask_router<T>(
        &self,
        question: &Question<'_>,
        ask: impl FnOnce(&RouteRequest<'_>) -> T,
    ) -> T {
        let Question {
            principal,
            snapshot,
            model,
            hints,
            facts,
            only,
            dear,
            ..
        } = question;
        let sealed = hints
            .filter(|hints| wants_seal(snapshot, hints))
            .map(|hints| {
                // Only attested hardware will do for such a profile.
                let class = hints.security_class.max(Some(SecurityClass::Tee));
                RouteHints {
                    security_class: class,
                    ..hints.clone()
                }
            });
        let silent = RouteHints::default();
        // A scope that leaves the choice to the gateway is not for a model that hints name.
        let hinted = hints.and_then(|hints| hints.intent.model.as_deref());
        let health = EngineHealthView {
            engine: self,
            snapshot,
            stream: facts.stream,
        };
        ask(&RouteRequest {
            model,
            hints: sealed.as_ref().or(*hints).unwrap_or(&silent),
            facts: *facts,
            allow_downgrade: allows_downgrade(principal, *hints),
            may_use: &|candidate| {
                let may = |name| entitle::may_use(principal, snapshot, name, candidate);
                only.is_none_or(|only| only(candidate)) && may(model) && hinted.is_none_or(may)
            },
            added: &|candidate| {
                let dear = dear.iter().filter(|dear| dear.is_of(candidate));
                dear.map(|dear| dear.added).max().unwrap_or(0)
            },
            own_keys: &|candidate| match &principal.payer {
                Payer::Owner => true,
                Payer::Prepaid(_) => !snapshot.endpoint(candidate).direct,
            },
            health: &health,
            bankr: BankrFunds {
                credit: self.bankr_credit.get(),
                seed_left: self.seed_of(question),
            },
            tier: match &principal.payer {
                Payer::Owner => None,
                Payer::Prepaid(terms) => terms.tier.map(KeyTier::as_str),
            },
        })
    }

    /// The rest of the seed that pays for an agent, if one does.
    fn seed_of(&self, question: &Question<'_>) -> Option<MicroUsd> {
        let hints = question.hints?;
        let bootstraps = question.snapshot.router.is_bootstrapping(hints);
        bootstraps.then(|| self.seed_left(question.principal, hints.golem_id.as_deref()))
    }

    fn routed(&self, question: &Question<'_>, mut route: Route) -> Routed {
        let affinity = self.affinity(question, &mut route);
        if route.automatic {
            // What is held covers the dearest of them, so none is kept that will not be asked.
            route.keep(question.snapshot.max_attempts);
        }
        let Route {
            mut choices,
            intent,
            subsystem,
            security_class,
            wished_class,
            automatic,
            instead_of,
            mut warnings,
        } = route;
        let verify_above = question.snapshot.setup.verify_above;
        let states_stakes = |hints: &RouteHints| hints.stakes_micro_usd.is_some();
        if verify_above.is_none() && question.hints.is_some_and(states_stakes) {
            warnings.push(NO_VERIFICATION.to_owned());
        }
        if automatic {
            for choice in &mut choices {
                as_variant(question, subsystem.as_deref(), choice);
            }
        }
        let owner = subsystem
            .as_ref()
            .and_then(|row| question.snapshot.profiles.get(&row.name));
        let silent = RouteHints::default();
        let hints = question.hints.unwrap_or(&silent);
        let mut wanted = match question.task {
            Task::Generate => wanted(&Sources {
                subsystem: subsystem.as_deref(),
                hints,
                owner,
                quality: intent.quality,
            }),
            Task::CountTokens | Task::Embeddings => None,
        };
        let router = &question.snapshot.router;
        if router.saves_thinking(subsystem.as_deref(), hints.sustainability)
            && let Some(wanted) = wanted.as_mut().filter(|wanted| !wanted.locked)
        {
            wanted.profile.reasoning_effort = Some(Effort::None);
        }
        if let Some(wanted) = &mut wanted {
            finish(wanted, question, owner);
            carry_citations(wanted, &mut choices);
        }
        Routed {
            intent,
            subsystem,
            security_class,
            wished_class,
            automatic,
            instead_of,
            warnings,
            choices,
            seed: self.seed_of(question),
            wanted,
            affinity,
        }
    }

    /// Puts the backend first that is warm for the session of a question, where the gateway chooses
    /// and little is lost.
    fn affinity(&self, question: &Question<'_>, route: &mut Route) -> Option<String> {
        let request = question.request.filter(|_| route.automatic)?;
        let prompts_of = question.principal.prompts_of();
        let health = EngineHealthView {
            engine: self,
            snapshot: question.snapshot,
            stream: question.facts.stream,
        };
        let name = |candidate: &Candidate| question.snapshot.endpoint(candidate).name.clone();
        self.prompt_caches.prefer_warm(
            warm_key(&prompts_of, question.session, question.hints, request),
            &mut route.choices,
            name,
            |candidate| health.observe(candidate).state,
        )
    }
}

/// Completes a profile by the owner's settings for all profiles, and seals the name in the key of its
/// prompt cache: two accounts may use one name, and a provider learns none.
fn finish(wanted: &mut Wanted, question: &Question<'_>, owner: Option<&InferenceProfile>) {
    search(wanted, question, owner);
    let setup = &question.snapshot.setup;
    wanted.min_p_fallback = setup.min_p_fallback;
    let named = wanted.profile.prompt_cache_key.take();
    wanted.profile.prompt_cache_key = named.and_then(|name| {
        let key = CacheKey {
            prefix: &setup.cache_key_prefix,
            prompts_of: &question.principal.prompts_of(),
            name: &name,
            // A caller that names a key decides itself how long it is the same.
            hints: question
                .hints
                .filter(|_| name.starts_with(CACHE_KEY_PREFIX)),
            epoch: setup.epoch_events,
        };
        key.sealed(&setup.cache_key_secret)
    });
}

/// A provider's search tells search engines what an agent thinks about, so it is the owner's to allow.
fn search(wanted: &mut Wanted, question: &Question<'_>, owner: Option<&InferenceProfile>) {
    if wanted.profile.web_search != Some(true) {
        return;
    }
    let for_this_part = owner.and_then(|owner| owner.web_search) == Some(true);
    wanted.search_at_tee = for_this_part;
    let setting = question.snapshot.setup.web_search;
    if setting.unwrap_or(for_this_part) {
        return;
    }
    wanted.profile.web_search = None;
    let hints = question.hints.and_then(|hints| hints.profile.as_deref());
    if hints.is_some_and(|profile| profile.web_search == Some(true)) {
        let warning = "`web_search` was ignored; to allow it, set `providers.venice.web_search_enabled: true`";
        wanted.warnings.push(warning.to_owned());
    }
}

/// Where the gateway's own table holds the answer to a schema, the schema has a place for sources,
/// so citations are not lost.
fn carry_citations(wanted: &Wanted, choices: &mut [RoutedCandidate]) {
    if wanted.row.is_some() && wanted.profile.response_schema.is_some() {
        for choice in choices {
            choice.degraded.retain(|lost| *lost != Feature::Citations);
        }
    }
}

/// Where the gateway chose a model of OpenRouter, it also chooses how OpenRouter is to serve it.
fn as_variant(
    question: &Question<'_>,
    subsystem: Option<&Subsystem>,
    choice: &mut RoutedCandidate,
) {
    let Candidate { backend, entry } = &choice.candidate;
    let facts = VariantFacts {
        model: &entry.upstream_id,
        group: subsystem.map(|row| row.group.as_str()),
        interactive: subsystem.is_some_and(|row| row.interactive),
        chosen: !question.snapshot.router.policy().variants,
    };
    let service = question.snapshot.endpoints[*backend].service;
    choice.sort = variant(service, &facts).map(Variant::sort);
}

/// Whether the caller's profile, or the owner's for the caller's subsystem, insists on attested
/// hardware.
fn wants_seal(snapshot: &Snapshot, hints: &RouteHints) -> bool {
    let caller = hints.profile.as_ref().and_then(|profile| profile.tee_mode);
    let owner = || {
        let row = snapshot.router.subsystem(hints.subsystem.as_deref()?)?;
        snapshot.profiles.get(&row.name)?.tee_mode
    };
    // A caller raises what its owner set and never lowers it.
    caller == Some(true) || owner() == Some(true)
}

/// The health of backends as the engine sees it.
struct EngineHealthView<'a> {
    engine: &'a Engine,
    snapshot: &'a Snapshot,
    stream: bool,
}

impl HealthView for EngineHealthView<'_> {
    fn observe(&self, candidate: &Candidate) -> ObservedHealth {
        let endpoint = self.snapshot.endpoint(candidate);
        let seen = self.engine.observe(endpoint, &candidate.entry);
        let latency = seen.latency(self.stream);
        ObservedHealth {
            state: match seen.state {
                BackendState::Healthy => HealthState::Healthy,
                BackendState::Degraded { .. } => HealthState::Degraded,
                BackendState::Down { .. } => HealthState::Down,
                BackendState::Unknown => HealthState::Unknown,
            },
            p50_ms: latency.p50_ms,
            p90_ms: latency.p90_ms,
            error_permille: (seen.samples > 0).then_some(seen.error_permille),
        }
    }
}

/// The protection that the caller itself asks for.
pub(crate) fn asked_class(hints: Option<&RouteHints>) -> SecurityClass {
    let Some(hints) = hints else {
        return SecurityClass::Standard;
    };
    let tee_mode = hints.profile.as_ref().and_then(|profile| profile.tee_mode);
    let required = hints.intent.require.iter().flatten();
    let required = required.map(|feature| match feature {
        Feature::E2ee => SecurityClass::E2ee,
        Feature::Tee => SecurityClass::Tee,
        Feature::Privacy => SecurityClass::Private,
        _ => SecurityClass::Standard,
    });
    let task = hints.task_class.map(TaskClass::floor);
    let sealed = (tee_mode == Some(true)).then_some(SecurityClass::Tee);
    let all = required.chain(task).chain(sealed);
    all.chain(hints.security_class).max().unwrap_or_default()
}

/// The protection that a request should have: by its caller, its subsystem, the owner's profile of
/// that, and what it goes on with. Where a floor yields, the request gets less.
pub(crate) fn wished_class(snapshot: &Snapshot, hints: &RouteHints) -> SecurityClass {
    let part = hints.subsystem.as_deref();
    let floor = part.map(|part| snapshot.router.floor(part));
    let sealed = wants_seal(snapshot, hints).then_some(SecurityClass::Tee);
    let others = [floor, sealed, hints.remembered_class];
    let others = others.into_iter().flatten().max();
    asked_class(Some(hints)).max(others.unwrap_or_default())
}

fn refused(question: &Question<'_>, refusal: Refusal) -> EngineError {
    let model = question.model;
    if matches!(refusal.kind, RefusalKind::Privacy | RefusalKind::NotAllowed)
        && let Err(error) = entitle::protection(question.principal, refusal.class)
    {
        return error;
    }
    match refusal.kind {
        RefusalKind::UnknownModel | RefusalKind::UnknownBackend => {
            match question.snapshot.roster().resolve(model) {
                Err(no_route) => no_route.into(),
                Ok(_) => refused_openly(model, refusal),
            }
        }
        RefusalKind::NotAllowed => entitle::why_not(question.principal, question.snapshot, model)
            .unwrap_or_else(|| refused_openly(model, refusal)),
        RefusalKind::Privacy | RefusalKind::Unsatisfiable => refused_openly(model, refusal),
    }
}

fn refused_openly(model: &str, refusal: Refusal) -> EngineError {
    EngineError::Refused {
        model: model.to_owned(),
        refusal: Box::new(refusal),
    }
}
