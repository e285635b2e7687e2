//! Whether calls that only keep an entry warm pay.

use bardo_types::chat::CacheTtl;
use bardo_types::money::ExactCost;

use super::gaps::{Gaps, usable_ms};
use super::policy::Rates;

/// A prefix that could be kept warm until its next call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepaliveCase {
    /// Tokens of the prefix.
    pub tokens: u64,
    /// Lifetime of its entry.
    pub ttl: CacheTtl,
    /// Prices there.
    pub rates: Rates,
    /// Tokens of the answer to a warming call, and their price.
    pub answer: ExactCost,
    /// Gaps that were observed.
    pub gaps: Gaps,
}

/// Number of warming calls to make at most until the next call, and whether they are worth it: the
/// saving must be above three halves of their cost. `None`: no warming.
///
/// The next call is expected after the usual gap. It then reads what it would have written.
#[must_use]
pub fn keepalive_pays(case: &KeepaliveCase) -> Option<u32> {
    let usual = case.gaps.median()?;
    let usable = usable_ms(case.ttl);
    // Each call extends the lifetime by itself; the last one needs no call behind it.
    let calls = usual.checked_sub(1)? / usable;
    if calls == 0 {
        return None;
    }
    let write = match case.ttl {
        CacheTtl::FiveMinutes => case.rates.write_5m?,
        CacheTtl::OneHour => case.rates.write_1h?,
    };
    // Without warming the next call pays the cheaper of a write and fresh input.
    let cold = ExactCost::ZERO.plus(write.min(case.rates.fresh), case.tokens)?;
    let read = ExactCost::ZERO.plus(case.rates.read, case.tokens)?;
    let saved = cold.pico().checked_sub(read.pico())?;
    let each = read.pico().checked_add(case.answer.pico())?;
    let cost = each.checked_mul(u128::from(calls))?;
    (saved.checked_mul(2)? > cost.checked_mul(3)?).then(|| u32::try_from(calls).ok())?
}

#[cfg(test)]
mod tests {
    use bardo_types::money::PricePerMillion;

    use super::*;

    fn case(gap_minutes: u64) -> KeepaliveCase {
        let price = PricePerMillion::from_micro;
        let mut gaps = Gaps::default();
        for _ in 0..5 {
            gaps.add(gap_minutes * 60_000);
        }
        KeepaliveCase {
            tokens: 3_000,
            ttl: CacheTtl::FiveMinutes,
            rates: Rates {
                fresh: price(1_000_000),
                read: price(100_000),
                write_5m: Some(price(1_250_000)),
                write_1h: Some(price(2_000_000)),
                assumed: false,
            },
            answer: ExactCost::ZERO,
            gaps,
        }
    }

    #[test]
    fn a_call_each_72_minutes_is_not_worth_fourteen_warming_calls() {
        // 14 reads at a tenth cost 1.4 times the prompt and save 0.9 of it.
        assert_eq!(keepalive_pays(&case(72)), None);
    }

    #[test]
    fn a_gap_a_little_longer_than_the_lifetime_is_worth_it() {
        assert_eq!(keepalive_pays(&case(8)), Some(1));
        // Five calls cost 0.5 and save 0.9: above 1.5 times. Six would not be.
        assert_eq!(keepalive_pays(&case(28)), Some(5));
        assert_eq!(keepalive_pays(&case(30)), None);
    }

    #[test]
    fn a_gap_within_the_lifetime_needs_no_warming() {
        assert_eq!(keepalive_pays(&case(4)), None);
        assert_eq!(
            keepalive_pays(&KeepaliveCase {
                gaps: Gaps::default(),
                ..case(8)
            }),
            None
        );
    }

    #[test]
    fn the_price_of_the_answer_counts() {
        let answer = ExactCost::ZERO.plus(PricePerMillion::from_micro(5_000_000), 400);
        let dear = KeepaliveCase {
            answer: answer.unwrap(),
            ..case(8)
        };
        assert_eq!(keepalive_pays(&dear), None);
    }
}
