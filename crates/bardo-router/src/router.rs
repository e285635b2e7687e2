//! The router: the hard filter, and the ranking by the owner's order or by score.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use bardo_types::hints::RouteHints;
use bardo_types::intent::Intent;
use bardo_types::near;
use bardo_types::privacy::SecurityClass;
use bardo_types::subsystem::Subsystem;

use crate::advice;
use crate::classes;
use crate::cost;
use crate::decision::{Explanation, Refusal, Route, RoutedCandidate};
use crate::explain;
use crate::filter::HardFilter;
use crate::mortality::{self, Band};
use crate::policy::Policy;
use crate::ranking::{RankedCandidate, Ranking};
use crate::rated::RatedCandidate;
use crate::refusal;
use crate::request::{HealthState, RouteRequest};
use crate::requirements::{self, ModelTarget, Requirements};
use crate::resolution::{RouteResolution, in_owners_order};
use crate::roster::{Candidate, NoRoute, Roster};
use crate::subsystems::Subsystems;
use crate::words::Speaker;

/// The subsystem whose intent unknown ones get.
const UNKNOWN_IS_LIKE: &str = "heartbeat_t1";
/// The prefix of names that leave the choice of the model to the gateway.
const AUTOMATIC: &str = "bardo/";

/// Chooses who answers. Immutable, as the [`Roster`] that it holds; no I/O, no clock.
#[derive(Debug)]
pub struct Router {
    roster: Roster,
    policy: Policy,
    /// Parts of agents that the table does not know.
    own: BTreeMap<String, Arc<Subsystem>>,
}

impl Router {
    /// A router over the models that are served.
    #[must_use]
    pub fn new(roster: Roster, policy: Policy) -> Self {
        Self {
            roster,
            policy,
            own: BTreeMap::new(),
        }
    }

    /// Adds a subsystem, or replaces the row of its name.
    #[must_use]
    pub fn with_subsystem(mut self, subsystem: Subsystem) -> Self {
        self.own.insert(subsystem.name.clone(), Arc::new(subsystem));
        self
    }

    /// The models and their backends.
    #[must_use]
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// The owner's rules.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The row of a subsystem, by any of its names.
    #[must_use]
    pub fn subsystem(&self, name: &str) -> Option<&Arc<Subsystem>> {
        let own = (!self.own.is_empty())
            .then(|| self.own.get(&requirements::plain_name(name)))
            .flatten();
        own.or_else(|| Subsystems::embedded().find(name))
    }

    /// The name of a known subsystem that another name is one or two letters from.
    #[must_use]
    pub fn subsystem_like(&self, name: &str) -> Option<&str> {
        const SLIP: usize = 2;
        let own = self.own.keys().map(String::as_str);
        let names = Subsystems::embedded().names().chain(own);
        near::nearest(&requirements::plain_name(name), names, SLIP)
    }

    /// The protection that the owner, or else the table, demands for a part of an agent, by any of
    /// its names. A request may get less where such a floor yields.
    #[must_use]
    pub fn floor(&self, part: &str) -> SecurityClass {
        let row = self.subsystem(part).map(|row| &**row);
        let name = row.map_or_else(
            || Cow::Owned(requirements::plain_name(part)),
            |row| Cow::Borrowed(row.name.as_str()),
        );
        requirements::floor(&self.policy, Some(&name), row)
    }

    /// Whether an agent earns so little that its calls do without thinking; never for parts that
    /// are protected.
    #[must_use]
    pub fn saves_thinking(
        &self,
        subsystem: Option<&Subsystem>,
        sustainability: Option<f64>,
    ) -> bool {
        let is_protected = subsystem.is_some_and(|row| row.protected);
        let bankr = &self.policy.bankr;
        let ratio = requirements::known_ratio(sustainability, subsystem.is_some(), &self.policy);
        !is_protected
            && ratio.is_some_and(|ratio| {
                let band = Band::of(Some(ratio), bankr.lifetime_revenue);
                mortality::apply_band(&mut Intent::default(), band)
            })
    }

