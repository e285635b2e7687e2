//! A neutral answer in the caller's words.

pub(in crate::chat) mod citations;

use bardo_types::chat::{
    ChatResponse, Choice, Finish, Opaque, Part, Text, ThinkingDisplay, ToolCall, ToolInput,
};
use bardo_types::json::RawJson;
use bardo_types::model::{Dialect, Service};

use crate::chat::details;
use crate::chat::tools::decode::LEGACY_FUNCTIONS;
use crate::chat::usage::encode::write as write_usage;
use crate::codec::{Original, ReplyContext};
use crate::json::{Array, Object, Str, ToJson, wire_object};
use crate::kit::custom_tools::unwrapped;

/// Writes a whole answer.
#[must_use]
pub fn encode_response(response: &ChatResponse, context: &ReplyContext) -> Vec<u8> {
    write_reply(
        ReplyForm::Answer,
        response,
        context,
        |index, choice, out| {
            write_choice(index, choice, context, out);
        },
    )
}

/// The form in which an answer is written.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::chat) enum ReplyForm {
    /// A whole answer of Chat Completions.
    Answer,
    /// A chunk of Chat Completions.
    Chunk,
    /// An answer of the legacy endpoint, or a chunk of one.
    Completion,
}

/// The values of an answer beside its choices.
#[derive(Default)]
pub(in crate::chat) struct Head<'a> {
    pub(in crate::chat) id: Option<&'a str>,
    pub(in crate::chat) model: Option<&'a str>,
    /// When the answer was made, in Unix seconds.
    pub(in crate::chat) created: Option<u64>,
    pub(in crate::chat) service_tier: Option<&'a str>,
}

/// Writes the members in front of the choices.
pub(in crate::chat) fn write_head(
    form: ReplyForm,
    head: &Head<'_>,
    context: &ReplyContext,
    body: &mut Object<'_>,
) {
    let (prefix, kind) = match form {
        ReplyForm::Answer => ("chatcmpl-", "chat.completion"),
        ReplyForm::Chunk => ("chatcmpl-", "chat.completion.chunk"),
        ReplyForm::Completion => ("cmpl-", "text_completion"),
    };
    body.set("id", reply_id(head.id, prefix, context))
        .set("object", kind)
        .set("created", head.created.unwrap_or(context.created))
        .set("model", head.model.unwrap_or(&context.model))
        .set("system_fingerprint", ());
    if form != ReplyForm::Completion {
        body.set_some("service_tier", service_tier(head.service_tier));
    }
}

/// Writes a whole answer, each choice by `write`.
pub(in crate::chat) fn write_reply(
    form: ReplyForm,
    response: &ChatResponse,
    context: &ReplyContext,
    mut write: impl FnMut(usize, &Choice, &mut Array<'_>),
) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    let mut body = Object::new(&mut out);
    let head = Head {
        id: response.id.as_deref(),
        model: response.model.as_deref(),
        created: response.created,
        service_tier: response.service_tier.as_deref(),
    };
    write_head(form, &head, context, &mut body);
    let mut choices = body.array("choices");
    for (index, choice) in response.choices.iter().enumerate() {
        write(index, choice, &mut choices);
    }
    choices.end();
    if let Some(usage) = &response.usage {
        write_usage(usage, &mut body.object("usage"));
    }
    body.end();
    out
}

/// The provider's id where it has the form that callers expect, else one made from the request's.
fn reply_id(id: Option<&str>, prefix: &str, context: &ReplyContext) -> String {
    match id {
        Some(id) if id.starts_with(prefix) => id.to_owned(),
        _ => format!("{prefix}{}", context.id_seed),
    }
}

/// The tier by OpenAI's names; other providers' names would break strict clients.
fn service_tier(tier: Option<&str>) -> Option<&str> {
    match tier? {
        "standard" => Some("default"),
        tier @ ("auto" | "default" | "flex" | "scale" | "priority" | "fast") => Some(tier),
        _ => None,
    }
}

