//! OpenAI Chat Completions, as callers speak it and as upstreams do.
//!
//! Beside api.openai.com this serves OpenRouter, Venice, DeepSeek, Bankr, BlockRun and local
//! servers, each with its peculiarities. [`completions`] is the legacy endpoint with `prompt`.

mod answer;
pub mod completions;
mod decode;
mod details;
mod detect;
mod left_out;
mod observe;
mod place;
mod reply;
mod upstream;
mod wire;

pub use answer::{decode_error, decode_response, stream_decoder};
pub use decode::decode_request;
pub use detect::{detect_completions_body, holds_foreign_thinking};
pub use left_out::members_left_out;
pub use observe::{observe, observe_response, usage_only_chunk};
pub use reply::{encode_error, encode_response, encode_stream_error, stream_encoder};
pub use upstream::encode_request;

#[cfg(test)]
mod tests;
