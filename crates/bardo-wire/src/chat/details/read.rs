//! Entries that a caller hands back.

use std::borrow::Cow;

use bardo_types::chat::{Opaque, Reasoning};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{Detail, DetailBlock, GEMINI, OPENAI, merge};
use crate::envelope;
use crate::json::{Object, Str, kept_object};

/// Summaries of an OpenAI item, waiting for the entry with its encrypted state.
#[derive(Default)]
struct Summaries<'a> {
    id: String,
    entries: Vec<(String, &'a RawValue)>,
}

impl Summaries<'_> {
    fn flush(&mut self, all: &mut Vec<Reasoning>) {
        for (text, raw) in self.entries.drain(..) {
            all.push(Reasoning {
                text,
                summary: true,
                opaque: Some(Opaque::ReasoningDetail(raw.into())),
            });
        }
    }
}

/// The thinking that a caller hands back in an assistant message.
pub(in super::super) fn read_all(raws: &[&RawValue]) -> Vec<Reasoning> {
    let mut all: Vec<Reasoning> = Vec::with_capacity(raws.len());
    let mut summaries = Summaries::default();
    let joined = join_fragments(raws);
    for raw in &joined {
        let Some(detail) = Detail::read(raw) else {
            continue;
        };
        let id = detail.id.as_deref().unwrap_or("");
        if detail.is("reasoning.summary", OPENAI) && !id.is_empty() {
            if summaries.id != id {
                summaries.flush(&mut all);
                id.clone_into(&mut summaries.id);
            }
            summaries.entries.push((detail.words().0.to_owned(), raw));
            continue;
        }
        if detail.is("reasoning.encrypted", OPENAI) {
            if summaries.id != id {
                summaries.flush(&mut all);
            }
            all.push(openai_item(&detail, &mut summaries));
            continue;
        }
        summaries.flush(&mut all);
        if detail.is("reasoning.encrypted", GEMINI) && id.is_empty() {
            let opaque =
                Opaque::GeminiSignature(detail.data.map(Str::into_string).unwrap_or_default());
            match all.last_mut() {
                Some(last) if last.opaque.is_none() && !last.text.is_empty() => {
                    last.opaque = Some(opaque);
                }
                _ => all.push(Reasoning {
                    opaque: Some(opaque),
                    ..Reasoning::default()
                }),
            }
            continue;
        }
        all.push(read_one(&detail, raw));
    }
    summaries.flush(&mut all);
    all
}

fn read_one(detail: &Detail<'_>, raw: &RawValue) -> Reasoning {
    let (text, summary) = detail.words();
    let opaque = match detail.signature.as_deref().and_then(envelope::open) {
        Some(opened) => Some(opened.opaque),
        None if detail.is("reasoning.text", GEMINI) => detail
            .signature
            .as_deref()
            .map(|signature| Opaque::GeminiSignature(signature.to_owned())),
        None if detail.is_signed_text() => detail
            .signature
            .as_deref()
            .map(|signature| Opaque::AnthropicSignature(signature.to_owned())),
        None => DetailBlock::begin(detail, raw).finish(),
    };
    Reasoning {
        text: text.to_owned(),
        summary,
        opaque,
    }
}

/// Rebuilds the Responses item whose state the entry holds.
fn openai_item(detail: &Detail<'_>, summaries: &mut Summaries<'_>) -> Reasoning {
    let texts: Vec<String> = summaries.entries.drain(..).map(|(text, _)| text).collect();
    let data = detail.data.as_deref().unwrap_or("");
    let opaque = match envelope::open(data) {
        Some(opened) => opened.opaque,
        None => {
            let item = kept_object(|item| {
                item.set("type", "reasoning")
                    .set_some("id", detail.id.as_deref())
                    .list("summary", &texts, |text, out| {
                        Object::new(out)
                            .set("type", "summary_text")
                            .set("text", text);
                    })
                    .set("encrypted_content", data);
            });
            Opaque::OpenAiReasoning(item)
        }
    };
    Reasoning {
        text: texts.concat(),
        summary: !texts.is_empty(),
        opaque: Some(opaque),
    }
}

/// Joins the deltas of one entry, which some callers keep apart as they came in a stream.
fn join_fragments<'a>(raws: &[&'a RawValue]) -> Vec<Cow<'a, RawValue>> {
    let mut all: Vec<Cow<'a, RawValue>> = Vec::with_capacity(raws.len());
    for raw in raws {
        if let Some(last) = all.last_mut()
            && is_fragment_of(last, raw)
        {
            let mut merged: Map<String, Value> =
                serde_json::from_str(last.get()).unwrap_or_default();
            merge(&mut merged, raw);
            let joined =
                serde_json::value::to_raw_value(&merged).expect("a JSON object always serializes");
            *last = Cow::Owned(joined);
        } else {
            all.push(Cow::Borrowed(raw));
        }
    }
    all
}

fn is_fragment_of(first: &RawValue, later: &RawValue) -> bool {
    let (Some(first), Some(later)) = (Detail::read(first), Detail::read(later)) else {
        return false;
    };
    let has_words = matches!(
        first.kind.as_deref(),
        Some("reasoning.text" | "reasoning.summary")
    );
    has_words
        && first.kind.as_deref() == later.kind.as_deref()
        && first.index.is_some()
        && first.index == later.index
        && first.signature.is_none()
}
