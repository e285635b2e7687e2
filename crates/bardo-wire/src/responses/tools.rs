//! Tools and tool choice, in both directions.

mod unread;

use std::collections::{HashMap, HashSet};

use bardo_types::Losses;
use bardo_types::chat::{ChatRequest, Tool, ToolChoice};
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;
use serde_json::value::RawValue;

use crate::codec::{BadRequest, Target};
use crate::json::{Array, Members, Object, Str, kept_object, wire_object};
use crate::kit::tool_names::ToolNames;
use crate::kit::{error_path, namespaces};
use crate::quirks::Quirks;

wire_object! {
    /// Any tool definition.
    struct Definition<'a> {
        "type" => kind: Option<Str<'a>>,
        "name" => name: Option<Str<'a>>,
        "description" => description: Option<Str<'a>>,
        "parameters" => parameters: Option<&'a RawValue>,
        "strict" => strict: Option<bool>,
        "format" => format: Option<&'a RawValue>,
        "server_label" => server_label: Option<Str<'a>>,
    }

    /// An object as `tool_choice`.
    struct ResponsesToolChoice<'a> {
        "type" => kind: Option<Str<'a>>,
        "name" => name: Option<Str<'a>>,
        "mode" => mode: Option<Str<'a>>,
        "tools" => tools: Option<Vec<Definition<'a>>>,
        "server_label" => server_label: Option<Str<'a>>,
    }
}

/// Reads the list of tools at `path`, and notes in `is_unread` whether members of them are not read.
pub(super) fn decode(
    path: &str,
    list: &[&RawValue],
    is_unread: &mut bool,
) -> Result<Vec<Tool>, BadRequest> {
    let mut tools = Vec::with_capacity(list.len());
    for (index, raw) in list.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let decoded = tool(&path, raw, is_unread)?;
        let is_namespace = matches!(&decoded, Tool::Server { kind, .. } if kind == "namespace");
        let mut inner_is_unread = false;
        let functions = is_namespace
            .then(|| namespaces::functions(raw, |raw| tool(&path, raw, &mut inner_is_unread).ok()));
        match functions.flatten() {
            Some(functions) => {
                *is_unread |= inner_is_unread;
                tools.extend(functions);
            }
            // A namespace that stays whole has all its members.
            None => tools.push(decoded),
        }
    }
    Ok(tools)
}

fn tool(path: &str, raw: &RawValue, is_unread: &mut bool) -> Result<Tool, BadRequest> {
    let definition: Definition<'_> = serde_json::from_str(raw.get()).map_err(|error| {
        let inner = error_path::of(raw.get().as_bytes(), &error);
        let path = error_path::within(path, &inner);
        let message = crate::json::told(&error, &path);
        BadRequest::new(path, message)
    })?;
    let Some(kind) = definition.kind.as_deref() else {
        return Err(BadRequest::new(
            format!("{path}.type"),
            format!("`{path}.type` is missing; use \"function\" with `name` and `parameters`"),
        ));
    };
    *is_unread |= definition.holds_unread_members();
    let described = definition.description.as_ref().map(|text| text.to_string());
    match kind {
        "function" => Ok(Tool::Function {
            name: required_name(path, definition.name.as_deref())?,
            description: described,
            schema: definition
                .parameters
                .filter(|raw| raw.get() != "null")
                .map(RawJson::from),
            strict: definition.strict,
            cache: None,
            extra: definition
                .extra
                .into_iter()
                .filter(|(_, raw)| raw.get() != "null")
                .map(|(key, raw)| (key.into_string(), raw.into()))
                .collect(),
        }),
        "custom" => Ok(Tool::Custom {
            name: required_name(path, definition.name.as_deref())?,
            description: described,
            format: definition.format.map(RawJson::from),
        }),
        kind => Ok(Tool::Server {
            dialect: Dialect::Responses,
            kind: kind.to_owned(),
            name: Some(server_name(&definition, kind)),
            raw: raw.into(),
        }),
    }
}

/// What `tool_choice` can name a provider's tool by.
fn server_name(definition: &Definition<'_>, kind: &str) -> String {
    definition
        .name
        .as_deref()
        .or(definition.server_label.as_deref())
        .unwrap_or(kind)
        .to_owned()
}

