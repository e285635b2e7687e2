//! What a relay learns from bytes that it passes on unchanged.

use std::sync::LazyLock;

use bardo_types::fault::{Fault, FaultClass};
use bardo_types::model::Service;
use memchr::memmem::Finder;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::chat::error::decode::of_value as fault_of;
use crate::chat::shapes::answer::Chunk;
use crate::chat::usage::decode::{Counts, read as read_usage};
use crate::codec::Observed;
use crate::error_in_200::Extent;
use crate::json::scan;
use crate::kit::messages::malformed;
use crate::sse::SseEvent;

/// Named in a failure that has no words of its own: an observer does not know the service.
const UNNAMED: Service = Service::OpenAi;

static USAGE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"usage\""));
static COST: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"cost\""));
static TIMINGS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"timings\""));
static FINISH: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"finish_reason\""));
static ERROR: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"error\""));
static INSUFFICIENT: LazyLock<Finder<'static>> =
    LazyLock::new(|| Finder::new("insufficient_system_resource"));

/// Looks at one event. Once content has begun, an event is parsed only when it may hold a count,
/// a finish reason or an error.
pub fn observe(event: SseEvent<'_>, seen: &mut Observed) {
    let data = event.data.trim_ascii();
    if data == b"[DONE]" {
        seen.terminal = true;
        return;
    }
    let worth_parsing = !seen.content
        || seen.model.is_none()
        || has_value(&USAGE, data)
        || has_value(&FINISH, data)
        || has_value(&COST, data)
        || has_value(&TIMINGS, data)
        || ERROR.find(data).is_some();
    if !worth_parsing || seen.fault.is_some() {
        return;
    }
    match serde_json::from_slice::<Chunk<'_>>(data) {
        Ok(chunk) => {
            if !seen.content {
                seen.fault = chunk.error_in_words(Extent::First);
            }
            look(&chunk, data, seen);
        }
        // Events of other kinds pass; one that says it is an error is believed.
        Err(_) if event.name == "error" => seen.fault = Some(unknown_fault(data)),
        Err(_) => {}
    }
}

/// Looks at a whole body. One in which nothing speaks of an error, and which counts words of an
/// answer, is only searched for its counts.
#[must_use]
pub fn observe_response(body: &[u8]) -> Observed {
    let data = body.trim_ascii();
    if let Some(seen) = counts_alone(data) {
        return seen;
    }
    let mut seen = Observed::default();
    match serde_json::from_slice::<Chunk<'_>>(data) {
        Ok(chunk) if chunk.choices.is_none() && chunk.usage.is_some() && chunk.error.is_none() => {
            look(&chunk, data, &mut seen);
            seen.fault = Some(no_answer());
        }
        Ok(chunk) if chunk.choices.is_none() && chunk.error.is_none() => {
            seen.fault = Some(unknown_fault(data));
        }
        Ok(chunk) => {
            let answers = chunk.choices.as_ref().is_some_and(|list| !list.is_empty());
            seen.fault = chunk.error_in_words(Extent::Whole).or_else(|| {
                let empty = "the provider's answer is empty";
                (!answers && chunk.error.is_none()).then(|| malformed(empty))
            });
            look(&chunk, data, &mut seen);
            seen.terminal = seen.finished && seen.fault.is_none();
        }
        Err(_) if is_answer(data) => seen.fault = Some(no_answer()),
        Err(_) => seen.fault = Some(unknown_fault(data)),
    }
    seen
}

/// Whether an object has members of an answer. What cannot be read of it has been made, and is
/// billed.
fn is_answer(data: &[u8]) -> bool {
    let members: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(data).unwrap_or_default();
    let has = |name: &str| members.get(name).is_some_and(|value| !value.is_null());
    (has("choices") || has("usage")) && !has("error")
}

fn no_answer() -> Fault {
    malformed("the provider's answer is not valid JSON of its protocol")
}

fn counts_alone(data: &[u8]) -> Option<Observed> {
    if ERROR.find(data).is_some() || INSUFFICIENT.find(data).is_some() {
        return None;
    }
    let top = scan(data).ok()?;
    if !top.raw("choices")?.starts_with(b"[") {
        return None;
    }
    let usage = read_usage(&Counts {
        usage: top.get("usage"),
        cost: top.get("cost"),
        timings: top.get("timings"),
    });
    if usage.as_ref().is_none_or(|usage| usage.output == 0) {
        return None;
    }
    Some(Observed {
        usage,
        content: true,
        finished: true,
        terminal: true,
        model: top.string("model").filter(|model| !model.is_empty()),
        ..Observed::default()
    })
}

/// Whether a member is there and is not `null`.
fn has_value(finder: &Finder<'_>, data: &[u8]) -> bool {
    finder.find_iter(data).any(|at| {
        let rest = data[at + finder.needle().len()..].trim_ascii_start();
        rest.strip_prefix(b":")
            .is_some_and(|value| !value.trim_ascii_start().starts_with(b"null"))
    })
}

/// What is JSON and no answer tells of an error. What is not even that may be half an answer, which
/// has been made and is billed.
fn unknown_fault(data: &[u8]) -> Fault {
    match std::str::from_utf8(data) {
        Ok(text) if is_json(text) => fault_of(text, UNNAMED),
        _ => no_answer(),
    }
}

fn is_json(text: &str) -> bool {
    text.starts_with(['{', '[', '"']) && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn look(chunk: &Chunk<'_>, data: &[u8], seen: &mut Observed) {
    if seen.model.is_none() {
        let model = chunk.model.to_owned_text();
        seen.model = model.filter(|model| !model.is_empty());
    }
    if let Some(usage) = read_usage(&chunk.counts()) {
        seen.usage.get_or_insert_default().supersede(&usage);
    }
    let choices = chunk.choices.as_deref().unwrap_or_default();
    for choice in choices {
        if let Some(delta) = choice.delta.as_ref().or(choice.message.as_ref()) {
            seen.content |= delta.has_content();
        }
        match choice.finish_reason.get() {
            Some("error" | "insufficient_system_resource") => {
                seen.fault.get_or_insert_with(|| {
                    Fault::new(
                        FaultClass::Server,
                        "the provider ended the answer with an error",
                    )
                });
            }
            Some(_) => {
                seen.finished = true;
                seen.memory.finished |= 1 << choice.index.unwrap_or(0).min(127);
            }
            None => {}
        }
        if let Some(error) = choice.error {
            seen.fault = Some(fault_of(error.get(), UNNAMED));
        }
    }
    let is_error_object = chunk.object.get() == Some("error");
    if let Some(error) = chunk.error {
        seen.fault = Some(if error.get().starts_with('{') {
            fault_of(error.get(), UNNAMED)
        } else {
            unknown_fault(data)
        });
    } else if is_error_object {
        seen.fault = Some(unknown_fault(data));
    }
}

/// Whether an event is the chunk that only carries usage. A relay drops it when the caller did
/// not ask for it.
#[must_use]
pub fn usage_only_chunk(event: SseEvent<'_>) -> bool {
    #[derive(Deserialize)]
    struct Shape {
        choices: Option<Vec<IgnoredAny>>,
        usage: Option<IgnoredAny>,
    }
    if !has_value(&USAGE, event.data) {
        return false;
    }
    serde_json::from_slice::<Shape>(event.data).is_ok_and(|shape| {
        shape.usage.is_some() && shape.choices.is_some_and(|choices| choices.is_empty())
    })
}

#[cfg(test)]
mod tests;
