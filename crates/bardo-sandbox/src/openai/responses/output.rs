//! The items that a turn becomes.

use serde_json::{Value, json};

use crate::openai::responses::{Asked, input};
use crate::script::{Stop, Turn};
use crate::world::World;

/// Every output item in its finished form.
pub(super) fn items(asked: &Asked<'_>, turn: &Turn, id: &str, world: &World) -> Vec<Value> {
    let item_id =
        |prefix: &str, at: usize| world.hex_id(prefix, 48, &[id.as_bytes(), &at.to_be_bytes()]);
    let mut items = Vec::new();
    let mut reasoning_id = None;
    if let Some(think) = &turn.think {
        let id = item_id("rs_", 0);
        items.push(reasoning(asked, think, &id, world));
        reasoning_id = Some(id);
    }
    let cut = matches!(turn.stop, Stop::MaxTokens | Stop::ContentFilter);
    let status = if cut { "incomplete" } else { "completed" };
    let content = match (&turn.refusal, &turn.text) {
        (Some(refusal), _) => Some(json!({ "type": "refusal", "refusal": refusal })),
        (None, Some(text)) => Some(json!({
            "type": "output_text", "annotations": [], "logprobs": [], "text": text,
        })),
        (None, None) => None,
    };
    if let Some(content) = content {
        items.push(json!({
            "id": item_id("msg_", items.len()), "type": "message", "status": status,
            "content": [content], "role": "assistant",
        }));
    }
    for call in &turn.tools {
        let call_id = format!("call_{}", call.id);
        let mut item = if call.is_custom() {
            json!({
                "id": item_id("ctc_", items.len()), "type": "custom_tool_call",
                "status": status, "call_id": call_id, "input": call.arguments(),
                "name": call.name,
            })
        } else {
            json!({
                "id": item_id("fc_", items.len()), "type": "function_call",
                "status": status, "arguments": call.arguments(), "call_id": call_id,
                "name": call.name,
            })
        };
        if let Some(space) = namespace(asked, &call.name) {
            item["namespace"] = json!(space);
        }
        if let (Some(reasoning), Some(id)) = (&reasoning_id, item["id"].as_str()) {
            world.shelf.put(&format!("reason:{id}"), json!(reasoning));
        }
        items.push(item);
    }
    items
}

/// The namespace of a called tool; `functions` is where tools are without one.
fn namespace<'a>(asked: &'a Asked<'_>, name: &str) -> Option<&'a str> {
    input::callable(asked.body, &asked.context)
        .find(|(tool, _)| tool["name"].as_str() == Some(name))
        .and_then(|(_, space)| space)
        .filter(|space| *space != "functions")
}

fn reasoning(asked: &Asked<'_>, think: &str, id: &str, world: &World) -> Value {
    let shows = asked
        .body
        .pointer("/reasoning/summary")
        .is_some_and(|summary| !summary.is_null());
    let summary = if shows {
        json!([{ "type": "summary_text", "text": think }])
    } else {
        json!([])
    };
    let mut item = json!({ "id": id, "type": "reasoning", "summary": summary });
    let included = asked.body.get("include").and_then(Value::as_array);
    if included.is_some_and(|names| names.contains(&json!("reasoning.encrypted_content"))) {
        // Clients that let nothing be stored drop the id and send the content alone.
        let seal = world.seals.mint("reasoning", &[], think.as_bytes());
        item["encrypted_content"] = json!(seal);
    }
    item
}
