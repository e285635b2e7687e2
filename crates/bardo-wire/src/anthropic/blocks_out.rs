//! Blocks of an answer as an Anthropic caller reads them.

use bardo_types::chat::{Opaque, Part, Reasoning, Text, ToolCall};
use bardo_types::model::Dialect;

use super::citation;
use crate::envelope;
use crate::json::{Array, Object};

/// Marks an envelope whose state belongs to the call that follows.
pub(super) const CALL_STATE: &str = "call";
/// Marks an envelope whose state belongs to the text before it.
pub(super) const TEXT_STATE: &str = "text";

/// The member of a call that tells whether the model or its code made it.
pub(super) const CALLER: &str = "caller";
/// Who makes the calls of other providers' models; SDKs want to be told.
pub(super) const CALLED_BY_THE_MODEL: &str = r#"{"type":"direct"}"#;
/// Members of a call that callers of this dialect understand.
const CALL_MEMBERS: [&str; 2] = [CALLER, "toolset_name"];

/// The `signature` of a thinking block: Anthropic's own as it is, any other state in an envelope.
/// Thinking without state gets an empty envelope, because callers expect a signature.
pub(super) fn signature(opaque: Option<&Opaque>) -> String {
    match opaque {
        Some(Opaque::AnthropicSignature(signature)) => signature.clone(),
        Some(other) => envelope::seal(other, None),
        None => envelope::PREFIX.to_owned(),
    }
}

/// The signature of a thinking block that only carries state bound to a call or a text.
pub(super) fn bound_signature(opaque: &Opaque, to: &str) -> String {
    envelope::seal(opaque, Some(to))
}

/// Writes the block or blocks that a part of an answer is.
pub(super) fn write_part(blocks: &mut Array<'_>, part: &Part, id_seed: &str, calls: &mut usize) {
    match part {
        Part::Text(text) => write_text(blocks, text),
        Part::Refusal(words) if !words.is_empty() => {
            write_text(blocks, &Text::new(words.as_str()));
        }
        Part::Reasoning(reasoning) => write_reasoning(blocks, reasoning),
        Part::ToolCall(call) => {
            write_call(blocks, call, id_seed, *calls);
            *calls += 1;
        }
        Part::Server(block) if block.dialect == Dialect::Anthropic => {
            blocks.raw(block.raw.as_str());
        }
        _ => {}
    }
}

fn write_text(blocks: &mut Array<'_>, text: &Text) {
    if !text.text.is_empty() || !text.citations.is_empty() {
        blocks.nest(|block| {
            block.set("type", "text");
            block.set("text", &text.text);
            let citations: Vec<_> = text
                .citations
                .iter()
                .filter_map(citation::to_wire)
                .collect();
            if !citations.is_empty() {
                block.set("citations", &citations);
            }
        });
    }
}

/// Writes the state that is bound to the text before, which only goes before another part: agents
/// take the last block of an answer for its result.
pub(super) fn write_text_state(blocks: &mut Array<'_>, text: &Part) {
    if let Part::Text(Text {
        opaque: Some(opaque),
        ..
    }) = text
    {
        write_thinking(blocks, "", &bound_signature(opaque, TEXT_STATE));
    }
}

fn write_reasoning(blocks: &mut Array<'_>, reasoning: &Reasoning) {
    match &reasoning.opaque {
        Some(Opaque::AnthropicRedacted(data)) => blocks.nest(|block| {
            block.set("type", "redacted_thinking");
            block.set("data", data);
        }),
        None if reasoning.text.is_empty() => {}
        opaque => write_thinking(blocks, &reasoning.text, &signature(opaque.as_ref())),
    }
}

fn write_thinking(blocks: &mut Array<'_>, text: &str, signature: &str) {
    blocks.nest(|block| thinking_members(block, text, signature));
}

/// The members of a thinking block.
pub(super) fn thinking_members(block: &mut Object<'_>, text: &str, signature: &str) {
    block.set("type", "thinking");
    block.set("thinking", text);
    block.set("signature", signature);
}

/// The id of a call, made up where the provider gave none.
pub(super) fn call_id(id: &str, id_seed: &str, number: usize) -> String {
    if id.is_empty() {
        format!("toolu_{id_seed}_{number}")
    } else {
        id.to_owned()
    }
}

fn write_call(blocks: &mut Array<'_>, call: &ToolCall, id_seed: &str, number: usize) {
    if let Some(opaque) = &call.opaque {
        write_thinking(blocks, "", &bound_signature(opaque, CALL_STATE));
    }
    blocks.nest(|block| {
        block.set("type", "tool_use");
        block.set("id", call_id(&call.id, id_seed, number));
        block.set("name", &call.name);
        let input = call.input.as_object();
        block.raw("input", input.as_ref().map_or("{}", |input| input.as_str()));
        for (name, raw) in &call.extra {
            if CALL_MEMBERS.contains(&name.as_str()) {
                block.foreign(name, raw.as_str());
            }
        }
        if !call.extra.iter().any(|(name, _)| name == CALLER) {
            block.raw(CALLER, CALLED_BY_THE_MODEL);
        }
    });
}
