//! The message as one JSON object, or as the events that add up to it.

use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::check::Checked;
use crate::fault::{Fault, Faults};
use crate::reply::{Part, Piece};
use crate::tokens;

/// The message that a request without `stream` gets.
pub(crate) fn message(id: &str, answer: &Answer, checked: &Checked, faults: &Faults) -> Value {
    let mut message = shell(id, answer, checked);
    message["content"] = Value::Array(answer.content.clone());
    if !faults.has(&Fault::FinishMissing) {
        message["stop_reason"] = json!(answer.stop_reason);
        message["stop_sequence"] = json!(answer.stop_sequence);
    }
    message["stop_details"] = answer.stop_details.clone();
    let mut usage = input_usage(answer, checked);
    usage.extend(output_usage(answer));
    message["usage"] = Value::Object(usage);
    if let Some(applied) = &answer.applied_edits {
        message["context_management"] = applied.clone();
    }
    if faults.has(&Fault::UsageMissing) {
        message.as_object_mut().map(|fields| fields.remove("usage"));
    }
    message
}

/// The fields that a message has from its first event on.
fn shell(id: &str, answer: &Answer, checked: &Checked) -> Value {
    let mut message = json!({
        "model": checked.asked_model,
        "id": id,
        "type": "message",
        "role": "assistant",
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "stop_details": null,
        "container": null,
        "usage": null,
    });
    if checked
        .body
        .get("diagnostics")
        .is_some_and(|value| !value.is_null())
    {
        message["diagnostics"] = Value::Null;
    }
    if checked.access.has_beta("thinking-binding-controls-") {
        let dropped = checked.transformations.iter();
        message["input_transformations"] = dropped.map(|one| one.json()).collect();
    }
    let mut usage = input_usage(answer, checked);
    usage.insert("output_tokens".to_owned(), json!(1));
    message["usage"] = Value::Object(usage);
    message
}

fn input_usage(answer: &Answer, checked: &Checked) -> Map<String, Value> {
    let mut usage = answer.input.json();
    let speed = checked.body.get("speed").and_then(Value::as_str);
    let geo = checked.body.get("inference_geo").and_then(Value::as_str);
    usage.insert("service_tier".to_owned(), json!("standard"));
    usage.insert("inference_geo".to_owned(), json!(geo.unwrap_or("us")));
    usage.insert("speed".to_owned(), json!(speed.unwrap_or("standard")));
    usage
}

fn output_usage(answer: &Answer) -> Map<String, Value> {
    let mut usage = Map::new();
    usage.insert("output_tokens".to_owned(), json!(answer.output_tokens));
    usage.insert(
        "output_tokens_details".to_owned(),
        json!({"thinking_tokens": answer.thinking_tokens}),
    );
    if answer.searches + answer.fetches > 0 {
        usage.insert(
            "server_tool_use".to_owned(),
            json!({"web_search_requests": answer.searches, "web_fetch_requests": answer.fetches}),
        );
    }
    if let Some(iterations) = &answer.iterations {
        usage.insert("iterations".to_owned(), iterations.clone());
    }
    usage
}

/// The events of a stream, with one ping where the real service tends to send it.
pub(crate) fn events(id: &str, answer: &Answer, checked: &Checked, faults: &Faults) -> Vec<Piece> {
    let mut message = shell(id, answer, checked);
    if faults.has(&Fault::UsageMissing) {
        message.as_object_mut().map(|fields| fields.remove("usage"));
    }
    let mut pieces = vec![event(
        Part::Open,
        json!({"type": "message_start", "message": message}),
    )];
    for (index, block) in answer.content.iter().enumerate() {
        let broken = answer.broken_inputs.get(&index).map(String::as_str);
        block_events(index, block, broken, answer.chunk, &mut pieces);
    }
    pieces.insert(pieces.len().min(2), ping());
    pieces.push(message_delta(answer, faults));
    pieces.push(event(Part::Done, json!({"type": "message_stop"})));
    pieces
}

fn event(part: Part, data: Value) -> Piece {
    let name = data["type"].as_str().unwrap_or_default();
    Piece::event(part, name, &data)
}

pub(crate) fn ping() -> Piece {
    event(Part::Comment, json!({"type": "ping"}))
}

fn message_delta(answer: &Answer, faults: &Faults) -> Piece {
    let mut usage = Map::new();
    for (name, value) in answer.input.json() {
        if name != "cache_creation" {
            usage.insert(name, value);
        }
    }
    usage.extend(output_usage(answer));
    let mut delta = json!({
        "type": "message_delta",
        "delta": {
            "stop_reason": answer.stop_reason,
            "stop_sequence": answer.stop_sequence,
            "stop_details": answer.stop_details,
            "container": null,
        },
        "usage": usage,
    });
    if let Some(applied) = &answer.applied_edits {
        delta["context_management"] = applied.clone();
    }
    if faults.has(&Fault::FinishMissing) {
        delta["delta"]["stop_reason"] = Value::Null;
    }
    if faults.has(&Fault::UsageMissing) {
        delta.as_object_mut().map(|fields| fields.remove("usage"));
    }
    let mut piece = event(Part::Close, delta);
    piece.delay_ms = faults.late_usage_ms().unwrap_or(0);
    piece
}

/// Start, deltas and stop of one block.
fn block_events(
    index: usize,
    block: &Value,
    broken_input: Option<&str>,
    chunk: usize,
    pieces: &mut Vec<Piece>,
) {
    let delta = |data: Value| {
        let data = json!({"type": "content_block_delta", "index": index, "delta": data});
        event(Part::Content, data)
    };
    let text = |field: &str| block[field].as_str().unwrap_or_default();
    let mut start = block.clone();
    let mut deltas = Vec::new();
    match text("type") {
        "text" => {
            start["text"] = json!("");
            for piece in tokens::pieces(text("text"), chunk) {
                deltas.push(delta(json!({"type": "text_delta", "text": piece})));
            }
            if let Value::Array(citations) = &block["citations"] {
                start["citations"] = json!([]);
                for citation in citations {
                    let data = json!({"type": "citations_delta", "citation": citation});
                    deltas.push(delta(data));
                }
            }
        }
        "thinking" => {
            start["thinking"] = json!("");
            start["signature"] = json!("");
            for piece in tokens::pieces(text("thinking"), chunk) {
                deltas.push(delta(json!({"type": "thinking_delta", "thinking": piece})));
            }
            let data = json!({"type": "signature_delta", "signature": block["signature"]});
            deltas.push(delta(data));
        }
        "tool_use" | "server_tool_use" | "mcp_tool_use" => {
            start["input"] = json!({});
            let empty = block["input"].as_object().is_none_or(Map::is_empty);
            let whole = if empty {
                String::new()
            } else {
                block["input"].to_string()
            };
            let input = broken_input.map_or(whole, str::to_owned);
            deltas.push(delta(
                json!({"type": "input_json_delta", "partial_json": ""}),
            ));
            for piece in tokens::pieces(&input, chunk) {
                deltas.push(delta(
                    json!({"type": "input_json_delta", "partial_json": piece}),
                ));
            }
        }
        "compaction" => {
            start["content"] = Value::Null;
            deltas.push(delta(
                json!({"type": "compaction_delta", "content": block["content"],
                "encrypted_content": block["encrypted_content"]}),
            ));
        }
        _ => {}
    }
    pieces.push(event(
        Part::Content,
        json!({"type": "content_block_start", "index": index, "content_block": start}),
    ));
    pieces.append(&mut deltas);
    pieces.push(event(
        Part::Content,
        json!({"type": "content_block_stop", "index": index}),
    ));
}
