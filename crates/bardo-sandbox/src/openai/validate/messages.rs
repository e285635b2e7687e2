//! What OpenAI refuses in a conversation: roles, parts and the order of tool results.

use serde_json::Value;

use crate::chat::facts::media_type;
use crate::chat::order::{self, Broken};
use crate::openai::error::Problem;
use crate::openai::models::Card;
use crate::openai::validate::{missing, unknown_parameter, wrong_type};

/// Fields of a message, by role.
fn fields(role: &str) -> Option<&'static [&'static str]> {
    Some(match role {
        "system" | "developer" | "user" => &["role", "content", "name"],
        "assistant" => &[
            "role",
            "content",
            "name",
            "refusal",
            "tool_calls",
            "audio",
            "function_call",
            "annotations",
        ],
        "tool" => &["role", "content", "tool_call_id"],
        "function" => &["role", "content", "name"],
        _ => return None,
    })
}

pub(super) fn check(body: &Value, card: &Card) -> Result<(), Problem> {
    let messages = match body.get("messages") {
        Some(Value::Array(messages)) => messages,
        None | Some(Value::Null) => return Err(missing("messages")),
        Some(other) => return Err(wrong_type("messages", "an array of objects", other)),
    };
    if messages.is_empty() {
        return Err(Problem::new(
            400,
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        )
        .param("messages")
        .code("empty_array"));
    }
    for (at, message) in messages.iter().enumerate() {
        one(at, message, card)?;
    }
    let breakpoints = crate::chat::count_key(body, "prompt_cache_breakpoint");
    if breakpoints > 4 {
        return Err(Problem::invalid(
            "messages",
            "A request can have at most 4 prompt cache breakpoints.",
        ));
    }
    ordered(messages)
}

fn one(at: usize, message: &Value, card: &Card) -> Result<(), Problem> {
    let path = format!("messages[{at}]");
    let Some(object) = message.as_object() else {
        return Err(wrong_type(&path, "an object", message));
    };
    let Some(role) = message.get("role").and_then(Value::as_str) else {
        return Err(missing(&format!("{path}.role")));
    };
    let Some(allowed) = fields(role) else {
        return Err(Problem::invalid(
            &format!("{path}.role"),
            &format!(
                "Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'."
            ),
        ));
    };
    if let Some(extra) = object.keys().find(|name| !allowed.contains(&name.as_str())) {
        return Err(unknown_parameter(&format!("{path}.{extra}")));
    }
    if role == "tool"
        && message
            .get("tool_call_id")
            .and_then(Value::as_str)
            .is_none()
    {
        return Err(missing(&format!("{path}.tool_call_id")));
    }
    content(&path, role, message, card)?;
    if role == "assistant" {
        calls(&path, message)?;
    }
    Ok(())
}

fn content(path: &str, role: &str, message: &Value, card: &Card) -> Result<(), Problem> {
    match message.get("content") {
        Some(Value::String(_)) => Ok(()),
        Some(Value::Array(parts)) => {
            if parts.is_empty() {
                return Err(Problem::invalid(
                    &format!("{path}.content"),
                    &format!("Invalid '{path}.content': empty array. Expected an array with minimum length 1."),
                )
                .code("empty_array"));
            }
            parts
                .iter()
                .enumerate()
                .try_for_each(|(at, item)| part(&format!("{path}.content[{at}]"), role, item, card))
        }
        None | Some(Value::Null) if role == "assistant" => {
            let says_something = ["tool_calls", "function_call", "refusal", "audio"]
                .iter()
                .any(|name| message.get(name).is_some_and(|value| !value.is_null()));
            if says_something {
                return Ok(());
            }
            Err(Problem::invalid(
                &format!("{path}.content"),
                &format!("Invalid value for 'content': expected a string, got null. ({path})"),
            ))
        }
        None | Some(Value::Null) => Err(Problem::invalid(
            &format!("{path}.content"),
            "Invalid value for 'content': expected a string, got null.",
        )),
        Some(other) => Err(wrong_type(
            &format!("{path}.content"),
            "a string or an array",
            other,
        )),
    }
}

