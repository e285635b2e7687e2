//! Reasoning items: the slot where state of every provider travels.
//!
//! OpenAI's own item goes as it is. State of others sits in `encrypted_content` as an envelope.
//! Gemini also signs calls and texts; such a signature travels in a reasoning item of its own,
//! before the call or after the text that it belongs to.

use bardo_types::chat::{Opaque, Part, Reasoning, Text};
use bardo_types::json::RawJson;

use super::output::OWN_ID;
use crate::envelope;
use crate::json::{Array, Object, Str, kept_object, wire_object};

wire_object! {
    /// A reasoning item, in either direction.
    struct ReasoningItem<'a> {
        "id" => id: Option<Str<'a>>,
        "summary" => summary: Option<Vec<ReasoningWords<'a>>>,
        "content" => content: Option<Vec<ReasoningWords<'a>>>,
        "encrypted_content" => encrypted_content: Option<Str<'a>>,
    }

    /// An entry of `summary` or `content`.
    struct ReasoningWords<'a> {
        "text" => text: Option<Str<'a>>,
    }
}

/// The thinking of a whole item: the text itself where it is given, else the summary with its
/// parts as paragraphs.
fn words(item: &ReasoningItem<'_>) -> (String, bool) {
    let join = |list: &Option<Vec<ReasoningWords<'_>>>, between: &str| {
        let texts: Vec<&str> = list
            .iter()
            .flatten()
            .filter_map(|part| part.text.as_deref())
            .collect();
        texts.join(between)
    };
    let content = join(&item.content, "");
    if !content.is_empty() {
        return (content, false);
    }
    let summary = join(&item.summary, SUMMARY_GAP);
    let is_summary = !summary.is_empty();
    (summary, is_summary)
}

/// The text that joins parts of a summary.
pub(super) const SUMMARY_GAP: &str = "\n\n";

/// The parts of the summary of an item from OpenAI.
pub(super) fn summary_of(raw: &RawJson) -> Vec<String> {
    let item: ReasoningItem<'_> = raw.read().unwrap_or_default();
    let parts = item.summary.unwrap_or_default().into_iter();
    parts
        .filter_map(|part| part.text.map(Str::into_string))
        .collect()
}

/// The id of an item from OpenAI.
pub(super) fn id_of(raw: &RawJson) -> Option<String> {
    let item: ReasoningItem<'_> = raw.read().ok()?;
    item.id.map(Str::into_string)
}

/// An item from OpenAI: its words, and the item itself as state.
pub(super) fn of_upstream(raw: RawJson) -> Reasoning {
    let item: ReasoningItem<'_> = raw.read().unwrap_or_default();
    let (text, summary) = words(&item);
    Reasoning {
        text,
        summary,
        opaque: Some(Opaque::OpenAiReasoning(raw)),
    }
}

/// Appends what an item in a caller's history stands for.
pub(super) fn read(raw: &RawJson, parts: &mut Vec<Part>) {
    let item: ReasoningItem<'_> = raw.read().unwrap_or_default();
    let (text, summary) = words(&item);
    let state = item.encrypted_content.as_deref().unwrap_or_default();
    if !envelope::is_envelope(state) {
        let made_here = item.id.as_deref().is_none_or(|id| id.contains(OWN_ID));
        let opaque =
            (!state.is_empty() || !made_here).then(|| Opaque::OpenAiReasoning(raw.clone()));
        if opaque.is_some() || !text.is_empty() {
            parts.push(Part::Reasoning(Reasoning {
                text,
                summary,
                opaque,
            }));
        }
        return;
    }
    // A broken envelope holds nothing that anybody could read; its words are all there is.
    let opened = envelope::open(state);
    let sealed_text = opened.as_ref().and_then(|opened| opened.text.clone());
    let opaque = opened.map(|opened| opened.opaque);
    match (opaque, sealed_text) {
        (Some(signature @ Opaque::GeminiSignature(_)), Some(signed)) => {
            sign_text(parts, signature, &signed);
        }
        (opaque, sealed_text) => {
            let text = sealed_text.unwrap_or(text);
            if opaque.is_some() || !text.is_empty() {
                parts.push(Part::Reasoning(Reasoning {
                    summary: summary && !text.is_empty(),
                    text,
                    opaque,
                }));
            }
        }
    }
}

