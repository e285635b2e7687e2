//! The product's tiers: `data/tiers.toml` (TIER-01).

use bardo_types::money::BasisPoints;

/// A tier of the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// For trying it.
    Free,
    /// For people.
    Pro,
    /// For agents.
    Golem,
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
}

/// Every tier, and the row of keys without one.
#[must_use]
pub fn tiers() -> &'static [TierRow] {
    &[]
}
