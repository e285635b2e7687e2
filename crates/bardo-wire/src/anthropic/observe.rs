//! A cheap look at traffic that is relayed unchanged.

use bardo_types::fault::Fault;
use memchr::memmem;
use serde_json::value::RawValue;

use super::error;
use super::usage::UsageWire;
use crate::codec::Observed;
use crate::error_in_200::{Extent, fault_in};
use crate::json::{Lenient, Str, TypeOnly, wire_object};
use crate::kit::messages::malformed;
use crate::sse::SseEvent;

wire_object! {
    struct StartWire<'a> {
        "message" => message: Option<ObservedMessage<'a>>,
    }

    struct ObservedMessage<'a> {
        "type" => kind: Option<Str<'a>>,
        "model" => model: Option<Str<'a>>,
        "content" => content: Option<Vec<&'a RawValue>>,
        "stop_reason" => stop_reason: Option<Str<'a>>,
        "usage" => usage: Lenient<UsageWire<'a>>,
        "error" => error: Option<&'a RawValue>,
    }

    struct TextWire<'a> {
        "text" => text: Option<Str<'a>>,
    }

    struct ObservedDelta<'a> {
        "delta" => delta: Option<StopWire<'a>>,
        "usage" => usage: Lenient<UsageWire<'a>>,
    }

    struct StopWire<'a> {
        "stop_reason" => stop_reason: Option<Str<'a>>,
    }
}

/// Learns what a relay has to know from one event, parsing only the few that carry it.
pub fn observe(event: SseEvent<'_>, seen: &mut Observed) {
    if !event.name.is_empty() {
        return observe_named(event.name, event.data, seen);
    }
    // Without an event line the type has to be read; such upstreams are rare.
    if let Ok(TypeOnly {
        kind: Some(kind), ..
    }) = serde_json::from_slice(event.data)
    {
        observe_named(&kind, event.data, seen);
    }
}

fn observe_named(name: &str, data: &[u8], seen: &mut Observed) {
    match name {
        "content_block_delta" => seen.content = true,
        "content_block_start" => {
            // Empty text and thinking blocks say nothing yet; other blocks arrive whole.
            let waits = [&b"\"type\":\"text\""[..], b"\"type\":\"thinking\""]
                .iter()
                .any(|kind| memmem::find(data, kind).is_some());
            seen.content |= !waits;
        }
        "message_start" => {
            if let Ok(StartWire {
                message: Some(message),
                ..
            }) = serde_json::from_slice(data)
            {
                if let Some(usage) = &message.usage.0 {
                    seen.memory.tally.begin(usage);
                    seen.usage = Some(seen.memory.tally.usage());
                }
                name_model(message, seen);
            }
        }
        "message_delta" => {
            if let Ok(ObservedDelta { delta, usage, .. }) = serde_json::from_slice(data) {
                seen.finished |= delta.is_some_and(|delta| delta.stop_reason.is_some());
                if let Some(usage) = usage.0 {
                    seen.memory.tally.take(&usage);
                    seen.usage = Some(seen.memory.tally.usage());
                }
            }
        }
        "message_stop" => seen.terminal = true,
        "error" => seen.fault = Some(error::fault_in_stream(data)),
        _ => {}
    }
}

fn name_model(message: ObservedMessage<'_>, seen: &mut Observed) {
    if let Some(model) = message.model {
        seen.model = Some(model.into_string());
    }
}

/// The failure that an answer tells of in words, where nothing else is in it and none of them was
/// counted.
fn error_in_words(message: &ObservedMessage<'_>) -> Option<Fault> {
    let counted = message.usage.0.as_ref().map(UsageWire::counts);
    if counted.is_some_and(|usage| usage.output > 0) {
        return None;
    }
    let [block] = message.content.as_deref()? else {
        return None;
    };
    let block: TextWire<'_> = serde_json::from_str(block.get()).ok()?;
    fault_in(block.text.as_deref()?, Extent::Whole)
}

/// Learns what a relay has to know from a whole answer.
#[must_use]
pub fn observe_response(body: &[u8]) -> Observed {
    let mut seen = Observed::default();
    match serde_json::from_slice::<ObservedMessage<'_>>(body) {
        Ok(message) if message.error.is_some() || message.kind.as_deref() == Some("error") => {
            seen.fault = Some(error::fault_in_stream(body));
        }
        Ok(message) => {
            seen.fault = error_in_words(&message);
            seen.content = message
                .content
                .as_ref()
                .is_some_and(|blocks| !blocks.is_empty());
            seen.finished = message.stop_reason.is_some();
            seen.terminal = true;
            seen.usage = message.usage.0.as_ref().map(UsageWire::counts);
            name_model(message, &mut seen);
        }
        Err(_) => {
            seen.fault = Some(malformed(
                "the provider's answer is not an Anthropic message",
            ));
        }
    }
    seen
}
