//! OpenAI Responses, as the dialect of a client (Codex speaks nothing else) and of an upstream.
//!
//! A conversation is a list of items: messages, reasoning, calls and their outputs. There is no
//! finish reason; calls are calls, and a cut answer is `incomplete`. State of other providers
//! travels in reasoning items ([`crate::envelope`]).

mod annotations;
mod answer;
mod decode;
mod encode;
mod encode_items;
mod failures;
mod history;
mod ids;
pub(crate) mod namespaces;
mod observe;
mod output;
mod reasoning_item;
mod refusal;
mod reply;
mod shapes;
mod store;
mod stream_decoder;
mod stream_encoder;
mod tools;
mod usage;

pub use answer::decode_response;
pub use decode::decode_request;
pub use encode::encode_request;
pub use failures::{decode_error, encode_error, encode_stream_error, end_stream, input_tokens};
pub use observe::{observe, observe_response};
pub use reply::{encode_response, response_id};
pub use store::{
    conversation_id, holds_own_marks, input_items, output_items_of, prepend_items,
    previous_response_id,
};
pub use stream_decoder::stream_decoder;
pub use stream_encoder::stream_encoder;

#[cfg(test)]
mod tests;
