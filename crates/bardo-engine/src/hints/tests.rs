use bardo_cache::policy::Wish;
use bardo_types::feature::Feature;
use bardo_types::intent::Quality;
use bardo_types::phase::Phase;
use bardo_types::privacy::{SecurityClass, TaskClass};
use bardo_types::unit::UnitInterval;

use super::Hints;

fn of_body(json: &str) -> Hints {
    let mut hints = Hints::default();
    hints.body(json).unwrap();
    hints
}

fn warnings(hints: &Hints) -> &[String] {
    hints.route.as_ref().map_or(&[], |route| &route.warnings)
}

#[test]
fn the_body_wins_over_headers() {
    let mut hints = Hints::default();
    hints.header("require", "vision, tools");
    hints.header("vitality", "0.9");
    assert_eq!(hints.require, ["vision", "tools"]);
    hints
        .body(r#"{"intent":{"require":["citations"]},"metadata":true,"vitality":0.3,"session_id":" s1 "}"#)
        .unwrap();
    assert_eq!(hints.require, ["citations"]);
    assert!(hints.metadata);
    assert_eq!(hints.session.as_deref(), Some("s1"));
    let route = hints.route.unwrap();
    assert_eq!(route.vitality, UnitInterval::new(0.3));
    assert_eq!(route.intent.require, Some(vec![Feature::Citations]));
    assert!(route.warnings.is_empty());
}

#[test]
fn headers_and_body_say_the_same() {
    let headers = [
        ("subsystem", "dream_rem"),
        ("task-class", "DreamRem"),
        ("security-class", "TEE"),
        ("intent-quality", "high"),
        ("intent-prefer", "visible_thinking,private"),
        ("intent-max-latency-ms", "2000"),
        ("cost-sensitivity", "0.5"),
        ("vitality", "0.25"),
        ("phase", "declining"),
        ("sustainability", "1.5"),
        ("tick", "42"),
        ("golem-id", "g1"),
        ("call-index", "2"),
        ("allow-downgrade", "true"),
        ("accept-degraded", "false"),
        ("max-cost-usd", "0.25"),
        ("profile", r#"{"temperature":0.9,"seed":7}"#),
    ];
    let mut by_header = Hints::default();
    for (name, value) in headers {
        by_header.header(name, value);
    }
    let by_body = of_body(
        r#"{"subsystem":"dream_rem","task_class":"dream_rem","security_class":"tee",
        "intent":{"quality":"high","prefer":["visible_thinking","privacy"],"max_latency_ms":2000,"cost_sensitivity":0.5},
        "vitality":0.25,"phase":"desperate","sustainability":1.5,"tick":42,"golem_id":"g1","call_index":2,
        "allow_downgrade":true,"accept_degraded":false,"max_cost_usd":0.25,
        "profile":{"temperature":0.9,"seed":7},"regime":null,"domain":null}"#,
    );
    assert_eq!(by_header, by_body);
    let route = by_body.route.unwrap();
    assert_eq!(route.task_class, Some(TaskClass::DreamRem));
    assert_eq!(route.security_class, Some(SecurityClass::Tee));
    assert_eq!(route.intent.quality, Some(Quality::High));
    assert_eq!(route.phase, Some(Phase::Desperate));
    assert_eq!(route.max_cost_micro_usd, Some(250_000));
    assert_eq!(route.profile.unwrap().temperature, Some(0.9));
    assert!(route.warnings.is_empty());
}

#[test]
fn nonsense_is_neutral_and_said() {
    for (json, said) in [
        (
            r#"{"vitality":"NaN"}"#,
            "vitality NaN was ignored: it must be a number between 0 and 1",
        ),
        (
            r#"{"sustainability":-1}"#,
            "sustainability -1 was ignored: it must be 0 or more",
        ),
        (
            r#"{"intent":{"cost_sensitivity":"inf"}}"#,
            "cost_sensitivity inf was ignored: it must be a number between 0 and 1",
        ),
        (
            r#"{"phase":"zombie"}"#,
            "phase `zombie` was ignored: it must be one of thriving, stable, ",
        ),
        (
            r#"{"intent":{"quality":"hihg"}}"#,
            "quality `hihg` was ignored: it must be one of minimum, low, medium, high, maximum; did you mean `high`?",
        ),
        (
            r#"{"intent":{"prefer":["visionn"]}}"#,
            "prefer names `visionn`, which is not a feature and does not change the choice of a backend; did you mean `vision`?",
        ),
        (
            r#"{"intent":{"require":["telepathy"]}}"#,
            "require names `telepathy`, which is not a feature; it excludes backends that would lose a member `telepathy` of the request, and no others",
        ),
        (
            r#"{"intent":{"require":["visionn"]}}"#,
            "of the request, and no others; did you mean `vision`?",
        ),
        (
            r#"{"intent":{"prefer":["seed"]}}"#,
            "prefer names `seed`, which is not a feature and does not change the choice of a backend; the features are privacy, tee, ",
        ),
        (r#"{"mood":"fine"}"#, "`mood` is not a hint and was ignored"),
    ] {
        let hints = of_body(json);
        let said_here = warnings(&hints);
        assert!(
            said_here.iter().any(|warning| warning.contains(said)),
            "{json}: {said_here:?}"
        );
        let mut route = *hints.route.unwrap();
        route.warnings.clear();
        route.intent.require = route.intent.require.filter(|list| !list.is_empty());
        route.intent.prefer = route.intent.prefer.filter(|list| !list.is_empty());
        assert!(route.is_silent(), "{json}: {route:?}");
    }
}

#[test]
fn a_wrong_type_is_refused_by_its_name() {
    for (json, place) in [
        (r#"{"metadata":"yes"}"#, "bardo.metadata"),
        (r#"{"vitality":[]}"#, "bardo.vitality"),
        (r#"{"intent":{"require":[1]}}"#, "bardo.intent.require"),
        (r#"{"intent":3}"#, "bardo.intent"),
        (r#"{"security_class":"secret"}"#, "bardo.security_class"),
        (r#"{"task_class":"trad"}"#, "bardo.task_class"),
        (r#"{"task_class":"lunch"}"#, "bardo.task_class"),
        (r#"{"securty_class":"tee"}"#, "bardo.securty_class"),
        (r#"{"task-clas":"trade"}"#, "bardo.task-clas"),
        (
            r#"{"intent":{"require":["privcy"]}}"#,
            "bardo.intent.require",
        ),
        (r#"{"profile":{"heat":1}}"#, "bardo.profile"),
        ("3", "bardo"),
        ("\"risk\"", "bardo"),
    ] {
        let error = Hints::default().body(json).unwrap_err();
        assert_eq!(error.param, place, "{json}");
        assert!(!error.message.contains("line 1"), "{}", error.message);
    }
    // A header cannot be answered for by the body's author, so it is ignored and said.
    let mut hints = Hints::default();
    hints.header("vitality", "fine");
    assert_eq!(
        warnings(&hints),
        ["x-bardo-vitality: `vitality` must be a number"]
    );
}

#[test]
fn warnings_are_bounded() {
    let mut hints = Hints::default();
    for index in 0..100 {
        hints.header(&format!("h{index}"), "x");
    }
    assert_eq!(warnings(&hints).len(), super::WARNINGS_MAX);
}

#[test]
fn the_header_of_the_prompt_cache_names_it_where_the_profile_does_not() {
    let key = |body: &str, header: Option<&str>| {
        let mut hints = Hints {
            cache_key: header.map(Into::into),
            ..Hints::default()
        };
        hints.body(body).unwrap();
        hints.name_cache();
        hints.route?.profile?.prompt_cache_key
    };
    assert_eq!(key("{}", None), None);
    assert_eq!(key("{}", Some(" k ")), Some("k".to_owned()));
    let own = r#"{"profile":{"prompt_cache_key":"own"}}"#;
    assert_eq!(key(own, Some("k")), Some("own".to_owned()));
    let other = r#"{"profile":{"temperature":0.5}}"#;
    assert_eq!(key(other, Some("k")), Some("k".to_owned()));
}

#[test]
fn a_cap_that_is_not_understood_is_refused_and_any_amount_is_rounded_down() {
    for (json, most) in [
        (r#"{"max_cost_usd":0.1000001}"#, 100_000),
        (r#"{"max_cost_usd":0.30000000000000004}"#, 300_000),
        (r#"{"max_cost_usd":1e-3}"#, 1_000),
        (r#"{"max_cost_usd":"0.1"}"#, 100_000),
    ] {
        let route = of_body(json).route.expect(json);
        assert_eq!(route.max_cost_micro_usd, Some(most), "{json}");
    }
    for json in [r#"{"max_cost_usd":-1}"#, r#"{"max_cost_usd":"cheap"}"#] {
        let mut hints = Hints::default();
        let refused = hints.body(json);
        assert!(refused.is_err(), "{json}");
    }
}

#[test]
fn what_lies_outside_counts_as_the_nearest_end_and_is_said() {
    for (json, vitality, said) in [
        (
            r#"{"vitality":7}"#,
            1.0,
            "vitality 7 is not between 0 and 1; 1 is used",
        ),
        (
            r#"{"vitality":-0.5}"#,
            0.0,
            "vitality -0.5 is not between 0 and 1; 0 is used",
        ),
    ] {
        let hints = of_body(json);
        assert_eq!(warnings(&hints), [said]);
        assert_eq!(hints.route.unwrap().vitality, UnitInterval::new(vitality));
    }
    let hints = of_body(r#"{"intent":{"cost_sensitivity":1.01}}"#);
    assert_eq!(warnings(&hints).len(), 1);
    assert_eq!(
        hints.route.unwrap().intent.cost_sensitivity,
        Some(UnitInterval::ONE)
    );
}

#[test]
fn a_header_that_protects_is_refused_where_it_is_not_understood() {
    for (name, value) in [
        ("security-class", "secret"),
        ("task-class", "trad"),
        ("profile", r#"{"tee_mode": true"#),
        ("profile", r#"{"tee_mod": true}"#),
        ("securty-class", "tee"),
        ("require", "privcy"),
        ("max-cost", "0.1"),
        ("max-cost-usd", "cheap"),
    ] {
        let mut hints = Hints::default();
        hints.header(name, value);
        let error = hints.check(false).unwrap_err();
        assert_eq!(error.param, format!("x-bardo-{name}"), "{error:?}");
        hints.header("subsystem", "risk");
        assert!(hints.check(false).is_err(), "{name}");
    }
    // The body wins.
    let mut hints = Hints::default();
    hints.header("task-class", "trad");
    hints.body(r#"{"task_class":"trade"}"#).unwrap();
    assert!(hints.check(true).is_ok());
    assert_eq!(hints.route.unwrap().task_class, Some(TaskClass::Trade));
}

#[test]
fn a_name_that_is_nearly_one_that_saves_privacy_or_money_is_refused_with_the_right_one() {
    for (wrong, right) in [
        ("subsytem", "subsystem"),
        ("sub_system", "subsystem"),
        ("max_cost", "max_cost_usd"),
        ("max_cost_us", "max_cost_usd"),
        ("maxCostUsd", "max_cost_usd"),
        ("requires", "require"),
        ("alow_downgrade", "allow_downgrade"),
        ("profle", "profile"),
        ("privacy", "security_class"),
        ("Privacy-Class", "security_class"),
        ("tee", "security_class"),
        ("budget_usd", "max_cost_usd"),
    ] {
        let error = Hints::default()
            .body(&format!(r#"{{"{wrong}":"x"}}"#))
            .unwrap_err();
        assert_eq!(error.param, format!("bardo.{wrong}"));
        let meant = format!("did you mean `{right}`?");
        assert!(error.message.contains(&meant), "{}", error.message);
        let mut hints = Hints::default();
        hints.header(wrong, "x");
        let error = hints.check(false).unwrap_err();
        assert!(error.message.contains(&meant), "{}", error.message);
    }
    // The right name beside the wrong one is what counts.
    let mut hints = Hints::default();
    hints.header("subsytem", "risk");
    hints.header("subsystem", "risk");
    assert!(hints.check(true).is_ok());
}

#[test]
fn a_member_that_is_nearly_a_hint_is_refused_to_the_strict() {
    let hints = of_body(r#"{"vitallity":1}"#);
    assert!(hints.check(false).is_ok());
    assert_eq!(
        warnings(&hints),
        ["`vitallity` is not a hint and was ignored; did you mean `vitality`?"]
    );
    let error = hints.check(true).unwrap_err();
    assert_eq!(error.param, "bardo.vitallity");
    assert!(error.message.contains("`vitality`"), "{}", error.message);
    // In a header it is said, and a name that is like no hint is only said everywhere.
    let mut hints = of_body(r#"{"mood":"fine"}"#);
    hints.header("vitallity", "1");
    assert!(hints.check(true).is_ok());
    assert_eq!(warnings(&hints).len(), 2);
}

#[test]
fn hints_without_effect_are_said() {
    for json in [r#"{"clade_id":"c"}"#, r#"{"batch":true}"#] {
        let hints = of_body(json);
        let [said] = warnings(&hints) else {
            panic!("{json}: {hints:?}");
        };
        assert!(said.ends_with("has no effect yet"), "{said}");
    }
    let neutral = r#"{"transforms":"none","batch":false,"ephemeral":[],"domain":"defi"}"#;
    assert_eq!(warnings(&of_body(neutral)), [""; 0]);
}

#[test]
fn a_word_that_the_cache_does_not_know_is_refused_in_headers_and_bodies() {
    for (word, hint) in [
        ("default", Wish::Default),
        ("Semantic", Wish::Semantic),
        ("No_Store", Wish::NoStore),
        ("no-cache", Wish::NoCache),
        (" only-if-cached ", Wish::OnlyIfCached),
    ] {
        let mut hints = Hints::default();
        hints.header("cache", word);
        assert!(hints.check(true).is_ok(), "{word}");
        assert_eq!(hints.cache, Some(hint), "{word}");
        // The router is not asked for it.
        assert_eq!(hints.route, None);
    }
    let mut hints = Hints::default();
    hints.header("cache", "nostore");
    let refused = hints.check(false).unwrap_err();
    assert_eq!(refused.param, "x-bardo-cache");
    assert!(refused.message.ends_with("did you mean `no-store`?"));
    let refused = Hints::default().body(r#"{"cache":"never"}"#).unwrap_err();
    assert_eq!(refused.param, "bardo.cache");
    // The body wins.
    hints.body(r#"{"cache":"no-store"}"#).unwrap();
    assert!(hints.check(false).is_ok());
}

#[test]
fn a_wrong_member_of_the_profile_is_named_with_what_it_must_be() {
    for (json, message) in [
        (
            r#"{"temperature":"hot"}"#,
            "`profile.temperature` must be a number, not the text \"hot\"",
        ),
        (
            r#"{"seed":1,"top_k":"x"}"#,
            "`profile.top_k` must be a whole number of 0 or more, not the text \"x\"",
        ),
        (
            r#"{"tempreature":1}"#,
            "`profile.tempreature` is not a setting; did you mean `temperature`?",
        ),
    ] {
        let body = format!(r#"{{"profile":{json}}}"#);
        let error = Hints::default().body(&body).unwrap_err();
        assert_eq!(error.message, message);
        assert_eq!(error.param, "bardo.profile");
    }
    for (json, part) in [
        (
            r#"{"heat_of_the_model":1}"#,
            "its members are temperature, top_p",
        ),
        (
            r#"{"response_schema":{"type":"object"}}"#,
            r#"must be {"name": "...", "schema": {...}}"#,
        ),
    ] {
        let body = format!(r#"{{"profile":{json}}}"#);
        let error = Hints::default().body(&body).unwrap_err();
        assert!(error.message.contains(part), "{}", error.message);
    }
}

/// The hints of headers, by name and bytes.
fn of_headers(given: &[(&str, &[u8])]) -> Hints {
    let mut hints = Hints::default();
    hints.headers(given.iter().copied());
    hints
}

#[test]
fn a_header_in_utf8_says_the_same_as_a_body() {
    for (name, value) in [
        ("golem_id", "gölem-1"),
        ("session_id", "Sitzung für heute"),
        ("security_class", "tee\u{a0}"),
        ("max_cost_usd", "0.25\u{a0}"),
        ("cache", "no-store\u{a0}"),
    ] {
        let header = name.replace('_', "-");
        let by_header = of_headers(&[(&header, value.as_bytes())]);
        let by_body = of_body(&serde_json::json!({ name: value }).to_string());
        assert_eq!(by_header, by_body, "{name}");
        assert_ne!(by_header, Hints::default(), "{name}");
    }
    let hints = of_headers(&[("security-class", "tée".as_bytes())]);
    assert_eq!(
        hints.check(false).unwrap_err().param,
        "x-bardo-security-class"
    );
}

#[test]
fn a_header_that_is_not_utf8_is_an_invalid_value_of_its_hint() {
    for name in [
        "security-class",
        "task-class",
        "profile",
        "max-cost-usd",
        "stakes-usd",
        "cache",
        "require",
        "intent-require",
        "subsystem",
        "golem-id",
        "session-id",
        "budget",
    ] {
        let refused = of_headers(&[(name, b"tee\xa0")]).check(false).unwrap_err();
        let place = format!("x-bardo-{}", name.trim_start_matches("intent-"));
        assert_eq!(refused.param, place);
        assert!(refused.message.contains("UTF-8"), "{}", refused.message);
    }
    let mut hints = of_headers(&[("vitality", b"\xff"), ("golem-id", b"g\xff")]);
    let said = ["x-bardo-vitality: the value of `vitality` is not UTF-8"];
    assert_eq!(warnings(&hints), said);
    // The body wins, over each header apart.
    assert!(hints.check(false).is_err());
    hints.body(r#"{"vitality":0.5,"golem_id":"g"}"#).unwrap();
    assert!(hints.check(false).is_ok());
    let mut hints = of_headers(&[("task-class", b"\xff"), ("cache", b"\xff")]);
    hints.body(r#"{"cache":"default"}"#).unwrap();
    assert_eq!(hints.check(false).unwrap_err().param, "x-bardo-task-class");
}

#[test]
fn a_hint_that_is_given_twice_has_no_value() {
    for (json, place) in [
        (
            r#"{"cache":"no-store","tick":1,"cache":"default"}"#,
            "bardo.cache",
        ),
        (
            r#"{"security_class":"tee","security_class":null}"#,
            "bardo.security_class",
        ),
        (r#"{"golem_id":"a","golem_\u0069d":"b"}"#, "bardo.golem_id"),
        (
            r#"{"intent":{"require":["tee"],"require":[]}}"#,
            "bardo.intent.require",
        ),
        (
            r#"{"require":["tee"],"intent":{"require":[]}}"#,
            "bardo.require",
        ),
        (
            r#"{"intent":{"require":["tee"]},"intent":{}}"#,
            "bardo.intent",
        ),
        (
            r#"{"profile":{"tee_mode":true,"tee_mode":false}}"#,
            "bardo.profile.tee_mode",
        ),
    ] {
        let refused = Hints::default().body(json).unwrap_err();
        assert_eq!(refused.param, place, "{json}");
        let name = place.trim_start_matches("bardo.");
        assert!(refused.message.contains(name), "{}", refused.message);
    }
    let hints =
        of_body(r#"{"vitality":0.1,"vitality":0.9,"require":null,"intent":{"require":[]}}"#);
    let said = "vitality was ignored: `vitality` is given twice; send it once";
    assert_eq!(warnings(&hints), [said]);
    assert_eq!(hints.route.unwrap().vitality, None);

    let twice: [(&str, &[u8]); 2] = [("cache", b"no-store"), ("cache", b"default")];
    let mut hints = of_headers(&twice);
    assert_eq!(hints.check(false).unwrap_err().param, "x-bardo-cache");
    hints.body(r#"{"cache":"no-cache"}"#).unwrap();
    assert!(hints.check(false).is_ok());
    let twice: [(&str, &[u8]); 2] = [("require", b"tee"), ("intent-require", b"tools")];
    assert!(of_headers(&twice).check(false).is_err());
    let twice: [(&str, &[u8]); 3] = [("tick", b"1"), ("vitality", b"1"), ("tick", b"2")];
    let hints = of_headers(&twice);
    assert_eq!(warnings(&hints).len(), 1, "{hints:?}");
    assert_eq!(hints.route.unwrap().tick, None);
}

#[test]
fn a_prompt_cache_key_that_is_no_key_is_told() {
    let of = |given: &[&'static [u8]]| {
        let mut hints = Hints::default();
        hints.prompt_cache_key(given.iter().copied());
        (hints.cache_key.clone(), warnings(&hints).len())
    };
    assert_eq!(of(&[]), (None, 0));
    assert_eq!(of(&["schlüssel".as_bytes()]), (Some("schlüssel".into()), 0));
    assert_eq!(of(&[b"k\xff"]), (None, 1));
    assert_eq!(of(&[b"k", b"l"]), (None, 1));
}

#[test]
fn ephemeral_texts_that_are_too_many_are_told() {
    let of = |count: usize| {
        let texts: Vec<String> = (0..count).map(|index| format!("run {index}")).collect();
        of_body(&serde_json::json!({ "ephemeral": texts }).to_string())
    };
    assert_eq!(warnings(&of(32)), [""; 0]);
    let hints = of(33);
    assert_eq!(hints.ephemeral.len(), 32);
    let said = "ephemeral has 33 texts, of which those after the first 32 were ignored";
    assert_eq!(warnings(&hints), [said]);
}

#[test]
fn counts_of_calls_that_cannot_be_are_ignored_with_a_warning() {
    for (json, kept, told) in [
        (r#"{"call_index":0,"call_count":0}"#, (None, None), 2),
        (r#"{"call_index":3,"call_count":2}"#, (Some(3), None), 1),
        (r#"{"call_index":2,"call_count":2}"#, (Some(2), Some(2)), 0),
        (r#"{"call_count":2}"#, (None, Some(2)), 0),
    ] {
        let mut hints = of_body(json);
        hints.compare_counts();
        let warned = warnings(&hints).len();
        assert_eq!(warned, told, "{json}: {:?}", warnings(&hints));
        let route = hints.route.expect("hints");
        assert_eq!((route.call_index, route.call_count), kept, "{json}");
    }
}