    /// Whether an agent has not earned yet, so that the seed of a day pays for it.
    #[must_use]
    pub fn is_bootstrapping(&self, hints: &RouteHints) -> bool {
        requirements::bankr_band(&self.policy, hints) == Band::Bootstrapping
    }

    /// The backends that the model's name binds a request to (`venice/…`), as indices of
    /// [`Roster::backends`]; `None` where any backend may answer.
    #[must_use]
    pub fn pinned_backends(&self, model: &str, hints: &RouteHints) -> Option<Vec<usize>> {
        self.roster.pins(self.name_of(model, hints))
    }

    /// The one model that a request is for, as its caller wrote it; `None` where the gateway may choose
    /// among several, all of which the request is for.
    #[must_use]
    pub fn bound_name<'a>(&self, model: &'a str, hints: &'a RouteHints) -> Option<&'a str> {
        let name = self.name_of(model, hints);
        let target = self.roster.unaliased(name);
        let is_open = target.starts_with(AUTOMATIC) || is_family(target);
        (!is_open).then_some(name)
    }

    /// The name in the request, or the one in its hints where the first leaves the choice open.
    fn name_of<'a>(&self, model: &'a str, hints: &'a RouteHints) -> &'a str {
        let hinted = hints.intent.model.as_deref();
        let hinted = hinted.filter(|_| self.roster.unaliased(model).starts_with(AUTOMATIC));
        hinted.unwrap_or(model)
    }

    /// Whether a free model may answer only where the owner allows free models
    /// (`inference.free_models`), and the owner does not.
    #[must_use]
    pub fn excludes_free(&self, candidate: &Candidate) -> bool {
        !self.policy.free_models && self.roster.rated(candidate.clone()).is_free
    }

    /// Chooses the candidates for a request, in order.
    ///
    /// # Errors
    /// When nobody may; the refusal names what is missing and what would mend it.
    pub fn route(&self, request: &RouteRequest<'_>) -> Result<Route, Refusal> {
        let name = self.roster.unaliased(request.model);
        if !name.starts_with(AUTOMATIC) && !is_family(name) && request.hints.is_silent() {
            return self.by_name(request);
        }
        self.decide(request).into_route(request)
    }

    /// The decision of [`Self::route`], with all candidates and reasons.
    #[must_use]
    pub fn explain(&self, request: &RouteRequest<'_>) -> Explanation {
        explain::explain(self, request, self.decide(request))
    }

    /// A model that the caller names without a hint: whoever has it, in the owner's order.
    fn by_name(&self, request: &RouteRequest<'_>) -> Result<Route, Refusal> {
        let candidates = match self.roster.resolve(request.model) {
            Ok(candidates) => candidates,
            Err(no_route) => return Err(refusal::of_name(&no_route)),
        };
        let plain = |(group, candidate): (usize, Candidate)| {
            let rated = self.roster.rated(candidate);
            RoutedCandidate {
                features: rated.features,
                degraded: Vec::new(),
                below_quality: false,
                security: rated.security,
                tee: rated.evidence(rated.security),
                sort: None,
                estimated_cost: cost::likely(rated.entry(), &request.facts),
                score: None,
                group,
                max_output: None,
                candidate: rated.candidate,
            }
        };
        let choices: Vec<RoutedCandidate> = candidates
            .into_iter()
            .filter(|candidate| (request.may_use)(candidate))
            .enumerate()
            .map(plain)
            .collect();
        if choices.is_empty() {
            return Err(refusal::not_allowed(request.model, SecurityClass::Standard));
        }
        Ok(Route {
            choices,
            intent: Intent {
                model: Some(self.roster.unaliased(request.model).to_owned()),
                diem_available: self.policy.diem_staked,
                ..Intent::default()
            },
            subsystem: None,
            security_class: SecurityClass::Standard,
            wished_class: SecurityClass::Standard,
            automatic: false,
            instead_of: None,
            warnings: Vec::new(),
        })
    }

