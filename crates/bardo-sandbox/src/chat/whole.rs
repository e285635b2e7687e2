//! A chat completion in one body.

use serde_json::{Map, Value, json};

use crate::chat::{Rendering, Thoughts, flag};
use crate::fault::Fault;
use crate::reply::Reply;
use crate::script::{Call, Turn};
use crate::tokens;

pub(super) fn render(rendering: &Rendering<'_>) -> Reply {
    let choices: Vec<Value> = rendering
        .turns
        .iter()
        .enumerate()
        .map(|(index, turn)| {
            json!({
                "index": index,
                "finish_reason": rendering.finish_reason(turn),
                "logprobs": logprobs(rendering, turn.text.as_deref().unwrap_or_default()),
                "message": message(rendering, turn),
            })
        })
        .collect();
    let mut object = Map::new();
    object.insert("id".to_owned(), json!(rendering.id));
    object.insert("object".to_owned(), json!("chat.completion"));
    object.insert("created".to_owned(), json!(rendering.created));
    object.insert("model".to_owned(), json!(rendering.asked.model));
    object.insert("choices".to_owned(), json!(choices));
    if !rendering.faults.has(&Fault::UsageMissing) {
        object.insert(
            "usage".to_owned(),
            (rendering.flavor.usage)(&rendering.counts),
        );
    }
    rendering.decorate(&mut object, true);
    Reply::json(200, &Value::Object(object))
}

fn message(rendering: &Rendering<'_>, turn: &Turn) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    message.insert("content".to_owned(), json!(turn.text));
    message.insert("refusal".to_owned(), json!(turn.refusal));
    if let Some(think) = &turn.think {
        match rendering.flavor.thoughts {
            Thoughts::Hidden => {}
            Thoughts::Field { name, .. } => {
                message.insert(name.to_owned(), json!(think));
            }
            Thoughts::Details => {
                message.insert("reasoning".to_owned(), json!(think));
                let details = crate::openrouter::reasoning_details(
                    rendering.world,
                    &rendering.asked.model,
                    think,
                );
                message.insert("reasoning_details".to_owned(), details);
            }
        }
    }
    if rendering.flavor.thoughts == Thoughts::Hidden {
        message.insert("annotations".to_owned(), json!([]));
    }
    let calls: Vec<Value> = turn
        .tools
        .iter()
        .map(|call| {
            let id = format!("{}{}", rendering.flavor.call_prefix, call.id);
            call_object(&id, call, &call.arguments())
        })
        .collect();
    if let Some(first) = calls.first().filter(|_| rendering.legacy_functions()) {
        message.insert("function_call".to_owned(), first["function"].clone());
    } else if !calls.is_empty() || rendering.faults.has(&Fault::ToolCallsEmptyList) {
        message.insert("tool_calls".to_owned(), json!(calls));
    }
    Value::Object(message)
}

/// A tool call with an id, as both bodies and first fragments have it.
pub(super) fn call_object(id: &str, call: &Call, arguments: &str) -> Value {
    if call.is_custom() {
        json!({ "id": id, "type": "custom",
            "custom": { "name": call.name, "input": arguments } })
    } else {
        json!({ "id": id, "type": "function",
            "function": { "name": call.name, "arguments": arguments } })
    }
}

/// Log probabilities of a text, or `null` if they were not asked for.
pub(super) fn logprobs(rendering: &Rendering<'_>, text: &str) -> Value {
    let body = rendering.asked.body;
    if !flag(body, "logprobs") {
        return Value::Null;
    }
    let tops = body
        .get("top_logprobs")
        .and_then(Value::as_u64)
        .unwrap_or(0);
    let content: Vec<Value> = tokens::pieces(text, 4)
        .into_iter()
        .map(|token| {
            let one = |token: &str, logprob: f64| {
                json!({ "token": token, "logprob": logprob, "bytes": token.as_bytes() })
            };
            let alternatives: Vec<Value> = (0..tops)
                .map(|rank| match rank {
                    0 => one(token, -0.01),
                    rank => one(&format!("alt{rank}"), -4.0 - rank as f64),
                })
                .collect();
            let mut entry = one(token, -0.01);
            entry["top_logprobs"] = json!(alternatives);
            entry
        })
        .collect();
    json!({ "content": content, "refusal": null })
}
