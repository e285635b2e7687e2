use proptest::prelude::*;

use super::*;
use crate::prefix::{CacheRates, Evidence, decide};

const MINUTE: Millis = 60_000;

const fn price(micro: u64) -> PricePerMillion {
    PricePerMillion::from_micro(micro)
}

/// A model at $3 per million: reads at a tenth, writes at 1.25 and 2 times, output at five times.
const RATES: CacheRates = CacheRates {
    fresh: price(3_000_000),
    read: price(300_000),
    write_5m: Some(price(3_750_000)),
    write_1h: Some(price(6_000_000)),
    assumed: false,
};
const TERMS: KeepaliveTerms = KeepaliveTerms {
    in_row: 5,
    output: price(15_000_000),
};

fn chosen(minutes: &[u64], reused: u64) -> (Verdict, Option<Warming>) {
    let mut gaps = Gaps::default();
    minutes.iter().for_each(|gap| gaps.add(gap * MINUTE));
    let case = MarkCase {
        reused,
        added: 0,
        minimum: 1_024,
        rates: RATES,
        evidence: gaps.evidence(),
        current: None,
    };
    let verdict = decide(&case);
    let warming = warming(&case, &gaps, &verdict, &TERMS);
    (verdict, warming)
}

#[test]
fn a_heartbeat_each_72_minutes_is_kept_by_one_call_on_an_entry_of_an_hour() {
    let (verdict, warming) = chosen(&[72; 8], 10_000);
    assert_eq!(verdict.ttl, None);
    let warming = warming.expect("it pays");
    assert_eq!((warming.ttl, warming.pings), (CacheTtl::OneHour, 1));
    // A call reads 10,000 tokens at $0.30 per million, 32 at $3, and writes one at $15.
    assert_eq!(warming.ping_charge(), MicroUsd::new(3_111));
    // Nine prompts at $0.03 without marks; one write at $0.06 and eight reads at $0.003 with them.
    assert_eq!(warming.without.charge(), Some(MicroUsd::new(270_000)));
    assert_eq!(warming.with.charge(), Some(MicroUsd::new(84_000)));
    assert_eq!(warming.spent.charge(), Some(MicroUsd::new(24_888)));
    assert_eq!(warming.saving_per_gap(), MicroUsd::new(23_250));
}

#[test]
fn gaps_that_marks_cover_and_gaps_that_are_too_long_get_no_keepalive_calls() {
    for minutes in [1, 4, 15, 50, 59, 420, 1_440] {
        let (_, warming) = chosen(&[minutes; 16], 10_000);
        assert_eq!(warming, None, "{minutes} minutes");
    }
    for minutes in [61, 120, 240] {
        let (_, warming) = chosen(&[minutes; 16], 10_000);
        assert!(warming.is_some(), "{minutes} minutes");
    }
}

#[test]
fn calls_without_a_rhythm_get_none() {
    assert_eq!(chosen(&[72, 72, 72], 10_000).1, None);
    assert_eq!(chosen(&[61, 200, 90, 130, 300, 65], 10_000).1, None);
}

#[test]
fn a_prompt_below_the_minimum_and_an_assumed_price_get_none() {
    assert_eq!(chosen(&[72; 8], 1_000).1, None);
    let mut gaps = Gaps::default();
    (0..8).for_each(|_| gaps.add(72 * MINUTE));
    let case = MarkCase {
        reused: 10_000,
        added: 0,
        minimum: 1_024,
        rates: CacheRates {
            assumed: true,
            ..RATES
        },
        evidence: Evidence {
            total: 8,
            ..Evidence::default()
        },
        current: None,
    };
    assert_eq!(warming(&case, &gaps, &decide(&case), &TERMS), None);
}

proptest! {
    #[test]
    fn what_is_kept_costs_less_than_every_choice_without_by_more_than_half_of_its_price(
        minutes in prop::collection::vec(1_u64..600, 4..16),
        reused in 1_024_u64..200_000,
    ) {
        let (verdict, warming) = chosen(&minutes, reused);
        if let Some(kept) = warming {
            let all = kept.with.pico() + kept.spent.pico();
            for ttl in [None, Some(CacheTtl::FiveMinutes), Some(CacheTtl::OneHour)] {
                let other = verdict.cost(ttl).expect("it is offered").pico();
                prop_assert!(other > all);
                prop_assert!((other - kept.with.pico()) * 2 > kept.spent.pico() * 3);
            }
            prop_assert!(kept.pings >= 1 && kept.pings <= TERMS.in_row);
        }
    }
}
