//! Tools, and which of them must be called.

use bardo_types::chat::{CacheMark, ChatRequest, Tool, ToolChoice};
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;
use serde_json::value::RawValue;

use crate::chat::request::decode::{extra, raw};
use crate::chat::shapes::request::{ChatBody, WireTool};
use crate::codec::BadRequest;
use crate::json::{NameOnly, Str, kept_object, wire_object};
use crate::kit::openai::ToolFunction;

/// Marks a request that declares `functions`, so that its answer comes as `function_call`.
pub(in crate::chat) const LEGACY_FUNCTIONS: &str = "functions";

pub(in crate::chat) fn read(
    wire: &mut ChatBody<'_>,
    request: &mut ChatRequest,
) -> Result<(), BadRequest> {
    for (index, tool) in wire.tools.take().into_iter().flatten().enumerate() {
        request.tools.push(read_tool(index, tool)?);
    }
    request.parallel_tool_calls = wire.parallel_tool_calls;
    if let Some(choice) = wire.tool_choice.take() {
        match read_choice(choice)? {
            Some(choice) => request.tool_choice = Some(choice),
            None => request.extra.push(("tool_choice".into(), choice.into())),
        }
    }
    if let Some(functions) = wire.functions.take().filter(|_| request.tools.is_empty()) {
        for (index, function) in functions.into_iter().enumerate() {
            let path = format!("functions[{index}].name");
            request.tools.push(read_function(&path, function, None)?);
        }
        // One message of that form holds one call.
        request.parallel_tool_calls = Some(false);
        request.extra.push((
            LEGACY_FUNCTIONS.into(),
            RawJson::parse("true").expect("`true` is JSON"),
        ));
        if let Some(choice) = wire.function_call.take() {
            request.tool_choice = Some(read_legacy_choice(choice)?);
        }
    }
    Ok(())
}

fn read_tool(index: usize, tool: WireTool<'_>) -> Result<Tool, BadRequest> {
    let cache = raw(tool.cache_control).map(CacheMark);
    match (tool.kind.as_deref(), tool.function, tool.custom) {
        (Some("function") | None, Some(function), _) => {
            read_function(&format!("tools[{index}].function.name"), function, cache)
        }
        (Some("custom"), _, Some(custom)) => Ok(Tool::Custom {
            name: name(&format!("tools[{index}].custom.name"), custom.name)?,
            description: custom.description.map(Str::into_string),
            format: raw(custom.format),
        }),
        (Some(kind @ ("function" | "custom")), ..) => Err(BadRequest::new(
            format!("tools[{index}].{kind}"),
            format!("`{kind}` is missing; put the tool's name and description inside it"),
        )),
        (Some(kind), ..) => {
            let mut members: Vec<(String, RawJson)> = vec![("type".into(), RawJson::string(kind))];
            if let Some(CacheMark(mark)) = cache {
                members.push(("cache_control".into(), mark));
            }
            members.extend(extra(tool.extra));
            Ok(Tool::Server {
                dialect: Dialect::Chat,
                kind: kind.to_owned(),
                name: None,
                raw: object_of(&members),
            })
        }
        (None, None, _) => Err(BadRequest::new(
            format!("tools[{index}].type"),
            "`type` is missing; use `function` with a `function` object",
        )),
    }
}

/// An object of members that are kept as written.
pub(in crate::chat) fn object_of(members: &[(String, RawJson)]) -> RawJson {
    kept_object(|object| object.members(members))
}

fn read_function(
    path: &str,
    function: ToolFunction<'_>,
    cache: Option<CacheMark>,
) -> Result<Tool, BadRequest> {
    Ok(Tool::Function {
        name: name(path, function.name)?,
        description: function.description.map(Str::into_string),
        schema: raw(function.parameters),
        strict: function.strict,
        cache,
        extra: extra(function.extra).collect(),
    })
}

fn name(path: &str, name: Option<Str<'_>>) -> Result<String, BadRequest> {
    name.map(Str::into_string)
        .filter(|name| !name.is_empty())
        .ok_or_else(|| BadRequest::new(path, "the tool has no name; send one in `name`"))
}

wire_object! {
    struct ChatToolChoice<'a> {
        "type" => kind: Option<Str<'a>>,
        "function" => function: Option<NameOnly<'a>>,
        "custom" => custom: Option<NameOnly<'a>>,
        "allowed_tools" => allowed_tools: Option<Allowed<'a>>,
        "name" => name: Option<Str<'a>>,
    }

    struct Allowed<'a> {
        "mode" => mode: Option<Str<'a>>,
        "tools" => tools: Option<Vec<ChatToolChoice<'a>>>,
    }
}

/// `None` for a choice that only another server of this dialect may understand.
fn read_choice(raw: &RawValue) -> Result<Option<ToolChoice>, BadRequest> {
    let refuse = || {
        BadRequest::new(
            "tool_choice",
            "`tool_choice` is invalid; use \"auto\", \"none\", \"required\" or \
            {\"type\":\"function\",\"function\":{\"name\":…}}",
        )
    };
    if let Ok(word) = serde_json::from_str::<Str<'_>>(raw.get()) {
        return match &*word {
            "auto" => Ok(Some(ToolChoice::Auto)),
            "none" => Ok(Some(ToolChoice::None)),
            "required" | "any" => Ok(Some(ToolChoice::Required)),
            _ => Err(refuse()),
        };
    }
    let choice: ChatToolChoice<'_> = serde_json::from_str(raw.get()).map_err(|_| refuse())?;
    if let Some(allowed) = choice.allowed_tools {
        let names = allowed.tools.unwrap_or_default();
        return Ok(Some(ToolChoice::Allowed {
            required: allowed.mode.as_deref() == Some("required"),
            names: names.into_iter().filter_map(named).collect(),
        }));
    }
    let kind = choice.kind.as_deref().map(str::to_owned);
    match named(choice) {
        Some(name) => Ok(Some(ToolChoice::Named(name))),
        None if kind
            .as_deref()
            .is_none_or(|kind| kind == "function" || kind == "custom") =>
        {
            Err(refuse())
        }
        None => Ok(None),
    }
}

fn named(choice: ChatToolChoice<'_>) -> Option<String> {
    choice
        .function
        .or(choice.custom)
        .and_then(|named| named.name)
        .or(choice.name)
        .map(Str::into_string)
}

fn read_legacy_choice(raw: &RawValue) -> Result<ToolChoice, BadRequest> {
    if let Ok(word) = serde_json::from_str::<Str<'_>>(raw.get()) {
        match &*word {
            "auto" => return Ok(ToolChoice::Auto),
            "none" => return Ok(ToolChoice::None),
            _ => {}
        }
    }
    serde_json::from_str::<NameOnly<'_>>(raw.get())
        .ok()
        .and_then(|named| named.name)
        .map(|name| ToolChoice::Named(name.into_string()))
        .ok_or_else(|| {
            BadRequest::new(
                "function_call",
                "`function_call` is invalid; use \"auto\", \"none\" or {\"name\":…}",
            )
        })
}
