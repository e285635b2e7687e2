//! Tools, their names, and which of them must be called.

use std::borrow::Cow;
use std::collections::HashSet;

use bardo_types::Losses;
use bardo_types::chat::{ChatRequest, Tool, ToolChoice};
use bardo_types::json::RawJson;
use bardo_types::model::{Capabilities, Dialect};
use serde_json::value::RawValue;

use crate::gemini::shapes::request::{CallingConfig, Declaration, ToolConfig, ToolSet};
use crate::kit::custom_tools::has_grammar;
use crate::kit::namespaces;
use crate::kit::tool_names::ToolNames;

pub(super) fn encode<'a>(
    request: &'a ChatRequest,
    capabilities: &Capabilities,
    names: &'a ToolNames,
    notes: &mut Vec<String>,
    losses: &mut Losses,
) -> (Vec<ToolSet<'a>>, Option<ToolConfig<'a>>) {
    let choice = request.tool_choice.as_ref();
    let allowed: Option<HashSet<&str>> = match choice {
        Some(ToolChoice::Allowed {
            required: false,
            names,
        }) => Some(names.iter().map(String::as_str).collect()),
        _ => None,
    };
    let mut declarations = Vec::new();
    let mut strict = false;
    for tool in &request.tools {
        if let Tool::Function {
            strict: Some(true), ..
        } = tool
        {
            strict = true;
        }
        if is_left_out(tool, allowed.as_ref()) {
            continue;
        }
        declarations.extend(declaration(tool, names, losses));
    }
    let mut sets = Vec::new();
    let config = if declarations.is_empty() {
        None
    } else {
        if request.parallel_tool_calls == Some(false) {
            losses.lose(
                "parallel_tool_calls",
                "Gemini may call several tools at once",
            );
        }
        sets.push(ToolSet::FunctionDeclarations(declarations));
        calling(choice, strict, capabilities, names, notes, losses)
    };
    let has_functions = !sets.is_empty();
    for tool in &request.tools {
        if let Tool::Server {
            dialect, kind, raw, ..
        } = tool
        {
            server_tool(*dialect, kind, raw, has_functions, &mut sets, losses);
        }
    }
    for (name, raw) in &request.extra {
        if is_web_search_member(name) && !raw.is_null() {
            server_tool(
                request.dialect,
                "web_search",
                raw,
                has_functions,
                &mut sets,
                losses,
            );
        }
    }
    (sets, config)
}

/// Whether an "any of these, or none" choice excludes the tool. Gemini restricts names only where
/// a call is forced, so the others are not declared.
fn is_left_out(tool: &Tool, allowed: Option<&HashSet<&str>>) -> bool {
    match (allowed, tool.name()) {
        (Some(allowed), Some(name)) => !allowed.contains(name),
        _ => false,
    }
}

fn declaration<'a>(
    tool: &'a Tool,
    names: &'a ToolNames,
    losses: &mut Losses,
) -> Option<Declaration<'a>> {
    match tool {
        Tool::Function {
            name,
            description,
            schema,
            cache,
            extra,
            ..
        } => {
            if cache.is_some() {
                losses.lose(
                    "cache_control",
                    "Gemini caches prompts by itself; cache marks are not sent",
                );
            }
            for (member, value) in extra {
                if !matches!(value.as_str(), "null" | "false")
                    && !namespaces::is_head(member, value)
                {
                    losses.lose_field(
                        member,
                        "Gemini's tools do not have this member; it was removed",
                    );
                }
            }
            Some(Declaration {
                name: names.sent(name),
                description: description.as_deref(),
                parameters_json_schema: schema.as_ref().map(Cow::Borrowed),
            })
        }
        Tool::Custom {
            name,
            description,
            format,
        } => {
            if format.as_ref().is_some_and(has_grammar) {
                losses.lose(
                    "custom_tool_format",
                    "Gemini does not enforce the grammar of a tool's input",
                );
            }
            let schema = RawJson::parse(
                r#"{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}"#,
            );
            Some(Declaration {
                name: names.sent(name),
                description: description.as_deref(),
                parameters_json_schema: schema.ok().map(Cow::Owned),
            })
        }
        Tool::Server { .. } => None,
    }
}

