//! What has to be kept, and what yields.

use super::*;

#[test]
fn the_owners_machine_keeps_what_nobody_else_keeps() {
    let with_venice = router(everybody(), Policy::default());
    let mut ask = Ask::default();
    ask.hints.security_class = Some(SecurityClass::Private);
    ask.hints.intent.quality = Some(Quality::Low);
    first(&with_venice, &ask, "venice/llama");
    let without = router(vec![blockrun(), local()], Policy::default());
    check(&without, &ask, &["direct/local/llama"]);
    ask.hints.security_class = Some(SecurityClass::E2ee);
    check(&without, &ask, &["!e2ee"]);
    let policy = Policy {
        trusted_local: true,
        ..Policy::default()
    };
    let trusted = router(vec![blockrun(), local()], policy);
    check(&trusted, &ask, &["direct/local/llama"]);
    ask.hints.security_class = Some(SecurityClass::Tee);
    check(&trusted, &ask, &["!tee"]);
}

#[test]
fn a_floor_binds_while_somebody_private_is_configured_even_when_down() {
    let all = router(everybody(), Policy::default());
    let mut down = Ask::of("sleep");
    down.health = &Down(&[2]);
    let route = down.with(|request| all.route(request)).unwrap();
    assert!(
        route
            .choices
            .iter()
            .all(|c| c.security >= SecurityClass::Private)
    );
    down.hints.accept_degraded = Some(true);
    down.hints.intent.quality = Some(Quality::Low);
    let route = down.with(|request| all.route(request)).unwrap();
    let first = &route.choices[0];
    assert_eq!(
        first.security,
        SecurityClass::Private,
        "the owner's machine"
    );
    let nobody = router(vec![blockrun()], Policy::default());
    let route = Ask::of("sleep")
        .with(|request| nobody.route(request))
        .unwrap();
    assert_eq!(route.security_class, SecurityClass::Standard);
    assert_eq!(
        route.choices[0].degraded,
        [Feature::VisibleThinking, Feature::Privacy]
    );
    let mut refusing = Ask::of("sleep");
    refusing.hints.accept_degraded = Some(false);
    check(&nobody, &refusing, &["!privacy"]);
    let strict = Policy {
        privacy_strict: true,
        ..Policy::default()
    };
    check(
        &router(vec![blockrun()], strict),
        &Ask::of("sleep"),
        &["!privacy"],
    );
}

#[test]
fn what_the_caller_itself_asks_to_be_kept_never_yields() {
    let nobody = router(vec![blockrun()], Policy::default());
    let mut ask = Ask::default();
    ask.hints.accept_degraded = Some(true);
    ask.hints.security_class = Some(SecurityClass::Private);
    check(&nobody, &ask, &["!privacy"]);
    ask.hints.security_class = None;
    ask.hints.task_class = Some(TaskClass::Trade);
    check(&nobody, &ask, &["!tee"]);
    ask.hints.task_class = None;
    ask.hints.intent.require = Some(vec![Feature::E2ee]);
    check(&nobody, &ask, &["!e2ee"]);
    let venice = router(vec![blockrun(), venice()], Policy::default());
    check(&venice, &ask, &["venice/sealed"]);
    ask.facts.uses = FeatureSet::EMPTY.with(Feature::Tools);
    let refusal = ask.with(|request| venice.route(request)).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Privacy);
}

#[test]
fn owners_set_floors_and_a_higher_one_never_yields() {
    let mut policy = Policy::default();
    policy
        .floors
        .insert("sleep".into(), SecurityClass::Standard);
    policy.floors.insert("thought".into(), SecurityClass::Tee);
    let all = router(everybody(), policy);
    let mut ask = Ask::of("sleep");
    ask.hints.intent.prefer = Some(vec![Feature::Citations]);
    first(&all, &ask, "blockrun/claude-sonnet");
    let mut ask = Ask::of("thought");
    ask.hints.accept_degraded = Some(true);
    check(&all, &ask, &["venice/sealed"]);
}

