use super::*;
use crate::codec::ErrorView;
use bardo_types::fault::{Fault, FaultClass};

#[track_caller]
fn decoded(status: u16, body: &str, class: FaultClass, message: &str) -> Fault {
    let fault = decode_error(status, body.as_bytes(), Service::Anthropic);
    assert_eq!(fault.class, class, "{body}");
    assert_eq!(fault.status, Some(status));
    assert!(fault.message.contains(message), "{}", fault.message);
    fault
}

fn own(kind: &str, message: &str) -> String {
    serde_json::json!({"type":"error","error":{"type":kind,"message":message},"request_id":"req_1"})
        .to_string()
}

#[test]
fn every_status_and_type_has_its_class() {
    for (status, kind, class) in [
        (400, "invalid_request_error", FaultClass::BadRequest),
        (401, "authentication_error", FaultClass::Authentication),
        (402, "billing_error", FaultClass::Payment),
        (403, "permission_error", FaultClass::Permission),
        (404, "not_found_error", FaultClass::NotFound),
        (409, "conflict_error", FaultClass::Conflict),
        (413, "request_too_large", FaultClass::TooLarge),
        (422, "invalid_request_error", FaultClass::Unprocessable),
        (429, "rate_limit_error", FaultClass::RateLimit),
        (500, "api_error", FaultClass::Server),
        (504, "timeout_error", FaultClass::Timeout),
        (529, "overloaded_error", FaultClass::Overloaded),
        (500, "overloaded_error", FaultClass::Overloaded),
    ] {
        let fault = decoded(status, &own(kind, "why"), class, "why");
        assert_eq!(fault.code.as_deref(), Some(kind));
    }
}

#[test]
fn failures_told_in_words_only_are_understood() {
    decoded(
        400,
        &own(
            "invalid_request_error",
            "prompt is too long: 210000 tokens > 200000 maximum",
        ),
        FaultClass::ContextTooLong,
        "210000",
    );
    decoded(
        400,
        &own(
            "invalid_request_error",
            "Your credit balance is too low to access the API",
        ),
        FaultClass::Payment,
        "credit",
    );
    let spend = r#"{"type":"error","error":{"type":"rate_limit_error","message":"cap","details":{"error_code":"enforced_spend_limit_reached"}}}"#;
    let fault = decoded(429, spend, FaultClass::Payment, "cap");
    assert_eq!(fault.code.as_deref(), Some("enforced_spend_limit_reached"));
}

#[test]
fn any_body_is_an_error() {
    decoded(502, "", FaultClass::Server, "status 502");
    decoded(
        502,
        "<html><body>secret",
        FaultClass::Server,
        "a web page instead",
    );
    decoded(500, "\"boom\"", FaultClass::Server, "boom");
    decoded(500, "boom", FaultClass::Server, "boom");
    decoded(500, r#"{"error":"boom"}"#, FaultClass::Server, "boom");
    decoded(500, r#"{"message":"boom"}"#, FaultClass::Server, "boom");
    decoded(500, r#"{"detail":"boom"}"#, FaultClass::Server, "boom");
    decoded(
        429,
        r#"[{"error":{"message":"boom"}}]"#,
        FaultClass::RateLimit,
        "boom",
    );
    decoded(500, "{}", FaultClass::Server, "no reason");
    let fault = decoded(
        402,
        r#"{"error":{"code":402,"message":"boom","metadata":{"error_type":"payment_required"}}}"#,
        FaultClass::Payment,
        "boom",
    );
    assert_eq!(fault.code.as_deref(), Some("payment_required"));
    let long = decode_error(
        500,
        own("api_error", &"é".repeat(9000)).as_bytes(),
        Service::Anthropic,
    );
    assert!(long.message.len() <= 2048 && long.message.ends_with('…'));
}

#[test]
fn errors_have_every_key_that_clients_read() {
    let classes = [
        FaultClass::BadRequest,
        FaultClass::ContextTooLong,
        FaultClass::Authentication,
        FaultClass::Payment,
        FaultClass::Permission,
        FaultClass::NotFound,
        FaultClass::Conflict,
        FaultClass::TooLarge,
        FaultClass::Unprocessable,
        FaultClass::RateLimit,
        FaultClass::Server,
        FaultClass::Overloaded,
        FaultClass::Timeout,
        FaultClass::Connection,
        FaultClass::Malformed,
    ];
    let bodies: Vec<Value> = classes
        .iter()
        .map(|class| {
            let fault = Fault::new(*class, "why").with_param("messages");
            let view = ErrorView {
                fault: &fault,
                status: 400,
                bardo_code: "stable_code",
                request_id: "req_1",
            };
            let body = encode_error(&view);
            let event = encode_stream_error(&view);
            assert_eq!(
                event,
                [&b"event: error\ndata: "[..], &body, b"\n\n"].concat()
            );
            serde_json::from_slice(&body).unwrap()
        })
        .collect();
    insta::assert_json_snapshot!("errors", bodies);
}

#[test]
fn a_signature_of_another_conversation_is_told_from_other_refusals() {
    let bound = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.";
    let tampered = "messages.1.content.0: Invalid `signature` in `thinking` block";
    for message in [bound, tampered] {
        let body = own("invalid_request_error", message);
        assert!(is_binding_error(400, body.as_bytes()));
        assert!(!is_binding_error(500, body.as_bytes()));
    }
    let other = own("invalid_request_error", "max_tokens: field required");
    assert!(!is_binding_error(400, other.as_bytes()));
    assert!(!is_binding_error(400, b""));
}
