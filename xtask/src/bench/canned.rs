//! The fixed answers of the benchmark's provider.

use serde_json::{Value, json};

/// The text of every plain answer.
pub(super) const TEXT: &str = "The vault holds 1,204.50 USDC and accrues interest hourly; nothing needs to be rebalanced before the next checkpoint.";
/// Content chunks in every streamed answer.
pub(super) const STREAM_CHUNKS: usize = 50;
/// A request with this text anywhere gets a stream that goes on until the
/// caller leaves.
pub(super) const SLOW: &str = "bench-slow-stream";

/// Each dialect's path knows one model and refuses the other's, so that an
/// untranslated request cannot pass for a translated one.
pub(super) const OPENAI_MODEL: &str = "gpt-5.5";
pub(super) const ANTHROPIC_MODEL: &str = "claude-sonnet-5-5";

const CREATED: u64 = 1_790_000_000;

/// The text of one content chunk of a stream.
pub(super) fn stream_text(index: usize) -> String {
    format!(" part {index} of it")
}

/// A whole answer with `content-length`, head and body in one piece.
pub(super) fn whole(body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-request-id: req_bench\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// The head of a streamed answer.
pub(super) const STREAM_HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\nx-request-id: req_bench\r\ntransfer-encoding: chunked\r\n\r\n";
/// The end of a streamed answer.
pub(super) const STREAM_END: &[u8] = b"0\r\n\r\n";

pub(super) fn openai() -> Value {
    json!({
        "id": "chatcmpl-bench0000000000000000", "object": "chat.completion", "created": CREATED,
        "model": OPENAI_MODEL, "system_fingerprint": null, "service_tier": "default",
        "choices": [{"index": 0, "finish_reason": "stop", "logprobs": null,
            "message": {"role": "assistant", "content": TEXT, "refusal": null, "annotations": []}}],
        "usage": openai_usage(),
    })
}

fn openai_usage() -> Value {
    json!({
        "prompt_tokens": 100, "completion_tokens": 24, "total_tokens": 124,
        "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    })
}

/// The events of an OpenAI stream, each a chunk of HTTP's chunked framing.
pub(super) fn openai_events(with_usage: bool) -> Vec<Vec<u8>> {
    let event = |choices: Value, usage: Value| {
        let mut event = json!({
            "id": "chatcmpl-bench0000000000000000", "object": "chat.completion.chunk",
            "created": CREATED, "model": OPENAI_MODEL, "system_fingerprint": null, "choices": choices,
        });
        if with_usage {
            event["usage"] = usage;
        }
        framed(&format!("data: {event}\n\n"))
    };
    let choice = |delta: Value, finish: Value| json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]);
    let opening = json!({"role": "assistant", "content": "", "refusal": null});
    let mut events = vec![event(choice(opening, Value::Null), Value::Null)];
    events.extend((0..STREAM_CHUNKS).map(|index| {
        event(
            choice(json!({"content": stream_text(index)}), Value::Null),
            Value::Null,
        )
    }));
    events.push(event(choice(json!({}), json!("stop")), Value::Null));
    if with_usage {
        events.push(event(json!([]), openai_usage()));
    }
    events.push(framed("data: [DONE]\n\n"));
    events
}

pub(super) fn anthropic() -> Value {
    json!({
        "id": "msg_bench00000000000000000", "type": "message", "role": "assistant",
        "model": ANTHROPIC_MODEL, "content": [{"type": "text", "text": TEXT}],
        "stop_reason": "end_turn", "stop_sequence": null, "stop_details": null, "container": null,
        "usage": anthropic_usage(24),
    })
}

fn anthropic_usage(output_tokens: u64) -> Value {
    json!({
        "input_tokens": 36, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 64,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output_tokens, "service_tier": "standard",
    })
}

/// The events of an Anthropic stream, framed like [`openai_events`].
pub(super) fn anthropic_events() -> Vec<Vec<u8>> {
    let mut message = anthropic();
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    message["usage"] = anthropic_usage(1);
    let mut events = vec![
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "ping"}),
    ];
    events.extend((0..STREAM_CHUNKS).map(|index| {
        let delta = json!({"type": "text_delta", "text": stream_text(index)});
        json!({"type": "content_block_delta", "index": 0, "delta": delta})
    }));
    events.extend([
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": null, "stop_details": null, "container": null},
            "usage": {"output_tokens": 152}}),
        json!({"type": "message_stop"}),
    ]);
    let named = |event: &Value| {
        let name = event["type"].as_str().unwrap_or_default();
        framed(&format!("event: {name}\ndata: {event}\n\n"))
    };
    events.iter().map(named).collect()
}

pub(super) fn embeddings() -> Value {
    let vector: Vec<f64> = (0..256).map(|i| f64::from(i) / 256.0 - 0.5).collect();
    json!({
        "object": "list", "model": "text-embedding-3-small",
        "data": [{"object": "embedding", "index": 0, "embedding": vector}],
        "usage": {"prompt_tokens": 8, "total_tokens": 8},
    })
}

fn framed(event: &str) -> Vec<u8> {
    format!("{:x}\r\n{event}\r\n", event.len()).into_bytes()
}
