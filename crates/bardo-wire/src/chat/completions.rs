//! The legacy endpoint `/v1/completions` with `prompt`, served as a chat of one user message.

mod logprobs;
mod request;
mod stream;

use bardo_types::chat::{ChatResponse, Choice, Finish, Part};

use crate::chat::answer::encode::{ReplyForm, write_reply};
use crate::codec::ReplyContext;
use crate::json::{Array, Serde};

pub use super::error::encode::{encode_error, encode_stream_error};
pub use request::decode_request;
pub use stream::stream_encoder;

/// Writes a whole answer as a `text_completion`.
#[must_use]
pub fn encode_response(response: &ChatResponse, context: &ReplyContext) -> Vec<u8> {
    write_reply(ReplyForm::Completion, response, context, write_choice)
}

fn write_choice(index: usize, choice: &Choice, out: &mut Array<'_>) {
    let text: String = choice
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(text.text.as_str()),
            Part::Refusal(words) => Some(words.as_str()),
            _ => None,
        })
        .collect();
    let mut object = out.object();
    object.set("text", &text).set("index", index as u64);
    let legacy = choice
        .logprobs
        .as_ref()
        .map(|raw| logprobs::legacy(raw, 0).0);
    object.set("logprobs", Serde(&legacy));
    object.set("finish_reason", finish_reason(choice.finish));
}

/// The finish reasons of this endpoint.
fn finish_reason(finish: Option<Finish>) -> &'static str {
    match finish {
        Some(Finish::Length | Finish::ContextWindow) => "length",
        Some(Finish::Refusal) => "content_filter",
        Some(
            Finish::Stop
            | Finish::StopSequence
            | Finish::ToolCalls
            | Finish::Pause
            | Finish::Unknown,
        )
        | None => "stop",
    }
}

#[cfg(test)]
mod tests;
