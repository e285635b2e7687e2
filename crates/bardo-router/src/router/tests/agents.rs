//! How the state of an agent and its owner bend a choice.

use super::*;

#[test]
fn mortality_bends_all_but_what_is_protected() {
    let all = router(everybody(), Policy::default());
    let dying = |subsystem: &str| {
        let mut ask = Ask::of(subsystem);
        ask.hints.vitality = UnitInterval::new(0.0);
        ask.hints.sustainability = Some(0.1);
        ask.hints.phase = Some(Phase::Terminal);
        ask
    };
    first(&all, &dying("thought"), "blockrun/gpt-free");
    for (subsystem, expected) in [("guard", "blockrun/claude-opus"), ("end", "venice/r1")] {
        first(&all, &dying(subsystem), expected);
        first(&all, &Ask::of(subsystem), expected);
    }
    let mut pressed = Ask::of("thought");
    pressed.hints.vitality = UnitInterval::new(0.9);
    first(&all, &pressed, "blockrun/claude-sonnet");
    let mut odd = Ask::of("thought");
    odd.hints.sustainability = Some(f64::INFINITY);
    let route = odd.with(|request| all.route(request)).unwrap();
    assert_eq!(names(&all, &route)[0], "blockrun/claude-opus");
    assert_eq!(route.warnings.len(), 1);
    assert!(all.saves_thinking(None, Some(0.5)) && !all.saves_thinking(None, Some(0.51)));
    let guard = all.subsystem("guard").unwrap();
    assert!(!all.saves_thinking(Some(guard), Some(0.0)));
}

#[test]
fn a_phase_caps_the_tier_as_long_as_anybody_is_below_it() {
    let all = router(everybody(), Policy::default());
    let mut ask = Ask::of("thought");
    ask.hints.phase = Some(Phase::Desperate);
    first(&all, &ask, "blockrun/claude-sonnet");
    ask.hints.phase = Some(Phase::Conservation);
    first(&all, &ask, "blockrun/claude-opus");
    ask.hints.phase = Some(Phase::Terminal);
    let only = router(vec![bankr()], Policy::default());
    first(&only, &ask, "bankr/claude-opus");
}

#[test]
fn caps_bound_the_answer_or_refuse_it() {
    let only = router(vec![bankr()], Policy::default());
    let mut ask = Ask::of("end");
    ask.facts.max_output_tokens = None;
    let cap = |ask: &mut Ask<'_>, micro| ask.hints.max_cost_micro_usd = Some(micro);
    // 1,000 prompt tokens cost $0.01; $0.05 leave 4,000 tokens for the answer.
    cap(&mut ask, 50_000);
    let route = ask.with(|request| only.route(request)).unwrap();
    assert_eq!(route.choices[0].max_output, Some(4_000));
    cap(&mut ask, 12_559);
    check(&only, &ask, &["!max_cost_usd"]);
    cap(&mut ask, 12_560);
    assert!(ask.with(|request| only.route(request)).is_ok());
    ask.facts.max_output_tokens = Some(4_001);
    cap(&mut ask, 50_000);
    check(&only, &ask, &["!max_cost_usd"]);
    // The reserve of the dying, and of nobody else.
    let policy = Policy {
        death_reserve: Some(MicroUsd::new(20_000)),
        ..Policy::default()
    };
    let reserved = router(vec![bankr()], policy);
    let mut ask = Ask::of("end");
    ask.facts.max_output_tokens = Some(1_000);
    assert!(ask.with(|request| reserved.route(request)).is_ok());
    ask.facts.max_output_tokens = Some(1_001);
    let refusal = ask.with(|request| reserved.route(request)).unwrap_err();
    assert!(refusal.lacks[0].1.contains("inference.death_reserve_usd"));
    ask.hints = hints("guard");
    assert!(ask.with(|request| reserved.route(request)).is_ok());
}

