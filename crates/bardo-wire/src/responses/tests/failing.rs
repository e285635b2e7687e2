//! Errors and what a relay sees.

use bardo_types::fault::FaultClass;

use super::*;
use crate::codec::{ErrorView, Observed};

#[test]
fn error_bodies_of_any_shape_are_read() {
    let check = |status, body: &str, class, message: &str| {
        let fault = decode_error(status, body.as_bytes(), Service::OpenAi);
        assert_eq!(
            (fault.class, &*fault.message),
            (class, message),
            "{status} {body}"
        );
        assert_eq!(fault.status, Some(status));
    };
    check(
        400,
        r#"{"error":{"message":"bad","type":"invalid_request_error","param":"model","code":null}}"#,
        FaultClass::BadRequest,
        "bad",
    );
    check(
        400,
        r#"{"error":{"message":"too big","code":"context_length_exceeded"}}"#,
        FaultClass::ContextTooLong,
        "too big",
    );
    check(
        400,
        r#"{"error":{"message":"This model's maximum context length is 8192 tokens"}}"#,
        FaultClass::ContextTooLong,
        "This model's maximum context length is 8192 tokens",
    );
    check(
        429,
        r#"{"error":{"message":"quota","code":"insufficient_quota","type":"insufficient_quota"}}"#,
        FaultClass::Payment,
        "quota",
    );
    check(
        429,
        r#"{"error":{"message":"slow","code":"rate_limit_exceeded","type":"tokens"}}"#,
        FaultClass::RateLimit,
        "slow",
    );
    check(
        401,
        r#"{"error":"Admin API key required"}"#,
        FaultClass::Authentication,
        "Admin API key required",
    );
    check(
        402,
        r#"{"error":"Payment Required","message":"This endpoint requires x402 payment"}"#,
        FaultClass::Payment,
        "Payment Required",
    );
    check(
        404,
        r#"{"detail":"Not Found"}"#,
        FaultClass::NotFound,
        "Not Found",
    );
    check(
        500,
        r#"[{"error":{"message":"inner","code":500}}]"#,
        FaultClass::Server,
        "inner",
    );
    check(500, r#""just words""#, FaultClass::Server, "just words");
    check(
        503,
        r#"{"error":{"message":"busy","code":"slow_down"}}"#,
        FaultClass::Overloaded,
        "busy",
    );
    check(
        502,
        "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>",
        FaultClass::Server,
        "502 Bad Gateway nginx",
    );
    check(
        504,
        "",
        FaultClass::Timeout,
        "openai answered with status 504",
    );
    check(
        524,
        "{}",
        FaultClass::Timeout,
        "openai answered with status 524",
    );
}

#[test]
fn a_quoted_message_is_bounded() {
    let body = format!(r#"{{"error":{{"message":"{}"}}}}"#, "ö".repeat(5000));
    let fault = decode_error(400, body.as_bytes(), Service::OpenAi);
    assert_eq!(fault.message.len(), 2048);
}

#[test]
fn error_bodies_have_every_key() {
    let fault = Fault::new(FaultClass::NotFound, "no such model").with_param("model");
    let view = ErrorView {
        fault: &fault,
        status: 404,
        bardo_code: "model_not_found",
        request_id: "req_1",
    };
    assert_eq!(
        json(&encode_error(&view)),
        serde_json::json!({"error":{"message":"no such model","type":"invalid_request_error","param":"model","code":"model_not_found","bardo_code":"model_not_found"}})
    );
    let text = String::from_utf8(encode_stream_error(&view)).unwrap();
    let data = text.strip_prefix("event: response.failed\ndata: ").unwrap();
    let data = json(data.trim_end().as_bytes());
    assert_eq!(data["response"]["id"], "resp_1");
    assert_eq!(data["response"]["status"], "failed");
    assert_eq!(data["response"]["error"]["message"], "no such model");
    assert_eq!(data["bardo_code"], "model_not_found");
}

fn observed(name: &str) -> Vec<Observed> {
    let bytes = read(&format!("answers/{name}.sse"));
    let mut seen = Observed::default();
    let mut all = Vec::new();
    SseParser::new(1 << 20)
        .push(&bytes, |event| {
            observe(event, &mut seen);
            all.push(seen.clone());
        })
        .unwrap();
    all
}

#[test]
fn a_relay_sees_what_a_decoder_sees() {
    for name in twins() {
        let seen = observed(&name).pop().unwrap();
        let response = from_whole(&name).unwrap();
        assert_eq!(seen.usage, response.usage, "{name}");
        assert_eq!(seen.model, response.model, "{name}");
        assert!(seen.terminal && seen.finished, "{name}");
        assert_eq!(seen.fault, None, "{name}");
        let whole = observe_response(&read(&format!("answers/{name}.json")));
        assert_eq!(whole.usage, response.usage, "{name}");
        assert_eq!(whole.model, response.model, "{name}");
        assert!(whole.terminal && whole.content, "{name}");
    }
}

#[test]
fn a_relay_sees_failures_and_missing_ends() {
    let quota = observed("failed_quota").pop().unwrap();
    assert_eq!(quota.fault, from_stream("failed_quota").err());
    assert!(quota.content && !quota.finished);
    let error = observed("error_event").pop().unwrap();
    assert_eq!(error.fault, from_stream("error_event").err());
    assert!(!error.content);
    let early = observed("ends_early").pop().unwrap();
    assert!(early.content && !early.terminal && early.fault.is_none());
    let whole = observe_response(&read("answers/failed_quota.json"));
    assert_eq!(whole.fault.unwrap().class, FaultClass::Payment);
    assert!(observe_response(b"<html>").fault.is_some());
}

#[test]
fn content_begins_with_the_first_delta_and_not_before() {
    let all = observed("text");
    let first = all.iter().position(|seen| seen.content).unwrap();
    // created, in_progress, item added, part added, delta
    assert_eq!(first, 4);
}

#[test]
fn counted_tokens_are_reported_in_their_own_shape() {
    assert_eq!(
        input_tokens(42),
        br#"{"object":"response.input_tokens","input_tokens":42}"#
    );
}
