//! What a request will cost, and why it is less than it might be (PAY-05, C-161).

use bardo_types::money::{BasisPoints, ExactCost, MicroUsd};

/// The cost of one request after each thing that makes it cheaper, in the order in which the
/// savings are attributed. Each is at a backend's list prices, without spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stages {
    /// As the caller wrote it: the model it named, every token fresh.
    pub baseline: ExactCost,
    /// The same tokens at the model and backend that were chosen.
    pub routed: ExactCost,
    /// With the part of the prompt that the provider has cached.
    pub cached: ExactCost,
    /// With the prompt as it is sent: what the backend bills.
    pub compressed: ExactCost,
}

/// A quote. `total_charged` = `provider_cost` + `margin`, and what the request would have cost
/// at first, [`Self::baseline`], is `provider_cost` and the three discounts together, to the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceQuote {
    /// Prompt tokens that are sent.
    pub input_tokens: u64,
    /// Completion tokens that are expected, or their limit.
    pub output_tokens: u64,
    /// What the backend bills, rounded up.
    pub provider_cost: MicroUsd,
    /// Saved by the choice of model and backend, in 10⁻⁶ USD; below zero where it is dearer.
    pub routing_discount: i64,
    /// Saved by the provider's prompt cache, likewise: writing to it costs more than not.
    pub cache_discount: i64,
    /// Saved by sending less, likewise.
    pub compression_discount: i64,
    /// What is added.
    pub margin: MicroUsd,
    /// What is charged: cost and spread, rounded up once.
    pub total_charged: MicroUsd,
}

impl PriceQuote {
    /// Prices a request; `None` on overflow.
    #[must_use]
    pub fn new(
        input_tokens: u64,
        output_tokens: u64,
        stages: &Stages,
        spread: BasisPoints,
    ) -> Option<Self> {
        let total_charged = stages.compressed.charge_with(spread)?;
        let provider_cost = stages.compressed.charge()?;
        // Differences of rounded amounts, so that they add up.
        let baseline = stages.baseline.charge()?;
        let routed = stages.routed.charge()?;
        let cached = stages.cached.charge()?;
        Some(Self {
            input_tokens,
            output_tokens,
            provider_cost,
            routing_discount: difference(baseline, routed)?,
            cache_discount: difference(routed, cached)?,
            compression_discount: difference(cached, provider_cost)?,
            margin: total_charged.checked_sub(provider_cost)?,
            total_charged,
        })
    }

    /// What the request would have cost at first, without spread.
    #[must_use]
    pub fn baseline(&self) -> i128 {
        i128::from(self.provider_cost.get())
            + i128::from(self.routing_discount)
            + i128::from(self.cache_discount)
            + i128::from(self.compression_discount)
    }
}

fn difference(from: MicroUsd, to: MicroUsd) -> Option<i64> {
    i64::try_from(i128::from(from.get()) - i128::from(to.get())).ok()
}

#[cfg(test)]
mod tests {
    use bardo_types::money::PricePerMillion;
    use proptest::prelude::*;

    use super::*;

    fn cost(pico: u64) -> ExactCost {
        let unit = PricePerMillion::from_micro(1);
        ExactCost::ZERO.plus(unit, pico).unwrap()
    }

    fn rate(points: u32) -> BasisPoints {
        BasisPoints::new(points).unwrap()
    }

    #[test]
    fn an_opus_request_on_sonnet_with_a_cached_prompt() {
        // 10,000 + 500 tokens: 5 and 25 USD per million, then 3 and 15; 8,000 read from cache
        // at 0.30; 1,000 left out.
        let stages = Stages {
            baseline: cost(10_000 * 5_000_000 + 500 * 25_000_000),
            routed: cost(10_000 * 3_000_000 + 500 * 15_000_000),
            cached: cost(2_000 * 3_000_000 + 8_000 * 300_000 + 500 * 15_000_000),
            compressed: cost(1_000 * 3_000_000 + 8_000 * 300_000 + 500 * 15_000_000),
        };
        let quote = PriceQuote::new(9_000, 500, &stages, rate(2_000)).unwrap();
        assert_eq!(
            quote,
            PriceQuote {
                input_tokens: 9_000,
                output_tokens: 500,
                provider_cost: MicroUsd::new(12_900),
                routing_discount: 25_000,
                cache_discount: 21_600,
                compression_discount: 3_000,
                margin: MicroUsd::new(2_580),
                total_charged: MicroUsd::new(15_480),
            }
        );
        assert_eq!(quote.baseline(), 62_500);
    }

    #[test]
    fn what_makes_it_dearer_is_below_zero() {
        let stages = Stages {
            baseline: cost(1_000_000),
            routed: cost(3_000_000),
            cached: cost(5_000_000),
            compressed: cost(5_000_000),
        };
        let quote = PriceQuote::new(1, 1, &stages, BasisPoints::ZERO).unwrap();
        assert_eq!((quote.routing_discount, quote.cache_discount), (-2, -2));
        assert_eq!(quote.margin, MicroUsd::ZERO);
    }

    #[test]
    fn what_does_not_fit_is_no_quote() {
        let huge = ExactCost::ZERO
            .plus(PricePerMillion::from_micro(u64::MAX), u64::MAX)
            .unwrap();
        let stages = Stages {
            baseline: huge,
            ..Stages::default()
        };
        assert_eq!(PriceQuote::new(1, 1, &stages, rate(2_000)), None);
    }

    proptest! {
        #[test]
        fn the_parts_add_up(costs: [u64; 4], points in 0..=90_000_u32) {
            let [baseline, routed, cached, compressed] = costs.map(cost);
            let stages = Stages { baseline, routed, cached, compressed };
            let quote = PriceQuote::new(1, 2, &stages, rate(points)).unwrap();
            prop_assert_eq!(
                quote.provider_cost.checked_add(quote.margin),
                Some(quote.total_charged)
            );
            prop_assert_eq!(
                quote.baseline(),
                i128::from(baseline.charge().unwrap().get())
            );
            prop_assert_eq!(compressed.charge_with(rate(points)), Some(quote.total_charged));
        }
    }
}
