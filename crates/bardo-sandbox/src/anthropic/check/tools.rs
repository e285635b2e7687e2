//! Tool definitions and the choice among them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::fields::{self, Fields, array, boolean, join, object, present, required, string};
use super::{Subject, json_schema};
use crate::anthropic::error::ApiError;
use crate::anthropic::rules::rules;

/// Checks the member `tools`.
pub(super) fn check(body: &Fields, subject: &Subject<'_>) -> Result<(), ApiError> {
    let Some(tools) = present(body, "tools") else {
        return Ok(());
    };
    let mut names = BTreeSet::new();
    for (index, tool) in array("tools", tools)?.iter().enumerate() {
        let path = format!("tools.{index}");
        let fields = object(&path, tool)?;
        match fields.get("type").and_then(Value::as_str) {
            None | Some("custom") => custom(&format!("{path}.custom"), fields)?,
            Some(kind) => built_in(&path, kind, fields, subject)?,
        }
        let name = fields.get("name").and_then(Value::as_str);
        if name.is_some_and(|name| !names.insert(name.to_owned())) {
            return Err(ApiError::at("tools", "Tool names must be unique."));
        }
    }
    Ok(())
}

fn custom(path: &str, fields: &Fields) -> Result<(), ApiError> {
    let known = [
        "name",
        "description",
        "input_schema",
        "strict",
        "cache_control",
        "defer_loading",
        "eager_input_streaming",
        "input_examples",
        "allowed_callers",
    ];
    fields::only(path, fields, known)?;
    name(&join(path, "name"), required(path, fields, "name")?)?;
    if let Some(description) = fields.get("description") {
        string(&join(path, "description"), description)?;
    }
    for flag in ["strict", "defer_loading", "eager_input_streaming"] {
        if let Some(value) = present(fields, flag) {
            boolean(&join(path, flag), value)?;
        }
    }
    let schema = required(path, fields, "input_schema")?;
    input_schema(&join(path, "input_schema"), schema)?;
    if present(fields, "strict") == Some(&Value::Bool(true)) {
        json_schema::supported(schema).map_err(|reason| ApiError::at(path, reason))?;
    }
    Ok(())
}

fn input_schema(path: &str, schema: &Value) -> Result<(), ApiError> {
    let fields = object(path, schema)?;
    let kind = required(path, fields, "type")?;
    if kind != "object" {
        return Err(ApiError::at(join(path, "type"), "Input should be 'object'"));
    }
    if !json_schema::is_draft_2020_12(schema) {
        return Err(ApiError::at(
            path,
            "JSON schema is invalid. It must match JSON Schema draft 2020-12 \
             (https://json-schema.org/draft/2020-12). Learn more about tool use at \
             https://docs.claude.com/en/docs/tool-use.",
        ));
    }
    if ["oneOf", "allOf", "anyOf"]
        .iter()
        .any(|name| fields.contains_key(*name))
    {
        return Err(ApiError::at(
            path,
            "input_schema does not support oneOf, allOf, or anyOf at the top level",
        ));
    }
    Ok(())
}

fn built_in(
    path: &str,
    kind: &str,
    fields: &Fields,
    subject: &Subject<'_>,
) -> Result<(), ApiError> {
    let rule = rules().tools.get(kind).filter(|rule| {
        rule.beta
            .as_ref()
            .is_none_or(|beta| subject.access.has_beta(beta))
    });
    let Some(rule) = rule else {
        let expected: Vec<&str> = rules()
            .tools
            .iter()
            .filter(|(_, rule)| rule.beta.is_none())
            .map(|(name, _)| name.as_str())
            .collect();
        return Err(ApiError::at(
            path,
            format!(
                "Input tag '{kind}' found using 'type' does not match any of the expected tags: \
                 'custom', {}",
                fields::listed(&expected).replace(" or ", ", ")
            ),
        ));
    };
    let path = join(path, kind);
    fields::only(&path, fields, rule.optional.iter().map(String::as_str))?;
    match &rule.name {
        Some(expected) if required(&path, fields, "name")? != expected.as_str() => Err(
            ApiError::at(join(&path, "name"), format!("Input should be '{expected}'")),
        ),
        _ if fields.contains_key("allowed_domains") && fields.contains_key("blocked_domains") => {
            Err(ApiError::at(
                path,
                "Only one of `allowed_domains` and `blocked_domains` may be set",
            ))
        }
        _ => Ok(()),
    }
}

/// A tool name is 1 to 128 letters, digits, underscores and dashes.
pub(super) fn name(path: &str, value: &Value) -> Result<(), ApiError> {
    let name = string(path, value)?;
    let legal = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if (1..=128).contains(&name.len()) && name.bytes().all(legal) {
        Ok(())
    } else {
        Err(ApiError::at(
            path,
            "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
        ))
    }
}

/// Checks `tool_choice`, given whether thinking is on.
pub(super) fn choice(body: &Fields, subject: &Subject<'_>) -> Result<(), ApiError> {
    let Some(choice) = present(body, "tool_choice") else {
        return Ok(());
    };
    let fields = object("tool_choice", choice)?;
    let kind = fields::tag("tool_choice", fields)?;
    let path = format!("tool_choice.{kind}");
    let known: &[&str] = match kind {
        "auto" | "any" => &["disable_parallel_tool_use"],
        "tool" => &["name", "disable_parallel_tool_use"],
        "none" => &[],
        _ => {
            return Err(ApiError::at(
                "tool_choice",
                format!(
                    "Input tag '{kind}' found using 'type' does not match any of the expected \
                     tags: 'auto', 'any', 'tool', 'none'"
                ),
            ));
        }
    };
    fields::only(&path, fields, known.iter().copied())?;
    if let Some(flag) = present(fields, "disable_parallel_tool_use") {
        boolean(&join(&path, "disable_parallel_tool_use"), flag)?;
    }
    let tools = present(body, "tools").and_then(Value::as_array);
    let has_servers = present(body, "mcp_servers").is_some();
    if tools.is_none_or(Vec::is_empty) && !has_servers {
        return Err(ApiError::invalid(
            "tool_choice: `tool_choice` may only be specified while providing `tools`.",
        ));
    }
    match kind {
        "tool" => {
            let wanted = required(&path, fields, "name")?;
            let wanted = string(&join(&path, "name"), wanted)?;
            let known = tools
                .into_iter()
                .flatten()
                .any(|tool| tool["name"] == wanted);
            if !known {
                return Err(ApiError::invalid(format!(
                    "Tool '{wanted}' not found in provided tools"
                )));
            }
            forced(subject)
        }
        "any" => forced(subject),
        _ => Ok(()),
    }
}

fn forced(subject: &Subject<'_>) -> Result<(), ApiError> {
    if !subject.model.forced_tool_choice {
        return Err(ApiError::invalid(
            "tool_choice: forced tool use (`any` or `tool`) is not supported on this model. Use \
             `auto`, or `output_config.format` for structured output.",
        ));
    }
    Ok(())
}
