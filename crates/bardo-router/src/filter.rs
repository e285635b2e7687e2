//! The hard filters: what a candidate must offer to answer a request at all.

use bardo_types::backend::BackendName;
use bardo_types::feature::{Feature, FeatureSet};
use bardo_types::model::{Capabilities, Effort, Service};
use bardo_types::privacy::SecurityClass;

use crate::cost;
use crate::name::normalize;
use crate::policy::Policy;
use crate::rated::RatedCandidate;
use crate::reason::{Reason, Reasons};
use crate::request::RouteRequest;
use crate::requirements::{CostCap, ModelTarget, NOT_SEALED, Requirements};
use crate::roster::BackendSpec;
use crate::services::ServiceRole;

/// The hard filter of one request.
pub(crate) struct HardFilter<'a> {
    pub(crate) request: &'a RouteRequest<'a>,
    pub(crate) requirements: &'a Requirements,
    pub(crate) policy: &'a Policy,
    pub(crate) backends: &'a [BackendSpec],
    pub(crate) target: ModelTarget<'a>,
    /// The owner's order for the subsystem, if there is one.
    pub(crate) route: &'a [String],
    /// Roles bind, because somebody without one may be chosen.
    pub(crate) roles: bool,
}

/// A candidate as the request sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FilterResult {
    pub(crate) reasons: Reasons,
    pub(crate) features: FeatureSet,
    pub(crate) security: SecurityClass,
    /// A bound to the answer that keeps it affordable.
    pub(crate) max_output: Option<u64>,
}

/// Whether a candidate gives one answer per request: by its service, or because its own dialect
/// knows nothing else.
fn is_single(rated: &RatedCandidate) -> bool {
    rated.service.one_answer
}

fn thinks(capabilities: &Capabilities) -> bool {
    capabilities.thinking.any() || !capabilities.efforts.is_empty()
}