fn required_name(path: &str, name: Option<&str>) -> Result<String, BadRequest> {
    match name {
        Some(name) if !name.is_empty() => Ok(name.to_owned()),
        _ => Err(BadRequest::new(
            format!("{path}.name"),
            format!(
                "`{path}.name` is missing; in this API `name` is a member beside `type`, not inside `function`"
            ),
        )),
    }
}

/// Reads `tool_choice`. Forms with more in them than the neutral choice also stay as written; of
/// others, `is_unread` notes whether members are not read.
pub(super) fn decode_choice(
    raw: &RawValue,
    request: &mut ChatRequest,
    is_unread: &mut bool,
) -> Result<(), BadRequest> {
    let refused = || {
        BadRequest::new(
            "tool_choice",
            "`tool_choice` must be \"auto\", \"none\", \"required\" or an object with `type`, such as {\"type\":\"function\",\"name\":\"…\"}",
        )
    };
    if raw.get() == "null" {
        return Ok(());
    }
    if let Ok(word) = serde_json::from_str::<Str<'_>>(raw.get()) {
        request.tool_choice = Some(match &*word {
            "auto" => ToolChoice::Auto,
            "none" => ToolChoice::None,
            "required" => ToolChoice::Required,
            _ => return Err(refused()),
        });
        return Ok(());
    }
    let choice: ResponsesToolChoice<'_> = serde_json::from_str(raw.get()).map_err(|_| refused())?;
    let holds_unread_members = choice.holds_unread_members();
    let (neutral, as_written) = match choice.kind.as_deref() {
        Some("function" | "custom") => {
            let name = choice.name.ok_or_else(refused)?;
            (ToolChoice::Named(name.into_string()), false)
        }
        Some("allowed_tools") => {
            let tools = choice.tools.ok_or_else(refused)?;
            let hosted = tools
                .iter()
                .any(|tool| !matches!(tool.kind.as_deref(), Some("function" | "custom")));
            let names = tools
                .iter()
                .map(|tool| server_name(tool, tool.kind.as_deref().unwrap_or_default()))
                .collect();
            let required = choice.mode.as_deref() == Some("required");
            (ToolChoice::Allowed { required, names }, hosted)
        }
        Some(kind) => {
            let label = choice.server_label.as_deref().unwrap_or(kind);
            (ToolChoice::Named(label.to_owned()), true)
        }
        None => return Err(refused()),
    };
    let resolved = resolved(&neutral, &request.tools);
    let as_written = as_written || resolved != neutral;
    request.tool_choice = Some(resolved);
    if as_written {
        request.extra.push(("tool_choice".to_owned(), raw.into()));
    } else {
        *is_unread |= holds_unread_members;
    }
    Ok(())
}

/// The choice with functions of namespaces under their flat names.
fn resolved(choice: &ToolChoice, tools: &[Tool]) -> ToolChoice {
    if !matches!(choice, ToolChoice::Named(_) | ToolChoice::Allowed { .. }) {
        return choice.clone();
    }
    let plain: HashSet<&str> = tools.iter().filter_map(Tool::name).collect();
    let mut inner: HashMap<&str, &str> = HashMap::new();
    for tool in tools {
        let Some((namespace, name)) = namespaces::of(tool)
            .and_then(namespaces::name)
            .zip(tool.name())
        else {
            continue;
        };
        if let Some(own) = namespaces::within(&namespace, name) {
            inner.entry(own).or_insert(name);
        }
    }
    let flat = |name: &String| match inner.get(name.as_str()) {
        Some(flat) if !plain.contains(name.as_str()) => (*flat).to_owned(),
        _ => name.clone(),
    };
    match choice {
        ToolChoice::Named(name) => ToolChoice::Named(flat(name)),
        ToolChoice::Allowed { required, names } => ToolChoice::Allowed {
            required: *required,
            names: names.iter().map(flat).collect(),
        },
        choice => choice.clone(),
    }
}

