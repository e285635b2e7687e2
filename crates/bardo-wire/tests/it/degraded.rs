//! Answers that are successes by their status alone: a relay and a translation take them for the
//! failures that they are, so nobody is billed for them.

use std::sync::Arc;

use bardo_types::chat::{ChatRequest, StreamEvent};
use bardo_types::fault::FaultClass;
use bardo_types::model::{Capabilities, Dialect, Service};
use bardo_wire::codec::{DecodeContext, Observed, Target};
use bardo_wire::sse::{SseEvent, SseParser};
use bardo_wire::table;

const APOLOGY: &str = "The AI service is temporarily overloaded. Please try again in a moment.";

fn context(dialect: Dialect) -> DecodeContext {
    DecodeContext {
        target: Target {
            model: "m".into(),
            service: Service::OpenRouter,
            capabilities: Arc::new(Capabilities::default()),
        },
        request: Arc::new(ChatRequest::new(dialect, "m")),
        renamed_tools: Vec::new(),
        id_seed: "seed".into(),
    }
}

/// What a relay and a translation take a whole body for.
fn whole(dialect: Dialect, body: &str) -> (Option<FaultClass>, Option<FaultClass>) {
    let seen = table::observe_response(dialect, body.as_bytes());
    let decoded = table::decode_response(dialect, body.as_bytes(), &context(dialect));
    (
        seen.fault.map(|fault| fault.class),
        decoded.err().map(|fault| fault.class),
    )
}

