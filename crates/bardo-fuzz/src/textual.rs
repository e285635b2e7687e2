//! The target for thinking and calls in a model's words.

use std::sync::{Arc, LazyLock};

use bardo_types::chat::{Assembler, ChatRequest, ChatResponse, Finish, StreamEvent};
use bardo_types::model::{Capabilities, Dialect, ReasoningFormat, ToolFormat};
use bardo_wire::textual::{
    CallPiece, CallSplitter, Ending, EventFilter, Opener, ThinkPiece, ThinkSplitter,
};

use crate::{Knobs, world};

static REQUEST: LazyLock<Arc<ChatRequest>> = LazyLock::new(|| {
    Arc::new(ChatRequest {
        tools: world::tools(),
        ..ChatRequest::new(Dialect::Chat, "model")
    })
});

/// Any cut of the words gives the same thoughts, calls and words.
pub fn textual(data: &[u8]) {
    let Some((knobs, payload)) = Knobs::part(data) else {
        return;
    };
    let text = &*String::from_utf8_lossy(payload);
    let pieces = knobs.cuts().text(text);
    let ending = knobs.pick(1, &[Ending::Complete, Ending::Cut]);
    let format = knobs.pick(
        2,
        &[
            ToolFormat::Hermes,
            ToolFormat::QwenXml,
            ToolFormat::Anthropic,
            ToolFormat::Json,
        ],
    );
    match knobs.0[0] % 3 {
        0 => assert_eq!(
            thoughts(knobs, &pieces, ending),
            thoughts(knobs, &[text], ending)
        ),
        1 => assert_eq!(
            calls(format, &pieces, ending),
            calls(format, &[text], ending)
        ),
        _ => assert_eq!(
            filtered(knobs, format, &pieces, ending),
            filtered(knobs, format, &[text], ending)
        ),
    }
}

fn thoughts(knobs: Knobs, pieces: &[&str], ending: Ending) -> Vec<ThinkPiece> {
    let mut splitter = ThinkSplitter::new(if knobs.bit(1, 1) {
        Opener::MayBeMissing
    } else {
        Opener::Written
    });
    if knobs.bit(1, 2) {
        splitter = splitter.before_json();
    }
    let mut found = Vec::new();
    for piece in pieces {
        splitter.push(piece, &mut found);
    }
    splitter.finish(ending, &mut found);
    found
}

fn calls(format: ToolFormat, pieces: &[&str], ending: Ending) -> Vec<CallPiece> {
    let mut splitter = CallSplitter::new(REQUEST.clone(), format);
    let mut found = Vec::new();
    for piece in pieces {
        splitter.push(piece, &mut found);
    }
    splitter.finish(ending, &mut found);
    found
}

fn filtered(knobs: Knobs, format: ToolFormat, pieces: &[&str], ending: Ending) -> ChatResponse {
    let mut context = world::decode_context(knobs, Dialect::Chat);
    context.target.capabilities = Arc::new(Capabilities {
        tool_format: format,
        reasoning_format: ReasoningFormat::ThinkTags,
        ..Capabilities::clone(&context.target.capabilities)
    });
    let mut filter = EventFilter::new(&context);
    let mut steps = Vec::new();
    for piece in pieces {
        let text = (*piece).to_owned();
        filter.push(StreamEvent::Text { choice: 0, text }, &mut steps);
    }
    if ending == Ending::Complete {
        let finish = StreamEvent::Finish {
            choice: 0,
            reason: Finish::Stop,
            stop_sequence: None,
            details: None,
        };
        filter.push(finish, &mut steps);
    }
    filter.push(StreamEvent::Done, &mut steps);
    let mut assembler = Assembler::default();
    for step in steps {
        assembler.push(step);
    }
    assembler.finish().expect("the stream is done")
}
