//! The terms of a caller that pays, and what they allow: the one place that decides it.

use std::net::IpAddr;

use bardo_types::backend::BackendName;
use bardo_types::ids::KeyId;
use bardo_types::money::{BasisPoints, MicroUsd};
use bardo_types::privacy::SecurityClass;

use crate::key::KeyKind;
use crate::record::{KeyRecord, Scopes};
use crate::tier::{KeyTier, TierRow};

/// Terms under which a caller pays for its requests. They come from a key record or, for a caller
/// without a key, from whatever identifies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayerTerms {
    /// Name under which limits and caps are counted. Without a key it must be no key's id.
    pub counted_as: KeyId,
    /// Public part of the key; `None`: the caller pays without one.
    pub key: Option<KeyId>,
    /// The caller may read and must not cause costs.
    pub reads_only: bool,
    /// Restrictions, limits and caps.
    pub scopes: Scopes,
    /// The product's tier, if any.
    pub tier: Option<KeyTier>,
    /// Addition to the costs of providers; `None`: the tier's or the usual one.
    pub spread: Option<BasisPoints>,
    /// The whole worst case of a request is held and stored before a provider or the caller gets
    /// anything; the rest is given back when the request is settled.
    pub settles_first: bool,
    /// The caller pays for each request by itself.
    pub per_request: Option<PaidRequest>,
    /// Only backends that are billed serve the caller: it is nobody whom the operator knows.
    pub only_billed: bool,
    /// The limit of the delegation by which the caller spends another's money.
    pub delegated: Option<DelegatedSpending>,
}

/// What a delegation allows to spend in its whole life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegatedSpending {
    /// Name under which the spending is counted, for all callers by the delegation together.
    pub counted_as: KeyId,
    /// The most that is spent.
    pub most: MicroUsd,
}

/// First part of the names of accounts that belong to wallets: whoever proves the wallet has the
/// account, without the operator.
const WALLET_ACCOUNTS: &str = "wallet:";

/// Terms of a caller who pays for each request by itself. Only backends that are billed serve it,
/// and one request may take all that was paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaidRequest {
    /// The least that an answer with content is charged.
    pub minimum: MicroUsd,
}

impl PayerTerms {
    /// Terms of a caller without a key, restricted to nothing, that is counted under this name.
    #[must_use]
    pub fn without_key(counted_as: KeyId) -> Self {
        Self {
            counted_as,
            key: None,
            reads_only: false,
            scopes: Scopes::default(),
            tier: None,
            spread: None,
            settles_first: false,
            per_request: None,
            only_billed: false,
            delegated: None,
        }
    }

    /// Terms of a key, with ids of their own. One of a wallet's account uses nothing at the
    /// operator's cost.
    #[must_use]
    pub fn of_key(record: &KeyRecord) -> Self {
        let key = record.id.unshared();
        Self {
            counted_as: match &record.replaces {
                Some(first) => first.unshared(),
                None => key.clone(),
            },
            key: Some(key),
            reads_only: record.kind != KeyKind::Spend,
            scopes: record.scopes.clone(),
            tier: record.tier,
            spread: record.spread,
            settles_first: false,
            per_request: None,
            only_billed: record.account.as_str().starts_with(WALLET_ACCOUNTS),
            delegated: None,
        }
    }

    /// Whether a backend that is not billed may serve the caller.
    #[must_use]
    pub fn may_be_unbilled(&self) -> bool {
        self.per_request.is_none() && !self.only_billed
    }

    /// Whether the caller may cause costs. Others read only.
    #[must_use]
    pub fn may_spend(&self) -> bool {
        !self.reads_only
    }

    /// Whether the caller may come from an address.
    #[must_use]
    pub fn may_call_from(&self, address: IpAddr) -> bool {
        let networks = &self.scopes.networks;
        networks.is_empty() || networks.iter().any(|known| known.contains(address))
    }

