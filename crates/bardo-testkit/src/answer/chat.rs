use serde_json::{Value, json};

use super::{Answer, Event, UsageStyle, content, data, event, terminal};

fn usage(answer: &Answer, output: u64) -> Value {
    json!({
        "prompt_tokens": answer.input,
        "completion_tokens": output,
        "total_tokens": answer.input + output,
        "prompt_tokens_details": { "cached_tokens": answer.cached },
        "completion_tokens_details": { "reasoning_tokens": 0 },
    })
}

fn chunk(answer: &Answer, delta: &Value, finish: &Value) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_790_000_000,
        "model": answer.model,
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
    })
}

fn usage_chunk(answer: &Answer, output: u64) -> Event {
    let mut last = chunk(answer, &json!({}), &Value::Null);
    last["choices"] = json!([]);
    last["usage"] = usage(answer, output);
    event(data(&last))
}

pub(super) fn events(answer: &Answer) -> Vec<Event> {
    let role = json!({ "role": "assistant", "content": "" });
    let mut events = vec![event(data(&chunk(answer, &role, &Value::Null)))];
    for (at, piece) in answer.pieces.iter().enumerate() {
        let mut said = chunk(answer, &json!({ "content": piece }), &Value::Null);
        if answer.usage == UsageStyle::WithContent && at + 1 == answer.pieces.len() {
            said["usage"] = usage(answer, answer.output());
        }
        events.push(content(data(&said)));
    }
    events.push(event(data(&chunk(answer, &json!({}), &json!("stop")))));
    match answer.usage {
        UsageStyle::Usual => events.push(usage_chunk(answer, answer.output())),
        UsageStyle::Twice => {
            events.push(usage_chunk(answer, 1));
            events.push(usage_chunk(answer, answer.output()));
        }
        UsageStyle::Missing | UsageStyle::WithContent => {}
    }
    events.push(terminal("data: [DONE]\n\n".into()));
    events
}

pub(super) fn whole(answer: &Answer) -> Value {
    let mut whole = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_790_000_000,
        "model": answer.model,
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": answer.text(), "refusal": null },
            "finish_reason": "stop",
        }],
    });
    if answer.usage != UsageStyle::Missing {
        whole["usage"] = usage(answer, answer.output());
    }
    whole
}

pub(super) fn error(message: &str) -> Value {
    json!({ "error": { "message": message, "type": "server_error", "param": null, "code": null } })
}
