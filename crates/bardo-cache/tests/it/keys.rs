//! Requests that may have different answers have different keys.

use bardo_cache::key::{Key, KeySource, Steering, key_of};
use bardo_cache::scope::Namespace;
use bardo_types::chat::{ChatRequest, Message, Part, Role, Text};
use bardo_types::hints::RouteHints;
use bardo_types::ids::AccountId;
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;
use bardo_types::privacy::SecurityClass;
use proptest::prelude::*;

use crate::fixtures;
use crate::mutate;

pub(crate) fn namespace() -> Namespace {
    Namespace::agent(&AccountId::parse("acct").unwrap(), "agent")
}

pub(crate) fn key(request: &ChatRequest) -> Key {
    key_with(request, &RouteHints::default(), &[])
}

fn key_with(request: &ChatRequest, hints: &RouteHints, ephemeral: &[String]) -> Key {
    key_of(&KeySource {
        request,
        hints,
        steering: Steering::Raw,
        namespace: &namespace(),
        class: SecurityClass::Standard,
        settings: b"1",
        enrichment: b"",
        unread: b"",
        ephemeral,
    })
}

fn chat(texts: &[(Role, &str)]) -> ChatRequest {
    let mut request = ChatRequest::new(Dialect::Chat, "m");
    for (role, text) in texts {
        let parts = vec![Part::Text(Text::new(*text))];
        request.messages.push(Message::new(*role, parts));
    }
    request
}

#[track_caller]
fn every_change_has_a_key_of_its_own(name: &str, request: &ChatRequest) -> usize {
    let original = key(request);
    let changes = mutate::each(request);
    for (member, is_free, changed) in &changes {
        let same = key(changed) == original;
        assert_eq!(same, *is_free, "{name}: {member}");
    }
    changes.len()
}

#[test]
fn a_change_of_any_member_of_any_fixture_changes_the_key() {
    let mut changes = 0;
    for (name, dialect, body) in fixtures::requests() {
        let request = fixtures::decode(dialect, &body).unwrap();
        changes += every_change_has_a_key_of_its_own(&name, &request);
    }
    assert!(changes > 2_000, "{changes}");
}

#[test]
fn a_change_of_any_member_of_a_request_with_everything_changes_the_key() {
    let mut request = chat(&[
        (Role::System, "You are brief."),
        (
            Role::User,
            "Report for 2026-01-01T00:00:00Z, order 5f0c1a52-9c1e-4f9e-8a52-0d0f6d3f6a11",
        ),
    ]);
    request.sampling.temperature = RawJson::parse("0.0").ok();
    request.stop = vec!["a".into(), "b".into()];
    request.extra = vec![("x".into(), RawJson::parse("1").unwrap())];
    assert!(every_change_has_a_key_of_its_own("everything", &request) > 60);
}

#[test]
fn a_number_is_one_however_it_is_spelled() {
    let of = |temperature: &str, seed: &str| {
        let mut request = chat(&[(Role::User, "hi")]);
        request.sampling.temperature = RawJson::parse(temperature).ok();
        request.sampling.seed = RawJson::parse(seed).ok();
        key(&request)
    };
    for spelling in ["0", "0.0", "-0.0", "0e0", "0.00"] {
        assert_eq!(of(spelling, "1"), of("0", "1"), "{spelling}");
    }
    assert_eq!(of("5e-1", "1"), of("0.5", "1.0"));
    // What differs stays apart, beyond the digits of a float too.
    let apart = [
        of("0", "1"),
        of("0.1", "1"),
        of("\"0\"", "1"),
        of("false", "1"),
        of("0", "9007199254740992"),
        of("0", "9007199254740993"),
        of("0", "1e999"),
    ];
    for (place, one) in apart.iter().enumerate() {
        assert!(!apart[..place].contains(one), "{place}");
    }
}

#[test]
fn times_ids_and_white_space_are_never_normalized() {
    for (one, other) in [
        (
            "Report for 2026-01-01T00:00:00Z",
            "Report for 2026-02-01T00:00:00Z",
        ),
        (
            "order 5f0c1a52-9c1e-4f9e-8a52-0d0f6d3f6a11",
            "order 5f0c1a52-9c1e-4f9e-8a52-0d0f6d3f6a12",
        ),
        ("a:\n  b: 1", "a:\n b: 1"),
        ("a\r\n", "a\n"),
        ("e\u{301}", "\u{e9}"),
        ("I", "l"),
    ] {
        for role in [Role::System, Role::User] {
            assert_ne!(
                key(&chat(&[(role, one)])),
                key(&chat(&[(role, other)])),
                "{one}"
            );
        }
    }
}

#[test]
fn a_stream_and_its_whole_twin_share_a_key_in_all_dialects() {
    let whole = chat(&[(Role::User, "hi")]);
    let expected = key(&whole);
    for dialect in [Dialect::Chat, Dialect::Responses, Dialect::Anthropic] {
        for stream in [false, true] {
            let twin = ChatRequest {
                dialect,
                stream,
                include_usage: stream,
                ..whole.clone()
            };
            assert_eq!(key(&twin), expected, "{dialect:?} {stream}");
        }
    }
}