impl HardFilter<'_> {
    /// Protection class of a candidate for this request.
    fn security(&self, rated: &RatedCandidate) -> SecurityClass {
        if rated.service.own {
            return if self.policy.trusted_local && !self.requirements.attested {
                SecurityClass::E2ee
            } else {
                rated.security
            };
        }
        // A model that can be sealed runs unsealed in its hardware for everybody else.
        if self.requirements.class < SecurityClass::E2ee {
            rated.security.min(SecurityClass::Tee)
        } else {
            rated.security
        }
    }

    fn features(rated: &RatedCandidate, security: SecurityClass) -> FeatureSet {
        let proves = !rated.service.own;
        rated
            .features
            .with_if(security >= SecurityClass::Private, Feature::Privacy)
            .with_if(proves && security >= SecurityClass::Tee, Feature::Tee)
            .with_if(security >= SecurityClass::E2ee, Feature::E2ee)
    }

    /// Reasons against a candidate of a model that the caller named.
    pub(crate) fn named(&self, rated: &RatedCandidate) -> FilterResult {
        let security = self.security(rated);
        let features = Self::features(rated, security);
        let requirements = self.requirements;
        let mut max_output = None;
        let asked: FeatureSet = self
            .request
            .hints
            .intent
            .require
            .iter()
            .flatten()
            .copied()
            .collect();
        // What it uses is the business of the model that it names.
        let must = requirements
            .must
            .minus(self.request.facts.uses.minus(asked));
        let should = requirements
            .should
            .minus(self.request.facts.uses.minus(asked));
        let reasons = Reasons::NONE
            .with_if(
                !(self.request.may_use)(&rated.candidate),
                Reason::NotAllowed,
            )
            .with_if(security < requirements.class, Reason::Security)
            .with_if(self.is_unsealable(rated), Reason::Unsealable)
            .with_if(!features.has_all(must), Reason::Missing)
            .with_if(!features.has_all(should), Reason::Lacking)
            .union(self.affordable(rated, None, &mut max_output));
        FilterResult {
            reasons,
            features,
            security,
            max_output,
        }
    }

    /// Reasons against a candidate when the gateway chooses.
    pub(crate) fn automatic(&self, rated: &RatedCandidate) -> FilterResult {
        let requirements = self.requirements;
        let facts = &self.request.facts;
        let security = self.security(rated);
        let features = Self::features(rated, security);
        let capabilities = &rated.entry().capabilities;
        let (context, longest) = (capabilities.context_tokens, capabilities.max_output_tokens);
        let asked = facts.max_output_tokens.unwrap_or(0);
        let mut max_output = None;
        let reasons = Reasons::NONE
            .with_if(
                !(self.request.may_use)(&rated.candidate),
                Reason::NotAllowed,
            )
            .with_if(security < requirements.class, Reason::Security)
            .with_if(self.is_unsealable(rated), Reason::Unsealable)
            .with_if(!features.has_all(requirements.must), Reason::Missing)
            .with_if(!features.has_all(requirements.should), Reason::Lacking)
            .with_if(!self.is_of_family(rated), Reason::Family)
            .with_if(
                context > 0 && facts.prompt_tokens.saturating_add(asked) > context,
                Reason::Context,
            )
            .with_if(longest > 0 && asked > longest, Reason::Output)
            .with_if(
                requirements
                    .ceiling
                    .is_some_and(|ceiling| rated.tier > ceiling),
                Reason::Ceiling,
            )
            .with_if(
                rated.is_free && !self.policy.free_models && !requirements.takes_free(),
                Reason::Free,
            )
            .with_if(!self.is_vetted(rated), Reason::Unvetted)
            .with_if(facts.several && is_single(rated), Reason::OneAnswer)
            .with_if(
                self.thinks_hard() && !thinks(&rated.entry().capabilities),
                Reason::Effort,
            )
            .union(self.role(rated, features))
            .union(self.affordable(rated, requirements.bankr, &mut max_output));
        FilterResult {
            reasons,
            features,
            security,
            max_output,
        }
    }

    /// Whether the caller wants hard thinking, by its request or its hints.
    fn thinks_hard(&self) -> bool {
        let profile = self.request.hints.profile.as_deref();
        let hinted = profile.and_then(|profile| profile.reasoning_effort);
        self.request.facts.effort.is_some() || hinted.is_some_and(|effort| effort >= Effort::High)
    }

    fn is_unsealable(&self, rated: &RatedCandidate) -> bool {
        let uses = self.request.facts.uses;
        self.requirements.class == SecurityClass::E2ee
            && !rated.service.own
            && uses.minus(NOT_SEALED) != uses
    }

    fn is_of_family(&self, rated: &RatedCandidate) -> bool {
        let ModelTarget::Family(family) = self.target else {
            return true;
        };
        let entry = rated.entry();
        let starts = |name: &str| {
            name.strip_prefix(family)
                .is_some_and(|rest| rest.starts_with(['-', '/']))
        };
        entry.vendor.eq_ignore_ascii_case(family)
            || starts(&normalize(&entry.id))
            || starts(&entry.upstream_id)
            || self.name(rated).is_meant_by(family)
    }

    /// Name of a candidate's backend.
    fn name(&self, rated: &RatedCandidate) -> BackendName<'_> {
        BackendName::parse(&self.backends[rated.candidate.backend].name)
    }

    fn is_vetted(&self, rated: &RatedCandidate) -> bool {
        let entry = rated.entry();
        let is_listed = |pattern: &String| match pattern.strip_suffix('*') {
            Some(start) => entry.id.starts_with(start) || entry.upstream_id.starts_with(start),
            None => *pattern == entry.id || *pattern == entry.upstream_id,
        };
        !rated.service.vetted
            || entry.tier.is_some()
            || self.policy.openrouter_models.iter().any(is_listed)
    }

    /// Whether the owner's order for the subsystem names the backend.
    fn is_on_route(&self, rated: &RatedCandidate) -> bool {
        let backend = self.name(rated);
        self.route.iter().any(|listed| backend.is_meant_by(listed))
    }

    /// Whether the backend's role is asked for.
    fn role(&self, rated: &RatedCandidate, features: FeatureSet) -> Reasons {
        if !self.roles || rated.is_general() || self.is_on_route(rated) {
            return Reasons::NONE;
        }
        let requirements = self.requirements;
        match rated.service.role {
            ServiceRole::General => Reasons::NONE,
            ServiceRole::Privacy | ServiceRole::Spare => {
                let staked = rated.service.staked && requirements.intent.diem_available;
                let keeps = requirements.is_private() && features.has(Feature::Privacy);
                Reasons::NONE.with_if(!keeps && !staked, Reason::NotPrivate)
            }
            ServiceRole::Direct => {
                let native = requirements.native();
                let has_some = native.minus(features) != native;
                Reasons::NONE.with_if(!has_some, Reason::NotNative)
            }
            ServiceRole::SelfFunding => Reasons::NONE.with_if(!self.is_funded(), Reason::NotFunded),
        }
    }

    /// Whether the part that asks is one that earns its keep.
    fn is_funded(&self) -> bool {
        let group = self
            .requirements
            .subsystem
            .as_ref()
            .map(|row| row.group.as_str());
        let serves = |name: &String| {
            Some(name.as_str()) == self.requirements.part.as_deref() || Some(name.as_str()) == group
        };
        self.policy.bankr.self_funding && self.policy.bankr.subsystems.iter().any(serves)
    }

    /// Whether the bounds to its cost leave room for an answer.
    fn affordable(
        &self,
        rated: &RatedCandidate,
        bankr: Option<CostCap>,
        max_output: &mut Option<u64>,
    ) -> Reasons {
        let mut reasons = Reasons::NONE;
        let service = self.backends[rated.candidate.backend].service;
        let revenue = bankr.filter(|_| service == Service::Bankr);
        for (cap, reason) in [
            (self.requirements.cap, Reason::Cost),
            (revenue, Reason::Revenue),
        ] {
            let Some(cap) = cap else { continue };
            let facts = self.request.facts_at(&rated.candidate);
            match cost::capped(rated.entry(), &facts, cap.most) {
                Ok(None) => {}
                Ok(Some(tokens)) => {
                    *max_output = Some(max_output.map_or(tokens, |other| other.min(tokens)));
                }
                Err(_) => reasons = reasons.with(reason),
            }
        }
        reasons
    }
}
