//! The owner's own keys and machines answer in place of sellers, where they have the chosen model.

use bardo_types::backend::BackendName;
use bardo_types::feature::FeatureSet;

use crate::name::normalize;
use crate::ranking::{RankedCandidate, Ranking};
use crate::rated::RatedCandidate;
use crate::reason::{Reason, Reasons};
use crate::request::HealthState;
use crate::services::ServiceRole;

/// The roles that keep own backends out of the automatic choice.
const ROLES: Reasons = Reasons::of(Reason::NotNative).with(Reason::NotPrivate);

fn is_own(rated: &RatedCandidate) -> bool {
    rated.service.own || rated.service.role == ServiceRole::Direct
}

impl Ranking<'_> {
    /// Puts each own backend that has a chosen model in front of the seller that was chosen for it.
    /// A seller keeps its place if the owner's order of backends has it first, or if the order for
    /// the subsystem names it.
    pub(crate) fn put_own_keys_first(
        &self,
        seen: &mut [RankedCandidate],
        order: &[usize],
    ) -> Vec<usize> {
        if !self.policy.prefer_own_keys {
            return order.to_vec();
        }
        let mut first: Vec<usize> = Vec::with_capacity(order.len());
        for &chosen in order {
            if first.contains(&chosen) {
                continue;
            }
            let rated = &self.rated_candidates[seen[chosen].rated];
            if !is_own(rated) && !self.is_listed(rated) {
                for at in 0..seen.len() {
                    if !first.contains(&at) && self.replaces(&seen[at], &seen[chosen]) {
                        seen[at].reasons = Reasons::NONE;
                        seen[at].leads = true;
                        first.push(at);
                    }
                }
            }
            first.push(chosen);
        }
        first
    }

    /// A price that nobody knows does not count: such a backend serves its owner alone.
    fn is_no_dearer(&self, ours: &RatedCandidate, theirs: &RatedCandidate) -> bool {
        let facts = &self.request.facts;
        ours.entry().price.is_none() || ours.blended_for(facts) <= theirs.blended_for(facts)
    }

    fn is_listed(&self, rated: &RatedCandidate) -> bool {
        let backend = BackendName::parse(&self.backends[rated.candidate.backend].name);
        self.route.iter().any(|listed| backend.is_meant_by(listed))
    }

    /// Whether an own backend answers in place of a chosen one: it has the same model, and nothing
    /// that the request asks for is lost.
    fn replaces(&self, own: &RankedCandidate, chosen: &RankedCandidate) -> bool {
        let (ours, theirs) = (
            &self.rated_candidates[own.rated],
            &self.rated_candidates[chosen.rated],
        );
        let requirements = self.requirements;
        let asked = (requirements.intent.prefer.iter().copied())
            .collect::<FeatureSet>()
            .union(requirements.must)
            .union(requirements.should)
            .union(self.request.facts.uses);
        let lost = chosen.features.minus(own.features);
        let observed = self.request.health.observe(&ours.candidate);
        let limit = requirements.intent.max_latency_ms;
        let is_late = (observed.p90_ms.or(observed.p50_ms))
            .zip(limit)
            .is_some_and(|(takes, limit)| takes > limit);
        is_own(ours)
            && ours.candidate.backend < theirs.candidate.backend
            && self.is_no_dearer(ours, theirs)
            && normalize(&ours.entry().id) == normalize(&theirs.entry().id)
            && (self.request.own_keys)(&ours.candidate)
            && own.reasons.within(ROLES)
            && own
                .max_output
                .is_none_or(|ours| chosen.max_output.is_some_and(|bound| ours >= bound))
            && (own.security >= chosen.security || !requirements.is_private())
            && asked.minus(lost) == asked
            && !is_late
            && matches!(observed.state, HealthState::Healthy | HealthState::Unknown)
    }
}
