use super::*;
use crate::limit::Allowance;

const MINUTE: u64 = 60_000;
const HOUR: u64 = 3_600_000;

fn request(now_ms: u64) -> LimitRequest {
    LimitRequest {
        account: AccountId::parse("a").unwrap(),
        key: Some(KeyId::parse("k").unwrap()),
        requests_per_minute: None,
        tokens_per_minute: None,
        allowance: None,
        own_allowance: false,
        tokens: 0,
        now_ms,
    }
}

fn tokens(now_ms: u64, tokens: u64) -> LimitRequest {
    LimitRequest {
        tokens_per_minute: Some(1_000),
        tokens,
        ..request(now_ms)
    }
}

fn allowed(now_ms: u64, tokens: u64, overage: bool) -> LimitRequest {
    LimitRequest {
        allowance: Some(Allowance {
            tokens: 100,
            overage,
        }),
        tokens,
        ..request(now_ms)
    }
}

#[test]
fn a_burst_is_one_minutes_worth_and_then_the_rate_holds() {
    let limits = LocalLimits::default();
    let ask = |now_ms| {
        limits.admit_now(&LimitRequest {
            requests_per_minute: Some(60),
            ..request(now_ms)
        })
    };
    for used in 1..=60 {
        let remaining = ask(0).unwrap().requests.unwrap();
        assert_eq!((remaining.limit, remaining.remaining), (60, 60 - used));
        assert_eq!(remaining.reset_ms, used * 1_000);
    }
    let refused = ask(0).unwrap_err();
    assert_eq!((refused.limit, refused.retry_after_ms), ("requests", 1_000));
    assert_eq!(refused.state.requests.unwrap().remaining, 0);
    assert!(ask(999).is_err());
    assert!(ask(1_000).is_ok());
    assert!(ask(1_000).is_err());
}

#[test]
fn limits_are_per_identity_and_not_per_process() {
    let limits = LocalLimits::default();
    let ask = |account: &str, key: Option<&str>| {
        limits
            .admit_now(&LimitRequest {
                account: AccountId::parse(account).unwrap(),
                key: key.map(|key| KeyId::parse(key).unwrap()),
                requests_per_minute: Some(1),
                ..request(0)
            })
            .is_ok()
    };
    assert!(ask("a", Some("k")));
    assert!(!ask("a", Some("k")));
    assert!(ask("a", Some("l")));
    assert!(ask("a", None));
    assert!(ask("b", None));
}

#[test]
fn tokens_are_taken_on_account_and_corrected_to_the_unit() {
    let limits = LocalLimits::default();
    let admission = limits.admit_now(&tokens(0, 600)).unwrap();
    assert_eq!(admission.reserved_tokens, 600);
    assert_eq!(admission.tokens.unwrap().remaining, 400);
    let refused = limits.admit_now(&tokens(0, 500)).unwrap_err();
    assert_eq!((refused.limit, refused.retry_after_ms), ("tokens", 6_000));
    assert_eq!(refused.state.reserved_tokens, 0);
    limits.correct(&tokens(0, 600), 600, 100, 0);
    assert_eq!(
        limits
            .admit_now(&tokens(0, 500))
            .unwrap()
            .tokens
            .unwrap()
            .remaining,
        400
    );
    // More than was taken on account is owed.
    limits.correct(&tokens(0, 500), 500, 1_400, 0);
    let owed = limits.admit_now(&tokens(0, 1)).unwrap_err();
    assert_eq!(owed.retry_after_ms, 501 * MINUTE / 1_000);
}

#[test]
fn a_request_larger_than_a_minute_goes_when_the_bucket_is_full_and_is_owed_after() {
    let limits = LocalLimits::default();
    let large = tokens(0, 50_000);
    let admission = limits.admit_now(&large).unwrap();
    assert_eq!(admission.reserved_tokens, 1_000);
    limits.correct(&large, 1_000, 3_000, 0);
    assert!(limits.admit_now(&tokens(2 * MINUTE, 1)).is_err());
    assert!(limits.admit_now(&tokens(2 * MINUTE + 60, 1)).is_ok());
}

#[test]
fn nothing_is_taken_from_any_limit_when_one_refuses() {
    let limits = LocalLimits::default();
    let ask = |tokens| {
        limits.admit_now(&LimitRequest {
            requests_per_minute: Some(10),
            tokens_per_minute: Some(100),
            tokens,
            ..request(0)
        })
    };
    assert!(ask(100).is_ok());
    for _ in 0..20 {
        assert_eq!(ask(100).unwrap_err().limit, "tokens");
    }
    assert_eq!(ask(0).unwrap().requests.unwrap().remaining, 8);
}

#[test]
fn a_limit_of_nothing_lets_nobody_in() {
    let limits = LocalLimits::default();
    let refused = limits.admit_now(&LimitRequest {
        requests_per_minute: Some(0),
        ..request(0)
    });
    assert_eq!(refused.unwrap_err().retry_after_ms, MINUTE);
}

