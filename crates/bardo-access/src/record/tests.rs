use super::*;

fn scopes(models: &[&str], backends: &[&str], networks: &[&str]) -> Scopes {
    let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
    Scopes {
        models: owned(models),
        backends: owned(backends),
        networks: networks.iter().map(|text| text.parse().unwrap()).collect(),
        ..Scopes::default()
    }
}

#[test]
fn scopes_read_back_as_they_were_written() {
    let full = Scopes {
        requests_per_minute: Some(7),
        tokens_per_minute: Some(u64::MAX),
        spend: SpendCaps {
            session: Some(MicroUsd::new(1)),
            day: Some(MicroUsd::new(2)),
            month: Some(MicroUsd::new(3)),
            total: Some(MicroUsd::MAX),
        },
        subsystem_caps: [("dream_rem".to_owned(), MicroUsd::new(250_000))].into(),
        allowance: Some(Allowance {
            tokens: 50_000,
            overage: false,
        }),
        ranges: CapRanges {
            day: CapRange::new(MicroUsd::ZERO, MicroUsd::new(2)),
            month: CapRange::new(MicroUsd::new(3), MicroUsd::new(3)),
        },
        cache: Some(CachePermission::Semantic),
        ..scopes(
            &["a*", "b\"c"],
            &["direct"],
            &["10.0.0.0/8", "2001:db8::/32"],
        )
    };
    for scopes in [Scopes::default(), full] {
        assert_eq!(Scopes::from_json(&scopes.to_json()), Ok(scopes));
    }
    assert_eq!(Scopes::default().to_json(), "{}");
}

/// This text was taken from a database of version 0.1.
#[test]
fn scopes_of_earlier_databases_are_read() {
    let text = r#"{"backends":["direct/openai"],"models":["claude-*"],"networks":["10.0.0.0/8","2001:db8::/32"],"requests_per_minute":60,"spend_day":5000000,"spend_month":6,"spend_session":7,"spend_total":8,"tokens_per_minute":9}"#;
    let expected = Scopes {
        requests_per_minute: Some(60),
        tokens_per_minute: Some(9),
        spend: SpendCaps {
            session: Some(MicroUsd::new(7)),
            day: Some(MicroUsd::new(5_000_000)),
            month: Some(MicroUsd::new(6)),
            total: Some(MicroUsd::new(8)),
        },
        ..scopes(
            &["claude-*"],
            &["direct/openai"],
            &["10.0.0.0/8", "2001:db8::/32"],
        )
    };
    assert_eq!(Scopes::from_json(text), Ok(expected));
}

#[test]
fn a_range_holds_its_ends_and_never_an_absent_cap() {
    let micro = |amount| Some(MicroUsd::new(amount));
    let range = CapRange::new(MicroUsd::new(2), MicroUsd::new(5)).unwrap();
    let held: Vec<bool> = [micro(1), micro(2), micro(5), micro(6), None]
        .map(|cap| range.holds(cap))
        .into();
    assert_eq!(held, [false, true, true, false, false]);
    assert_eq!(CapRange::new(MicroUsd::new(2), MicroUsd::new(1)), None);
}

#[test]
fn what_is_not_understood_is_not_taken_for_unrestricted() {
    for bad in [
        "",
        "null",
        "[]",
        r#"{"model":["a"]}"#,
        r#"{"networks":["nowhere"]}"#,
        r#"{"spend_day":-1}"#,
        r#"{"spend_day":0.5}"#,
        r#"{"spend_day_range":[2,1]}"#,
        r#"{"spend_day_range":[2]}"#,
        r#"{"allowance":{"tokens":1}}"#,
        r#"{"cache":"on"}"#,
    ] {
        assert!(Scopes::from_json(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_key_ends_at_its_time_and_what_is_taken_back_stays_so() {
    let record = |expires, revoked| KeyRecord {
        expires_at_ms: expires,
        revoked_at_ms: revoked,
        ..sample()
    };
    for (expires, revoked, state) in [
        (None, None, KeyState::Active),
        (Some(101), None, KeyState::Active),
        (Some(100), None, KeyState::Expired),
        (None, Some(101), KeyState::Active),
        (None, Some(100), KeyState::Revoked),
        (Some(1), Some(2), KeyState::Revoked),
    ] {
        assert_eq!(
            record(expires, revoked).state(100),
            state,
            "{expires:?} {revoked:?}"
        );
    }
}