#[test]
fn the_owners_models_serve_their_tiers_and_another_where_they_may_not() {
    let policy = Policy {
        t1: Some("openrouter/gemini-flash".into()),
        t2: Some("nowhere/nothing".into()),
        ..Policy::default()
    };
    let all = router(everybody(), policy);
    let mut ask = Ask::for_model("bardo/t1");
    first(&all, &ask, "openrouter/gemini-flash");
    ask.model = "bardo/t2";
    let route = ask.with(|request| all.route(request)).unwrap();
    assert_eq!(names(&all, &route)[0], "blockrun/claude-opus");
    assert!(route.warnings[0].contains("nowhere/nothing"));
    // A part that says what it needs is not bound by the tier of the name.
    ask.model = "bardo/t1";
    ask.hints = hints("thought");
    first(&all, &ask, "blockrun/claude-opus");
}

#[test]
fn an_unknown_part_is_warned_of_and_its_owners_rules_hold() {
    let mut policy = Policy::default();
    policy
        .routes
        .insert("my_part".into(), vec!["openrouter".into()]);
    let all = router(everybody(), policy);
    let mut ask = Ask::of("My-Part");
    ask.hints.intent.quality = Some(Quality::Maximum);
    let route = ask.with(|request| all.route(request)).unwrap();
    assert_eq!(names(&all, &route)[0], "openrouter/claude-opus");
    assert!(route.subsystem.is_none());
    assert!(route.warnings[0].contains("My-Part"));
}

#[test]
fn behind_the_owners_model_for_a_tier_others_take_over() {
    let policy = Policy {
        t1: Some("blockrun/claude-sonnet".into()),
        ..Policy::default()
    };
    let all = router(vec![blockrun(), openrouter()], policy);
    let mut ask = Ask::for_model("bardo/t1");
    let route = ask.with(|request| all.route(request)).unwrap();
    let behind = names(&all, &route);
    assert_eq!(behind[0], "blockrun/claude-sonnet");
    assert_eq!(behind.iter().filter(|name| **name == behind[0]).count(), 1);
    assert!(behind[1..].contains(&"openrouter/gemini-flash".to_owned()));
    ask.health = &Down(&[0]);
    let route = ask.with(|request| all.route(request)).unwrap();
    let behind = names(&all, &route);
    assert_eq!(behind[0], "openrouter/gemini-flash");
    assert_eq!(behind.last().unwrap(), "blockrun/claude-sonnet");
}

#[test]
fn callers_without_hints_are_served_by_what_their_request_seems_to_be() {
    let all = router(vec![blockrun()], Policy::default());
    let mut cached = blockrun();
    Arc::make_mut(&mut cached.2[0].capabilities).cache_marks = true;
    let caching = router(vec![cached], Policy::default());
    let mut ask = Ask::default();
    first(&all, &ask, "blockrun/claude-sonnet");
    first(&caching, &ask, "blockrun/claude-sonnet");
    ask.facts.kind = Kind::AgentLoop;
    first(&caching, &ask, "blockrun/claude-opus");
    first(&all, &ask, "blockrun/claude-sonnet");
}

#[test]
fn a_caller_without_hints_minds_the_cost_as_its_tier_does() {
    let all = router(vec![blockrun()], Policy::default());
    let sensitivity = |ask: &Ask<'_>, tier: Option<&str>| {
        let route = ask.with(|request| all.route(&RouteRequest { tier, ..*request }));
        route.unwrap().intent.cost_sensitivity.get()
    };
    let mut ask = Ask::default();
    // 0.6 is that of a conversation.
    for (tier, expected) in [
        (None, 0.6),
        (Some("free"), 0.8),
        (Some("pro"), 0.3),
        (Some("golem"), 0.6),
    ] {
        assert!(
            (sensitivity(&ask, tier) - expected).abs() < 1e-9,
            "{tier:?}"
        );
    }
    ask.hints.intent.cost_sensitivity = UnitInterval::new(0.1);
    assert!((sensitivity(&ask, Some("free")) - 0.1).abs() < 1e-9);
    let named = Ask::for_model("bardo/t1");
    assert!((sensitivity(&named, Some("pro")) - 0.8).abs() < 1e-9);
}
