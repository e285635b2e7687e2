//! Faults of real providers and clients, each with its test.

use bardo_types::chat::{
    Finish, Image, MediaSource, Opaque, Part, Reasoning, ServerBlock, ToolCall, ToolResult,
};
use bardo_types::json::RawJson;
use serde_json::{Value, json};

use super::requests::{assistant, foreign, function, result, sent, text, thinking, user};
use super::*;

fn answer_of(name: &str) -> ChatResponse {
    let (service, model) = service_of(name);
    let bytes = fixture(&format!("{name}.sse"));
    assembled(steps_of(&decode_context(service, model), &[&bytes])).unwrap()
}

fn calls_of(name: &str) -> Vec<(String, String)> {
    answer_of(name).choices[0]
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall(call) => {
                let input = call.input.as_object().unwrap();
                Some((call.id.clone(), input.as_str().to_owned()))
            }
            _ => None,
        })
        .collect()
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter()
        .map(|(id, input)| ((*id).to_owned(), (*input).to_owned()))
        .collect()
}

#[test]
fn arguments_in_the_first_fragment_are_not_lost() {
    let calls = calls_of("openai/parallel_tools");
    assert_eq!(calls[1], ("call_b".into(), r#"{"city":"Oslo"}"#.into()));
}

#[test]
fn an_empty_tool_list_beside_text_is_text() {
    let answer = answer_of("local/empty_tool_list");
    assert_eq!(answer.choices[0].parts, [text("AB")]);
    assert_eq!(answer.choices[0].finish, Some(Finish::Stop));
}

#[test]
fn calls_are_numbered_among_calls() {
    let start = |call, id: &str| StreamEvent::ToolStart {
        choice: 0,
        call,
        id: id.into(),
        name: "f".into(),
        custom: false,
        opaque: None,
    };
    let stream = streamed(
        vec![
            StreamEvent::Text {
                choice: 0,
                text: "x".into(),
            },
            start(0, "a"),
            StreamEvent::ToolEnd { choice: 0, call: 0 },
            start(1, "b"),
            StreamEvent::Done,
        ],
        reply_context(),
    );
    assert!(stream.contains(r#""tool_calls":[{"index":0,"id":"a""#));
    assert!(stream.contains(r#""tool_calls":[{"index":1,"id":"b""#));
}

#[test]
fn three_calls_stay_three() {
    assert_eq!(
        calls_of("openai/parallel_tools"),
        pairs(&[
            ("call_a", r#"{"city":"Rome"}"#),
            ("call_b", r#"{"city":"Oslo"}"#),
            ("call_c", "{}"),
        ])
    );
}

#[test]
fn an_id_on_every_fragment_is_one_call() {
    assert_eq!(
        calls_of("local/repeated_id"),
        pairs(&[("c0", r#"{"x":1}"#)])
    );
}

#[test]
fn interleaved_calls_are_sorted_out() {
    assert_eq!(
        calls_of("local/interleaved"),
        pairs(&[("c0", r#"{"x":1}"#), ("c1", r#"{"y":2}"#)])
    );
}

#[test]
fn calls_without_an_index_are_told_apart() {
    assert_eq!(
        calls_of("local/no_index"),
        pairs(&[("call_1", r#"{"x":1}"#), ("call_seed_0_1", "{}")])
    );
    assert_eq!(
        calls_of("local/same_index"),
        pairs(&[
            ("call_1", r#"{"city":"Rome"}"#),
            ("call_2", r#"{"city":"Oslo"}"#),
        ])
    );
}

#[test]
fn no_arguments_are_an_empty_object() {
    let stream = streamed(
        vec![
            StreamEvent::ToolStart {
                choice: 0,
                call: 0,
                id: "a".into(),
                name: "f".into(),
                custom: false,
                opaque: None,
            },
            StreamEvent::ToolEnd { choice: 0, call: 0 },
            StreamEvent::Done,
        ],
        reply_context(),
    );
    assert!(stream.contains(r#"{"index":0,"function":{"arguments":"{}"}}"#));
    let mut request = foreign();
    request
        .messages
        .push(assistant(vec![Part::ToolCall(ToolCall::new("a", "f", ""))]));
    request.messages.push(user(vec![result("a", vec![])]));
    let (body, _) = sent(&request, &target(Service::OpenAi, "m"));
    assert_eq!(
        body["messages"][1]["tool_calls"][0]["function"]["arguments"],
        "{}"
    );
    assert_eq!(body["messages"][2]["content"], "");
}

#[test]
fn stop_with_a_call_is_a_call_without_empty_text() {
    let answer = answer_of("local/same_index");
    assert_eq!(answer.choices[0].finish, Some(Finish::ToolCalls));
    assert!(
        !answer.choices[0]
            .parts
            .iter()
            .any(|part| matches!(part, Part::Text(_)))
    );
}

#[test]
fn text_and_a_call_end_as_a_call() {
    let mut steps = vec![StreamEvent::Text {
        choice: 0,
        text: "x".into(),
    }];
    steps.push(StreamEvent::ToolStart {
        choice: 0,
        call: 0,
        id: "a".into(),
        name: "f".into(),
        custom: false,
        opaque: None,
    });
    steps.push(StreamEvent::Finish {
        choice: 0,
        reason: Finish::Stop,
        stop_sequence: None,
        details: None,
    });
    steps.push(StreamEvent::Done);
    assert!(streamed(steps, reply_context()).contains(r#""finish_reason":"tool_calls""#));
}

#[test]
fn a_cut_call_keeps_the_length_reason() {
    let answer = answer_of("openai/truncated_call");
    assert_eq!(answer.choices[0].finish, Some(Finish::Length));
}

#[test]
fn a_reset_is_no_clean_end() {
    let context = decode_context(Service::OpenAi, "m");
    let whole = fixture("openai/text.sse");
    let finish = whole.len() - "data: [DONE]\n\n".len();
    for cut in 0..finish {
        let steps = steps_of(&context, &[&whole[..cut]]);
        assert!(
            matches!(steps.last(), Some(StreamEvent::Failed(_))),
            "cut at {cut}"
        );
        assert!(!streamed(steps, reply_context()).contains("[DONE]"));
    }
}

#[test]
fn a_failure_in_a_stream_is_an_error_object() {
    let fault = Fault::new(bardo_types::fault::FaultClass::Timeout, "too slow");
    let told = streamed(vec![StreamEvent::Failed(fault)], reply_context());
    let error: Value = serde_json::from_str(told.trim().strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(error["error"]["code"], "timeout");
    assert_eq!(error["error"]["message"], "too slow");
}

#[test]
fn empty_thinking_keeps_its_signature() {
    let signed = || thinking("", Opaque::AnthropicSignature("EqQBsig==".into()));
    let answer = answer_of("openrouter/empty_thinking");
    assert_eq!(answer.choices[0].parts, [signed(), text("42")]);
    let mut request = foreign();
    request.messages.push(assistant(vec![signed(), text("42")]));
    request.messages.push(user(vec![text("and?")]));
    let (body, lost) = sent(
        &request,
        &target(Service::OpenRouter, "anthropic/claude-opus-5.5"),
    );
    assert_eq!(
        body["messages"][1]["reasoning_details"],
        json!([{"type": "reasoning.text", "text": "", "signature": "EqQBsig==", "format": "anthropic-claude-v1", "index": 0}])
    );
    assert!(lost.is_empty());
}

#[test]
fn signed_details_of_a_caller_become_signed_thinking() {
    let body = json!({"model": "m", "messages": [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "y", "reasoning_content": "deep", "reasoning_details": [
            {"type": "reasoning.text", "text": "deep", "signature": "sig", "format": "anthropic-claude-v1", "index": 0}
        ]}
    ]});
    let request = decode_request(body.to_string().as_bytes()).unwrap();
    assert_eq!(
        request.messages[1].parts,
        [
            thinking("deep", Opaque::AnthropicSignature("sig".into())),
            text("y")
        ]
    );
}

#[test]
fn unsigned_thinking_is_not_sent_to_claude() {
    let mut request = foreign();
    request.messages.push(assistant(vec![
        Part::Reasoning(Reasoning {
            text: "unsigned".into(),
            ..Reasoning::default()
        }),
        thinking("signed", Opaque::AnthropicSignature("s".into())),
        text("y"),
    ]));
    let (body, lost) = sent(
        &request,
        &target(Service::OpenRouter, "anthropic/claude-opus-5.5"),
    );
    let body = body.to_string();
    assert!(
        body.contains("signed") && !body.contains("unsigned"),
        "{body}"
    );
    assert_eq!(lost, ["thinking_state"]);
}

#[test]
fn thought_and_signature_in_two_deltas_are_one() {
    let answer = answer_of("openrouter/claude_thinking");
    assert_eq!(
        answer.choices[0].parts[0],
        thinking(
            "Think hard.",
            Opaque::AnthropicSignature("EqQBsig==".into())
        )
    );
}

#[test]
fn gemini_signatures_return_on_their_call() {
    let answer = answer_of("google/thought_signature");
    let mut request = foreign();
    request
        .messages
        .push(assistant(answer.choices[0].parts.clone()));
    request
        .messages
        .push(user(vec![result("fc1", vec![text("12:00")])]));
    let (body, lost) = sent(&request, &target(Service::Google, "gemini-3-flash"));
    assert_eq!(
        body["messages"][1]["tool_calls"][0]["extra_content"]["google"]["thought_signature"],
        "CiQsig"
    );
    assert!(lost.is_empty());
    let (body, lost) = sent(&request, &target(Service::OpenAi, "gpt-5.5"));
    assert!(!body.to_string().contains("CiQsig"));
    assert_eq!(lost, ["thinking_state"]);
}

#[test]
fn deepseek_gets_its_reasoning_back_on_tool_turns() {
    let answer = answer_of("deepseek/tool_loop");
    let usage = answer.usage.clone().unwrap();
    assert_eq!((usage.cache_read, usage.reasoning), (64, Some(12)));
    let mut request = foreign();
    request
        .messages
        .push(assistant(answer.choices[0].parts.clone()));
    request
        .messages
        .push(user(vec![result("call_00", vec![text("18")])]));
    let (body, lost) = sent(&request, &target(Service::DeepSeek, "deepseek-v4-pro"));
    assert_eq!(body["messages"][1]["reasoning_content"], "I need weather.");
    assert!(lost.is_empty());
}

#[test]
fn anthropic_usage_is_one_prompt_here() {
    let usage = bardo_types::usage::Usage {
        fresh_input: 10,
        cache_write_5m: 100,
        cache_read: 1000,
        output: 5,
        ..bardo_types::usage::Usage::default()
    };
    let response = ChatResponse {
        usage: Some(usage),
        ..ChatResponse::default()
    };
    let body: Value =
        serde_json::from_slice(&encode_response(&response, &reply_context())).unwrap();
    assert_eq!(body["usage"]["prompt_tokens"], 1110);
    assert_eq!(
        body["usage"]["prompt_tokens_details"]["cached_tokens"],
        1000
    );
    assert_eq!(
        body["usage"]["prompt_tokens_details"]["cache_write_tokens"],
        100
    );
    assert_eq!(body["usage"]["total_tokens"], 1115);
}

#[test]
fn tool_messages_come_first_and_together() {
    let mut request = foreign();
    request.messages.push(assistant(vec![
        Part::ToolCall(ToolCall::new("a", "f", "{}")),
        Part::ToolCall(ToolCall::new("b", "f", "{}")),
    ]));
    request.messages.push(user(vec![
        text("one"),
        result("a", vec![text("A")]),
        text("two"),
        result(
            "b",
            vec![
                text("B"),
                Part::Image(Image {
                    source: MediaSource::Base64 {
                        media_type: "image/png".into(),
                        data: "iVBO".into(),
                    },
                    detail: None,
                    cache: None,
                }),
            ],
        ),
    ]));
    let (body, lost) = sent(&request, &target(Service::Venice, "m"));
    assert_eq!(
        body["messages"].as_array().unwrap()[2..],
        [
            json!({"role": "tool", "tool_call_id": "a", "content": "A"}),
            json!({"role": "tool", "tool_call_id": "b", "content": "B\n[image attached below]"}),
            json!({"role": "user", "content": [
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}},
                {"type": "text", "text": "one"},
                {"type": "text", "text": "two"}
            ]}),
        ]
    );
    assert!(lost.is_empty());
}

#[test]
fn blocks_without_text_in_results_are_told_in_words() {
    let mut request = foreign();
    request
        .messages
        .push(assistant(vec![Part::ToolCall(ToolCall::new(
            "a", "f", "{}",
        ))]));
    let reference = Part::Server(ServerBlock {
        dialect: Dialect::Anthropic,
        kind: "tool_reference".into(),
        raw: RawJson::parse(r#"{"type":"tool_reference","tool_name":"x"}"#).unwrap(),
    });
    request
        .messages
        .push(user(vec![result("a", vec![reference])]));
    let (body, _) = sent(&request, &target(Service::OpenAi, "m"));
    assert_eq!(
        body["messages"][2]["content"],
        r#"[tool_reference] {"type":"tool_reference","tool_name":"x"}"#
    );
}

#[test]
fn calls_without_results_are_answered_and_late_ones_moved() {
    let mut request = foreign();
    request.tools.push(function("f"));
    request.messages.push(assistant(vec![
        Part::ToolCall(ToolCall::new("a", "f", "{}")),
        Part::ToolCall(ToolCall::new("b", "f", "{}")),
    ]));
    request.messages.push(user(vec![text("wait")]));
    request
        .messages
        .push(user(vec![Part::ToolResult(ToolResult {
            call_id: "a".into(),
            parts: vec![text("boom")],
            is_error: true,
            custom: false,
            cache: None,
        })]));
    request
        .messages
        .push(user(vec![result("zzz", vec![text("lost")])]));
    let (body, lost) = sent(&request, &target(Service::OpenAi, "m"));
    assert_eq!(
        body["messages"].as_array().unwrap()[2..],
        [
            json!({"role": "tool", "tool_call_id": "a", "content": r#"{"error":"boom"}"#}),
            json!({"role": "tool", "tool_call_id": "b", "content": r#"{"error":"no result was given for this tool call"}"#}),
            json!({"role": "user", "content": "wait"}),
            json!({"role": "user", "content": "[result of tool call zzz]\nlost"}),
        ]
    );
    assert_eq!(lost, ["missing_tool_result", "orphan_tool_result"]);
}

#[test]
fn neighboring_tool_messages_become_one_turn() {
    let body = r#"{"model":"m","messages":[
        {"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"a","content":"A"},
        {"role":"tool","tool_call_id":"b","content":"B"},
        {"role":"user","content":"next"}]}"#;
    let request = decode_request(body.as_bytes()).unwrap();
    assert_eq!(
        request.messages[1..],
        [
            user(vec![
                result("a", vec![text("A")]),
                result("b", vec![text("B")])
            ]),
            user(vec![text("next")])
        ]
    );
}

#[test]
fn legacy_function_messages_are_calls_and_results() {
    let body = r#"{"model":"m","messages":[
        {"role":"user","content":"x"},
        {"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},
        {"role":"function","name":"f","content":"A"},
        {"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},
        {"role":"function","name":"f","content":"B"}],
        "functions":[{"name":"f","description":"d","parameters":{"type":"object"}}],"function_call":"auto"}"#;
    let request = decode_request(body.as_bytes()).unwrap();
    let (sent_body, lost) = sent(&request, &target(Service::OpenAi, "m"));
    let messages = sent_body["messages"].as_array().unwrap();
    let pairs: Vec<(&Value, &Value)> = [(1, 2), (3, 4)]
        .map(|(call, answer)| {
            (
                &messages[call]["tool_calls"][0]["id"],
                &messages[answer]["tool_call_id"],
            )
        })
        .to_vec();
    assert!(
        pairs
            .iter()
            .all(|(call, answer)| call == answer && call.is_string())
    );
    assert_ne!(pairs[0].0, pairs[1].0);
    assert_eq!(messages[4]["content"], "B");
    assert_eq!(sent_body["tools"][0]["function"]["name"], "f");
    assert_eq!(sent_body["parallel_tool_calls"], false);
    assert!(sent_body.get("functions").is_none() && lost.is_empty());
}

/// Clients join the pieces of a stream in their own ways; the state in them is the same.
#[test]
fn signed_thinking_is_known_without_the_name_of_its_format_or_with_it_twice() {
    for format in [
        "",
        r#","format":null"#,
        r#","format":"anthropic-claude-v1""#,
        r#","format":"anthropic-claude-v1anthropic-claude-v1""#,
    ] {
        for entries in [
            format!(
                r#"{{"type":"reasoning.text","text":"hm","index":0,"signature":"sig"{format}}}"#
            ),
            format!(
                r#"{{"type":"reasoning.text","text":"h","index":0}},{{"type":"reasoning.text","text":"m","index":0}},{{"type":"reasoning.text","index":0,"signature":"sig"{format}}}"#
            ),
        ] {
            let body = format!(
                r#"{{"model":"m","messages":[{{"role":"assistant","content":"x","reasoning_details":[{entries}]}}]}}"#
            );
            let request = decode_request(body.as_bytes()).unwrap();
            assert_eq!(
                request.messages[0].parts[0],
                thinking("hm", Opaque::AnthropicSignature("sig".into())),
                "{entries}"
            );
        }
    }
}

/// Whom a cache is shared with is between a caller and Anthropic.
#[test]
fn a_cache_mark_goes_to_others_without_its_scope() {
    let body = br#"{"model":"m","max_tokens":9,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h","scope":"global"}}],"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"f","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral","scope":"global"}}]}"#;
    let request = crate::anthropic::decode_request(body).unwrap();
    for service in [Service::OpenRouter, Service::Venice, Service::BlockRun] {
        let (body, lost) = sent(&request, &target(service, "x/y"));
        assert!(!body.to_string().contains("scope"), "{service:?}: {body}");
        assert!(
            body.to_string().contains(r#""ttl":"1h""#),
            "{service:?}: {body}"
        );
        assert!(
            lost.contains(&"cache_control".to_owned()),
            "{service:?}: {lost:?}"
        );
    }
}

#[test]
fn a_character_that_is_split_over_two_chunks_is_one() {
    let context = decode_context(Service::OpenAi, "gpt-5.5");
    let chunk = |content: &str, finish: &str| {
        format!(
            "data: {{\"id\":\"a\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{content}\"}},\"finish_reason\":{finish}}}]}}\n\n"
        )
    };
    let stream = [
        chunk("good \\ud83d", "null"),
        chunk("\\ude00 bye", "null"),
        chunk(" \\ud83d alone", "null"),
        chunk("", "\"stop\""),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat();
    let answer = assembled(steps_of(&context, &[stream.as_bytes()])).unwrap();
    assert_eq!(
        answer.choices[0].parts,
        [text("good \u{1F600} bye \u{FFFD} alone")]
    );
}

#[test]
fn half_of_a_character_in_a_whole_answer_costs_no_other_text() {
    let context = decode_context(Service::OpenAi, "gpt-5.5");
    for (content, expected) in [
        (r"a \ud83d lone", "a \u{FFFD} lone"),
        (r"\ude00\ud83d", "\u{FFFD}\u{FFFD}"),
        (r"\ud83d\ude00 \ud83d\u00e9", "\u{1F600} \u{FFFD}é"),
        (r"\u4e16\udbff\uffff", "世\u{FFFD}\u{FFFF}"),
    ] {
        let body = format!(
            r#"{{"id":"a","choices":[{{"index":0,"message":{{"role":"assistant","content":"{content}"}},"finish_reason":"stop"}}]}}"#
        );
        let answer = decode_response(body.as_bytes(), &context).unwrap();
        assert_eq!(answer.choices[0].parts, [text(expected)], "{content}");
    }
}
