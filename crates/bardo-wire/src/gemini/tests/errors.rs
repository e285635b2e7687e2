use bardo_types::fault::{Fault, FaultClass};

use super::*;
use crate::gemini::{
    decode_count, decode_embeddings, decode_error, encode_count_request, encode_embeddings,
};
use bardo_types::chat::{Message, Role, Text};

fn error(status: u16, body: &str) -> Fault {
    decode_error(status, body.as_bytes(), Service::Google)
}

/// Section 5, the Gemini column.
#[test]
fn every_status_has_its_class() {
    let rows = [
        (400, "INVALID_ARGUMENT", "bad", FaultClass::BadRequest),
        (
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            FaultClass::ContextTooLong,
        ),
        (
            400,
            "INVALID_ARGUMENT",
            "API key not valid. Please pass a valid API key.",
            FaultClass::Authentication,
        ),
        (
            400,
            "INVALID_ARGUMENT",
            "Request payload size exceeds the limit: 20971520 bytes.",
            FaultClass::TooLarge,
        ),
        (
            400,
            "FAILED_PRECONDITION",
            "User location is not supported for the API use.",
            FaultClass::Permission,
        ),
        (401, "UNAUTHENTICATED", "no", FaultClass::Authentication),
        (403, "PERMISSION_DENIED", "no", FaultClass::Permission),
        (
            404,
            "NOT_FOUND",
            "models/x is not found",
            FaultClass::NotFound,
        ),
        (
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota, please check your plan and billing details.",
            FaultClass::RateLimit,
        ),
        (
            429,
            "RESOURCE_EXHAUSTED",
            "Your prepayment credits are depleted.",
            FaultClass::Payment,
        ),
        (
            403,
            "PERMISSION_DENIED",
            "CachedContent not found (or permission denied)",
            FaultClass::Unprocessable,
        ),
        (500, "INTERNAL", "oops", FaultClass::Server),
        (503, "UNAVAILABLE", "overloaded", FaultClass::Overloaded),
        (504, "DEADLINE_EXCEEDED", "slow", FaultClass::Timeout),
        (418, "", "teapot", FaultClass::BadRequest),
    ];
    for (status, name, message, class) in rows {
        let body =
            format!(r#"{{"error":{{"code":{status},"message":"{message}","status":"{name}"}}}}"#);
        let fault = error(status, &body);
        assert_eq!(fault.class, class, "{name}: {message}");
        assert_eq!((fault.status, &*fault.message), (Some(status), message));
        assert_eq!(error(status, &format!("[{body}]")), fault);
    }
}

#[test]
fn a_bad_key_is_told_by_its_reason() {
    let fault = error(
        400,
        r#"{"error":{"code":400,"message":"denied","status":"INVALID_ARGUMENT","details":[
            {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}"#,
    );
    assert_eq!(fault.class, FaultClass::Authentication);
    assert_eq!(fault.code.as_deref(), Some("API_KEY_INVALID"));
}

#[test]
fn the_wait_is_read_from_details_or_words() {
    let wait = |delay: &str| {
        error(
            429,
            &format!(
                r#"{{"error":{{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[
                {{"@type":"x/QuotaFailure"}},{{"@type":"x/RetryInfo","retryDelay":"{delay}"}}]}}}}"#
            ),
        )
        .retry_after_ms
    };
    assert_eq!(wait("30s"), Some(30_000));
    assert_eq!(wait("1.5s"), Some(1_500));
    assert_eq!(wait("34.074824224s"), Some(34_075));
    assert_eq!(wait("soon"), None);
    assert_eq!(wait("-3s"), None);
    let words =
        r#"{"error":{"message":"Quota. Please retry in 12.5s.","status":"RESOURCE_EXHAUSTED"}}"#;
    assert_eq!(error(429, words).retry_after_ms, Some(12_500));
}

#[test]
fn the_field_at_fault_is_named() {
    let fault = error(
        400,
        r#"{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT","details":[
            {"@type":"x/BadRequest","fieldViolations":[{"field":"contents[0].parts","description":"d"}]}]}}"#,
    );
    assert_eq!(fault.param.as_deref(), Some("contents[0].parts"));
}

#[test]
fn any_body_is_an_error_and_long_ones_are_cut() {
    assert_eq!(
        error(502, "<html>bad gateway</html>").class,
        FaultClass::Server
    );
    assert_eq!(error(429, "").class, FaultClass::RateLimit);
    assert_eq!(error(503, "\"busy\"").message, "busy");
    assert_eq!(error(400, "no JSON").message, "no JSON");
    for nothing in ["\"\"", "\" \"", r#"{"error":{"message":""}}"#] {
        assert!(!error(500, nothing).message.is_empty(), "{nothing}");
    }
    assert_eq!(error(500, &"ü".repeat(5_000)).message.len(), 2_048);
}

#[test]
fn a_key_in_a_message_is_not_repeated() {
    let fault = error(
        403,
        r#"{"error":{"message":"Consumer 'api_key:AIzaSyCANARY_0-9' has been suspended.","status":"PERMISSION_DENIED"}}"#,
    );
    assert_eq!(
        fault.message,
        "Consumer 'api_key:[key]' has been suspended."
    );
}

#[test]
fn a_count_covers_system_prompt_and_tools() {
    let mut request = ChatRequest::new(Dialect::Chat, "m");
    request.messages = vec![
        Message::new(Role::System, vec![Text::new("Be brief.").into()]),
        Message::new(Role::User, vec![Text::new("Hi").into()]),
    ];
    request.tools.push(function("f"));
    let encoded = encode_count_request(&request, &target(levels())).unwrap();
    let body: serde_json::Value = serde_json::from_slice(&encoded.body).unwrap();
    insta::assert_json_snapshot!(body);
    assert_eq!(decode_count(br#"{"totalTokens":31}"#), Ok(31));
    assert_eq!(decode_count(br#"{"totalTokens":"31"}"#), Ok(31));
    let fault = decode_count(br#"{"error":{"code":404,"status":"NOT_FOUND"}}"#).unwrap_err();
    assert_eq!(fault.class, FaultClass::NotFound);
    assert!(decode_count(b"[]").is_err());
}

#[test]
fn embeddings_keep_their_order() {
    let body = encode_embeddings(
        "gemini-embedding-001",
        &["a".to_owned(), "b".to_owned()],
        Some(256),
    );
    assert_eq!(
        String::from_utf8(body).unwrap(),
        r#"{"requests":[{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"a"}]},"outputDimensionality":256},{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"b"}]},"outputDimensionality":256}]}"#
    );
    assert_eq!(
        decode_embeddings(br#"{"embeddings":[{"values":[0.5,-1]},{"values":[0.25]}]}"#),
        Ok(vec![vec![0.5, -1.0], vec![0.25]])
    );
    let fault = decode_embeddings(br#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}"#);
    assert_eq!(fault.unwrap_err().class, FaultClass::RateLimit);
}
