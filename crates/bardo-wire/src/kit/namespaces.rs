//! Namespaces of functions, flattened: other dialects know only plain functions.
//!
//! `{"type":"namespace","name":"crm","tools":[{"type":"function","name":"find"}]}` becomes the
//! function `crm__find`. A call of it goes back to the caller as `find` in namespace `crm`, and
//! towards an upstream of this dialect the namespace is put together again.

use bardo_types::chat::{ChatRequest, Tool, ToolCall};
use bardo_types::json::RawJson;
use serde_json::value::RawValue;

use crate::json::{Str, kept_object, wire_object};

/// The member of a function's `extra` that says which namespace it is from.
const KEY: &str = "namespace";

wire_object! {
    /// A namespace, as a tool and as kept with each of its functions (without `tools`).
    pub(crate) struct Namespace<'a> {
        "type" => kind: Option<Str<'a>>,
        "name" => name: Option<Str<'a>>,
        "tools" => tools: Option<Vec<&'a RawValue>>,
    }
}

/// The namespace that functions are in when they are in none; its name is never told.
const DEFAULT: &str = "functions";

/// The name of a function outside of its namespace.
pub(crate) fn flat(namespace: &str, function: &str) -> String {
    if namespace == DEFAULT {
        function.to_owned()
    } else if namespace.ends_with("__") {
        format!("{namespace}{function}")
    } else {
        format!("{namespace}__{function}")
    }
}

/// The name of a function within its namespace.
pub(crate) fn within<'a>(namespace: &str, flat: &'a str) -> Option<&'a str> {
    if namespace == DEFAULT {
        return Some(flat);
    }
    let rest = flat.strip_prefix(namespace)?;
    if namespace.ends_with("__") {
        Some(rest)
    } else {
        rest.strip_prefix("__")
    }
}

/// The functions of a namespace; `None` when it holds more than functions and has to stay whole.
pub(crate) fn functions(
    raw: &RawValue,
    mut read: impl FnMut(&RawValue) -> Option<Tool>,
) -> Option<Vec<Tool>> {
    let namespace: Namespace<'_> = serde_json::from_str(raw.get()).ok()?;
    let name = namespace.name.as_deref()?;
    let head = kept_object(|object| {
        object.set("type", "namespace");
        object.set("name", name);
        for (key, raw) in &namespace.extra {
            object.foreign(key, raw.get());
        }
    });
    let tools = namespace.tools.as_ref()?;
    if name == DEFAULT {
        return tools.iter().map(|raw| read(raw)).collect();
    }
    tools
        .iter()
        .map(|raw| match read(raw)? {
            Tool::Function {
                name: function,
                description,
                schema,
                strict,
                cache,
                mut extra,
            } => {
                extra.push((KEY.to_owned(), head.clone()));
                Some(Tool::Function {
                    name: flat(name, &function),
                    description,
                    schema,
                    strict,
                    cache,
                    extra,
                })
            }
            Tool::Custom { .. } | Tool::Server { .. } => None,
        })
        .collect()
}

/// The namespace that a function is from, as it was defined, without its functions.
pub(crate) fn of(tool: &Tool) -> Option<&RawJson> {
    let Tool::Function { extra, .. } = tool else {
        return None;
    };
    extra.iter().find(|(key, _)| key == KEY).map(|(_, raw)| raw)
}

/// Whether a member of a tool says which namespace it is from. The tool's flat name says so too, and
/// calls of it go back by both: nothing is lost where the member has no form.
pub(crate) fn is_head(member: &str, value: &RawJson) -> bool {
    let is_namespace = |head: Namespace<'_>| head.kind.as_deref() == Some(KEY);
    member == KEY && value.read().is_ok_and(is_namespace)
}

/// The name in a namespace's head.
pub(crate) fn name(head: &RawJson) -> Option<String> {
    head.read::<Namespace<'_>>()
        .ok()?
        .name
        .map(Str::into_string)
}

/// A namespace's function without the mark that it is one, under its own name.
pub(crate) fn inner(tool: &Tool, namespace: &str) -> Tool {
    let mut tool = tool.clone();
    if let Tool::Function { name, extra, .. } = &mut tool {
        extra.retain(|(key, _)| key != KEY);
        if let Some(own) = within(namespace, name) {
            *name = own.to_owned();
        }
    }
    tool
}

/// The namespace that a call in a caller's history names.
pub(crate) fn of_call(call: &ToolCall) -> Option<String> {
    let (_, raw) = call.extra.iter().find(|(key, _)| key == KEY)?;
    raw.read().ok()
}

/// The name by which a caller knows a called function.
#[derive(Debug, Clone)]
pub(crate) struct Called {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
}

/// The name of a called function as its caller knows it.
pub(crate) fn called(request: &ChatRequest, name: &str) -> Called {
    let tool = request.tools.iter().find(|tool| tool.name() == Some(name));
    let namespace = tool.and_then(of).and_then(self::name);
    match namespace {
        Some(namespace) => {
            let name = within(&namespace, name).unwrap_or(name).to_owned();
            Called {
                name,
                namespace: Some(namespace),
            }
        }
        None => Called {
            name: name.to_owned(),
            namespace: None,
        },
    }
}
