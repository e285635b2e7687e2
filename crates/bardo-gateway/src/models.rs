//! The list of models, in the shape the caller's SDK reads.

use bardo_router::Roster;
use bardo_types::calendar::rfc3339_seconds;
use bardo_types::model::ModelEntry;
use serde_json::{Value, json};

/// The answer to `GET /v1/models`.
pub(crate) fn list(roster: &Roster, anthropic: bool) -> Value {
    let rows: Vec<Value> = roster.shown().map(|entry| row(entry, anthropic)).collect();
    if !anthropic {
        return json!({ "object": "list", "data": rows });
    }
    let id = |row: Option<&Value>| row.map_or(Value::Null, |row| row["id"].clone());
    json!({ "first_id": id(rows.first()), "last_id": id(rows.last()), "has_more": false, "data": rows })
}

/// `GET /v1/models/{id}`; `None` when nobody serves it.
pub(crate) fn one(roster: &Roster, name: &str, anthropic: bool) -> Option<Value> {
    if let Some(written) = roster.shown().find(|entry| entry.id == name) {
        return Some(row(written, anthropic));
    }
    let found = roster.resolve(name).ok()?;
    Some(row(&found.first()?.entry, anthropic))
}

fn row(entry: &ModelEntry, anthropic: bool) -> Value {
    if anthropic {
        return anthropic_row(entry);
    }
    let owned_by = if entry.vendor.is_empty() {
        "unknown"
    } else {
        &entry.vendor
    };
    json!({ "id": entry.id, "object": "model", "created": entry.created, "owned_by": owned_by })
}

fn anthropic_row(entry: &ModelEntry) -> Value {
    let capabilities = &entry.capabilities;
    let limit = |tokens: u64| {
        if tokens == 0 {
            Value::Null
        } else {
            json!(tokens)
        }
    };
    let supported = |yes: bool| json!({ "supported": yes });
    let thinking = capabilities.thinking;
    let mut effort: serde_json::Map<String, Value> = ["low", "medium", "high", "xhigh", "max"]
        .iter()
        .map(|name| {
            (
                (*name).to_owned(),
                supported(
                    capabilities
                        .efforts
                        .iter()
                        .any(|effort| effort.as_str() == *name),
                ),
            )
        })
        .collect();
    effort.insert("supported".into(), json!(!capabilities.efforts.is_empty()));
    json!({
        "type": "model",
        "id": entry.id,
        "display_name": entry.display_name,
        "created_at": rfc3339_seconds(entry.created),
        "lifecycle": "active",
        "line": Value::Null,
        "max_input_tokens": limit(capabilities.context_tokens),
        "max_tokens": limit(capabilities.max_output_tokens),
        "deprecated_at": Value::Null,
        "retires_at": Value::Null,
        "capabilities": {
            "batch": supported(false),
            "citations": supported(entry.vendor == "anthropic"),
            "code_execution": supported(false),
            "context_management": supported(false),
            "effort": effort,
            "image_input": supported(capabilities.images),
            "pdf_input": supported(capabilities.documents),
            "server_tools": {
                "supported": false,
                "code_execution": supported(false),
                "web_search": supported(false),
            },
            "structured_outputs": supported(capabilities.structured_output),
            "thinking": {
                "supported": thinking.any(),
                "types": {
                    "adaptive": supported(thinking.adaptive),
                    "enabled": supported(thinking.budget),
                    "disabled": supported(thinking.disabled),
                    "between_tools": supported(thinking.between_tools),
                },
            },
        },
    })
}
