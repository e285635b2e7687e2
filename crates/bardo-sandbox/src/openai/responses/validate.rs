//! What the Responses endpoint refuses.

use serde_json::Value;

use crate::openai::error::Problem;
use crate::openai::responses::Card;
use crate::openai::responses::input::{self, kind, not_found};
use crate::openai::validate::{
    given, missing, only_with_tools, schema_format, tool_function, unknown_parameter, wrong_type,
};
use crate::world::World;

const FIELDS: &[&str] = &[
    "model",
    "input",
    "instructions",
    "previous_response_id",
    "conversation",
    "store",
    "background",
    "stream",
    "stream_options",
    "max_output_tokens",
    "max_tool_calls",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "reasoning",
    "text",
    "include",
    "truncation",
    "context_management",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "service_tier",
    "safety_identifier",
    "metadata",
    "moderation",
    "temperature",
    "top_p",
    "top_logprobs",
    "user",
    "client_metadata",
];

const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];

const TOOLS: &[&str] = &[
    "function",
    "custom",
    "web_search",
    "web_search_preview",
    "file_search",
    "code_interpreter",
    "image_generation",
    "mcp",
    "computer",
    "computer_use_preview",
    "shell",
    "local_shell",
    "apply_patch",
    "tool_search",
    "namespace",
];

/// Checks everything but the conversation.
pub(super) fn fields(body: &Value, card: &Card, stateful: bool) -> Result<(), Problem> {
    let names = body.as_object().into_iter().flatten().map(|(name, _)| name);
    if let Some(name) = names
        .into_iter()
        .find(|name| !FIELDS.contains(&name.as_str()))
    {
        return Err(unknown_parameter(name));
    }
    if !stateful {
        stateless(body)?;
    }
    match given(body, "input") {
        Some(Value::String(_) | Value::Array(_)) => {}
        Some(other) => return Err(wrong_type("input", "a string or an array", other)),
        None if given(body, "prompt").is_some() => {}
        None => return Err(missing("input")),
    }
    if let Some(limit) =
        given(body, "max_output_tokens").filter(|limit| limit.as_u64().unwrap_or(0) == 0)
    {
        return Err(Problem::invalid(
            "max_output_tokens",
            &format!("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 1, but got {limit} instead."),
        )
        .code("integer_below_min_value"));
    }
    reasoning(body, card)?;
    tool_list(listed(body), "tools")?;
    text(body)
}

fn stateless(body: &Value) -> Result<(), Problem> {
    let asks_state = |name: &str| match name {
        "store" => body.get("store") == Some(&Value::Bool(true)),
        name => given(body, name).is_some(),
    };
    let names = ["store", "previous_response_id", "conversation"];
    match names.into_iter().find(|name| asks_state(name)) {
        Some(name) => Err(Problem::new(
            400,
            &format!("'{name}' is not supported: this endpoint is stateless."),
        )
        .param(name)
        .code("unsupported_parameter")),
        None => Ok(()),
    }
}

fn reasoning(body: &Value, card: &Card) -> Result<(), Problem> {
    let unsupported = |name: &str| {
        Problem::new(
            400,
            &format!("Unsupported parameter: '{name}' is not supported with this model."),
        )
        .param(name)
        .code("unsupported_parameter")
    };
    if card.reasoning {
        if let Some(name) = ["temperature", "top_p"]
            .into_iter()
            .find(|name| given(body, name).is_some_and(|value| value.as_f64() != Some(1.0)))
        {
            return Err(unsupported(name));
        }
    } else {
        if body
            .pointer("/reasoning/effort")
            .is_some_and(|effort| !effort.is_null())
        {
            return Err(unsupported("reasoning.effort"));
        }
        let includes = body.get("include").and_then(Value::as_array);
        if includes.is_some_and(|names| {
            names
                .iter()
                .any(|name| name == "reasoning.encrypted_content")
        }) {
            return Err(
                Problem::new(400, "Encrypted content is not supported with this model.")
                    .param("include"),
            );
        }
    }
    for (path, name, allowed) in [
        ("/reasoning/effort", "reasoning.effort", EFFORTS),
        (
            "/reasoning/summary",
            "reasoning.summary",
            &["auto", "concise", "detailed"][..],
        ),
        (
            "/text/verbosity",
            "text.verbosity",
            &["low", "medium", "high"],
        ),
        ("/truncation", "truncation", &["auto", "disabled"]),
    ] {
        let Some(value) = body.pointer(path).filter(|value| !value.is_null()) else {
            continue;
        };
        if !value.as_str().is_some_and(|word| allowed.contains(&word)) {
            return Err(Problem::invalid(
                name,
                &format!(
                    "Invalid value: {value}. Supported values are: '{}'.",
                    allowed.join("', '")
                ),
            ));
        }
    }
    Ok(())
}

