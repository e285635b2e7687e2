//! OpenAI Chat Completions, as callers speak it and as upstreams do.
//!
//! Beside api.openai.com this serves OpenRouter, Venice, DeepSeek, Bankr, BlockRun and local
//! servers, each with its peculiarities. [`completions`] is the legacy endpoint with `prompt`.

mod answer;
pub mod completions;
mod details;
mod detect;
mod error;
mod left_out;
mod limit;
mod observe;
mod place;
mod request;
mod shapes;
mod stream;
mod tools;
mod unread;
mod usage;

pub use answer::decode::{decode_events, decode_response};
pub use answer::encode::encode_response;
pub use detect::{detect_completions_body, holds_foreign_thinking};
pub use error::decode::decode_error;
pub use error::encode::{encode_error, encode_stream_error};
pub use left_out::members_left_out;
pub use limit::limit_renamed;
pub use observe::{observe, observe_response, usage_only_chunk};
pub use request::decode::{decode_request, read_request};
pub use request::encode::encode_request;
pub use stream::decode::stream_decoder;
pub use stream::encode::stream_encoder;

#[cfg(test)]
mod tests;