/// Whether the caller declared `functions` and expects a `function_call`.
pub(in crate::chat) fn wants_legacy_calls(context: &ReplyContext) -> bool {
    context
        .request
        .extra
        .iter()
        .any(|(name, _)| name == LEGACY_FUNCTIONS)
}

/// Whether the caller wants to see nothing of the thinking (`reasoning.exclude`).
pub(in crate::chat) fn hides_thinking(context: &ReplyContext) -> bool {
    context.request.reasoning.display == Some(ThinkingDisplay::Omitted)
}

/// The finish reasons of this dialect; strict clients take no other.
pub(in crate::chat) fn finish_reason(
    finish: Option<Finish>,
    calls: bool,
    legacy: bool,
) -> &'static str {
    match finish {
        Some(Finish::Length | Finish::ContextWindow) => "length",
        Some(Finish::Refusal) => "content_filter",
        Some(Finish::ToolCalls) if !calls => "stop",
        Some(
            Finish::Stop
            | Finish::StopSequence
            | Finish::ToolCalls
            | Finish::Pause
            | Finish::Unknown,
        )
        | None => match (calls, legacy) {
            (true, true) => "function_call",
            (true, false) => "tool_calls",
            (false, _) => "stop",
        },
    }
}

fn write_choice(index: usize, choice: &Choice, context: &ReplyContext, out: &mut Array<'_>) {
    let calls: Vec<&ToolCall> = choice
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
        .collect();
    let legacy = wants_legacy_calls(context);
    let mut object = out.object();
    object.set("index", index as u64);
    write_message(
        choice,
        &calls,
        legacy,
        context,
        &mut object.object("message"),
    );
    match &choice.logprobs {
        Some(logprobs) => object.raw("logprobs", logprobs.as_str()),
        None => object.set("logprobs", ()),
    };
    object.set(
        "finish_reason",
        finish_reason(choice.finish, !calls.is_empty(), legacy),
    );
}

fn write_message(
    choice: &Choice,
    calls: &[&ToolCall],
    legacy: bool,
    context: &ReplyContext,
    message: &mut Object<'_>,
) {
    let texts: Vec<&Text> = choice
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(text),
            _ => None,
        })
        .collect();
    let content: String = texts.iter().map(|text| text.text.as_str()).collect();
    let refusal = refusal_text(choice);
    message.set("role", "assistant");
    if content.is_empty() && (!calls.is_empty() || refusal.is_some()) {
        message.set("content", ());
    } else {
        message.set("content", &content);
    }
    message.set("refusal", &refusal);
    citations::write_all(&texts, &mut message.array("annotations"));
    if !hides_thinking(context) {
        write_reasoning(choice, context.original, message);
    }
    for part in &choice.parts {
        if let Part::Server(block) = part
            && block.dialect == Dialect::Chat
        {
            message.foreign(&block.kind, block.raw.as_str());
        }
        if let Part::Audio(audio) = part {
            message
                .object("audio")
                .set("id", &audio.id)
                .set("data", &audio.data)
                .raw("expires_at", "0")
                .set("transcript", "");
        }
    }
    match calls.first() {
        Some(call) if legacy => {
            message
                .object("function_call")
                .set("name", &call.name)
                .set("arguments", arguments(call));
        }
        Some(_) => {
            let mut list = message.array("tool_calls");
            for call in calls {
                write_call(call, context, &mut list.object());
            }
        }
        None => {}
    }
}

/// The refusal in words: the model's own, or what the provider says of it.
fn refusal_text(choice: &Choice) -> Option<String> {
    let words: String = choice
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Refusal(words) => Some(words.as_str()),
            _ => None,
        })
        .collect();
    if words.is_empty() {
        (choice.finish == Some(Finish::Refusal)).then(|| explanation(choice.details.as_ref()))
    } else {
        Some(words)
    }
}

wire_object! {
    struct StopDetails<'a> {
        "explanation" => explanation: Option<Str<'a>>,
    }
}