#[test]
fn the_same_words_in_three_dialects_share_a_key() {
    let bodies: [(Dialect, &[u8]); 3] = [
        (
            Dialect::Chat,
            br#"{"model":"m","max_tokens":9,"temperature":0,"messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"}]}"#,
        ),
        (
            Dialect::Anthropic,
            br#"{"model":"m","max_tokens":9,"temperature":0,"system":"s","messages":[{"role":"user","content":"hi"}],"stream":true}"#,
        ),
        (
            Dialect::Responses,
            br#"{"model":"m","max_output_tokens":9,"temperature":0,"instructions":"s","input":"hi"}"#,
        ),
    ];
    let keys: Vec<Key> = bodies
        .iter()
        .map(|(dialect, body)| key(&fixtures::decode(*dialect, body).unwrap()))
        .collect();
    assert_eq!(keys[0], keys[1]);
    assert_eq!(keys[0], keys[2]);
}

#[test]
fn all_that_is_asked_beside_the_request_is_part_of_the_key() {
    let request = chat(&[(Role::User, "hi")]);
    let hints = RouteHints::default();
    let (here, there) = (
        namespace(),
        Namespace::tenant(&AccountId::parse("acct").unwrap()),
    );
    let asked = KeySource {
        request: &request,
        hints: &hints,
        steering: Steering::Raw,
        namespace: &here,
        class: SecurityClass::Standard,
        settings: b"1",
        enrichment: b"",
        unread: b"",
        ephemeral: &[],
    };
    let profile = bardo_types::profile::InferenceProfile::default();
    let others = [
        KeySource {
            namespace: &there,
            ..asked
        },
        KeySource {
            class: SecurityClass::Private,
            ..asked
        },
        KeySource {
            settings: b"2",
            ..asked
        },
        KeySource {
            enrichment: b"1",
            ..asked
        },
        KeySource {
            settings: b"",
            enrichment: b"1",
            ..asked
        },
        KeySource {
            unread: b"1",
            ..asked
        },
        KeySource {
            steering: Steering::Resolved(&profile),
            ..asked
        },
    ];
    let mut keys: Vec<Key> = others.iter().map(key_of).collect();
    keys.push(key_of(&asked));
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), others.len() + 1);
}

/// Hints that steer, each set to something.
fn steering_hints() -> Vec<(&'static str, RouteHints)> {
    use bardo_types::feature::Feature;
    use bardo_types::hints::IntentHints;
    use bardo_types::intent::Quality;
    use bardo_types::phase::Phase;
    use bardo_types::privacy::TaskClass;
    use bardo_types::profile::InferenceProfile;
    use bardo_types::unit::UnitInterval;

    let of = RouteHints::default;
    let intent = |intent: IntentHints| RouteHints { intent, ..of() };
    let none = IntentHints::default;
    let profile = InferenceProfile {
        temperature: Some(0.5),
        ..InferenceProfile::default()
    };
    let one = Some(UnitInterval::ONE);
    vec![
        (
            "subsystem",
            RouteHints {
                subsystem: Some("risk".into()),
                ..of()
            },
        ),
        (
            "task_class",
            RouteHints {
                task_class: Some(TaskClass::Plan),
                ..of()
            },
        ),
        (
            "profile",
            RouteHints {
                profile: Some(Box::new(profile)),
                ..of()
            },
        ),
        (
            "vitality",
            RouteHints {
                vitality: one,
                ..of()
            },
        ),
        (
            "phase",
            RouteHints {
                phase: Some(Phase::Stable),
                ..of()
            },
        ),
        (
            "sustainability",
            RouteHints {
                sustainability: Some(1.0),
                ..of()
            },
        ),
        (
            "call_index",
            RouteHints {
                call_index: Some(1),
                ..of()
            },
        ),
        (
            "call_count",
            RouteHints {
                call_count: Some(1),
                ..of()
            },
        ),
        (
            "cycle",
            RouteHints {
                cycle: Some(1),
                ..of()
            },
        ),
        (
            "domain",
            RouteHints {
                domain: Some("code".into()),
                ..of()
            },
        ),
        (
            "allow_downgrade",
            RouteHints {
                allow_downgrade: Some(true),
                ..of()
            },
        ),
        (
            "accept_degraded",
            RouteHints {
                accept_degraded: Some(true),
                ..of()
            },
        ),
        (
            "max_cost",
            RouteHints {
                max_cost_micro_usd: Some(1),
                ..of()
            },
        ),
        (
            "stakes",
            RouteHints {
                stakes_micro_usd: Some(1),
                ..of()
            },
        ),
        (
            "intent.model",
            intent(IntentHints {
                model: Some("x".into()),
                ..none()
            }),
        ),
        (
            "intent.require",
            intent(IntentHints {
                require: Some(vec![Feature::Privacy]),
                ..none()
            }),
        ),
        (
            "intent.prefer",
            intent(IntentHints {
                prefer: Some(vec![Feature::Privacy]),
                ..none()
            }),
        ),
        (
            "intent.none",
            intent(IntentHints {
                require: Some(Vec::new()),
                ..none()
            }),
        ),
        (
            "intent.quality",
            intent(IntentHints {
                quality: Some(Quality::High),
                ..none()
            }),
        ),
        (
            "intent.latency",
            intent(IntentHints {
                max_latency_ms: Some(1),
                ..none()
            }),
        ),
        (
            "intent.cost",
            intent(IntentHints {
                cost_sensitivity: one,
                ..none()
            }),
        ),
        (
            "intent.effort",
            intent(IntentHints {
                low_effort: Some(true),
                ..none()
            }),
        ),
    ]
}