/// Writes one tool the way this API defines it; `extra` are the members of its own that a function
/// keeps, unless it is nested.
fn write(
    tool: &Tool,
    name: &str,
    strict: Option<bool>,
    nested: bool,
    extra: &[(String, RawJson)],
    out: &mut Vec<u8>,
) {
    let mut object = Object::new(out);
    match tool {
        Tool::Function {
            description,
            schema,
            ..
        } => {
            object.set("type", "function");
            let function = |object: &mut Object<'_>| {
                let schema = schema.as_ref().map_or(NO_PARAMETERS, RawJson::as_str);
                object
                    .set("name", name)
                    .set_some("description", description.as_deref())
                    .raw("parameters", schema)
                    .set_some("strict", strict);
            };
            if nested {
                function(&mut object.object("function"));
            } else {
                function(&mut object);
                object.members(extra);
            }
        }
        Tool::Custom {
            description,
            format,
            ..
        } => {
            object.set("type", "custom");
            object.set("name", name);
            object.set_some("description", description.as_deref());
            if let Some(format) = format {
                object.raw("format", flat_format(format).as_str());
            }
        }
        // Those are written as they came, by the caller of this function.
        Tool::Server { .. } => {}
    }
    object.end();
}

/// The schema of a function that has none.
const NO_PARAMETERS: &str = r#"{"type":"object","properties":{}}"#;

/// Chat Completions nests a grammar one level deeper than this API does.
fn flat_format(format: &RawJson) -> RawJson {
    wire_object! {
        struct Nested<'a> {
            "grammar" => grammar: Option<Members<'a>>,
            ..
        }
    }
    let Ok(Nested {
        grammar: Some(inner),
        ..
    }) = format.read::<Nested<'_>>()
    else {
        return format.clone();
    };
    kept_object(|object| {
        object.set("type", "grammar");
        for (key, raw) in &inner.extra {
            object.foreign(key, raw.get());
        }
    })
}

