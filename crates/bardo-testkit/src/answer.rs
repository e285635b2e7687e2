//! What a provider would say, in each dialect, with usage that is known beforehand.
//!
//! Written from the providers' documentation and without our own codec, so that a misunderstanding there
//! cannot hide here.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use bardo_types::model::Dialect;
use bytes::Bytes;
use serde_json::Value;

/// Words that every tokenizer in use takes as one token each.
const WORDS: [&str; 12] = [
    " one", " two", " three", " red", " blue", " green", " day", " night", " tree", " house",
    " water", " stone",
];

/// Where usage is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UsageStyle {
    /// Where the dialect has it.
    #[default]
    Usual,
    /// The answer has no usage.
    Missing,
    /// Twice, the first time with less.
    Twice,
    /// On the last chunk with content already, where the dialect can.
    WithContent,
}

/// An answer of a provider.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The upstream's dialect.
    pub dialect: Dialect,
    /// The model as the request named it.
    pub model: String,
    /// The text in the pieces in which it is streamed; one token each.
    pub pieces: Vec<String>,
    /// Prompt tokens that are reported.
    pub input: u64,
    /// The part of them that came from the provider's cache.
    pub cached: u64,
    /// Where they are reported.
    pub usage: UsageStyle,
}

/// One event of a stream.
#[derive(Debug, Clone)]
pub struct Event {
    /// The bytes of the event, framing included.
    pub bytes: Bytes,
    /// Output tokens that the provider has made when this is sent.
    pub tokens: u64,
    /// Whether the event ends the stream without an error.
    pub terminal: bool,
}

impl Answer {
    /// An answer whose text names its provider and its request, so that no two are alike.
    #[must_use]
    pub fn new(dialect: Dialect, model: &str, upstream: usize, case: u64, words: usize) -> Self {
        let mut pieces = vec![
            "Upstream".to_owned(),
            format!(" {upstream}"),
            " says".to_owned(),
            format!(" {case}"),
            ":".to_owned(),
        ];
        pieces.extend((0..words).map(|at| WORDS[(at * 7 + upstream) % WORDS.len()].to_owned()));
        Self {
            dialect,
            model: model.to_owned(),
            pieces,
            input: 40 + case % 13,
            cached: 0,
            usage: UsageStyle::Usual,
        }
    }

    /// All of the text.
    #[must_use]
    pub fn text(&self) -> String {
        self.pieces.concat()
    }

    /// Output tokens that are reported.
    #[must_use]
    pub fn output(&self) -> u64 {
        self.pieces.len() as u64
    }

    /// The events of the stream.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        match self.dialect {
            Dialect::Chat | Dialect::Completions => chat::events(self),
            Dialect::Anthropic => anthropic::events(self),
            Dialect::Responses => responses::events(self),
            Dialect::Gemini => gemini::events(self),
        }
    }

    /// The body of an answer that comes whole.
    #[must_use]
    pub fn whole(&self) -> Bytes {
        let body = match self.dialect {
            Dialect::Chat | Dialect::Completions => chat::whole(self),
            Dialect::Anthropic => anthropic::whole(self),
            Dialect::Responses => responses::whole(self),
            Dialect::Gemini => gemini::whole(self),
        };
        body.to_string().into()
    }
}

/// The body of a refusal in a dialect.
#[must_use]
pub fn error_body(dialect: Dialect, status: u16, message: &str) -> String {
    match dialect {
        Dialect::Chat | Dialect::Completions | Dialect::Responses => {
            chat::error(message).to_string()
        }
        Dialect::Anthropic => anthropic::error(status, message).to_string(),
        Dialect::Gemini => gemini::error(status, message).to_string(),
    }
}

/// The event with which a stream of a dialect fails.
#[must_use]
pub fn error_event(dialect: Dialect) -> Bytes {
    let message = "The model is overloaded";
    match dialect {
        Dialect::Chat | Dialect::Completions => data(&chat::error(message)),
        Dialect::Anthropic => named("error", &anthropic::error(529, message)),
        Dialect::Responses => named("response.failed", &responses::failed(message)),
        Dialect::Gemini => data(&gemini::error(503, message)),
    }
}

/// An event of a kind that nobody knows yet.
#[must_use]
pub fn unknown_event(dialect: Dialect) -> Bytes {
    let body = serde_json::json!({ "type": "weather.changed", "wind": [1, { "from": "west" }] });
    match dialect {
        Dialect::Chat | Dialect::Completions | Dialect::Gemini => {
            data(&serde_json::json!({ "weather": { "wind": 3 }, "object": "weather" }))
        }
        Dialect::Anthropic | Dialect::Responses => named("weather.changed", &body),
    }
}

/// The bytes that keep a silent connection alive.
#[must_use]
pub fn ping(dialect: Dialect) -> Bytes {
    match dialect {
        Dialect::Anthropic => named("ping", &serde_json::json!({ "type": "ping" })),
        _ => Bytes::from_static(b": keep-alive\n\n"),
    }
}

fn data(body: &Value) -> Bytes {
    format!("data: {body}\n\n").into()
}

fn named(name: &str, body: &Value) -> Bytes {
    format!("event: {name}\ndata: {body}\n\n").into()
}

fn event(bytes: Bytes) -> Event {
    Event {
        bytes,
        tokens: 0,
        terminal: false,
    }
}

fn content(bytes: Bytes) -> Event {
    Event {
        tokens: 1,
        ..event(bytes)
    }
}

fn terminal(bytes: Bytes) -> Event {
    Event {
        terminal: true,
        ..event(bytes)
    }
}
