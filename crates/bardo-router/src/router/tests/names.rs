//! Models that callers name.

use super::*;

#[test]
fn a_dearer_named_model_gives_way_where_its_caller_allows_it() {
    let all = router(everybody(), Policy::default());
    let mut ask = Ask::for_model("claude-opus");
    ask.hints.max_cost_micro_usd = Some(15_000);
    check(&all, &ask, &["!max_cost_usd"]);
    ask.allow_downgrade = true;
    let route = ask.with(|request| all.route(request)).unwrap();
    assert_eq!(names(&all, &route)[0], "blockrun/claude-sonnet");
    assert!(route.automatic && route.warnings[0].contains("claude-opus"));
    assert_eq!(route.instead_of.as_deref(), Some("claude-opus"));
    // Never for what is protected.
    ask.hints.subsystem = Some("guard".into());
    check(&all, &ask, &["!max_cost_usd"]);
}

#[test]
fn a_named_model_is_kept_in_the_owners_order_whatever_the_hints() {
    let all = router(everybody(), Policy::default());
    let everywhere = [
        "blockrun/claude-opus",
        "openrouter/claude-opus",
        "venice/claude-opus",
        "bankr/claude-opus",
    ];
    let mut ask = Ask::for_model("claude-opus");
    check(&all, &ask, &everywhere);
    ask.hints.subsystem = Some("pulse".into());
    ask.hints.vitality = UnitInterval::new(0.0);
    ask.health = &Down(&[0]);
    check(&all, &ask, &everywhere);
    ask.hints = hints("sleep");
    check(&all, &ask, &["!privacy"]);
    ask.hints = RouteHints::default();
    ask.hints.intent.require = Some(vec![Feature::Citations]);
    check(&all, &ask, &everywhere[..1]);
    ask.model = "venice/claude-opus";
    check(&all, &ask, &["!citations"]);
    ask.model = "bardo/auto";
    ask.hints.intent = IntentHints {
        model: Some("bankr/claude-opus".into()),
        ..IntentHints::default()
    };
    check(&all, &ask, &["bankr/claude-opus"]);
}

#[test]
fn families_are_taken_only_as_written() {
    let all = router(everybody(), Policy::default());
    let mut ask = Ask::for_model("claude/*");
    ask.hints.intent.quality = Some(Quality::Medium);
    first(&all, &ask, "blockrun/claude-sonnet");
    ask.model = "venice/*";
    first(&all, &ask, "venice/sealed");
    ask.model = "claude";
    check(&all, &ask, &["!claude"]);
    ask.model = "bardo/t9";
    check(&all, &ask, &["!bardo/t9"]);
}

#[test]
fn a_pin_to_bankr_binds_whatever_it_earned() {
    let policy = Policy {
        bankr: BankrPolicy {
            lifetime_revenue: Some(MicroUsd::new(1)),
            revenue_balance: Some(MicroUsd::ZERO),
            ..BankrPolicy::default()
        },
        ..Policy::default()
    };
    let all = router(everybody(), policy);
    let mut ask = Ask::for_model("bankr/claude-opus");
    ask.hints = hints("earner");
    check(&all, &ask, &["bankr/claude-opus"]);
}
