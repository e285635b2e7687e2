//! What a request is about, and how alike two requests must be there.

/// A domain with its own threshold and its own measured error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Domain {
    /// Facts that change seldom: documentation, definitions, support.
    Reference,
    /// Questions of general knowledge, without a field of their own.
    General,
    /// Analysis of markets.
    Market,
    /// Reasoning about strategies.
    Strategy,
    /// Trades, risk and other actions: never served.
    Trade,
    /// Everything else, and whatever was classified without confidence.
    Unknown,
}

impl Domain {
    /// Each domain, the most tolerant first.
    pub const ALL: [Self; 6] = [
        Self::Reference,
        Self::General,
        Self::Market,
        Self::Strategy,
        Self::Trade,
        Self::Unknown,
    ];

    /// The domain of a hint; other names are unknown.
    #[must_use]
    pub fn of(name: Option<&str>) -> Self {
        let named = |names: &[&str]| {
            name.is_some_and(|name| names.iter().any(|known| known.eq_ignore_ascii_case(name)))
        };
        if named(&[
            "static",
            "reference",
            "static_reference",
            "faq",
            "docs",
            "documentation",
            "support",
            "code",
            "coding",
            "ops",
            "operations",
            "runbook",
        ]) {
            Self::Reference
        } else if named(&["general", "general_knowledge"]) {
            Self::General
        } else if named(&["market", "market_analysis", "defi"]) {
            Self::Market
        } else if named(&["strategy", "strategy_reasoning"]) {
            Self::Strategy
        } else if named(&["trade", "trade_execution", "risk", "operator", "death"]) {
            Self::Trade
        } else {
            Self::Unknown
        }
    }

    /// Its name in configuration, metrics and events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::General => "general",
            Self::Market => "market",
            Self::Strategy => "strategy",
            Self::Trade => "trade",
            Self::Unknown => "unknown",
        }
    }

    /// The least cosine of a hit; `None` where no similarity is enough.
    #[must_use]
    pub const fn threshold(self) -> Option<f32> {
        match self {
            Self::Reference => Some(0.90),
            Self::General | Self::Market => Some(0.92),
            Self::Strategy | Self::Unknown => Some(0.95),
            Self::Trade => None,
        }
    }
}
