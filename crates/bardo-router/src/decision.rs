//! The results of the router: a route, a refusal, an explanation.

use bardo_types::feature::{Feature, FeatureSet};
use bardo_types::intent::Intent;
use bardo_types::model::Tier;
use bardo_types::money::MicroUsd;
use bardo_types::privacy::{SecurityClass, TeeEvidence};
use bardo_types::subsystem::Subsystem;
use std::sync::Arc;

use crate::roster::Candidate;

/// The candidates for a request, in the order in which they are called.
#[derive(Debug, Clone)]
pub struct Route {
    /// Never empty. Each satisfies what the request must have; later ones are asked only where
    /// earlier ones do not answer.
    pub choices: Vec<RoutedCandidate>,
    /// The intent of the request, after mortality and floors.
    pub intent: Intent,
    /// The row of the subsystem, where the caller named one.
    pub subsystem: Option<Arc<Subsystem>>,
    /// The least protection that the request needs.
    pub security_class: SecurityClass,
    /// The protection that it should have; above `security_class` where a floor yields.
    pub wished_class: SecurityClass,
    /// The gateway chose the model; the caller named none.
    pub automatic: bool,
    /// The model that the caller named, which could cost more than it pays.
    pub instead_of: Option<String>,
    /// Warnings about the hints, as sentences for the caller.
    pub warnings: Vec<String>,
}

impl Route {
    /// Keeps so many choices at most. Where a floor yields and several backends meet it, the last
    /// try is for one that does not.
    pub fn keep(&mut self, most: usize) {
        let most = most.max(1);
        if self.choices.len() <= most {
            return;
        }
        let is_kept = |choice: &RoutedCandidate| choice.security >= self.wished_class;
        if most > 1
            && self.choices[..most].iter().all(is_kept)
            && let Some(other) = self.choices.iter().position(|choice| !is_kept(choice))
        {
            self.choices.swap(most - 1, other);
        }
        self.choices.truncate(most);
    }
}

/// One backend with one model.
#[derive(Debug, Clone)]
pub struct RoutedCandidate {
    /// The backend and the model.
    pub candidate: Candidate,
    /// Features of the candidate.
    pub features: FeatureSet,
    /// Required or preferred features that are missing, in order of weight.
    pub degraded: Vec<Feature>,
    /// The model is of a lower tier than the quality of the request asks for.
    pub below_quality: bool,
    /// Protection class of the candidate for this request.
    pub security: SecurityClass,
    /// Evidence for attested hardware; `None` if none is claimed.
    pub tee: Option<TeeEvidence>,
    /// Order of OpenRouter's providers, for `provider.sort`.
    pub sort: Option<&'static str>,
    /// Estimated cost; `None` if it is unknown.
    pub estimated_cost: Option<MicroUsd>,
    /// Score; `None` if there is one candidate only.
    pub score: Option<Score>,
    /// Number of the group of candidates among which the score alone decides. Between groups it is
    /// the owner's order, a preference of the request or the price.
    pub group: usize,
    /// The longest answer that keeps the request within what it may cost there, in tokens; `None`
    /// where its own limit does, or nothing bounds it.
    pub max_output: Option<u64>,
}

/// The terms of a score, each from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Score {
    /// Term of the price.
    pub cost: f64,
    /// Term of the model's quality.
    pub quality: f64,
    /// Term of the latency.
    pub latency: f64,
    /// Term of the protection.
    pub privacy: f64,
    /// Term of the preferences met.
    pub features: f64,
    /// The weighted sum.
    pub total: f64,
}

/// Why nobody may answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The kind of the refusal.
    pub kind: RefusalKind,
    /// The least protection that the request needs.
    pub class: SecurityClass,
    /// Missing features and models, by their names in hints: features, `privacy`, `tee`, a model …
    pub missing: Vec<String>,
    /// Backends that were looked at, and what each lacks, in words.
    pub lacks: Vec<(String, String)>,
    /// Configuration or request members that would satisfy it, with their keys.
    pub advice: String,
}

/// The kind of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// No configured backend has the model.
    UnknownModel,
    /// The request pins a backend that is not configured.
    UnknownBackend,
    /// The protection that the request needs is not there, or is down.
    Privacy,
    /// A required feature is missing.
    Unsatisfiable,
    /// The caller's key or tier leaves nobody.
    NotAllowed,
}

/// All that was looked at, for `route explain`.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The route or the refusal.
    pub outcome: Result<Route, Refusal>,
    /// The intent of the request, after mortality and floors.
    pub intent: Intent,
    /// Everybody who was looked at, chosen ones first in order, then the others in a fixed order.
    pub considered: Vec<Considered>,
    /// Backends and models that no other beats in cost, quality and latency at once, by index in
    /// `considered` (the Pareto front).
    pub front: Vec<usize>,
    /// Advice: a configuration line each, with its reason.
    pub advice: Vec<String>,
}

/// One candidate and what became of it.
#[derive(Debug, Clone)]
pub struct Considered {
    /// The backend and the model.
    pub candidate: Candidate,
    /// Its backend's name.
    pub backend: String,
    /// Whether the candidate is allowed.
    pub eligible: bool,
    /// Why not, or why not earlier, in words.
    pub reasons: Vec<String>,
    /// Features of the candidate.
    pub features: FeatureSet,
    /// Protection class of the candidate.
    pub security: SecurityClass,
    /// Tier of the model.
    pub tier: Option<Tier>,
    /// Score of the candidate, where it was ranked.
    pub score: Option<Score>,
    /// Estimated cost of the request.
    pub estimated_cost: Option<MicroUsd>,
}
