//! How many tokens a text or a prompt has, by a public tokenizer: an estimate.

use std::sync::OnceLock;

use bardo_types::chat::{
    ChatRequest, DocumentSource, MediaSource, OutputFormat, Part, Tool, ToolInput,
};
use tiktoken_rs::CoreBPE;

/// Tokens that an image is taken for; providers use between 85 and about 1,600.
const IMAGE_TOKENS: u64 = 1_200;
/// Tokens around each message.
const MESSAGE_TOKENS: u64 = 4;

/// The size of a prompt by a public tokenizer; at least 1.
pub(crate) fn estimate(request: &ChatRequest) -> u64 {
    let mut counter = Counter {
        tokenizer: tokenizer(),
        tokens: 3,
    };
    for message in &request.messages {
        counter.tokens += MESSAGE_TOKENS;
        counter.parts(&message.parts);
    }
    for tool in &request.tools {
        counter.tool(tool);
    }
    if let OutputFormat::JsonSchema { schema, .. } = &request.output {
        counter.text(schema.as_str());
    }
    if let Some(prediction) = &request.prediction {
        counter.text(prediction.as_str());
    }
    counter.tokens.max(1)
}

/// The size of a text by a public tokenizer.
pub(crate) fn text_tokens(text: &str) -> u64 {
    if text.is_empty() {
        return 0;
    }
    tokens_of(tokenizer(), text)
}

fn tokens_of(tokenizer: Option<&CoreBPE>, text: &str) -> u64 {
    match tokenizer {
        Some(tokenizer) => tokenizer.encode_ordinary(text).len() as u64,
        None => text.len() as u64 / 3 + 1,
    }
}

/// Loaded at the first use: its tables take about 45 MB.
fn tokenizer() -> Option<&'static CoreBPE> {
    static TOKENIZER: OnceLock<Option<CoreBPE>> = OnceLock::new();
    TOKENIZER
        .get_or_init(|| tiktoken_rs::o200k_base().ok())
        .as_ref()
}

struct Counter {
    tokenizer: Option<&'static CoreBPE>,
    tokens: u64,
}

impl Counter {
    fn text(&mut self, text: &str) {
        self.tokens += tokens_of(self.tokenizer, text);
    }

    fn parts(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::Text(text) => self.text(&text.text),
                Part::Refusal(text) => self.text(text),
                Part::Image(_) => self.tokens += IMAGE_TOKENS,
                Part::Audio(audio) => self.tokens += audio.data.len() as u64 / 400 + 1,
                Part::Document(document) => match &document.source {
                    DocumentSource::Text(text) => self.text(text),
                    DocumentSource::Parts(parts) => self.parts(parts),
                    // About three bytes of base64 in a hundred become tokens in usual PDFs.
                    DocumentSource::Media(MediaSource::Base64 { data, .. }) => {
                        self.tokens += data.len() as u64 / 32 + 1
                    }
                    DocumentSource::Media(_) => self.tokens += IMAGE_TOKENS,
                },
                Part::SearchResult(result) => {
                    self.text(&result.title);
                    for text in &result.content {
                        self.text(&text.text);
                    }
                }
                Part::Reasoning(reasoning) => self.text(&reasoning.text),
                Part::ToolCall(call) => {
                    self.text(&call.name);
                    match &call.input {
                        ToolInput::Json(text) | ToolInput::Text(text) => self.text(text),
                    }
                }
                Part::ToolResult(result) => self.parts(&result.parts),
                Part::Server(block) => self.text(block.raw.as_str()),
            }
        }
    }

    fn tool(&mut self, tool: &Tool) {
        self.tokens += MESSAGE_TOKENS;
        match tool {
            Tool::Function {
                name,
                description,
                schema,
                ..
            } => {
                self.text(name);
                self.text(description.as_deref().unwrap_or_default());
                self.text(schema.as_ref().map_or("", |schema| schema.as_str()));
            }
            Tool::Custom {
                name, description, ..
            } => {
                self.text(name);
                self.text(description.as_deref().unwrap_or_default());
            }
            Tool::Server { raw, .. } => self.text(raw.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use bardo_types::chat::{Message, Role, Text};
    use bardo_types::model::Dialect;

    use super::*;

    #[test]
    fn counts_grow_with_the_prompt_and_are_never_zero() {
        let request = |text: &str| ChatRequest {
            messages: vec![Message::new(Role::User, vec![Text::new(text).into()])],
            ..ChatRequest::new(Dialect::Anthropic, "m")
        };
        assert!(estimate(&ChatRequest::new(Dialect::Anthropic, "m")) >= 1);
        assert_eq!(
            estimate(&request("hello world")) + 1,
            estimate(&request("hello world again"))
        );
    }
}
