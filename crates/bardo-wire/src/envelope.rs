//! State of one provider inside the slot of another's dialect.
//!
//! A client that speaks Anthropic hands back a thinking block's `signature`, one that speaks
//! Responses a reasoning item's `encrypted_content`. When the state in it is not that dialect's
//! own, it travels in an envelope: `bardo1.` and base64 of a small JSON object. An envelope must
//! never reach a provider.

use std::sync::LazyLock;

use bardo_types::chat::Opaque;
use bardo_types::json::RawJson;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};

/// How every envelope begins.
pub const PREFIX: &str = "bardo1.";

#[derive(Serialize, Deserialize)]
struct EnvelopeContent {
    #[serde(rename = "k")]
    kind: EnvelopeKind,
    #[serde(rename = "d", default, skip_serializing_if = "String::is_empty")]
    data: String,
    /// The thinking text, where the slot itself cannot hold it.
    #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EnvelopeKind {
    AnthropicSignature,
    AnthropicRedacted,
    OpenaiReasoning,
    GeminiSignature,
    ReasoningContent,
    ReasoningDetail,
}

/// Puts state, and optionally the thinking text that it belongs to, in an envelope.
#[must_use]
pub fn seal(opaque: &Opaque, text: Option<&str>) -> String {
    let (kind, data) = match opaque {
        Opaque::AnthropicSignature(data) => (EnvelopeKind::AnthropicSignature, data.clone()),
        Opaque::AnthropicRedacted(data) => (EnvelopeKind::AnthropicRedacted, data.clone()),
        Opaque::OpenAiReasoning(raw) => (EnvelopeKind::OpenaiReasoning, raw.as_str().to_owned()),
        Opaque::GeminiSignature(data) => (EnvelopeKind::GeminiSignature, data.clone()),
        Opaque::ReasoningContent => (EnvelopeKind::ReasoningContent, String::new()),
        Opaque::ReasoningDetail(raw) => (EnvelopeKind::ReasoningDetail, raw.as_str().to_owned()),
    };
    let content = EnvelopeContent {
        kind,
        data,
        text: text.map(str::to_owned),
    };
    let json = serde_json::to_vec(&content).expect("strings always serialize");
    format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(json))
}

/// The content of an envelope: the state, and the thinking text if it was put in.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    /// The provider's state.
    pub opaque: Opaque,
    /// The thinking text.
    pub text: Option<String>,
}

/// Whether `text` claims to be an envelope, broken or not.
#[must_use]
pub fn is_envelope(text: &str) -> bool {
    text.starts_with(PREFIX)
}

static CLAIM: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(PREFIX));

/// Whether the JSON in `body` has a string that claims to be an envelope.
#[must_use]
pub fn is_within(body: &[u8]) -> bool {
    CLAIM
        .find_iter(body)
        .any(|at| at > 0 && body[at - 1] == b'"')
}

/// Opens an envelope; `None` when `text` is none, or a broken one.
#[must_use]
pub fn open(text: &str) -> Option<Opened> {
    let json = URL_SAFE_NO_PAD.decode(text.strip_prefix(PREFIX)?).ok()?;
    let content: EnvelopeContent = serde_json::from_slice(&json).ok()?;
    let opaque = match content.kind {
        EnvelopeKind::AnthropicSignature => Opaque::AnthropicSignature(content.data),
        EnvelopeKind::AnthropicRedacted => Opaque::AnthropicRedacted(content.data),
        EnvelopeKind::OpenaiReasoning => {
            Opaque::OpenAiReasoning(RawJson::parse(content.data).ok()?)
        }
        EnvelopeKind::GeminiSignature => Opaque::GeminiSignature(content.data),
        EnvelopeKind::ReasoningContent => Opaque::ReasoningContent,
        EnvelopeKind::ReasoningDetail => {
            Opaque::ReasoningDetail(RawJson::parse(content.data).ok()?)
        }
    };
    Some(Opened {
        opaque,
        text: content.text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_comes_out_again() {
        let raw = RawJson::parse(r#"{"type":"reasoning","id":"rs_1","encrypted_content":"gAAA="}"#)
            .unwrap();
        for opaque in [
            Opaque::AnthropicSignature("EqQB/+=".into()),
            Opaque::AnthropicRedacted("x".into()),
            Opaque::OpenAiReasoning(raw.clone()),
            Opaque::GeminiSignature("CiQ=".into()),
            Opaque::ReasoningContent,
            Opaque::ReasoningDetail(raw),
        ] {
            let sealed = seal(&opaque, Some("thought"));
            assert!(is_envelope(&sealed));
            assert_eq!(
                open(&sealed),
                Some(Opened {
                    opaque,
                    text: Some("thought".into())
                })
            );
        }
        assert!(is_within(br#"{"signature":"bardo1.e30"}"#));
        assert!(!is_within(br#"{"text":"it begins with bardo1."}"#));
        assert_eq!(open("bardo1.%%%"), None);
        assert_eq!(open("EqQBCkYI"), None);
    }
}
