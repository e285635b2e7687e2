use serde_json::{Value, json};

use super::{Answer, Event, UsageStyle, content, event, named, terminal};

fn item(text: &str, status: &str) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "status": status,
        "content": [{ "type": "output_text", "text": text, "annotations": [], "logprobs": [] }],
    })
}

fn response(answer: &Answer, output: &Value, status: &str) -> Value {
    json!({
        "id": "resp_1", "object": "response", "created_at": 1_790_000_000, "status": status,
        "model": answer.model, "output": output, "error": null, "incomplete_details": null,
        "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "usage": null,
        "metadata": {},
    })
}

pub(super) fn whole(answer: &Answer) -> Value {
    let mut whole = response(
        answer,
        &json!([item(&answer.text(), "completed")]),
        "completed",
    );
    if answer.usage != UsageStyle::Missing {
        whole["usage"] = json!({
            "input_tokens": answer.input,
            "input_tokens_details": { "cached_tokens": answer.cached },
            "output_tokens": answer.output(),
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": answer.input + answer.output(),
        });
    }
    whole
}

pub(super) fn events(answer: &Answer) -> Vec<Event> {
    let mut number = 0;
    let mut next = |name: &str, mut body: Value| {
        body["type"] = json!(name);
        body["sequence_number"] = json!(number);
        number += 1;
        named(name, &body)
    };
    let begun = response(answer, &json!([]), "in_progress");
    let mut empty = item("", "in_progress");
    empty["content"] = json!([]);
    let part = json!({ "type": "output_text", "text": "", "annotations": [], "logprobs": [] });
    let place = || json!({ "item_id": "msg_1", "output_index": 0, "content_index": 0 });
    let with = |key: &str, value: Value| {
        let mut body = place();
        body[key] = value;
        body
    };
    let mut events = vec![
        event(next("response.created", json!({ "response": begun }))),
        event(next("response.in_progress", json!({ "response": begun }))),
        event(next(
            "response.output_item.added",
            json!({ "output_index": 0, "item": empty }),
        )),
        event(next("response.content_part.added", with("part", part))),
    ];
    for piece in &answer.pieces {
        let mut body = with("delta", json!(piece));
        body["logprobs"] = json!([]);
        events.push(content(next("response.output_text.delta", body)));
    }
    let text = answer.text();
    let mut done = with("text", json!(text));
    done["logprobs"] = json!([]);
    let part = json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] });
    events.push(event(next("response.output_text.done", done)));
    events.push(event(next(
        "response.content_part.done",
        with("part", part),
    )));
    let finished = json!({ "output_index": 0, "item": item(&text, "completed") });
    events.push(event(next("response.output_item.done", finished)));
    let completed = next("response.completed", json!({ "response": whole(answer) }));
    events.push(terminal(completed));
    events
}

pub(super) fn failed(message: &str) -> Value {
    json!({
        "type": "response.failed", "sequence_number": 99,
        "response": {
            "id": "resp_1", "object": "response", "created_at": 1_790_000_000, "status": "failed",
            "output": [], "usage": null,
            "error": { "code": "server_error", "message": message },
        },
    })
}
