//! Who made the model behind a name: decides whose thinking state it can read.

use bardo_types::chat::Opaque;

/// A maker of models with state of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vendor {
    Anthropic,
    Google,
    OpenAi,
    /// A maker without state that others carry.
    Other,
    /// A router's name behind which any model may answer.
    Any,
}

impl Vendor {
    /// Reads the maker off a model name of any of the services.
    pub(super) fn of(model: &str) -> Self {
        let name = model.trim_start_matches('~').to_ascii_lowercase();
        if name.starts_with("openrouter/") {
            Self::Any
        } else if name.starts_with("anthropic/") || name.contains("claude") {
            Self::Anthropic
        } else if name.starts_with("google/") || name.contains("gemini") {
            Self::Google
        } else if name.starts_with("openai/") || name.starts_with("gpt-") {
            Self::OpenAi
        } else {
            Self::Other
        }
    }

    /// Whether models of this maker can read `opaque`.
    pub(super) fn reads(self, opaque: &Opaque) -> bool {
        let maker = match opaque {
            Opaque::AnthropicSignature(_) | Opaque::AnthropicRedacted(_) => Self::Anthropic,
            Opaque::OpenAiReasoning(_) => Self::OpenAi,
            Opaque::GeminiSignature(_) => Self::Google,
            Opaque::ReasoningContent => return false,
            Opaque::ReasoningDetail(raw) => match maker_of_format(raw.as_str()) {
                Some(maker) => maker,
                None => return true,
            },
        };
        self == Self::Any || self == maker
    }
}

/// The maker that an entry of `reasoning_details` names in its format.
fn maker_of_format(detail: &str) -> Option<Vendor> {
    #[derive(serde::Deserialize)]
    struct DetailFormat {
        format: Option<String>,
    }
    let entry: DetailFormat = serde_json::from_str(detail).ok()?;
    let format = entry.format?;
    if format.contains("anthropic") {
        Some(Vendor::Anthropic)
    } else if format.contains("google") {
        Some(Vendor::Google)
    } else if format.contains("openai") {
        Some(Vendor::OpenAi)
    } else {
        None
    }
}
