//! Conversations that the service holds, so that a request sends only what is new.

use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::check::Checked;
use super::error::ApiError;
use crate::world::World;

/// Fields that a thread keeps from its first request.
const KEPT: [&str; 2] = ["system", "tools"];

fn key(id: &str) -> String {
    format!("anthropic/thread/{id}")
}

/// Puts what a continued thread holds before what the request sends.
pub(crate) fn expanded(
    mut body: Map<String, Value>,
    world: &World,
) -> Result<Map<String, Value>, ApiError> {
    let Some(id) = continued(&body).map(str::to_owned) else {
        return Ok(body);
    };
    if let Some(name) = KEPT.iter().find(|name| body.contains_key(**name)) {
        return Err(ApiError::at(
            name,
            "may not be set when continuing a thread, which keeps the value it was created with",
        ));
    }
    let held = world
        .shelf
        .get(&key(&id))
        .ok_or_else(|| ApiError::thread(404, "thread_not_found", &id))?;
    if held["continued"] == true {
        return Err(ApiError::thread(409, "thread_already_continued", &id));
    }
    for name in KEPT {
        if !held[name].is_null() {
            body.insert(name.to_owned(), held[name].clone());
        }
    }
    let mut messages = held["messages"].as_array().cloned().unwrap_or_default();
    if let Some(Value::Array(new)) = body.get("messages") {
        messages.extend(new.iter().cloned());
    }
    body.insert("messages".to_owned(), Value::Array(messages));
    Ok(body)
}

/// Holds a finished turn under its id; a refused turn and one that a fallback wrote are not held.
pub(crate) fn hold(id: &str, checked: &Checked, answer: &Answer, world: &World) {
    let body = &checked.body;
    let threaded = body.get("thread").is_some_and(|thread| !thread.is_null());
    let fell_back = answer
        .content
        .iter()
        .any(|block| block["type"] == "fallback");
    if !threaded || fell_back || answer.stop_reason == "refusal" {
        return;
    }
    let mut messages = body["messages"].as_array().cloned().unwrap_or_default();
    messages.push(json!({"role": "assistant", "content": answer.content}));
    let held = |name: &str| body.get(name).cloned().unwrap_or(Value::Null);
    world.shelf.put(
        &key(id),
        json!({"system": held("system"), "tools": held("tools"), "messages": messages}),
    );
    if let Some(before) = continued(body) {
        world.shelf.put(&key(before), json!({"continued": true}));
    }
}

/// The id of the message that a request continues from.
fn continued(body: &Map<String, Value>) -> Option<&str> {
    let thread = body.get("thread")?;
    (thread["type"] == "continue")
        .then(|| thread["previous_message_id"].as_str())
        .flatten()
}
