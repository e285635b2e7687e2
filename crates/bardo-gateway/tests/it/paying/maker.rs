//! A maker of models whose bills are known, in each of the dialects.

use serde_json::{Value, json};

use crate::scripted::{Scripted, Turn};

/// Of the prompt, read from a cache: 201 of 1003 tokens.
pub(super) const PROMPT: u64 = 1003;
pub(super) const CACHED: u64 = 201;
pub(super) const OUTPUT: u64 = 97;

/// 802 × 1.37 + 201 × 0.137 + 97 × 7.77 = 1879.967 micro-USD.
pub(super) const PICO: u64 = 1_879_967_000;

pub(super) fn price() -> Value {
    json!({ "input_per_million": 1.37, "cache_read_per_million": 0.137, "output_per_million": 7.77 })
}

/// The exact cost with so many 1/10,000 on it, rounded up to whole micro-USD.
pub(super) fn charge(basis_points: u64) -> u64 {
    (PICO * (10_000 + basis_points)).div_ceil(10_000 * 1_000_000)
}

/// Billed models `m-chat`, `m-anthropic` and `m-responses`, each of whose makers speaks one dialect.
pub(super) fn billed(maker: &Scripted) -> Value {
    let key = |provider: &str, api: &str| {
        let path = if provider == "openai" { "/v1" } else { "" };
        json!({
            "provider": provider, "api_key": "up-key", "base_url": maker.at(path),
            "models": [format!("m-{api}")], "api": api, "bill": true, "price": price(),
        })
    };
    crate::rig::config(&[
        key("openai", "chat"),
        key("openai", "responses"),
        key("anthropic", "anthropic"),
    ])
}

/// Answers everything, whole or streamed.
pub(super) fn maker() -> Scripted {
    Scripted::start(|mut turn| answer(&mut turn))
}

pub(super) fn streams(turn: &Turn) -> bool {
    let body: Value = serde_json::from_str(turn.got.text()).expect("JSON");
    body["stream"] == true
}

pub(super) fn answer(turn: &mut Turn) {
    let events = match turn.got.line.split(' ').nth(1).expect("a path") {
        "/v1/chat/completions" => chat,
        "/v1/messages" => messages,
        "/v1/responses" => responses,
        other => panic!("nobody asks for {other}"),
    };
    if streams(turn) {
        let text = events(true);
        turn.stream_head();
        turn.chunk(text);
        turn.end();
    } else {
        turn.json(&events(false));
    }
}

fn data(event: &Value) -> String {
    match event["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    }
}

fn chat(stream: bool) -> String {
    let usage = json!({
        "prompt_tokens": PROMPT, "completion_tokens": OUTPUT, "total_tokens": PROMPT + OUTPUT,
        "prompt_tokens_details": { "cached_tokens": CACHED },
    });
    if !stream {
        let choice = json!({ "index": 0, "finish_reason": "stop",
            "message": { "role": "assistant", "content": "Hello there" } });
        return json!({ "id": "c", "object": "chat.completion", "created": 1, "model": "m-chat",
            "choices": [choice], "usage": usage })
        .to_string();
    }
    let chunk = |choices: Value, usage: &Value| {
        data(
            &json!({ "id": "c", "object": "chat.completion.chunk", "created": 1,
            "model": "m-chat", "choices": choices, "usage": usage }),
        )
    };
    let said = json!([{ "index": 0, "delta": { "role": "assistant", "content": "Hello there" }, "finish_reason": null }]);
    let end = json!([{ "index": 0, "delta": {}, "finish_reason": "stop" }]);
    chunk(said, &Value::Null)
        + &chunk(end, &Value::Null)
        + &chunk(json!([]), &usage)
        + "data: [DONE]\n\n"
}

fn messages(stream: bool) -> String {
    let usage = |output: u64| {
        json!({ "input_tokens": PROMPT - CACHED, "cache_read_input_tokens": CACHED,
            "cache_creation_input_tokens": 0, "output_tokens": output })
    };
    let message = |content: Value, reason: Value, usage: Value| {
        json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "m-anthropic",
            "content": content, "stop_reason": reason, "stop_sequence": null, "usage": usage })
    };
    let text = |text: &str| json!({ "type": "text", "text": text });
    if !stream {
        let said = json!([text("Hello there")]);
        return message(said, json!("end_turn"), usage(OUTPUT)).to_string();
    }
    let begun = message(json!([]), Value::Null, usage(1));
    [
        json!({ "type": "message_start", "message": begun }),
        json!({ "type": "content_block_start", "index": 0, "content_block": text("") }),
        json!({ "type": "content_block_delta", "index": 0,
            "delta": { "type": "text_delta", "text": "Hello there" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn", "stop_sequence": null },
            "usage": { "output_tokens": OUTPUT } }),
        json!({ "type": "message_stop" }),
    ]
    .iter()
    .map(data)
    .collect()
}

fn responses(stream: bool) -> String {
    let part = json!({ "type": "output_text", "text": "Hello there", "annotations": [] });
    let item = |status: &str, content: Value| {
        json!({ "type": "message", "id": "msg_1", "status": status,
        "role": "assistant", "content": content })
    };
    let response = |status: &str, output: Value, usage: Value| {
        json!({ "id": "resp_1", "object": "response", "created_at": 1, "status": status,
            "model": "m-responses", "output": output, "usage": usage })
    };
    let usage = json!({ "input_tokens": PROMPT, "input_tokens_details": { "cached_tokens": CACHED },
        "output_tokens": OUTPUT, "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": PROMPT + OUTPUT });
    let whole = response(
        "completed",
        json!([item("completed", json!([part]))]),
        usage,
    );
    if !stream {
        return whole.to_string();
    }
    let begun = response("in_progress", json!([]), Value::Null);
    let place = json!({ "item_id": "msg_1", "output_index": 0, "content_index": 0 });
    let at = |kind: &str, more: Value| {
        let mut event = place.clone();
        let members = event.as_object_mut().expect("an object");
        members.insert("type".to_owned(), json!(kind));
        members.extend(more.as_object().expect("an object").clone());
        event
    };
    [
        json!({ "type": "response.created", "response": begun }),
        json!({ "type": "response.output_item.added", "output_index": 0,
            "item": item("in_progress", json!([])) }),
        at(
            "response.content_part.added",
            json!({ "part": { "type": "output_text", "text": "", "annotations": [] } }),
        ),
        at(
            "response.output_text.delta",
            json!({ "delta": "Hello there" }),
        ),
        at(
            "response.output_text.done",
            json!({ "text": "Hello there" }),
        ),
        at("response.content_part.done", json!({ "part": part })),
        json!({ "type": "response.output_item.done", "output_index": 0,
            "item": item("completed", json!([part])) }),
        json!({ "type": "response.completed", "response": whole }),
    ]
    .iter()
    .enumerate()
    .map(|(number, event)| {
        let mut event = event.clone();
        event["sequence_number"] = json!(number);
        data(&event)
    })
    .collect()
}
