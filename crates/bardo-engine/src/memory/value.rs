//! What is remembered under one key.

use bardo_types::chat::{Opaque, Reasoning};
use bardo_types::json::RawJson;

/// State of one tool call: the thinking before it, and what is bound to the call itself.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallState {
    /// The thinking with which the turn opened, before any words.
    pub(super) opening: Vec<Reasoning>,
    /// The thinking after the words, right before the call.
    pub(super) reasoning: Vec<Reasoning>,
    pub(super) opaque: Option<Opaque>,
    /// The arguments as the model wrote them, where a signature of its turn covers them (Gemini).
    pub(super) made: Option<String>,
}

impl CallState {
    pub(super) fn thoughts(&self) -> impl Iterator<Item = &Reasoning> {
        self.opening.iter().chain(&self.reasoning)
    }

    /// Size in memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let made = self.made.as_ref().map_or(0, String::len);
        self.thoughts().map(size).sum::<usize>() + made + 256
    }

    /// Whether there is anything to remember.
    pub(super) fn is_empty(&self) -> bool {
        self.thoughts().next().is_none() && self.opaque.is_none() && self.made.is_none()
    }
}

/// What is remembered under one key.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Remembered {
    /// State of a tool call.
    Call(CallState),
    /// Items of a stored response, its input included.
    Items(Vec<RawJson>),
}

impl Remembered {
    /// Size in memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Call(state) => state.bytes(),
            Self::Items(items) => {
                let sizes = items.iter().map(|item| item.as_str().len() + 32);
                sizes.sum::<usize>() + 256
            }
        }
    }
}

fn size(reasoning: &Reasoning) -> usize {
    let opaque = match &reasoning.opaque {
        Some(
            Opaque::AnthropicSignature(data)
            | Opaque::AnthropicRedacted(data)
            | Opaque::GeminiSignature(data),
        ) => data.len(),
        Some(Opaque::OpenAiReasoning(raw) | Opaque::ReasoningDetail(raw)) => raw.as_str().len(),
        Some(Opaque::ReasoningContent) | None => 0,
    };
    reasoning.text.len() + opaque + 64
}