#[test]
fn the_tables_requirement_yields_unless_forbidden_and_the_callers_only_where_allowed() {
    let all = router(vec![blockrun()], Policy::default());
    let mut ask = Ask::of("end");
    first(&all, &ask, "blockrun/claude-opus");
    ask.hints.accept_degraded = Some(false);
    check(&all, &ask, &["!visible_thinking"]);
    let mut ask = Ask::default();
    ask.hints.intent.require = Some(vec![Feature::VisibleThinking]);
    check(&all, &ask, &["!visible_thinking"]);
    ask.hints.accept_degraded = Some(true);
    let route = ask.with(|request| all.route(request)).unwrap();
    assert_eq!(route.choices[0].degraded, [Feature::VisibleThinking]);
    // Tools are what the request uses; nobody can do without.
    ask.hints.intent.require = Some(vec![Feature::Tools]);
    let mut mute = blockrun();
    for entry in &mut mute.2 {
        Arc::make_mut(&mut entry.capabilities).tool_format =
            bardo_types::model::ToolFormat::Unsupported;
    }
    check(&router(vec![mute], Policy::default()), &ask, &["!tools"]);
}

#[test]
fn nobody_behind_the_first_keeps_the_request_less_well() {
    let all = router(vec![blockrun(), venice()], Policy::default());
    let mut ask = Ask::default();
    ask.hints.intent.prefer = Some(vec![Feature::Privacy]);
    check(&all, &ask, &["venice/sealed", "venice/r1"]);
    ask.hints.accept_degraded = Some(true);
    let route = ask.with(|request| all.route(request)).unwrap();
    assert!(names(&all, &route).contains(&"blockrun/claude-sonnet".to_owned()));
}

#[test]
fn venices_models_that_are_not_private_stay_out_of_what_has_to_be() {
    let all = router(vec![blockrun(), venice()], Policy::default());
    let mut ask = Ask::default();
    ask.hints.intent.quality = Some(Quality::Maximum);
    ask.hints.intent.prefer = Some(vec![Feature::Privacy]);
    check(&all, &ask, &["blockrun/claude-opus"]);
}

#[test]
fn the_tables_requirement_yields_where_all_who_meet_it_are_down() {
    let mut elsewhere = venice();
    elsewhere.2.truncate(1);
    elsewhere.1 = Service::OpenRouter;
    let all = router(vec![blockrun(), elsewhere], Policy::default());
    let mut ask = Ask::of("end");
    first(&all, &ask, "venice/r1");
    ask.health = &Down(&[1]);
    first(&all, &ask, "blockrun/claude-opus");
    ask.hints.accept_degraded = Some(false);
    first(&all, &ask, "venice/r1");
}

#[test]
fn a_floor_yields_for_no_quality_price_feature_or_order_while_one_that_meets_it_can_answer() {
    let mut dear = venice();
    dear.2.truncate(1);
    dear.2[0].price.as_mut().unwrap().output = PricePerMillion::from_micro(20_000_000);
    let mut policy = Policy::default();
    policy
        .routes
        .insert("sleep".into(), vec!["blockrun".into()]);
    policy
        .floors
        .insert("heartbeat_t1".into(), SecurityClass::Private);
    policy.t1 = Some("blockrun/gemini-flash".into());
    let all = router(vec![blockrun(), dear], policy);
    let mut ask = Ask::of("sleep");
    ask.hints.accept_degraded = Some(true);
    first(&all, &ask, "venice/r1");
    ask.hints.intent.quality = Some(Quality::Maximum);
    first(&all, &ask, "venice/r1");
    ask.hints.intent.prefer = Some(vec![Feature::Citations]);
    first(&all, &ask, "venice/r1");
    ask.hints.intent.require = Some(vec![Feature::Citations]);
    first(&all, &ask, "venice/r1");
    let mut tick = Ask::of("heartbeat_t1");
    tick.hints.accept_degraded = Some(true);
    first(&all, &tick, "venice/r1");
    // Behind it are those that may answer where it does not.
    let route = tick.with(|request| all.route(request)).unwrap();
    assert_eq!(route.choices[1].security, SecurityClass::Standard);
    ask.hints.max_cost_micro_usd = Some(5_000);
    let refusal = ask.with(|request| all.route(request)).unwrap_err();
    assert_eq!(refusal.missing, ["max_cost_usd"]);
    assert_eq!(refusal.kind, RefusalKind::Unsatisfiable);
    ask.hints.max_cost_micro_usd = None;
    ask.health = &Down(&[1]);
    first(&all, &ask, "blockrun/claude-opus");
}