    /// Whether the caller may use a model at a backend: by its scopes and by its tier. `names` says
    /// whether a pattern of the scopes names the model.
    #[must_use]
    pub fn may_use(&self, backend: &str, names: impl Fn(&str) -> bool) -> bool {
        let models = &self.scopes.models;
        (models.is_empty() || models.iter().any(|pattern| names(pattern)))
            && is_listed(&self.scopes.backends, backend)
            && is_listed(&self.row().backends, backend)
    }

    /// Whether the caller may ask for a class of protection.
    #[must_use]
    pub fn may_ask_for(&self, class: SecurityClass) -> bool {
        class == SecurityClass::Standard || self.row().security_routing
    }

    /// Whether a cheaper model may answer where the request says nothing about it.
    #[must_use]
    pub fn may_be_downgraded(&self) -> bool {
        self.row().allow_downgrade
    }

    /// Share of the cap per day that is kept for protected subsystems.
    #[must_use]
    pub fn reserved_share(&self) -> BasisPoints {
        self.row().reserved_share
    }

    /// The addition to the costs of providers; `usual` where neither the terms nor their tier set
    /// one.
    #[must_use]
    pub fn spread_or(&self, usual: BasisPoints) -> BasisPoints {
        self.spread.or(self.row().spread).unwrap_or(usual)
    }

    /// These terms with the addition to costs that a reputation earns. Terms with a tier or an
    /// addition of their own keep theirs.
    #[must_use]
    pub fn with_reputation(self, earned: Option<BasisPoints>) -> Self {
        let is_usual = self.spread.is_none() && self.tier.is_none();
        Self {
            spread: if is_usual { earned } else { self.spread },
            ..self
        }
    }

    fn row(&self) -> &'static TierRow {
        TierRow::of(self.tier)
    }
}

/// Whether a list names a backend; an empty list names all.
fn is_listed(list: &[String], backend: &str) -> bool {
    let name = BackendName::parse(backend);
    list.is_empty() || list.iter().any(|listed| name.is_meant_by(listed))
}

#[cfg(test)]
mod tests {
    use bardo_types::ids::AccountId;

    use super::*;
    use crate::record;

    fn sample() -> PayerTerms {
        PayerTerms::of_key(&record::sample())
    }

    /// Terms without a tier, of Free, of Pro and of Golem.
    fn keys() -> [PayerTerms; 4] {
        [
            None,
            Some(KeyTier::Free),
            Some(KeyTier::Pro),
            Some(KeyTier::Golem),
        ]
        .map(|tier| PayerTerms { tier, ..sample() })
    }

    #[track_caller]
    fn backend(backend: &str, expected: [bool; 4]) {
        let found = keys().map(|key| key.may_use(backend, |_| true));
        assert_eq!(found, expected, "{backend}");
    }

    #[test]
    fn a_tier_comes_with_backends() {
        for name in ["blockrun", "openrouter", "local", "direct/local"] {
            backend(name, [true; 4]);
        }
        backend("venice", [true, false, true, true]);
        backend("bankr", [true, false, false, true]);
        for name in ["direct/openai", "direct/anthropic#2", "direct/openrouter"] {
            backend(name, [true, false, true, true]);
        }
    }

    #[test]
    fn scopes_restrict_the_backends_of_a_tier_and_never_add_to_them() {
        let mut key = sample();
        key.scopes.backends = vec!["venice".to_owned(), "direct/openai".to_owned()];
        let may = |key: &PayerTerms, name| key.may_use(name, |_| true);
        assert!(may(&key, "venice") && may(&key, "direct/openai#2"));
        assert!(!may(&key, "openrouter") && !may(&key, "direct/anthropic"));
        key.tier = Some(KeyTier::Free);
        assert!(!may(&key, "venice") && !may(&key, "direct/openai#2"));
    }

    #[test]
    fn scopes_restrict_models_by_what_their_patterns_name() {
        let mut key = sample();
        assert!(key.may_use("local", |_| false), "no pattern restricts none");
        key.scopes.models = vec!["a".to_owned(), "b".to_owned()];
        assert!(key.may_use("local", |pattern| pattern == "b"));
        assert!(!key.may_use("local", |pattern| pattern == "c"));
    }

