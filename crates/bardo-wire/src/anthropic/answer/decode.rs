//! Whole answers of providers.

use bardo_types::chat::{ChatResponse, Choice, Part, ToolInput};
use bardo_types::fault::Fault;
use bardo_types::json::RawJson;
use serde_json::value::RawValue;

use crate::anthropic::shapes::{Block, BlockPlace};
use crate::anthropic::usage::UsageWire;
use crate::anthropic::{citation, error, finish};
use crate::codec::DecodeContext;
use crate::error_in_200::{Extent, fault_in};
use crate::json::{Lenient, Str, wire_object};
use crate::kit::custom_tools::unwrapped;
use crate::kit::messages::malformed;

wire_object! {
    struct ResponseWire<'a> {
        "type" => kind: Option<Str<'a>>,
        "id" => id: Option<Str<'a>>,
        "model" => model: Option<Str<'a>>,
        "content" => content: Option<Vec<Block<'a>>>,
        "stop_reason" => stop_reason: Option<Str<'a>>,
        "stop_sequence" => stop_sequence: Option<Str<'a>>,
        "stop_details" => stop_details: Option<&'a RawValue>,
        "usage" => usage: Lenient<UsageWire<'a>>,
        "error" => error: Option<&'a RawValue>,
    }
}

fn not_a_message(detail: impl std::fmt::Display) -> Fault {
    malformed(format!(
        "the provider's answer is not an Anthropic message: {detail}"
    ))
}

/// Reads a provider's whole answer.
///
/// # Errors
/// When the body tells of an error in spite of its status, or is not a message.
pub fn decode_response(body: &[u8], context: &DecodeContext) -> Result<ChatResponse, Fault> {
    let wire: ResponseWire<'_> = serde_json::from_slice(body)
        .map_err(|error| not_a_message(crate::json::told(&error, "")))?;
    if wire.error.is_some() || wire.kind.as_deref() == Some("error") {
        return Err(error::decode_error(200, body, context.target.service));
    }
    let blocks = wire
        .content
        .ok_or_else(|| not_a_message("it has no content"))?;
    let mut choice = Choice {
        stop_sequence: wire.stop_sequence.map(Str::into_string),
        details: wire.stop_details.map(RawJson::from),
        ..Choice::default()
    };
    let mut written = 0;
    for (index, block) in blocks.into_iter().enumerate() {
        let part = block
            .into_part(BlockPlace::Answer(index))
            .map_err(|wrong| not_a_message(wrong.message))?;
        if let Some(part) = settle(part, context, &mut written) {
            choice.parts.push(part);
        }
    }
    let usage = wire.usage.0.as_ref().map(UsageWire::counts);
    if let [Part::Text(text)] = choice.parts.as_slice()
        && usage.as_ref().is_none_or(|usage| usage.output == 0)
        && let Some(fault) = fault_in(&text.text, Extent::Whole)
    {
        return Err(fault);
    }
    let told = finish::parse(wire.stop_reason.as_deref().unwrap_or_default());
    choice.finish = Some(finish::of_choice(&choice, told));
    Ok(ChatResponse {
        id: wire.id.map(Str::into_string),
        model: wire.model.map(Str::into_string),
        created: None,
        service_tier: wire
            .usage
            .0
            .as_ref()
            .and_then(|usage| usage.service_tier.as_deref())
            .map(str::to_owned),
        usage,
        choices: vec![choice],
    })
}

/// A part as the caller knows it: empty ones gone, tools by their own names. `written` counts the
/// characters of the message's text so far.
fn settle(part: Part, context: &DecodeContext, written: &mut u64) -> Option<Part> {
    match part {
        Part::Text(mut text) => {
            if text.text.is_empty() && text.citations.is_empty() {
                return None;
            }
            let from = *written;
            *written += text.text.chars().count() as u64;
            for source in &mut text.citations {
                citation::place(source, from, *written);
            }
            Some(Part::Text(text))
        }
        Part::Reasoning(reasoning) if reasoning.text.is_empty() && reasoning.opaque.is_none() => {
            None
        }
        Part::ToolCall(mut call) => {
            call.name = context.original_tool_name(&call.name).to_owned();
            call.extra.clear();
            if context.request.is_custom_tool(&call.name)
                && let ToolInput::Json(json) = &call.input
            {
                call.input = ToolInput::Text(unwrapped(json).unwrap_or_else(|| json.clone()));
            }
            Some(Part::ToolCall(call))
        }
        other => Some(other),
    }
}
