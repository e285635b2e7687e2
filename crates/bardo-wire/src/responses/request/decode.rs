//! A caller's request body to a neutral conversation.

mod history;
mod refusal;
mod unread;

use bardo_types::chat::{
    ChatRequest, Logprobs, Message, OutputFormat, Part, Role, Sampling, Text, Tool, Verbosity,
};
use bardo_types::json::RawJson;
use bardo_types::model::{Dialect, Effort};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::codec::{BadRequest, DecodedRequest};
use crate::json::{Str, kept_object};
use crate::responses::shapes::{Input, Item, ReasoningConfig, ResponsesBody, TextConfig};
use crate::responses::tools;

/// The kind of item that brings tools.
pub(in crate::responses) const ADDITIONAL_TOOLS: &str = "additional_tools";
/// Asks for reasoning state that the caller can hand back.
pub(in crate::responses) const INCLUDE_STATE: &str = "reasoning.encrypted_content";
/// Asks for token probabilities.
pub(in crate::responses) const INCLUDE_LOGPROBS: &str = "message.output_text.logprobs";

/// Reads a Responses request.
///
/// # Errors
/// When the body is not JSON of the right shape; the refusal names the field and the fix.
pub fn decode_request(body: &[u8]) -> Result<ChatRequest, BadRequest> {
    Ok(read_request(body)?.request)
}

/// Reads a Responses request, and says whether its neutral form lacks members of the body.
///
/// # Errors
/// As [`decode_request`].
pub fn read_request(body: &[u8]) -> Result<DecodedRequest, BadRequest> {
    let wire: ResponsesBody<'_> =
        serde_json::from_slice(body).map_err(|error| refusal::locate(body, &error))?;
    let mut holds_unread_members = unread::holds_unread_members(&wire);
    Ok(DecodedRequest {
        request: of_wire(wire, &mut holds_unread_members)?,
        holds_unread_members,
    })
}

/// Notes in `is_unread` whether members of tools stay unread.
fn of_wire(wire: ResponsesBody<'_>, is_unread: &mut bool) -> Result<ChatRequest, BadRequest> {
    let Some(model) = wire.model.as_deref() else {
        return Err(BadRequest::new(
            "model",
            "`model` is missing; send the name of a model as a string",
        ));
    };
    let mut request = ChatRequest::new(Dialect::Responses, model);
    if let Some(text) = wire.instructions.as_deref() {
        request
            .messages
            .push(Message::new(Role::System, vec![Text::new(text).into()]));
    }
    match wire.input {
        Some(Input::Text(text)) => request
            .messages
            .push(Message::new(Role::User, vec![Part::Text(Text::new(text))])),
        Some(Input::List(items)) => {
            request.tools = added_tools(&items, is_unread)?;
            history::messages(items, &mut request.messages)?;
        }
        None => {}
    }
    let raw = |value: Option<&RawValue>| value.map(RawJson::from);
    if let Some(list) = &wire.tools {
        let added = std::mem::replace(&mut request.tools, tools::decode("tools", list, is_unread)?);
        request.tools.extend(added);
    }
    if let Some(choice) = wire.tool_choice {
        tools::decode_choice(choice, &mut request, is_unread)?;
    }
    request.parallel_tool_calls = wire.parallel_tool_calls;
    request.max_output_tokens = wire.max_output_tokens;
    request.sampling = Sampling {
        temperature: number("temperature", wire.temperature)?,
        top_p: number("top_p", wire.top_p)?,
        ..Sampling::default()
    };
    request.stream = wire.stream.unwrap_or(false);
    request.include_usage = true;
    request.store = wire.store;
    request.metadata = raw(wire.metadata);
    request.service_tier = wire.service_tier.map(Str::into_string);
    request.end_user = wire.safety_identifier.map(Str::into_string);
    request.cache.key = wire.prompt_cache_key.map(Str::into_string);
    request.cache.options = raw(wire.prompt_cache_options);
    request.logprobs = wire
        .top_logprobs
        .filter(|&top| top > 0)
        .map(|top| Logprobs { top: Some(top) });
    if let Some(config) = wire.reasoning {
        reasoning(config, &mut request);
    }
    if let Some(config) = wire.text {
        text(config, &mut request)?;
    }
    include(wire.include.unwrap_or_default(), &mut request);
    request.extra.extend(kept(wire.extra));
    Ok(request)
}

