//! Nothing that arrives makes a decoder panic.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::sse::SseEvent;

/// JSON built from the members that decoders look at, in places where they may not belong.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f32>().prop_map(Value::from),
        "[a-z{}\"\\\\ ]{0,8}".prop_map(Value::from),
        proptest::sample::select(vec![
            "user",
            "assistant",
            "tool",
            "system",
            "function",
            "text",
            "image_url",
            "stop",
            "tool_calls",
            "length",
            "error",
            "custom",
            "reasoning.text",
            "reasoning.encrypted",
            "anthropic-claude-v1",
            "openai-responses-v1",
            "data:image/png;base64,AA",
            "{\"a\":1}",
        ])
        .prop_map(Value::from),
    ];
    let key = proptest::sample::select(vec![
        "model",
        "messages",
        "role",
        "content",
        "type",
        "text",
        "tool_calls",
        "id",
        "index",
        "function",
        "name",
        "arguments",
        "tool_call_id",
        "choices",
        "delta",
        "message",
        "finish_reason",
        "usage",
        "prompt_tokens",
        "error",
        "code",
        "reasoning_details",
        "reasoning_content",
        "signature",
        "data",
        "format",
        "custom",
        "input",
        "tools",
        "image_url",
        "file",
        "stop",
        "n",
        "prompt",
        "function_call",
        "annotations",
        "url_citation",
        "url",
        "prompt_tokens_details",
        "cached_tokens",
        "metadata",
        "details",
        "retryDelay",
    ]);
    leaf.prop_recursive(5, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6).prop_map(|members| {
                Value::Object(
                    members
                        .into_iter()
                        .map(|(key, value)| (key.to_owned(), value))
                        .collect(),
                )
            }),
        ]
    })
}

fn feed(data: &[u8]) {
    for service in [Service::OpenRouter, Service::Local, Service::Venice] {
        let context = decode_context(service, "m");
        let _ = decode_response(data, &context);
        let _ = decode_error(400, data, service);
        let mut decoder = stream_decoder(context);
        let mut steps = Vec::new();
        let event = SseEvent { name: "", data };
        decoder.event(event, &mut steps);
        decoder.event(event, &mut steps);
        decoder.event(
            SseEvent {
                name: "",
                data: b"[DONE]",
            },
            &mut steps,
        );
        decoder.end(&mut steps);
        let told = streamed(steps.clone(), reply_context());
        let failed = matches!(steps.last(), Some(StreamEvent::Failed(_)));
        assert_ne!(failed, told.contains("[DONE]"));
    }
    let mut seen = crate::codec::Observed::default();
    observe(SseEvent { name: "", data }, &mut seen);
    let _ = observe_response(data);
    let _ = usage_only_chunk(SseEvent { name: "", data });
    let _ = completions::decode_request(data);
    if let Ok(top) = crate::json::scan(data) {
        let _ = detect_completions_body(&top, false);
    }
    if let Ok(request) = decode_request(data) {
        for service in [
            Service::OpenAi,
            Service::OpenRouter,
            Service::DeepSeek,
            Service::Local,
        ] {
            if let Ok(encoded) = encode_request(&request, &target(service, "m")) {
                assert!(
                    decode_request(&encoded.body).is_ok()
                        || request
                            .messages
                            .iter()
                            .all(|message| message.parts.is_empty()),
                    "{}",
                    String::from_utf8_lossy(&encoded.body)
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn bytes(data in prop::collection::vec(any::<u8>(), 0..200)) {
        feed(&data);
    }

    #[test]
    fn values(value in json_value()) {
        feed(value.to_string().as_bytes());
    }

    #[test]
    fn requests(messages in prop::collection::vec(json_value(), 1..4), tools in json_value()) {
        let body = json!({"model": "m", "messages": messages, "tools": tools});
        feed(body.to_string().as_bytes());
    }

    #[test]
    fn chunks(delta in json_value(), reason in proptest::option::of("stop|length|tool_calls")) {
        let chunk = json!({"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
        feed(chunk.to_string().as_bytes());
    }
}
