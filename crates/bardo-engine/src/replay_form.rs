//! The form of a stored answer: as its caller would have got it from the backend that made it.

use bardo_providers::Endpoint;
use bardo_types::chat::{Opaque, StreamEvent};
use bardo_types::model::{Dialect, Service};
use bardo_types::usage::Usage;
use bardo_wire::codec::Original;

use crate::call::Call;

/// What is known of the backend that made an answer, where it speaks the dialect of the caller. For
/// Chat Completions alone, where services differ in the names of members.
pub(crate) fn original(call: &Call, backend: Option<&str>) -> Option<Original> {
    let service = chat_backend(call, backend)?.service;
    let is_relayed = !matches!(service, Service::Anthropic | Service::Google);
    is_relayed.then_some(Original {
        service,
        has_thinking_state: true,
    })
}

/// Whether the backend that made an answer ends each stream with its usage, whether the caller wants
/// it or not.
pub(crate) fn tells_usage_unasked(call: &Call, backend: Option<&str>) -> bool {
    let endpoint = chat_backend(call, backend).filter(|_| call.stream());
    endpoint.is_some_and(|endpoint| !endpoint.provider().usage_on_request())
}

fn chat_backend<'a>(call: &'a Call, backend: Option<&str>) -> Option<&'a Endpoint> {
    let name = backend.filter(|_| call.dialect() == Dialect::Chat)?;
    let endpoints = &call.snapshot().endpoints;
    let found = endpoints.iter().find(|endpoint| endpoint.name == *name);
    found.map(AsRef::as_ref)
}

/// Whether thinking has state beside its words.
pub(crate) fn has_thinking_state(events: &[StreamEvent]) -> bool {
    events.iter().any(|event| match event {
        StreamEvent::ReasoningEnd { opaque, .. } => {
            !matches!(opaque, None | Some(Opaque::ReasoningContent))
        }
        _ => false,
    })
}

/// The usage of an answer, as its events say it last.
pub(crate) fn last_usage(events: &[StreamEvent]) -> Option<&Usage> {
    events.iter().rev().find_map(|event| match event {
        StreamEvent::Usage(usage) => Some(usage),
        _ => None,
    })
}

/// Puts the events of a stored answer into the order in which a stream of this dialect tells them.
pub(crate) fn arrange(dialect: Dialect, events: &mut Vec<StreamEvent>) {
    match dialect {
        Dialect::Anthropic => tell_prompt_first(events),
        Dialect::Responses => tell_whole_thoughts(events),
        Dialect::Chat | Dialect::Completions | Dialect::Gemini => {}
    }
}

/// Tells what is known of a stored prompt's size before the answer starts, in the dialect whose
/// streams begin with it (Anthropic's Messages: `usage` of `message_start`).
fn tell_prompt_first(events: &mut Vec<StreamEvent>) {
    let Some(usage) = last_usage(events) else {
        return;
    };
    let prompt = Usage {
        fresh_input: usage.fresh_input,
        cache_read: usage.cache_read,
        cache_write_5m: usage.cache_write_5m,
        cache_write_1h: usage.cache_write_1h,
        ..Usage::default()
    };
    events.insert(0, StreamEvent::Usage(prompt));
}

/// Leaves out words of a summary that OpenAI's own item has too: its id and the parts of its summary
/// are known only at its end, and a stream begins with both.
fn tell_whole_thoughts(events: &mut Vec<StreamEvent>) {
    let mut kept = Vec::with_capacity(events.len());
    let mut summary = Vec::new();
    for event in events.drain(..) {
        match event {
            StreamEvent::Reasoning { summary: true, .. } => summary.push(event),
            StreamEvent::ReasoningEnd {
                opaque: Some(Opaque::OpenAiReasoning(_)),
                ..
            } => {
                summary.clear();
                kept.push(event);
            }
            event => {
                kept.append(&mut summary);
                kept.push(event);
            }
        }
    }
    kept.append(&mut summary);
    *events = kept;
}
