//! Turns of the model.

use std::borrow::Cow;

use bardo_types::Losses;
use bardo_types::chat::{Message, Opaque, Part, ToolCall, ToolInput};
use bardo_types::model::Dialect;

use super::Job;
use super::call_id::call_id;
use super::pieces::{self, Piece};
use super::reasoning;
use super::vendor::Vendor;
use crate::chat::answer::encode::write_signature;
use crate::json::{Array, Object};

/// Writes a turn and answers with its calls, which want results.
pub(super) fn write<'a>(
    job: &Job<'_>,
    message: &'a Message,
    lost: &mut Losses,
    list: &mut Array<'_>,
) -> Vec<&'a ToolCall> {
    let mut texts: Vec<Piece<'_>> = Vec::new();
    let mut refusal: Option<&str> = None;
    let mut audio: Option<&str> = None;
    let mut calls: Vec<&ToolCall> = Vec::new();
    for part in &message.parts {
        match part {
            Part::Text(text) if text.text.is_empty() => {}
            Part::Text(text) => {
                if text.opaque.is_some() {
                    lost.lose("thinking_state", STATE_LOST);
                }
                texts.push(Piece::Text(Cow::Borrowed(&text.text), text.cache.as_ref()));
            }
            Part::Refusal(words) if job.quirks().own_answers => refusal = Some(words),
            Part::Audio(sound) if sound.id.is_some() && job.quirks().own_answers => {
                audio = sound.id.as_deref();
            }
            Part::Audio(_) => lost.lose("audio", "audio of earlier answers cannot be sent back"),
            Part::ToolCall(call) => calls.push(call),
            part => pieces::collect(job, part, lost, &mut texts),
        }
    }
    let thinking = reasoning::plan(job, message, !calls.is_empty(), lost);
    let is_empty = texts.is_empty()
        && calls.is_empty()
        && refusal.is_none()
        && audio.is_none()
        && thinking.is_empty();
    if is_empty {
        return calls;
    }
    let mut object = list.object();
    object
        .set("role", "assistant")
        .set_some("name", message.name.as_deref());
    if texts.is_empty() {
        let says_nothing = calls.is_empty() && refusal.is_none() && audio.is_none();
        if says_nothing || !job.quirks().null_content {
            object.set("content", "");
        } else {
            object.set("content", ());
        }
    } else {
        pieces::write(job, &texts, "", lost, object.key("content"));
    }
    object.set_some("refusal", refusal);
    if let Some(id) = audio {
        object.object("audio").set("id", id);
    }
    thinking.write(&mut object);
    if !calls.is_empty() {
        let mut entries = object.array("tool_calls");
        for call in &calls {
            write_call(job, call, lost, &mut entries.object());
        }
    }
    calls
}

pub(super) const STATE_LOST: &str =
    "thinking of another provider, or in a form that this endpoint does not accept, was removed";

fn write_call(job: &Job<'_>, call: &ToolCall, lost: &mut Losses, entry: &mut Object<'_>) {
    let name = job.names.sent(&call.name);
    entry.set("id", call_id(&call.id));
    match &call.input {
        ToolInput::Text(text) if job.quirks().custom_tools => {
            entry.set("type", "custom");
            entry.object("custom").set("name", name).set("input", text);
        }
        ToolInput::Text(_) => {
            let wrapped = call.input.as_object();
            let arguments = wrapped.as_ref().map_or("{}", |raw| raw.as_str());
            write_function(entry, name, arguments);
        }
        ToolInput::Json(text) if text.trim().is_empty() => write_function(entry, name, "{}"),
        ToolInput::Json(text) => write_function(entry, name, text),
    }
    write_state(job, call.opaque.as_ref(), lost, entry);
    if let Some(mark) = &call.cache
        && let Some((member, json)) = pieces::cache_member(job, mark, lost)
    {
        entry.raw(member, &json);
    }
    if job.request.dialect == Dialect::Chat {
        for (member, value) in &call.extra {
            entry.foreign(member, value.as_str());
        }
    }
}

fn write_function(entry: &mut Object<'_>, name: &str, arguments: &str) {
    entry.set("type", "function");
    entry
        .object("function")
        .set("name", name)
        .set("arguments", arguments);
}

fn write_state(job: &Job<'_>, opaque: Option<&Opaque>, lost: &mut Losses, entry: &mut Object<'_>) {
    let Some(opaque) = opaque else {
        return;
    };
    let takes_it = matches!(opaque, Opaque::GeminiSignature(_))
        && job.quirks().call_signatures
        && matches!(Vendor::of(&job.target.model), Vendor::Google | Vendor::Any);
    if takes_it {
        write_signature(Some(opaque), entry);
    } else {
        lost.lose("thinking_state", STATE_LOST);
    }
}