fn part(path: &str, role: &str, part: &Value, card: &Card) -> Result<(), Problem> {
    let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
    let kinds: &[&str] = match role {
        "user" => &["text", "image_url", "input_audio", "file"],
        "assistant" => &["text", "refusal"],
        _ => &["text"],
    };
    if !kinds.contains(&kind) {
        return Err(Problem::invalid(
            &format!("{path}.type"),
            &format!(
                "Invalid value: '{kind}'. Supported values are: '{}'.",
                kinds.join("', '")
            ),
        ));
    }
    let allowed = ["type", kind, "prompt_cache_breakpoint"];
    let object = part.as_object().into_iter().flatten();
    if let Some((extra, _)) = object
        .into_iter()
        .find(|(name, _)| !allowed.contains(&name.as_str()))
    {
        return Err(unknown_parameter(&format!("{path}.{extra}")));
    }
    if part.get("prompt_cache_breakpoint").is_some() && !card.cache_writes {
        return Err(Problem::new(
            400,
            "Unsupported parameter: 'prompt_cache_breakpoint' is not supported with this model.",
        )
        .param(format!("{path}.prompt_cache_breakpoint"))
        .code("unsupported_parameter"));
    }
    match kind {
        "text" | "refusal" => match part.get(kind) {
            Some(Value::String(_)) => Ok(()),
            _ => Err(missing(&format!("{path}.{kind}"))),
        },
        "image_url" => image(path, part),
        _ => part
            .get(kind)
            .filter(|inner| inner.is_object())
            .map(|_| ())
            .ok_or_else(|| missing(&format!("{path}.{kind}"))),
    }
}

fn image(path: &str, part: &Value) -> Result<(), Problem> {
    let Some(url) = part.pointer("/image_url/url").and_then(Value::as_str) else {
        return Err(missing(&format!("{path}.image_url.url")));
    };
    let supported = ["image/png", "image/jpeg", "image/webp", "image/gif"];
    let known = url.starts_with("https://")
        || url.starts_with("http://")
        || (supported.contains(&media_type(url).as_str()) && url.contains(";base64,"));
    if known {
        return Ok(());
    }
    Err(Problem::new(
        400,
        "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
    )
    .code("invalid_image_format"))
}

fn calls(path: &str, message: &Value) -> Result<(), Problem> {
    let Some(calls) = message.get("tool_calls").filter(|calls| !calls.is_null()) else {
        return Ok(());
    };
    let Some(calls) = calls.as_array() else {
        return Err(wrong_type(
            &format!("{path}.tool_calls"),
            "an array of objects",
            calls,
        ));
    };
    if calls.is_empty() {
        return Err(Problem::invalid(
            &format!("{path}.tool_calls"),
            &format!("Invalid '{path}.tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead."),
        )
        .code("empty_array"));
    }
    for (at, call) in calls.iter().enumerate() {
        let path = format!("{path}.tool_calls[{at}]");
        let field = match call.get("type").and_then(Value::as_str) {
            Some("function") => "arguments",
            Some("custom") => "input",
            Some(_) => {
                return Err(Problem::invalid(
                    &format!("{path}.type"),
                    "Invalid value for a tool call's type.",
                ));
            }
            None => return Err(missing(&format!("{path}.type"))),
        };
        let kind = if field == "input" {
            "custom"
        } else {
            "function"
        };
        let allowed = ["id", "type", kind];
        let object = call.as_object().into_iter().flatten();
        if let Some((extra, _)) = object
            .into_iter()
            .find(|(name, _)| !allowed.contains(&name.as_str()))
        {
            return Err(unknown_parameter(&format!("{path}.{extra}")));
        }
        if call
            .get("id")
            .and_then(Value::as_str)
            .is_none_or(str::is_empty)
        {
            return Err(missing(&format!("{path}.id")));
        }
        for name in ["name", field] {
            let place = format!("{path}.{kind}.{name}");
            match call.get(kind).and_then(|inner| inner.get(name)) {
                Some(Value::String(_)) => {}
                Some(other) => return Err(wrong_type(&place, "a string", other)),
                None => return Err(missing(&place)),
            }
        }
    }
    Ok(())
}

/// The refusal of a broken order, in the service's words.
fn ordered(messages: &[Value]) -> Result<(), Problem> {
    let broken = match order::check(messages) {
        Ok(()) => return Ok(()),
        Err(broken) => broken,
    };
    Err(match broken {
        Broken::Unanswered { at, ids } => Problem::new(
            400,
            &format!(
                "An assistant message with 'tool_calls' must be followed by tool messages \
                 responding to each 'tool_call_id'. The following tool_call_ids did not have \
                 response messages: {}",
                ids.join(", "),
            ),
        )
        .param(format!("messages.[{at}].role")),
        Broken::Twice { at, id } => Problem::invalid(
            &format!("messages.[{at}].tool_call_id"),
            &format!("Duplicate tool message for tool_call_id '{id}'."),
        ),
        Broken::Orphan { at } => Problem::new(
            400,
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding \
             message with 'tool_calls'.",
        )
        .param(format!("messages.[{at}].role")),
    })
}
