//! The caller's request.

mod unread;

use bardo_types::chat::{
    ChatRequest, Message, OutputFormat, Part, ReasoningRequest, Role, Text, ThinkingDisplay,
    ThinkingMode, Tool, ToolChoice,
};
use bardo_types::json::RawJson;
use bardo_types::model::{Dialect, Effort};
use serde_json::value::RawValue;

use crate::anthropic::blocks_out::{CALL_STATE, TEXT_STATE};
use crate::anthropic::path;
use crate::anthropic::shapes as block;
use crate::anthropic::shapes::{Block, BlockKind, BlockPlace, Content};
use crate::codec::{BadRequest, DecodedRequest};
use crate::envelope::{self, Opened};
use crate::json::{Members, Str, wire_object};

wire_object! {
    struct RequestWire<'a> {
        "model" => model: Option<Str<'a>>,
        "max_tokens" => max_tokens: Option<u64>,
        "messages" => messages: Option<Vec<RequestMessage<'a>>>,
        "system" => system: Option<Content<'a>>,
        "stop_sequences" => stop_sequences: Option<Vec<Str<'a>>>,
        "metadata" => metadata: Option<Members<'a>>,
        "service_tier" => service_tier: Option<Str<'a>>,
        "thinking" => thinking: Option<ThinkingWire<'a>>,
        "output_config" => output_config: Option<OutputConfigWire<'a>>,
        "output_format" => output_format: Option<Members<'a>>,
        "tool_choice" => tool_choice: Option<ToolChoiceWire<'a>>,
        "tools" => tools: Option<Vec<Members<'a>>>,
        "cache_control" => cache_control: Option<&'a RawValue>,
        "temperature" => temperature: Option<&'a RawValue>,
        "top_p" => top_p: Option<&'a RawValue>,
        "top_k" => top_k: Option<&'a RawValue>,
        "stream" => stream: Option<bool>,
    }

    struct RequestMessage<'a> {
        "role" => role: Option<Str<'a>>,
        "content" => content: Option<Content<'a>>,
        "output_config" => output_config: Option<&'a RawValue>,
    }

    struct ThinkingWire<'a> {
        "type" => kind: Option<Str<'a>>,
        "budget_tokens" => budget_tokens: Option<u64>,
        "display" => display: Option<Str<'a>>,
    }

    struct OutputConfigWire<'a> {
        "effort" => effort: Option<Str<'a>>,
        "format" => format: Option<Members<'a>>,
    }

    struct ToolChoiceWire<'a> {
        "type" => kind: Option<Str<'a>>,
        "name" => name: Option<Str<'a>>,
        "disable_parallel_tool_use" => disable_parallel: Option<bool>,
    }
}

/// Reads a caller's request to `/v1/messages`.
///
/// # Errors
/// When a member is missing or of the wrong type; members that are not known are kept.
pub fn decode_request(body: &[u8]) -> Result<ChatRequest, BadRequest> {
    Ok(read_request(body)?.request)
}

/// Reads a caller's request to `/v1/messages`, and says whether its neutral form lacks members of
/// the body.
///
/// # Errors
/// As [`decode_request`].
pub fn read_request(body: &[u8]) -> Result<DecodedRequest, BadRequest> {
    let wire = parse(body)?;
    let holds_unread_members = unread::holds_unread_members(&wire);
    let request = of_wire(wire)?;
    if request.max_output_tokens.is_none() {
        return Err(required("max_tokens"));
    }
    Ok(DecodedRequest {
        request,
        holds_unread_members,
    })
}

fn required(member: &str) -> BadRequest {
    BadRequest::new(member, format!("{member} is required"))
}

/// Reads a request whose `max_tokens` may be missing.
pub(in crate::anthropic) fn decode(body: &[u8]) -> Result<ChatRequest, BadRequest> {
    of_wire(parse(body)?)
}

fn parse(body: &[u8]) -> Result<RequestWire<'_>, BadRequest> {
    serde_json::from_slice(body).map_err(|error| path::refuse(body, &error))
}