fn each(stream: &str, take: impl FnMut(SseEvent<'_>)) {
    let mut parser = SseParser::new(1 << 20);
    parser.push(stream.as_bytes(), take).unwrap();
}

/// What a relay and a translation take a stream for, and whether either had content before.
fn streamed(dialect: Dialect, stream: &str) -> (Option<FaultClass>, Option<FaultClass>, bool) {
    let mut seen = Observed::default();
    let mut content = false;
    each(stream, |event| {
        if seen.fault.is_none() {
            table::observe(dialect, event, &mut seen);
            content |= seen.content && seen.fault.is_none();
        }
    });
    let mut decoder = table::stream_decoder(dialect, context(dialect));
    let mut steps = Vec::new();
    each(stream, |event| decoder.event(event, &mut steps));
    content |= steps
        .iter()
        .any(|step| matches!(step, StreamEvent::Text { .. }));
    let failed = steps.into_iter().find_map(|step| match step {
        StreamEvent::Failed(fault) => Some(fault.class),
        _ => None,
    });
    (seen.fault.map(|fault| fault.class), failed, content)
}

#[test]
fn whole_bodies_that_tell_of_a_failure_are_failures() {
    use Dialect::{Anthropic, Chat, Gemini, Responses};
    use FaultClass::{Malformed, Overloaded, RateLimit, Server};
    let said = |text: &str, rest: &str| {
        format!(
            r#"{{"id":"x","model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}]{rest}}}"#
        )
    };
    let zeros = r#","usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}"#;
    let claude = format!(
        r#"{{"id":"m","type":"message","role":"assistant","model":"c","content":[{{"type":"text","text":"{APOLOGY}"}}],"stop_reason":"end_turn","usage":{{"input_tokens":0,"output_tokens":0}}}}"#
    );
    let cases = [
        (Chat, said(APOLOGY, ""), Overloaded),
        (Chat, said(APOLOGY, zeros), Overloaded),
        (Chat, said("Overloaded", zeros), Overloaded),
        (Chat, said("Too many requests.", ""), RateLimit),
        (Chat, said("Internal Server Error", zeros), Server),
        (Chat, r#"{"id":"x","model":"m","choices":[]}"#.into(), Malformed),
        (Chat, r#"{"error":{"code":429,"message":"Rate limited"}}"#.into(), RateLimit),
        (Chat, r#"{"error":{"code":529,"message":"Overloaded"}}"#.into(), Overloaded),
        (Chat, r#"{"error":{"message":"Overloaded","type":"overloaded_error"}}"#.into(), Overloaded),
        (Chat, r#"{"error":"upstream unavailable"}"#.into(), Server),
        (Chat, r#"{"detail":"Internal error"}"#.into(), Server),
        (Chat, r#"{"object":"error","message":"CUDA out of memory","code":500}"#.into(), Server),
        (Chat, r#"[{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}]"#.into(), Overloaded),
        (Chat, "<html><body>502 Bad Gateway</body></html>".into(), Malformed),
        (Chat, String::new(), Malformed),
        (Anthropic, claude, Overloaded),
        (Anthropic, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#.into(), Overloaded),
        (Anthropic, r#"{"error":{"message":"Overloaded","type":"overloaded_error"}}"#.into(), Overloaded),
        (Anthropic, "upstream connect error".into(), Malformed),
        (Responses, r#"{"id":"r","object":"response","status":"failed","error":{"code":"server_error","message":"x"},"output":[]}"#.into(), Server),
        (Responses, r#"{"id":"r","object":"response","status":"failed","error":{"code":"rate_limit_exceeded","message":"x"},"output":[]}"#.into(), RateLimit),
        (Responses, r#"{"error":{"code":"server_error","message":"x"}}"#.into(), Server),
        (Gemini, r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#.into(), Overloaded),
        (Gemini, r#"[{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}]"#.into(), RateLimit),
    ];
    for (dialect, body, class) in cases {
        assert_eq!(whole(dialect, &body), (Some(class), Some(class)), "{body}");
    }
}

#[test]
fn a_choice_that_ended_in_an_error_is_a_failure() {
    let body = r#"{"id":"x","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"par"},"finish_reason":"error","error":{"code":502,"message":"Provider disconnected"}}],"usage":{"prompt_tokens":5,"completion_tokens":1}}"#;
    let (relayed, translated) = whole(Dialect::Chat, body);
    assert!(relayed.is_some() && translated == relayed);
}

#[test]
fn words_that_were_counted_are_an_answer() {
    let body = format!(
        r#"{{"id":"x","model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":"{APOLOGY}"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":9,"completion_tokens":14}}}}"#
    );
    assert_eq!(whole(Dialect::Chat, &body), (None, None));
}

#[test]
fn streams_that_tell_of_a_failure_before_any_content_are_failures() {
    let chunk = |rest: &str| format!("data: {{\"id\":\"x\",\"model\":\"m\",{rest}}}\n\n");
    let role = chunk(
        r#""choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]"#,
    );
    let cases = [
        (
            Dialect::Chat,
            role.clone()
                + &chunk(&format!(
                    r#""choices":[{{"index":0,"delta":{{"content":"{APOLOGY}"}},"finish_reason":"stop"}}]"#
                ))
                + "data: [DONE]\n\n",
            FaultClass::Overloaded,
        ),
        (
            Dialect::Chat,
            role.clone()
                + &chunk(
                    r#""choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}],"error":{"code":503,"message":"no capacity"}"#,
                ),
            FaultClass::Overloaded,
        ),
        (
            Dialect::Anthropic,
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n".into(),
            FaultClass::Overloaded,
        ),
        (
            Dialect::Responses,
            "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"id\":\"r\",\"status\":\"failed\",\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"x\"},\"output\":[]}}\n\n".into(),
            FaultClass::RateLimit,
        ),
        (
            Dialect::Gemini,
            "data: {\"error\":{\"code\":503,\"message\":\"overloaded\",\"status\":\"UNAVAILABLE\"}}\n\n".into(),
            FaultClass::Overloaded,
        ),
    ];
    for (dialect, stream, class) in cases {
        assert_eq!(
            streamed(dialect, &stream),
            (Some(class), Some(class), false),
            "{stream}"
        );
    }
}

#[test]
fn a_stream_that_only_begins_like_an_apology_goes_on() {
    let words = ["Overloaded", " operators", " are resolved early."];
    let mut stream = String::new();
    for word in words {
        stream += &format!(
            "data: {{\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{word}\"}},\"finish_reason\":null}}]}}\n\n"
        );
    }
    stream += "data: {\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    assert_eq!(streamed(Dialect::Chat, &stream), (None, None, true));
}