#[test]
fn a_floor_yields_where_none_that_meets_it_can_do_what_the_request_uses() {
    let mut blind = venice();
    blind.2.truncate(1);
    let all = router(vec![blockrun(), blind], Policy::default());
    let mut ask = Ask::of("sleep");
    ask.facts.uses = FeatureSet::EMPTY.with(Feature::Citations);
    check(&all, &ask, &["!privacy"]);
    ask.hints.accept_degraded = Some(true);
    first(&all, &ask, "venice/r1");
    ask.facts.prompt_tokens = 99_500;
    let mut short = venice();
    short.2.truncate(1);
    Arc::make_mut(&mut short.2[0].capabilities).context_tokens = 50_000;
    let all = router(vec![blockrun(), short], Policy::default());
    first(&all, &ask, "blockrun/claude-sonnet");
}

#[test]
fn a_named_model_goes_first_to_those_of_its_backends_that_meet_the_floor() {
    let mut private = venice();
    private.2 = vec![kept(
        model("claude-opus", FRONTIER, 95, 2_000),
        SecurityClass::Private,
    )];
    let all = router(vec![blockrun(), openrouter(), private], Policy::default());
    let mut ask = Ask::of("sleep");
    ask.model = "claude-opus";
    check(&all, &ask, &["venice/claude-opus"]);
    ask.hints.accept_degraded = Some(true);
    check(
        &all,
        &ask,
        &[
            "venice/claude-opus",
            "blockrun/claude-opus",
            "openrouter/claude-opus",
        ],
    );
    ask.hints.max_cost_micro_usd = Some(25_000);
    check(&all, &ask, &["!max_cost_usd"]);
}

#[test]
fn so_many_choices_are_kept_and_the_last_is_for_where_the_floor_yields() {
    let all = router(vec![blockrun(), venice()], Policy::default());
    let mut ask = Ask::of("sleep");
    ask.hints.accept_degraded = Some(true);
    let kept = |most| {
        let mut route = ask.with(|request| all.route(request)).unwrap();
        route.keep(most);
        let classes = route.choices.iter().map(|choice| choice.security);
        classes
            .map(|class| class >= SecurityClass::Private)
            .collect::<Vec<_>>()
    };
    assert_eq!(kept(1), [true]);
    assert_eq!(kept(2), [true, false]);
    assert_eq!(kept(3), [true, true, false]);
}

#[test]
fn what_is_remembered_raises_the_floor_and_does_not_yield() {
    let all = router(vec![blockrun(), venice()], Policy::default());
    let mut ask = Ask::for_model("claude-opus");
    ask.hints.remembered_class = Some(SecurityClass::Private);
    ask.hints.accept_degraded = Some(true);
    check(&all, &ask, &["!privacy"]);
    ask.model = "bardo/auto";
    ask.hints.remembered_class = Some(SecurityClass::Tee);
    check(&all, &ask, &["venice/sealed"]);
    let route = ask.with(|request| all.route(request)).unwrap();
    assert_eq!(route.wished_class, SecurityClass::Tee);
    assert_eq!(
        route.choices[0].tee,
        Some(bardo_types::privacy::TeeEvidence::Listed)
    );
}

#[test]
fn a_quality_that_nobody_reaches_is_marked() {
    let all = router(vec![blockrun(), venice()], Policy::default());
    let below = |ask: &Ask<'_>| {
        let route = ask.with(|request| all.route(request)).unwrap();
        route.choices[0].below_quality
    };
    assert!(below(&Ask::of("end")), "a strong model for `maximum`");
    assert!(!below(&Ask::of("thought")));
    let mut named = Ask::of("end");
    named.model = "r1";
    assert!(!below(&named), "a named model is what was asked for");
}
