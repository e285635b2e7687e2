//! Tools and the choice among them.

use std::borrow::Cow;
use std::collections::HashSet;

use bardo_types::Losses;
use bardo_types::chat::{ChatRequest, Tool, ToolChoice};
use bardo_types::json::RawJson;
use bardo_types::model::{Capabilities, Dialect};

use super::conversation::sent_mark;
use super::schema;
use crate::json::{Array, Object};
use crate::kit::namespaces;
use crate::kit::tool_names::ToolNames;

/// A tool ready to be written.
pub(super) enum SentTool<'a> {
    Function {
        name: &'a str,
        description: Option<&'a str>,
        schema: Cow<'a, RawJson>,
        strict: bool,
        cache: Option<Cow<'a, RawJson>>,
        extra: &'a [(String, RawJson)],
    },
    Raw(&'a RawJson),
}

/// The tools that can be sent. `only` names those that may be called, where the caller limited
/// them.
pub(super) fn definitions<'a>(
    request: &'a ChatRequest,
    caps: &Capabilities,
    names: &'a ToolNames,
    only: Option<&[String]>,
    lost: &mut Losses,
) -> Vec<SentTool<'a>> {
    let own = request.dialect == Dialect::Anthropic;
    let mut definitions = Vec::with_capacity(request.tools.len());
    let only: Option<HashSet<&str>> = only.map(|only| only.iter().map(String::as_str).collect());
    for tool in &request.tools {
        let is_wanted = |only: &HashSet<&str>| tool.name().is_some_and(|name| only.contains(name));
        if !only.as_ref().is_none_or(is_wanted) {
            continue;
        }
        match tool {
            Tool::Function {
                name,
                description,
                schema,
                strict,
                cache,
                extra,
            } => {
                let is_strict = *strict == Some(true);
                if is_strict && !caps.structured_output {
                    lost.lose("strict", "this model does not enforce the schemas of tools");
                }
                if !own {
                    for (name, value) in extra {
                        if !namespaces::is_head(name, value) {
                            lost.lose_field(
                                name,
                                "the Messages API does not have this member in a tool",
                            );
                        }
                    }
                }
                definitions.push(SentTool::Function {
                    name: names.sent(name),
                    description: description.as_deref(),
                    schema: schema::for_tool(schema.as_ref()),
                    strict: is_strict && caps.structured_output,
                    cache: cache.as_ref().map(|mark| sent_mark(request.dialect, mark)),
                    extra: if own { extra } else { &[] },
                });
            }
            Tool::Custom {
                name,
                description,
                format,
            } => {
                if format.is_some() {
                    lost.lose(
                        "custom_tool_format",
                        "the grammar of a free-text tool is not enforced",
                    );
                }
                definitions.push(SentTool::Function {
                    name: names.sent(name),
                    description: description.as_deref(),
                    schema: Cow::Owned(free_text()),
                    strict: false,
                    cache: None,
                    extra: &[],
                });
            }
            Tool::Server {
                dialect: Dialect::Anthropic,
                raw,
                ..
            } => definitions.push(SentTool::Raw(raw)),
            Tool::Server { kind, .. } => {
                lost.lose_field(kind, "only another provider can run this tool");
            }
        }
    }
    definitions
}

/// The schema that a free-text tool is wrapped in.
fn free_text() -> RawJson {
    RawJson::parse(
        r#"{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}"#,
    )
    .expect("a literal is JSON")
}

impl<'a> SentTool<'a> {
    /// The tool's cache mark, if it has or may have one.
    pub(super) fn cache(&mut self) -> Option<&mut Option<Cow<'a, RawJson>>> {
        match self {
            Self::Function { cache, .. } => Some(cache),
            Self::Raw(_) => None,
        }
    }

    pub(super) fn is_marked(&self) -> bool {
        match self {
            Self::Function { cache, .. } => cache.is_some(),
            Self::Raw(raw) => raw.as_str().contains("\"cache_control\""),
        }
    }
}

/// Writes the tools.
pub(super) fn write(array: &mut Array<'_>, definitions: &[SentTool<'_>]) {
    for definition in definitions {
        match definition {
            SentTool::Raw(raw) => array.raw(raw.as_str()),
            SentTool::Function {
                name,
                description,
                schema,
                strict,
                cache,
                extra,
            } => array.nest(|tool| {
                tool.set("name", name);
                tool.set_some("description", *description);
                tool.raw("input_schema", schema.as_str());
                if *strict {
                    tool.set("strict", true);
                }
                for (name, raw) in *extra {
                    tool.foreign(name, raw.as_str());
                }
                tool.set_some("cache_control", cache.as_deref());
            }),
        }
    }
}

/// The choice that is sent, and what the system prompt has to say instead of it.
#[derive(Default)]
pub(super) struct SentToolChoice<'a> {
    kind: Option<&'static str>,
    name: Option<&'a str>,
    one_at_a_time: bool,
    pub(super) instruction: Option<String>,
}

impl<'a> SentToolChoice<'a> {
    /// Decides the choice; `may_force` says whether the model takes one that forces a call.
    pub(super) fn plan(
        request: &'a ChatRequest,
        names: &'a ToolNames,
        may_force: bool,
        lost: &mut Losses,
    ) -> Self {
        let one_at_a_time = request.parallel_tool_calls == Some(false);
        let mut choice = Self {
            one_at_a_time,
            ..Self::default()
        };
        (choice.kind, choice.name) = match &request.tool_choice {
            None => (one_at_a_time.then_some("auto"), None),
            Some(
                ToolChoice::Auto
                | ToolChoice::Allowed {
                    required: false, ..
                },
            ) => (Some("auto"), None),
            Some(ToolChoice::None) => (Some("none"), None),
            Some(ToolChoice::Required) => (Some("any"), None),
            Some(ToolChoice::Named(name)) => (Some("tool"), Some(names.sent(name))),
            Some(ToolChoice::Allowed { names: some, .. }) => match some.as_slice() {
                [name] => (Some("tool"), Some(names.sent(name))),
                _ => (Some("any"), None),
            },
        };
        if matches!(choice.kind, Some("any" | "tool")) && !may_force {
            lost.lose(
                "forced_tool_choice",
                "the model cannot be forced to call a tool; it was instructed to",
            );
            choice.instruction = Some(match choice.name.take() {
                Some(name) => {
                    format!("You must call the tool `{name}` now, and answer in no other way.")
                }
                None => {
                    "You must call one of your tools now, and answer in no other way.".to_owned()
                }
            });
            choice.kind = Some("auto");
        }
        choice
    }

    pub(super) fn is_some(&self) -> bool {
        self.kind.is_some()
    }

    /// Writes the members of `tool_choice`.
    pub(super) fn write(&self, object: &mut Object<'_>) {
        object.set_some("type", self.kind);
        object.set_some("name", self.name);
        if self.one_at_a_time && self.kind != Some("none") {
            object.set("disable_parallel_tool_use", true);
        }
    }
}
