//! Reading event streams the way a strict SDK does.

use serde_json::Value;

use crate::http::contains;

/// One event or comment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Block {
    Comment(String),
    Event { name: String, data: String },
}

/// Takes a stream apart; every block has to be whole.
#[track_caller]
pub(crate) fn blocks(stream: &[u8]) -> Vec<Block> {
    let text = std::str::from_utf8(stream).expect("a stream is UTF-8");
    let text = text.replace("\r\n", "\n");
    assert!(
        text.is_empty() || text.ends_with("\n\n"),
        "a torn end: {text}"
    );
    text.split("\n\n")
        .filter(|block| !block.is_empty())
        .map(block)
        .collect()
}

#[track_caller]
fn block(text: &str) -> Block {
    if let Some(comment) = text.strip_prefix(':') {
        assert!(!comment.contains('\n'), "a comment within an event: {text}");
        return Block::Comment(comment.trim().to_owned());
    }
    let (mut name, mut data) = (String::new(), Vec::new());
    for line in text.lines() {
        let (field, value) = line.split_once(':').expect("a field has a colon");
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => name = value.to_owned(),
            "data" => data.push(value),
            "id" | "retry" => {}
            other => panic!("a line that is no field: {other:?} in {text:?}"),
        }
    }
    Block::Event {
        name,
        data: data.join("\n"),
    }
}

/// The JSON of every event; `[DONE]` as a string.
#[track_caller]
pub(crate) fn events(stream: &[u8]) -> Vec<Value> {
    blocks(stream)
        .into_iter()
        .filter_map(|block| match block {
            Block::Event { data, .. } if data == "[DONE]" => Some(Value::from("[DONE]")),
            Block::Event { data, .. } => Some(
                serde_json::from_str(&data).unwrap_or_else(|error| panic!("{error}: {data:?}")),
            ),
            Block::Comment(_) => None,
        })
        .collect()
}

/// The stream without its closing `: bardo` comment, which has to be the last thing before the
/// terminal event; and the figures in it.
#[track_caller]
pub(crate) fn without_figures(stream: &[u8], terminal: &str) -> (Vec<u8>, Value) {
    let at = find(stream, b": bardo ").expect("the closing comment");
    let length = find(&stream[at..], b"\n\n").expect("a whole comment") + 2;
    let comment = &stream[at + 8..at + length - 2];
    let figures = serde_json::from_slice(comment).expect("the comment holds JSON");
    let rest = &stream[at + length..];
    assert_eq!(
        find(rest, b"\n\n").map(|end| end + 2),
        Some(rest.len()),
        "one event follows the comment"
    );
    assert!(
        contains(rest, terminal.as_bytes()),
        "the terminal event follows the comment: {}",
        String::from_utf8_lossy(rest)
    );
    ([&stream[..at], rest].concat(), figures)
}

fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes
        .windows(needle.len())
        .position(|window| window == needle)
}

/// A dialect that callers speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    Chat,
    Anthropic,
    Responses,
}

impl Caller {
    pub(crate) const ALL: [Self; 3] = [Self::Chat, Self::Anthropic, Self::Responses];

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Anthropic => "/v1/messages",
            Self::Responses => "/v1/responses",
        }
    }

    /// What the terminal event holds.
    pub(crate) fn terminal(self) -> &'static str {
        match self {
            Self::Chat => "[DONE]",
            Self::Anthropic => "message_stop",
            Self::Responses => "response.completed",
        }
    }

    /// A request that says `text`.
    pub(crate) fn request(self, model: &str, text: &str, stream: bool) -> Value {
        match self {
            Self::Chat => serde_json::json!({
                "model": model, "stream": stream,
                "messages": [{ "role": "user", "content": text }],
            }),
            Self::Anthropic => serde_json::json!({
                "model": model, "max_tokens": 4096, "stream": stream,
                "messages": [{ "role": "user", "content": text }],
            }),
            Self::Responses => {
                serde_json::json!({ "model": model, "stream": stream, "input": text })
            }
        }
    }

    /// The text of a stream's events so far.
    pub(crate) fn streamed_text(self, events: &[Value]) -> String {
        let piece = |event: &Value| -> Option<String> {
            let text = match self {
                Self::Chat => &event["choices"][0]["delta"]["content"],
                Self::Anthropic => &event["delta"]["text"],
                Self::Responses if event["type"] == "response.output_text.delta" => &event["delta"],
                Self::Responses => return None,
            };
            text.as_str().map(str::to_owned)
        };
        events.iter().filter_map(piece).collect()
    }

    /// The text of a whole answer.
    pub(crate) fn text(self, answer: &Value) -> String {
        let text = match self {
            Self::Chat => &answer["choices"][0]["message"]["content"],
            Self::Anthropic => &answer["content"][0]["text"],
            Self::Responses => {
                let items = answer["output"].as_array().expect("items");
                let said = items.iter().find(|item| item["type"] == "message");
                &said.expect("a message")["content"][0]["text"]
            }
        };
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Checks that an event is this dialect's error with every key its SDK reads.
    #[track_caller]
    pub(crate) fn check_error_event(self, event: &Value) {
        match self {
            Self::Chat => check_openai_error(&event["error"]),
            Self::Anthropic => {
                assert_eq!(event["type"], "error", "{event}");
                check_anthropic_error(event);
            }
            Self::Responses => {
                assert_eq!(event["type"], "response.failed", "{event}");
                let error = &event["response"]["error"];
                assert!(error["message"].is_string(), "{event}");
                assert!(error["code"].is_string(), "{event}");
                assert_eq!(event["response"]["status"], "failed", "{event}");
            }
        }
    }

    /// Checks that a body is this dialect's error.
    #[track_caller]
    pub(crate) fn check_error(self, body: &Value) {
        match self {
            Self::Chat | Self::Responses => check_openai_error(&body["error"]),
            Self::Anthropic => {
                assert_eq!(body["type"], "error", "{body}");
                check_anthropic_error(body);
                assert!(body["request_id"].is_string(), "{body}");
            }
        }
        assert!(body["error"]["bardo_code"].is_string(), "{body}");
    }
}

#[track_caller]
fn check_openai_error(error: &Value) {
    for key in ["message", "type", "param", "code"] {
        assert!(error.get(key).is_some(), "no {key} in {error}");
    }
    assert!(error["message"].is_string() && error["type"].is_string());
}

#[track_caller]
fn check_anthropic_error(body: &Value) {
    assert!(body["error"]["type"].is_string(), "{body}");
    assert!(body["error"]["message"].is_string(), "{body}");
}
