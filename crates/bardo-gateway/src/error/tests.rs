use bardo_ledger::{CapScope, CapWindow};
use bardo_router::{Refusal, RefusalKind};

use super::*;

fn upstream(class: FaultClass, status: u16) -> Problem {
    let fault = Fault::new(class, "words of the provider").with_status(status);
    let failure = UpstreamFailure {
        backend: "openrouter".into(),
        fault,
        attempts: 1,
        earlier: Vec::new(),
        unknown_outcome: false,
        may_repeat: false,
    };
    Problem::from(EngineError::Upstream(Box::new(failure)))
}

#[test]
fn a_providers_refusal_of_our_key_is_never_the_callers_401() {
    for (class, status) in [
        (FaultClass::Authentication, 401),
        (FaultClass::Permission, 403),
        (FaultClass::Payment, 402),
    ] {
        let problem = upstream(class, status);
        assert!(problem.code.status() >= 502, "{class:?}");
        assert!(!problem.fault.message.contains("words of the provider"));
    }
}

#[test]
fn what_a_provider_says_of_the_request_keeps_its_meaning() {
    for (class, status) in [
        (FaultClass::BadRequest, 400),
        (FaultClass::NotFound, 404),
        (FaultClass::TooLarge, 413),
        (FaultClass::Unprocessable, 422),
        (FaultClass::RateLimit, 429),
    ] {
        assert_eq!(upstream(class, status).code.status(), status);
    }
    let overloaded = upstream(FaultClass::Overloaded, 529);
    assert_eq!(overloaded.status(Dialect::Anthropic).as_u16(), 529);
    assert_eq!(overloaded.status(Dialect::Chat).as_u16(), 503);
}

#[test]
fn every_code_is_shown_in_every_dialect_with_all_the_keys_that_sdks_need() {
    for &code in ErrorCode::ALL {
        let problem = Problem::new(code, "m").param("field");
        for dialect in [Dialect::Chat, Dialect::Responses, Dialect::Completions] {
            let body: serde_json::Value =
                serde_json::from_slice(&problem.body(dialect, "req_1")).unwrap();
            let error = body["error"].as_object().unwrap();
            for key in ["message", "type", "param", "code"] {
                assert!(error.contains_key(key), "{code} {dialect:?} {key}");
            }
            assert_eq!(error["bardo_code"], code.as_str());
        }
        let body: serde_json::Value =
            serde_json::from_slice(&problem.body(Dialect::Anthropic, "req_1")).unwrap();
        assert_eq!(
            (&body["type"], &body["request_id"]),
            (&"error".into(), &"req_1".into())
        );
        assert_eq!(body["error"]["bardo_code"], code.as_str());
    }
}

#[test]
fn every_code_has_its_page() {
    let pages = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
    for code in ErrorCode::ALL {
        let page = std::fs::read_to_string(pages.join(format!("{code}.md"))).unwrap_or_default();
        assert!(
            page.contains(code.as_str()),
            "docs/errors/{code}.md is missing"
        );
    }
}

fn refusal(kind: RefusalKind) -> Refusal {
    Refusal {
        class: bardo_types::privacy::SecurityClass::Private,
        kind,
        missing: vec!["privacy".into(), "visible_thinking".into()],
        lacks: vec![("blockrun".into(), "keeps what it is sent".into())],
        advice: "add `providers.venice.api_key`".into(),
    }
}

#[test]
fn a_refusal_names_what_is_missing_who_lacks_it_and_what_would_mend_it_in_every_dialect() {
    for (kind, status, code) in [
        (RefusalKind::Privacy, 400, ErrorCode::PrivacyUnavailable),
        (
            RefusalKind::Unsatisfiable,
            400,
            ErrorCode::RequirementsUnsatisfiable,
        ),
    ] {
        let problem = Problem::refused("bardo/auto", &refusal(kind));
        assert_eq!((problem.code.status(), problem.code), (status, code));
        assert_eq!(problem.should_retry, Some(false));
        for dialect in [
            Dialect::Chat,
            Dialect::Responses,
            Dialect::Completions,
            Dialect::Anthropic,
        ] {
            let body: serde_json::Value =
                serde_json::from_slice(&problem.body(dialect, "req_1")).unwrap();
            let told = body["error"]["message"].as_str().unwrap();
            // What each backend lacks of protection is for `route explain`.
            let parts = match kind {
                RefusalKind::Privacy => ["class `private` is required", "no allowed backend"],
                _ => ["visible_thinking", "blockrun: keeps what it is sent"],
            };
            for part in parts.into_iter().chain(["`providers.venice.api_key`"]) {
                assert!(told.contains(part), "{dialect:?} {told}");
            }
            assert_eq!(body["error"]["bardo_code"], code.as_str());
        }
    }
    let unknown = Problem::refused("gpt-9", &refusal(RefusalKind::UnknownModel));
    assert_eq!(
        (unknown.code.status(), unknown.code),
        (404, ErrorCode::ModelNotFound)
    );
    let mine = Problem::refused("gpt-5.5", &refusal(RefusalKind::NotAllowed));
    assert_eq!((mine.code.status(), mine.code), (404, ErrorCode::NoRoute));
}

