use super::*;
use crate::codec::Observed;
use bardo_types::fault::FaultClass;

fn watch(stream: &[u8]) -> Observed {
    let mut seen = Observed::default();
    let mut parser = SseParser::new(1 << 20);
    parser
        .push(stream, |event| observe(event, &mut seen))
        .unwrap();
    seen
}

#[test]
fn a_relay_learns_usage_model_and_end() {
    let seen = Observed {
        memory: Default::default(),
        ..watch(&fixture("streams/thinking_and_calls.sse"))
    };
    let whole = observe_response(&fixture("answers/thinking_and_calls.json"));
    assert_eq!(seen, whole);
    let usage = seen.usage.unwrap();
    assert_eq!((usage.output, usage.reasoning), (89, Some(10)));
    assert_eq!((usage.cache_write_5m, usage.cache_write_1h), (100, 50));
    assert_eq!(seen.model.as_deref(), Some("claude-opus-5-5"));
    assert!(seen.content && seen.finished && seen.terminal);
}

#[test]
fn what_is_observed_is_what_is_decoded() {
    for name in fixtures("answers") {
        let seen = watch(&fixture(&format!("streams/{name}.sse")));
        let decoded = assemble(decode_stream(
            &fixture(&format!("streams/{name}.sse")),
            usize::MAX,
            context(),
        ))
        .unwrap();
        assert_eq!(seen.usage, decoded.usage, "{name}");
        assert_eq!(seen.model, decoded.model, "{name}");
        assert!(
            seen.terminal && seen.finished && seen.fault.is_none(),
            "{name}"
        );
        assert_eq!(seen.content, !decoded.choices[0].parts.is_empty(), "{name}");
    }
}

#[test]
fn content_begins_with_the_first_delta_and_not_before() {
    let start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m\"}}\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
    assert!(!watch(start.as_bytes()).content);
    let delta = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n";
    assert!(watch(format!("{start}{delta}").as_bytes()).content);
    let call = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\"}}\n\n";
    assert!(watch(call.as_bytes()).content);
    let nameless = "data: {\"type\":\"message_stop\"}\n\n";
    assert!(watch(nameless.as_bytes()).terminal);
}

#[test]
fn an_error_event_midway_is_seen_by_a_relay() {
    let seen = watch(&fixture("streams/error_midway.sse"));
    assert_eq!(seen.fault.unwrap().class, FaultClass::Overloaded);
    assert!(!seen.terminal);
    let error = br#"{"type":"error","error":{"type":"api_error","message":"x"}}"#;
    assert_eq!(
        observe_response(error).fault.unwrap().class,
        FaultClass::Server
    );
    assert!(observe_response(b"nonsense").fault.is_some());
}

#[track_caller]
fn stripped(body: &str, expected: Option<&str>) {
    let out = strip_thinking(body.as_bytes()).map(|out| String::from_utf8(out).unwrap());
    assert_eq!(out.as_deref(), expected);
}

#[test]
fn stripping_takes_thinking_and_nothing_else() {
    stripped(
        r#"{ "x":1.0, "messages":[{"role":"user","content":"a"}, {"content":[{"type":"thinking","thinking":"t","signature":"s"}, {"type":"text", "text":"thinking"},{"data":"d","type":"redacted_thinking"}],"role":"assistant"},{"role":"user","content":[{"type":"text","text":"b"}]}] ,"thinking":{"type":"adaptive"}}"#,
        Some(
            r#"{ "x":1.0, "messages":[{"role":"user","content":"a"},{"content":[{"type":"text", "text":"thinking"}],"role":"assistant"},{"role":"user","content":[{"type":"text","text":"b"}]}] ,"thinking":{"type":"adaptive"}}"#,
        ),
    );
    stripped(
        r#"{"messages":[{"role":"user","content":"a thinking b"}],"thinking":{"type":"adaptive"}}"#,
        None,
    );
    stripped("{", None);
    stripped(r#"{"messages":"thinking"}"#, None);
}

#[test]
fn an_assistant_message_of_thinking_alone_leaves_turns_that_alternate() {
    let thinking =
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"}]}"#;
    stripped(
        &format!(
            r#"{{"messages":[{{"role":"user","content":"a"}},{thinking},{{"role":"user","content":[{{"type":"text","text":"b"}}]}}]}}"#
        ),
        Some(
            r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}"#,
        ),
    );
    let out = strip_thinking(
        format!(
            r#"{{"messages":[{{"role":"user","content":"a"}},{{"role":"system","content":"s"}},{thinking},{{"role":"user","content":"b"}}]}}"#
        )
        .as_bytes(),
    )
    .unwrap();
    let body: Value = serde_json::from_slice(&out).unwrap();
    let roles: Vec<&str> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "system", "assistant", "user"]);
}
