//! What is remembered of a turn, put back into what its client sends.

use bardo_types::chat::{Opaque, Part, Reasoning, ToolInput};

use super::CallState;

/// Puts what is known of each call back before it, or only to it.
pub(super) fn restore(
    parts: &mut Vec<Part>,
    mut known: impl Iterator<Item = Option<CallState>>,
    thoughts: bool,
) {
    let mut changed = false;
    let mut at = 0;
    while at < parts.len() {
        if let Part::ToolCall(call) = &mut parts[at]
            && let Some(Some(state)) = known.next()
        {
            if call.opaque.is_none() {
                call.opaque = state.opaque;
            }
            if let (Some(made), ToolInput::Json(sent)) = (state.made, &mut call.input) {
                // Clients add members that have a default; the signature is of what was written.
                if holds(sent, &made) {
                    *sent = made;
                } else {
                    changed = true;
                }
            }
            if thoughts {
                let words = parts[..at]
                    .iter()
                    .rev()
                    .take_while(|part| matches!(part, Part::Text(_) | Part::Refusal(_)))
                    .count();
                let (before, after) = (state.opening.len(), state.reasoning.len());
                let mut insert = |at: usize, thoughts: Vec<Reasoning>| {
                    parts.splice(at..at, thoughts.into_iter().map(Part::Reasoning));
                };
                insert(at, state.reasoning);
                insert(at - words, state.opening);
                at += before + after;
            }
        }
        at += 1;
    }
    if !changed {
        return;
    }
    // A signature of other arguments is refused. What stands here instead belongs to nobody, so the
    // loss is named and the provider's own stand-in is sent.
    for part in parts {
        if let Part::ToolCall(call) = part
            && matches!(call.opaque, Some(Opaque::GeminiSignature(_)))
        {
            call.opaque = Some(Opaque::ReasoningContent);
        }
    }
}

/// Whether thinking that came back lacks what is known of it. Bare words are no state, and neither
/// is a signature without the words that it signs.
pub(super) fn is_partial(parts: &[Part], known: &[Option<CallState>]) -> bool {
    let known: Vec<&Reasoning> = known
        .iter()
        .flatten()
        .flat_map(CallState::thoughts)
        .collect();
    let is_bare =
        |thought: &Reasoning| matches!(thought.opaque, None | Some(Opaque::ReasoningContent));
    let is_whole =
        |thought: &Reasoning| match known.iter().find(|known| known.opaque == thought.opaque) {
            _ if is_bare(thought) => false,
            Some(known) => known.text == thought.text,
            // An entry that a client put together anew is not what it was made from.
            None => !matches!(thought.opaque, Some(Opaque::ReasoningDetail(_))),
        };
    let mut back = parts
        .iter()
        .filter_map(|part| match part {
            Part::Reasoning(thought) => Some(thought),
            _ => None,
        })
        .peekable();
    back.peek().is_none() || (known.iter().any(|thought| !is_bare(thought)) && !back.all(is_whole))
}

pub(super) fn is_signed_by_gemini(part: &Part) -> bool {
    let state = match part {
        Part::Reasoning(thought) => &thought.opaque,
        Part::ToolCall(call) => &call.opaque,
        _ => return false,
    };
    matches!(state, Some(Opaque::GeminiSignature(_)))
}

/// Whether `sent` is `made` with at most members added to its objects.
fn holds(sent: &str, made: &str) -> bool {
    let read = |text: &str| match text.trim() {
        "" => Some(serde_json::json!({})),
        text => serde_json::from_str(text).ok(),
    };
    match (read(sent), read(made)) {
        (Some(sent), Some(made)) => is_within(&made, &sent),
        _ => sent == made,
    }
}

fn is_within(made: &serde_json::Value, sent: &serde_json::Value) -> bool {
    use serde_json::Value as Json;
    match (made, sent) {
        (Json::Object(made), Json::Object(sent)) => made
            .iter()
            .all(|(name, value)| sent.get(name).is_some_and(|sent| is_within(value, sent))),
        (Json::Array(made), Json::Array(sent)) => {
            made.len() == sent.len()
                && made
                    .iter()
                    .zip(sent)
                    .all(|(made, sent)| is_within(made, sent))
        }
        // 1 and 1.0 are one number, and clients write them anew.
        (Json::Number(made), Json::Number(sent)) => made == sent || made.as_f64() == sent.as_f64(),
        (made, sent) => made == sent,
    }
}
