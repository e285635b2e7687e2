//! Callers: what they send, and how they read what comes back, as strictly as an SDK.

pub mod grammar;
mod read;

use std::time::Duration;

use bardo_types::model::Dialect;
use bytes::Bytes;
use serde_json::{Value, json};

pub use read::{Ending, Reading};

/// When a caller loses patience.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaves {
    /// The caller waits to the end.
    Never,
    /// After that time.
    After(Duration),
    /// After so many reads of a stream.
    AfterReads(usize),
}

/// The request of one caller, and its behavior.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The number by which providers and tests know the request.
    pub case: u64,
    /// The caller's dialect.
    pub dialect: Dialect,
    /// Name of the model.
    pub model: String,
    /// Piece by piece.
    pub stream: bool,
    /// The request offers a tool, where the dialect has tools.
    pub tools: bool,
    /// Its limit of output tokens, where it gives one.
    pub max_tokens: Option<u64>,
    /// When it leaves.
    pub leaves: Leaves,
    /// Which of the scene's purses pays; `None`: the owner asks.
    pub purse: Option<usize>,
}

impl Wish {
    /// A wish of a caller who waits to the end.
    #[must_use]
    pub fn new(case: u64, dialect: Dialect, model: &str, stream: bool) -> Self {
        Self {
            case,
            dialect,
            model: model.to_owned(),
            stream,
            tools: false,
            max_tokens: None,
            leaves: Leaves::Never,
            purse: None,
        }
    }

    /// The body that asks for it.
    #[must_use]
    pub fn body(&self) -> Bytes {
        let text = format!("Tell me about {}, please.", marker(self.case));
        let message = json!([{ "role": "user", "content": text }]);
        let mut body = json!({ "model": self.model, "stream": self.stream });
        let limit = match self.dialect {
            Dialect::Anthropic => {
                body["messages"] = message;
                body["max_tokens"] = json!(4096);
                "max_tokens"
            }
            Dialect::Responses => {
                body["input"] = message;
                "max_output_tokens"
            }
            Dialect::Completions => {
                body["prompt"] = json!(text);
                "max_tokens"
            }
            Dialect::Chat | Dialect::Gemini => {
                body["messages"] = message;
                "max_tokens"
            }
        };
        if self.tools && self.dialect != Dialect::Completions {
            body["tools"] = json!([tool(self.dialect)]);
        }
        if let Some(tokens) = self.max_tokens {
            body[limit] = json!(tokens);
        }
        body.to_string().into()
    }
}

/// A tool that looks up the weather of a place.
fn tool(dialect: Dialect) -> Value {
    let (name, schema) = ("weather", json!({ "type": "object", "properties": {} }));
    match dialect {
        Dialect::Anthropic => json!({ "name": name, "input_schema": schema }),
        Dialect::Responses => json!({ "type": "function", "name": name, "parameters": schema }),
        Dialect::Chat | Dialect::Completions | Dialect::Gemini => json!({
            "type": "function",
            "function": { "name": name, "parameters": schema },
        }),
    }
}

fn marker(case: u64) -> String {
    format!("case#{case}#")
}

/// The number in a prompt.
pub(crate) fn case_of(body: &str) -> Option<u64> {
    let (_, rest) = body.split_once("case#")?;
    rest.split_once('#')?.0.parse().ok()
}

/// The name of a dialect in messages of tests.
#[must_use]
pub fn name_of(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Chat => "chat",
        Dialect::Completions => "completions",
        Dialect::Anthropic => "anthropic",
        Dialect::Responses => "responses",
        Dialect::Gemini => "gemini",
    }
}

/// The text of a whole answer in a caller's dialect.
#[must_use]
pub fn whole_text(dialect: Dialect, body: &Value) -> Option<String> {
    let text = match dialect {
        Dialect::Chat => body.pointer("/choices/0/message/content")?,
        Dialect::Completions => body.pointer("/choices/0/text")?,
        Dialect::Anthropic => body.pointer("/content/0/text")?,
        Dialect::Responses => {
            let items = body["output"].as_array()?;
            let said = items.iter().find(|item| item["type"] == "message")?;
            said.pointer("/content/0/text")?
        }
        Dialect::Gemini => body.pointer("/candidates/0/content/parts/0/text")?,
    };
    text.as_str().map(str::to_owned)
}
