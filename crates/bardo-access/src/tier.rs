//! The product's tiers: `data/tiers.toml` (TIER-01).

use std::sync::LazyLock;

use bardo_types::money::BasisPoints;
use serde::Deserialize;

use crate::record::names_backend;

/// A tier of the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// For trying it.
    Free,
    /// Tier of people.
    Pro,
    /// Tier of agents.
    Golem,
}

impl Tier {
    /// All tiers, from the lowest to the highest.
    pub const ALL: [Self; 3] = [Self::Free, Self::Pro, Self::Golem];

    /// Its name, as commands and stores write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Pro => "pro",
            Self::Golem => "golem",
        }
    }

    /// The tier of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.as_str() == name)
    }
}

/// Who shares semantically cached answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CachePartition {
    /// Everybody of the tier.
    Shared,
    /// Nobody but the account itself.
    PerTenant,
}

/// What a tier comes with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierRow {
    /// Which; `None` is for keys without a tier.
    pub tier: Option<Tier>,
    /// What is added to costs; `None`: `inference.spread_pct`.
    pub spread: Option<BasisPoints>,
    /// Requests per minute; `None`: the configured default.
    pub requests_per_minute: Option<u32>,
    /// Tokens per minute; `None`: the configured default, which may be none.
    pub tokens_per_minute: Option<u64>,
    /// Services that it may use; empty: all.
    pub backends: Vec<String>,
    /// A cheaper model may answer when a budget ends (C-044).
    pub allow_downgrade: bool,
    /// Who shares semantically cached answers.
    pub semantic_cache: CachePartition,
    /// Context about decentralized finance may be added.
    pub defi_context: bool,
    /// The class of a request's content may choose the backend.
    pub security_routing: bool,
    /// Reputation lowers what is added to costs.
    pub reputation_discount: bool,
}

impl TierRow {
    /// The row of a key's tier.
    #[must_use]
    pub fn of(tier: Option<Tier>) -> &'static Self {
        tiers()
            .iter()
            .find(|row| row.tier == tier)
            .expect("the table has a row for every tier and for keys without one")
    }

    /// Whether the tier may use a backend.
    #[must_use]
    pub fn allows_backend(&self, backend: &str) -> bool {
        names_backend(&self.backends, backend)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    untiered: Row,
    free: Row,
    pro: Row,
    golem: Row,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    spread_basis_points: Option<u32>,
    requests_per_minute: Option<u32>,
    tokens_per_minute: Option<u64>,
    #[serde(default)]
    backends: Vec<String>,
    allow_downgrade: bool,
    semantic_cache: CachePartition,
    defi_context: bool,
    security_routing: bool,
    reputation_discount: bool,
}

impl Row {
    fn of(self, tier: Option<Tier>) -> TierRow {
        TierRow {
            tier,
            spread: self.spread_basis_points.map(|points| {
                BasisPoints::new(points).expect("the table holds no spread above the largest")
            }),
            requests_per_minute: self.requests_per_minute,
            tokens_per_minute: self.tokens_per_minute,
            backends: self.backends,
            allow_downgrade: self.allow_downgrade,
            semantic_cache: self.semantic_cache,
            defi_context: self.defi_context,
            security_routing: self.security_routing,
            reputation_discount: self.reputation_discount,
        }
    }
}

/// Every tier, and the row of keys without one.
#[must_use]
pub fn tiers() -> &'static [TierRow] {
    static ROWS: LazyLock<[TierRow; 4]> = LazyLock::new(|| {
        let table: Table = toml::from_str(include_str!("../data/tiers.toml"))
            .expect("the embedded table is read by a test");
        [
            table.untiered.of(None),
            table.free.of(Some(Tier::Free)),
            table.pro.of(Some(Tier::Pro)),
            table.golem.of(Some(Tier::Golem)),
        ]
    });
    &*ROWS
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Option<Tier>; 4] = [None, Some(Tier::Free), Some(Tier::Pro), Some(Tier::Golem)];

    /// One line of TIER-01: what holds for keys without a tier, Free, Pro and Golem.
    #[track_caller]
    fn check<T: PartialEq + std::fmt::Debug>(expected: [T; 4], of: impl Fn(&TierRow) -> T) {
        for (tier, expected) in COLUMNS.into_iter().zip(expected) {
            assert_eq!(of(TierRow::of(tier)), expected, "{tier:?}");
        }
    }

    #[test]
    fn everybody_may_use_blockrun_openrouter_and_a_local_server() {
        for backend in ["blockrun", "openrouter", "local", "direct/local"] {
            check([true; 4], |row| row.allows_backend(backend));
        }
    }

    #[test]
    fn venice_is_not_for_free() {
        check([true, false, true, true], |row| {
            row.allows_backend("venice")
        });
    }

    #[test]
    fn bankr_is_for_agents() {
        check([true, false, false, true], |row| {
            row.allows_backend("bankr")
        });
    }

    #[test]
    fn direct_keys_are_not_for_free() {
        for backend in ["direct/openai", "direct/anthropic#2", "direct/google"] {
            check([true, false, true, true], |row| row.allows_backend(backend));
        }
    }

    #[test]
    fn free_shares_its_semantic_cache() {
        use CachePartition::{PerTenant, Shared};
        check([PerTenant, Shared, PerTenant, PerTenant], |row| {
            row.semantic_cache
        });
    }

    #[test]
    fn finance_context_and_reputation_are_for_agents() {
        check([true, false, false, true], |row| row.defi_context);
        check([true, false, false, true], |row| row.reputation_discount);
    }

    #[test]
    fn classes_choose_backends_for_those_who_have_several() {
        check([true, false, true, true], |row| row.security_routing);
    }

    #[test]
    fn spreads_are_25_15_and_10_percent() {
        check([None, Some(2500), Some(1500), Some(1000)], |row| {
            row.spread.map(BasisPoints::get)
        });
    }

    #[test]
    fn a_hundred_requests_a_minute_for_free_and_more_for_others() {
        check([None, Some(100), Some(1_000), Some(1_000)], |row| {
            row.requests_per_minute
        });
        check([None; 4], |row| row.tokens_per_minute);
    }

    #[test]
    fn only_agents_are_downgraded_unasked() {
        check([false, false, false, true], |row| row.allow_downgrade);
    }

    #[test]
    fn tiers_are_found_by_their_names() {
        for tier in Tier::ALL {
            assert_eq!(Tier::named(tier.as_str()), Some(tier));
        }
        assert_eq!(Tier::named("Golem"), None);
        assert_eq!(tiers().len(), COLUMNS.len());
    }
}
