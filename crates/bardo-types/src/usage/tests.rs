use super::*;
use crate::model::LongContext;
use crate::money::MicroUsd;

const fn per_million(micro: u64) -> PricePerMillion {
    PricePerMillion::from_micro(micro)
}

fn opus() -> Price {
    Price {
        input: per_million(5_000_000),
        output: per_million(25_000_000),
        cache_read: Some(per_million(500_000)),
        cache_write_5m: Some(per_million(6_250_000)),
        cache_write_1h: Some(per_million(10_000_000)),
        ..Price::default()
    }
}

#[track_caller]
fn check(usage: Usage, price: &Price, pico: u128) {
    assert_eq!(usage.cost(price).map(ExactCost::pico), Some(pico));
}

#[test]
fn snapshots_replace_and_never_add() {
    let mut usage = Usage {
        fresh_input: 10,
        cache_read: 5,
        output: 1,
        ..Usage::default()
    };
    usage.supersede(&Usage {
        output: 89,
        reasoning: Some(10),
        ..Usage::default()
    });
    assert_eq!(
        usage,
        Usage {
            fresh_input: 10,
            cache_read: 5,
            output: 89,
            reasoning: Some(10),
            ..Usage::default()
        }
    );
}

#[test]
fn tokens_that_a_later_snapshot_finds_in_the_cache_are_not_counted_twice() {
    let mut usage = Usage {
        fresh_input: 100,
        cache_write_1h: 7,
        ..Usage::default()
    };
    usage.supersede(&Usage {
        cache_read: 107,
        output: 3,
        ..Usage::default()
    });
    assert_eq!(
        usage,
        Usage {
            cache_read: 107,
            output: 3,
            ..Usage::default()
        }
    );
}

#[test]
fn each_class_is_priced_once_and_none_is_left_out() {
    let usage = Usage {
        fresh_input: 10,
        cache_read: 1000,
        cache_write_5m: 100,
        cache_write_1h: 1,
        output: 5,
        reasoning: Some(4),
        ..Usage::default()
    };
    assert_eq!(usage.prompt(), 1111);
    check(
        usage,
        &opus(),
        10 * 5_000_000 + 1000 * 500_000 + 100 * 6_250_000 + 10_000_000 + 5 * 25_000_000,
    );
}

#[test]
fn parts_leave_their_whole_only_where_they_have_a_price() {
    let usage = Usage {
        fresh_input: 100,
        output: 60,
        reasoning: Some(20),
        audio_input: Some(30),
        audio_output: Some(10),
        ..Usage::default()
    };
    let plain = Price {
        input: per_million(2),
        output: per_million(7),
        ..Price::default()
    };
    check(usage.clone(), &plain, 100 * 2 + 60 * 7);
    let own = Price {
        audio_input: Some(per_million(11)),
        audio_output: Some(per_million(13)),
        reasoning: Some(per_million(3)),
        ..plain
    };
    check(usage, &own, 70 * 2 + 30 * 11 + 30 * 7 + 10 * 13 + 20 * 3);
}

#[test]
fn a_part_beyond_its_whole_is_cut_to_it() {
    let usage = Usage {
        fresh_input: 5,
        output: 5,
        reasoning: Some(u64::MAX),
        audio_input: Some(9),
        audio_output: Some(3),
        ..Usage::default()
    };
    let price = Price {
        input: per_million(1),
        output: per_million(1),
        audio_input: Some(per_million(2)),
        audio_output: Some(per_million(3)),
        reasoning: Some(per_million(4)),
        ..Price::default()
    };
    check(usage, &price, 5 * 2 + 3 * 3 + 2 * 4);
}

#[test]
fn searches_and_the_request_itself_have_flat_prices() {
    let price = Price {
        web_search: Some(MicroUsd::new(10_000)),
        request: Some(MicroUsd::new(2_000)),
        ..Price::default()
    };
    let usage = Usage {
        web_searches: Some(3),
        ..Usage::default()
    };
    check(usage, &price, 32_000 * 1_000_000);
    check(Usage::default(), &price, 2_000 * 1_000_000);
}

#[test]
fn unlisted_cache_prices_are_never_below_the_real_ones() {
    let price = Price {
        input: per_million(3),
        ..Price::default()
    };
    let of = |usage: Usage| usage.cost(&price).unwrap().pico();
    let read = of(Usage {
        cache_read: 4,
        ..Usage::default()
    });
    let short = of(Usage {
        cache_write_5m: 4,
        ..Usage::default()
    });
    let long = of(Usage {
        cache_write_1h: 4,
        ..Usage::default()
    });
    // 1.25 times 3 is 3.75, rounded up to a price of 4.
    assert_eq!((read, short, long), (12, 16, 24));
}

#[test]
fn a_long_prompt_reprices_the_whole_request() {
    let price = Price {
        long_context: Some(LongContext {
            above: 200_000,
            input: per_million(10_000_000),
            output: per_million(37_500_000),
            cache_read: Some(per_million(1_000_000)),
            ..LongContext::default()
        }),
        ..opus()
    };
    let usage = |cache_read| Usage {
        fresh_input: 100_000,
        cache_read,
        output: 1,
        ..Usage::default()
    };
    check(
        usage(100_000),
        &price,
        100_000 * 5_000_000 + 100_000 * 500_000 + 25_000_000,
    );
    check(
        usage(100_001),
        &price,
        100_000 * 10_000_000 + 100_001 * 1_000_000 + 37_500_000,
    );
}

#[test]
fn what_does_not_fit_has_no_cost() {
    let dear = Price {
        input: per_million(u64::MAX),
        ..Price::default()
    };
    let usage = Usage {
        cache_write_1h: 1,
        ..Usage::default()
    };
    assert_eq!(usage.cost(&dear), None);
}

#[test]
fn a_cache_saves_what_its_reads_cost_less_than_the_premium_of_its_writes() {
    let price = Price {
        cache_read: Some(per_million(1_000_000)),
        cache_write_5m: Some(per_million(20_000_000)),
        ..opus()
    };
    let usage = |cache_read, cache_write_5m| Usage {
        fresh_input: 100,
        cache_read,
        cache_write_5m,
        output: 10,
        ..Usage::default()
    };
    let saved = |usage: Usage| usage.cache_savings(&price).unwrap().get();
    let each = i64::try_from(opus().input.micro() / 1_000_000).unwrap();
    assert_eq!(saved(usage(0, 0)), 0);
    assert_eq!(saved(usage(1_000, 0)), 1_000 * (each - 1));
    let premium = 1_000 * (20 - each);
    assert_eq!(saved(usage(0, 1_000)), -premium);
    assert_eq!(saved(usage(1_000, 1_000)), 1_000 * (each - 1) - premium);
}
