//! The grammar of complete answers, as the strictest SDKs read each dialect.

mod anthropic;
mod openai;
mod responses;

use bardo_types::model::Dialect;
use serde_json::Value;

/// Content of a complete answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content {
    /// The text of all pieces.
    pub text: String,
    /// Name and input of each tool call, in order.
    pub calls: Vec<(String, Value)>,
}

/// One event of a stream: its name, empty where it has none, and its data.
struct Block<'a> {
    name: &'a str,
    data: Value,
}

/// Returns the message as an error unless the rule holds.
fn rule(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}

/// Reads a whole answer.
///
/// # Errors
/// The first rule of the dialect that the answer breaks.
pub fn whole(dialect: Dialect, body: &[u8]) -> Result<Content, String> {
    let body: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let content = match dialect {
        Dialect::Chat => openai::chat(&body),
        Dialect::Completions => openai::completion(&body),
        Dialect::Anthropic => anthropic::message(&body),
        Dialect::Responses => responses::response(&body),
        Dialect::Gemini => Err("no caller speaks it".to_owned()),
    };
    content.map_err(|broken| format!("{broken}: {body}"))
}

/// Reads a stream that ended well. The gateway's figures are its only comment, right before its last
/// event.
///
/// # Errors
/// The first rule of the dialect that the stream breaks.
pub fn stream(dialect: Dialect, bytes: &[u8]) -> Result<Content, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    rule(text.ends_with("\n\n"), || "its last event is torn".into())?;
    let blocks: Vec<&str> = text
        .split("\n\n")
        .filter(|block| !block.is_empty())
        .collect();
    let comments: Vec<usize> = (0..blocks.len())
        .filter(|&at| blocks[at].starts_with(':'))
        .collect();
    rule(comments == [blocks.len() - 2], || {
        format!("its comments are at {comments:?} of {}", blocks.len())
    })?;
    rule(blocks[comments[0]].starts_with(": bardo {"), || {
        format!("no figures: {}", blocks[comments[0]])
    })?;
    let mut events: Vec<&str> = blocks;
    events.remove(comments[0]);
    if matches!(dialect, Dialect::Chat | Dialect::Completions) {
        rule(events.pop() == Some("data: [DONE]"), || {
            "it does not end with [DONE]".to_owned()
        })?;
    }
    let events: Vec<Block<'_>> = events.into_iter().map(block).collect::<Result<_, _>>()?;
    let content = match dialect {
        Dialect::Chat => openai::chat_chunks(&events),
        Dialect::Completions => openai::completion_chunks(&events),
        Dialect::Anthropic => anthropic::events(&events),
        Dialect::Responses => responses::events(&events),
        Dialect::Gemini => Err("no caller speaks it".to_owned()),
    };
    content.map_err(|broken| format!("{broken}\n{text}"))
}

fn block(text: &str) -> Result<Block<'_>, String> {
    let (mut name, mut data) = ("", None);
    for line in text.lines() {
        match line.split_once(": ") {
            Some(("event", value)) if name.is_empty() => name = value,
            Some(("data", value)) if data.is_none() => data = Some(value),
            _ => return Err(format!("no field of an event: {line}")),
        }
    }
    let data = data.ok_or_else(|| format!("no data: {text}"))?;
    let data = serde_json::from_str(data).map_err(|error| format!("{error}: {data}"))?;
    Ok(Block { name, data })
}

/// The input of a call, which dialects write as text.
fn input(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("input of a call: {error}: {text}"))
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}