/// Everything that is answered with 429, 503 or 529.
fn waiting() -> Vec<Problem> {
    use crate::auth::Denied;
    let throttled = Throttled {
        limit: "requests",
        retry_after_ms: 2_500,
        state: Admission::default(),
    };
    let store = || bardo_ledger::StoreError::Unavailable("down".to_owned());
    let budget = |retry_after_ms| EngineError::Budget {
        scope: CapScope::Session(
            bardo_types::ids::AccountId::parse("acct_1").unwrap(),
            "s".into(),
        ),
        window: CapWindow::Day,
        limit: MicroUsd::ZERO,
        reserved: MicroUsd::ZERO,
        used: MicroUsd::ZERO,
        needed: MicroUsd::ZERO,
        fits_max_tokens: None,
        retry_after_ms,
        limits: None,
    };
    let engine = [
        EngineError::CircuitOpen {
            model: "m".to_owned(),
            backend: "b".to_owned(),
            retry_after_ms: 3_000,
        },
        EngineError::Throttled {
            throttled: Box::new(throttled),
            allowance: None,
            at_ms: 0,
        },
        EngineError::Store(store()),
        EngineError::Busy,
        budget(Some(60_000)),
        budget(None),
    ];
    let retry_after_ms = 1_000;
    let mut all = vec![
        Problem::too_many_bodies(),
        Problem::store_unavailable(&store()),
        Problem::draining(),
        Problem::denied(Denied::Busy { retry_after_ms }),
        Problem::denied(Denied::Unavailable { retry_after_ms }),
    ];
    all.extend(engine.map(Problem::from));
    for class in [
        FaultClass::RateLimit,
        FaultClass::Overloaded,
        FaultClass::Payment,
    ] {
        for (attempts, unknown_outcome) in [(1, false), (3, false), (1, true)] {
            all.push(Problem::from(EngineError::Upstream(Box::new(
                UpstreamFailure {
                    backend: "openrouter".into(),
                    fault: Fault::new(class, "words").with_status(503),
                    attempts,
                    earlier: Vec::new(),
                    unknown_outcome,
                    may_repeat: false,
                },
            ))));
        }
    }
    all
}

#[test]
fn every_429_503_and_529_says_when_unless_waiting_does_not_help_or_could_be_billed_twice() {
    let mut silent = Vec::new();
    for problem in waiting() {
        assert!(
            matches!(problem.code.status(), 429 | 503 | 529),
            "{} {}",
            problem.code.status(),
            problem.code
        );
        match problem.fault.retry_after_ms {
            Some(wait) => assert!(wait > 0, "{}", problem.code),
            None => {
                assert_eq!(problem.should_retry, Some(false), "{}", problem.code);
                silent.push(problem.code.as_str());
            }
        }
    }
    // A cap without an end, two unknown outcomes, and an account without credit.
    assert_eq!(
        silent,
        [
            "budget_exceeded",
            "upstream_rate_limit",
            "upstream_overloaded",
            "upstream_out_of_funds",
            "upstream_out_of_funds",
            "upstream_out_of_funds",
        ]
    );
}

#[test]
fn an_offer_is_402_with_its_requirement_in_every_dialect() {
    let name = http::HeaderName::from_static("payment-required");
    let members = serde_json::json!({ "x402Version": 1, "accepts": [{ "amount": "7" }],
        "error": "lost", "type": "lost" });
    let requirement = PaymentRequirement {
        headers: vec![(name, http::HeaderValue::from_static("abc"))],
        members: members.as_object().unwrap().clone(),
    };
    let problem = Problem::from(EngineError::Unpaid(Box::new(bardo_engine::UnpaidRequest {
        price: MicroUsd::new(7),
        requirement,
        limits: None,
    })));
    assert_eq!(problem.code, ErrorCode::PaymentRequired);
    assert_eq!(problem.should_retry, Some(false));
    assert!(problem.fault.message.contains("0.000007 USD"));
    for dialect in [
        Dialect::Chat,
        Dialect::Completions,
        Dialect::Responses,
        Dialect::Anthropic,
    ] {
        assert_eq!(problem.status(dialect).as_u16(), 402);
        let body: serde_json::Value =
            serde_json::from_slice(&problem.body(dialect, "req_1")).unwrap();
        assert_eq!(body["error"]["bardo_code"], "payment_required", "{body}");
        assert_eq!(body["x402Version"], 1, "{body}");
        assert_eq!(body["accepts"][0]["amount"], "7", "{body}");
        if dialect == Dialect::Anthropic {
            assert_eq!(body["type"], "error", "{body}");
        }
    }
}
