//! Why a candidate may not answer, or not earlier, in words for the person who configures the gateway.

use std::sync::Arc;

use bardo_types::feature::FeatureSet;
use bardo_types::model::{ModelEntry, Price};
use bardo_types::money::MicroUsd;

use crate::cost;
use crate::ranking::RankedCandidate;
use crate::rated::RatedCandidate;
use crate::reason::Reason;
use crate::request::RouteRequest;
use crate::requirements::{CostCap, NOT_SEALED, Requirements};
use crate::roster::Candidate;

/// The data for sentences about a request.
pub(crate) struct Speaker<'a> {
    pub(crate) requirements: &'a Requirements,
    pub(crate) request: &'a RouteRequest<'a>,
}

const ALL: [Reason; 22] = [
    Reason::NotAllowed,
    Reason::Security,
    Reason::Unsealable,
    Reason::Missing,
    Reason::Lacking,
    Reason::Family,
    Reason::Context,
    Reason::Output,
    Reason::Tier,
    Reason::Ceiling,
    Reason::Free,
    Reason::Unvetted,
    Reason::NotPrivate,
    Reason::NotNative,
    Reason::NotFunded,
    Reason::Cost,
    Reason::Revenue,
    Reason::Slow,
    Reason::Down,
    Reason::Weaker,
    Reason::OneAnswer,
    Reason::Effort,
];

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let (last, others) = match names {
        [] => return String::new(),
        [only] => return only.as_ref().to_owned(),
        [others @ .., last] => (last, others),
    };
    let others: Vec<&str> = others.iter().map(AsRef::as_ref).collect();
    format!("{} and {}", others.join(", "), last.as_ref())
}

/// Features as people say them: without underscores.
pub(crate) fn spoken(features: FeatureSet) -> String {
    let names: Vec<String> = features
        .iter()
        .map(|feature| feature.as_str().replace('_', " "))
        .collect();
    listed(&names)
}

/// An amount as people read it.
pub(crate) fn usd(amount: MicroUsd) -> String {
    let micro = amount.get();
    let (whole, rest) = (micro / 1_000_000, micro % 1_000_000);
    if rest % 10_000 == 0 {
        format!("${whole}.{:02}", rest / 10_000)
    } else {
        let digits = format!("{rest:06}");
        format!("${whole}.{}", digits.trim_end_matches('0'))
    }
}

