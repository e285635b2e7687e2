//! Steps of an answer, as decoders append them.

use bardo_types::chat::{Citation, Finish, Opaque, ServerBlock, StreamEvent};

pub(crate) fn reasoning(choice: u32, text: impl Into<String>, summary: bool) -> StreamEvent {
    let text = text.into();
    StreamEvent::Reasoning {
        choice,
        text,
        summary,
    }
}

pub(crate) fn reasoning_end(choice: u32, opaque: Option<Opaque>) -> StreamEvent {
    StreamEvent::ReasoningEnd { choice, opaque }
}

pub(crate) fn text(choice: u32, text: impl Into<String>) -> StreamEvent {
    let text = text.into();
    StreamEvent::Text { choice, text }
}

pub(crate) fn text_end(choice: u32, opaque: Option<Opaque>) -> StreamEvent {
    StreamEvent::TextEnd { choice, opaque }
}

pub(crate) fn refusal(choice: u32, text: impl Into<String>) -> StreamEvent {
    let text = text.into();
    StreamEvent::Refusal { choice, text }
}

pub(crate) fn citation(choice: u32, citation: Citation) -> StreamEvent {
    StreamEvent::Citation { choice, citation }
}

/// More of the input of the call that is number `call` of its choice.
pub(crate) fn tool_input(choice: u32, call: u32, fragment: impl Into<String>) -> StreamEvent {
    let fragment = fragment.into();
    StreamEvent::ToolInput {
        choice,
        call,
        fragment,
    }
}

pub(crate) fn server(choice: u32, block: ServerBlock) -> StreamEvent {
    StreamEvent::Server { choice, block }
}

/// The end of a choice without a stop text and without details.
pub(crate) fn finish(choice: u32, reason: Finish) -> StreamEvent {
    StreamEvent::Finish {
        choice,
        reason,
        stop_sequence: None,
        details: None,
    }
}
