//! Tools, and which of them must be called.

use std::collections::HashSet;

use bardo_types::Losses;
use bardo_types::chat::{Tool, ToolChoice};
use bardo_types::json::RawJson;
use bardo_types::model::{Dialect, ToolFormat};

use crate::chat::request::encode::{Job, pieces};
use crate::json::{Array, Object};
use crate::kit::custom_tools::has_grammar;
use crate::kit::namespaces;

/// Arguments of a custom tool that goes as a function.
const WRAPPED_SCHEMA: &str = r#"{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}"#;

/// Writes `tools`, `tool_choice` and `parallel_tool_calls`; none of the latter without tools,
/// which services refuse.
pub(in crate::chat) fn write(job: &Job<'_>, lost: &mut Losses, object: &mut Object<'_>) {
    let tools = sent(job, lost);
    if tools.is_empty() {
        return;
    }
    {
        let mut list = object.array("tools");
        for tool in &tools {
            write_tool(job, tool, lost, &mut list);
        }
    }
    write_choice(job, lost, object);
    match job.request.parallel_tool_calls {
        Some(false) if !job.quirks().parallel_tool_calls => lost.lose(
            "parallel_tool_calls",
            "the provider cannot limit the model to one tool call at a time",
        ),
        Some(parallel) if job.quirks().parallel_tool_calls => {
            object.set("parallel_tool_calls", parallel);
        }
        _ => {}
    }
}

/// The tools that the target gets. A choice among allowed tools is kept by sending no other,
/// where it cannot be said.
fn sent<'a>(job: &Job<'a>, lost: &mut Losses) -> Vec<&'a Tool> {
    if job.target.capabilities.tool_format == ToolFormat::Unsupported
        && !job.request.tools.is_empty()
    {
        lost.lose("tools", "the model does not support tools");
        return Vec::new();
    }
    let allowed: Option<HashSet<&str>> = match &job.request.tool_choice {
        Some(ToolChoice::Allowed { names, .. }) if !job.quirks().custom_tools => {
            Some(names.iter().map(String::as_str).collect())
        }
        _ => None,
    };
    job.request
        .tools
        .iter()
        .filter(|tool| match tool {
            Tool::Server { dialect, kind, .. } if *dialect != Dialect::Chat => {
                lost.lose_field(
                    kind,
                    "only another provider can run this tool; it was removed",
                );
                false
            }
            tool => match (&allowed, tool.name()) {
                (Some(names), Some(name)) => names.contains(name),
                _ => true,
            },
        })
        .collect()
}

