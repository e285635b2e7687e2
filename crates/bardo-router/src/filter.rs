//! The hard filters: what a candidate must offer to answer a request at all.

use bardo_types::backend::BackendName;
use bardo_types::feature::{Feature, FeatureSet};
use bardo_types::model::{Capabilities, Effort, Service};
use bardo_types::privacy::SecurityClass;

use crate::cost;
use crate::name::normalize;
use crate::need::{Cap, NOT_SEALED, Need, Target};
use crate::offer::Offer;
use crate::policy::Policy;
use crate::reason::{Reason, Reasons};
use crate::request::RouteRequest;
use crate::roster::BackendSpec;
use crate::services::Role;

/// What candidates are measured by, for one request.
pub(crate) struct Sieve<'a> {
    pub(crate) request: &'a RouteRequest<'a>,
    pub(crate) need: &'a Need,
    pub(crate) policy: &'a Policy,
    pub(crate) backends: &'a [BackendSpec],
    pub(crate) target: Target<'a>,
    /// The owner's order for the subsystem, if there is one.
    pub(crate) route: &'a [String],
    /// Roles bind, because somebody without one may be chosen.
    pub(crate) roles: bool,
}

/// A candidate as the request sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sieved {
    pub(crate) reasons: Reasons,
    pub(crate) features: FeatureSet,
    pub(crate) security: SecurityClass,
    /// A bound to the answer that keeps it affordable.
    pub(crate) max_output: Option<u64>,
}

/// Whether a candidate gives one answer per request: by its service, or because its own dialect
/// knows nothing else.
fn is_single(offer: &Offer) -> bool {
    offer.service.one_answer
}

fn thinks(capabilities: &Capabilities) -> bool {
    capabilities.thinking.any() || !capabilities.efforts.is_empty()
}

