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
fn a_model_is_allowed_by_either_of_its_names() {
    let check = |models: &[&str], requested: &str, catalog: Option<&str>, is_allowed: bool| {
        assert_eq!(
            scopes(models, &[], &[]).allows_model(requested, catalog),
            is_allowed,
            "{models:?} {requested} {catalog:?}"
        );
    };
    check(&[], "anything", None, true);
    check(&["gpt-5.5"], "gpt-5.5", None, true);
    check(&["gpt-5.5"], "my-alias", Some("gpt-5.5"), true);
    check(&["my-alias"], "my-alias", Some("gpt-5.5"), true);
    check(&["gpt-5.5"], "gpt-5.5-mini", Some("gpt-5.5-mini"), false);
    check(&["claude-*"], "claude-sonnet-5-5", None, true);
    check(&["claude-*"], "gpt-5.5", Some("gpt-5.5"), false);
    check(&["*"], "gpt-5.5", None, true);
    // Only a trailing star is one.
    check(&["*-mini"], "gpt-5.5-mini", None, false);
    check(&[""], "gpt-5.5", None, false);
}

#[test]
fn a_backend_is_allowed_by_its_name_or_its_family() {
    let check = |backends: &[&str], backend: &str, is_allowed: bool| {
        assert_eq!(
            scopes(&[], backends, &[]).allows_backend(backend),
            is_allowed,
            "{backends:?} {backend}"
        );
    };
    check(&[], "venice", true);
    check(&["direct"], "direct/openai", true);
    check(&["direct/openai"], "direct/openai", true);
    check(&["direct/openai"], "direct/openai#2", true);
    check(&["direct/openai#2"], "direct/openai#2", true);
    check(&["direct/openai#2"], "direct/openai", false);
    check(&["direct/openai"], "direct/anthropic", false);
    check(&["direct/openai"], "direct", false);
    check(&["openrouter"], "venice", false);
}

#[test]
fn a_key_may_be_bound_to_networks() {
    let bound = scopes(&[], &[], &["10.0.0.0/8", "::1"]);
    for (address, is_allowed) in [
        ("10.2.3.4", true),
        ("::ffff:10.2.3.4", true),
        ("::1", true),
        ("127.0.0.1", false),
        ("2001:db8::1", false),
    ] {
        assert_eq!(
            bound.allows_address(address.parse().unwrap()),
            is_allowed,
            "{address}"
        );
    }
    assert!(Scopes::default().allows_address("2001:db8::1".parse().unwrap()));
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

#[test]
fn what_is_not_understood_is_not_taken_for_unrestricted() {
    for bad in [
        "",
        "null",
        "[]",
        r#"{"model":["a"]}"#,
        r#"{"networks":["nowhere"]}"#,
        r#"{"day_micro_usd":-1}"#,
        r#"{"day_micro_usd":0.5}"#,
    ] {
        assert!(Scopes::from_json(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_key_ends_at_its_time_and_what_is_taken_back_stays_so() {
    let record = |expires, revoked| KeyRecord {
        id: KeyId::parse("k").unwrap(),
        account: AccountId::parse("a").unwrap(),
        kind: KeyKind::Spend,
        name: String::new(),
        hash: String::new(),
        scopes: Scopes::default(),
        tier: None,
        spread: None,
        created_at_ms: 0,
        expires_at_ms: expires,
        revoked_at_ms: revoked,
        replaces: None,
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
