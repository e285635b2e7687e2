//! Whether a cache that a provider stores by the hour pays (Gemini's `cachedContents`).

use bardo_types::money::{ExactCost, PricePerMillion};

use super::gaps::{Evidence, Gaps};
use super::policy::Rates;

/// A long stable prefix that could be stored at the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceCase {
    /// Tokens of the prefix.
    pub tokens: u64,
    /// Fewest tokens that the provider stores.
    pub minimum: u64,
    /// Prices there.
    pub rates: Rates,
    /// Price of storing a million tokens for an hour.
    pub storage: PricePerMillion,
    /// Time in seconds for which it is stored.
    pub seconds: u64,
    /// Gaps that were observed.
    pub gaps: Gaps,
}

/// Whether the reads that are expected in its lifetime save more than making and storing it costs.
/// The number of reads follows from the usual gap; without two observed gaps there is none.
#[must_use]
pub fn resource_pays(case: &ResourceCase) -> bool {
    let Evidence { total, .. } = case.gaps.evidence();
    if total < 2 || case.tokens == 0 || case.tokens < case.minimum {
        return false;
    }
    let Some(usual) = case.gaps.median() else {
        return false;
    };
    let reads = case.seconds.saturating_mul(1_000) / usual.max(1_000);
    costs(case, reads).is_some_and(|(with, without)| with < without)
}

/// Cost of the prefix over so many calls with and without the stored cache. Making it costs its
/// tokens once, as fresh input.
fn costs(case: &ResourceCase, reads: u64) -> Option<(u128, u128)> {
    let made = ExactCost::ZERO.plus(case.rates.fresh, case.tokens)?;
    let with = made.plus(case.rates.read, case.tokens.checked_mul(reads)?)?;
    let hours = ExactCost::ZERO.plus(case.storage, case.tokens.checked_mul(case.seconds)?)?;
    let stored = hours.pico().div_ceil(3_600);
    let without = ExactCost::ZERO.plus(case.rates.fresh, case.tokens.checked_mul(reads)?)?;
    Some((with.pico().checked_add(stored)?, without.pico()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(gap_seconds: u64, gaps: usize) -> ResourceCase {
        let price = PricePerMillion::from_micro;
        let mut seen = Gaps::default();
        for _ in 0..gaps {
            seen.add(gap_seconds * 1_000);
        }
        ResourceCase {
            tokens: 20_000,
            minimum: 4_096,
            rates: Rates {
                fresh: price(500_000),
                read: price(50_000),
                write_5m: None,
                write_1h: None,
                assumed: false,
            },
            storage: price(1_000_000),
            seconds: 600,
            gaps: seen,
        }
    }

    #[test]
    fn a_prefix_that_is_read_often_enough_is_stored() {
        // Making it costs one prompt, storing it a third, and each read saves 0.9.
        assert!(resource_pays(&case(60, 5)));
        assert!(resource_pays(&case(300, 5)));
        assert!(!resource_pays(&case(601, 5)));
        assert!(!resource_pays(&case(400, 5)));
    }

    #[test]
    fn a_short_or_unknown_prefix_is_not_stored() {
        assert!(!resource_pays(&case(60, 1)));
        assert!(!resource_pays(&ResourceCase {
            tokens: 4_095,
            ..case(60, 5)
        }));
        let undiscounted = ResourceCase {
            rates: Rates {
                read: PricePerMillion::from_micro(500_000),
                ..case(60, 5).rates
            },
            ..case(60, 5)
        };
        assert!(!resource_pays(&undiscounted));
    }

    #[test]
    fn gaps_of_no_time_at_all_do_not_divide_by_zero() {
        assert!(resource_pays(&case(0, 5)));
    }
}
