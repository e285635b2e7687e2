//! The response object around the items.

use serde_json::{Map, Value, json};

use crate::fault::Fault;
use crate::openai::responses::{Asked, Made};
use crate::script::Stop;

/// The object in its final state.
pub(super) fn finished(asked: &Asked<'_>, made: &Made) -> Value {
    let (status, error, incomplete) = match &made.turn.stop {
        Stop::MaxTokens => (
            "incomplete",
            Value::Null,
            json!({ "reason": "max_output_tokens" }),
        ),
        Stop::ContentFilter => (
            "incomplete",
            Value::Null,
            json!({ "reason": "content_filter" }),
        ),
        Stop::Other(word) if word == "failed" => (
            "failed",
            json!({ "code": "server_error",
                "message": "The model failed to generate a response." }),
            Value::Null,
        ),
        _ => ("completed", Value::Null, Value::Null),
    };
    let mut whole = started(asked, made, status);
    whole["error"] = error;
    whole["incomplete_details"] = incomplete;
    whole["output"] = if status == "failed" {
        json!([])
    } else {
        json!(made.output)
    };
    if !made.faults.has(&Fault::UsageMissing) && status != "failed" {
        let counts = &made.counts;
        whole["usage"] = json!({
            "input_tokens": counts.input,
            "input_tokens_details": {
                "cached_tokens": counts.cache_read, "cache_write_tokens": counts.cache_written,
            },
            "output_tokens": counts.output,
            "output_tokens_details": { "reasoning_tokens": counts.reasoning },
            "total_tokens": counts.input + counts.output,
        });
    }
    whole
}

/// The object before anything was said.
pub(super) fn started(asked: &Asked<'_>, made: &Made, status: &str) -> Value {
    let body = asked.body;
    let echoed = |name: &str, default: Value| {
        body.get(name)
            .filter(|value| !value.is_null())
            .cloned()
            .unwrap_or(default)
    };
    let format = body
        .pointer("/text/format")
        .cloned()
        .unwrap_or(json!({ "type": "text" }));
    let verbosity = body
        .pointer("/text/verbosity")
        .cloned()
        .unwrap_or(json!("medium"));
    let effort = body.pointer("/reasoning/effort").cloned();
    let default_effort = if asked.card.reasoning {
        json!("medium")
    } else {
        Value::Null
    };
    let tier = service_tier(body);
    let fields = [
        ("id", json!(made.id)),
        ("object", json!("response")),
        ("created_at", json!(made.created)),
        ("status", json!(status)),
        ("background", json!(false)),
        ("error", Value::Null),
        ("incomplete_details", Value::Null),
        ("instructions", echoed("instructions", Value::Null)),
        (
            "max_output_tokens",
            echoed("max_output_tokens", Value::Null),
        ),
        ("max_tool_calls", echoed("max_tool_calls", Value::Null)),
        ("model", json!(asked.model)),
        ("output", json!([])),
        (
            "parallel_tool_calls",
            echoed("parallel_tool_calls", json!(true)),
        ),
        (
            "previous_response_id",
            echoed("previous_response_id", Value::Null),
        ),
        ("prompt_cache_key", echoed("prompt_cache_key", Value::Null)),
        (
            "reasoning",
            json!({
                "effort": effort.unwrap_or(default_effort),
                "summary": body.pointer("/reasoning/summary").cloned(),
            }),
        ),
        (
            "safety_identifier",
            echoed("safety_identifier", Value::Null),
        ),
        ("service_tier", json!(tier)),
        ("store", json!(asked.stores)),
        ("temperature", echoed("temperature", json!(1.0))),
        ("text", json!({ "format": format, "verbosity": verbosity })),
        ("tool_choice", echoed("tool_choice", json!("auto"))),
        ("tools", echoed("tools", json!([]))),
        ("top_logprobs", echoed("top_logprobs", json!(0))),
        ("top_p", echoed("top_p", json!(1.0))),
        ("truncation", echoed("truncation", json!("disabled"))),
        ("usage", Value::Null),
        ("user", Value::Null),
        ("metadata", echoed("metadata", json!({}))),
    ];
    let named = fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    Value::Object(named.collect::<Map<_, _>>())
}

/// The tier that a request is served at: `auto` becomes the default one.
fn service_tier(body: &Value) -> &str {
    match body.get("service_tier").and_then(Value::as_str) {
        None | Some("auto") => "default",
        Some(tier) => tier,
    }
}
