//! What is remembered as bytes, for other processes of the gateway.

use bardo_types::chat::{Opaque, Reasoning};
use bardo_types::json::RawJson;
use serde::{Deserialize, Serialize};

use super::value::{CallState, Remembered};

/// What is remembered under one key.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenMemory {
    Call {
        opening: Vec<WrittenThought>,
        reasoning: Vec<WrittenThought>,
        opaque: Option<WrittenOpaque>,
        made: Option<String>,
    },
    Items(Vec<String>),
}

#[derive(Serialize, Deserialize)]
struct WrittenThought {
    text: String,
    summary: bool,
    opaque: Option<WrittenOpaque>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenOpaque {
    AnthropicSignature(String),
    AnthropicRedacted(String),
    OpenAiReasoning(String),
    GeminiSignature(String),
    ReasoningContent,
    ReasoningDetail(String),
}

/// The bytes of what is remembered.
pub(super) fn write(value: &Remembered) -> Vec<u8> {
    let thoughts = |thoughts: &[Reasoning]| thoughts.iter().map(WrittenThought::of).collect();
    let written = match value {
        Remembered::Call(state) => WrittenMemory::Call {
            opening: thoughts(&state.opening),
            reasoning: thoughts(&state.reasoning),
            opaque: state.opaque.as_ref().map(WrittenOpaque::of),
            made: state.made.clone(),
        },
        Remembered::Items(items) => {
            WrittenMemory::Items(items.iter().map(|item| item.as_str().to_owned()).collect())
        }
    };
    serde_json::to_vec(&written).unwrap_or_default()
}

/// What is remembered, from its bytes; `None` where they are damaged or of another version.
pub(super) fn read(bytes: &[u8]) -> Option<Remembered> {
    let thoughts = |thoughts: Vec<WrittenThought>| -> Option<Vec<Reasoning>> {
        thoughts.into_iter().map(WrittenThought::thought).collect()
    };
    Some(match serde_json::from_slice(bytes).ok()? {
        WrittenMemory::Call {
            opening,
            reasoning,
            opaque,
            made,
        } => Remembered::Call(CallState {
            opening: thoughts(opening)?,
            reasoning: thoughts(reasoning)?,
            opaque: match opaque {
                Some(written) => Some(written.opaque()?),
                None => None,
            },
            made,
        }),
        WrittenMemory::Items(items) => {
            let items = items.into_iter().map(|item| RawJson::parse(item).ok());
            Remembered::Items(items.collect::<Option<_>>()?)
        }
    })
}

impl WrittenThought {
    fn of(thought: &Reasoning) -> Self {
        Self {
            text: thought.text.clone(),
            summary: thought.summary,
            opaque: thought.opaque.as_ref().map(WrittenOpaque::of),
        }
    }

    fn thought(self) -> Option<Reasoning> {
        Some(Reasoning {
            text: self.text,
            summary: self.summary,
            opaque: match self.opaque {
                Some(written) => Some(written.opaque()?),
                None => None,
            },
        })
    }
}

impl WrittenOpaque {
    fn of(opaque: &Opaque) -> Self {
        let raw = |raw: &RawJson| raw.as_str().to_owned();
        match opaque {
            Opaque::AnthropicSignature(data) => Self::AnthropicSignature(data.clone()),
            Opaque::AnthropicRedacted(data) => Self::AnthropicRedacted(data.clone()),
            Opaque::OpenAiReasoning(item) => Self::OpenAiReasoning(raw(item)),
            Opaque::GeminiSignature(data) => Self::GeminiSignature(data.clone()),
            Opaque::ReasoningContent => Self::ReasoningContent,
            Opaque::ReasoningDetail(detail) => Self::ReasoningDetail(raw(detail)),
        }
    }

    fn opaque(self) -> Option<Opaque> {
        Some(match self {
            Self::AnthropicSignature(data) => Opaque::AnthropicSignature(data),
            Self::AnthropicRedacted(data) => Opaque::AnthropicRedacted(data),
            Self::OpenAiReasoning(raw) => Opaque::OpenAiReasoning(RawJson::parse(raw).ok()?),
            Self::GeminiSignature(data) => Opaque::GeminiSignature(data),
            Self::ReasoningContent => Opaque::ReasoningContent,
            Self::ReasoningDetail(raw) => Opaque::ReasoningDetail(RawJson::parse(raw).ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_remembered_comes_back_as_it_was() {
        let raw = || RawJson::parse("{\"type\": \"reasoning\",\"id\":\"r\"}").unwrap();
        let thought = |opaque| Reasoning {
            text: "hm \u{1f914}".into(),
            summary: true,
            opaque,
        };
        let state = CallState {
            opening: vec![
                thought(Some(Opaque::AnthropicSignature("s".into()))),
                thought(Some(Opaque::AnthropicRedacted("d".into()))),
                thought(Some(Opaque::OpenAiReasoning(raw()))),
            ],
            reasoning: vec![
                thought(Some(Opaque::ReasoningContent)),
                thought(Some(Opaque::ReasoningDetail(raw()))),
                thought(None),
            ],
            opaque: Some(Opaque::GeminiSignature("g".into())),
            made: Some("{ }".into()),
        };
        for value in [
            Remembered::Call(state),
            Remembered::Items(vec![raw(), raw()]),
        ] {
            assert_eq!(read(&write(&value)), Some(value));
        }
        assert_eq!(read(b"{\"items\":[\"{\"]}"), None);
        assert_eq!(read(b""), None);
    }
}