fn of_wire(wire: RequestWire<'_>) -> Result<ChatRequest, BadRequest> {
    let model = wire.model.ok_or_else(|| required("model"))?;
    let mut request = ChatRequest::new(Dialect::Anthropic, model.into_string());
    request.extra = block::extra(wire.extra);
    request.messages = messages(wire.system, wire.messages)?;
    request.tools = tools(wire.tools.unwrap_or_default())?;
    if let Some(choice) = wire.tool_choice {
        tool_choice(choice, &mut request)?;
    }
    request.max_output_tokens = wire.max_tokens;
    request.sampling.temperature = number("temperature", wire.temperature)?;
    request.sampling.top_p = number("top_p", wire.top_p)?;
    request.sampling.top_k = number("top_k", wire.top_k)?;
    request.stop = wire
        .stop_sequences
        .unwrap_or_default()
        .into_iter()
        .map(Str::into_string)
        .collect();
    if let Some(thinking) = wire.thinking {
        request.reasoning = reasoning(thinking, &mut request.extra)?;
    }
    let config = wire.output_config.unwrap_or_default();
    if let Some(effort) = config.effort {
        match Effort::parse(&effort) {
            Some(effort) => request.reasoning.effort = Some(effort),
            None => keep(
                &mut request.extra,
                "output_config.effort",
                RawJson::string(&effort),
            ),
        }
    }
    if let Some(format) = config.format.or(wire.output_format) {
        output_format(format, &mut request)?;
    }
    for (name, raw) in config.extra {
        keep(
            &mut request.extra,
            &format!("output_config.{}", &*name),
            raw.into(),
        );
    }
    for (name, raw) in wire.metadata.unwrap_or_default().extra {
        match serde_json::from_str(raw.get()) {
            Ok(user) if &*name == "user_id" => request.end_user = user,
            _ => keep(
                &mut request.extra,
                &format!("metadata.{}", &*name),
                raw.into(),
            ),
        }
    }
    request.service_tier = wire.service_tier.map(Str::into_string);
    request.cache.automatic = wire.cache_control.map(RawJson::from);
    request.stream = wire.stream.unwrap_or(false);
    request.include_usage = true;
    Ok(request)
}

/// Keeps a member of a member, by its dotted name; the encoder of this dialect puts it back.
fn keep(extra: &mut Vec<(String, RawJson)>, name: &str, raw: RawJson) {
    extra.push((name.to_owned(), raw));
}

fn number(name: &str, raw: Option<&RawValue>) -> Result<Option<RawJson>, BadRequest> {
    let Some(raw) = raw else { return Ok(None) };
    if raw
        .get()
        .starts_with(|first: char| first == '-' || first.is_ascii_digit())
    {
        Ok(Some(raw.into()))
    } else {
        Err(BadRequest::new(name, format!("{name} must be a number")))
    }
}

fn messages(
    system: Option<Content<'_>>,
    wire: Option<Vec<RequestMessage<'_>>>,
) -> Result<Vec<Message>, BadRequest> {
    let wire = wire.ok_or_else(|| required("messages"))?;
    let mut messages = Vec::with_capacity(wire.len() + 1);
    let is_empty = |content: &Content<'_>| match content {
        Content::Text(text) => text.is_empty(),
        Content::List(blocks) => blocks.is_empty(),
    };
    if let Some(system) = system.filter(|system| !is_empty(system)) {
        let parts = system.into_parts(|index, block| block.into_part(BlockPlace::System(index)))?;
        messages.push(Message::new(Role::System, parts));
    }
    for (index, message) in wire.into_iter().enumerate() {
        let role = match message.role.as_deref() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            _ => {
                let param = format!("messages[{index}].role");
                let text = format!("{param} must be `user`, `assistant` or `system`");
                return Err(BadRequest::new(param, text));
            }
        };
        let parts = match message.content {
            Some(Content::Text(text)) => vec![Text::new(text).into()],
            Some(Content::List(blocks)) => content(blocks, index)?,
            None => return Err(required(&format!("messages[{index}].content"))),
        };
        messages.push(Message {
            output_config: message.output_config.map(RawJson::from),
            ..Message::new(role, parts)
        });
    }
    Ok(messages)
}

/// The parts of one message. State that another provider bound to a call or a text travels in a
/// thinking block of its own and is put back where it belongs.
fn content(blocks: Vec<Block<'_>>, message: usize) -> Result<Vec<Part>, BadRequest> {
    let mut parts = Vec::with_capacity(blocks.len());
    let mut for_next_call = None;
    for (index, block) in blocks.into_iter().enumerate() {
        if let Some(opened) = bound_state(&block) {
            match (opened.text.as_deref(), parts.last_mut()) {
                (Some(CALL_STATE), _) => for_next_call = Some(opened.opaque),
                (_, Some(Part::Text(text))) => text.opaque = Some(opened.opaque),
                _ => parts.push(Part::Text(Text {
                    opaque: Some(opened.opaque),
                    ..Text::default()
                })),
            }
            continue;
        }
        let mut part = block.into_part(BlockPlace::Message(message, index))?;
        if let Part::ToolCall(call) = &mut part {
            call.opaque = for_next_call.take();
        }
        parts.push(part);
    }
    Ok(parts)
}

fn bound_state(block: &Block<'_>) -> Option<Opened> {
    if block.kind != BlockKind::Thinking {
        return None;
    }
    envelope::open(block.signature.as_deref()?)
        .filter(|opened| matches!(opened.text.as_deref(), Some(CALL_STATE | TEXT_STATE)))
}

