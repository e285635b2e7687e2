//! Messages: one wire message is one turn, save that neighboring tool messages join.

use std::collections::HashMap;

use bardo_types::chat::{
    Audio, CacheMark, Message, Opaque, Part, Reasoning, Role, ToolCall, ToolInput, ToolResult,
};
use serde_json::value::RawValue;

use super::content::read_part;
use super::{extra, raw};
use crate::chat::details;
use crate::chat::shapes::request::{Content, WireMessage, WireToolCall};
use crate::codec::BadRequest;
use crate::json::{Str, wire_object};

pub(super) fn read(wire: Vec<WireMessage<'_>>) -> Result<Vec<Message>, BadRequest> {
    let mut reader = MessagesReader {
        messages: Vec::with_capacity(wire.len()),
        after_tool: false,
        custom: HashMap::new(),
        legacy: HashMap::new(),
    };
    for (index, message) in wire.into_iter().enumerate() {
        reader.take(index, message)?;
    }
    Ok(reader.messages)
}

struct MessagesReader {
    messages: Vec<Message>,
    /// The last message read was a tool's, so another one joins it.
    after_tool: bool,
    /// Whether the latest call of an id is one of a custom tool.
    custom: HashMap<String, bool>,
    /// The id of the latest legacy call of a function.
    legacy: HashMap<String, String>,
}

impl MessagesReader {
    fn take(&mut self, index: usize, mut wire: WireMessage<'_>) -> Result<(), BadRequest> {
        let role = wire.role.take();
        let is_tool = matches!(role.as_deref(), Some("tool" | "function"));
        let mark = raw(wire.cache_control).map(CacheMark);
        let mut message = match role.as_deref() {
            Some("system") => plain(index, Role::System, wire)?,
            Some("developer") => Message {
                developer: true,
                ..plain(index, Role::System, wire)?
            },
            Some("user") => plain(index, Role::User, wire)?,
            Some("assistant") => assistant(index, wire)?,
            Some("tool") => {
                let result = self.tool_result(index, wire)?;
                self.add_result(result);
                return Ok(());
            }
            Some("function") => {
                let result = self.function_result(index, wire)?;
                self.add_result(result);
                return Ok(());
            }
            Some(other) => {
                return Err(BadRequest::new(
                    format!("messages[{index}].role"),
                    format!(
                        "role `{other}` is unknown; use system, developer, user, assistant or tool"
                    ),
                ));
            }
            None => {
                return Err(BadRequest::new(
                    format!("messages[{index}].role"),
                    "`role` is missing; use system, developer, user, assistant or tool",
                ));
            }
        };
        self.after_tool = is_tool;
        mark_end(&mut message, mark);
        self.note_calls(&message);
        self.messages.push(message);
        Ok(())
    }

    fn add_result(&mut self, result: ToolResult) {
        let part = Part::ToolResult(result);
        match self.messages.last_mut() {
            Some(last) if self.after_tool => last.parts.push(part),
            _ => self.messages.push(Message::new(Role::User, vec![part])),
        }
        self.after_tool = true;
    }

    fn tool_result(&self, index: usize, wire: WireMessage<'_>) -> Result<ToolResult, BadRequest> {
        let Some(call_id) = wire.tool_call_id.map(Str::into_string) else {
            return Err(BadRequest::new(
                format!("messages[{index}].tool_call_id"),
                "a tool message needs `tool_call_id`: the id of its tool call",
            ));
        };
        let custom = self.custom.get(&call_id).copied().unwrap_or(false);
        Ok(ToolResult {
            call_id,
            parts: parts(index, wire.content)?,
            is_error: false,
            custom,
            cache: raw(wire.cache_control).map(CacheMark),
        })
    }

    /// The answer to a legacy `function_call`, which is paired by name.
    fn function_result(
        &self,
        index: usize,
        wire: WireMessage<'_>,
    ) -> Result<ToolResult, BadRequest> {
        let name = wire.name.as_deref().unwrap_or("");
        let call_id = self.legacy.get(name).cloned();
        Ok(ToolResult {
            call_id: call_id.unwrap_or_else(|| format!("{LEGACY_ID}{index}")),
            parts: parts(index, wire.content)?,
            is_error: false,
            custom: false,
            cache: raw(wire.cache_control).map(CacheMark),
        })
    }

    /// Notes the calls of a message for the results that follow.
    fn note_calls(&mut self, message: &Message) {
        for part in &message.parts {
            let Part::ToolCall(call) = part else { continue };
            let is_custom = matches!(call.input, ToolInput::Text(_));
            self.custom.insert(call.id.clone(), is_custom);
            if call.id.starts_with(LEGACY_ID) {
                self.legacy.insert(call.name.clone(), call.id.clone());
            }
        }
    }
}

/// Puts the prompt-cache mark of a whole message on its last part, as clients that write one mean it
/// (LiteLLM). A part that has a mark keeps it.
fn mark_end(message: &mut Message, mark: Option<CacheMark>) {
    let Some(mark) = mark else { return };
    let slots = message.parts.iter_mut().rev();
    let last = slots.into_iter().find_map(|part| match part {
        Part::Text(text) => Some(&mut text.cache),
        Part::Image(image) => Some(&mut image.cache),
        Part::Document(document) => Some(&mut document.cache),
        Part::ToolCall(call) => Some(&mut call.cache),
        _ => None,
    });
    if let Some(slot) = last {
        slot.get_or_insert(mark);
    }
}

