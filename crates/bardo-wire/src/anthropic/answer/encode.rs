//! Whole answers for callers.

use bardo_types::chat::{ChatResponse, Choice, Finish};
use bardo_types::json::RawJson;

use crate::anthropic::{blocks_out, finish, usage};
use crate::codec::ReplyContext;
use crate::json::object;

/// Writes a whole answer for a caller.
#[must_use]
pub fn encode_response(response: &ChatResponse, context: &ReplyContext) -> Vec<u8> {
    let nothing = Choice::default();
    let choice = response.choices.first().unwrap_or(&nothing);
    let mut out = Vec::with_capacity(1024);
    object(&mut out, |message| {
        message.set("id", message_id(response.id.as_deref(), context));
        message.set("type", "message");
        message.set("role", "assistant");
        message.set("model", response.model.as_deref().unwrap_or(&context.model));
        let mut blocks = message.array("content");
        let mut calls = 0;
        for (index, part) in choice.parts.iter().enumerate() {
            if let Some(before) = index.checked_sub(1) {
                blocks_out::write_text_state(&mut blocks, &choice.parts[before]);
            }
            blocks_out::write_part(&mut blocks, part, &context.id_seed, &mut calls);
        }
        blocks.end();
        let told = choice.finish.unwrap_or(Finish::Stop);
        let reason = finish::of_choice(choice, told);
        message.set("stop_reason", finish::name(reason));
        message.set("stop_sequence", &choice.stop_sequence);
        message.raw(
            "stop_details",
            &stop_details(reason, choice.details.as_ref()),
        );
        message.raw("container", "null");
        message.nest("usage", |object| {
            usage::write_counts(object, response.usage.as_ref().unwrap_or(&<_>::default()));
            object.set(
                "service_tier",
                usage::tier_name(response.service_tier.as_deref()),
            );
        });
    });
    out
}

/// `stop_details` as JSON text; a refusal always has some.
pub(in crate::anthropic) fn stop_details(reason: Finish, details: Option<&RawJson>) -> String {
    match details {
        Some(details) => details.as_str().to_owned(),
        None if reason == Finish::Refusal => {
            r#"{"type":"refusal","category":null,"explanation":null}"#.to_owned()
        }
        None => "null".to_owned(),
    }
}

/// The id of the message: Anthropic's own, else one of its form.
pub(in crate::anthropic) fn message_id(id: Option<&str>, context: &ReplyContext) -> String {
    match id {
        Some(id) if id.starts_with("msg_") => id.to_owned(),
        _ => format!("msg_{}", context.id_seed),
    }
}
