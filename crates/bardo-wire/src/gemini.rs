//! The Gemini `generateContent` dialect, upstream only.
//!
//! Roles are `user` and `model`; results of tools are parts of a user turn, paired with their
//! calls by id, name and order. Streams carry parts as deltas and end by closing, without a
//! terminal event. Buffered answers go through the same state machine as streams, so the two
//! cannot disagree.

mod answer;
mod count;
mod embeddings;
mod error;
mod grounding;
mod media;
mod observe;
mod outcome;
mod partial;
mod request;
mod shapes;
mod stream;
mod tools;
mod usage;

pub use answer::decode::decode_response;
pub use count::{decode_count, encode_count_request};
pub use embeddings::{decode_embeddings, encode_embeddings};
pub use error::decode_error;
pub use observe::{observe, observe_response};
pub use request::encode::encode_request;
pub use stream::decode::stream_decoder;

#[cfg(test)]
mod tests;
