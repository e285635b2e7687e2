//! Thought signatures: genuine wherever they stand, and present where they must be.

use serde_json::Value;

use crate::google::error::ApiError;
use crate::google::model::Model;
use crate::google::shape;
use crate::google::signature;
use crate::world::World;

/// Values that stand in for a signature on calls that another model made.
const DUMMIES: [&str; 2] = [
    "skip_thought_signature_validator",
    "context_engineering_is_the_way_to_go",
];

pub(super) fn check(body: &Value, model: &Model, world: &World) -> Result<(), ApiError> {
    let contents = body["contents"].as_array().map_or(&[][..], Vec::as_slice);
    for part in contents.iter().flat_map(parts) {
        if let Some(given) = part["thoughtSignature"].as_str()
            && !is_dummy(given)
            && !signature::is_genuine(part, given, world)
        {
            return Err(ApiError::invalid("Corrupted thought signature."));
        }
    }
    if model.generation < 3 {
        return Ok(());
    }
    for content in &contents[current_turn(contents)..] {
        let first = parts(content).find(|part| !part["functionCall"].is_null());
        let Some(call) = first.filter(|part| part["thoughtSignature"].is_null()) else {
            continue;
        };
        let name = call["functionCall"]["name"].as_str().unwrap_or_default();
        let position = parts(content)
            .position(|part| !part["functionCall"].is_null())
            .unwrap_or_default();
        return Err(ApiError::invalid(format!(
            "Function call is missing a thought_signature in functionCall parts. This is required \
             for tools to work correctly, and missing thought_signature may lead to degraded model \
             performance. Additional data, function call `default_api:{name}` , position {}. \
             Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more \
             details.",
            position + 1
        )));
    }
    Ok(())
}

/// Where the current turn begins: at the last thing the user said, not at a tool's answer.
fn current_turn(contents: &[Value]) -> usize {
    contents
        .iter()
        .rposition(|content| {
            content["role"] != "model"
                && parts(content).all(|part| part["functionResponse"].is_null())
        })
        .unwrap_or(0)
}

fn parts(content: &Value) -> impl Iterator<Item = &Value> {
    content["parts"].as_array().into_iter().flatten()
}

/// The documented stand-ins, as they are or as the bytes they spell.
fn is_dummy(given: &str) -> bool {
    DUMMIES.iter().any(|dummy| {
        *dummy == given || shape::bytes(given).is_some_and(|bytes| bytes == dummy.as_bytes())
    })
}
