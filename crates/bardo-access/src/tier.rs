//! The product's tiers: `data/tiers.toml`.

use std::sync::LazyLock;

use bardo_types::money::BasisPoints;
use serde::Deserialize;

/// A tier of the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyTier {
    /// For trying it.
    Free,
    /// Tier of people.
    Pro,
    /// Tier of agents.
    Golem,
}

impl KeyTier {
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

/// The rights and limits of a tier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierRow {
    /// Which; `None` is for keys without a tier.
    pub tier: Option<KeyTier>,
    /// The addition to costs; `None` stands for `inference.spread_pct`.
    pub spread: Option<BasisPoints>,
    /// Requests per minute; `None`: the configured default.
    pub requests_per_minute: Option<u32>,
    /// Tokens per minute; `None`: the configured default, which may be none.
    pub tokens_per_minute: Option<u64>,
    /// Services that it may use; empty: all.
    pub backends: Vec<String>,
    /// A cheaper model may answer when a budget ends.
    pub allow_downgrade: bool,
    /// Share of the cap per day that is kept for protected subsystems.
    pub reserved_share: BasisPoints,
    /// Classes of protection may be asked for.
    pub security_routing: bool,
}

impl TierRow {
    /// The row of a key's tier.
    #[must_use]
    pub fn of(tier: Option<KeyTier>) -> &'static Self {
        tiers()
            .iter()
            .find(|row| row.tier == tier)
            .expect("the table has a row for every tier and for keys without one")
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TierTable {
    untiered: RawTierRow,
    free: RawTierRow,
    pro: RawTierRow,
    golem: RawTierRow,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTierRow {
    spread_basis_points: Option<u32>,
    requests_per_minute: Option<u32>,
    tokens_per_minute: Option<u64>,
    #[serde(default)]
    backends: Vec<String>,
    allow_downgrade: bool,
    #[serde(default)]
    reserved_basis_points: u32,
    security_routing: bool,
}

impl RawTierRow {
    fn of(self, tier: Option<KeyTier>) -> TierRow {
        TierRow {
            tier,
            spread: self.spread_basis_points.map(|points| {
                BasisPoints::new(points).expect("the table holds no spread above the largest")
            }),
            requests_per_minute: self.requests_per_minute,
            tokens_per_minute: self.tokens_per_minute,
            backends: self.backends,
            allow_downgrade: self.allow_downgrade,
            reserved_share: BasisPoints::new(self.reserved_basis_points)
                .expect("the table holds no share above the largest"),
            security_routing: self.security_routing,
        }
    }
}

/// Every tier, and the row of keys without one.
#[must_use]
pub fn tiers() -> &'static [TierRow] {
    static ROWS: LazyLock<[TierRow; 4]> = LazyLock::new(|| {
        let table: Result<toml::Table, _> = include_str!("../data/tiers.toml").parse();
        let table: TierTable = table
            .and_then(toml::Table::try_into)
            .expect("the embedded table is read by a test");
        [
            table.untiered.of(None),
            table.free.of(Some(KeyTier::Free)),
            table.pro.of(Some(KeyTier::Pro)),
            table.golem.of(Some(KeyTier::Golem)),
        ]
    });
    &*ROWS
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Option<KeyTier>; 4] = [
        None,
        Some(KeyTier::Free),
        Some(KeyTier::Pro),
        Some(KeyTier::Golem),
    ];

    /// One line of the table: what holds for keys without a tier, Free, Pro and Golem.
    #[track_caller]
    fn check<T: PartialEq + std::fmt::Debug>(expected: [T; 4], of: impl Fn(&TierRow) -> T) {
        for (tier, expected) in COLUMNS.into_iter().zip(expected) {
            assert_eq!(of(TierRow::of(tier)), expected, "{tier:?}");
        }
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
    fn tiers_are_found_by_their_names() {
        for tier in KeyTier::ALL {
            assert_eq!(KeyTier::named(tier.as_str()), Some(tier));
        }
        assert_eq!(KeyTier::named("Golem"), None);
        assert_eq!(tiers().len(), COLUMNS.len());
    }
}
