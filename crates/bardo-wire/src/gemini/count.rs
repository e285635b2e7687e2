use bardo_types::chat::ChatRequest;
use bardo_types::fault::Fault;

use super::embeddings::resource_name;
use crate::codec::{BadRequest, Encoded, Target};
use crate::json::{Count, wire_object};
use crate::kit::messages::malformed;

/// Encodes a `countTokens` body for a whole request: system prompt and tools count too.
///
/// # Errors
/// As [`super::encode_request`].
pub fn encode_count_request(request: &ChatRequest, target: &Target) -> Result<Encoded, BadRequest> {
    let mut encoded = super::encode_request(request, target)?;
    let model =
        serde_json::to_string(&resource_name(&target.model)).expect("a string always serializes");
    let mut body = format!("{{\"generateContentRequest\":{{\"model\":{model},").into_bytes();
    // An encoded request is an object that is never empty.
    body.extend_from_slice(&encoded.body[1..]);
    body.push(b'}');
    encoded.body = body;
    Ok(encoded)
}

/// Reads a `countTokens` answer.
///
/// # Errors
/// The fault that the body tells of, or a malformed answer.
pub fn decode_count(body: &[u8]) -> Result<u64, Fault> {
    wire_object! {
        struct CountAnswer<'a> {
            "totalTokens" => total_tokens: Count,
            ..
        }
    }
    match serde_json::from_slice::<CountAnswer<'_>>(body) {
        Ok(CountAnswer {
            total_tokens: Count(Some(count)),
            ..
        }) => Ok(count),
        // Zero is left out of Google's JSON.
        Ok(_) if body.trim_ascii() == b"{}" => Ok(0),
        Ok(_) => Err(super::error::told_in_200(body)),
        Err(_) => Err(malformed("the provider's token count is malformed")),
    }
}