    /// Reads the target: the name in the request, else the one in its hints, else none.
    fn target<'a>(&'a self, request: &'a RouteRequest<'_>) -> (ModelTarget<'a>, Option<&'a str>) {
        let name = self.name_of(request.model, request.hints);
        let name = self.roster.unaliased(name);
        match name.strip_prefix(AUTOMATIC) {
            Some("auto") => (ModelTarget::Automatic, None),
            Some(tier @ ("t1" | "t2")) => (ModelTarget::Automatic, Some(tier)),
            _ if is_family(name) => (ModelTarget::Family(name.trim_end_matches("/*")), None),
            _ => (ModelTarget::Named(name), None),
        }
    }

    /// Reads what a request needs, and decides.
    fn decide<'a>(&'a self, request: &'a RouteRequest<'a>) -> RouteResolution<'a> {
        let hints = request.hints;
        let (target, tier) = self.target(request);
        let row = hints
            .subsystem
            .as_deref()
            .and_then(|name| self.subsystem(name))
            .cloned();
        let base = match (&row, &hints.subsystem, target) {
            (Some(row), ..) => row.intent.clone(),
            (None, Some(_), _) => self
                .subsystem(UNKNOWN_IS_LIKE)
                .map_or_else(Intent::default, |row| row.intent.clone()),
            (None, None, ModelTarget::Named(_)) => Intent::default(),
            (None, None, ModelTarget::Automatic | ModelTarget::Family(_)) => tier
                .and_then(classes::of_tier)
                .unwrap_or_else(|| of_caller(request)),
        };
        let mut requirements =
            Requirements::read(request, row, base, &self.policy, self.best_security(), tier);
        if let (ModelTarget::Named(name), Some(hinted)) = (target, hints.intent.model.as_deref())
            && self.roster.unaliased(hinted) != name
        {
            requirements.warnings.push(format!(
                "the model of the intent, `{hinted}`, was ignored: the request names `{name}`"
            ));
        }
        match target {
            ModelTarget::Named(name) => {
                requirements.intent.model = Some(name.to_owned());
                let decided = self.named(request, requirements, name);
                if decided.needs_something_cheaper(request) {
                    return self.something_cheaper(request, decided, name);
                }
                decided
            }
            // Vectors of two models do not fit into one index, so the owner's choice has no
            // substitute.
            ModelTarget::Automatic if request.facts.embeddings => match &self.policy.embedder {
                Some(model) => self.named(request, requirements, model),
                None => self.chosen(request, requirements, target),
            },
            ModelTarget::Automatic => match self.owners_model(&requirements, tier) {
                Some(model) => self.tiered(request, requirements, model),
                None => self.chosen(request, requirements, target),
            },
            ModelTarget::Family(_) => self.chosen(request, requirements, target),
        }
    }

    /// The best protection that any configured backend offers.
    fn best_security(&self) -> SecurityClass {
        self.roster.pool.security
    }

    /// The model that the owner named for the tier of a request.
    fn owners_model(&self, requirements: &Requirements, tier: Option<&str>) -> Option<&str> {
        let tier = match &requirements.subsystem {
            Some(row) => classes::tier_of_row(&row.name)?,
            None if requirements.part.is_some() => return None,
            None => tier?,
        };
        match tier {
            "t1" => self.policy.t1.as_deref(),
            _ => self.policy.t2.as_deref(),
        }
    }

    /// A tier whose model the owner named; where that may not answer, the gateway chooses.
    fn tiered<'a>(
        &'a self,
        request: &'a RouteRequest<'a>,
        requirements: Requirements,
        model: &str,
    ) -> RouteResolution<'a> {
        let own = self.named(request, requirements.clone(), model);
        if own.refusal.is_none() {
            return self.behind(request, requirements, own);
        }
        let mut requirements = requirements;
        requirements.warnings.push(format!(
            "`{model}` is configured for this tier and is not allowed; another model was chosen"
        ));
        self.chosen(request, requirements, ModelTarget::Automatic)
    }

    /// The owner's model for a tier, and behind it whom the gateway would choose; before it where
    /// it does not answer.
    fn behind<'a>(
        &'a self,
        request: &'a RouteRequest<'a>,
        requirements: Requirements,
        mut own: RouteResolution<'a>,
    ) -> RouteResolution<'a> {
        let mut all = self.chosen(request, requirements, ModelTarget::Automatic);
        let place = |at: &usize| {
            let wanted = &own.rated_candidates[own.seen[*at].rated];
            let is_it = |one: &RankedCandidate| {
                let rated = &all.rated_candidates[one.rated];
                rated.candidate.backend == wanted.candidate.backend
                    && rated.entry().upstream_id == wanted.entry().upstream_id
            };
            all.seen.iter().position(is_it)
        };
        let Some(leaders) = own.order.iter().map(place).collect::<Option<Vec<usize>>>() else {
            let is_kept = |of: &RouteResolution<'_>| {
                let first = of.order.first();
                first.is_some_and(|&at| of.seen[at].security >= of.requirements.wish)
            };
            if is_kept(&all) && !is_kept(&own) {
                return all;
            }
            own.automatic = true;
            return own;
        };
        let is_down = |at: &usize| {
            let candidate = &all.rated_candidates[all.seen[*at].rated].candidate;
            request.health.observe(candidate).state == HealthState::Down
        };
        let (down, mut order): (Vec<usize>, Vec<usize>) = leaders.into_iter().partition(is_down);
        let others = all.order.iter().copied();
        let others = others.filter(|at| !order.contains(at) && !down.contains(at));
        let others: Vec<usize> = others.collect();
        order.extend(others);
        // A floor does not yield for the owner's order.
        order.sort_by_key(|&at| all.seen[at].security < all.requirements.wish);
        order.extend(down);
        all.order = order;
        all.refusal = None;
        all
    }

    /// A model by name: whoever has it and may answer, in the owner's order.
    fn named<'a>(
        &'a self,
        request: &'a RouteRequest<'a>,
        requirements: Requirements,
        name: &str,
    ) -> RouteResolution<'a> {
        let (candidates, no_route): (Vec<Candidate>, Option<NoRoute>) =
            match self.roster.resolve(name) {
                Ok(candidates) => (candidates, None),
                Err(no_route) => (Vec::new(), Some(no_route)),
            };
        let rated_candidates: Vec<RatedCandidate> = candidates
            .into_iter()
            .map(|candidate| self.roster.rated(candidate))
            .collect();
        let hard_filter = HardFilter {
            request,
            requirements: &requirements,
            policy: &self.policy,
            backends: self.roster.backends(),
            target: ModelTarget::Named(name),
            route: &[],
            roles: false,
        };
        let filtered = rated_candidates.iter().enumerate();
        let seen: Vec<RankedCandidate> = filtered
            .map(|(at, rated)| RankedCandidate::new(at, hard_filter.named(rated)))
            .collect();
        let order = in_owners_order(&requirements, &seen);
        let refusal = match no_route {
            Some(no_route) => Some(refusal::of_name(&no_route)),
            None if order.is_empty() => {
                let speaker = Speaker {
                    requirements: &requirements,
                    request,
                };
                let known = advice::RefusalContext {
                    limits_output: request.facts.max_output_tokens.is_some(),
                    backends: self.roster.backends(),
                    pool: &self.roster.pool.rated_candidates,
                    model: Some(name),
                };
                Some(refusal::of(speaker, known, &rated_candidates, &seen))
            }
            None => None,
        };
        RouteResolution {
            requirements,
            rated_candidates: Cow::Owned(rated_candidates),
            seen,
            // Each comes for its place in the owner's order.
            groups: (0..order.len()).collect(),
            order,
            automatic: false,
            named_tier: None,
            instead_of: None,
            refusal,
        }
    }

    /// A model that nobody named.
    fn chosen<'a>(
        &'a self,
        request: &RouteRequest<'_>,
        requirements: Requirements,
        target: ModelTarget<'_>,
    ) -> RouteResolution<'a> {
        let rated_candidates = if request.facts.embeddings {
            &self.roster.pool.embedders
        } else {
            &self.roster.pool.rated_candidates
        };
        let route = self.route_of(&requirements);
        let mut hard_filter = HardFilter {
            request,
            requirements: &requirements,
            policy: &self.policy,
            backends: self.roster.backends(),
            target,
            route,
            roles: matches!(target, ModelTarget::Automatic),
        };
        // Where only backends with a role are there for the caller, roles do not apply.
        hard_filter.roles = hard_filter.roles
            && rated_candidates
                .iter()
                .any(|rated| rated.is_general() && (request.may_use)(&rated.candidate));
        let roles = hard_filter.roles;
        let filtered = rated_candidates.iter().enumerate();
        let mut seen: Vec<RankedCandidate> = filtered
            .map(|(at, rated)| RankedCandidate::new(at, hard_filter.automatic(rated)))
            .collect();
        let ranking = Ranking {
            request,
            requirements: &requirements,
            policy: &self.policy,
            backends: self.roster.backends(),
            rated_candidates,
            route,
            roles,
        };
        let order = ranking.order(&mut seen);
        let order = ranking.put_own_keys_first(&mut seen, &order);
        let groups = ranking.groups(&seen, &order);
        let refusal = order.is_empty().then(|| {
            let speaker = Speaker {
                requirements: &requirements,
                request,
            };
            let known = advice::RefusalContext {
                limits_output: request.facts.max_output_tokens.is_some(),
                backends: self.roster.backends(),
                pool: &self.roster.pool.rated_candidates,
                model: requirements.intent.model.as_deref(),
            };
            refusal::of(speaker, known, rated_candidates, &seen)
        });
        RouteResolution {
            requirements,
            rated_candidates: Cow::Borrowed(rated_candidates),
            seen,
            groups,
            order,
            automatic: true,
            named_tier: None,
            instead_of: None,
            refusal,
        }
    }

    /// A named model that costs more than the request may, of a caller that takes a cheaper one.
    fn something_cheaper<'a>(
        &'a self,
        request: &'a RouteRequest<'a>,
        decided: RouteResolution<'a>,
        name: &str,
    ) -> RouteResolution<'a> {
        let mut requirements = decided.requirements.clone();
        requirements.intent.model = None;
        requirements.warnings.push(format!(
            "`{name}` could cost more than max_cost_usd; a cheaper model was chosen"
        ));
        let tiers = decided.rated_candidates.iter().map(|rated| rated.tier);
        let named_tier = tiers.max();
        let pins = self.roster.pins(name);
        let within = RouteRequest {
            may_use: &|candidate| {
                let is_pinned = pins
                    .as_ref()
                    .is_none_or(|pins| pins.contains(&candidate.backend));
                is_pinned && (request.may_use)(candidate)
            },
            ..*request
        };
        let cheaper = self.chosen(&within, requirements, ModelTarget::Automatic);
        if cheaper.refusal.is_some() {
            decided
        } else {
            RouteResolution {
                named_tier,
                instead_of: Some(name.to_owned()),
                ..cheaper
            }
        }
    }

    /// The backends to ask first for the part of an agent that asks.
    fn route_of<'a>(&'a self, requirements: &'a Requirements) -> &'a [String] {
        let row = requirements.subsystem.as_deref();
        requirements::of_part(&self.policy.routes, requirements.part.as_deref(), row)
            .or_else(|| row.map(|row| &row.route))
            .map_or(&[], Vec::as_slice)
    }
}

/// The intent of a request without hints: by its kind, at the sensitivity to cost of its tier.
fn of_caller(request: &RouteRequest<'_>) -> Intent {
    let mut intent = classes::of_kind(request.facts.kind);
    if let Some(sensitivity) = request.tier.and_then(classes::sensitivity_of) {
        intent.cost_sensitivity = sensitivity;
    }
    intent
}

/// A name for all models of a family, a maker or a backend.
fn is_family(name: &str) -> bool {
    name.ends_with("/*")
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
