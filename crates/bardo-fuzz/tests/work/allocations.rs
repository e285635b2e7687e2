//! What is allocated while a long request and a long stream are translated.

use std::sync::Arc;

use bardo_steps::count;
use bardo_types::chat::ChatRequest;
use bardo_types::model::{Capabilities, Dialect, Service};
use bardo_wire::codec::{DecodeContext, ReplyContext, Target};
use bardo_wire::sse::SseEvent;
use bardo_wire::table;
use serde_json::{Value, json};

use super::upstreams;

/// A coding agent late in its session: 40 calls with their results, and 30 tools.
fn agent() -> Vec<u8> {
    let prose =
        |lines: usize| "fn step() -> Result<(), \"Error\"> { run(1)?; } // ok\n".repeat(lines);
    let mut messages = vec![
        json!({"role": "system", "content": prose(100)}),
        json!({"role": "user", "content": "Find out why the job fails."}),
    ];
    for turn in 0..40 {
        let id = format!("call_{turn}");
        let call = json!({"id": id, "type": "function", "function": {
            "name": format!("tool_{}", turn % 30), "arguments": "{\"path\":\"src/job.rs\"}",
        }});
        messages.push(json!({"role": "assistant", "content": "Next.", "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": prose(28)}));
    }
    let tools: Vec<Value> = (0..30)
        .map(|tool| {
            json!({"type": "function", "function": {
                "name": format!("tool_{tool}"), "description": prose(10),
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
            }})
        })
        .collect();
    json!({"model": "m", "messages": messages, "tools": tools, "max_completion_tokens": 4096})
        .to_string()
        .into_bytes()
}

#[test]
fn a_body_has_its_room_before_it_is_written() {
    let request = table::decode_request(Dialect::Chat, &agent()).unwrap();
    for (upstream, target) in upstreams() {
        if target.capabilities.tool_format != bardo_types::model::ToolFormat::Native {
            continue;
        }
        let (written, steps) = count(|| table::encode_request(upstream, &request, &target));
        let size = written.unwrap().body.len() as u64;
        // A body that grows by doubling is allocated at least twice over, beside the turns.
        assert!(
            steps.bytes < size * 5 / 2,
            "{upstream:?} {}: {} bytes for {size}",
            target.service.as_str(),
            steps.bytes
        );
    }
}

#[test]
fn an_event_of_a_stream_allocates_its_words_and_little_else() {
    let words = r#"{"id":"chatcmpl-x","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":" part 7 of it"},"finish_reason":null}],"usage":null}"#;
    let delta = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" part 7 of it"}}"#;
    let start =
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    for (upstream, caller, begin, event) in [
        (Dialect::Chat, Dialect::Anthropic, words, words),
        (Dialect::Anthropic, Dialect::Chat, start, delta),
    ] {
        let request = Arc::new(ChatRequest::new(caller, "m"));
        let mut decoder = table::stream_decoder(
            upstream,
            DecodeContext {
                target: Target {
                    model: "m".to_owned(),
                    service: Service::OpenAi,
                    capabilities: Arc::new(Capabilities::default()),
                },
                request: Arc::clone(&request),
                renamed_tools: Vec::new(),
                id_seed: "1".to_owned(),
            },
        );
        let mut encoder = table::stream_encoder(
            caller,
            ReplyContext {
                request,
                id_seed: "1".to_owned(),
                created: 1,
                model: "m".to_owned(),
                original: None,
            },
        );
        let mut out = Vec::with_capacity(1 << 16);
        let mut turn = |data: &str| {
            let mut steps = Vec::with_capacity(8);
            let (_, used) = count(|| {
                let data = data.as_bytes();
                decoder.event(SseEvent { name: "", data }, &mut steps);
                for step in steps.drain(..) {
                    encoder.encode(step, "", &mut out);
                }
            });
            used
        };
        turn(begin);
        turn(event);
        let used = turn(event);
        assert!(used.allocations <= 2, "{upstream:?}: {used:?}");
        assert!(used.bytes < 1_024, "{upstream:?}: {used:?}");
    }
}
