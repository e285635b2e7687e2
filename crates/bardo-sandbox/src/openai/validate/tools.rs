//! What OpenAI refuses about tools.

use serde_json::Value;

use crate::openai::error::Problem;
use crate::openai::strict;
use crate::openai::validate::{given, is_name, missing, unknown_parameter};

pub(super) fn check(body: &Value) -> Result<(), Problem> {
    let Some(tools) = given(body, "tools") else {
        for name in ["tool_choice", "parallel_tool_calls"] {
            let without_functions = given(body, "functions").is_none();
            if given(body, name).is_some() && without_functions {
                return Err(only_with_tools(name));
            }
        }
        return Ok(());
    };
    let tools = tools.as_array().map_or(&[][..], Vec::as_slice);
    if tools.is_empty() {
        return Err(Problem::new(
            400,
            "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        )
        .param("tools")
        .code("empty_array"));
    }
    if tools.len() > 128 {
        return Err(Problem::invalid(
            "tools",
            "Invalid 'tools': array too long. Expected an array with maximum length 128.",
        )
        .code("array_above_max_length"));
    }
    let mut names = Vec::new();
    for (at, tool) in tools.iter().enumerate() {
        names.push(one(at, tool)?);
    }
    let mut sorted = names.clone();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Problem::invalid(
            "tools",
            &format!("Tool names must be unique: '{}'.", twice[0]),
        ));
    }
    choice(body, &names)
}

/// The refusal of a field that makes sense only next to `tools`.
pub(in crate::openai) fn only_with_tools(name: &str) -> Problem {
    Problem::new(
        400,
        &format!(
            "Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified."
        ),
    )
    .param(name)
}

fn one(at: usize, tool: &Value) -> Result<&str, Problem> {
    let path = format!("tools[{at}]");
    let kind = match tool.get("type").and_then(Value::as_str) {
        Some(kind @ ("function" | "custom")) => kind,
        Some(other) => {
            return Err(Problem::invalid(
                &format!("{path}.type"),
                &format!(
                    "Invalid value: '{other}'. Supported values are: 'function' and 'custom'."
                ),
            ));
        }
        None => return Err(missing(&format!("{path}.type"))),
    };
    if let Some(extra) = extra(tool, &["type", kind]) {
        return Err(unknown_parameter(&format!("{path}.{extra}")));
    }
    let Some(inner) = tool.get(kind).filter(|inner| inner.is_object()) else {
        return Err(missing(&format!("{path}.{kind}")));
    };
    let allowed: &[&str] = if kind == "function" {
        &["name", "description", "parameters", "strict"]
    } else {
        &["name", "description", "format"]
    };
    if let Some(extra) = extra(inner, allowed) {
        return Err(unknown_parameter(&format!("{path}.{kind}.{extra}")));
    }
    function(inner, &format!("{path}.{kind}"))
}

fn extra<'a>(object: &'a Value, allowed: &[&str]) -> Option<&'a str> {
    let mut names = object.as_object()?.keys();
    names
        .find(|name| !allowed.contains(&name.as_str()))
        .map(String::as_str)
}

/// Checks `{name, parameters, strict}` wherever it sits, and answers the name.
pub(in crate::openai) fn function<'a>(inner: &'a Value, path: &str) -> Result<&'a str, Problem> {
    let Some(name) = inner.get("name").and_then(Value::as_str) else {
        return Err(missing(&format!("{path}.name")));
    };
    if !is_name(name) {
        return Err(Problem::invalid(
            &format!("{path}.name"),
            &format!(
                "Invalid '{path}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
            ),
        ));
    }
    let Some(parameters) = inner.get("parameters").filter(|schema| !schema.is_null()) else {
        return Ok(name);
    };
    let invalid = |reason: &str| {
        Problem::new(
            400,
            &format!("Invalid schema for function '{name}': {reason}"),
        )
        .param(format!("{path}.parameters"))
        .code("invalid_function_parameters")
    };
    let kind = parameters.get("type").and_then(Value::as_str);
    let empty = parameters
        .as_object()
        .is_some_and(serde_json::Map::is_empty);
    if kind != Some("object") && !empty {
        let got = kind.unwrap_or("None");
        return Err(invalid(&format!(
            "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{got}\"'."
        )));
    }
    if kind == Some("object")
        && parameters.get("properties").is_none()
        && parameters.get("additionalProperties").is_none()
    {
        return Err(invalid("In context=(), object schema missing properties."));
    }
    if inner.get("strict") == Some(&Value::Bool(true))
        && let Err(reason) = strict::check(parameters)
    {
        return Err(invalid(&reason));
    }
    Ok(name)
}

fn choice(body: &Value, names: &[&str]) -> Result<(), Problem> {
    let Some(choice) = given(body, "tool_choice") else {
        return Ok(());
    };
    let unknown = |name: &str| {
        Problem::new(
            400,
            &format!("Invalid value for 'tool_choice': tool choice '{name}' not found in 'tools'."),
        )
        .param("tool_choice")
    };
    match choice {
        Value::String(word) if matches!(word.as_str(), "none" | "auto" | "required") => Ok(()),
        Value::Object(fields) => {
            let kind = fields
                .get("type")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let named = match kind {
                "function" | "custom" => choice
                    .pointer(&format!("/{kind}/name"))
                    .and_then(Value::as_str),
                "allowed_tools" if choice.pointer("/allowed_tools/tools").is_some() => {
                    return Ok(());
                }
                _ => {
                    return Err(Problem::invalid(
                        "tool_choice.type",
                        &format!("Invalid value: '{kind}'."),
                    ));
                }
            };
            match named {
                Some(name) if names.contains(&name) => Ok(()),
                Some(name) => Err(unknown(name)),
                None => Err(missing(&format!("tool_choice.{kind}.name"))),
            }
        }
        other => Err(Problem::invalid(
            "tool_choice",
            &format!(
                "Invalid value: {other}. Supported values are: 'none', 'auto', and 'required'."
            ),
        )),
    }
}
