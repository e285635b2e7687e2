//! `reasoning_details`: the slot of this dialect for thinking and the state bound to it
//! (translation §6).
//!
//! Entries in a format we map become neutral state that any dialect can carry; every other entry
//! is kept as written, because it has to go back unmodified and in order.

use bardo_types::chat::{Opaque, Reasoning};
use bardo_types::json::RawJson;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::write::{Array, Object};
use crate::envelope;
use crate::json::{Str, wire_object};

pub(super) const ANTHROPIC: &str = "anthropic-claude-v1";
pub(super) const GEMINI: &str = "google-gemini-v1";
pub(super) const OPENAI: &str = "openai-responses-v1";

wire_object! {
    /// One entry, whole or a delta.
    pub(super) struct Detail<'a> {
        "type" => kind: Option<Str<'a>>,
        "text" => text: Option<Str<'a>>,
        "summary" => summary: Option<Str<'a>>,
        "data" => data: Option<Str<'a>>,
        "signature" => signature: Option<Str<'a>>,
        "id" => id: Option<Str<'a>>,
        "format" => format: Option<Str<'a>>,
        "index" => index: Option<u64>,
    }
}

impl<'a> Detail<'a> {
    /// Reads an entry; `None` when it is not even an object of about the right shape.
    pub(super) fn read(raw: &'a RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok()
    }

    fn is(&self, kind: &str, format: &str) -> bool {
        self.kind.as_deref() == Some(kind) && self.format.as_deref() == Some(format)
    }

    /// The words to show, and whether they are a summary.
    pub(super) fn words(&self) -> (&str, bool) {
        match self.kind.as_deref() {
            Some("reasoning.summary") => (self.summary.as_deref().unwrap_or(""), true),
            Some("reasoning.text") => (self.text.as_deref().unwrap_or(""), false),
            _ => ("", false),
        }
    }
}

/// One block of `reasoning_details`, put together from its deltas.
#[derive(Debug)]
pub(super) struct Block {
    kind: Option<String>,
    index: Option<u64>,
    anthropic: bool,
    signature: Option<String>,
    data: String,
    raw: RawJson,
    merged: Option<Map<String, Value>>,
}

impl Block {
    pub(super) fn begin(detail: &Detail<'_>, raw: &RawValue) -> Self {
        let mut block = Self {
            kind: detail.kind.as_deref().map(str::to_owned),
            index: detail.index,
            anthropic: detail.format.as_deref() == Some(ANTHROPIC),
            signature: None,
            data: String::new(),
            raw: raw.into(),
            merged: None,
        };
        block.note(detail);
        block
    }

    /// Whether a later delta belongs to this block.
    pub(super) fn continues_with(&self, detail: &Detail<'_>) -> bool {
        self.kind.as_deref() == detail.kind.as_deref() && self.index == detail.index
    }

    pub(super) fn add(&mut self, detail: &Detail<'_>, raw: &RawValue) {
        self.anthropic |= detail.format.as_deref() == Some(ANTHROPIC);
        self.note(detail);
        if self.anthropic {
            return;
        }
        let merged = self
            .merged
            .get_or_insert_with(|| self.raw.read().unwrap_or_default());
        let later: Map<String, Value> = serde_json::from_str(raw.get()).unwrap_or_default();
        for (name, value) in later {
            match (merged.get_mut(&name), value) {
                (Some(Value::String(all)), Value::String(more))
                    if matches!(&*name, "text" | "summary" | "data") =>
                {
                    all.push_str(&more);
                }
                (_, Value::Null) => {}
                (_, value) => {
                    merged.insert(name, value);
                }
            }
        }
    }

    fn note(&mut self, detail: &Detail<'_>) {
        if let Some(signature) = detail.signature.as_deref().filter(|text| !text.is_empty()) {
            self.signature = Some(signature.to_owned());
        }
        self.data.push_str(detail.data.as_deref().unwrap_or(""));
    }

