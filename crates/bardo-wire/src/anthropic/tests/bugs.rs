//! Bugs that gateways had, by their number in the translation map.

use super::*;
use bardo_types::chat::{
    CacheMark, Document, DocumentSource, Finish, Image, MediaSource, Opaque, OutputFormat,
    Reasoning, ReasoningRequest, ServerBlock, ThinkingMode, ToolChoice,
};
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::usage::Usage;
use serde_json::json;

fn start() -> StreamEvent {
    StreamEvent::Start {
        id: Some("chatcmpl-1".into()),
        model: Some("gpt-test".into()),
        created: None,
        service_tier: None,
    }
}

fn text(text: &str) -> StreamEvent {
    StreamEvent::Text {
        choice: 0,
        text: text.into(),
    }
}

fn tool(call: u32, id: &str) -> StreamEvent {
    StreamEvent::ToolStart {
        choice: 0,
        call,
        id: id.into(),
        name: "f".into(),
        custom: false,
        opaque: None,
    }
}

fn input(call: u32, fragment: &str) -> StreamEvent {
    StreamEvent::ToolInput {
        choice: 0,
        call,
        fragment: fragment.into(),
    }
}

fn finish(reason: Finish) -> StreamEvent {
    StreamEvent::Finish {
        choice: 0,
        reason,
        stop_sequence: None,
        details: None,
    }
}

fn thought(text: &str, opaque: Option<Opaque>) -> Part {
    Part::Reasoning(Reasoning {
        text: text.into(),
        summary: false,
        opaque,
    })
}

fn signed(signature: &str) -> Option<Opaque> {
    Some(Opaque::AnthropicSignature(signature.into()))
}

/// The blocks and the stop reason of a stream made of `steps`.
#[track_caller]
fn streamed(steps: Vec<StreamEvent>) -> (Vec<Value>, Value) {
    let events = grammatical(&encode_stream(
        std::iter::once(start())
            .chain(steps)
            .chain([StreamEvent::Done]),
    ));
    let reason = events
        .iter()
        .find(|(name, _)| name == "message_delta")
        .map(|(_, data)| data["delta"]["stop_reason"].clone());
    (blocks_of(&events), reason.unwrap())
}

fn call(id: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": "f", "input": input, "caller": {"type": "direct"}})
}

