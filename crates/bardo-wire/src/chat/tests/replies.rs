use bardo_types::chat::{
    Choice, Citation, CitationSource, Finish, Opaque, Part, Reasoning, Text, ToolCall,
};
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::json::RawJson;
use bardo_types::usage::Usage;
use serde_json::{Value, json};

use super::*;
use crate::codec::ErrorView;

fn answer(parts: Vec<Part>, finish: Finish) -> ChatResponse {
    ChatResponse {
        id: Some("msg_01".into()),
        model: Some("claude-opus-5-5".into()),
        choices: vec![Choice {
            parts,
            finish: Some(finish),
            ..Choice::default()
        }],
        ..ChatResponse::default()
    }
}

fn whole(response: &ChatResponse, context: &ReplyContext) -> Value {
    serde_json::from_slice(&encode_response(response, context)).unwrap()
}

#[test]
fn every_key_that_strict_clients_demand_is_there() {
    let body = whole(
        &answer(vec![Text::new("Hi").into()], Finish::Stop),
        &reply_context(),
    );
    assert_eq!(
        body,
        json!({
            "id": "chatcmpl-seed",
            "object": "chat.completion",
            "created": 1_790_000_000,
            "model": "claude-opus-5-5",
            "system_fingerprint": null,
            "choices": [{
                "index": 0,
                "message": {
                    "role": "assistant", "content": "Hi", "refusal": null, "annotations": []
                },
                "logprobs": null,
                "finish_reason": "stop"
            }]
        })
    );
}

#[test]
fn stop_reasons_are_those_of_the_dialect() {
    let call = || vec![Part::ToolCall(ToolCall::new("c", "f", "{}"))];
    let text = || vec![Text::new("x").into()];
    for (parts, finish, expected) in [
        (text(), Finish::Stop, "stop"),
        (text(), Finish::StopSequence, "stop"),
        (text(), Finish::Pause, "stop"),
        (text(), Finish::Length, "length"),
        (text(), Finish::ContextWindow, "length"),
        (text(), Finish::Refusal, "content_filter"),
        (call(), Finish::ToolCalls, "tool_calls"),
        (call(), Finish::Stop, "tool_calls"),
        (call(), Finish::Length, "length"),
    ] {
        let body = whole(&answer(parts, finish), &reply_context());
        assert_eq!(body["choices"][0]["finish_reason"], expected, "{finish:?}");
    }
}

#[test]
fn a_refusal_fills_the_refusal_member() {
    let mut refused = answer(vec![Text::new("Well, ").into()], Finish::Refusal);
    refused.choices[0].details =
        Some(RawJson::parse(r#"{"type":"refusal","explanation":"Not that."}"#).unwrap());
    let message = whole(&refused, &reply_context())["choices"][0]["message"].clone();
    assert_eq!(message["refusal"], "Not that.");
    assert_eq!(message["content"], "Well, ");
}

#[test]
fn content_is_null_beside_calls_and_arguments_are_never_empty() {
    let body = whole(
        &answer(
            vec![Part::ToolCall(ToolCall::new("c", "f", ""))],
            Finish::ToolCalls,
        ),
        &reply_context(),
    );
    let message = &body["choices"][0]["message"];
    assert_eq!(message["content"], Value::Null);
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], "{}");
}

fn state_of_all_makers() -> Vec<Part> {
    let reasoning = |text: &str, opaque| {
        Part::Reasoning(Reasoning {
            text: text.into(),
            summary: false,
            opaque: Some(opaque),
        })
    };
    vec![
        reasoning("deep", Opaque::AnthropicSignature("sigA".into())),
        reasoning("", Opaque::AnthropicRedacted("red".into())),
        reasoning("", Opaque::AnthropicSignature("sigB".into())),
        reasoning("", Opaque::GeminiSignature("CiQ=".into())),
        reasoning(
            "sum",
            Opaque::OpenAiReasoning(
                RawJson::parse(r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"sum"}],"encrypted_content":"gAAA"}"#)
                    .unwrap(),
            ),
        ),
        reasoning(
            "",
            Opaque::ReasoningDetail(
                RawJson::parse(r#"{"type":"reasoning.server_tool_call","tool_name":"t","x":1.0}"#)
                    .unwrap(),
            ),
        ),
        Text::new("Hi").into(),
    ]
}

#[test]
fn thinking_of_every_maker_survives_a_client_of_this_dialect() {
    let parts = state_of_all_makers();
    let body = whole(&answer(parts.clone(), Finish::Stop), &reply_context());
    let message = &body["choices"][0]["message"];
    insta::assert_json_snapshot!(message);
    let back = json!({"model": "m", "messages": [message]});
    let request = decode_request(back.to_string().as_bytes()).unwrap();
    let mut expected = parts;
    if let Part::Reasoning(openai) = &mut expected[4] {
        openai.summary = true;
    }
    assert_eq!(request.messages[0].parts, expected);
}

