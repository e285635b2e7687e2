//! The Gemini `generateContent` dialect, upstream only.
//!
//! Roles are `user` and `model`; results of tools are parts of a user turn, paired with their
//! calls by id, name and order. Streams carry parts as deltas and end by closing, without a
//! terminal event. Buffered answers go through the same state machine as streams, so the two
//! cannot disagree.

mod body;
mod contents;
mod count;
mod decode;
mod embeddings;
mod error;
mod generation;
mod grounding;
mod media;
mod observe;
mod outcome;
mod partial;
mod request;
mod tools;
mod wire;

pub use count::{decode_count, encode_count_request};
pub use decode::{decode_response, stream_decoder};
pub use embeddings::{decode_embeddings, encode_embeddings};
pub use error::decode_error;
pub use observe::{observe, observe_response};
pub use request::encode_request;

#[cfg(test)]
mod tests;
