//! Token probabilities in the older shape: parallel lists instead of objects.

use bardo_types::json::RawJson;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Deserialize)]
struct ChatLogprobs {
    content: Option<Vec<ChatToken>>,
}

#[derive(Deserialize)]
struct ChatToken {
    token: String,
    logprob: f64,
    #[serde(default)]
    top_logprobs: Vec<Alternative>,
}

#[derive(Deserialize)]
struct Alternative {
    token: String,
    logprob: f64,
}

/// `logprobs` of a legacy choice.
#[derive(Default, Serialize)]
pub(super) struct Legacy {
    tokens: Vec<String>,
    token_logprobs: Vec<f64>,
    top_logprobs: Vec<Map<String, Value>>,
    text_offset: Vec<usize>,
}

/// Converts what the chat dialect tells of the text from character `offset` on; answers with
/// where the next text begins.
pub(super) fn legacy(raw: &RawJson, mut offset: usize) -> (Legacy, usize) {
    let chat: ChatLogprobs = raw.read().unwrap_or(ChatLogprobs { content: None });
    let mut legacy = Legacy::default();
    for token in chat.content.unwrap_or_default() {
        legacy.text_offset.push(offset);
        offset += token.token.chars().count();
        legacy.token_logprobs.push(token.logprob);
        legacy.top_logprobs.push(
            token
                .top_logprobs
                .into_iter()
                .map(|other| (other.token, Value::from(other.logprob)))
                .collect(),
        );
        legacy.tokens.push(token.token);
    }
    (legacy, offset)
}
