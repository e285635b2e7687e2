use super::*;

const fn price(micro: u64) -> PricePerMillion {
    PricePerMillion::from_micro(micro)
}

/// A model at $3 per million: reads at a tenth, writes at 1.25 and 2 times.
fn rates() -> CacheRates {
    CacheRates {
        fresh: price(3_000_000),
        read: price(300_000),
        write_5m: Some(price(3_750_000)),
        write_1h: Some(price(6_000_000)),
        assumed: false,
    }
}

fn evidence(total: u32, within_5m: u32, within_1h: u32) -> Evidence {
    Evidence {
        total,
        within_5m,
        within_1h,
        pooled: false,
    }
}

fn case(evidence: Evidence) -> MarkCase {
    MarkCase {
        reused: 10_000,
        added: 0,
        minimum: 1_024,
        rates: rates(),
        evidence,
        current: None,
    }
}

#[test]
fn a_busy_prefix_is_marked_for_five_minutes_and_a_slow_one_for_an_hour_or_not_at_all() {
    let choice = |evidence| decide(&case(evidence)).ttl;
    assert_eq!(choice(evidence(10, 10, 10)), Some(CacheTtl::FiveMinutes));
    assert_eq!(choice(evidence(10, 1, 10)), Some(CacheTtl::OneHour));
    // A call each 72 minutes finds nothing and would pay for each write.
    assert_eq!(choice(evidence(10, 0, 0)), None);
    // 1.25 / 1.15 of one quarter is where five minutes break even: 22 %.
    assert_eq!(choice(evidence(100, 21, 21)), None);
    assert_eq!(choice(evidence(100, 22, 22)), Some(CacheTtl::FiveMinutes));
    // One gap is too little for the double price of an hour.
    assert_eq!(choice(evidence(1, 0, 1)), None);
    assert_eq!(choice(evidence(2, 0, 2)), Some(CacheTtl::OneHour));
}

#[test]
fn a_prefix_below_the_minimum_is_never_marked() {
    let verdict = decide(&MarkCase {
        minimum: 10_001,
        ..case(evidence(10, 10, 10))
    });
    assert_eq!((verdict.ttl, verdict.reason), (None, MarkReason::TooShort));
    assert_eq!(
        verdict.to_string(),
        "no mark on 10000 tokens: the model caches from 10001 tokens on"
    );
}

#[test]
fn no_discount_means_no_mark_even_as_a_first_guess() {
    for evidence in [Evidence::default(), evidence(9, 9, 9)] {
        let verdict = decide(&MarkCase {
            rates: CacheRates::of(
                &Price {
                    input: price(3_000_000),
                    ..Price::default()
                },
                1,
                true,
            ),
            ..case(evidence)
        });
        assert_eq!(
            (verdict.ttl, verdict.reason),
            (None, MarkReason::NoDiscount)
        );
    }
}

#[test]
fn the_first_call_is_marked_for_five_minutes() {
    let verdict = decide(&case(Evidence::default()));
    assert_eq!(verdict.ttl, Some(CacheTtl::FiveMinutes));
    assert_eq!(verdict.reason, MarkReason::FirstGuess);
}

#[test]
fn a_conversation_that_grows_much_is_marked_only_where_reads_outweigh_the_writes() {
    let growing = |reused, added| MarkCase {
        reused,
        added,
        ..case(evidence(10, 10, 10))
    };
    // Warm: 0.9 saved on what is reused against 0.25 lost on what is new.
    assert_eq!(
        decide(&growing(1_000, 3_000)).ttl,
        Some(CacheTtl::FiveMinutes)
    );
    assert_eq!(decide(&growing(1_000, 4_000)).ttl, None);
}

#[test]
fn a_choice_does_not_flip_around_its_break_even() {
    let marked = |evidence, current| {
        decide(&MarkCase {
            current,
            ..case(evidence)
        })
    };
    let five = Some(CacheTtl::FiveMinutes);
    // 22 % warm saves 0.3 % of the cost: too little to begin, enough to go on.
    assert_eq!(marked(evidence(100, 22, 22), Some(None)).ttl, None);
    assert_eq!(marked(evidence(100, 22, 22), Some(five)).ttl, five);
    // A mark that costs more than none is dropped at once.
    assert_eq!(marked(evidence(100, 21, 21), Some(five)).ttl, None);
    let mut current = Some(None);
    let mut changes = 0;
    for call in 0..200 {
        let warm = 22 + call % 3;
        let next = marked(evidence(100, warm, warm), current).ttl;
        changes += u32::from(current != Some(next));
        current = Some(next);
    }
    assert_eq!(changes, 0);
}

/// Numbers that look random and are the same in each run.
fn numbers() -> impl FnMut(u64) -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    }
}

#[test]
fn no_choice_ever_costs_more_than_no_mark_under_the_observed_gaps() {
    let mut next = numbers();
    let mut marked = 0;
    for _ in 0..200_000 {
        let total = 1 + next(16) as u32;
        let within_1h = next(u64::from(total) + 1) as u32;
        let within_5m = next(u64::from(within_1h) + 1) as u32;
        let fresh = next(10_000_000);
        let case = MarkCase {
            reused: next(200_000),
            added: next(50_000),
            minimum: next(5_000),
            rates: CacheRates {
                fresh: price(fresh),
                read: price(next(fresh + 2)),
                write_5m: (next(9) > 0).then(|| price(next(2 * fresh + 1))),
                write_1h: (next(3) > 0).then(|| price(next(3 * fresh + 1))),
                assumed: false,
            },
            evidence: evidence(total, within_5m, within_1h),
            current: [
                None,
                Some(None),
                Some(Some(CacheTtl::FiveMinutes)),
                Some(Some(CacheTtl::OneHour)),
            ][next(4) as usize],
        };
        let verdict = decide(&case);
        let Some(ttl) = verdict.ttl else { continue };
        marked += 1;
        // Reckoned here call by call, apart from the code under test.
        let write = case.rates.write(ttl).unwrap().micro();
        let mut with = case.reused * write;
        for call in 0..total {
            with += if call < case.evidence.warm(ttl) {
                case.reused * case.rates.read.micro() + case.added * write
            } else {
                (case.reused + case.added) * write
            };
        }
        let without = u64::from(total) * (case.reused + case.added) * fresh;
        assert!(with <= without + case.reused * fresh, "{case:?}");
        // Nor without the first call, which is past when the decision is made.
        assert!(with - case.reused * write <= without, "{case:?}");
        assert!(case.reused + case.added >= case.minimum);
    }
    assert!(marked > 10_000);
}

#[test]
fn a_verdict_names_the_figures_of_all_sides() {
    let said = decide(&case(evidence(10, 9, 10))).to_string();
    assert_eq!(
        said,
        "marks of 1 hour on 10000 tokens: of 10 calls, 9 came back within 5 minutes and 10 within 1 \
         hour; expected per call: no mark $0.030000, marks of 5 minutes $0.009273, marks of 1 hour \
         $0.008182"
    );
}

#[test]
fn costs_that_do_not_fit_lead_to_no_mark() {
    let verdict = decide(&MarkCase {
        reused: u64::MAX,
        added: u64::MAX,
        ..case(evidence(10, 10, 10))
    });
    assert_eq!(verdict.ttl, None);
}