/// Begins ids that are made up for legacy `function_call` messages, which have none.
const LEGACY_ID: &str = "call_legacy_";

fn plain(index: usize, role: Role, wire: WireMessage<'_>) -> Result<Message, BadRequest> {
    if wire.content.is_none() {
        return Err(BadRequest::new(
            format!("messages[{index}].content"),
            "`content` is missing; send a string or an array of parts",
        ));
    }
    Ok(Message {
        name: wire.name.map(Str::into_string),
        ..Message::new(role, parts(index, wire.content)?)
    })
}

fn parts(index: usize, content: Option<Content<'_>>) -> Result<Vec<Part>, BadRequest> {
    let Some(content) = content else {
        return Ok(Vec::new());
    };
    content.into_parts(|place, part| {
        read_part(part, &|| format!("messages[{index}].content[{place}]"))
    })
}

fn assistant(index: usize, wire: WireMessage<'_>) -> Result<Message, BadRequest> {
    let mut all = Vec::new();
    read_reasoning(&wire, &mut all);
    let content = parts(index, wire.content)?;
    all.extend(content.into_iter().filter(
        |part| !matches!(part, Part::Text(text) if text.text.is_empty() && text.cache.is_none()),
    ));
    if let Some(refusal) = wire.refusal.filter(|text| !text.is_empty()) {
        all.push(Part::Refusal(refusal.into_string()));
    }
    if let Some(id) = wire.audio.and_then(read_audio_id) {
        all.push(Part::Audio(Audio {
            data: String::new(),
            format: String::new(),
            id: Some(id),
        }));
    }
    for (place, call) in wire.tool_calls.into_iter().flatten().enumerate() {
        all.push(Part::ToolCall(read_call(index, place, call)?));
    }
    if let Some(call) = wire.function_call {
        let Some(name) = call.name.map(Str::into_string) else {
            return Err(BadRequest::new(
                format!("messages[{index}].function_call.name"),
                "`name` is missing; send the name of the called function",
            ));
        };
        let arguments = call.arguments.map(Str::into_string).unwrap_or_default();
        all.push(Part::ToolCall(ToolCall::new(
            format!("{LEGACY_ID}{index}"),
            name,
            arguments,
        )));
    }
    Ok(Message {
        name: wire.name.map(Str::into_string),
        ..Message::new(Role::Assistant, all)
    })
}

/// Thinking comes back in `reasoning_details` with its state, or else as bare text.
fn read_reasoning(wire: &WireMessage<'_>, all: &mut Vec<Part>) {
    let detailed = wire
        .reasoning_details
        .as_deref()
        .map(details::read_all)
        .unwrap_or_default();
    if !detailed.iter().any(|reasoning| !reasoning.text.is_empty()) {
        let bare = wire
            .reasoning
            .and_then(|raw| serde_json::from_str::<Str<'_>>(raw.get()).ok());
        let text = wire.reasoning_content.as_deref().or(bare.as_deref());
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            all.push(Part::Reasoning(Reasoning {
                text: text.to_owned(),
                summary: false,
                opaque: Some(Opaque::ReasoningContent),
            }));
        }
    }
    all.extend(detailed.into_iter().map(Part::Reasoning));
    if let Some(signature) = &wire.thought_signature {
        all.push(Part::Reasoning(Reasoning {
            opaque: Some(details::thought_signature(signature)),
            ..Reasoning::default()
        }));
    }
}

wire_object! {
    pub(in crate::chat) struct AudioId<'a> {
        "id" => id: Option<Str<'a>>,
    }
}

fn read_audio_id(raw: &RawValue) -> Option<String> {
    let audio: AudioId<'_> = serde_json::from_str(raw.get()).ok()?;
    audio.id.map(Str::into_string)
}

fn read_call(index: usize, place: usize, call: WireToolCall<'_>) -> Result<ToolCall, BadRequest> {
    let path = |member: &str| format!("messages[{index}].tool_calls[{place}].{member}");
    let Some(id) = call.id.filter(|id| !id.is_empty()) else {
        return Err(BadRequest::new(
            path("id"),
            "the tool call has no `id`; send back the id from the answer",
        ));
    };
    let (name, input) = match (call.function, call.custom) {
        (_, Some(custom)) => (
            custom.name,
            ToolInput::Text(custom.input.map(Str::into_string).unwrap_or_default()),
        ),
        (Some(function), None) => (
            function.name,
            ToolInput::Json(function.arguments.map(Str::into_string).unwrap_or_default()),
        ),
        (None, None) => (None, ToolInput::Json(String::new())),
    };
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return Err(BadRequest::new(
            path("function.name"),
            "the tool call has no name; send the name of the tool",
        ));
    };
    Ok(ToolCall {
        id: id.into_string(),
        name: name.into_string(),
        input,
        opaque: call.extra_content.and_then(thought_signature),
        cache: None,
        extra: extra(call.extra).collect(),
    })
}

wire_object! {
    pub(in crate::chat) struct ExtraContent<'a> {
        "google" => google: Option<Google<'a>>,
    }

    pub(in crate::chat) struct Google<'a> {
        "thought_signature" => thought_signature: Option<Str<'a>>,
    }
}

/// Gemini's signature on a call, as its OpenAI-compatible endpoint writes it.
pub(in crate::chat) fn thought_signature(raw: &RawValue) -> Option<Opaque> {
    let content: ExtraContent<'_> = serde_json::from_str(raw.get()).ok()?;
    let signature = content.google?.thought_signature?;
    Some(Opaque::GeminiSignature(signature.into_string()))
}