impl Sieve<'_> {
    /// How well a candidate keeps this request.
    fn security(&self, offer: &Offer) -> SecurityClass {
        if offer.service.own {
            return if self.policy.trusted_local && !self.need.attested {
                SecurityClass::E2ee
            } else {
                offer.security
            };
        }
        // A model that can be sealed runs unsealed in its hardware for everybody else.
        if self.need.class < SecurityClass::E2ee {
            offer.security.min(SecurityClass::Tee)
        } else {
            offer.security
        }
    }

    fn features(offer: &Offer, security: SecurityClass) -> FeatureSet {
        let proves = !offer.service.own;
        offer
            .features
            .with_if(security >= SecurityClass::Private, Feature::Privacy)
            .with_if(proves && security >= SecurityClass::Tee, Feature::Tee)
            .with_if(security >= SecurityClass::E2ee, Feature::E2ee)
    }

    /// What speaks against a candidate for a model that the caller named.
    pub(crate) fn named(&self, offer: &Offer) -> Sieved {
        let security = self.security(offer);
        let features = Self::features(offer, security);
        let need = self.need;
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
        let must = need.must.minus(self.request.facts.uses.minus(asked));
        let should = need.should.minus(self.request.facts.uses.minus(asked));
        let reasons = Reasons::NONE
            .with_if(
                !(self.request.may_use)(&offer.candidate),
                Reason::NotAllowed,
            )
            .with_if(security < need.class, Reason::Security)
            .with_if(self.is_unsealable(offer), Reason::Unsealable)
            .with_if(!features.has_all(must), Reason::Missing)
            .with_if(!features.has_all(should), Reason::Lacking)
            .union(self.affordable(offer, None, &mut max_output));
        Sieved {
            reasons,
            features,
            security,
            max_output,
        }
    }

    /// What speaks against a candidate where the gateway chooses.
    pub(crate) fn automatic(&self, offer: &Offer) -> Sieved {
        let need = self.need;
        let facts = &self.request.facts;
        let security = self.security(offer);
        let features = Self::features(offer, security);
        let capabilities = &offer.entry().capabilities;
        let (context, longest) = (capabilities.context_tokens, capabilities.max_output_tokens);
        let asked = facts.max_output_tokens.unwrap_or(0);
        let mut max_output = None;
        let reasons = Reasons::NONE
            .with_if(
                !(self.request.may_use)(&offer.candidate),
                Reason::NotAllowed,
            )
            .with_if(security < need.class, Reason::Security)
            .with_if(self.is_unsealable(offer), Reason::Unsealable)
            .with_if(!features.has_all(need.must), Reason::Missing)
            .with_if(!features.has_all(need.should), Reason::Lacking)
            .with_if(!self.is_of_family(offer), Reason::Family)
            .with_if(
                context > 0 && facts.prompt_tokens.saturating_add(asked) > context,
                Reason::Context,
            )
            .with_if(longest > 0 && asked > longest, Reason::Output)
            .with_if(
                need.ceiling.is_some_and(|ceiling| offer.tier > ceiling),
                Reason::Ceiling,
            )
            .with_if(
                offer.is_free && !self.policy.free_models && !need.takes_free(),
                Reason::Free,
            )
            .with_if(!self.is_vetted(offer), Reason::Unvetted)
            .with_if(facts.several && is_single(offer), Reason::OneAnswer)
            .with_if(
                self.thinks_hard() && !thinks(&offer.entry().capabilities),
                Reason::Effort,
            )
            .union(self.role(offer, features))
            .union(self.affordable(offer, need.bankr, &mut max_output));
        Sieved {
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

    fn is_unsealable(&self, offer: &Offer) -> bool {
        let uses = self.request.facts.uses;
        self.need.class == SecurityClass::E2ee
            && !offer.service.own
            && uses.minus(NOT_SEALED) != uses
    }

    fn is_of_family(&self, offer: &Offer) -> bool {
        let Target::Family(family) = self.target else {
            return true;
        };
        let entry = offer.entry();
        let starts = |name: &str| {
            name.strip_prefix(family)
                .is_some_and(|rest| rest.starts_with(['-', '/']))
        };
        entry.vendor.eq_ignore_ascii_case(family)
            || starts(&normalize(&entry.id))
            || starts(&entry.upstream_id)
            || self.name(offer).is_meant_by(family)
    }

    /// Name of a candidate's backend.
    fn name(&self, offer: &Offer) -> BackendName<'_> {
        BackendName::parse(&self.backends[offer.candidate.backend].name)
    }

    fn is_vetted(&self, offer: &Offer) -> bool {
        let entry = offer.entry();
        let is_listed = |pattern: &String| match pattern.strip_suffix('*') {
            Some(start) => entry.id.starts_with(start) || entry.upstream_id.starts_with(start),
            None => *pattern == entry.id || *pattern == entry.upstream_id,
        };
        !offer.service.vetted
            || entry.tier.is_some()
            || self.policy.openrouter_models.iter().any(is_listed)
    }

    /// Whether the owner's order for the subsystem names the backend.
    fn is_on_route(&self, offer: &Offer) -> bool {
        let backend = self.name(offer);
        self.route.iter().any(|listed| backend.is_meant_by(listed))
    }

    /// Whether the backend's role is asked for.
    fn role(&self, offer: &Offer, features: FeatureSet) -> Reasons {
        if !self.roles || offer.is_general() || self.is_on_route(offer) {
            return Reasons::NONE;
        }
        let need = self.need;
        match offer.service.role {
            Role::General => Reasons::NONE,
            Role::Privacy | Role::Spare => {
                let staked = offer.service.staked && need.intent.diem_available;
                let keeps = need.is_private() && features.has(Feature::Privacy);
                Reasons::NONE.with_if(!keeps && !staked, Reason::NotPrivate)
            }
            Role::Direct => {
                let native = need.native();
                let has_some = native.minus(features) != native;
                Reasons::NONE.with_if(!has_some, Reason::NotNative)
            }
            Role::SelfFunding => Reasons::NONE.with_if(!self.is_funded(), Reason::NotFunded),
        }
    }

    /// Whether the part that asks is one that earns its keep.
    fn is_funded(&self) -> bool {
        let group = self.need.subsystem.as_ref().map(|row| row.group.as_str());
        let serves = |name: &String| {
            Some(name.as_str()) == self.need.part.as_deref() || Some(name.as_str()) == group
        };
        self.policy.bankr.self_funding && self.policy.bankr.subsystems.iter().any(serves)
    }

    /// Whether the bounds to its cost leave room for an answer.
    fn affordable(
        &self,
        offer: &Offer,
        bankr: Option<Cap>,
        max_output: &mut Option<u64>,
    ) -> Reasons {
        let mut reasons = Reasons::NONE;
        let service = self.backends[offer.candidate.backend].service;
        let revenue = bankr.filter(|_| service == Service::Bankr);
        for (cap, reason) in [(self.need.cap, Reason::Cost), (revenue, Reason::Revenue)] {
            let Some(cap) = cap else { continue };
            match cost::capped(offer.entry(), &self.request.facts, cap.most) {
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
