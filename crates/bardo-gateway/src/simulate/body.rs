//! Bodies of requests, in the dialects of clients.

use bytes::Bytes;
use serde_json::{Value, json};

use super::workload::SimulatedCall;

/// Room for an answer, in tokens, unless it is longer.
const MAX_TOKENS: u64 = 4_096;

fn max_tokens(call: &SimulatedCall) -> u64 {
    call.output_tokens.max(MAX_TOKENS)
}

/// The prompt-cache marks of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientMarks {
    /// None: the client knows nothing of caches.
    Absent,
    /// Of five minutes, behind tools and system prompt, and behind the last turn of a conversation
    /// with several: what the makers' guides advise.
    Advised,
}

/// A body of the Messages API.
pub(super) fn messages(call: &SimulatedCall, marks: ClientMarks) -> Value {
    let is_marked = marks == ClientMarks::Advised;
    let mark = |block: &mut Value| block["cache_control"] = json!({ "type": "ephemeral" });
    let tools = call.tools.iter().map(|tool| {
        json!({ "name": tool.name, "description": tool.description, "input_schema": tool.schema })
    });
    let mut system = json!({ "type": "text", "text": &*call.system });
    if is_marked {
        mark(&mut system);
    }
    let last = call.turns.len().saturating_sub(1);
    let turns = call.turns.iter().enumerate().map(|(at, turn)| {
        let mut block = json!({ "type": "text", "text": &*turn.text });
        if is_marked && at == last && last > 0 {
            mark(&mut block);
        }
        json!({ "role": role(turn.assistant), "content": [block] })
    });
    let mut body = json!({
        "model": &*call.model,
        "max_tokens": max_tokens(call),
        "messages": turns.collect::<Vec<_>>(),
    });
    if !call.system.is_empty() {
        body["system"] = json!([system]);
    }
    if !call.tools.is_empty() {
        body["tools"] = tools.collect();
    }
    set_temperature(&mut body, call, 1.0);
    body
}

/// A body of Chat Completions.
pub(super) fn chat(call: &SimulatedCall) -> Value {
    let system =
        (!call.system.is_empty()).then(|| json!({ "role": "system", "content": &*call.system }));
    let turns = call
        .turns
        .iter()
        .map(|turn| json!({ "role": role(turn.assistant), "content": &*turn.text }));
    let mut body = json!({
        "model": &*call.model,
        "max_completion_tokens": max_tokens(call),
        "messages": system.into_iter().chain(turns).collect::<Vec<_>>(),
    });
    if !call.tools.is_empty() {
        let tools = call.tools.iter().map(|tool| {
            json!({ "type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.schema,
            } })
        });
        body["tools"] = tools.collect();
    }
    set_temperature(&mut body, call, 2.0);
    body
}

/// With the hints of the call, which the gateway alone reads. `is_semantic`: a request that wants
/// stored answers takes those to the same question in other words.
pub(super) fn hinted(mut body: Value, call: &SimulatedCall, is_semantic: bool) -> Bytes {
    if !call.hints.is_null() {
        body["bardo"] = call.hints.clone();
        if is_semantic && call.hints["cache"] == "default" {
            body["bardo"]["cache"] = json!("semantic");
        }
    }
    body.to_string().into()
}

/// Sets the temperature, unless it is outside of what the API takes: 0 to `most`.
fn set_temperature(body: &mut Value, call: &SimulatedCall, most: f64) {
    let taken = call
        .temperature
        .filter(|warmth| (0.0..=most).contains(warmth));
    if let Some(temperature) = taken {
        body["temperature"] = json!(temperature);
    }
}

const fn role(is_assistant: bool) -> &'static str {
    if is_assistant { "assistant" } else { "user" }
}
