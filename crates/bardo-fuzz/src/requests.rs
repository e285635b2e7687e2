//! Targets for the decoders of callers' requests.

use bardo_types::chat::{ChatRequest, Part};
use bardo_types::json::RawJson;
use bardo_types::model::{Dialect, Service};
use bardo_wire::codec::{BadRequest, Encoded};
use bardo_wire::json::{JsonError, scan};
use bardo_wire::{anthropic, chat, envelope, responses, table};
use serde_json::Value;

use crate::{Knobs, world};

/// A Chat Completions request is refused with a reason or read.
pub fn chat_request(data: &[u8]) {
    let Some((knobs, payload)) = Knobs::part(data) else {
        return;
    };
    request(Dialect::Chat, knobs, payload);
    if let Ok(top) = scan(payload) {
        let _ = chat::detect_completions_body(&top, knobs.bit(0, 0));
    }
}

/// An Anthropic request is refused with a reason or read, and can be counted and stripped.
pub fn anthropic_request(data: &[u8]) {
    let Some((knobs, payload)) = Knobs::part(data) else {
        return;
    };
    request(Dialect::Anthropic, knobs, payload);
    if let Ok(counted) = anthropic::decode_count_request(payload) {
        let written = anthropic::encode_count_request(&counted, &world::target(knobs));
        if let (Ok(_), Ok(written)) = (scan(payload), written) {
            assert!(is_body(&written.body), "a body to count is no object");
        }
    }
    if let (Ok(_), Some(stripped)) = (scan(payload), anthropic::strip_thinking(payload)) {
        assert!(scan(&stripped).is_ok(), "stripping broke a body");
    }
}

/// A Responses request is refused with a reason or read, and can be continued.
pub fn responses_request(data: &[u8]) {
    let Some((knobs, payload)) = Knobs::part(data) else {
        return;
    };
    request(Dialect::Responses, knobs, payload);
    let _ = responses::holds_own_marks(payload);
    let Ok(top) = scan(payload) else { return };
    let _ = responses::previous_response_id(&top);
    let _ = responses::conversation_id(&top);
    if let Ok(Some(whole)) =
        responses::with_referenced_items(&top, |_| Some(vec![RawJson::parse("{}").expect("valid")]))
    {
        assert!(is_body(&whole), "referenced items broke a body");
    }
    if let Ok(items) = responses::input_items(payload)
        && let Ok(longer) = responses::prepend_items(payload, &items)
    {
        assert!(is_body(&longer), "earlier items broke a body");
        let found = responses::input_items(&longer).expect("the input is still a list");
        // An item that repeats one of the earlier ones is left out.
        assert!((items.len()..=2 * items.len()).contains(&found.len()));
    }
}

/// A legacy completions request is refused with a reason or read.
pub fn completions_request(data: &[u8]) {
    if let Some((knobs, payload)) = Knobs::part(data) {
        request(Dialect::Completions, knobs, payload);
    }
}

/// Reads the payload, and writes what was read for an upstream of the same dialect.
fn request(dialect: Dialect, knobs: Knobs, payload: &[u8]) {
    let Some(request) = decoded(dialect, payload) else {
        return;
    };
    let upstream = match dialect {
        Dialect::Completions => Dialect::Chat,
        other => other,
    };
    encoded(upstream, &request, knobs);
}

/// The request, when the body is one that the gateway lets through.
pub(crate) fn decoded(dialect: Dialect, body: &[u8]) -> Option<ChatRequest> {
    match table::decode_request(dialect, body) {
        Ok(request) => scan(body).is_ok().then_some(request),
        Err(refused) => {
            explained(&refused);
            None
        }
    }
}

fn explained(refused: &BadRequest) {
    assert!(!refused.message.is_empty(), "a refusal says what is wrong");
    // What is quoted is bounded.
    assert!(refused.message.len() <= 2_304, "{}", refused.message.len());
    assert!(refused.param.len() <= 1_024, "{}", refused.param.len());
}