fn calling<'a>(
    choice: Option<&'a ToolChoice>,
    strict: bool,
    capabilities: &Capabilities,
    names: &'a ToolNames,
    notes: &mut Vec<String>,
    losses: &mut Losses,
) -> Option<ToolConfig<'a>> {
    let free = if strict { "VALIDATED" } else { "AUTO" };
    let config = |mode, allowed_function_names| {
        Some(ToolConfig {
            function_calling_config: CallingConfig {
                mode,
                allowed_function_names,
            },
        })
    };
    let wanted: &[String] = match choice {
        None if strict => return config(free, Vec::new()),
        None => return None,
        Some(
            ToolChoice::Auto
            | ToolChoice::Allowed {
                required: false, ..
            },
        ) => {
            return config(free, Vec::new());
        }
        Some(ToolChoice::None) => return config("NONE", Vec::new()),
        Some(ToolChoice::Required) => &[],
        Some(ToolChoice::Named(name)) => std::slice::from_ref(name),
        Some(ToolChoice::Allowed { names, .. }) => names,
    };
    if !capabilities.forced_tool_choice {
        losses.lose(
            "forced_tool_choice",
            "this model cannot be forced to call a tool; it was instructed to",
        );
        notes.push(match wanted {
            [] => "You must call one of the tools.".to_owned(),
            names => format!("You must call one of these tools: {}.", names.join(", ")),
        });
        return config(free, Vec::new());
    }
    config("ANY", wanted.iter().map(|name| names.sent(name)).collect())
}

/// Whether a member is OpenAI's way to ask a chat model for web search.
pub(super) fn is_web_search_member(name: &str) -> bool {
    name == "web_search_options"
}

/// Adds the tool of Gemini's own that does the same, if one does.
fn server_tool<'a>(
    dialect: Dialect,
    kind: &str,
    raw: &'a RawJson,
    has_functions: bool,
    sets: &mut Vec<ToolSet<'a>>,
    losses: &mut Losses,
) {
    if dialect == Dialect::Gemini {
        sets.push(ToolSet::Raw(Cow::Borrowed(raw)));
        return;
    }
    let own = if kind.starts_with("web_search") {
        Some(r#"{"googleSearch":{}}"#)
    } else if kind.starts_with("code_execution") || kind == "code_interpreter" {
        Some(r#"{"codeExecution":{}}"#)
    } else if kind.starts_with("web_fetch") {
        Some(r#"{"urlContext":{}}"#)
    } else {
        None
    };
    // Most Gemini models refuse their own tools beside functions.
    let own = own.filter(|_| !has_functions && is_unrestricted(raw, losses));
    match own.and_then(|own| RawJson::parse(own).ok()) {
        Some(own) => sets.push(ToolSet::Raw(Cow::Owned(own))),
        None => losses.lose("server_tools", "Gemini has no such tool; it was removed"),
    }
}

/// Whether a tool has no limits that its counterpart could not keep. Limits that only steer are
/// named and dropped.
fn is_unrestricted(raw: &RawJson, losses: &mut Losses) -> bool {
    let Ok(members) = raw.read::<std::collections::BTreeMap<String, &RawValue>>() else {
        return false;
    };
    let mut unrestricted = true;
    for (name, value) in members {
        let empty = matches!(value.get(), "null" | "[]" | "{}" | "false");
        match name.as_str() {
            "type" | "name" => {}
            _ if empty => {}
            "max_uses" | "user_location" | "search_context_size" | "max_content_tokens" => {
                losses.lose_field(&name, "Gemini's own tool does not have this setting");
            }
            "cache_control" => losses.lose(
                "cache_control",
                "Gemini caches prompts by itself; cache marks are not sent",
            ),
            "container" if is_auto_container(value) => {}
            _ => unrestricted = false,
        }
    }
    unrestricted
}

fn is_auto_container(value: &RawValue) -> bool {
    value.get().replace([' ', '\n'], "") == r#"{"type":"auto"}"#
}
