//! What a relay learns from bytes that it passes on unchanged.

use memchr::memmem;
use serde_json::value::RawValue;

use crate::codec::Observed;
use crate::json::{Str, wire_object};
use crate::responses::answer::decode::ResponseObject;
use crate::responses::error as failures;
use crate::sse::SseEvent;

wire_object! {
    /// The members of an event that matter here.
    struct ObservedEvent<'a> {
        "type" => kind: Option<Str<'a>>,
        "response" => response: Option<ResponseObject<'a>>,
        "error" => error: Option<&'a RawValue>,
    }
}

/// The name of an event, from its line or from the start of its data.
fn name<'a>(event: &SseEvent<'a>) -> &'a str {
    if !event.name.is_empty() {
        return event.name;
    }
    const KEY: &[u8] = b"\"type\":";
    let data = event.data;
    let Some(found) = memmem::find(data, KEY) else {
        return "";
    };
    let rest = data[found + KEY.len()..].trim_ascii_start();
    let Some(rest) = rest.strip_prefix(b"\"") else {
        return "";
    };
    let end = memchr::memchr(b'"', rest).unwrap_or(0);
    std::str::from_utf8(&rest[..end]).unwrap_or_default()
}

/// Looks at one event of a relayed stream.
pub fn observe(event: SseEvent<'_>, seen: &mut Observed) {
    let name = name(&event);
    match name {
        "response.created" => {
            let begun = serde_json::from_slice::<ObservedEvent<'_>>(event.data).ok();
            if let Some(answer) = begun.and_then(|event| event.response) {
                let created = answer.created_at.get();
                seen.memory.begun = answer.id.map(|id| (id.into_string(), created));
                seen.model = answer.model.map(Str::into_string);
            }
        }
        "response.completed"
        | "response.incomplete"
        | "response.failed"
        | "response.cancelled"
        | "response.done" => {
            seen.terminal = true;
            match serde_json::from_slice::<ObservedEvent<'_>>(event.data) {
                Ok(ObservedEvent {
                    response: Some(answer),
                    ..
                }) => take(answer, seen),
                _ => seen.fault = Some(failures::malformed("the last event is malformed")),
            }
            let failed = matches!(name, "response.failed" | "response.cancelled");
            if failed && seen.fault.is_none() {
                seen.fault = Some(failures::of_error_object("{}"));
            }
            seen.finished |= seen.fault.is_none();
        }
        "error" => failed(event.data, seen),
        _ if name.ends_with(".delta") => seen.content = true,
        "response.output_item.added" | "response.output_item.done" => {
            // An item that only announces itself is no content yet, but a call's name is.
            let data = event.data;
            seen.content |= memmem::find(data, b"_call\"").is_some();
        }
        "" if memmem::find(event.data, b"\"error\"").is_some() => failed(event.data, seen),
        _ => {}
    }
}

fn failed(data: &[u8], seen: &mut Observed) {
    let text = String::from_utf8_lossy(data);
    let nested = serde_json::from_slice::<ObservedEvent<'_>>(data)
        .ok()
        .and_then(|event| event.error)
        .filter(|raw| raw.get() != "null");
    seen.fault = Some(match nested {
        Some(error) => failures::of_error_object(error.get()),
        None => failures::of_error_event(&text),
    });
}

fn take(answer: ResponseObject<'_>, seen: &mut Observed) {
    if let Some(usage) = answer.counted() {
        seen.usage.get_or_insert_default().supersede(&usage);
    }
    if let Some(model) = answer.model {
        seen.model = Some(model.into_string());
    }
    let error = answer.error.filter(|raw| raw.get() != "null");
    if let Some(error) = error {
        seen.fault = Some(failures::of_error_object(error.get()));
    } else if answer.status.as_deref() == Some("failed") {
        seen.fault = Some(failures::of_error_object("{}"));
    }
}

/// Looks at a relayed whole answer.
#[must_use]
pub fn observe_response(body: &[u8]) -> Observed {
    let mut seen = Observed::default();
    match serde_json::from_slice::<ResponseObject<'_>>(body) {
        Ok(answer) => take(answer, &mut seen),
        Err(_) => {
            seen.fault = Some(failures::malformed(
                "the provider's answer is not a response object",
            ));
        }
    }
    let fine = seen.fault.is_none();
    seen.content = fine;
    seen.finished = fine;
    seen.terminal = fine;
    seen
}
