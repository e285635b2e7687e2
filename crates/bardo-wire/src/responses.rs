//! OpenAI Responses, as the dialect of a client (Codex speaks nothing else) and of an upstream.
//!
//! A conversation is a list of items: messages, reasoning, calls and their outputs. There is no
//! finish reason; calls are calls, and a cut answer is `incomplete`. State of other providers
//! travels in reasoning items ([`crate::envelope`]).

mod annotations;
mod answer;
mod error;
mod ids;
mod observe;
mod output;
mod reasoning_item;
mod request;
mod shapes;
mod store;
mod stream;
mod tools;
mod usage;

pub use answer::decode::decode_response;
pub use answer::encode::{encode_response, own_response_id, response_id};
pub use error::{decode_error, encode_error, encode_stream_error, end_stream, input_tokens};
pub use observe::{observe, observe_response};
pub use request::decode::{decode_request, read_request};
pub use request::encode::encode_request;
pub use store::{
    conversation_id, holds_own_marks, input_items, maker_of_item, output_items_of, prepend_items,
    previous_response_id, with_referenced_items,
};
pub use stream::decode::stream_decoder;
pub use stream::encode::stream_encoder;

#[cfg(test)]
mod tests;
