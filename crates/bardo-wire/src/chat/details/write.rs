//! Entries for a caller, or for an upstream that wants them back.

use bardo_types::chat::{Opaque, Reasoning};
use bardo_types::json::RawJson;
use serde_json::{Map, Value};

use super::{ANTHROPIC, GEMINI, OPENAI};
use crate::envelope;
use crate::json::{Array, Serde, Str, ToJson, wire_object};

/// Writes the entries for `reasoning`, counting `index` up; plain thinking without state of its
/// own writes none.
pub(in super::super) fn write(reasoning: &Reasoning, index: &mut u64, out: &mut Array<'_>) {
    let Some(opaque) = &reasoning.opaque else {
        return;
    };
    let text = reasoning.text.as_str();
    match opaque {
        Opaque::ReasoningContent => return,
        Opaque::ReasoningDetail(raw) => out.raw(raw.as_str()),
        Opaque::AnthropicSignature(signature) => {
            out.object()
                .set("type", "reasoning.text")
                .set("text", text)
                .set("index", *index)
                .set("format", ANTHROPIC)
                .set("signature", signature);
        }
        Opaque::AnthropicRedacted(data) => encrypted(out, data, None, ANTHROPIC, *index),
        Opaque::GeminiSignature(data) => {
            if !text.is_empty() {
                out.object()
                    .set("type", "reasoning.text")
                    .set("text", text)
                    .set("index", *index)
                    .set("format", GEMINI);
                *index += 1;
            }
            encrypted(out, data, None, GEMINI, *index);
        }
        Opaque::OpenAiReasoning(raw) => {
            let item: OpenAiItem<'_> = raw.read().unwrap_or_default();
            let id = item.id.as_deref();
            for summary in item.summary.iter().flatten().filter(|_| id.is_some()) {
                out.object()
                    .set("type", "reasoning.summary")
                    .set("summary", summary.text.as_deref().unwrap_or(""))
                    .set("index", *index)
                    .set_some("id", id)
                    .set("format", OPENAI);
                *index += 1;
            }
            write_openai(opaque, &item, *index, out);
        }
    }
    *index += 1;
}

/// Writes what ends a block whose words were streamed as entry `index` before, counting `index`
/// up.
pub(in super::super) fn write_end(
    opaque: Option<&Opaque>,
    summary: bool,
    index: &mut u64,
    out: &mut Array<'_>,
) {
    let kind = words_kind(summary);
    let words = *index;
    *index += 1;
    match opaque {
        None | Some(Opaque::ReasoningContent) => {}
        Some(Opaque::AnthropicSignature(signature)) => {
            out.object()
                .set("type", kind)
                .set("index", words)
                .set("format", ANTHROPIC)
                .set("signature", signature);
        }
        Some(Opaque::GeminiSignature(data)) => {
            out.object()
                .set("type", kind)
                .set("index", words)
                .set("format", GEMINI);
            encrypted(out, data, None, GEMINI, *index);
            *index += 1;
        }
        Some(Opaque::AnthropicRedacted(data)) => {
            encrypted(out, data, None, ANTHROPIC, *index);
            *index += 1;
        }
        Some(opaque @ Opaque::OpenAiReasoning(raw)) => {
            let item: OpenAiItem<'_> = raw.read().unwrap_or_default();
            if summary && item.id.is_some() {
                out.object()
                    .set("type", kind)
                    .set("index", words)
                    .set_some("id", item.id.as_deref())
                    .set("format", OPENAI);
            }
            write_openai(opaque, &item, *index, out);
            *index += 1;
        }
        Some(Opaque::ReasoningDetail(raw)) => match without_words(raw, kind, words) {
            Some(rest) => Serde(rest).write(out.item()),
            None => {
                out.raw(raw.as_str());
                *index += 1;
            }
        },
    }
}

/// The type of an entry that shows words.
pub(in super::super) const fn words_kind(summary: bool) -> &'static str {
    if summary {
        "reasoning.summary"
    } else {
        "reasoning.text"
    }
}

/// An entry kept as written, without the words that were streamed already; `None` when it is of
/// another type than those.
fn without_words(raw: &RawJson, kind: &str, index: u64) -> Option<Map<String, Value>> {
    let mut entry: Map<String, Value> = raw.read().ok()?;
    if entry.get("type").and_then(Value::as_str) != Some(kind) {
        return None;
    }
    // The order of members stays.
    entry.shift_remove("text");
    entry.shift_remove("summary");
    entry.insert("index".into(), index.into());
    Some(entry)
}

wire_object! {
    struct OpenAiItem<'a> {
        "id" => id: Option<Str<'a>>,
        "encrypted_content" => encrypted_content: Option<Str<'a>>,
        "summary" => summary: Option<Vec<SummaryText<'a>>>,
    }

    struct SummaryText<'a> {
        "text" => text: Option<Str<'a>>,
    }
}

fn write_openai(opaque: &Opaque, item: &OpenAiItem<'_>, index: u64, out: &mut Array<'_>) {
    let id = item.id.as_deref();
    match &item.encrypted_content {
        Some(data) => encrypted(out, data, id, OPENAI, index),
        // State that lives at OpenAI under the item's id has no words of its own to carry.
        None => encrypted(out, &envelope::seal(opaque, None), id, OPENAI, index),
    }
}

fn encrypted(out: &mut Array<'_>, data: &str, id: Option<&str>, format: &str, index: u64) {
    out.object()
        .set("type", "reasoning.encrypted")
        .set("data", data)
        .set("index", index)
        .set_some("id", id)
        .set("format", format);
}