/// Whether this is a body that anybody takes; values may be nested deeper than we take ourselves,
/// because some dialects wrap them.
fn is_body(body: &[u8]) -> bool {
    matches!(scan(body), Ok(_) | Err(JsonError::TooDeep { .. }))
}

/// Writes a request for an upstream and holds the result to what every body must be.
pub(crate) fn encoded(upstream: Dialect, request: &ChatRequest, knobs: Knobs) -> Option<Encoded> {
    let target = world::target(knobs);
    let encoded = match table::encode_request(upstream, request, &target) {
        Ok(encoded) => encoded,
        Err(refused) => {
            explained(&refused);
            return None;
        }
    };
    let body = String::from_utf8_lossy(&encoded.body);
    let top = scan(&encoded.body);
    if matches!(top, Err(JsonError::TooDeep { .. })) {
        return None;
    }
    assert!(top.is_ok(), "{upstream:?} body: {:?}: {body}", top.err());
    // Venice nests the functions of this dialect in its own way.
    let nests = (upstream, target.service) == (Dialect::Responses, Service::Venice);
    // A Responses request may have nothing but a prompt template.
    let is_empty = request.messages.is_empty();
    // Blocks of one dialect alone go back as they came, right or wrong.
    let has_foreign = request.any_part(|part| matches!(part, Part::Server(_)));
    if upstream != Dialect::Gemini && !nests && !is_empty && !has_foreign {
        let read = table::decode_request(upstream, &encoded.body);
        assert!(
            read.is_ok(),
            "{upstream:?} refuses: {:?}: {body}",
            read.err()
        );
    }
    if let Ok(value) = serde_json::from_slice(&encoded.body) {
        assert!(!leaks(&value), "an envelope reached an upstream: {body}");
    }
    let mut sent: Vec<_> = encoded.renamed_tools.iter().map(|(sent, _)| sent).collect();
    sent.sort_unstable();
    sent.dedup();
    assert_eq!(sent.len(), encoded.renamed_tools.len(), "{sent:?}");
    Some(encoded)
}

/// Whether a slot of provider state holds an envelope of ours. Only the slots of known blocks
/// count: members that the dialect does not know go through as the caller wrote them.
fn leaks(body: &Value) -> bool {
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let turns = ["messages", "contents", "input"].map(|key| list(body, key));
    turns.iter().flatten().any(|turn| {
        let blocks = ["content", "parts", "reasoning_details", "tool_calls"];
        let blocks = blocks.map(|key| list(turn, key)).concat();
        std::iter::once(turn).chain(&blocks).any(has_sealed_slot)
    })
}

fn has_sealed_slot(block: &Value) -> bool {
    let thinks = matches!(
        block["type"].as_str(),
        Some("redacted_thinking" | "reasoning.encrypted")
    );
    [
        &block["signature"],
        &block["encrypted_content"],
        &block["thoughtSignature"],
        &block["extra_content"]["google"]["thought_signature"],
        if thinks { &block["data"] } else { &Value::Null },
    ]
    .into_iter()
    .filter_map(Value::as_str)
    .any(envelope::is_envelope)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::leaks;

    #[test]
    fn an_envelope_in_a_slot_of_any_dialect_is_a_leak() {
        let google = json!({"google": {"thought_signature": "bardo1.e30"}});
        for body in [
            json!({"messages": [{"content": [{"type": "thinking", "signature": "bardo1.e30"}]}]}),
            json!({"messages": [{"content": [{"type": "redacted_thinking", "data": "bardo1.e30"}]}]}),
            json!({"messages": [{"tool_calls": [{"extra_content": google}]}]}),
            json!({"input": [{"type": "reasoning", "encrypted_content": "bardo1.e30"}]}),
            json!({"contents": [{"parts": [{"text": "", "thoughtSignature": "bardo1.e30"}]}]}),
        ] {
            assert!(leaks(&body), "{body}");
        }
        for body in [
            json!({"messages": [{"content": [{"type": "thinking", "signature": "EqQB"}]}]}),
            json!({"messages": [{"content": "bardo1.e30"}], "signature": "bardo1.e30"}),
        ] {
            assert!(!leaks(&body), "{body}");
        }
    }
}
