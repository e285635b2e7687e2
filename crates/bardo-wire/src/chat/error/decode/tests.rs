use super::*;

#[track_caller]
fn check(status: u16, body: &str, class: FaultClass, code: Option<&str>, message: &str) {
    let fault = decode_error(status, body.as_bytes(), Service::OpenRouter);
    assert_eq!(fault.class, class, "{body}");
    assert_eq!(fault.code.as_deref(), code, "{body}");
    assert_eq!(fault.message, message, "{body}");
    assert_eq!(fault.status, Some(status), "{body}");
}

#[test]
fn openai_errors_have_type_and_code() {
    check(
        400,
        r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
        FaultClass::ContextTooLong,
        Some("context_length_exceeded"),
        "This model's maximum context length is 8192 tokens.",
    );
    check(
        429,
        r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
        FaultClass::Payment,
        Some("insufficient_quota"),
        "You exceeded your current quota",
    );
    check(
        429,
        r#"{"error":{"message":"Slow down","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#,
        FaultClass::RateLimit,
        Some("rate_limit_exceeded"),
        "Slow down",
    );
}

#[test]
fn openrouter_codes_are_numbers_and_the_kind_is_in_the_metadata() {
    check(
        502,
        r#"{"error":{"code":502,"message":"Provider returned error","metadata":{"error_type":"provider_overloaded","provider_name":"X"}}}"#,
        FaultClass::Overloaded,
        Some("provider_overloaded"),
        "Provider returned error (X)",
    );
    check(
        402,
        r#"{"error":{"code":402,"message":"Insufficient credits"}}"#,
        FaultClass::Payment,
        None,
        "Insufficient credits",
    );
}

#[test]
fn venice_errors_are_strings() {
    check(
        404,
        r#"{"error":"Specified model not found"}"#,
        FaultClass::NotFound,
        None,
        "Specified model not found",
    );
    check(
        429,
        r#"{"error":"The model is overloaded","code":"MODEL_OVERLOADED"}"#,
        FaultClass::Overloaded,
        Some("MODEL_OVERLOADED"),
        "The model is overloaded",
    );
}

#[test]
fn gemini_wraps_errors_in_an_array_and_tells_how_long_to_wait() {
    let body = r#"[{"error":{"code":429,"message":"Quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"30s"}]}}]"#;
    check(
        429,
        body,
        FaultClass::RateLimit,
        Some("RESOURCE_EXHAUSTED"),
        "Quota",
    );
    let fault = decode_error(429, body.as_bytes(), Service::Google);
    assert_eq!(fault.retry_after_ms, Some(30_000));
}

#[test]
fn blockrun_repeats_its_code_and_names_unknown_models_in_text() {
    let body = r#"{"error":{"message":"Busy","type":"rate_limit_error","code":"RATE_LIMITED","param":null},"message":"Busy","code":"RATE_LIMITED","retry_after_seconds":2.5}"#;
    check(
        429,
        body,
        FaultClass::RateLimit,
        Some("RATE_LIMITED"),
        "Busy",
    );
    let fault = decode_error(429, body.as_bytes(), Service::BlockRun);
    assert_eq!(fault.retry_after_ms, Some(2_500));
    check(
        400,
        r#"{"error":"Unknown model: x/y. Try one of: a/b"}"#,
        FaultClass::NotFound,
        None,
        "Unknown model: x/y. Try one of: a/b",
    );
}

#[test]
fn a_vague_kind_does_not_hide_a_telling_status() {
    let busy = r#"{"error":{"message":"Busy","type":"server_error","param":null,"code":"invalid_request_error"}}"#;
    let code = Some("invalid_request_error");
    check(503, busy, FaultClass::Overloaded, code, "Busy");
    check(504, busy, FaultClass::Timeout, code, "Busy");
    check(500, busy, FaultClass::Server, code, "Busy");
}

#[test]
fn bodies_that_are_no_json_never_confuse() {
    check(
        502,
        "<html><body>Bad gateway</body></html>",
        FaultClass::Server,
        None,
        "openrouter answered with status 502",
    );
    check(
        503,
        "",
        FaultClass::Overloaded,
        None,
        "openrouter answered with status 503",
    );
    check(
        500,
        "upstream exploded",
        FaultClass::Server,
        None,
        "upstream exploded",
    );
    check(
        422,
        r#"{"detail":[{"loc":["body","messages"],"msg":"field required"}]}"#,
        FaultClass::Unprocessable,
        None,
        r#"[{"loc":["body","messages"],"msg":"field required"}]"#,
    );
}

#[test]
fn keys_in_messages_are_masked_and_messages_bounded() {
    check(
        401,
        r#"{"error":{"message":"Incorrect API key provided: sk-proj-abcd****wxyz.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
        FaultClass::Authentication,
        Some("invalid_api_key"),
        "Incorrect API key provided: [key]",
    );
    let long = decode_error(500, "ä".repeat(4000).as_bytes(), Service::Local);
    assert!(
        long.message.len() <= crate::kit::messages::MESSAGE_LIMIT && long.message.ends_with('…')
    );
}
