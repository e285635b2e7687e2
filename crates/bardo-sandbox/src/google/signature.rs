//! Thought signatures: minted on calls and on the end of a text, checked when they return.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::shape;
use crate::world::World;

const CALL: &str = "google.call";
const TEXT: &str = "google.text";

/// Signs a part that is about to be sent.
pub(super) fn mint(part: &Value, thought: &str, world: &World) -> String {
    let carried = format!("the thought behind this part: {thought}");
    let carried = carried.as_bytes();
    match call(part) {
        Some(call) => world.seals.mint(CALL, &[call.as_bytes()], carried),
        None => world.seals.mint(TEXT, &[], carried),
    }
}

/// Whether a signature was minted here, for this call. The signature of a text covers no text,
/// because in a stream it comes on a part of its own.
pub(super) fn is_genuine(part: &Value, given: &str, world: &World) -> bool {
    // Clients send bytes in either alphabet of base64, whatever they received.
    let Some(given) = shape::bytes(given).map(|bytes| STANDARD.encode(bytes)) else {
        return false;
    };
    let open = |purpose: &str, bound: &[&[u8]]| world.seals.open(purpose, bound, &given).is_some();
    match call(part) {
        Some(call) => open(CALL, &[call.as_bytes()]),
        None => open(TEXT, &[]),
    }
}

/// Name and arguments of a call, the keys in one order.
fn call(part: &Value) -> Option<String> {
    let call = part.get("functionCall").filter(|call| !call.is_null())?;
    let args = match &call["args"] {
        Value::Null => json!({}),
        args => sorted(args),
    };
    Some(json!([call["name"], args]).to_string())
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let fields = fields
                .into_iter()
                .map(|(name, value)| (name.clone(), sorted(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}
