mod promise;

use proptest::prelude::*;

use super::*;

fn micro(amount: u64) -> MicroUsd {
    MicroUsd::new(amount)
}

fn rate(usd_per_million: u64) -> PricePerMillion {
    PricePerMillion::from_micro(usd_per_million * 1_000_000)
}

/// 3 and 15 USD per million, no spread, 64,000 tokens of output.
fn strong() -> HoldCandidate {
    HoldCandidate {
        price: Price {
            input: rate(3),
            output: rate(15),
            ..Price::default()
        },
        spread: BasisPoints::ZERO,
        max_output: 64_000,
        context_window: None,
        unseen: false,
    }
}

fn ask(candidates: &[HoldCandidate], available: u64) -> HoldQuery<'_> {
    HoldQuery {
        prompt_tokens: 1_000,
        max_tokens: None,
        lowers: false,
        searches: 0,
        streamed: true,
        candidates,
        available: micro(available),
        one_request: false,
    }
}

fn hold(amount: u64, output_tokens: u64, bound: Bound) -> Sizing {
    Sizing::Hold(HoldPlan {
        amount: micro(amount),
        output_tokens,
        bound,
        limit: (bound == Bound::Imposed).then_some(output_tokens),
    })
}

/// A stream that grows, and the limit that it gets.
fn growing(amount: u64, output_tokens: u64, limit: u64) -> Sizing {
    Sizing::Hold(HoldPlan {
        amount: micro(amount),
        output_tokens,
        bound: Bound::Growing,
        limit: Some(limit),
    })
}

fn short(needed: u64, available: u64, max_tokens: Option<u64>) -> Sizing {
    Sizing::Short {
        needed: micro(needed),
        available: micro(available),
        max_tokens,
    }
}

#[test]
fn a_limit_of_the_caller_is_held_in_full_or_refused_with_what_would_fit() {
    for streamed in [true, false] {
        let of = |max_tokens, available| {
            size(&HoldQuery {
                max_tokens: Some(max_tokens),
                streamed,
                ..ask(&[strong()], available)
            })
        };
        // 1,000 × 3 + 2,000 × 15
        assert_eq!(of(2_000, 33_000), hold(33_000, 2_000, Bound::Own));
        assert_eq!(of(2_000, 32_999), short(33_000, 32_999, Some(1_999)));
        assert_eq!(of(2_000, 3_015), short(33_000, 3_015, Some(1)));
        assert_eq!(of(2_000, 3_014), short(33_000, 3_014, None));
        assert_eq!(of(2_000, 0), short(33_000, 0, None));
        // Nobody answers more than the model can.
        let most = 3_000 + 64_000 * 15;
        assert_eq!(of(u64::MAX, 5_000_000), hold(most, 64_000, Bound::Own));
        assert_eq!(of(0, 5_000), hold(3_000, 0, Bound::Own));
    }
}

#[test]
fn a_limit_that_the_caller_did_not_write_is_lowered_to_what_the_account_pays() {
    let of = |streamed, unseen, available| {
        let candidates = [HoldCandidate { unseen, ..strong() }];
        size(&HoldQuery {
            max_tokens: Some(20_000),
            lowers: true,
            streamed,
            ..ask(&candidates, available)
        })
    };
    let whole = 3_000 + 20_000 * 15;
    let (slice, least) = (3_000 + 4_096 * 15, 3_000 + 256 * 15);
    for (streamed, unseen) in [(false, false), (false, true), (true, true), (true, false)] {
        // What fits is held as a limit of the caller is.
        assert_eq!(of(streamed, unseen, whole), hold(whole, 20_000, Bound::Own));
        assert_eq!(
            of(streamed, unseen, least - 1),
            short(least, least - 1, Some(255))
        );
    }
    assert_eq!(of(true, false, whole - 1), growing(slice, 4_096, 19_999));
    for streamed in [false, true] {
        // Room for thinking comes before a quarter of the account.
        let of = |available| of(streamed, true, available);
        assert_eq!(
            of(whole - 1),
            hold(3_000 + 4_849 * 15, 4_849, Bound::Imposed)
        );
        assert_eq!(of(slice), hold(slice, 4_096, Bound::Imposed));
        assert_eq!(of(slice - 1), hold(slice - 15, 4_095, Bound::Imposed));
        assert_eq!(of(least), hold(least, 256, Bound::Imposed));
    }
}