fn write_tool(job: &Job<'_>, tool: &Tool, lost: &mut Losses, list: &mut Array<'_>) {
    match tool {
        Tool::Server { raw, .. } => list.raw(raw.as_str()),
        Tool::Custom {
            name,
            description,
            format,
        } => {
            let mut entry = list.object();
            let name = job.names.sent(name);
            if job.quirks().custom_tools {
                entry.set("type", "custom");
                let mut custom = entry.object("custom");
                custom
                    .set("name", name)
                    .set_some("description", description.as_deref());
                if let Some(format) = format {
                    custom.raw("format", nested_format(format).as_str());
                }
                return;
            }
            if format.as_ref().is_some_and(has_grammar) {
                lost.lose(
                    "custom_tool_grammar",
                    "the provider does not enforce the grammar of a custom tool's input",
                );
            }
            entry.set("type", "function");
            entry
                .object("function")
                .set("name", name)
                .set_some("description", description.as_deref())
                .raw("parameters", WRAPPED_SCHEMA);
        }
        Tool::Function {
            name,
            description,
            schema,
            strict,
            cache,
            extra,
        } => {
            let mut entry = list.object();
            entry.set("type", "function");
            {
                let mut function = entry.object("function");
                function
                    .set("name", job.names.sent(name))
                    .set_some("description", description.as_deref());
                match schema {
                    Some(schema) => {
                        function.raw("parameters", schema.as_str());
                    }
                    None if job.quirks().bare_tools => {
                        function.raw("parameters", r#"{"type":"object","properties":{}}"#);
                    }
                    None => {}
                }
                write_strict(job, *strict, lost, &mut function);
                for (member, value) in extra {
                    if job.request.dialect == Dialect::Chat {
                        function.foreign(member, value.as_str());
                    } else if !namespaces::is_head(member, value) {
                        lost.lose_field(
                            member,
                            "Chat Completions does not have this member of a tool",
                        );
                    }
                }
            }
            if let Some(mark) = cache
                && let Some((member, json)) = pieces::cache_member(job, mark, lost)
            {
                entry.raw(member, &json);
            }
        }
    }
}

fn write_strict(job: &Job<'_>, strict: Option<bool>, lost: &mut Losses, function: &mut Object<'_>) {
    let Some(strict) = strict else {
        return;
    };
    if !job.quirks().bare_tools {
        function.set("strict", strict);
    } else if strict {
        lost.lose(
            "strict_tools",
            "the provider does not enforce the schemas of tools",
        );
    }
}

/// The format of a custom tool as this dialect nests it; the Responses dialect writes a grammar
/// flat.
fn nested_format(format: &RawJson) -> RawJson {
    #[derive(serde::Deserialize)]
    struct Flat {
        #[serde(rename = "type")]
        kind: String,
        definition: RawJson,
        syntax: RawJson,
    }
    match format.read::<Flat>() {
        Ok(flat) if flat.kind == "grammar" => {
            let nested = serde_json::json!({
                "type": "grammar",
                "grammar": { "definition": flat.definition, "syntax": flat.syntax },
            });
            RawJson::of(&nested).unwrap_or_else(|_| format.clone())
        }
        _ => format.clone(),
    }
}

fn write_choice(job: &Job<'_>, lost: &mut Losses, object: &mut Object<'_>) {
    let Some(choice) = &job.request.tool_choice else {
        return;
    };
    if choice.forces() && !job.target.capabilities.forced_tool_choice {
        lost.lose(
            "forced_tool_choice",
            "the model cannot be forced to call a tool; it was instructed to",
        );
        object.set("tool_choice", "auto");
        return;
    }
    let mode = |required: bool| if required { "required" } else { "auto" };
    match choice {
        ToolChoice::Auto => {
            object.set("tool_choice", "auto");
        }
        ToolChoice::None => {
            object.set("tool_choice", "none");
        }
        ToolChoice::Required => {
            object.set("tool_choice", "required");
        }
        ToolChoice::Named(name) => {
            let kind = kind_of(&custom_tools(job), name);
            let mut named = object.object("tool_choice");
            named.set("type", kind);
            named.object(kind).set("name", job.names.sent(name));
        }
        ToolChoice::Allowed { required, .. } if !job.quirks().custom_tools => {
            object.set("tool_choice", mode(*required));
        }
        ToolChoice::Allowed { required, names } => {
            let mut outer = object.object("tool_choice");
            outer.set("type", "allowed_tools");
            let mut inner = outer.object("allowed_tools");
            inner.set("mode", mode(*required));
            let mut list = inner.array("tools");
            let custom = custom_tools(job);
            for name in names {
                let kind = kind_of(&custom, name);
                let mut entry = list.object();
                entry.set("type", kind);
                entry.object(kind).set("name", job.names.sent(name));
            }
        }
    }
}

/// The names of the tools that are sent as custom ones.
fn custom_tools<'a>(job: &Job<'a>) -> HashSet<&'a str> {
    let custom = |tool: &'a Tool| match tool {
        Tool::Custom { name, .. } if job.quirks().custom_tools => Some(name.as_str()),
        _ => None,
    };
    job.request.tools.iter().filter_map(custom).collect()
}

fn kind_of(custom: &HashSet<&str>, name: &str) -> &'static str {
    if custom.contains(name) {
        "custom"
    } else {
        "function"
    }
}

/// The instruction in words for a model that cannot be forced to call a tool.
pub(in crate::chat) fn note(job: &Job<'_>) -> Option<String> {
    let choice = job.request.tool_choice.as_ref()?;
    if job.request.tools.is_empty()
        || !choice.forces()
        || job.target.capabilities.forced_tool_choice
    {
        return None;
    }
    Some(match choice {
        ToolChoice::Named(name) => {
            format!("Answer by calling the tool `{}`.", job.names.sent(name))
        }
        _ => "Answer by calling at least one of the tools.".to_owned(),
    })
}
