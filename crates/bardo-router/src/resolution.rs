//! The resolution of one request: its candidates, their order, and what follows from both.

use std::borrow::Cow;

use bardo_types::feature::FeatureSet;
use bardo_types::model::Tier;

use crate::cost;
use crate::decision::{Refusal, Route, RoutedCandidate};
use crate::degraded::degraded;
use crate::ranking::RankedCandidate;
use crate::rated::RatedCandidate;
use crate::reason::{Reason, Reasons};
use crate::request::RouteRequest;
use crate::requirements::Requirements;

/// A decision with its requirements, all candidates and their order.
pub(crate) struct RouteResolution<'a> {
    pub(crate) requirements: Requirements,
    pub(crate) rated_candidates: Cow<'a, [RatedCandidate]>,
    pub(crate) seen: Vec<RankedCandidate>,
    /// The candidates to call, in order, as indices into `seen`.
    pub(crate) order: Vec<usize>,
    /// The group of each candidate in the order ([`RoutedCandidate::group`]).
    pub(crate) groups: Vec<usize>,
    pub(crate) automatic: bool,
    /// The tier of the named model, where a cheaper one takes its place.
    pub(crate) named_tier: Option<Tier>,
    /// The named model that could cost too much.
    pub(crate) instead_of: Option<String>,
    pub(crate) refusal: Option<Refusal>,
}

impl RouteResolution<'_> {
    /// Whether a named model costs more than the request may, and a cheaper one is allowed.
    pub(crate) fn needs_something_cheaper(&self, request: &RouteRequest<'_>) -> bool {
        let is_dear = |one: &RankedCandidate| {
            !one.reasons.is_empty() && one.reasons.within(Reasons::of(Reason::Cost))
        };
        let is_protected = self
            .requirements
            .subsystem
            .as_ref()
            .is_some_and(|row| row.protected);
        self.refusal.is_some()
            && request.allow_downgrade
            && !is_protected
            && self.seen.iter().any(is_dear)
    }

    /// One candidate as the route shows it.
    pub(crate) fn choice(&self, at: usize, request: &RouteRequest<'_>) -> RoutedCandidate {
        let one = &self.seen[at];
        let rated = &self.rated_candidates[one.rated];
        let is_kept = one.security >= self.requirements.wish;
        let used: FeatureSet = request.facts.uses;
        let mut missing = degraded(&self.requirements.intent, one.features, is_kept);
        for feature in used.minus(one.features).iter() {
            if !missing.contains(&feature) && self.requirements.should.has(feature) {
                missing.push(feature);
            }
        }
        RoutedCandidate {
            candidate: rated.candidate.clone(),
            features: one.features,
            degraded: missing,
            below_quality: self.automatic
                && (rated.tier < self.requirements.tier || Some(rated.tier) < self.named_tier),
            security: one.security,
            tee: rated.evidence(one.security),
            sort: None,
            estimated_cost: cost::likely(rated.entry(), &request.facts),
            score: one.score.filter(|_| self.order.len() > 1),
            group: self.group_of(at),
            max_output: one.max_output,
        }
    }

    fn group_of(&self, at: usize) -> usize {
        let place = self.order.iter().position(|&other| other == at);
        place
            .and_then(|place| self.groups.get(place).copied())
            .unwrap_or(usize::MAX)
    }

    /// The route, or the refusal.
    pub(crate) fn into_route(mut self, request: &RouteRequest<'_>) -> Result<Route, Refusal> {
        if let Some(refusal) = self.refusal.take() {
            return Err(refusal);
        }
        let choices = self.order.iter().map(|&at| self.choice(at, request));
        let choices = choices.collect();
        Ok(Route {
            choices,
            intent: self.requirements.intent,
            subsystem: self.requirements.subsystem,
            security_class: self.requirements.class,
            wished_class: self.requirements.wish,
            automatic: self.automatic,
            instead_of: self.instead_of,
            warnings: self.requirements.warnings,
        })
    }
}

/// Backends of a named model: those that meet the floor before those that do not, each in the
/// owner's order. A floor does not yield for a price.
pub(crate) fn in_owners_order(requirements: &Requirements, seen: &[RankedCandidate]) -> Vec<usize> {
    let lacking = Reasons::of(Reason::Lacking);
    let passes = if requirements.gives_up {
        vec![Reasons::NONE, lacking]
    } else {
        vec![Reasons::NONE]
    };
    let all = |kept: bool| -> Vec<usize> {
        let of_kind = |at: &usize| (seen[*at].security >= requirements.wish) == kept;
        let within = |overlooked: &Reasons| -> Vec<usize> {
            let places = (0..seen.len()).filter(of_kind);
            places
                .filter(|&at| seen[at].reasons.within(*overlooked))
                .collect()
        };
        let found = passes.iter().map(within).find(|found| !found.is_empty());
        found.unwrap_or_default()
    };
    let mut order = all(true);
    let is_dear = |one: &RankedCandidate| {
        one.security >= requirements.wish && one.reasons.within(lacking.with(Reason::Cost))
    };
    if order.is_empty() && seen.iter().any(is_dear) {
        return order;
    }
    order.extend(all(false));
    order
}