    #[test]
    fn a_key_is_bound_to_its_networks() {
        let mut key = sample();
        assert!(key.may_call_from("2001:db8::1".parse().unwrap()));
        key.scopes.networks = ["10.0.0.0/8", "::1"]
            .map(|text| text.parse().unwrap())
            .into();
        for (address, is_allowed) in [
            ("10.2.3.4", true),
            ("::ffff:10.2.3.4", true),
            ("::1", true),
            ("127.0.0.1", false),
            ("2001:db8::1", false),
        ] {
            let found = key.may_call_from(address.parse().unwrap());
            assert_eq!(found, is_allowed, "{address}");
        }
    }

    #[test]
    fn protection_is_not_for_free_and_agents_are_downgraded_unasked() {
        let private = keys().map(|key| key.may_ask_for(SecurityClass::Private));
        assert_eq!(private, [true, false, true, true]);
        assert!(
            keys()
                .iter()
                .all(|key| key.may_ask_for(SecurityClass::Standard))
        );
        let downgraded = keys().map(|key| key.may_be_downgraded());
        assert_eq!(downgraded, [false, false, false, true]);
        let reserved = keys().map(|key| key.reserved_share().get());
        assert_eq!(reserved, [0, 0, 0, 1_500]);
    }

    #[test]
    fn a_spread_is_the_keys_else_the_tiers_else_the_usual_one() {
        let usual = BasisPoints::new(2_000).unwrap();
        let spreads = keys().map(|key| key.spread_or(usual).get());
        assert_eq!(spreads, [2_000, 2_500, 1_500, 1_000]);
        let own = PayerTerms {
            spread: Some(BasisPoints::ZERO),
            ..sample()
        };
        assert_eq!(own.spread_or(usual), BasisPoints::ZERO);
    }

    #[test]
    fn a_reputation_changes_only_the_usual_spread() {
        let usual = BasisPoints::new(2_000).unwrap();
        let earned = BasisPoints::new(1_200).unwrap();
        let spreads = keys().map(|key| key.with_reputation(Some(earned)).spread_or(usual).get());
        assert_eq!(spreads, [1_200, 2_500, 1_500, 1_000]);
        assert_eq!(sample().with_reputation(None).spread_or(usual), usual);
        let own = PayerTerms {
            spread: Some(BasisPoints::ZERO),
            ..sample()
        };
        let kept = own.with_reputation(Some(earned));
        assert_eq!(kept.spread_or(usual), BasisPoints::ZERO);
    }

    #[test]
    fn a_reading_key_spends_nothing() {
        let key = KeyRecord {
            kind: KeyKind::ReadOnly,
            ..record::sample()
        };
        assert!(sample().may_spend() && !PayerTerms::of_key(&key).may_spend());
    }

    #[test]
    fn a_wallet_and_a_caller_who_pays_per_request_use_nothing_at_the_operators_cost() {
        let of = |account: &str| {
            PayerTerms::of_key(&KeyRecord {
                account: AccountId::parse(account).unwrap(),
                ..record::sample()
            })
        };
        assert!(of("a").may_be_unbilled() && of("wallets").may_be_unbilled());
        assert!(!of("wallet:8453:0x1").may_be_unbilled());
        let per_request = Some(PaidRequest {
            minimum: MicroUsd::ZERO,
        });
        let terms = PayerTerms {
            per_request,
            ..sample()
        };
        assert!(!terms.may_be_unbilled());
    }

    #[test]
    fn a_rotated_key_counts_under_the_first_one_and_shows_its_own_id() {
        let first = KeyId::parse("first").unwrap();
        let key = KeyRecord {
            replaces: Some(first.clone()),
            ..record::sample()
        };
        let terms = PayerTerms::of_key(&key);
        assert_eq!((terms.counted_as, terms.key), (first, Some(key.id)));
    }
}