#[test]
fn a_stream_without_a_limit_begins_with_a_slice() {
    let of = |available| size(&ask(&[strong()], available));
    let slice = 3_000 + 4_096 * 15;
    assert_eq!(of(10_000_000), hold(slice, 4_096, Bound::Growing));
    // Where the account does not pay for the longest answer, the stream gets what it pays for.
    let longest = 3_000 + 64_000 * 15;
    assert_eq!(of(longest), hold(slice, 4_096, Bound::Growing));
    assert_eq!(of(longest - 1), growing(slice, 4_096, 63_999));
    assert_eq!(of(slice), growing(slice, 4_096, 4_096));
    // A small balance begins with a smaller one, down to 256 tokens.
    assert_eq!(of(slice - 1), growing(slice - 15, 4_095, 4_095));
    let least = 3_000 + 256 * 15;
    assert_eq!(of(least), growing(least, 256, 256));
    assert_eq!(of(least - 1), short(least, least - 1, Some(255)));
    assert_eq!(of(100), short(least, 100, None));
}

#[test]
fn a_stream_of_a_model_with_short_answers_needs_no_growth() {
    let brief = |max_output| HoldCandidate {
        max_output,
        ..strong()
    };
    let of = |max_output, available| size(&ask(&[brief(max_output)], available));
    assert_eq!(
        of(4_096, 1_000_000),
        hold(3_000 + 4_096 * 15, 4_096, Bound::Own)
    );
    assert_eq!(of(100, 1_000_000), hold(4_500, 100, Bound::Own));
    assert_eq!(of(100, 4_499), short(4_500, 4_499, Some(99)));
    assert_eq!(of(1_000, 8_000), growing(7_995, 333, 333));
}

#[test]
fn a_stream_of_a_model_that_reasons_unseen_holds_all_that_it_may_come_to() {
    let unseen = HoldCandidate {
        unseen: true,
        ..strong()
    };
    for candidates in [&[unseen][..], &[strong(), unseen]] {
        for available in [1_000_000, 963_000, 300_000, 6_840, 0] {
            let ask = ask(candidates, available);
            let whole = HoldQuery {
                streamed: false,
                ..ask
            };
            assert_eq!(size(&ask), size(&whole), "{available}");
        }
    }
    let of = |available| size(&ask(&[unseen], available));
    assert_eq!(of(963_000), hold(240_750, 15_850, Bound::Imposed));
    // Less than a slice is worth little to a model that thinks first.
    assert_eq!(of(100_000), hold(64_440, 4_096, Bound::Imposed));
    assert_eq!(of(10_000), hold(9_990, 466, Bound::Imposed));
}

#[test]
fn a_whole_answer_without_a_limit_gets_one_that_the_account_bears() {
    let of = |available| {
        size(&HoldQuery {
            streamed: false,
            ..ask(&[strong()], available)
        })
    };
    let worst = 3_000 + 64_000 * 15;
    assert_eq!(of(4 * worst), hold(worst, 64_000, Bound::Own));
    // A quarter of the account: 240,750 are 15,850 tokens.
    assert_eq!(of(4 * worst - 4), hold(worst - 15, 63_999, Bound::Imposed));
    assert_eq!(of(963_000), hold(240_750, 15_850, Bound::Imposed));
    // Never less than the prompt and 256 tokens, as long as there is that much at all.
    let least = 3_000 + 256 * 15;
    assert_eq!(of(4 * least - 1), hold(least, 256, Bound::Imposed));
    assert_eq!(of(least), hold(least, 256, Bound::Imposed));
    assert_eq!(of(least - 1), short(least, least - 1, Some(255)));
}

