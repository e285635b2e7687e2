use proptest::prelude::*;

use super::*;

const MINUTE: Millis = 60_000;

const fn price(micro: u64) -> PricePerMillion {
    PricePerMillion::from_micro(micro)
}

/// $0.50 per million tokens, a tenth of it for reads, and $0.10 for an hour.
const CASE: StorageCase = StorageCase {
    rates: StorageRates {
        input: price(500_000),
        read: price(50_000),
        hour: price(100_000),
    },
    tokens: 10_000,
    minimum: 4_096,
};

fn gaps(all: &[Millis]) -> Gaps {
    let mut gaps = Gaps::default();
    all.iter().for_each(|gap| gaps.add(*gap));
    gaps
}

#[test]
fn calls_each_ten_minutes_are_stored_for_an_hour_and_the_figures_are_exact() {
    let plan = CASE.create(&gaps(&[10 * MINUTE; 8]), 0).expect("it pays");
    // Five calls within 59 minutes save $0.45 per million each; creation costs $0.50, an hour $0.10.
    assert_eq!((plan.ttl_s, plan.hits), (3_600, 5));
    assert_eq!(plan.fee, MicroUsd::new(1_000));
    assert_eq!(plan.cost, MicroUsd::new(6_000));
    assert_eq!(plan.saving, MicroUsd::new(22_500));
}

#[test]
fn fast_calls_are_stored_for_the_shortest_time_that_has_them_all() {
    let plan = CASE.create(&gaps(&[5_000; 16]), 0).expect("it pays");
    assert_eq!((plan.ttl_s, plan.hits), (300, 16));
    let plan = CASE.extend(&gaps(&[5_000; 16]), 0).expect("it pays");
    assert_eq!(plan.cost, plan.fee);
}

#[test]
fn rare_few_short_and_already_cached_prompts_are_not_stored() {
    assert_eq!(CASE.create(&gaps(&[40 * MINUTE; 8]), 0), None, "rare");
    assert_eq!(CASE.create(&gaps(&[MINUTE; 3]), 0), None, "few");
    let short = StorageCase {
        tokens: 4_095,
        ..CASE
    };
    assert_eq!(short.create(&gaps(&[MINUTE; 8]), 0), None, "short");
    assert_eq!(CASE.create(&gaps(&[MINUTE; 8]), 9_000), None, "cached");
    let dear = StorageCase {
        rates: StorageRates {
            hour: price(100_000_000),
            ..CASE.rates
        },
        ..CASE
    };
    assert_eq!(dear.create(&gaps(&[MINUTE; 8]), 0), None, "dear storage");
    let no_discount = StorageCase {
        rates: StorageRates {
            read: price(500_000),
            ..CASE.rates
        },
        ..CASE
    };
    assert_eq!(no_discount.create(&gaps(&[1; 16]), 0), None, "no discount");
}

proptest! {
    #[test]
    fn nothing_is_stored_that_costs_more_than_it_saves_in_the_worst_order_of_its_gaps(
        lengths in proptest::collection::vec(0..2 * 60 * MINUTE, 0..20),
        (input, read, hour) in (0..20_000_000_u64, 0..20_000_000_u64, 0..20_000_000_u64),
        (tokens, already) in (0..1_000_000_u64, 0..1_000_000_u64),
    ) {
        let rates = StorageRates { input: price(input), read: price(read), hour: price(hour) };
        let case = StorageCase { rates, tokens, minimum: 1_024 };
        let gaps = gaps(&lengths);
        for (plan, once) in [(case.create(&gaps, already), 1), (case.extend(&gaps, already), 0)] {
            let Some(plan) = plan else { continue };
            // By itself: the calls behind the first one, with the longest gaps first.
            let mut last: Vec<Millis> = lengths.iter().rev().take(16).copied().collect();
            last.sort_unstable();
            last.reverse();
            let (mut at, mut hits) = (0, 0_u128);
            for gap in last {
                at += gap;
                hits += u128::from(at <= plan.ttl_s * 1_000 - MINUTE);
            }
            let (tokens, input) = (u128::from(tokens), u128::from(input));
            let fresh = tokens.saturating_sub(u128::from(already));
            let saved = hits * fresh * (input - u128::from(read));
            let stored = tokens * u128::from(hour) * u128::from(plan.ttl_s) / 3_600;
            prop_assert!(saved * 2 > (once * tokens * input + stored) * 3);
            prop_assert!(plan.saving > plan.fee || plan.saving == MicroUsd::ZERO);
        }
    }
}
