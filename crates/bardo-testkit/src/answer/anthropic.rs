use serde_json::{Value, json};

use super::{Answer, Event, UsageStyle, content, event, named, terminal};

fn usage(answer: &Answer, output: u64) -> Value {
    json!({
        "input_tokens": answer.input - answer.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": answer.cached,
        "output_tokens": output,
    })
}

fn message(answer: &Answer, content: &Value, output: u64) -> Value {
    let mut message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": answer.model,
        "content": content, "stop_reason": null, "stop_sequence": null,
    });
    if answer.usage != UsageStyle::Missing {
        message["usage"] = usage(answer, output);
    }
    message
}

fn delta(answer: &Answer, output: u64) -> Event {
    let mut last = json!({
        "type": "message_delta",
        "delta": { "stop_reason": "end_turn", "stop_sequence": null },
    });
    if answer.usage != UsageStyle::Missing {
        last["usage"] = json!({ "output_tokens": output });
    }
    event(named("message_delta", &last))
}

pub(super) fn events(answer: &Answer) -> Vec<Event> {
    let start = json!({ "type": "message_start", "message": message(answer, &json!([]), 1) });
    let block = json!({
        "type": "content_block_start", "index": 0,
        "content_block": { "type": "text", "text": "" },
    });
    let mut events = vec![
        event(named("message_start", &start)),
        event(named("content_block_start", &block)),
        event(super::ping(answer.dialect)),
    ];
    for piece in &answer.pieces {
        let said = json!({
            "type": "content_block_delta", "index": 0,
            "delta": { "type": "text_delta", "text": piece },
        });
        events.push(content(named("content_block_delta", &said)));
    }
    let stop = json!({ "type": "content_block_stop", "index": 0 });
    events.push(event(named("content_block_stop", &stop)));
    if answer.usage == UsageStyle::Twice {
        events.push(delta(answer, 1));
    }
    events.push(delta(answer, answer.output()));
    let end = json!({ "type": "message_stop" });
    events.push(terminal(named("message_stop", &end)));
    events
}

pub(super) fn whole(answer: &Answer) -> Value {
    let text = json!([{ "type": "text", "text": answer.text() }]);
    let mut whole = message(answer, &text, answer.output());
    whole["stop_reason"] = json!("end_turn");
    whole
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_1" })
}