/// The tools that come in the conversation instead of `tools`, as Codex sends them.
fn added_tools(items: &[Item<'_>], is_unread: &mut bool) -> Result<Vec<Tool>, BadRequest> {
    let mut added = Vec::new();
    for (index, item) in items.iter().enumerate() {
        if item.kind() != ADDITIONAL_TOOLS {
            continue;
        }
        let path = format!("input[{index}].tools");
        let list: Vec<&RawValue> = item
            .get("tools")
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .ok_or_else(|| BadRequest::new(&path, format!("`{path}` must be a list of tools")))?;
        added.extend(tools::decode(&path, &list, is_unread)?);
    }
    Ok(added)
}

/// A number as written.
fn number(param: &str, value: Option<&RawValue>) -> Result<Option<RawJson>, BadRequest> {
    match value {
        None => Ok(None),
        Some(raw) if raw.get() == "null" => Ok(None),
        Some(raw) if serde_json::Number::deserialize(raw).is_ok() => Ok(Some(raw.into())),
        Some(_) => Err(BadRequest::new(
            param,
            format!("`{param}` must be a number"),
        )),
    }
}

/// Keeps what has no neutral meaning under the member's own name, for the same dialect.
fn leftover(key: &str, members: Vec<(String, RawJson)>, request: &mut ChatRequest) {
    if !members.is_empty() {
        let rest = kept_object(|object| object.members(&members));
        request.extra.push((key.to_owned(), rest));
    }
}

fn kept(extra: Vec<(Str<'_>, &RawValue)>) -> Vec<(String, RawJson)> {
    extra
        .into_iter()
        .filter(|(_, raw)| raw.get() != "null")
        .map(|(key, raw)| (key.into_string(), raw.into()))
        .collect()
}

fn reasoning(config: ReasoningConfig<'_>, request: &mut ChatRequest) {
    let mut rest = kept(config.extra);
    if let Some(name) = config.effort.as_deref() {
        request.reasoning.effort = Effort::parse(name);
        // An effort newer than our table still reaches an upstream of the same dialect.
        if request.reasoning.effort.is_none() {
            rest.push(("effort".to_owned(), RawJson::string(name)));
        }
    }
    request.reasoning.summary = config
        .summary
        .or(config.generate_summary)
        .map(Str::into_string);
    leftover("reasoning", rest, request);
}

fn text(config: TextConfig<'_>, request: &mut ChatRequest) -> Result<(), BadRequest> {
    request.verbosity = match config.verbosity.as_deref() {
        None => None,
        Some("low") => Some(Verbosity::Low),
        Some("medium") => Some(Verbosity::Medium),
        Some("high") => Some(Verbosity::High),
        Some(_) => {
            return Err(BadRequest::new(
                "text.verbosity",
                "`text.verbosity` must be \"low\", \"medium\" or \"high\"",
            ));
        }
    };
    if let Some(format) = config.format {
        request.output = match format.kind.as_deref() {
            Some("text") | None => OutputFormat::Text,
            Some("json_object") => OutputFormat::JsonObject,
            Some("json_schema") => OutputFormat::JsonSchema {
                name: format.name.map(Str::into_string),
                description: format.description.map(Str::into_string),
                schema: format.schema.map(RawJson::from).ok_or_else(|| {
                    BadRequest::new(
                        "text.format.schema",
                        "`text.format.schema` is missing; a format of type `json_schema` needs one",
                    )
                })?,
                strict: format.strict,
            },
            Some(_) => {
                return Err(BadRequest::new(
                    "text.format.type",
                    "`text.format.type` must be \"text\", \"json_object\" or \"json_schema\"",
                ));
            }
        };
    }
    leftover("text", kept(config.extra), request);
    Ok(())
}

fn include(wanted: Vec<Str<'_>>, request: &mut ChatRequest) {
    let mut rest: Vec<String> = Vec::new();
    for entry in wanted {
        match &*entry {
            INCLUDE_STATE => request.reasoning.encrypted = true,
            INCLUDE_LOGPROBS => {
                request.logprobs.get_or_insert(Logprobs { top: None });
            }
            _ => rest.push(entry.into_string()),
        }
    }
    if !rest.is_empty() {
        let rest = RawJson::of(&rest).expect("strings always serialize");
        request.extra.push(("include".to_owned(), rest));
    }
}
