use bardo_types::unit::UnitInterval;

use super::*;

fn refused() -> Explanation {
    Explanation {
        outcome: Err(Refusal {
            kind: RefusalKind::Privacy,
            class: bardo_types::privacy::SecurityClass::Tee,
            missing: vec!["tee".into()],
            lacks: vec![
                ("blockrun".into(), "keeps what it is sent".into()),
                (
                    "venice".into(),
                    "no model in attested hardware has tools".into(),
                ),
            ],
            advice: "take the tools out of the request, or configure a TEE model with tools".into(),
        }),
        intent: Intent {
            require: vec![Feature::Tee],
            cost_sensitivity: UnitInterval::new(0.35).unwrap(),
            quality: Quality::High,
            ..Intent::default()
        },
        considered: Vec::new(),
        front: Vec::new(),
        advice: vec!["add `providers.venice.api_key`: it keeps nothing".into()],
    }
}

/// Nothing is known of any prompt cache.
static NO_CACHE: ExplainedPromptCache = ExplainedPromptCache {
    marks: None,
    reason: None,
    affinity: None,
};

fn view(explanation: &Explanation) -> View<'_> {
    View {
        model: "bardo/auto",
        subsystem: None,
        explanation,
        wanted: None,
        applied: None,
        degraded: &[],
        passed_over: &[],
        prompt_cache: &NO_CACHE,
        hold: None,
        refused: None,
    }
}

#[test]
fn a_refusal_is_told_with_its_code_and_what_each_backend_lacks() {
    let explanation = refused();
    let body = body(&view(&explanation));
    assert_eq!(body["resolution"], Value::Null);
    assert_eq!(body["refusal"]["code"], "privacy_unavailable");
    assert_eq!(body["refusal"]["missing"], json!(["tee"]));
    assert_eq!(body["refusal"]["lacks"][0]["backend"], "blockrun");
    assert_eq!(body["intent"]["quality"], "high");
    assert_eq!(body["candidates"], json!([]));
    for member in [
        "model_requested",
        "profile",
        "fallbacks",
        "advice",
        "warnings",
    ] {
        assert!(body.get(member).is_some(), "{member}");
    }
}

#[test]
fn words_fit_the_page_whatever_its_width() {
    let explanation = refused();
    for width in [40, 60, 100] {
        let text = words(&view(&explanation), width);
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        assert!(text.contains("No backend can serve it"), "{text}");
        assert!(text.contains("venice"), "{text}");
        assert!(!text.contains('\u{1b}'), "no colors");
    }
}
