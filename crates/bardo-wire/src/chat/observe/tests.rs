use super::*;

fn event(data: &str) -> SseEvent<'_> {
    SseEvent {
        name: "",
        data: data.as_bytes(),
    }
}

#[test]
fn a_stream_is_followed_from_its_role_to_its_end() {
    let mut seen = Observed::default();
    observe(
        event(
            r#"{"id":"x","model":"gpt-5.5","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":null}],"usage":null}"#,
        ),
        &mut seen,
    );
    assert_eq!(
        (seen.content, seen.model.as_deref()),
        (false, Some("gpt-5.5"))
    );
    observe(
        event(
            r#"{"choices":[{"index":0,"delta":{"content":"Hi \"usage\": 5"},"finish_reason":null}],"usage":null}"#,
        ),
        &mut seen,
    );
    assert!(seen.content && !seen.finished && seen.usage.is_none());
    observe(
        event(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}"#),
        &mut seen,
    );
    assert!(seen.finished && !seen.terminal);
    observe(
        event(
            r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}"#,
        ),
        &mut seen,
    );
    observe(event("[DONE]"), &mut seen);
    assert!(seen.terminal && seen.fault.is_none());
    assert_eq!(seen.usage.map(|usage| usage.total()), Some(10));
}

#[test]
fn reasoning_and_calls_are_content_too() {
    for delta in [
        r#"{"reasoning_content":"h"}"#,
        r#"{"reasoning":"h"}"#,
        r#"{"tool_calls":[{"index":0}]}"#,
        r#"{"refusal":"no"}"#,
    ] {
        let mut seen = Observed::default();
        let data = format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#);
        observe(event(&data), &mut seen);
        assert!(seen.content, "{delta}");
    }
    let mut seen = Observed::default();
    observe(
        event(
            r#"{"choices":[{"index":0,"delta":{"content":"","tool_calls":[],"reasoning_details":[]}}]}"#,
        ),
        &mut seen,
    );
    assert!(!seen.content);
}

#[test]
fn errors_in_a_stream_and_in_a_200_body_are_seen() {
    let openrouter = r#"{"id":"gen","choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}],"error":{"code":502,"message":"Provider disconnected","metadata":{"error_type":"provider_unavailable"}}}"#;
    let mut seen = Observed {
        content: true,
        model: Some("m".into()),
        ..Observed::default()
    };
    observe(event(openrouter), &mut seen);
    assert_eq!(
        seen.fault.map(|fault| (fault.class, fault.status)),
        Some((FaultClass::Overloaded, Some(502)))
    );
    let whole = observe_response(br#"{"error":{"code":429,"message":"Rate limited"}}"#);
    assert_eq!(
        whole.fault.map(|fault| fault.class),
        Some(FaultClass::RateLimit)
    );
    assert!(observe_response(b"<html>").fault.is_some());
    assert!(
        observe_response(br#"{"error":"overloaded"}"#)
            .fault
            .is_some()
    );
}

#[test]
fn what_was_answered_and_cannot_be_read_is_no_refusal() {
    let class = |body: &str| {
        let fault = observe_response(body.as_bytes()).fault;
        fault.map(|fault| fault.class)
    };
    let answer = r#""choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}]"#;
    let usage = r#""usage":{"prompt_tokens":5,"completion_tokens":7}"#;
    for body in [
        format!(r#"{{"id":"a",{answer},{usage},{usage}}}"#),
        format!(r#"{{"id":"a",{usage}}}"#),
        format!(r#"{{"id":"a",{usage},"choices":null}}"#),
        r#"{"choices":"none"}"#.to_owned(),
    ] {
        assert_eq!(class(&body), Some(FaultClass::Malformed), "{body}");
    }
    for body in [r#"{"detail":"no"}"#, r#"{"usage":null,"error":"no"}"#] {
        assert_eq!(class(body), Some(FaultClass::Server), "{body}");
    }
}

#[test]
fn a_whole_body_tells_usage_model_and_end() {
    let seen = observe_response(
        br#"{"id":"c","model":"glm","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":2,"completion_tokens":1},"cost":{"usd":0.001,"diem":0}}"#,
    );
    assert!(seen.terminal && seen.finished && seen.content);
    assert_eq!(
        seen.usage.and_then(|usage| usage.provider_cost_usd),
        Some("0.001".into())
    );
}

#[test]
fn only_the_chunk_without_choices_is_usage_alone() {
    assert!(usage_only_chunk(event(
        r#"{"choices":[],"usage":{"prompt_tokens":1}}"#
    )));
    for other in [
        r#"{"choices":[],"usage":null}"#,
        r#"{"choices":[{"index":0,"delta":{}}],"usage":{"prompt_tokens":1}}"#,
        r#"{"choices":[]}"#,
        "[DONE]",
    ] {
        assert!(!usage_only_chunk(event(other)), "{other}");
    }
}

#[test]
fn several_answers_are_finished_when_each_of_them_is() {
    let mut seen = Observed::default();
    let end = |index: u32| {
        format!(r#"{{"choices":[{{"index":{index},"delta":{{}},"finish_reason":"stop"}}]}}"#)
    };
    for (index, finished) in [(1, false), (1, false), (0, true)] {
        let data = end(index);
        let event = SseEvent {
            name: "",
            data: data.as_bytes(),
        };
        observe(event, &mut seen);
        assert_eq!(seen.all_finished(2), finished);
        assert!(seen.all_finished(1));
    }
}
