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
        entry.capabilities.tool_format = bardo_types::model::ToolFormat::Unsupported;
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
