//! `reasoning_details`: the slot of this dialect for thinking and the state bound to it.
//!
//! Entries in a format we map become neutral state that any dialect can carry; every other entry
//! is kept as written, because it has to go back unmodified and in order.

mod read;
mod write;

use bardo_types::chat::Opaque;
use bardo_types::json::RawJson;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::json::{Str, wire_object};

pub(super) use read::read_all;
pub(super) use write::{words_kind, write, write_end};

const ANTHROPIC: &str = "anthropic-claude-v1";
const GEMINI: &str = "google-gemini-v1";
const OPENAI: &str = "openai-responses-v1";

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
        self.kind.as_deref() == Some(kind) && self.is_in(format)
    }

    /// Whether the entry is in a format. SDKs that join the pieces of a stream may have written its
    /// name several times in a row.
    fn is_in(&self, format: &str) -> bool {
        let told = self.format.as_deref().unwrap_or_default();
        !told.is_empty() && told.replace(format, "").is_empty()
    }

    /// Whether these are signed words without the name of their format, which clients lose on their
    /// way. Only Claude signs words.
    fn is_signed_text(&self) -> bool {
        self.kind.as_deref() == Some("reasoning.text")
            && self.format.as_deref().is_none_or(str::is_empty)
            && self
                .signature
                .as_deref()
                .is_some_and(|text| !text.is_empty())
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
pub(super) struct DetailBlock {
    kind: Option<String>,
    index: Option<u64>,
    anthropic: bool,
    /// Words and nothing else, so that the text itself is the state.
    plain: bool,
    signature: Option<String>,
    data: String,
    raw: RawJson,
    merged: Option<Map<String, Value>>,
}

impl DetailBlock {
    pub(super) fn begin(detail: &Detail<'_>, raw: &RawValue) -> Self {
        let mut block = Self {
            kind: detail.kind.as_deref().map(str::to_owned),
            index: detail.index,
            anthropic: detail.is_in(ANTHROPIC),
            plain: true,
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
        self.anthropic |= detail.is_in(ANTHROPIC);
        self.note(detail);
        if self.anthropic {
            return;
        }
        let merged = self
            .merged
            .get_or_insert_with(|| self.raw.read().unwrap_or_default());
        merge(merged, raw);
    }

    fn note(&mut self, detail: &Detail<'_>) {
        self.plain &= detail.kind.as_deref() == Some("reasoning.text")
            && detail.format.is_none()
            && detail.id.is_none()
            && detail.signature.is_none()
            && detail.extra.is_empty();
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
        if self.plain {
            return Some(Opaque::ReasoningContent);
        }
        let raw = match self.merged {
            Some(merged) => RawJson::of(&merged).ok()?,
            None => self.raw,
        };
        Some(Opaque::ReasoningDetail(raw))
    }
}

/// The type under which Venice's `thought_signature`, a member of the message, travels here.
const THOUGHT_SIGNATURE: &str = "thought_signature";

/// Keeps Venice's `thought_signature` as an entry of its own type.
pub(super) fn thought_signature(signature: &str) -> Opaque {
    let entry = serde_json::json!({ "type": THOUGHT_SIGNATURE, "data": signature });
    Opaque::ReasoningDetail(RawJson::of(&entry).expect("a JSON value always serializes"))
}

/// Venice's `thought_signature`, if `opaque` is one.
pub(super) fn as_thought_signature(opaque: &Opaque) -> Option<String> {
    let Opaque::ReasoningDetail(raw) = opaque else {
        return None;
    };
    let entry: Detail<'_> = raw.read().ok()?;
    if entry.kind.as_deref() != Some(THOUGHT_SIGNATURE) {
        return None;
    }
    entry.data.map(Str::into_string)
}

/// Adds a later delta of an entry to what is known of it.
fn merge(merged: &mut Map<String, Value>, later: &RawValue) {
    let later: Map<String, Value> = serde_json::from_str(later.get()).unwrap_or_default();
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
