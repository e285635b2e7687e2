//! The endpoint `/v1/messages/count_tokens`.

use bardo_types::chat::{ChatRequest, MarkPlan};

use crate::anthropic::request::{decode, encode};
use crate::codec::{BadRequest, Encoded, Target};
use crate::json::Object;

/// Reads a caller's request to count tokens: a request without `max_tokens`.
///
/// # Errors
/// As [`super::decode_request`], except that `max_tokens` may be missing.
pub fn decode_count_request(body: &[u8]) -> Result<ChatRequest, BadRequest> {
    decode::decode(body)
}

/// Writes a request to count the tokens of `request`: only the members that count.
///
/// # Errors
/// As [`super::encode_request`].
pub fn encode_count_request(request: &ChatRequest, target: &Target) -> Result<Encoded, BadRequest> {
    encode::encode(request, target, encode::Purpose::Count, MarkPlan::USUAL)
}

/// Writes the answer to a caller who asked for a count.
#[must_use]
pub fn encode_count(tokens: u64) -> Vec<u8> {
    let mut out = Vec::new();
    Object::new(&mut out).set("input_tokens", tokens);
    out
}