#[test]
fn a_changed_limit_holds_from_the_next_request_on() {
    let limits = LocalLimits::default();
    let ask = |limit, now_ms| {
        limits.admit_now(&LimitRequest {
            requests_per_minute: Some(limit),
            ..request(now_ms)
        })
    };
    assert_eq!(ask(100, 0).unwrap().requests.unwrap().remaining, 99);
    assert_eq!(ask(10, 0).unwrap().requests.unwrap().remaining, 9);
    // What a raised limit adds comes with time, and not at once.
    assert_eq!(ask(1_000, 0).unwrap().requests.unwrap().remaining, 8);
}

#[test]
fn an_allowance_is_refused_or_billed_when_it_is_used_up_and_comes_back_with_the_hour() {
    let limits = LocalLimits::default();
    let start = 5 * HOUR + 1_000;
    assert_eq!(
        limits
            .admit_now(&allowed(start, 60, false))
            .unwrap()
            .allowance,
        Some(40)
    );
    assert_eq!(
        limits
            .admit_now(&allowed(start, 60, false))
            .unwrap()
            .allowance,
        Some(0)
    );
    let refused = limits.admit_now(&allowed(start, 60, false)).unwrap_err();
    assert_eq!(
        (refused.limit, refused.retry_after_ms),
        ("allowance", HOUR - 1_000)
    );
    assert_eq!(
        limits
            .admit_now(&allowed(start, 60, true))
            .unwrap()
            .allowance,
        Some(0)
    );
    assert_eq!(
        limits
            .admit_now(&allowed(6 * HOUR, 60, false))
            .unwrap()
            .allowance,
        Some(40)
    );
}

#[test]
fn an_allowance_of_a_key_is_counted_apart_from_its_accounts() {
    let limits = LocalLimits::default();
    let of_key = |key: &str, tokens| LimitRequest {
        key: Some(KeyId::parse(key).unwrap()),
        own_allowance: true,
        ..allowed(HOUR, tokens, false)
    };
    let left = |request: &LimitRequest| limits.admit_now(request).unwrap().allowance;
    assert_eq!(left(&of_key("k1", 60)), Some(40));
    assert_eq!(left(&of_key("k2", 50)), Some(50));
    assert_eq!(left(&allowed(HOUR, 10, false)), Some(90));
    assert_eq!(left(&of_key("k1", 60)), Some(0));
    assert!(limits.admit_now(&of_key("k1", 1)).is_err());
    assert!(limits.admit_now(&of_key("k2", 1)).is_ok());
}

#[test]
fn a_request_without_an_allowance_corrects_no_hour() {
    let limits = LocalLimits::default();
    assert!(limits.admit_now(&allowed(HOUR, 60, false)).is_ok());
    limits.correct(&tokens(HOUR, 40), 40, 0, HOUR);
    let left = limits.admit_now(&allowed(HOUR, 0, false)).unwrap();
    assert_eq!(left.allowance, Some(40));
}

#[test]
fn an_allowance_counts_what_was_used_in_the_end() {
    let limits = LocalLimits::default();
    let asked = allowed(0, 100, false);
    limits.admit_now(&asked).unwrap();
    assert!(limits.admit_now(&asked).is_err());
    limits.correct(&asked, 100, 30, 10);
    assert_eq!(
        limits.admit_now(&allowed(10, 0, false)).unwrap().allowance,
        Some(70)
    );
    // What ends in the next hour began in the one before.
    limits.correct(&asked, 100, 1_000, HOUR);
    assert_eq!(
        limits
            .admit_now(&allowed(HOUR, 0, false))
            .unwrap()
            .allowance,
        Some(100)
    );
}

#[test]
fn simultaneous_requests_share_one_count() {
    let limits = LocalLimits::default();
    let let_in: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    (0..100)
                        .filter(|_| {
                            limits
                                .admit_now(&LimitRequest {
                                    requests_per_minute: Some(37),
                                    ..request(0)
                                })
                                .is_ok()
                        })
                        .count()
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert_eq!(let_in, 37);
}

#[test]
fn the_number_of_identities_is_bounded_and_those_who_are_limited_are_kept_longest() {
    let limits = LocalLimits::new(SHARDS * 8);
    let ask = |key: usize, now_ms| {
        limits.admit_now(&LimitRequest {
            key: Some(KeyId::parse(&format!("k{key}")).unwrap()),
            requests_per_minute: Some(1),
            ..request(now_ms)
        })
    };
    assert!(ask(0, 0).is_ok());
    for key in 1..1_000 {
        // A minute apart, so that each bucket is full again when the next comes, but for the first.
        ask(key, key as u64 * MINUTE).unwrap();
        let _ = ask(0, key as u64 * MINUTE);
        assert!(limits.identities() <= SHARDS * 8);
    }
    assert!(ask(0, 999 * MINUTE + 1).is_err());
    for key in 1_000..2_000 {
        ask(key, 1_000 * MINUTE).unwrap();
        assert!(limits.identities() <= SHARDS * 8);
    }
}