#[test]
fn a_gemini_signature_rides_on_its_call() {
    let call = ToolCall {
        opaque: Some(Opaque::GeminiSignature("CiQ=".into())),
        ..ToolCall::new("c", "f", "{}")
    };
    let parts = vec![Part::ToolCall(call)];
    let body = whole(&answer(parts.clone(), Finish::ToolCalls), &reply_context());
    let message = &body["choices"][0]["message"];
    assert_eq!(
        message["tool_calls"][0]["extra_content"]["google"]["thought_signature"],
        "CiQ="
    );
    let back = json!({"model": "m", "messages": [message]});
    let request = decode_request(back.to_string().as_bytes()).unwrap();
    assert_eq!(request.messages[0].parts, parts);
}

#[test]
fn citations_count_characters_of_the_whole_text() {
    let cited = |text: &str, start, end| {
        Part::Text(Text {
            citations: vec![Citation {
                source: CitationSource::Url {
                    url: "https://a.example".into(),
                    title: "A".into(),
                    start,
                    end,
                },
                cited_text: None,
                raw: None,
            }],
            ..Text::new(text)
        })
    };
    let parts = vec![
        Text::new("Grüße ").into(),
        cited("Welt 🌍", None, None),
        cited("!", Some(1), Some(2)),
    ];
    let body = whole(&answer(parts, Finish::Stop), &reply_context());
    let places: Vec<(u64, u64)> = body["choices"][0]["message"]["annotations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let place = &one["url_citation"];
            (
                place["start_index"].as_u64().unwrap(),
                place["end_index"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(places, [(6, 12), (1, 2)]);
}

#[test]
fn a_caller_of_functions_gets_a_function_call() {
    let body = r#"{"model":"m","messages":[{"role":"user","content":"x"}],"functions":[{"name":"f","parameters":{"type":"object"}}],"function_call":{"name":"f"}}"#;
    let context = ReplyContext {
        request: Arc::new(decode_request(body.as_bytes()).unwrap()),
        ..reply_context()
    };
    let parts = vec![Part::ToolCall(ToolCall::new("c", "f", "{\"a\":1}"))];
    let reply = whole(&answer(parts, Finish::ToolCalls), &context);
    let choice = &reply["choices"][0];
    assert_eq!(choice["finish_reason"], "function_call");
    assert_eq!(
        choice["message"]["function_call"],
        json!({"name": "f", "arguments": "{\"a\":1}"})
    );
    assert!(choice["message"].get("tool_calls").is_none());
    let start = StreamEvent::ToolStart {
        choice: 0,
        call: 0,
        id: "c".into(),
        name: "f".into(),
        custom: false,
        opaque: None,
    };
    let end = StreamEvent::ToolEnd { choice: 0, call: 0 };
    let finish = StreamEvent::Finish {
        choice: 0,
        reason: Finish::ToolCalls,
        stop_sequence: None,
        details: None,
    };
    let stream = streamed(vec![start, end, finish, StreamEvent::Done], context);
    assert!(stream.contains(r#""function_call":{"name":"f","arguments":""}"#));
    assert!(stream.contains(r#""function_call":{"arguments":"{}"}"#));
    assert!(stream.contains(r#""finish_reason":"function_call""#));
    assert!(!stream.contains("tool_calls"));
}

fn short_stream() -> Vec<StreamEvent> {
    vec![
        StreamEvent::Start {
            id: None,
            model: Some("claude".into()),
            created: None,
            service_tier: Some("standard".into()),
        },
        StreamEvent::Text {
            choice: 0,
            text: "Hi".into(),
        },
        StreamEvent::Usage(Usage {
            fresh_input: 10,
            cache_read: 1000,
            cache_write_5m: 60,
            cache_write_1h: 40,
            output: 5,
            provider_cost_usd: Some("0.1".into()),
            ..Usage::default()
        }),
        StreamEvent::Finish {
            choice: 0,
            reason: Finish::Stop,
            stop_sequence: None,
            details: None,
        },
        StreamEvent::Done,
    ]
}

#[test]
fn a_stream_with_usage_asked_for() {
    insta::assert_snapshot!(streamed(short_stream(), reply_context()));
}

#[test]
fn usage_is_not_sent_unless_asked_for() {
    let mut request = caller();
    request.include_usage = false;
    let context = ReplyContext {
        request: Arc::new(request),
        ..reply_context()
    };
    let stream = streamed(short_stream(), context);
    assert!(!stream.contains("usage"), "{stream}");
    assert!(stream.ends_with(": bardo {}\ndata: [DONE]\n\n"));
}

#[test]
fn thinking_is_streamed_as_text_and_then_with_its_state() {
    let steps = vec![
        StreamEvent::Reasoning {
            choice: 0,
            text: "de".into(),
            summary: false,
        },
        StreamEvent::Reasoning {
            choice: 0,
            text: "ep".into(),
            summary: false,
        },
        StreamEvent::ReasoningEnd {
            choice: 0,
            opaque: Some(Opaque::AnthropicSignature("sig".into())),
        },
        StreamEvent::ReasoningEnd {
            choice: 0,
            opaque: Some(Opaque::AnthropicRedacted("red".into())),
        },
        StreamEvent::Done,
    ];
    let stream = streamed(steps, reply_context());
    assert!(stream.contains(r#"{"reasoning_content":"de","reasoning_details":[{"type":"reasoning.text","text":"de","index":0}]}"#));
    assert!(stream.contains(r#"{"reasoning_details":[{"type":"reasoning.text","index":0,"format":"anthropic-claude-v1","signature":"sig"}]}"#));
    assert!(stream.contains(
        r#"{"type":"reasoning.encrypted","data":"red","index":1,"format":"anthropic-claude-v1"}"#
    ));
}

/// Callers put the deltas of an entry together, or hand them back one by one; both restore the
/// state of every maker.
#[test]
fn streamed_thinking_of_every_maker_comes_back() {
    let parts = state_of_all_makers();
    let mut steps = Vec::new();
    for part in &parts {
        if let Part::Reasoning(reasoning) = part {
            if !reasoning.text.is_empty() {
                let summary = matches!(reasoning.opaque, Some(Opaque::OpenAiReasoning(_)));
                steps.push(StreamEvent::Reasoning {
                    choice: 0,
                    text: reasoning.text.clone(),
                    summary,
                });
            }
            steps.push(StreamEvent::ReasoningEnd {
                choice: 0,
                opaque: reasoning.opaque.clone(),
            });
        }
    }
    steps.push(StreamEvent::Done);
    let stream = streamed(steps, reply_context());
    let mut entries: Vec<Value> = Vec::new();
    for line in stream
        .lines()
        .filter_map(|line| line.strip_prefix("data: {"))
    {
        let chunk: Value = serde_json::from_str(&format!("{{{line}")).unwrap();
        if let Some(more) = chunk["choices"][0]["delta"]["reasoning_details"].as_array() {
            entries.extend(more.iter().cloned());
        }
    }
    let back = json!({"model": "m", "messages": [
        {"role": "assistant", "content": "Hi", "reasoning_content": "deep\n\nsum", "reasoning_details": entries}
    ]});
    let request = decode_request(back.to_string().as_bytes()).unwrap();
    let mut expected = parts;
    if let Part::Reasoning(openai) = &mut expected[4] {
        openai.summary = true;
    }
    assert_eq!(request.messages[0].parts, expected, "{back}");
}

#[test]
fn errors_have_all_four_keys_and_ours() {
    for (class, status, kind, code) in [
        (FaultClass::BadRequest, 400, "invalid_request_error", None),
        (
            FaultClass::ContextTooLong,
            400,
            "invalid_request_error",
            Some("context_length_exceeded"),
        ),
        (
            FaultClass::Authentication,
            401,
            "invalid_request_error",
            Some("invalid_api_key"),
        ),
        (
            FaultClass::Authentication,
            502,
            "server_error",
            Some("server_error"),
        ),
        (
            FaultClass::Payment,
            429,
            "insufficient_quota",
            Some("insufficient_quota"),
        ),
        (
            FaultClass::NotFound,
            404,
            "invalid_request_error",
            Some("model_not_found"),
        ),
        (
            FaultClass::RateLimit,
            429,
            "rate_limit_error",
            Some("rate_limit_exceeded"),
        ),
        (
            FaultClass::Overloaded,
            503,
            "server_error",
            Some("overloaded"),
        ),
        (FaultClass::Timeout, 504, "server_error", Some("timeout")),
    ] {
        let fault = Fault::new(class, "m");
        let view = ErrorView {
            fault: &fault,
            status,
            bardo_code: "some_code",
            request_id: "req_1",
        };
        let body: Value = serde_json::from_slice(&encode_error(&view)).unwrap();
        assert_eq!(
            body,
            json!({"error": {"message": "m", "type": kind, "param": null, "code": code, "bardo_code": "some_code"}})
        );
        let event = String::from_utf8(encode_stream_error(&view)).unwrap();
        let data = event.strip_prefix("data: ").unwrap().trim_end();
        assert_eq!(serde_json::from_str::<Value>(data).unwrap(), body);
    }
}

#[test]
fn probabilities_go_out_beside_their_text() {
    let context = decode_context(Service::OpenAi, "gpt-5.5");
    let bytes = fixture("openai/logprobs.sse");
    let steps = steps_of(&context, &[&bytes]);
    let told = streamed(steps, reply_context());
    let chunks = told.lines().filter_map(|line| line.strip_prefix("data: {"));
    let mut weighed = 0;
    for chunk in chunks {
        let chunk: serde_json::Value = serde_json::from_str(&format!("{{{chunk}")).unwrap();
        let choice = &chunk["choices"][0];
        let text = choice["delta"]["content"].as_str().unwrap_or_default();
        let tokens = choice["logprobs"]["content"].as_array();
        let of_tokens: String = tokens
            .into_iter()
            .flatten()
            .map(|one| one["token"].as_str().unwrap())
            .collect();
        assert_eq!(of_tokens, text, "{chunk}");
        weighed += tokens.map_or(0, Vec::len);
    }
    assert!(weighed > 1, "{told}");
}