    /// The state of the complete block.
    pub(super) fn finish(self) -> Option<Opaque> {
        if self.anthropic {
            return match self.kind.as_deref() {
                Some("reasoning.text") => self.signature.map(Opaque::AnthropicSignature),
                Some("reasoning.encrypted") => Some(Opaque::AnthropicRedacted(self.data)),
                _ => Some(Opaque::ReasoningDetail(self.raw)),
            };
        }
        let raw = match self.merged {
            Some(merged) => RawJson::of(&merged).ok()?,
            None => self.raw,
        };
        Some(Opaque::ReasoningDetail(raw))
    }
}

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
pub(super) fn read_all(raws: &[&RawValue]) -> Vec<Reasoning> {
    let mut all: Vec<Reasoning> = Vec::with_capacity(raws.len());
    let mut summaries = Summaries::default();
    for raw in raws {
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
        None => Block::begin(detail, raw).finish(),
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
            let mut json = Vec::new();
            {
                let mut item = Object::new(&mut json);
                item.set("type", "reasoning")
                    .set_some("id", detail.id.as_deref());
                {
                    let mut parts = item.array("summary");
                    for text in &texts {
                        parts.object().set("type", "summary_text").set("text", text);
                    }
                }
                item.set("encrypted_content", data);
            }
            let json = String::from_utf8(json).expect("JSON is written as UTF-8");
            Opaque::OpenAiReasoning(RawJson::parse(json).expect("what was written is JSON"))
        }
    };
    Reasoning {
        text: texts.concat(),
        summary: !texts.is_empty(),
        opaque: Some(opaque),
    }
}

/// Writes the entries for `reasoning`, counting `index` up; plain thinking without state of its
/// own writes none.
pub(super) fn write(reasoning: &Reasoning, index: &mut u64, out: &mut Array<'_>) {
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
                .set("signature", signature)
                .set("format", ANTHROPIC)
                .set("index", index);
        }
        Opaque::AnthropicRedacted(data) => encrypted(out, data, None, ANTHROPIC, *index),
        Opaque::GeminiSignature(data) => {
            if !text.is_empty() {
                out.object()
                    .set("type", "reasoning.text")
                    .set("text", text)
                    .set("format", GEMINI)
                    .set("index", index);
                *index += 1;
            }
            encrypted(out, data, None, GEMINI, *index);
        }
        Opaque::OpenAiReasoning(item) => write_openai(opaque, item, index, out),
    }
    *index += 1;
}

wire_object! {
    struct OpenAiItem<'a> {
        "id" => id: Option<Str<'a>>,
        "encrypted_content" => encrypted_content: Option<Str<'a>>,
        "summary" => summary: Option<Vec<SummaryText<'a>>>,
    }
}

wire_object! {
    struct SummaryText<'a> {
        "text" => text: Option<Str<'a>>,
    }
}

fn write_openai(opaque: &Opaque, item: &RawJson, index: &mut u64, out: &mut Array<'_>) {
    let item: OpenAiItem<'_> = item.read().unwrap_or_default();
    let id = item.id.as_deref();
    for summary in item.summary.iter().flatten().filter(|_| id.is_some()) {
        out.object()
            .set("type", "reasoning.summary")
            .set("summary", summary.text.as_deref().unwrap_or(""))
            .set_some("id", id)
            .set("format", OPENAI)
            .set("index", index);
        *index += 1;
    }
    match &item.encrypted_content {
        Some(data) => encrypted(out, data, id, OPENAI, *index),
        // State that lives at OpenAI under the item's id has no words of its own to carry.
        None => encrypted(out, &envelope::seal(opaque, None), id, OPENAI, *index),
    }
}

fn encrypted(out: &mut Array<'_>, data: &str, id: Option<&str>, format: &str, index: u64) {
    out.object()
        .set("type", "reasoning.encrypted")
        .set("data", data)
        .set_some("id", id)
        .set("format", format)
        .set("index", &index);
}
