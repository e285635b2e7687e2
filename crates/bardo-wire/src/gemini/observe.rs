use bardo_types::usage::Usage;
use memchr::memmem;

use super::outcome::read_finish;
use super::usage::read_usage;
use crate::codec::Observed;
use crate::gemini::shapes::answer::GenerateChunk;
use crate::gemini::stream::decode::MAX_CANDIDATES;
use crate::sse::SseEvent;

/// Looks at one event of a relayed stream. Gemini has no terminal event, so `terminal` follows
/// the finish reason.
pub fn observe(event: SseEvent<'_>, seen: &mut Observed) {
    look(event.data, seen);
}

/// Looks at a relayed whole body.
#[must_use]
pub fn observe_response(body: &[u8]) -> Observed {
    let mut seen = Observed::default();
    look(body, &mut seen);
    seen
}

fn look(data: &[u8], seen: &mut Observed) {
    let mentions = |name: &[u8]| memmem::find(data, name).is_some();
    seen.content |= mentions(b"\"parts\"");
    // Most events in the middle carry nothing but parts and a running count.
    if seen.model.is_some()
        && !mentions(b"\"usageMetadata\"")
        && !mentions(b"\"finishReason\"")
        && !mentions(b"\"error\"")
        && !mentions(b"\"promptFeedback\"")
    {
        return;
    }
    let Ok(Ok(chunk)) = std::str::from_utf8(data).map(serde_json::from_str::<GenerateChunk<'_>>)
    else {
        if data.trim_ascii_start().starts_with(b"[") {
            seen.fault = Some(super::error::told_in_200(data));
        }
        return;
    };
    if chunk.error.is_some() {
        seen.fault = Some(super::error::told_in_200(data));
        return;
    }
    if let Some(model) = &chunk.model_version {
        seen.model = Some((**model).to_owned());
    }
    if let Some(meta) = chunk
        .usage_metadata
        .as_ref()
        .and_then(|meta| meta.0.as_ref())
    {
        seen.usage
            .get_or_insert_with(Usage::default)
            .supersede(&read_usage(meta));
    }
    count_searches(&chunk, seen);
    let blocked = chunk
        .prompt_feedback
        .as_ref()
        .is_some_and(|feedback| super::outcome::blocked(feedback).is_some());
    let mut finished = blocked;
    for candidate in chunk.candidates.iter().flatten() {
        if let Some(reason) = candidate.finish_reason.as_deref() {
            match read_finish(reason, candidate.finish_message.as_deref()) {
                Ok(_) => finished = true,
                Err(fault) => seen.fault = Some(fault),
            }
        }
    }
    seen.finished |= finished;
    seen.terminal |= finished;
}

/// Adds up the searches of all candidates; an event repeats those of the one it is about.
fn count_searches(chunk: &GenerateChunk<'_>, seen: &mut Observed) {
    for (place, candidate) in chunk.candidates.iter().flatten().enumerate() {
        let grounding = candidate.grounding_metadata.as_ref();
        let Some(queries) = grounding.and_then(|it| it.web_search_queries.as_ref()) else {
            continue;
        };
        let index = candidate.index.0.unwrap_or(place as u64);
        let index = usize::try_from(index.min(MAX_CANDIDATES - 1)).unwrap_or(0);
        let searches = &mut seen.memory.searches;
        if searches.len() <= index {
            searches.resize(index + 1, 0);
        }
        searches[index] = searches[index].max(queries.len() as u64);
    }
    let searches: u64 = seen.memory.searches.iter().sum();
    if searches > 0 {
        let usage = seen.usage.get_or_insert_with(Usage::default);
        usage.web_searches = Some(searches);
    }
}
