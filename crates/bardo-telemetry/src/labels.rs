//! Label sets, and the cap on names that come from outside.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;

/// Labels of what a request was.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct RequestLabels {
    pub(crate) dialect: &'static str,
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) outcome: &'static str,
}

/// Labels of how long something took.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct ServedLabels {
    pub(crate) provider: String,
    pub(crate) stream: &'static str,
}

/// Labels of tokens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct TokensLabels {
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) class: &'static str,
}

/// Labels of money.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct MoneyLabels {
    pub(crate) provider: String,
    pub(crate) kind: &'static str,
}

/// Labels of how a provider is paid.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct PaymentLabels {
    pub(crate) provider: String,
    pub(crate) payment: &'static str,
}

/// Labels of one try.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct FailedAttemptLabels {
    pub(crate) provider: String,
    pub(crate) class: &'static str,
}

/// Labels of what a provider lists.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct ListingLabels {
    pub(crate) provider: String,
}

/// Labels of an event of the cache.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct CacheEventLabels {
    pub(crate) event: &'static str,
}

/// Labels of why the cache did nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct CacheReasonLabels {
    pub(crate) reason: &'static str,
}

/// Labels of calls about prompts in providers' caches, by result.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct CacheResultLabels {
    pub(crate) result: &'static str,
}

/// Labels of a domain of the semantic cache.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct CacheDomainLabels {
    pub(crate) domain: &'static str,
}

/// Labels of the audits of a domain, by result.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct CacheAuditLabels {
    pub(crate) domain: &'static str,
    pub(crate) result: &'static str,
}

/// Labels of a refusal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct RefusedLabels {
    pub(crate) code: &'static str,
}

/// Labels of a feature lost.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct DegradedLabels {
    pub(crate) feature: String,
}

/// Labels of how well a backend serves.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct BackendStateLabels {
    pub(crate) provider: String,
    pub(crate) state: &'static str,
}

/// Labels of how long a backend takes with a model.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct LatencyLabels {
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) stream: &'static str,
    pub(crate) quantile: &'static str,
}

/// Labels of a build.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct BuildLabels {
    pub(crate) version: &'static str,
}

/// Lets the first so many names through and calls every other one `other`: a server that takes any
/// model name must not make a series of each.
#[derive(Debug, Default)]
pub(crate) struct BoundedLabels(Mutex<HashSet<Arc<str>>>);

impl BoundedLabels {
    pub(crate) fn name(&self, name: &str, limit: usize) -> String {
        if name.is_empty() {
            return "none".to_owned();
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(name) {
            return name.to_owned();
        }
        if known.len() >= limit || name.len() > 128 {
            return "other".to_owned();
        }
        known.insert(name.into());
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_cap_are_one() {
        let capped = BoundedLabels::default();
        assert_eq!(capped.name("a", 2), "a");
        assert_eq!(capped.name("b", 2), "b");
        assert_eq!(capped.name("c", 2), "other");
        assert_eq!(capped.name("a", 2), "a");
        assert_eq!(capped.name("", 2), "none");
    }
}