/// Checks a list of tools; namespaces hold functions and custom tools of their own.
fn tool_list(listed: &[Value], path: &str) -> Result<(), Problem> {
    for (at, tool) in listed.iter().enumerate() {
        let path = format!("{path}[{at}]");
        let Some(kind) = tool.get("type").and_then(Value::as_str) else {
            return Err(missing(&format!("{path}.type")));
        };
        if !TOOLS.contains(&kind) {
            return Err(Problem::invalid(
                &format!("{path}.type"),
                &format!(
                    "Invalid value: '{kind}'. Supported values are: '{}'.",
                    TOOLS.join("', '")
                ),
            ));
        }
        match kind {
            "function" | "custom" => {
                tool_function(tool, &path)?;
            }
            "namespace" => {
                texts(tool, &["name"], &path)?;
                let Some(inner) = tool.get("tools").and_then(Value::as_array) else {
                    return Err(missing(&format!("{path}.tools")));
                };
                tool_list(inner, &format!("{path}.tools"))?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn listed(holder: &Value) -> &[Value] {
    given(holder, "tools")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice)
}

/// Checks the choice of a tool against the tools that there are.
pub(super) fn tool_choice(body: &Value, context: &[Value]) -> Result<(), Problem> {
    let mut names = input::callable(body, context).map(|(tool, _)| tool["name"].as_str());
    let choice = given(body, "tool_choice");
    match choice {
        Some(Value::String(word))
            if word == "required" && listed(body).is_empty() && names.next().is_none() =>
        {
            Err(only_with_tools("tool_choice"))
        }
        Some(Value::Object(fields)) => match fields.get("name").and_then(Value::as_str) {
            Some(name) if !names.any(|known| known == Some(name)) => Err(Problem::new(
                400,
                &format!("Tool choice 'function' not found in 'tools' parameter: '{name}'."),
            )
            .param("tool_choice")),
            None if fields.contains_key("function") => Err(missing("tool_choice.name")),
            _ => Ok(()),
        },
        Some(Value::String(word)) if !matches!(word.as_str(), "auto" | "none" | "required") => Err(
            Problem::invalid("tool_choice", &format!("Invalid value: '{word}'.")),
        ),
        _ => Ok(()),
    }
}

fn text(body: &Value) -> Result<(), Problem> {
    let Some(format) = body
        .pointer("/text/format")
        .filter(|format| !format.is_null())
    else {
        return Ok(());
    };
    match kind(format) {
        "text" => Ok(()),
        "json_object" if body["input"].to_string().to_lowercase().contains("json") => Ok(()),
        "json_object" => Err(Problem::new(
            400,
            "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.",
        )
        .param("input")),
        "json_schema" => schema_format(format, "text.format"),
        other => Err(Problem::invalid("text.format.type", &format!("Invalid value: '{other}'."))),
    }
}

/// Checks the conversation: parts, ids, seals and the pairing of calls and outputs.
pub(super) fn context(items: &[Value], world: &World) -> Result<(), Problem> {
    for (at, item) in items.iter().enumerate() {
        let path = format!("input[{at}]");
        if !item.is_object() {
            return Err(wrong_type(&path, "an object", item));
        }
        match kind(item) {
            "message" => message(item, &path)?,
            "function_call" => {
                id_prefix(item, "fc", &path)?;
                texts(item, &["call_id", "name", "arguments"], &path)?;
            }
            "custom_tool_call" => {
                id_prefix(item, "ctc", &path)?;
                texts(item, &["call_id", "name", "input"], &path)?;
            }
            "function_call_output" | "custom_tool_call_output" => {
                texts(item, &["call_id"], &path)?;
                match item.get("output") {
                    Some(Value::String(_) | Value::Array(_)) => {}
                    Some(other) => {
                        return Err(wrong_type(
                            &format!("{path}.output"),
                            "a string or an array",
                            other,
                        ));
                    }
                    None => return Err(missing(&format!("{path}.output"))),
                }
            }
            "reasoning" => reasoning_item(items, at, world)?,
            "additional_tools" => {
                id_prefix(item, "at", &path)?;
                if item.get("role").and_then(Value::as_str) != Some("developer") {
                    return Err(Problem::invalid(
                        &format!("{path}.role"),
                        "Invalid value. Supported values are: 'developer'.",
                    ));
                }
                tool_list(listed(item), &format!("{path}.tools"))?;
            }
            "item_reference"
            | "compaction"
            | "web_search_call"
            | "file_search_call"
            | "code_interpreter_call"
            | "image_generation_call"
            | "local_shell_call"
            | "local_shell_call_output"
            | "shell_call"
            | "shell_call_output"
            | "mcp_call"
            | "mcp_list_tools"
            | "mcp_approval_request"
            | "mcp_approval_response"
            | "computer_call"
            | "computer_call_output"
            | "apply_patch_call"
            | "apply_patch_call_output"
            | "tool_search_call"
            | "tool_search_output" => {}
            other => {
                return Err(Problem::invalid(
                    &format!("{path}.type"),
                    &format!("Invalid value: '{other}'. It is not an item type."),
                ));
            }
        }
    }
    reasons(items, world)?;
    pairs(items)
}

fn message(item: &Value, path: &str) -> Result<(), Problem> {
    let role = item.get("role").and_then(Value::as_str).unwrap_or_default();
    let kinds: &[&str] = match role {
        "user" | "system" | "developer" => {
            &["input_text", "input_image", "input_file", "input_audio"]
        }
        "assistant" => &["output_text", "refusal"],
        other => {
            return Err(Problem::invalid(
                &format!("{path}.role"),
                &format!(
                    "Invalid value: '{other}'. Supported values are: 'assistant', 'system', 'developer', and 'user'."
                ),
            ));
        }
    };
    id_prefix(item, "msg", path)?;
    match item.get("content") {
        Some(Value::String(_)) => Ok(()),
        Some(Value::Array(parts)) => {
            for (at, part) in parts.iter().enumerate() {
                let found = part.get("type").and_then(Value::as_str).unwrap_or_default();
                if !kinds.contains(&found) {
                    return Err(Problem::invalid(
                        &format!("{path}.content[{at}].type"),
                        &format!(
                            "Invalid value: '{found}'. Supported values are: '{}'.",
                            kinds.join("', '")
                        ),
                    ));
                }
            }
            Ok(())
        }
        Some(other) => Err(wrong_type(
            &format!("{path}.content"),
            "a string or an array",
            other,
        )),
        None => Err(missing(&format!("{path}.content"))),
    }
}

fn texts(item: &Value, names: &[&str], path: &str) -> Result<(), Problem> {
    for name in names {
        match item.get(*name) {
            Some(Value::String(_)) => {}
            Some(other) => return Err(wrong_type(&format!("{path}.{name}"), "a string", other)),
            None => return Err(missing(&format!("{path}.{name}"))),
        }
    }
    Ok(())
}

fn id_prefix(item: &Value, prefix: &str, path: &str) -> Result<(), Problem> {
    match item.get("id").and_then(Value::as_str) {
        Some(id) if !id.starts_with(prefix) => Err(Problem::invalid(
            &format!("{path}.id"),
            &format!("Invalid '{path}.id': '{id}'. Expected an ID that begins with '{prefix}'."),
        )),
        _ => Ok(()),
    }
}

fn reasoning_item(items: &[Value], at: usize, world: &World) -> Result<(), Problem> {
    let item = &items[at];
    let path = format!("input[{at}]");
    id_prefix(item, "rs", &path)?;
    if !item.get("summary").is_some_and(Value::is_array) {
        return Err(missing(&format!("{path}.summary")));
    }
    let id = item.get("id").and_then(Value::as_str).unwrap_or_default();
    match item.get("encrypted_content").and_then(Value::as_str) {
        Some(sealed) if world.seals.open("reasoning", &[], sealed).is_none() => {
            return Err(Problem::new(
                400,
                &format!(
                    "The encrypted content for item {id} could not be verified. Reason: \
                     Encrypted content could not be decrypted or parsed."
                ),
            )
            .code("invalid_encrypted_content"));
        }
        Some(_) => {}
        None if world.shelf.get(&format!("item:{id}")).is_none() => return Err(not_found(id)),
        None => {}
    }
    let follows = items.get(at + 1).is_some_and(|next| {
        matches!(
            kind(next),
            "reasoning"
                | "function_call"
                | "custom_tool_call"
                | "web_search_call"
                | "tool_search_call"
        ) || next.get("role").and_then(Value::as_str) == Some("assistant")
    });
    if follows {
        return Ok(());
    }
    Err(Problem::new(
        400,
        &format!(
            "Item '{id}' of type 'reasoning' was provided without its required following item."
        ),
    )
    .param("input"))
}

/// A call that was reasoned about needs its reasoning item back.
fn reasons(items: &[Value], world: &World) -> Result<(), Problem> {
    for item in items {
        let Some(id) = item.get("id").and_then(Value::as_str) else {
            continue;
        };
        let Some(reason) = world.shelf.get(&format!("reason:{id}")) else {
            continue;
        };
        // Sealed content stands for the item where a client drops ids.
        let is_nameless = |held: &Value| {
            kind(held) == "reasoning"
                && held.get("id").is_none()
                && held.get("encrypted_content").is_some()
        };
        let is_there = |held: &Value| held.get("id") == Some(&reason) || is_nameless(held);
        if items.iter().any(is_there) {
            continue;
        }
        let kind = kind(item);
        let reason = reason.as_str().unwrap_or_default();
        return Err(Problem::new(
            400,
            &format!("Item '{id}' of type '{kind}' was provided without its required 'reasoning' item: '{reason}'."),
        )
        .param("input"));
    }
    Ok(())
}

fn pairs(items: &[Value]) -> Result<(), Problem> {
    let ids = |wanted: [&'static str; 2]| {
        items
            .iter()
            .filter(move |item| wanted.contains(&kind(item)))
            .filter_map(|item| item["call_id"].as_str())
    };
    let calls: Vec<&str> = ids(["function_call", "custom_tool_call"]).collect();
    let outputs: Vec<&str> = ids(["function_call_output", "custom_tool_call_output"]).collect();
    if let Some(orphan) = outputs.iter().find(|id| !calls.contains(id)) {
        return Err(Problem::new(
            400,
            &format!("No tool call found for function call output with call_id {orphan}."),
        )
        .param("input"));
    }
    match calls.iter().find(|id| !outputs.contains(id)) {
        Some(open) => Err(Problem::new(
            400,
            &format!("No tool output found for function call {open}."),
        )
        .param("input")),
        None => Ok(()),
    }
}
