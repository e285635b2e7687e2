//! What callers and owners are told.

use super::*;

#[test]
fn refusals_name_what_is_missing_who_lacks_it_and_the_line_that_mends_it() {
    let all = router(vec![blockrun(), openrouter()], Policy::default());
    let mut ask = Ask::default();
    ask.hints.security_class = Some(SecurityClass::Private);
    let refusal = ask.with(|request| all.route(request)).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Privacy);
    assert_eq!(refusal.missing, ["privacy"]);
    assert!(
        refusal.advice.contains("`providers.venice.api_key`"),
        "{}",
        refusal.advice
    );
    let (backend, words) = &refusal.lacks[0];
    assert_eq!(backend, "blockrun");
    assert_eq!(words, "class `standard`, `private` required");
    ask.model = "gemini-flsh";
    let refusal = ask.with(|request| all.route(request)).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::UnknownModel);
    assert_eq!(refusal.advice, "did you mean `gemini-flash`?");
}

#[test]
fn a_refusal_advises_only_what_can_be_done() {
    let mut hosted = venice();
    hosted
        .2
        .retain(|entry| entry.security < SecurityClass::E2ee);
    let all = router(vec![blockrun(), hosted], Policy::default());
    let mut ask = Ask::default();
    ask.hints.security_class = Some(SecurityClass::E2ee);
    let sealed = ask.with(|request| all.route(request)).unwrap_err();
    assert_eq!(
        sealed.advice,
        "no hosted provider meets `e2ee` in this version; require `tee` instead, or add a local server with `trusted_local: true`"
    );
    ask.hints.task_class = Some(bardo_types::privacy::TaskClass::SealedAuction);
    ask.hints.security_class = None;
    let auction = ask.with(|request| all.route(request)).unwrap_err();
    assert_eq!(auction.advice, sealed.advice);
    // A named model that no private backend has: what to send instead.
    ask.hints.task_class = None;
    ask.hints.security_class = Some(SecurityClass::Private);
    ask.model = "gemini-flash";
    let named = ask.with(|request| all.route(request)).unwrap_err();
    assert!(named.advice.contains("`bardo/auto`"), "{}", named.advice);
}

#[test]
fn an_explanation_says_why_of_everybody_and_which_line_would_mend_it() {
    let all = router(vec![blockrun(), openrouter()], Policy::default());
    let mut ask = Ask::of("sleep");
    ask.hints.vitality = UnitInterval::new(0.5);
    let explained = ask.with(|request| all.explain(request));
    assert!(explained.outcome.is_ok());
    assert_eq!(explained.considered.len(), 7);
    assert!(explained.considered[0].eligible);
    assert_eq!(explained.considered[0].backend, "blockrun");
    let (first, others) = explained.considered.split_first().unwrap();
    assert_eq!(first.reasons, [""; 0]);
    for considered in others {
        assert!(!considered.reasons.is_empty(), "{considered:?}");
    }
    assert!((explained.intent.cost_sensitivity.get() - 0.65).abs() < 1e-12);
    assert_eq!(explained.advice.len(), 1);
    assert!(explained.advice[0].contains("`providers.venice.api_key`"));
    assert!(!explained.front.is_empty());
}

#[test]
fn costs_are_estimated_from_the_request_and_unknown_is_not_zero() {
    let mut unpriced = blockrun();
    unpriced.2.truncate(2);
    unpriced.2[1].price = None;
    let all = router(vec![unpriced], Policy::default());
    let mut ask = Ask::for_model("claude-opus");
    let route = ask.with(|request| all.route(request)).unwrap();
    assert_eq!(route.choices[0].estimated_cost, Some(MicroUsd::new(20_000)));
    ask.model = "claude-sonnet";
    let route = ask.with(|request| all.route(request)).unwrap();
    assert_eq!(route.choices[0].estimated_cost, None);
    ask.model = "bardo/auto";
    first(&all, &ask, "blockrun/claude-opus");
}

#[test]
fn those_behind_the_first_are_told_why() {
    let all = router(everybody(), Policy::default());
    let reason = |ask: &Ask<'_>, at: usize| {
        let explained = ask.with(|request| all.explain(request));
        explained.considered[at].reasons[0].clone()
    };
    assert_eq!(
        reason(&Ask::of("thought"), 1),
        "tried later: it lacks interleaved thinking and citations, which the first choice has"
    );
    let mut ask = Ask::of("thought");
    ask.hints.intent.prefer = Some(vec![]);
    assert_eq!(
        reason(&ask, 1),
        "tried later: its score equals the score of the first choice, whose backend comes first in ties"
    );
    ask.hints.intent.quality = Some(Quality::Minimum);
    assert_eq!(
        reason(&ask, 1),
        "tried later: it costs more than the first choice"
    );
    ask.hints.intent.quality = Some(Quality::Medium);
    let rated = reason(&ask, 1);
    assert!(
        rated.starts_with("tried later: its score is below"),
        "{rated}"
    );
}
