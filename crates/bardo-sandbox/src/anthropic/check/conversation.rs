//! The order of messages: roles, tool results where they belong, prefill.

use std::collections::BTreeSet;

use serde_json::Value;

use super::fields::{self, Fields, array, object, required, string};
use super::{Subject, blocks};
use crate::anthropic::error::ApiError;
use crate::anthropic::turns::{Block, Role, Turn};

/// Checks the shape of `messages`, before they are merged into turns.
pub(super) fn shape(messages: &Value, subject: &Subject<'_>) -> Result<(), ApiError> {
    let messages = array("messages", messages)?;
    if messages.is_empty() {
        return Err(ApiError::at("messages", "at least one message is required"));
    }
    for (index, message) in messages.iter().enumerate() {
        let path = format!("messages.{index}");
        let fields = object(&path, message)?;
        let role = role(&path, fields)?;
        if role == Role::System {
            system_placement(messages, index, subject)?;
        }
        message_fields(&path, fields, role, subject)?;
        content(&path, fields, role, index + 1 == messages.len(), subject)?;
    }
    Ok(())
}

fn role(path: &str, fields: &Fields) -> Result<Role, ApiError> {
    let path_role = fields::join(path, "role");
    let role = string(&path_role, required(path, fields, "role")?)?;
    Role::parse(role)
        .ok_or_else(|| ApiError::at(path_role, "Input should be 'user', 'assistant' or 'system'"))
}

fn message_fields(
    path: &str,
    fields: &Fields,
    role: Role,
    subject: &Subject<'_>,
) -> Result<(), ApiError> {
    let mut known = vec!["role", "content"];
    if role == Role::System {
        known.push("output_config");
        if subject.access.has_beta("mid-conversation-system-clear-at-") {
            known.push("clear_at");
        }
    }
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(ApiError::at(
            fields::join(path, name),
            "Extra inputs are not permitted",
        )),
    }
}

fn content(
    path: &str,
    fields: &Fields,
    role: Role,
    last: bool,
    subject: &Subject<'_>,
) -> Result<(), ApiError> {
    if role == Role::System
        && fields.contains_key("output_config")
        && !fields.contains_key("content")
    {
        return Ok(());
    }
    let content = required(path, fields, "content")?;
    let empty = match content {
        Value::String(text) => text.is_empty(),
        Value::Array(blocks) => blocks.is_empty(),
        _ => {
            return Err(ApiError::at(
                fields::join(path, "content"),
                "Input should be a valid string or array",
            ));
        }
    };
    if empty && !(role == Role::Assistant && last) {
        return Err(ApiError::at(
            path,
            "all messages must have non-empty content except for the optional final assistant message",
        ));
    }
    for (index, block) in content.as_array().into_iter().flatten().enumerate() {
        let path = format!("{path}.content.{index}");
        blocks::check(&path, block, role, subject.access)?;
    }
    Ok(())
}

/// A `system` message stands after a user message (or after an assistant one that ends in server
/// tools), and either last or before an assistant message.
fn system_placement(
    messages: &[Value],
    index: usize,
    subject: &Subject<'_>,
) -> Result<(), ApiError> {
    let path = format!("messages.{index}.role");
    if !subject.model.system_role {
        return Err(ApiError::at(
            path,
            "role 'system' is not supported on this model",
        ));
    }
    let role_at = |at: usize| messages.get(at).and_then(|m| m["role"].as_str());
    let after = match index.checked_sub(1) {
        None => false,
        Some(before) => match role_at(before) {
            Some("user") => true,
            Some("assistant") => ends_in_server_tool(&messages[before]["content"]),
            _ => false,
        },
    };
    let before = matches!(role_at(index + 1), None | Some("assistant"));
    if after && before {
        Ok(())
    } else {
        Err(ApiError::at(
            path,
            "a 'system' message must follow a 'user' message (or an 'assistant' message ending \
             in a server tool use) and must be the last message or be followed by an 'assistant' \
             message",
        ))
    }
}

fn ends_in_server_tool(content: &Value) -> bool {
    let last = content.as_array().and_then(|blocks| blocks.last());
    last.and_then(|block| block["type"].as_str())
        .is_some_and(|kind| {
            kind == "server_tool_use" || (kind != "tool_result" && kind.ends_with("_tool_result"))
        })
}