pub(in crate::chat) fn explanation(details: Option<&RawJson>) -> String {
    details
        .and_then(|raw| raw.read::<StopDetails<'_>>().ok()?.explanation)
        .map_or_else(
            || "The model's provider refused to answer this request.".to_owned(),
            Str::into_string,
        )
}

/// Between the texts of two thinking blocks, which this dialect joins.
pub(in crate::chat) const BLOCK_GAP: &str = "\n\n";

/// Services that write thinking to the member `reasoning`. Servers of one's own and other vendors
/// write it to one member or the other.
const NAMES_REASONING: [Service; 3] = [Service::OpenRouter, Service::Local, Service::Compatible];

/// Writes words of thinking, also under the name that the service gave them.
pub(in crate::chat) fn write_thinking(
    text: impl ToJson + Copy,
    original: Option<Original>,
    delta: &mut Object<'_>,
) {
    delta.set("reasoning_content", text);
    if original.is_some_and(|it| NAMES_REASONING.contains(&it.service)) {
        delta.set("reasoning", text);
    }
}

/// Between two blocks of thinking. Services of this dialect join them themselves.
pub(in crate::chat) fn block_gap(original: Option<Original>) -> &'static str {
    match original {
        Some(_) => "",
        None => BLOCK_GAP,
    }
}

fn write_reasoning(choice: &Choice, original: Option<Original>, message: &mut Object<'_>) {
    let mut content = String::new();
    let mut has_state = false;
    let reasonings = || {
        choice.parts.iter().filter_map(|part| match part {
            Part::Reasoning(reasoning) => Some(reasoning),
            _ => None,
        })
    };
    for reasoning in reasonings() {
        if !content.is_empty() && !reasoning.text.is_empty() {
            content.push_str(block_gap(original));
        }
        content.push_str(&reasoning.text);
        has_state |= has_details(reasoning.opaque.as_ref());
    }
    if !content.is_empty() {
        write_thinking(content.as_str(), original, message);
    }
    let writes_details = original.is_some_and(Original::writes_details);
    if has_state || writes_details && !content.is_empty() {
        let mut list = message.array("reasoning_details");
        let mut index = 0;
        for reasoning in reasonings() {
            details::write(reasoning, &mut index, &mut list);
        }
    }
}

/// Whether state needs `reasoning_details`; bare thinking is all in `reasoning_content`.
fn has_details(opaque: Option<&Opaque>) -> bool {
    !matches!(opaque, None | Some(Opaque::ReasoningContent))
}

/// Arguments as callers expect them: never empty, because they parse it.
fn arguments(call: &ToolCall) -> &str {
    match &call.input {
        ToolInput::Json(text) if text.trim().is_empty() => "{}",
        ToolInput::Json(text) | ToolInput::Text(text) => text,
    }
}

fn write_call(call: &ToolCall, context: &ReplyContext, object: &mut Object<'_>) {
    object.set("id", &call.id);
    let free_text = match &call.input {
        ToolInput::Text(text) => Some(text.clone()),
        ToolInput::Json(text) if context.request.is_custom_tool(&call.name) => unwrapped(text),
        ToolInput::Json(_) => None,
    };
    match free_text {
        Some(text) => {
            object.set("type", "custom");
            object
                .object("custom")
                .set("name", &call.name)
                .set("input", &text);
        }
        None => {
            object.set("type", "function");
            object
                .object("function")
                .set("name", &call.name)
                .set("arguments", arguments(call));
        }
    }
    write_signature(call.opaque.as_ref(), object);
}

/// Gemini's signature on a call, in the place where its own endpoint puts it.
pub(in crate::chat) fn write_signature(opaque: Option<&Opaque>, object: &mut Object<'_>) {
    if let Some(Opaque::GeminiSignature(signature)) = opaque {
        object
            .object("extra_content")
            .object("google")
            .set("thought_signature", signature);
    }
}
