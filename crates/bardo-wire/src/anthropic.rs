//! Anthropic Messages, as the caller's dialect and as a provider's, in the versions `2023-06-01`
//! and `2026-10-21`.
//!
//! The two versions share one body; what the later one refuses (sampling, citations in user text,
//! documents in assistant turns) is written only where a model's capabilities allow it, or never.
//! Start from [`decode_request`] for callers and [`encode_request`] for providers.

mod answer;
mod blocks_out;
mod call_ids;
mod citation;
mod conversation;
mod count;
mod error;
mod finish;
mod media;
mod observe;
mod path;
mod request;
mod sampling;
mod schema;
mod shapes;
mod stream;
mod strip;
mod thinking;
mod tools;
mod usage;
mod within;

/// The version of the API that requests are in where their caller names none.
pub const VERSION: &str = "2023-06-01";

pub use answer::decode::decode_response;
pub use answer::encode::encode_response;
pub use count::{decode_count_request, encode_count, encode_count_request};
pub use error::{decode_error, encode_error, encode_stream_error, is_binding_error};
pub use observe::{observe, observe_response};
pub use request::decode::{decode_request, read_request};
pub use request::encode::{encode_marked, encode_request};
pub use stream::decode::stream_decoder;
pub use stream::encode::stream_encoder;
pub use strip::strip_thinking;
pub(crate) use usage::Tally;
pub use within::think_within;

#[cfg(test)]
mod tests;
