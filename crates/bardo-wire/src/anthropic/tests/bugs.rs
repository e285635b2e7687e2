//! Bugs that gateways had, by their number in the translation map.

mod messages;
mod streaming;
mod thinking;

use super::*;
use bardo_types::chat::{
    CacheMark, Document, DocumentSource, Finish, Image, MediaSource, Opaque, OutputFormat,
    Reasoning, ReasoningRequest, ServerBlock, ThinkingMode, ToolChoice,
};
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::usage::Usage;
use serde_json::json;

fn start() -> StreamEvent {
    StreamEvent::Start {
        id: Some("chatcmpl-1".into()),
        model: Some("gpt-test".into()),
        created: None,
        service_tier: None,
    }
}

fn text(text: &str) -> StreamEvent {
    StreamEvent::Text {
        choice: 0,
        text: text.into(),
    }
}

fn tool(call: u32, id: &str) -> StreamEvent {
    StreamEvent::ToolStart {
        choice: 0,
        call,
        id: id.into(),
        name: "f".into(),
        custom: false,
        opaque: None,
    }
}

fn input(call: u32, fragment: &str) -> StreamEvent {
    StreamEvent::ToolInput {
        choice: 0,
        call,
        fragment: fragment.into(),
    }
}

fn finish(reason: Finish) -> StreamEvent {
    StreamEvent::Finish {
        choice: 0,
        reason,
        stop_sequence: None,
        details: None,
    }
}

fn thought(text: &str, opaque: Option<Opaque>) -> Part {
    Part::Reasoning(Reasoning {
        text: text.into(),
        summary: false,
        opaque,
    })
}

fn signed(signature: &str) -> Option<Opaque> {
    Some(Opaque::AnthropicSignature(signature.into()))
}

/// The blocks and the stop reason of a stream made of `steps`.
#[track_caller]
fn streamed(steps: Vec<StreamEvent>) -> (Vec<Value>, Value) {
    let events = grammatical(&encode_stream(
        std::iter::once(start())
            .chain(steps)
            .chain([StreamEvent::Done]),
    ));
    let reason = events
        .iter()
        .find(|(name, _)| name == "message_delta")
        .map(|(_, data)| data["delta"]["stop_reason"].clone());
    (blocks_of(&events), reason.unwrap())
}

fn call(id: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": "f", "input": input, "caller": {"type": "direct"}})
}