#[test]
fn money_for_one_request_may_all_be_held_for_it() {
    let of = |available| {
        size(&HoldQuery {
            streamed: false,
            one_request: true,
            ..ask(&[strong()], available)
        })
    };
    let worst = 3_000 + 64_000 * 15;
    assert_eq!(of(worst), hold(worst, 64_000, Bound::Own));
    assert_eq!(of(worst - 1), hold(worst - 15, 63_999, Bound::Imposed));
}

#[test]
fn the_dearest_of_prices_and_candidates_counts() {
    let with = |price: Price, spread: u32| HoldCandidate {
        price: Price {
            input: rate(1),
            output: rate(1),
            ..price
        },
        spread: BasisPoints::new(spread).unwrap(),
        max_output: 1_000,
        context_window: None,
        unseen: false,
    };
    let of = |candidates: &[HoldCandidate]| {
        let sizing = size(&HoldQuery {
            max_tokens: Some(1_000),
            searches: 3,
            ..ask(candidates, u64::MAX / 4)
        });
        let Sizing::Hold(plan) = sizing else {
            unreachable!("there is enough: {sizing:?}")
        };
        plan.amount.get()
    };
    let plain = with(Price::default(), 0);
    assert_eq!(of(&[plain]), 2_000);
    let priced = |price| of(&[with(price, 0)]);
    let five = Some(rate(5));
    for price in [
        Price {
            cache_write_5m: five,
            ..Price::default()
        },
        Price {
            cache_write_1h: five,
            ..Price::default()
        },
        Price {
            audio_input: five,
            ..Price::default()
        },
        Price {
            reasoning: five,
            ..Price::default()
        },
        Price {
            audio_output: five,
            ..Price::default()
        },
    ] {
        assert_eq!(priced(price), 6_000, "{price:?}");
    }
    let flat = Some(micro(10));
    assert_eq!(
        priced(Price {
            request: flat,
            ..Price::default()
        }),
        2_010
    );
    assert_eq!(
        priced(Price {
            web_search: flat,
            ..Price::default()
        }),
        2_030
    );
    let dear = with(Price::default(), 2_500);
    assert_eq!(of(&[plain, dear]), 2_500);
    assert_eq!(of(&[dear, plain]), 2_500);
    let narrow = HoldCandidate {
        context_window: Some(100),
        ..dear
    };
    assert_eq!(of(&[narrow]), 1_375, "it refuses more than it can read");
}

#[test]
fn what_is_free_holds_nothing_and_what_cannot_be_counted_is_refused() {
    let free = HoldCandidate {
        price: Price::default(),
        ..strong()
    };
    assert_eq!(size(&ask(&[free], 0)), hold(0, 4_096, Bound::Growing));
    let slices = Slices::of(&free).unwrap();
    assert_eq!(slices.next(micro(0), micro(0)), None);
    assert!(!slices.is_spent(micro(0), micro(0)));
    let dear = HoldCandidate {
        price: Price {
            input: PricePerMillion::from_micro(u64::MAX),
            ..Price::default()
        },
        ..strong()
    };
    let alone = [dear];
    let huge = HoldQuery {
        prompt_tokens: u64::MAX,
        ..ask(&alone, 1_000)
    };
    assert_eq!(size(&huge), Sizing::OutOfRange);
    assert_eq!(size(&ask(&[], 1_000)), Sizing::OutOfRange);
    let mixed = [strong(), dear];
    let huge = HoldQuery {
        prompt_tokens: u64::MAX,
        ..ask(&mixed, 1_000)
    };
    assert_eq!(size(&huge), Sizing::OutOfRange);
}

