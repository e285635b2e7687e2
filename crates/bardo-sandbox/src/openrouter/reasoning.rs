//! `reasoning_details`: how signed thinking of any maker rides through the chat dialect.

use serde_json::{Value, json};

use crate::openrouter::models::author;
use crate::tokens;
use crate::world::World;

/// The details of one thought in a whole answer.
pub(crate) fn reasoning_details(world: &World, model: &str, think: &str) -> Value {
    let seal = seal(world, model, think);
    match author(model) {
        "anthropic" => json!([{ "type": "reasoning.text", "text": think, "signature": seal,
            "format": "anthropic-claude-v1", "index": 0 }]),
        "google" => json!([
            { "type": "reasoning.text", "text": think, "format": "google-gemini-v1", "index": 0 },
            { "type": "reasoning.encrypted", "data": seal, "format": "google-gemini-v1", "index": 0 },
        ]),
        "openai" => json!([
            { "type": "reasoning.summary", "summary": think, "format": "openai-responses-v1", "index": 0 },
            { "type": "reasoning.encrypted", "data": seal, "id": id(world, think),
                "format": "openai-responses-v1", "index": 0 },
        ]),
        _ => json!([{ "type": "reasoning.text", "text": think, "format": "unknown", "index": 0 }]),
    }
}

/// Reasoning details as deltas: pieces of text that share an index, then the signature alone.
pub(crate) fn reasoning_deltas(
    world: &World,
    model: &str,
    think: &str,
    chunk: usize,
) -> Vec<Value> {
    let whole = reasoning_details(world, model, think);
    let mut first = whole[0].clone();
    let field = if first.get("summary").is_some() {
        "summary"
    } else {
        "text"
    };
    let signature = first
        .as_object_mut()
        .and_then(|first| first.shift_remove("signature"));
    let mut deltas: Vec<Value> = tokens::pieces(think, chunk)
        .into_iter()
        .map(|piece| {
            first[field] = json!(piece);
            json!({ "role": "assistant", "content": "", "reasoning": piece,
                "reasoning_details": [first] })
        })
        .collect();
    let end = match signature {
        Some(signature) => Some(json!({ "type": "reasoning.text", "signature": signature,
            "format": first["format"], "index": 0 })),
        None => whole.get(1).cloned(),
    };
    if let Some(end) = end {
        deltas.push(
            json!({ "role": "assistant", "content": "", "reasoning": null,
            "reasoning_details": [end] }),
        );
    }
    deltas
}

/// Checks the details that a conversation brings back. The error is the provider's own message.
pub(super) fn verify(world: &World, model: &str, messages: &[Value]) -> Result<(), String> {
    for (at, message) in messages.iter().enumerate() {
        let details = message.get("reasoning_details").and_then(Value::as_array);
        for detail in details.into_iter().flatten() {
            let text = detail["text"].as_str().unwrap_or_default();
            let sealed = detail
                .get("signature")
                .or(detail.get("data"))
                .and_then(Value::as_str);
            let genuine = match (detail["type"].as_str(), sealed) {
                (Some("reasoning.text"), Some(sealed)) => world
                    .seals
                    .open("openrouter", &[], sealed)
                    .is_some_and(|carried| {
                        carried.ends_with(&digest(world, text))
                            && detail["format"] == "anthropic-claude-v1"
                    }),
                (Some("reasoning.encrypted"), Some(sealed)) => {
                    world.seals.open("openrouter", &[], sealed).is_some()
                }
                _ => true,
            };
            if !genuine {
                return Err(format!(
                    "messages.{at}.content.0: Invalid `signature` in `thinking` block"
                ));
            }
        }
    }
    gemini_tool_turns(model, messages)
}

/// Gemini 3 refuses a call of the current turn that lost its thought signature.
fn gemini_tool_turns(model: &str, messages: &[Value]) -> Result<(), String> {
    if !model.starts_with("google/gemini-3") {
        return Ok(());
    }
    let turn = messages
        .iter()
        .rposition(|message| message["role"] == "user")
        .unwrap_or(0);
    let bare = |message: &&Value| {
        let has = |name: &str| {
            message
                .get(name)
                .and_then(Value::as_array)
                .is_some_and(|list| !list.is_empty())
        };
        has("tool_calls") && !has("reasoning_details")
    };
    match messages[turn..].iter().find(bare) {
        None => Ok(()),
        Some(message) => Err(format!(
            "Function call `{}` is missing a thought_signature in functionCall parts.",
            message["tool_calls"][0]["function"]["name"]
                .as_str()
                .unwrap_or_default(),
        )),
    }
}

fn seal(world: &World, model: &str, think: &str) -> String {
    let carried = [model.as_bytes(), b"\0", &digest(world, think)].concat();
    world.seals.mint("openrouter", &[], &carried)
}

fn digest(world: &World, think: &str) -> [u8; 32] {
    world.digest(&[b"thought", think.as_bytes()])
}

fn id(world: &World, think: &str) -> String {
    world.hex_id("rs_", 48, &[think.as_bytes()])
}
