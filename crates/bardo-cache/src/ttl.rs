//! How long an answer may be served, by what it is about and by how fast the market moves.

use bardo_types::privacy::SecurityClass;

use crate::semantic::Domain;

/// How fast the market moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MarketRegime {
    /// Prices hardly move.
    Calm,
    /// Prices move as usual.
    Normal,
    /// Prices move fast.
    Volatile,
    /// Prices jump and liquidity dries up.
    Crisis,
}

impl MarketRegime {
    /// All regimes, the calmest first.
    pub const ALL: [Self; 4] = [Self::Calm, Self::Normal, Self::Volatile, Self::Crisis];

    /// The name in hints, explanations and events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::Normal => "normal",
            Self::Volatile => "volatile",
            Self::Crisis => "crisis",
        }
    }

    /// Reads a name or an alias of agents (`bull_low_vol`, `bear_high_vol`, …), in any case.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name.trim().to_ascii_lowercase().replace('-', "_").as_str() {
            "calm" | "low_vol" | "bull_low_vol" | "sideways" | "range" | "ranging" => {
                Some(Self::Calm)
            }
            "normal" | "bear_low_vol" | "bull" | "bear" | "trending" => Some(Self::Normal),
            "volatile" | "high_vol" | "bull_high_vol" | "bear_high_vol" => Some(Self::Volatile),
            "crisis" | "crash" | "panic" => Some(Self::Crisis),
            _ => None,
        }
    }
}

/// What the lifetime of an answer depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AnswerKind {
    /// Facts that do not move with a market.
    Static,
    /// Prices, positions, strategies: moves with the regime.
    Market,
}

impl AnswerKind {
    /// The kind of a domain. A request without a domain, and not from an agent of the market, is
    /// static; an unknown domain counts as a market.
    #[must_use]
    pub fn of_domain(domain: Option<&str>) -> Self {
        let is_knowledge = |name: &str| name.eq_ignore_ascii_case("knowledge");
        match (domain, Domain::of(domain)) {
            (None, _) | (_, Domain::Reference | Domain::General) => Self::Static,
            (Some(name), _) if is_knowledge(name) => Self::Static,
            _ => Self::Market,
        }
    }

    /// The name in explanations and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Market => "market",
        }
    }
}

/// The lifetimes that an owner set, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetimes {
    /// Answers about the market in a calm regime.
    pub market_ms: u64,
    /// Answers that no market moves.
    pub static_ms: u64,
    /// Longest lifetime of an answer of class Private.
    pub private_ms: u64,
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self {
            market_ms: 300_000,
            static_ms: 3_600_000,
            private_ms: 60_000,
        }
    }
}

/// Longest lifetime of a market answer in a crisis.
const CRISIS_MS: u64 = 30_000;

impl Lifetimes {
    /// How long an answer of `kind` and `class` may be served under `regime`, in milliseconds.
    /// An unknown regime counts as volatile.
    #[must_use]
    pub fn under(
        &self,
        kind: AnswerKind,
        class: SecurityClass,
        regime: Option<MarketRegime>,
    ) -> u64 {
        let base = match kind {
            AnswerKind::Static => self.static_ms,
            AnswerKind::Market => match regime.unwrap_or(MarketRegime::Volatile) {
                MarketRegime::Calm => self.market_ms,
                MarketRegime::Normal => percent(self.market_ms, 70),
                MarketRegime::Volatile => percent(self.market_ms, 30),
                MarketRegime::Crisis => CRISIS_MS.min(percent(self.market_ms, 30)),
            },
        };
        match class {
            SecurityClass::Standard => base,
            SecurityClass::Private => base.min(self.private_ms),
            SecurityClass::Tee | SecurityClass::E2ee => 0,
        }
    }
}

fn percent(whole: u64, percent: u64) -> u64 {
    whole / 100 * percent + whole % 100 * percent / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    const STANDARD: SecurityClass = SecurityClass::Standard;

    #[test]
    fn market_answers_live_by_the_regime_and_static_ones_do_not() {
        let lifetimes = Lifetimes::default();
        let market = |regime| lifetimes.under(AnswerKind::Market, STANDARD, regime);
        assert_eq!(market(Some(MarketRegime::Calm)), 300_000);
        assert_eq!(market(Some(MarketRegime::Normal)), 210_000);
        assert_eq!(market(Some(MarketRegime::Volatile)), 90_000);
        assert_eq!(market(Some(MarketRegime::Crisis)), 30_000);
        assert_eq!(market(None), 90_000, "an unknown regime is no calm one");
        for regime in MarketRegime::ALL {
            assert_eq!(
                lifetimes.under(AnswerKind::Static, STANDARD, Some(regime)),
                3_600_000
            );
        }
    }

    #[test]
    fn a_crisis_never_lengthens_a_life() {
        for market_ms in [0, 1, 99, 20_000, 100_000, 300_000, u64::MAX] {
            let lifetimes = Lifetimes {
                market_ms,
                ..Lifetimes::default()
            };
            let lives: Vec<u64> = MarketRegime::ALL
                .map(|regime| lifetimes.under(AnswerKind::Market, STANDARD, Some(regime)))
                .into();
            assert!(
                lives.is_sorted_by(|calmer, wilder| calmer >= wilder),
                "{lives:?}"
            );
        }
    }

    #[test]
    fn private_answers_live_shortly_and_sealed_ones_not_at_all() {
        let lifetimes = Lifetimes::default();
        let under = |class| lifetimes.under(AnswerKind::Static, class, None);
        assert_eq!(under(SecurityClass::Private), 60_000);
        assert_eq!(under(SecurityClass::Tee), 0);
        assert_eq!(under(SecurityClass::E2ee), 0);
    }

    #[test]
    fn regimes_are_read_with_their_aliases() {
        for regime in MarketRegime::ALL {
            assert_eq!(MarketRegime::parse(regime.as_str()), Some(regime));
        }
        assert_eq!(
            MarketRegime::parse("Bull-Low-Vol"),
            Some(MarketRegime::Calm)
        );
        assert_eq!(
            MarketRegime::parse("bear_high_vol"),
            Some(MarketRegime::Volatile)
        );
        assert_eq!(MarketRegime::parse("sunny"), None);
    }

    #[test]
    fn a_domain_that_is_not_known_counts_as_a_market() {
        assert_eq!(AnswerKind::of_domain(None), AnswerKind::Static);
        assert_eq!(AnswerKind::of_domain(Some("Code")), AnswerKind::Static);
        for name in ["runbook", "ops", "general_knowledge", "Knowledge"] {
            assert_eq!(
                AnswerKind::of_domain(Some(name)),
                AnswerKind::Static,
                "{name}"
            );
        }
        assert_eq!(AnswerKind::of_domain(Some("defi")), AnswerKind::Market);
        assert_eq!(AnswerKind::of_domain(Some("weather")), AnswerKind::Market);
    }
}