/// Puts a signature back on the text before it, or on an empty one.
fn sign_text(parts: &mut Vec<Part>, signature: Opaque, signed: &str) {
    match parts.last_mut() {
        Some(Part::Text(text)) if text.text == signed && !signed.is_empty() => {
            text.opaque = Some(signature);
        }
        _ if signed.is_empty() => parts.push(Part::Text(Text {
            opaque: Some(signature),
            ..Text::default()
        })),
        _ => {}
    }
}

/// The signature for a call that follows: taken from a reasoning part without words right
/// before it.
pub(super) fn take_call_state(parts: &mut Vec<Part>) -> Option<Opaque> {
    let Some(Part::Reasoning(Reasoning {
        text,
        opaque: Some(Opaque::GeminiSignature(_)),
        ..
    })) = parts.last()
    else {
        return None;
    };
    if !text.is_empty() {
        return None;
    }
    match parts.pop() {
        Some(Part::Reasoning(reasoning)) => reasoning.opaque,
        _ => None,
    }
}

/// The item that a caller gets for thinking. Words that are no summary take the place of one
/// where a summary was `wanted`.
pub(super) fn of_reasoning(reasoning: &Reasoning, wanted: bool, id: &str) -> RawJson {
    if let Some(Opaque::OpenAiReasoning(raw)) = &reasoning.opaque {
        return raw.clone();
    }
    of_parts(reasoning, reasoning.summary || wanted, id)
}

fn of_parts(reasoning: &Reasoning, summary: bool, id: &str) -> RawJson {
    // Signed thinking must come back word for word, and clients drop `content`.
    let sealed = reasoning.opaque.as_ref().map(|opaque| {
        let with_text = matches!(
            opaque,
            Opaque::AnthropicSignature(_) | Opaque::ReasoningContent
        );
        let text = with_text.then_some(reasoning.text.as_str());
        envelope::seal(opaque, text.filter(|text| !text.is_empty()))
    });
    kept_object(|object| {
        open(object, id);
        words_of(object, &reasoning.text, summary);
        object.set("encrypted_content", &sealed);
        object.set("status", "completed");
    })
}

/// The item for thinking whose words went out already, under an id that cannot change any more.
/// OpenAI's own item, which has an id of its own, goes into an envelope then.
pub(super) fn of_streamed(text: &str, summary: bool, opaque: Option<Opaque>, id: &str) -> RawJson {
    let reasoning = Reasoning {
        text: text.to_owned(),
        summary,
        opaque,
    };
    of_parts(&reasoning, summary, id)
}

/// The item that carries the signature of the call after it.
pub(super) fn of_call_state(opaque: &Opaque, id: &str) -> RawJson {
    of_state(&envelope::seal(opaque, None), id)
}

/// The item that carries the signature of the text before it.
pub(super) fn of_text_state(opaque: &Opaque, text: &str, id: &str) -> RawJson {
    of_state(&envelope::seal(opaque, Some(text)), id)
}

fn of_state(sealed: &str, id: &str) -> RawJson {
    kept_object(|object| {
        open(object, id);
        words_of(object, "", false);
        object.set("encrypted_content", sealed);
        object.set("status", "completed");
    })
}

/// An item that has only begun.
pub(super) fn begun(id: &str) -> RawJson {
    kept_object(|object| {
        open(object, id);
        words_of(object, "", false);
        object.set("encrypted_content", ());
        object.set("status", "in_progress");
    })
}

fn open(object: &mut Object<'_>, id: &str) {
    object.set("id", id);
    object.set("type", "reasoning");
}

fn words_of(object: &mut Object<'_>, text: &str, summary: bool) {
    let list = |out: &mut Vec<u8>, kind: &str, text: &str| {
        let mut list = Array::new(out);
        if !text.is_empty() {
            let mut part = list.object();
            part.set("type", kind);
            part.set("text", text);
            part.end();
        }
        list.end();
    };
    let (shown, thought) = if summary { (text, "") } else { ("", text) };
    list(object.key("summary"), "summary_text", shown);
    if !thought.is_empty() {
        list(object.key("content"), "reasoning_text", thought);
    }
}
