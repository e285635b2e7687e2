//! The forms in which a request can come in.

use crate::recorded::Recorded;

/// The header by which a gateway in sandbox mode says what its own caller spoke. Real providers
/// never get it.
const FROM: &str = "x-bardo-sandbox-from";

/// A wire format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Dialect {
    #[default]
    Chat,
    Completions,
    Responses,
    Messages,
    Gemini,
}

impl Dialect {
    /// The name that people know it by.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Chat => "Chat Completions",
            Self::Completions => "Completions",
            Self::Responses => "Responses",
            Self::Messages => "Anthropic Messages",
            Self::Gemini => "Gemini",
        }
    }

    /// What the gateway's caller spoke, where the gateway says so.
    pub(crate) fn of_caller(request: &Recorded) -> Option<Self> {
        Some(match request.header(FROM)? {
            "chat" => Self::Chat,
            "completions" => Self::Completions,
            "responses" => Self::Responses,
            "anthropic" => Self::Messages,
            "gemini" => Self::Gemini,
            _ => return None,
        })
    }
}