/// Checks what only the merged turns show: tool results and prefill.
pub(super) fn order(turns: &[Turn], subject: &Subject<'_>) -> Result<(), ApiError> {
    unique_ids(turns)?;
    for (index, turn) in turns.iter().enumerate() {
        match turn.role {
            Role::Assistant => answered(turn, turns.get(index + 1))?,
            Role::User => expected(turn, index.checked_sub(1).map(|before| &turns[before]))?,
            Role::System => {}
        }
    }
    prefill(turns, subject)
}

fn unique_ids(turns: &[Turn]) -> Result<(), ApiError> {
    let mut seen = BTreeSet::new();
    let blocks = turns.iter().flat_map(|turn| &turn.blocks);
    match blocks
        .filter(|block| block.kind() == "tool_use")
        .find(|block| !seen.insert(block.text("id")))
    {
        None => Ok(()),
        Some(_) => Err(ApiError::at("messages", "`tool_use` ids must be unique")),
    }
}

fn tool_ids<'a>(turn: &'a Turn, kind: &'a str, field: &'a str) -> impl Iterator<Item = &'a str> {
    turn.blocks
        .iter()
        .filter(move |block| block.kind() == kind)
        .map(move |block| block.text(field))
}

/// Every call of an assistant turn is answered first thing in the next user turn.
fn answered(turn: &Turn, next: Option<&Turn>) -> Result<(), ApiError> {
    let calls: Vec<&Block> = turn
        .blocks
        .iter()
        .filter(|block| block.kind() == "tool_use")
        .collect();
    let Some(last_call) = calls.last() else {
        return Ok(());
    };
    let next = next.filter(|turn| turn.role == Role::User);
    let answers: BTreeSet<&str> = next
        .map(|next| tool_ids(next, "tool_result", "tool_use_id").collect())
        .unwrap_or_default();
    let open: Vec<&str> = calls
        .iter()
        .map(|call| call.text("id"))
        .filter(|id| !answers.contains(id))
        .collect();
    if !open.is_empty() {
        return Err(ApiError::at(
            format!("messages.{}", last_call.message),
            format!(
                "`tool_use` ids were found without `tool_result` blocks immediately after: {}. \
                 Each `tool_use` block must have a corresponding `tool_result` block in the next \
                 message.",
                open.join(", ")
            ),
        ));
    }
    let late = next.and_then(|next| {
        let first_other = next.blocks.iter().position(|b| b.kind() != "tool_result")?;
        next.blocks[first_other..]
            .iter()
            .find(|block| block.kind() == "tool_result")
    });
    match late {
        None => Ok(()),
        Some(block) => Err(ApiError::at(
            block.path(),
            "`tool_result` blocks must come before any other content in the message that answers \
             `tool_use` blocks",
        )),
    }
}

/// Every result answers a call of the turn right before, once.
fn expected(turn: &Turn, before: Option<&Turn>) -> Result<(), ApiError> {
    let calls: BTreeSet<&str> = before
        .filter(|before| before.role == Role::Assistant)
        .map(|before| tool_ids(before, "tool_use", "id").collect())
        .unwrap_or_default();
    let mut seen = BTreeSet::new();
    for block in turn.blocks.iter().filter(|b| b.kind() == "tool_result") {
        let id = block.text("tool_use_id");
        if !calls.contains(id) {
            return Err(ApiError::at(
                block.path(),
                format!(
                    "unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
                     `tool_result` block must have a corresponding `tool_use` block in the \
                     previous message."
                ),
            ));
        }
        if !seen.insert(id) {
            return Err(ApiError::at(
                block.path(),
                format!(
                    "each tool_use must have a single result. Found multiple `tool_result` blocks \
                     with id: {id}"
                ),
            ));
        }
    }
    Ok(())
}

/// A conversation that ends with the assistant asks it to go on from there. Newer models refuse,
/// except to resume a turn that ended in server tools.
fn prefill(turns: &[Turn], subject: &Subject<'_>) -> Result<(), ApiError> {
    let Some(last) = turns.last().filter(|turn| turn.role == Role::Assistant) else {
        return Ok(());
    };
    let resumes = last
        .blocks
        .iter()
        .any(|block| block.kind() == "server_tool_use" || block.kind().ends_with("_tool_result"));
    if !subject.model.prefill && !resumes {
        return Err(ApiError::invalid(
            "This model does not support assistant message prefill. The conversation must end \
             with a user message.",
        ));
    }
    let ends_blank = last.blocks.last().is_some_and(|block| {
        block.kind() == "text" && block.text("text").ends_with(char::is_whitespace)
    });
    if ends_blank {
        return Err(ApiError::at(
            "messages",
            "final assistant content cannot end with trailing whitespace",
        ));
    }
    Ok(())
}