impl Speaker<'_> {
    /// All that speaks against a candidate.
    pub(crate) fn reasons(&self, rated: &RatedCandidate, one: &RankedCandidate) -> Vec<String> {
        ALL.into_iter()
            .filter(|reason| one.reasons.has(*reason))
            .map(|reason| self.reason(reason, rated, one))
            .collect()
    }

    /// Whether the caller may use a candidate as soon as its price is known.
    fn lacks_only_a_price(&self, candidate: &Candidate) -> bool {
        if candidate.entry.price.is_some() {
            return false;
        }
        let priced = ModelEntry {
            price: Some(Price::default()),
            ..ModelEntry::clone(&candidate.entry)
        };
        (self.request.may_use)(&Candidate {
            backend: candidate.backend,
            entry: Arc::new(priced),
        })
    }

    fn reason(&self, reason: Reason, rated: &RatedCandidate, one: &RankedCandidate) -> String {
        let requirements = self.requirements;
        let capabilities = &rated.entry().capabilities;
        match reason {
            Reason::NotAllowed if self.lacks_only_a_price(&rated.candidate) => {
                "has no known price".into()
            }
            Reason::NotAllowed => "the scopes or the tier of this key exclude it".into(),
            Reason::Security => format!(
                "class `{}`, `{}` required",
                one.security.as_str(),
                requirements.class.as_str()
            ),
            Reason::Unsealable => {
                let uses = self.request.facts.uses;
                let open = uses.minus(uses.minus(NOT_SEALED));
                format!("an end-to-end encrypted request cannot carry {}", spoken(open))
            }
            Reason::Missing => format!("lacks {}", spoken(requirements.must.minus(one.features))),
            Reason::Lacking => format!(
                "lacks {}, which another backend has",
                spoken(requirements.should.minus(one.features))
            ),
            Reason::Family => "not in the requested family of models".into(),
            Reason::Context => format!(
                "context of {} tokens is too small for a prompt of about {} and the answer",
                capabilities.context_tokens, self.request.facts.prompt_tokens
            ),
            Reason::Output => format!(
                "answers with {} tokens at most, {} requested",
                capabilities.max_output_tokens,
                self.request.facts.max_output_tokens.unwrap_or_default()
            ),
            Reason::Tier => format!(
                "tier `{}` is too low for quality `{}`, which another model has",
                tier_name(rated),
                requirements.intent.quality.as_str()
            ),
            Reason::Ceiling => format!(
                "tier `{}` is above the ceiling of this request",
                tier_name(rated)
            ),
            Reason::Free => format!(
                "free models do not serve quality `{}`; set `inference.free_models: true` to allow them",
                requirements.intent.quality.as_str()
            ),
            Reason::Unvetted => {
                "not rated; list it in `providers.openrouter.models_auto` to allow it".into()
            }
            Reason::NotPrivate => {
                "reserved for private requests; name it in `inference.routes` to use it for others".into()
            }
            Reason::NotNative => {
                "direct key: used for features of its maker's API, and for a model that was chosen at a \
                 seller (`routing.prefer_own_keys`); name it in `inference.routes` to use it for others"
                    .into()
            }
            Reason::NotFunded => "reserved for subsystems that fund themselves; see \
                 `providers.bankr.self_funding` and `providers.bankr.subsystems`"
                .into(),
            Reason::Cost => self.too_dear(requirements.cap, rated),
            Reason::Revenue => self.too_dear(requirements.bankr, rated),
            Reason::Slow => format!(
                "needs {} ms, {} allowed (`inference.strict_latency`)",
                crate::score::latency_ms(rated, one.observed),
                requirements.intent.max_latency_ms.unwrap_or_default()
            ),
            Reason::Down => "unavailable at the moment".into(),
            Reason::Weaker => "its class is below the class of the first choice".into(),
            Reason::OneAnswer => "gives one answer per request; `n` requests several".into(),
            Reason::Effort => "does not think; the request requires much thinking".into(),
        }
    }

    fn too_dear(&self, cap: Option<CostCap>, rated: &RatedCandidate) -> String {
        let Some(cap) = cap else { return String::new() };
        let most = usd(cap.most);
        let facts = self.request.facts_at(&rated.candidate);
        match cost::capped(rated.entry(), &facts, cap.most) {
            Err(Some(worst)) => format!(
                "could cost {}, above the limit of {most} (`{}`)",
                usd(worst),
                cap.key
            ),
            _ if rated.entry().price.is_some() => {
                format!("could cost more than the limit of {most} (`{}`)", cap.key)
            }
            _ => format!(
                "has no known price, and the limit is {most} (`{}`)",
                cap.key
            ),
        }
    }
}

fn tier_name(rated: &RatedCandidate) -> &'static str {
    match rated.entry().tier {
        Some(bardo_types::model::Tier::Small) => "small",
        Some(bardo_types::model::Tier::Strong) => "strong",
        Some(bardo_types::model::Tier::Frontier) => "frontier",
        None => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_lists_read_as_people_write_them() {
        assert_eq!(usd(MicroUsd::new(1_000_000)), "$1.00");
        assert_eq!(usd(MicroUsd::new(250_000)), "$0.25");
        assert_eq!(usd(MicroUsd::new(12_345)), "$0.012345");
        assert_eq!(usd(MicroUsd::ZERO), "$0.00");
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
        assert_eq!(listed::<&str>(&[]), "");
    }
}