#[test]
fn every_hint_that_steers_has_a_key_of_its_own() {
    let request = chat(&[(Role::User, "hi")]);
    let mut keys = vec![("none", key(&request))];
    for (name, hints) in steering_hints() {
        let found = key_with(&request, &hints, &[]);
        for (other, known) in &keys {
            assert_ne!(found, *known, "{name} against {other}");
        }
        keys.push((name, found));
    }
}

#[test]
fn names_of_a_call_leave_the_key_alone() {
    let request = chat(&[(Role::User, "hi")]);
    let named = RouteHints {
        tick: Some(7),
        session: Some("s".into()),
        golem_id: Some("g".into()),
        warnings: vec!["w".into()],
        ..RouteHints::default()
    };
    assert_eq!(key_with(&request, &named, &[]), key(&request));
}

#[test]
fn declared_texts_are_left_out_of_system_texts_alone() {
    let with = |tick: &str, user: &str| {
        let request = chat(&[
            (Role::System, &format!("Tick {tick}. Be brief.")),
            (Role::User, user),
        ]);
        key_with(&request, &RouteHints::default(), &[tick.to_owned()])
    };
    assert_eq!(with("271", "hi"), with("272", "hi"));
    assert_ne!(
        with("271", "at 271"),
        with("272", "at 272"),
        "users' texts stay"
    );
    let undeclared = |tick: &str| key(&chat(&[(Role::System, tick)]));
    assert_ne!(undeclared("271"), undeclared("272"));
}

#[test]
fn a_declared_text_never_makes_two_prompts_one() {
    let system = |text: &str, declared: &[&str]| {
        let declared: Vec<String> = declared.iter().map(|&text| text.to_owned()).collect();
        key_with(
            &chat(&[(Role::System, text)]),
            &RouteHints::default(),
            &declared,
        )
    };
    assert_ne!(
        system("a1b", &["1"]),
        system("ab", &["1"]),
        "its place is kept"
    );
    assert_ne!(system("a1b1", &["1"]), system("ab1", &["1"]));
    assert_ne!(system("1 2", &["1", "2"]), system("2 1", &["1", "2"]));
    assert_eq!(system("1 2", &["1", "2"]), system("3 4", &["3", "4"]));
    assert_ne!(
        system("abc", &[""]),
        system("abd", &[""]),
        "an empty text is nothing"
    );
}

#[test]
fn a_declared_value_is_left_out_of_notes_and_of_the_end_user() {
    let with = |trace: &str, kept: &str, declared: bool| {
        let mut request = chat(&[(Role::User, "hi")]);
        request.end_user = Some(trace.to_owned());
        let notes = format!(r#"{{"trace":"{trace}","team":"{kept}"}}"#);
        request.metadata = RawJson::parse(notes).ok();
        let declared: Vec<String> = declared.then(|| trace.to_owned()).into_iter().collect();
        key_with(&request, &RouteHints::default(), &declared)
    };
    assert_eq!(with("t1", "a", true), with("t2", "a", true));
    assert_ne!(with("t1", "a", true), with("t2", "b", true));
    assert_ne!(with("t1", "a", false), with("t2", "a", false));
}

/// Requests from few letters, so that texts often move over a boundary.
fn small_request() -> impl Strategy<Value = ChatRequest> {
    let text = || {
        prop_oneof![
            Just(""),
            Just("a"),
            Just("b"),
            Just("ab"),
            Just("ba"),
            Just("\0")
        ]
    };
    let role = prop_oneof![Just(Role::System), Just(Role::User), Just(Role::Assistant)];
    let parts = prop::collection::vec(text(), 0..3);
    let message = (role, parts, prop::option::of(text())).prop_map(|(role, parts, name)| {
        let parts = parts.into_iter().map(|text| Part::Text(Text::new(text)));
        let mut message = Message::new(role, parts.collect());
        message.name = name.map(str::to_owned);
        message
    });
    let messages = prop::collection::vec(message, 0..3);
    (
        text(),
        messages,
        prop::collection::vec(text(), 0..3),
        prop::option::of(text()),
    )
        .prop_map(|(model, messages, stop, user)| {
            let mut request = ChatRequest::new(Dialect::Chat, model);
            request.messages = messages;
            request.stop = stop.into_iter().map(str::to_owned).collect();
            request.end_user = user.map(str::to_owned);
            request
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn two_requests_share_a_key_exactly_where_they_are_equal(
        one in small_request(),
        other in small_request(),
    ) {
        prop_assert_eq!(key(&one) == key(&other), one == other);
    }
}