#[test]
fn a_stream_holds_more_before_it_needs_it() {
    let slices = Slices::of(&strong()).unwrap();
    let slice = 4_096 * 15;
    let near = slice / 4;
    assert_eq!(slices.next(micro(0), micro(slice)), None);
    assert_eq!(slices.next(micro(slice - near - 1), micro(slice)), None);
    assert_eq!(
        slices.next(micro(slice - near), micro(slice)),
        Some(micro(slice))
    );
    assert_eq!(slices.next(micro(slice), micro(slice)), Some(micro(slice)));
    // A large chunk went beyond what was held.
    let jumped = slices.next(micro(slice + 70_000), micro(slice));
    assert_eq!(jumped, Some(micro(70_000 + slice)));
    let most = micro(MicroUsd::MAX.get());
    assert_eq!(slices.next(most, micro(0)), None, "no such amount");
}

#[test]
fn the_last_of_an_account_is_taken_and_then_the_stream_ends() {
    let slices = Slices::of(&strong()).unwrap();
    let (slice, least) = (4_096 * 15, 256 * 15);
    assert_eq!(slices.last(micro(10 * slice)), Some(micro(slice)));
    assert_eq!(slices.last(micro(9_999)), Some(micro(9_999)));
    assert_eq!(slices.last(micro(least)), Some(micro(least)));
    assert_eq!(slices.last(micro(least - 1)), None);
    assert!(!slices.is_spent(micro(99), micro(100)));
    assert!(slices.is_spent(micro(100), micro(100)));
}

proptest! {
    /// Against a search that tries every length.
    #[test]
    fn what_is_held_fits_and_nothing_longer_would(
        input in 0..50_u64,
        output in 0..50_u64,
        spread in 0..3_000_u32,
        prompt_tokens in 0..3_000_u64,
        limit in 0..300_u64,
        available in 0..40_000_u64,
    ) {
        let candidate = HoldCandidate {
            price: Price { input: rate(input), output: rate(output), ..Price::default() },
            spread: BasisPoints::new(spread).unwrap(),
            max_output: 1_000,
            context_window: None,
            unseen: false,
        };
        let candidates = [candidate];
        let ask = HoldQuery {
            prompt_tokens,
            max_tokens: Some(limit),
            ..ask(&candidates, available)
        };
        // Whole 10⁻⁶ USD, rounded up at the end alone.
        let cost = |tokens: u64| {
            ((prompt_tokens * input + tokens * output) * u64::from(10_000 + spread)).div_ceil(10_000)
        };
        match size(&ask) {
            Sizing::Hold(plan) => {
                prop_assert_eq!(plan.amount.get(), cost(limit));
                prop_assert!(cost(limit) <= available);
            }
            Sizing::Short { needed, max_tokens, .. } => {
                prop_assert_eq!(needed.get(), cost(limit));
                prop_assert!(cost(limit) > available);
                let fitting = (1..limit).rev().find(|tokens| cost(*tokens) <= available);
                prop_assert_eq!(max_tokens, fitting);
            }
            Sizing::OutOfRange => prop_assert!(false, "nothing is out of range here"),
        }
    }

    #[test]
    fn no_hold_is_more_than_the_account(
        prompt_tokens in 0..200_000_u64,
        available in 0..2_000_000_u64,
        streamed: bool,
    ) {
        let candidates = [strong()];
        let ask = HoldQuery { prompt_tokens, streamed, ..ask(&candidates, available) };
        match size(&ask) {
            Sizing::Hold(plan) => {
                prop_assert!(plan.amount <= ask.available);
                prop_assert!(plan.output_tokens >= MIN_SLICE_TOKENS);
            }
            Sizing::Short { needed, .. } => {
                prop_assert_eq!(needed.get(), prompt_tokens * 3 + 256 * 15);
                prop_assert!(needed > ask.available);
            }
            Sizing::OutOfRange => prop_assert!(false, "nothing is out of range here"),
        }
    }
}