#[test]
fn bug_01_a_call_that_comes_whole_has_its_arguments() {
    let steps = vec![
        tool(0, "a"),
        input(0, r#"{"city":"Paris"}"#),
        StreamEvent::ToolEnd { choice: 0, call: 0 },
        finish(Finish::ToolCalls),
    ];
    let events = events_of(&encode_stream(
        std::iter::once(start()).chain(steps.clone()),
    ));
    assert!(
        events
            .iter()
            .any(|(_, data)| data["delta"]["type"] == "input_json_delta")
    );
    let (blocks, reason) = streamed(steps);
    assert_eq!(blocks, [call("a", json!({"city": "Paris"}))]);
    assert_eq!(reason, "tool_use");
}

#[test]
fn bug_02_input_given_in_the_start_of_a_block_is_not_lost() {
    let stream = concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{\"x\":1}}}\n\n",
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    );
    let response = assemble(decode_stream(stream.as_bytes(), 11, context())).unwrap();
    assert_eq!(response.choices[0].parts, [called("a", "f", r#"{"x":1}"#)]);
}

#[test]
fn bug_03_empty_steps_write_nothing() {
    let (blocks, _) = streamed(vec![text(""), text("Hi"), text(""), finish(Finish::Stop)]);
    assert_eq!(blocks, [json!({"type": "text", "text": "Hi"})]);
}

#[test]
fn bug_04_calls_are_counted_among_calls_only() {
    let events = decode_stream(
        &fixture("streams/thinking_and_calls.sse"),
        usize::MAX,
        context(),
    );
    let calls: Vec<u32> = events
        .iter()
        .filter_map(|event| match event {
            StreamEvent::ToolStart { call, .. } => Some(*call),
            _ => None,
        })
        .collect();
    assert_eq!(calls, [0, 1]);
}

#[test]
fn bug_05_three_calls_are_three_blocks() {
    let mut steps = Vec::new();
    for (number, id) in [(0, "a"), (1, "b"), (2, "c")] {
        steps.push(tool(number, id));
        steps.push(input(number, "{\"n\":"));
        steps.push(input(number, &format!("{number}}}")));
    }
    steps.push(finish(Finish::ToolCalls));
    let (blocks, _) = streamed(steps);
    let expected: Vec<Value> = ["a", "b", "c"]
        .iter()
        .enumerate()
        .map(|(n, id)| call(id, json!({"n": n})))
        .collect();
    assert_eq!(blocks, expected);
}

#[test]
fn bug_09_interleaved_calls_come_out_one_after_another() {
    let (blocks, _) = streamed(vec![
        tool(0, "a"),
        tool(1, "b"),
        tool(2, "c"),
        input(1, "{\"y\":"),
        input(0, "{\"x\":"),
        input(2, "{}"),
        input(1, "{\"z\":2}}"),
        text("words between"),
        input(0, "1}"),
        finish(Finish::ToolCalls),
    ]);
    assert_eq!(
        blocks,
        [
            call("a", json!({"x": 1})),
            call("b", json!({"y": {"z": 2}})),
            call("c", json!({})),
            json!({"type": "text", "text": "words between"}),
        ]
    );
}

#[test]
fn bug_09_a_complete_call_makes_way_at_once() {
    let mut encoder = stream_encoder(reply());
    let mut out = Vec::new();
    for step in [
        start(),
        tool(0, "a"),
        input(0, "{\"x\":1}"),
        tool(1, "b"),
        input(1, "{\"y\""),
    ] {
        encoder.encode(step, "", &mut out);
    }
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.contains(r#"{\"y\""#),
        "the second call streams: {text}"
    );
}

#[test]
fn bug_13_a_call_without_arguments_has_an_empty_object() {
    let (blocks, _) = streamed(vec![tool(0, "a"), input(0, ""), finish(Finish::ToolCalls)]);
    assert_eq!(blocks, [call("a", json!({}))]);
    let mut request = hello();
    request.messages.extend([
        Message::new(Role::Assistant, vec![called("a", "f", "")]),
        Message::new(Role::User, vec![result("a", "done")]),
    ]);
    let (body, _) = encoded(&request, older());
    assert_eq!(body["messages"][1]["content"][0]["input"], json!({}));
    let events = decode_stream(&fixture("streams/call_without_arguments.sse"), 3, context());
    assert!(events.contains(&input(0, "{}")));
}

#[test]
fn bug_14_a_call_is_reported_though_upstream_said_stop() {
    let (blocks, reason) = streamed(vec![
        text(""),
        tool(0, "a"),
        input(0, "{}"),
        finish(Finish::Stop),
    ]);
    assert_eq!(reason, "tool_use");
    assert_eq!(blocks, [call("a", json!({}))]);
    let whole = decode_response(&fixture("answers/stop_with_call.json"), &context()).unwrap();
    assert_eq!(whole.choices[0].finish, Some(Finish::ToolCalls));
}

#[test]
fn bug_15_text_and_a_call_end_with_tool_use() {
    let (blocks, reason) = streamed(vec![
        text("Looking."),
        tool(0, "a"),
        input(0, "{}"),
        finish(Finish::ToolCalls),
    ]);
    assert_eq!((blocks.len(), reason), (2, json!("tool_use")));
}

#[test]
fn bug_16_a_failure_after_the_start_is_an_error_event() {
    let fault = Fault::new(FaultClass::RateLimit, "You exceeded your quota");
    for before in [
        vec![],
        vec![start()],
        vec![start(), text("Hal"), tool(0, "a")],
    ] {
        let events = events_of(&encode_stream(
            before
                .into_iter()
                .chain([StreamEvent::Failed(fault.clone()), StreamEvent::Done]),
        ));
        let (name, data) = events.last().unwrap();
        assert_eq!(name, "error");
        assert_eq!(data["error"]["type"], "rate_limit_error");
        assert_eq!(data["error"]["message"], "You exceeded your quota");
        assert!(!events.iter().any(|(name, _)| name == "message_stop"));
    }
}

#[test]
fn bug_17_a_stream_that_dies_before_content_fails() {
    let events = decode_stream(&fixture("streams/cut_before_content.sse"), 9, context());
    assert!(matches!(events.last(), Some(StreamEvent::Failed(_))));
    assert!(matches!(
        decode_stream(b"", 1, context()).as_slice(),
        [StreamEvent::Failed(_)]
    ));
}

#[test]
fn bug_21_a_stream_without_its_last_event_fails() {
    let events = decode_stream(
        &fixture("streams/cut_before_message_stop.sse"),
        9,
        context(),
    );
    assert!(matches!(events.last(), Some(StreamEvent::Failed(_))));
}

#[test]
fn bug_23_an_empty_thinking_block_with_a_signature_survives() {
    let response = decode_response(&fixture("answers/thinking_omitted.json"), &context()).unwrap();
    let expected = thought("", signed("EuYBCkQYAi=="));
    assert_eq!(response.choices[0].parts[0], expected);
    let out: Value = serde_json::from_slice(&encode_response(&response, &reply())).unwrap();
    let block = json!({"type": "thinking", "thinking": "", "signature": "EuYBCkQYAi=="});
    assert_eq!(out["content"][0], block);
    let stream = encode_stream(decode_stream(
        &fixture("streams/thinking_omitted.sse"),
        usize::MAX,
        context(),
    ));
    assert_eq!(blocks_of(&grammatical(&stream))[0], block);
    let mut request = hello();
    request.messages.extend([
        Message::new(Role::Assistant, vec![expected, Text::new("42").into()]),
        say(Role::User, "Why?"),
    ]);
    let (body, lost) = encoded(&request, newest());
    assert_eq!(body["messages"][1]["content"][0], block);
    assert_eq!(lost, [""; 0]);
}

fn tool_loop(thinking: Option<Part>) -> ChatRequest {
    let mut parts: Vec<Part> = thinking.into_iter().collect();
    parts.push(called("a", "f", "{}"));
    let mut request = hello();
    request.tools = vec![function("f", None)];
    request.messages.extend([
        Message::new(Role::Assistant, parts),
        Message::new(Role::User, vec![result("a", "done")]),
    ]);
    request.reasoning = ReasoningRequest {
        mode: Some(ThinkingMode::Budget(4096)),
        ..ReasoningRequest::default()
    };
    request
}

#[test]
fn bug_24_manual_thinking_is_off_where_the_tool_loop_lost_its_thinking() {
    let (body, lost) = encoded(&tool_loop(None), older());
    assert_eq!(body["thinking"], json!({"type": "disabled"}));
    assert_eq!(lost, ["thinking"]);
    let (body, lost) = encoded(&tool_loop(Some(thought("t", signed("sig")))), older());
    assert_eq!(
        body["thinking"],
        json!({"type": "enabled", "budget_tokens": 4096})
    );
    assert_eq!(lost, [""; 0]);
    // Once the loop is over, earlier turns need no thinking.
    let mut over = tool_loop(None);
    over.messages
        .extend([say(Role::Assistant, "Done."), say(Role::User, "Thanks")]);
    let (body, _) = encoded(&over, older());
    assert_eq!(body["thinking"]["type"], "enabled");
}

#[test]
fn bug_25_a_signed_block_from_a_caller_of_another_dialect_goes_up() {
    let (body, _) = encoded(&tool_loop(Some(thought("hmm", signed("sig")))), newest());
    assert_eq!(
        body["messages"][1]["content"][0],
        json!({"type": "thinking", "thinking": "hmm", "signature": "sig"})
    );
}

#[test]
fn bug_27_thinking_that_is_not_anthropics_is_dropped() {
    let foreign = [
        None,
        Some(Opaque::AnthropicSignature(String::new())),
        Some(Opaque::AnthropicSignature("bardo1.abc".into())),
        Some(Opaque::GeminiSignature("Ci==".into())),
        Some(Opaque::ReasoningContent),
        Some(Opaque::OpenAiReasoning(RawJson::empty_object())),
        Some(Opaque::ReasoningDetail(RawJson::empty_object())),
    ];
    for opaque in foreign {
        let mut request = hello();
        request.messages.extend([
            Message::new(
                Role::Assistant,
                vec![
                    thought("secret", opaque.clone()),
                    thought("kept", signed("sig")),
                    thought("", Some(Opaque::AnthropicRedacted("data".into()))),
                    Text::new("Hi").into(),
                ],
            ),
            say(Role::User, "Go on"),
        ]);
        let (body, lost) = encoded(&request, newest());
        assert_eq!(
            body["messages"][1]["content"],
            json!([
                {"type": "thinking", "thinking": "kept", "signature": "sig"},
                {"type": "redacted_thinking", "data": "data"},
                {"type": "text", "text": "Hi"},
            ]),
            "{opaque:?}"
        );
        assert_eq!(lost, ["thinking_state"], "{opaque:?}");
    }
}

#[test]
fn bug_28_text_and_signature_of_thinking_become_one_block() {
    let (blocks, _) = streamed(vec![
        StreamEvent::Reasoning {
            choice: 0,
            text: "Hm".into(),
            summary: false,
        },
        StreamEvent::Reasoning {
            choice: 0,
            text: "m.".into(),
            summary: false,
        },
        StreamEvent::ReasoningEnd {
            choice: 0,
            opaque: signed("sig"),
        },
        text("Hi"),
        finish(Finish::Stop),
    ]);
    assert_eq!(
        blocks[0],
        json!({"type": "thinking", "thinking": "Hmm.", "signature": "sig"})
    );
}

/// What a caller would send back after seeing `parts`, both streamed and whole.
fn handed_back(parts: &[Part], steps: Vec<StreamEvent>) -> [Vec<Part>; 2] {
    let response = ChatResponse {
        choices: vec![bardo_types::chat::Choice {
            parts: parts.to_vec(),
            finish: Some(Finish::ToolCalls),
            ..Default::default()
        }],
        ..ChatResponse::default()
    };
    let whole: Value = serde_json::from_slice(&encode_response(&response, &reply())).unwrap();
    let (blocks, _) = streamed(steps);
    [whole["content"].clone(), Value::from(blocks)].map(|content| {
        let body = json!({"model": "m", "max_tokens": 1, "messages": [
            {"role": "user", "content": "Hi"}, {"role": "assistant", "content": content}]});
        let request = decode_request(body.to_string().as_bytes()).unwrap();
        let mut parts = request.messages[1].parts.clone();
        for part in &mut parts {
            if let Part::ToolCall(call) = part {
                assert_eq!(call.extra.len(), 1, "who called");
                call.extra.clear();
            }
        }
        parts
    })
}

#[test]
fn an_answer_ends_in_its_words_and_not_in_their_state() {
    let opaque = Some(Opaque::GeminiSignature("for text".into()));
    let words = Text {
        opaque: opaque.clone(),
        ..Text::new("Done.")
    };
    let steps = vec![
        text("Done."),
        StreamEvent::TextEnd { choice: 0, opaque },
        finish(Finish::Stop),
    ];
    for back in handed_back(&[words.into()], steps) {
        assert_eq!(back, [Part::from(Text::new("Done."))]);
    }
}

#[test]
fn bug_29_state_bound_to_calls_and_texts_comes_back_in_its_place() {
    let state = |text: &str| Some(Opaque::GeminiSignature(text.into()));
    let parts = vec![
        thought("plan", state("for thought")),
        Text {
            opaque: state("for text"),
            ..Text::new("Looking.")
        }
        .into(),
        Part::ToolCall(ToolCall {
            opaque: state("for a"),
            ..ToolCall::new("a", "f", "{}")
        }),
        called("b", "f", r#"{"x":1}"#),
    ];
    let tool_with = |call, id: &str, opaque| StreamEvent::ToolStart {
        choice: 0,
        call,
        id: id.into(),
        name: "f".into(),
        custom: false,
        opaque,
    };
    let steps = vec![
        StreamEvent::Reasoning {
            choice: 0,
            text: "plan".into(),
            summary: false,
        },
        StreamEvent::ReasoningEnd {
            choice: 0,
            opaque: state("for thought"),
        },
        text("Looking."),
        StreamEvent::TextEnd {
            choice: 0,
            opaque: state("for text"),
        },
        tool_with(0, "a", state("for a")),
        input(0, "{}"),
        StreamEvent::ToolEnd { choice: 0, call: 0 },
        tool_with(1, "b", None),
        input(1, r#"{"x":1}"#),
        StreamEvent::ToolEnd { choice: 0, call: 1 },
        finish(Finish::ToolCalls),
    ];
    for back in handed_back(&parts, steps) {
        assert_eq!(back, parts);
    }
}

#[test]
fn bug_31_reasoning_that_must_be_echoed_comes_back() {
    let states = [
        Some(Opaque::ReasoningContent),
        Some(Opaque::OpenAiReasoning(
            RawJson::parse(r#"{"id":"rs_1"}"#).unwrap(),
        )),
        Some(Opaque::ReasoningDetail(RawJson::empty_object())),
        None,
    ];
    for opaque in states {
        let parts = vec![thought("hmm", opaque.clone()), called("a", "f", "{}")];
        let steps = vec![
            StreamEvent::Reasoning {
                choice: 0,
                text: "hmm".into(),
                summary: false,
            },
            StreamEvent::ReasoningEnd { choice: 0, opaque },
            tool(0, "a"),
            finish(Finish::ToolCalls),
        ];
        for back in handed_back(&parts, steps) {
            assert_eq!(back, parts);
        }
    }
}

#[test]
fn bug_32_a_budget_is_an_effort_where_the_model_takes_no_budget() {
    let mut request = hello();
    request.reasoning.mode = Some(ThinkingMode::Budget(16_000));
    let (body, lost) = encoded(&request, newest());
    assert_eq!(body["thinking"], json!({"type": "adaptive"}));
    assert_eq!(body["output_config"], json!({"effort": "high"}));
    assert_eq!(lost, ["thinking_budget"]);
}

#[test]
fn bug_33_leaving_out_sampling_leaves_thinking_in() {
    let mut request = hello();
    request.reasoning.mode = Some(ThinkingMode::Adaptive);
    request.sampling.temperature = RawJson::parse("0.2").ok();
    request.sampling.top_k = RawJson::parse("5").ok();
    let (body, lost) = encoded(&request, newest());
    assert_eq!(body["thinking"], json!({"type": "adaptive"}));
    assert!(body.get("temperature").is_none() && body.get("top_k").is_none());
    assert_eq!(lost, ["temperature", "top_k"]);
}

#[test]
fn bug_34_instructions_stay_out_of_what_signed_thinking_is_bound_to() {
    let mut request = tool_loop(Some(thought("t", signed("sig"))));
    request.messages.insert(0, say(Role::System, "Be kind."));
    request.tool_choice = Some(ToolChoice::Required);
    request.reasoning = ReasoningRequest::default();
    let (body, lost) = encoded(&request, newest());
    assert_eq!(body["system"][0]["text"], "Be kind.");
    assert_eq!(body["system"].as_array().unwrap().len(), 1);
    let last = body["messages"][2]["content"].as_array().unwrap();
    assert_eq!(last[0]["type"], "tool_result");
    assert!(last[1]["text"].as_str().unwrap().contains("must call"));
    assert_eq!(body["tool_choice"], json!({"type": "auto"}));
    assert_eq!(lost, ["forced_tool_choice"]);
}

#[test]
fn bug_35_cache_reads_and_writes_are_part_of_the_prompt() {
    let body = br#"{"content":[],"stop_reason":"end_turn","usage":{"input_tokens":10,"cache_creation_input_tokens":100,"cache_read_input_tokens":1000,"output_tokens":5}}"#;
    let usage = decode_response(body, &context()).unwrap().usage.unwrap();
    assert_eq!(
        (usage.prompt(), usage.cache_read, usage.total()),
        (1110, 1000, 1115)
    );
}

#[test]
fn bug_37_input_tokens_are_without_the_cached_ones() {
    let response = ChatResponse {
        usage: Some(Usage {
            fresh_input: 224,
            cache_read: 3712,
            output: 5,
            ..Usage::default()
        }),
        ..ChatResponse::default()
    };
    let body: Value = serde_json::from_slice(&encode_response(&response, &reply())).unwrap();
    assert_eq!(body["usage"]["input_tokens"], 224);
    assert_eq!(body["usage"]["cache_read_input_tokens"], 3712);
}

#[test]
fn bug_39_counts_that_come_late_are_in_message_delta() {
    let events = grammatical(&encode_stream([
        start(),
        text("Hi"),
        finish(Finish::Stop),
        StreamEvent::Usage(Usage {
            fresh_input: 224,
            cache_read: 3712,
            cache_write_1h: 7,
            output: 5,
            reasoning: Some(2),
            ..Usage::default()
        }),
        StreamEvent::Done,
    ]));
    assert_eq!(events[0].1["message"]["usage"]["input_tokens"], 0);
    let usage = &events[events.len() - 2].1["usage"];
    assert_eq!(usage["input_tokens"], 224);
    assert_eq!(usage["cache_read_input_tokens"], 3712);
    assert_eq!(usage["cache_creation"]["ephemeral_1h_input_tokens"], 7);
    assert_eq!(usage["output_tokens"], 5);
    assert_eq!(usage["output_tokens_details"]["thinking_tokens"], 2);
}

#[test]
fn bug_40_output_is_read_from_message_delta() {
    let events = decode_stream(
        &fixture("streams/cut_before_message_stop.sse"),
        50,
        context(),
    );
    let last = events.iter().rev().find_map(|event| match event {
        StreamEvent::Usage(usage) => Some(usage),
        _ => None,
    });
    let usage = last.unwrap();
    assert_eq!(
        (usage.output, usage.fresh_input, usage.cache_read),
        (5, 10, 1000)
    );
}

#[test]
fn bug_42_results_come_first_in_the_next_user_message() {
    let mut request = hello();
    request.messages.extend([
        Message::new(
            Role::Assistant,
            vec![called("a", "f", "{}"), called("b", "f", "{}")],
        ),
        Message::new(
            Role::User,
            vec![
                Text::new("one").into(),
                result("a", "A"),
                Text::new("two").into(),
            ],
        ),
        Message::new(Role::User, vec![result("b", "B")]),
        say(Role::User, "three"),
    ]);
    let (body, lost) = encoded(&request, newest());
    assert_eq!(body["messages"].as_array().unwrap().len(), 3);
    assert_eq!(
        body["messages"][2]["content"],
        json!([
            {"type": "tool_result", "tool_use_id": "a", "content": "A"},
            {"type": "tool_result", "tool_use_id": "b", "content": "B"},
            {"type": "text", "text": "one"},
            {"type": "text", "text": "two"},
            {"type": "text", "text": "three", "cache_control": {"type": "ephemeral"}},
        ])
    );
    assert_eq!(lost, [""; 0]);
}

#[test]
fn bug_46_calls_without_results_are_answered_with_an_error() {
    let mut request = hello();
    request.messages.extend([
        Message::new(
            Role::Assistant,
            vec![called("a", "f", "{}"), called("b", "f", "{}")],
        ),
        Message::new(Role::User, vec![result("b", "B"), result("ghost", "?")]),
        Message::new(Role::Assistant, vec![called("c", "f", "{}")]),
    ]);
    let (body, lost) = encoded(&request, newest());
    let content = &body["messages"][2]["content"];
    assert_eq!(content[0]["tool_use_id"], "b");
    assert_eq!(
        (&content[1]["tool_use_id"], &content[1]["is_error"]),
        (&json!("a"), &json!(true))
    );
    assert!(content[2]["text"].as_str().unwrap().contains("`ghost`"));
    assert_eq!(content[3]["text"], "?");
    let last = &body["messages"][4];
    assert_eq!(last["role"], "user");
    assert_eq!(last["content"][0]["tool_use_id"], "c");
    assert_eq!(lost, ["tool_result"]);
}

#[test]
fn bug_48_schemas_become_valid() {
    for (schema, expected) in [
        (None, json!({"type": "object", "properties": {}})),
        (Some("{}"), json!({"type": "object", "properties": {}})),
        (Some("null"), json!({"type": "object", "properties": {}})),
        (
            Some(r#"{"properties":{"x":{"type":"string"}}}"#),
            json!({"type": "object", "properties": {"x": {"type": "string"}}}),
        ),
        (
            Some(
                r#"{"type":"object","properties":{"n":{"minimum":1,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false},"exclusiveMinimum":{"type":"boolean"}}}"#,
            ),
            json!({"type": "object", "properties": {"n": {"exclusiveMinimum": 1, "maximum": 9}, "exclusiveMinimum": {"type": "boolean"}}}),
        ),
        (
            Some(
                r#"{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"type":"array","items":[{"type":"any"}]},"b":{"type":"string","required":true}}}"#,
            ),
            json!({"type": "object", "properties": {"a": {"type": "array", "prefixItems": [{}]}, "b": {"type": "string"}}}),
        ),
        (
            Some(
                r#"{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"properties":{"b":{}}}]}"#,
            ),
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}}),
        ),
    ] {
        let mut request = hello();
        request.tools = vec![function("f", schema)];
        let before = request.clone();
        let (body, _) = encoded(&request, newest());
        assert_eq!(body["tools"][0]["input_schema"], expected, "{schema:?}");
        assert_eq!(request, before, "the caller's schema is untouched");
    }
}

#[test]
fn bug_51_a_schema_for_the_answer_is_flat() {
    let mut request = hello();
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}"#;
    request.output = OutputFormat::JsonSchema {
        name: Some("answer".into()),
        description: None,
        schema: RawJson::parse(schema).unwrap(),
        strict: Some(true),
    };
    let encoded = encode_request(&request, &target(newest())).unwrap();
    let format =
        format!(r#""output_config":{{"format":{{"type":"json_schema","schema":{schema}}}}}"#);
    assert!(
        String::from_utf8(encoded.body.clone())
            .unwrap()
            .contains(&format)
    );
    assert_eq!(features(&encoded), [""; 0]);
    let body = json!({"model":"m","max_tokens":1,"messages":[],"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}});
    let request = decode_request(body.to_string().as_bytes()).unwrap();
    assert!(
        matches!(request.output, OutputFormat::JsonSchema { schema, .. } if schema.as_str() == r#"{"type":"object"}"#)
    );
}

#[test]
fn bug_54_cache_marks_stay_on_every_kind_of_block() {
    let mark = || {
        Some(CacheMark(
            RawJson::parse(r#"{"type":"ephemeral","ttl":"1h"}"#).unwrap(),
        ))
    };
    let mut request = ChatRequest {
        dialect: Dialect::Anthropic,
        ..hello()
    };
    request.messages.extend([
        Message::new(
            Role::Assistant,
            vec![Part::ToolCall(ToolCall {
                cache: mark(),
                ..ToolCall::new("a", "f", "{}")
            })],
        ),
        Message::new(
            Role::User,
            vec![
                Part::ToolResult(ToolResult {
                    call_id: "a".into(),
                    parts: vec![Text::new("x").into()],
                    is_error: false,
                    custom: false,
                    cache: mark(),
                }),
                Part::Image(Image {
                    source: MediaSource::Url("https://example.org/a.png".into()),
                    detail: None,
                    cache: mark(),
                }),
            ],
        ),
    ]);
    request.tools = vec![Tool::Function {
        name: "f".into(),
        description: None,
        schema: None,
        strict: None,
        cache: mark(),
        extra: Vec::new(),
    }];
    let (body, lost) = encoded(&request, newest());
    let marked = json!({"type": "ephemeral", "ttl": "1h"});
    for place in [
        "/messages/1/content/0",
        "/messages/2/content/0",
        "/messages/2/content/1",
        "/tools/0",
    ] {
        assert_eq!(
            body.pointer(place).unwrap()["cache_control"],
            marked,
            "{place}"
        );
    }
    assert_eq!(lost, [""; 0]);
}

/// Paths of the blocks that carry a mark.
fn marks(body: &Value) -> Vec<String> {
    fn walk(value: &Value, path: String, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                if members.contains_key("cache_control") {
                    found.push(path.clone());
                }
                for (name, inner) in members {
                    walk(inner, format!("{path}/{name}"), found);
                }
            }
            Value::Array(items) => {
                for (index, inner) in items.iter().enumerate() {
                    walk(inner, format!("{path}/{index}"), found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(body, String::new(), &mut found);
    found
}

#[test]
fn bug_55_breakpoints_are_set_once_and_stay_where_they_are() {
    let mut request = hello();
    request.messages.insert(0, say(Role::System, "A"));
    request.messages.insert(1, say(Role::System, "B"));
    request.tools = vec![function("f", None), function("g", None)];
    let (first, _) = encoded(&request, newest());
    assert_eq!(
        marks(&first),
        ["/system/1", "/messages/0/content/0", "/tools/1"]
    );
    request
        .messages
        .extend([say(Role::Assistant, "Hi"), say(Role::User, "More")]);
    let (second, _) = encoded(&request, newest());
    assert_eq!(
        marks(&second),
        [
            "/system/1",
            "/messages/0/content/0",
            "/messages/2/content/0",
            "/tools/1"
        ]
    );
    assert_eq!(first["messages"][0], second["messages"][0]);
    let none = Capabilities {
        cache_marks: false,
        ..newest()
    };
    assert_eq!(marks(&encoded(&request, none).0), [""; 0]);
    if let Part::Text(text) = &mut request.messages[2].parts[0] {
        text.cache = Some(CacheMark(RawJson::parse(r#"{"mode":"explicit"}"#).unwrap()));
    }
    let (own, _) = encoded(&request, newest());
    assert_eq!(marks(&own), ["/messages/0/content/0"]);
    assert_eq!(
        own["messages"][0]["content"][0]["cache_control"],
        json!({"type": "ephemeral"})
    );
}

#[test]
fn bug_60_server_tools_and_blocks_go_back_only_to_their_maker() {
    let block = |dialect, kind: &str| {
        Part::Server(ServerBlock {
            dialect,
            kind: kind.into(),
            raw: RawJson::parse(format!(r#"{{"type":"{kind}","id":"srv_1","x":1.0}}"#)).unwrap(),
        })
    };
    let tool = |dialect, kind: &str| Tool::Server {
        dialect,
        kind: kind.into(),
        name: None,
        raw: RawJson::parse(format!(r#"{{"type":"{kind}","max_uses":5}}"#)).unwrap(),
    };
    let mut request = hello();
    request.messages.extend([
        Message::new(
            Role::Assistant,
            vec![
                block(Dialect::Anthropic, "server_tool_use"),
                block(Dialect::Responses, "web_search_call"),
                Text::new("x").into(),
            ],
        ),
        say(Role::User, "Go on"),
    ]);
    request.tools = vec![
        tool(Dialect::Anthropic, "web_search_20260318"),
        tool(Dialect::Responses, "code_interpreter"),
    ];
    let encoded = encode_request(&request, &target(newest())).unwrap();
    let text = String::from_utf8(encoded.body.clone()).unwrap();
    assert!(text.contains(r#"{"type":"server_tool_use","id":"srv_1","x":1.0}"#));
    assert!(text.contains(r#"{"type":"web_search_20260318","max_uses":5}"#));
    assert!(!text.contains("web_search_call") && !text.contains("code_interpreter"));
    assert_eq!(features(&encoded), ["web_search_call", "code_interpreter"]);
}

#[test]
fn a_document_keeps_its_title_where_text_hides_in_base64() {
    let mut request = hello();
    request.messages[0].parts.push(Part::Document(Document {
        source: DocumentSource::Media(MediaSource::Base64 {
            media_type: "text/markdown".into(),
            data: "IyBIaQ==".into(),
        }),
        title: Some("notes.md".into()),
        context: None,
        citations: false,
        cache: None,
    }));
    let (body, _) = encoded(&request, older());
    let block = &body["messages"][0]["content"][1];
    assert_eq!(block["source"]["data"], "# Hi");
    assert_eq!(block["title"], "notes.md");
}
