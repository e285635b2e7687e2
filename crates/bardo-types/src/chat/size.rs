//! How large the parts of a prompt are, where no tokenizer is worth its time.

use crate::chat::{ChatRequest, DocumentSource, MediaSource, Message, Part, Tool, ToolInput};

/// Bytes of prose, code or JSON per token, rather too few than too many.
const BYTES_PER_TOKEN: usize = 3;
/// Bytes that a picture counts as: about 1,600 tokens.
pub const IMAGE_BYTES: usize = 4_800;

/// The tokens of so many bytes of a prompt, rather too many than too few.
#[must_use]
pub const fn tokens_of_bytes(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN) as u64
}

impl ChatRequest {
    /// Tokens of the tool definitions, rather too many than too few. Providers cache tools before
    /// the system prompt, and that before the turns.
    #[must_use]
    pub fn tools_tokens(&self) -> u64 {
        tokens_of_bytes(self.tools.iter().map(Tool::bytes).sum())
    }

    /// Tokens of the tool definitions and the system prompt, rather too many than too few.
    #[must_use]
    pub fn system_tokens(&self) -> u64 {
        let system = self.leading_system().iter().map(Message::bytes);
        tokens_of_bytes(self.tools.iter().map(Tool::bytes).chain(system).sum())
    }

    /// Tokens of the whole prompt, rather too many than too few.
    #[must_use]
    pub fn prompt_tokens(&self) -> u64 {
        let messages = self.messages.iter().map(Message::bytes);
        tokens_of_bytes(self.tools.iter().map(Tool::bytes).chain(messages).sum())
    }
}

impl Message {
    /// Bytes of what is said, without the members around it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(Part::bytes).sum()
    }
}

impl Part {
    /// Bytes of the content, without the members around it. Pictures count as a fixed size.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.text.len(),
            Self::Image(_) => IMAGE_BYTES,
            Self::Document(document) => match &document.source {
                DocumentSource::Text(text) => text.len(),
                DocumentSource::Media(media) => media.bytes(),
                DocumentSource::Parts(parts) => parts.iter().map(Self::bytes).sum(),
            },
            Self::Audio(audio) => audio.data.len(),
            Self::SearchResult(result) => result.content.iter().map(|text| text.text.len()).sum(),
            Self::Reasoning(reasoning) => reasoning.text.len(),
            Self::ToolCall(call) => call.name.len() + call.input.text().len(),
            Self::ToolResult(result) => result.parts.iter().map(Self::bytes).sum(),
            Self::Refusal(text) => text.len(),
            Self::Server(block) => block.raw.as_str().len(),
        }
    }
}

impl MediaSource {
    /// Bytes of a file as it is written into a request. A file elsewhere counts as a picture.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Base64 { data, .. } => data.len(),
            Self::Url(_) | Self::File(_) => IMAGE_BYTES,
        }
    }
}

impl ToolInput {
    /// The arguments as they are written.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Json(text) | Self::Text(text) => text,
        }
    }
}

impl Tool {
    /// Bytes of the definition, without the members around it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Function {
                name,
                description,
                schema,
                ..
            } => {
                let schema = schema.as_ref().map_or(0, |schema| schema.as_str().len());
                name.len() + description.as_ref().map_or(0, String::len) + schema
            }
            Self::Custom {
                name,
                description,
                format,
            } => {
                let format = format.as_ref().map_or(0, |format| format.as_str().len());
                name.len() + description.as_ref().map_or(0, String::len) + format
            }
            Self::Server { raw, .. } => raw.as_str().len(),
        }
    }
}
