//! What a key may do: the one place that decides it.

use std::net::IpAddr;

use bardo_types::backend::BackendName;
use bardo_types::money::BasisPoints;
use bardo_types::privacy::SecurityClass;

use crate::key::KeyKind;
use crate::record::KeyRecord;
use crate::tier::TierRow;

impl KeyRecord {
    /// Whether the key may cause costs. Others read only.
    #[must_use]
    pub fn may_spend(&self) -> bool {
        self.kind == KeyKind::Spend
    }

    /// Whether the key may be used from an address.
    #[must_use]
    pub fn may_call_from(&self, address: IpAddr) -> bool {
        let networks = &self.scopes.networks;
        networks.is_empty() || networks.iter().any(|known| known.contains(address))
    }

    /// Whether the key may use a model at a backend: by its scopes and by its tier. `names` says
    /// whether a pattern of the scopes names the model.
    #[must_use]
    pub fn may_use(&self, backend: &str, names: impl Fn(&str) -> bool) -> bool {
        let models = &self.scopes.models;
        (models.is_empty() || models.iter().any(|pattern| names(pattern)))
            && is_listed(&self.scopes.backends, backend)
            && is_listed(&self.terms().backends, backend)
    }

    /// Whether the key may ask for a class of protection.
    #[must_use]
    pub fn may_ask_for(&self, class: SecurityClass) -> bool {
        class == SecurityClass::Standard || self.terms().security_routing
    }

    /// Whether a cheaper model may answer where the key says nothing about it.
    #[must_use]
    pub fn may_be_downgraded(&self) -> bool {
        self.terms().allow_downgrade
    }

    /// Share of the cap per day that is kept for protected subsystems.
    #[must_use]
    pub fn reserved_share(&self) -> BasisPoints {
        self.terms().reserved_share
    }

    /// What is added to the costs of providers; `usual` where neither the key nor its tier says.
    #[must_use]
    pub fn spread_or(&self, usual: BasisPoints) -> BasisPoints {
        self.spread.or(self.terms().spread).unwrap_or(usual)
    }

    fn terms(&self) -> &'static TierRow {
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
    use super::*;
    use crate::record::sample;
    use crate::tier::KeyTier;

    /// Keys without a tier, of Free, of Pro and of Golem.
    fn keys() -> [KeyRecord; 4] {
        [
            None,
            Some(KeyTier::Free),
            Some(KeyTier::Pro),
            Some(KeyTier::Golem),
        ]
        .map(|tier| KeyRecord { tier, ..sample() })
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
        let may = |key: &KeyRecord, name| key.may_use(name, |_| true);
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
        let own = KeyRecord {
            spread: Some(BasisPoints::ZERO),
            ..sample()
        };
        assert_eq!(own.spread_or(usual), BasisPoints::ZERO);
    }

    #[test]
    fn a_reading_key_spends_nothing() {
        let key = KeyRecord {
            kind: KeyKind::ReadOnly,
            ..sample()
        };
        assert!(sample().may_spend() && !key.may_spend());
    }
}
