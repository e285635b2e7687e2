//! The figures of a request within the usage of its answer, for callers whose hint `metadata` asks
//! for them.

use bardo_types::model::Dialect;
use bardo_wire::json;
use bardo_wire::splice::{Edit, splice};
use bardo_wire::sse::{SseEvent, SseParser, event_end};
use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::call::Call;
use crate::events::EVENT_MAX;

/// Whether the usage of an answer gets the figures of the request, as its member `bardo`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsageFigures {
    /// The usage is left as it is.
    Omitted,
    /// The figures are added.
    Added,
}

impl UsageFigures {
    /// The place of the figures that the hints of a request ask for.
    pub(crate) fn of(call: &Call) -> Self {
        if call.hints().metadata {
            Self::Added
        } else {
            Self::Omitted
        }
    }
}

/// A whole answer with these figures in its usage.
pub(crate) fn in_answer(body: Bytes, figures: &str) -> Bytes {
    let edited = with_figures(&body, figures);
    edited.map_or(body, Bytes::from)
}

/// The object with the figures in its member `usage`, which is made where it lacks one.
fn with_figures(object: &[u8], figures: &str) -> Option<Vec<u8>> {
    let top = json::scan(object).ok()?;
    let usage = top.get("usage").map_or("", str::trim);
    let usage = match usage.strip_suffix('}').map(str::trim_end) {
        Some(members) if members.len() > 1 => format!("{members},\"bardo\":{figures}}}"),
        _ => format!("{{\"bardo\":{figures}}}"),
    };
    Some(splice(&top, &[Edit::set("usage", usage)]))
}

/// Events of a stream with these figures in the one that has the final usage.
pub(crate) fn in_events(dialect: Dialect, events: &[u8], figures: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(events.len() + figures.len() + 16);
    let mut rest = events;
    while let Some(length) = event_end(rest, 0) {
        let (block, after) = rest.split_at(length);
        rest = after;
        match edited(dialect, block, figures) {
            Some(event) => out.extend_from_slice(&event),
            None => out.extend_from_slice(block),
        }
    }
    out.extend_from_slice(rest);
    out
}

fn edited(dialect: Dialect, block: &[u8], figures: &str) -> Option<Vec<u8>> {
    let mut edited = None;
    let mut parser = SseParser::new(EVENT_MAX);
    let parsed = parser.push(block, |event| {
        if has_final_usage(dialect, event)
            && let Some(data) = with_figures_in(dialect, event.data, figures)
        {
            let mut out = Vec::with_capacity(data.len() + 64);
            if !event.name.is_empty() {
                out.extend_from_slice(format!("event: {}\n", event.name).as_bytes());
            }
            out.extend_from_slice(b"data: ");
            out.extend_from_slice(&data);
            out.extend_from_slice(b"\n\n");
            edited = Some(out);
        }
    });
    parsed.ok().and(edited)
}

fn with_figures_in(dialect: Dialect, data: &[u8], figures: &str) -> Option<Vec<u8>> {
    if dialect != Dialect::Responses {
        return with_figures(data, figures);
    }
    let top = json::scan(data).ok()?;
    let response = with_figures(top.get("response")?.as_bytes(), figures)?;
    let response = String::from_utf8(response).ok()?;
    Some(splice(&top, &[Edit::set("response", response)]))
}

/// Whether an event has the final usage of its stream. It has no content.
pub(crate) fn has_final_usage(dialect: Dialect, event: SseEvent<'_>) -> bool {
    match dialect {
        Dialect::Anthropic => event.name == "message_delta",
        Dialect::Responses => {
            matches!(event.name, "response.completed" | "response.incomplete")
        }
        Dialect::Chat | Dialect::Completions | Dialect::Gemini => has_chunk_usage(event.data),
    }
}

fn has_chunk_usage(data: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Chunk {
        choices: Vec<Ending>,
        usage: Option<IgnoredAny>,
    }
    #[derive(Deserialize)]
    struct Ending {
        finish_reason: Option<IgnoredAny>,
    }
    // Some providers send their counts with every chunk; those with content do not wait.
    serde_json::from_slice::<Chunk>(data).is_ok_and(|chunk| {
        let mut choices = chunk.choices.iter();
        chunk.usage.is_some() && choices.all(|choice| choice.finish_reason.is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_go_into_the_final_usage_of_each_dialect_and_nowhere_else() {
        let content = "data: {\"choices\":[{\"finish_reason\":null}],\"usage\":{\"n\":1}}\n\n";
        let cases = [
            (
                Dialect::Chat,
                format!("{content}data: {{\"choices\":[],\"usage\":{{\"n\":2}}}}\n\n: c\n\ndata: [DONE]\n\n"),
                format!("{content}data: {{\"choices\":[],\"usage\":{{\"n\":2,\"bardo\":{{}}}}}}\n\n: c\n\ndata: [DONE]\n\n"),
            ),
            (
                Dialect::Anthropic,
                "event: message_delta\ndata: {\"usage\":{}}\n\nevent: message_stop\ndata: {}\n\n".to_owned(),
                "event: message_delta\ndata: {\"usage\":{\"bardo\":{}}}\n\nevent: message_stop\ndata: {}\n\n".to_owned(),
            ),
            (
                Dialect::Responses,
                "event: response.completed\ndata: {\"response\":{\"usage\":null}}\n\n".to_owned(),
                "event: response.completed\ndata: {\"response\":{\"usage\":{\"bardo\":{}}}}\n\n".to_owned(),
            ),
        ];
        for (dialect, events, expected) in cases {
            let edited = in_events(dialect, events.as_bytes(), "{}");
            assert_eq!(String::from_utf8(edited).expect("text"), expected);
        }
    }
}