fn tools(wire: Vec<Members<'_>>) -> Result<Vec<Tool>, BadRequest> {
    wire.into_iter()
        .enumerate()
        .map(|(index, members)| tool(members, index))
        .collect()
}

fn tool(members: Members<'_>, index: usize) -> Result<Tool, BadRequest> {
    let wrong = |member: &str, what: &str| {
        let param = format!("tools[{index}].{member}");
        let text = format!("{param} must be {what}");
        BadRequest::new(param, text)
    };
    let string = |name: &str| -> Result<Option<String>, BadRequest> {
        members
            .get(name)
            .map(|raw| serde_json::from_str(raw.get()).map_err(|_| wrong(name, "a string")))
            .transpose()
    };
    let kind = string("type")?;
    if let Some(kind) = kind.filter(|kind| kind != "custom") {
        return Ok(Tool::Server {
            dialect: Dialect::Anthropic,
            name: string("name")?,
            kind,
            raw: members.to_raw(None),
        });
    }
    let name = string("name")?.ok_or_else(|| wrong("name", "given"))?;
    let description = string("description")?;
    let strict = members
        .get("strict")
        .map(|raw| serde_json::from_str(raw.get()).map_err(|_| wrong("strict", "true or false")))
        .transpose()?;
    let schema = members.get("input_schema").map(RawJson::from);
    if schema
        .as_ref()
        .is_some_and(|schema| !schema.as_str().starts_with('{'))
    {
        return Err(wrong("input_schema", "a JSON schema object"));
    }
    let cache = block::mark(members.get("cache_control"));
    let known = [
        "type",
        "name",
        "description",
        "strict",
        "input_schema",
        "cache_control",
    ];
    let rest = members
        .extra
        .into_iter()
        .filter(|(key, _)| !known.contains(&&**key))
        .collect();
    Ok(Tool::Function {
        name,
        description,
        schema,
        strict,
        cache,
        extra: block::extra(rest),
    })
}

fn tool_choice(wire: ToolChoiceWire<'_>, request: &mut ChatRequest) -> Result<(), BadRequest> {
    request.tool_choice = match wire.kind.as_deref() {
        Some("auto") => Some(ToolChoice::Auto),
        Some("none") => Some(ToolChoice::None),
        Some("any") => Some(ToolChoice::Required),
        Some("tool") => {
            let name = wire.name.ok_or_else(|| required("tool_choice.name"))?;
            Some(ToolChoice::Named(name.into_string()))
        }
        _ => {
            return Err(BadRequest::new(
                "tool_choice.type",
                "tool_choice.type must be `auto`, `any`, `tool` or `none`",
            ));
        }
    };
    if wire.disable_parallel == Some(true) {
        request.parallel_tool_calls = Some(false);
    }
    for (name, raw) in wire.extra {
        keep(
            &mut request.extra,
            &format!("tool_choice.{}", &*name),
            raw.into(),
        );
    }
    Ok(())
}

fn reasoning(
    wire: ThinkingWire<'_>,
    extra: &mut Vec<(String, RawJson)>,
) -> Result<ReasoningRequest, BadRequest> {
    let mode = match wire.kind.as_deref() {
        Some("adaptive") => Some(ThinkingMode::Adaptive),
        Some("disabled") => Some(ThinkingMode::Disabled),
        Some("between_tools") => Some(ThinkingMode::BetweenTools),
        Some("enabled") => Some(ThinkingMode::Budget(
            wire.budget_tokens
                .ok_or_else(|| required("thinking.budget_tokens"))?,
        )),
        Some(other) => {
            keep(extra, "thinking.type", RawJson::string(other));
            None
        }
        None => return Err(required("thinking.type")),
    };
    let display = match wire.display.as_deref() {
        Some("summarized") => Some(ThinkingDisplay::Summarized),
        Some("omitted") => Some(ThinkingDisplay::Omitted),
        Some(other) => {
            keep(extra, "thinking.display", RawJson::string(other));
            None
        }
        None => None,
    };
    for (name, raw) in wire.extra {
        keep(extra, &format!("thinking.{}", &*name), raw.into());
    }
    Ok(ReasoningRequest {
        mode,
        display,
        ..ReasoningRequest::default()
    })
}

fn output_format(format: Members<'_>, request: &mut ChatRequest) -> Result<(), BadRequest> {
    let kind: Option<String> = format
        .get("type")
        .and_then(|raw| serde_json::from_str(raw.get()).ok());
    if kind.as_deref() != Some("json_schema") {
        keep(
            &mut request.extra,
            "output_config.format",
            format.to_raw(None),
        );
        return Ok(());
    }
    let schema = format
        .get("schema")
        .ok_or_else(|| required("output_config.format.schema"))?;
    request.output = OutputFormat::JsonSchema {
        name: None,
        description: None,
        schema: schema.into(),
        strict: None,
    };
    Ok(())
}
