//! The limits of a caller: its scopes first, then its account, its tier, and the configuration.

use std::collections::BTreeMap;

use bardo_types::ids::AccountId;

use super::Allowance;
use crate::rights::PayerTerms;
use crate::tier::{KeyTier, TierRow};

/// Limits from the configuration, for what neither a key nor its tier sets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DefaultLimits {
    /// Requests per minute; `None`: no limit.
    pub requests_per_minute: Option<u32>,
    /// Tokens per minute; `None`: no limit.
    pub tokens_per_minute: Option<u64>,
    /// Tokens per hour and account; `None`: no allowance.
    pub allowance: Option<Allowance>,
    /// Allowances of single accounts and of tiers, by the id of an account or the name of a tier.
    pub allowances: BTreeMap<String, Allowance>,
}

/// Limits in force for one caller.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyLimits {
    /// Requests per minute; `None`: no limit.
    pub requests_per_minute: Option<u32>,
    /// Tokens per minute; `None`: no limit.
    pub tokens_per_minute: Option<u64>,
    /// Tokens per hour; `None`: no allowance.
    pub allowance: Option<Allowance>,
    /// The allowance is the caller's own, not the account's.
    pub own_allowance: bool,
}

impl KeyLimits {
    /// Limits of a caller of an account. A limit of 0 per minute is no limit; an allowance of 0 is
    /// none.
    #[must_use]
    pub fn of(terms: &PayerTerms, account: &AccountId, defaults: &DefaultLimits) -> Self {
        let (scopes, row) = (&terms.scopes, TierRow::of(terms.tier));
        let shared = || {
            let named = |name: &str| defaults.allowances.get(name).copied();
            named(account.as_str())
                .or_else(|| named(terms.tier.map_or("none", KeyTier::as_str)))
                .or(defaults.allowance)
        };
        Self {
            requests_per_minute: scopes
                .requests_per_minute
                .or(row.requests_per_minute)
                .or(defaults.requests_per_minute)
                .filter(|&limit| limit > 0),
            tokens_per_minute: scopes
                .tokens_per_minute
                .or(row.tokens_per_minute)
                .or(defaults.tokens_per_minute)
                .filter(|&limit| limit > 0),
            allowance: scopes
                .allowance
                .or_else(shared)
                .filter(|allowance| allowance.tokens > 0),
            own_allowance: scopes.allowance.is_some(),
        }
    }

    /// Whether there is anything to count.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.requests_per_minute.is_none()
            && self.tokens_per_minute.is_none()
            && self.allowance.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Scopes;
    use crate::record::sample;

    fn terms() -> PayerTerms {
        PayerTerms::of_key(&sample())
    }

    fn hour(tokens: u64) -> Allowance {
        Allowance {
            tokens,
            overage: true,
        }
    }

    fn defaults() -> DefaultLimits {
        DefaultLimits {
            requests_per_minute: Some(7),
            tokens_per_minute: None,
            allowance: Some(hour(1)),
            allowances: BTreeMap::from([
                ("golem".to_owned(), hour(2)),
                ("none".to_owned(), hour(3)),
                ("rich".to_owned(), hour(4)),
            ]),
        }
    }

    #[test]
    fn an_allowance_is_the_keys_else_the_accounts_else_the_tiers_else_the_usual_one() {
        let check = |account: &str, tier, own: Option<u64>, tokens: Option<u64>, is_own| {
            let mut key = terms();
            key.tier = tier;
            key.scopes.allowance = own.map(hour);
            let limits = KeyLimits::of(&key, &AccountId::parse(account).unwrap(), &defaults());
            let found = (
                limits.allowance.map(|hour| hour.tokens),
                limits.own_allowance,
            );
            assert_eq!(found, (tokens, is_own), "{account} {tier:?} {own:?}");
        };
        check("a", Some(KeyTier::Pro), None, Some(1), false);
        check("a", Some(KeyTier::Golem), None, Some(2), false);
        check("a", None, None, Some(3), false);
        check("rich", Some(KeyTier::Golem), None, Some(4), false);
        check("rich", Some(KeyTier::Golem), Some(5), Some(5), true);
        // An allowance of 0 takes the account's away.
        check("rich", None, Some(0), None, true);
    }

    #[test]
    fn a_rate_is_the_keys_else_the_tiers_else_the_usual_one() {
        let rate = |tier, own| {
            let mut key = terms();
            key.tier = tier;
            key.scopes = Scopes {
                requests_per_minute: own,
                ..Scopes::default()
            };
            KeyLimits::of(&key, &sample().account, &defaults()).requests_per_minute
        };
        assert_eq!(rate(None, None), Some(7));
        assert_eq!(rate(Some(KeyTier::Free), None), Some(100));
        assert_eq!(rate(Some(KeyTier::Free), Some(9)), Some(9));
        assert_eq!(rate(Some(KeyTier::Free), Some(0)), None);
    }
}