/// Writes tools one by one, namespaces together again.
fn write_list(
    tools: &[&Tool],
    list: &mut Array<'_>,
    mut write_one: impl FnMut(&Tool, &mut Array<'_>),
) {
    let together = |a: &&Tool, b: &&Tool| {
        let head = namespaces::of(a);
        head.is_some() && head == namespaces::of(b)
    };
    for group in tools.chunk_by(together) {
        let head = group.first().and_then(|tool| namespaces::of(tool));
        let Some((head, name)) = head.and_then(|head| Some((head, namespaces::name(head)?))) else {
            group.iter().for_each(|tool| write_one(tool, list));
            continue;
        };
        let mut namespace = list.object();
        crate::responses::request::encode::weave(&mut namespace, Some(head));
        let mut inner = namespace.array("tools");
        for tool in group {
            write_one(&namespaces::inner(tool, &name), &mut inner);
        }
        inner.end();
        namespace.end();
    }
}

/// Writes the tools as a caller defined them, for the response object.
pub(super) fn echo(request: &ChatRequest, out: &mut Vec<u8>) {
    let tools: Vec<&Tool> = request.tools.iter().collect();
    let mut list = Array::new(out);
    write_list(&tools, &mut list, |tool, list| match tool {
        Tool::Server { dialect, raw, .. } if *dialect == Dialect::Responses => {
            list.raw(raw.as_str());
        }
        Tool::Server { .. } => {}
        Tool::Function {
            name,
            strict,
            extra,
            ..
        } => write(tool, name, *strict, false, extra, list.item()),
        Tool::Custom { name, .. } => write(tool, name, None, false, &[], list.item()),
    });
    list.end();
}

/// Writes the tool choice in the caller's names.
pub(super) fn echo_choice(request: &ChatRequest, out: &mut Vec<u8>) {
    match &request.tool_choice {
        Some(choice) => write_choice(choice, request, |name| name.to_owned(), out),
        None => out.extend_from_slice(b"\"auto\""),
    }
}

/// Writes `tools`, `tool_choice` and `parallel_tool_calls` for an upstream.
pub(super) fn encode(
    request: &ChatRequest,
    target: &Target,
    names: &ToolNames,
    body: &mut Object<'_>,
    degraded: &mut Losses,
) -> Result<(), BadRequest> {
    let same = request.dialect == Dialect::Responses;
    let kept: Vec<&Tool> = request
        .tools
        .iter()
        .filter(
            |tool| !matches!(tool, Tool::Server { dialect, .. } if *dialect != Dialect::Responses),
        )
        .collect();
    if kept.len() < request.tools.len() {
        if let Some(ToolChoice::Named(name)) = &request.tool_choice
            && !kept.iter().any(|tool| tool.name() == Some(name))
        {
            return Err(BadRequest::new(
                "tool_choice",
                format!(
                    "`tool_choice` requires `{name}`, and only another provider can run this tool; name one of \
                    your own tools, or choose a model of that provider"
                ),
            ));
        }
        degraded.lose(
            "server_tools",
            "tools that only another provider can run were removed",
        );
    }
    if kept.is_empty() {
        return Ok(());
    }
    let mut list = body.array("tools");
    let nested = Quirks::of(target.service).nested_functions;
    let sent = |tool: &Tool| names.sent(tool.name().unwrap_or_default()).to_owned();
    write_list(&kept, &mut list, |tool, list| match tool {
        Tool::Server { raw, .. } => list.raw(raw.as_str()),
        Tool::Function { strict, extra, .. } if !same => {
            for (key, _) in extra {
                let why = "tools of this API do not have this member";
                degraded.lose_field(key, why);
            }
            // Left out, this API would take `true`, which no other dialect means.
            let strict = Some(strict.unwrap_or(false));
            write(tool, &sent(tool), strict, nested, &[], list.item());
        }
        Tool::Function { strict, extra, .. } => {
            write(tool, &sent(tool), *strict, nested, extra, list.item());
        }
        Tool::Custom { .. } => write(tool, &sent(tool), None, false, &[], list.item()),
    });
    list.end();
    if request.tools.iter().any(has_cache_mark) {
        degraded.lose(
            "cache_control",
            crate::responses::request::encode::CACHE_MARKS,
        );
    }
    choice(request, target, names, same, body, degraded);
    if let Some(parallel) = request.parallel_tool_calls {
        body.set("parallel_tool_calls", parallel);
    }
    Ok(())
}

fn has_cache_mark(tool: &Tool) -> bool {
    matches!(tool, Tool::Function { cache: Some(_), .. })
}

fn choice(
    request: &ChatRequest,
    target: &Target,
    names: &ToolNames,
    same: bool,
    body: &mut Object<'_>,
    degraded: &mut Losses,
) {
    let Some(choice) = &request.tool_choice else {
        return;
    };
    if same && let Some((_, raw)) = request.extra.iter().find(|(key, _)| key == "tool_choice") {
        body.raw("tool_choice", raw.as_str());
    } else if choice.forces() && !target.capabilities.forced_tool_choice {
        body.set("tool_choice", "auto");
        degraded.lose(
            "forced_tool_choice",
            "this model cannot be forced to call a tool",
        );
    } else {
        let sent = |name: &str| names.sent(name).to_owned();
        write_choice(choice, request, sent, body.key("tool_choice"));
    }
}

fn write_choice(
    choice: &ToolChoice,
    request: &ChatRequest,
    sent: impl Fn(&str) -> String,
    out: &mut Vec<u8>,
) {
    match choice {
        ToolChoice::Auto => out.extend_from_slice(b"\"auto\""),
        ToolChoice::None => out.extend_from_slice(b"\"none\""),
        ToolChoice::Required => out.extend_from_slice(b"\"required\""),
        ToolChoice::Named(name) => {
            let tool = request.tools.iter().find(|tool| tool.name() == Some(name));
            write_named(name, tool, &sent, out);
        }
        ToolChoice::Allowed { required, names } => {
            let mut tools: HashMap<&str, &Tool> = HashMap::new();
            for tool in &request.tools {
                if let Some(name) = tool.name() {
                    tools.entry(name).or_insert(tool);
                }
            }
            let mut object = Object::new(out);
            object.set("type", "allowed_tools");
            object.set("mode", if *required { "required" } else { "auto" });
            let mut list = object.array("tools");
            for name in names {
                let tool = tools.get(name.as_str()).copied();
                write_named(name, tool, &sent, list.item());
            }
            list.end();
            object.end();
        }
    }
}

fn write_named(name: &str, tool: Option<&Tool>, sent: &impl Fn(&str) -> String, out: &mut Vec<u8>) {
    let mut object = Object::new(out);
    match tool {
        Some(Tool::Server { kind, .. }) => {
            object.set("type", kind);
            if kind == "mcp" {
                object.set("server_label", name);
            } else if kind != name {
                object.set("name", name);
            }
        }
        Some(Tool::Custom { .. }) => {
            object.set("type", "custom");
            object.set("name", sent(name));
        }
        _ => {
            object.set("type", "function");
            object.set("name", sent(name));
        }
    }
    object.end();
}
