//! A body with `prompt`.

use bardo_types::chat::{ChatRequest, Logprobs, Message, Role, Text};
use bardo_types::model::Dialect;
use serde_json::value::RawValue;

use super::super::place;
use crate::chat::request::decode::{extra, required_model, token_limit, utf8};
use crate::codec::BadRequest;
use crate::json::Str;
use crate::kit::openai::openai_body;
use crate::kit::text_or_list::TextOrList;

openai_body! {
    struct CompletionsBody<'a> {
        "prompt" => prompt: Option<&'a RawValue>,
        "suffix" => suffix: Option<Str<'a>>,
        "echo" => echo: Option<bool>,
        "best_of" => best_of: Option<u32>,
        "logprobs" => logprobs: Option<u8>,
    }
}

/// Reads a body of the legacy endpoint as a chat of one user message.
///
/// # Errors
/// When the body is not JSON of the right types, or asks for what a chat cannot do: several
/// prompts, tokens instead of text, `suffix`, `echo`, or `best_of` beyond `n`.
pub fn decode_request(body: &[u8]) -> Result<ChatRequest, BadRequest> {
    let text = utf8(body)?;
    let mut wire: CompletionsBody<'_> =
        serde_json::from_str(text).map_err(|error| place::refuse(text, &error))?;
    let mut request = ChatRequest::new(Dialect::Completions, required_model(wire.model.take())?);
    wire.read_shared(&mut request)?;
    request.messages.push(Message::new(
        Role::User,
        vec![Text::new(prompt(wire.prompt)?).into()],
    ));
    if wire.suffix.is_some_and(|suffix| !suffix.is_empty()) {
        return Err(BadRequest::new(
            "suffix",
            "`suffix` is not supported: this endpoint uses chat models, which cannot fill in the middle; remove it",
        ));
    }
    if wire.echo == Some(true) {
        return Err(BadRequest::new(
            "echo",
            "`echo` is not supported: this endpoint uses chat models; put the prompt before the answer yourself",
        ));
    }
    if wire.best_of.unwrap_or(1) > request.n.unwrap_or(1) {
        return Err(BadRequest::new(
            "best_of",
            "`best_of` larger than `n` is not supported; request `n` answers and choose one",
        ));
    }
    request.max_output_tokens = match wire.max_tokens {
        Some(limit) => token_limit("max_tokens", limit)?,
        None => None,
    };
    request.logprobs = wire.logprobs.map(|top| Logprobs {
        top: (top > 0).then_some(top),
    });
    request.end_user = wire.user.map(Str::into_string);
    request.extra.extend(extra(wire.extra));
    Ok(request)
}

fn prompt(raw: Option<&RawValue>) -> Result<String, BadRequest> {
    let refuse = |message: &str| Err(BadRequest::new("prompt", message));
    let Some(raw) = raw else {
        return refuse("`prompt` is missing; send the text to answer");
    };
    match serde_json::from_str::<TextOrList<'_, String>>(raw.get()).map(TextOrList::into_texts) {
        Ok(mut texts) => match (texts.pop(), texts.is_empty()) {
            (Some(text), true) => Ok(text),
            (None, _) => refuse("`prompt` is an empty array; send the text to answer"),
            (Some(_), false) => refuse(
                "several prompts in one request are not supported; send one request for each prompt",
            ),
        },
        Err(_) => refuse(
            "`prompt` must be a string, or an array with one string; arrays of tokens are not supported",
        ),
    }
}
