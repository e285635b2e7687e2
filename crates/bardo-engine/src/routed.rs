//! The router's decision about a request, beside its candidates.

use std::sync::Arc;

use bardo_profile::Wanted;
use bardo_router::{Candidate, RoutedCandidate};
use bardo_types::Degradation;
use bardo_types::feature::Feature;
use bardo_types::intent::Intent;
use bardo_types::money::MicroUsd;
use bardo_types::privacy::SecurityClass;
use bardo_types::subsystem::Subsystem;

/// The router's decision about a request, beside its candidates.
#[derive(Debug, Clone)]
pub(crate) struct Routed {
    pub(crate) intent: Intent,
    pub(crate) subsystem: Option<Arc<Subsystem>>,
    pub(crate) security_class: SecurityClass,
    pub(crate) wished_class: SecurityClass,
    pub(crate) automatic: bool,
    /// A cheaper model than the named one was chosen.
    pub(crate) instead_of: Option<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) choices: Vec<RoutedCandidate>,
    /// The rest of the agent's seed, where it is the seed that pays.
    pub(crate) seed: Option<MicroUsd>,
    /// Settings of the model, if any source names some.
    pub(crate) wanted: Option<Wanted>,
    /// The backend that has the session in its prompt cache, and what came of it, in words.
    pub(crate) affinity: Option<String>,
}

impl Routed {
    /// Candidates to call, in order.
    pub(crate) fn candidates(&self) -> Vec<Candidate> {
        let candidates = self.choices.iter().map(|choice| &choice.candidate);
        candidates.cloned().collect()
    }

    /// The decision about one candidate.
    pub(crate) fn choice(&self, candidate: &Candidate) -> Option<&RoutedCandidate> {
        self.choices.iter().find(|choice| {
            choice.candidate.backend == candidate.backend
                && Arc::ptr_eq(&choice.candidate.entry, &candidate.entry)
        })
    }

    /// Whether the profile lets the provider search.
    pub(crate) fn searches(&self) -> bool {
        let wanted = self.wanted.as_ref();
        wanted.is_some_and(|wanted| wanted.profile.web_search == Some(true))
    }

    /// Said where the model is not the one that the caller named.
    pub(crate) fn instead(&self) -> Option<Degradation> {
        let named = self.instead_of.as_deref()?;
        let detail =
            format!("`{named}` could cost more than `max_cost_usd`; a cheaper model is used");
        Some(Degradation {
            feature: "model".into(),
            detail: detail.into(),
        })
    }

    /// Required or preferred features that a candidate lacks.
    pub(crate) fn lost(&self, candidate: &Candidate) -> Vec<Degradation> {
        let Some(choice) = self.choice(candidate) else {
            return Vec::new();
        };
        let mut lost: Vec<Degradation> = choice.degraded.iter().map(missing).collect();
        if choice.below_quality {
            lost.push(Degradation::new(
                "quality",
                "no model of the requested quality is allowed; a model of a lower tier is used",
            ));
        }
        lost
    }

    /// The protection that a candidate lacks, for answers that are no conversation.
    pub(crate) fn lost_protection(&self, candidate: &Candidate) -> Vec<Degradation> {
        let choice = self.choice(candidate);
        let lost = choice.into_iter().flat_map(|choice| &choice.degraded);
        let protects = |lost: &&Feature| PROTECTION.contains(lost);
        lost.filter(protects).map(missing).collect()
    }

    /// Everything odd about the hints and the profile, in words.
    pub(crate) fn all_warnings(&self) -> impl Iterator<Item = &String> {
        let of_profile = self.wanted.iter().flat_map(|wanted| &wanted.warnings);
        self.warnings.iter().chain(of_profile)
    }
}

const PROTECTION: [Feature; 3] = [Feature::Privacy, Feature::Tee, Feature::E2ee];

fn missing(feature: &Feature) -> Degradation {
    Degradation::new(
        feature.as_str(),
        "no allowed backend offers it; `POST /v1/route/explain` shows how to get it",
    )
}
