//! The prompt as tokens.

use serde_json::Value;

use crate::tokens;

/// Everything of a request that the model reads, in the order in which caches see it.
pub(super) fn rendered(body: &Value) -> String {
    ["tools", "systemInstruction", "contents"]
        .map(|field| tokens::render(&body[field]))
        .concat()
}

/// Tokens of the prompt.
pub(super) fn tokens(body: &Value) -> u64 {
    tokens::count(&rendered(body)).max(1)
}
