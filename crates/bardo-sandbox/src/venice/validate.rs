//! What Venice refuses.

use serde_json::{Value, json};

use crate::chat::order;
use crate::venice::Refusal;
use crate::venice::models::Row;

const PARAMETERS: &[&str] = &[
    "character_slug",
    "strip_thinking_response",
    "disable_thinking",
    "enable_e2ee",
    "enable_web_search",
    "enable_web_scraping",
    "enable_web_citations",
    "include_search_results_in_stream",
    "return_search_results_as_documents",
    "include_venice_system_prompt",
    "enable_x_search",
];

pub(super) fn chat(body: &Value, row: Row) -> Result<(), Refusal> {
    let messages = body.get("messages").and_then(Value::as_array);
    let Some(messages) = messages.filter(|messages| !messages.is_empty()) else {
        return Err(invalid("messages", "Required"));
    };
    for (at, message) in messages.iter().enumerate() {
        self::message(at, message, row)?;
    }
    order::check(messages)
        .map_err(|_| invalid("messages", "tool calls and tool results do not match"))?;
    parameters(body)?;
    features(body, row)?;
    effort(body, row)
}

fn invalid(field: &str, problem: &str) -> Refusal {
    Refusal {
        details: json!({ field: { "_errors": [problem] } }),
        ..Refusal::new(400, "Invalid request parameters")
    }
}

fn message(at: usize, message: &Value, row: Row) -> Result<(), Refusal> {
    let role = message["role"].as_str().unwrap_or_default();
    if !matches!(role, "system" | "developer" | "user" | "assistant" | "tool") {
        return Err(invalid("messages", &format!("{at}: invalid role")));
    }
    if role == "tool" && !message["content"].is_string() {
        return Err(invalid(
            "messages",
            &format!("{at}: tool content must be a string"),
        ));
    }
    let parts = message.get("content").and_then(Value::as_array);
    for part in parts.into_iter().flatten() {
        match part["type"].as_str() {
            Some("text" | "file") => {}
            Some("image_url") if row.can("supportsVision") => {}
            Some("image_url") => {
                return Err(Refusal::new(
                    400,
                    "The selected model does not support image inputs",
                ));
            }
            Some("input_audio") if row.can("supportsAudioInput") => {}
            Some("video_url") if row.can("supportsVideoInput") => {}
            _ => {
                return Err(invalid(
                    "messages",
                    &format!("{at}: unsupported content part"),
                ));
            }
        }
    }
    Ok(())
}

fn parameters(body: &Value) -> Result<(), Refusal> {
    let parameters = body.get("venice_parameters").and_then(Value::as_object);
    for (name, value) in parameters.into_iter().flatten() {
        let fits = match name.as_str() {
            "character_slug" => {
                return Err(Refusal::new(
                    404,
                    "No character could be found from the provided character_slug",
                ));
            }
            // A string in three values, not a flag.
            "enable_web_search" => matches!(value.as_str(), Some("off" | "on" | "auto")),
            name => PARAMETERS.contains(&name) && value.is_boolean(),
        };
        if !fits {
            return Err(invalid(
                "venice_parameters",
                &format!("{name}: invalid value"),
            ));
        }
    }
    Ok(())
}

fn features(body: &Value, row: Row) -> Result<(), Refusal> {
    let listed = body.get("tools").and_then(Value::as_array);
    let has_functions =
        listed.is_some_and(|tools| tools.iter().any(|tool| tool["type"] == "function"));
    if has_functions && !row.can("supportsFunctionCalling") {
        return Err(Refusal::new(400, "tools is not supported by this model"));
    }
    let format = body.get("response_format").unwrap_or(&Value::Null);
    if format["type"] == "json_schema" {
        if !row.can("supportsResponseSchema") {
            return Err(Refusal::new(
                400,
                "response_format is not supported by this model",
            ));
        }
        let inner = &format["json_schema"];
        if inner["strict"] != true || inner["schema"]["additionalProperties"] != false {
            return Err(invalid(
                "response_format",
                "json_schema needs strict: true and additionalProperties: false",
            ));
        }
        if body.get("parallel_tool_calls") == Some(&json!(true)) {
            return Err(invalid(
                "response_format",
                "incompatible with parallel tool calls",
            ));
        }
    }
    if let Some(stops) = body.get("stop").and_then(Value::as_array)
        && stops.len() > 4
    {
        return Err(invalid("stop", "Array must contain at most 4 element(s)"));
    }
    let temperature = body.get("temperature").and_then(Value::as_f64);
    if temperature.is_some_and(|value| !(0.0..=2.0).contains(&value)) {
        return Err(invalid("temperature", "Number must be between 0 and 2"));
    }
    Ok(())
}

/// Efforts are not mapped: a value that the model does not list is refused.
fn effort(body: &Value, row: Row) -> Result<(), Refusal> {
    let effort = body
        .get("reasoning_effort")
        .or(body.pointer("/reasoning/effort"));
    let Some(effort) = effort.and_then(Value::as_str) else {
        return Ok(());
    };
    if row.efforts().contains(&effort) {
        return Ok(());
    }
    Err(invalid(
        "reasoning_effort",
        &format!(
            "'{effort}' is not supported by this model. Supported: {}",
            row.efforts().join(", ")
        ),
    ))
}
