//! A streamed `text_completion`.

use std::collections::BTreeMap;

use bardo_types::chat::{Finish, StreamEvent};
use bardo_types::json::RawJson;

use super::{finish_reason, logprobs};
use crate::chat::answer::encode::{Head, ReplyForm};
use crate::chat::stream::chunks::Chunks;
use crate::codec::{ErrorView, ReplyContext, StreamEncoder};
use crate::json::Serde;

/// An encoder for a streamed answer.
#[must_use]
pub fn stream_encoder(context: ReplyContext) -> Box<dyn StreamEncoder> {
    Box::new(CompletionsEncoder {
        chunks: Chunks::new(ReplyForm::Completion, context),
        offsets: Vec::new(),
        logprobs: BTreeMap::new(),
    })
}

struct CompletionsEncoder {
    chunks: Chunks,
    /// How many characters each choice's probabilities have covered.
    offsets: Vec<usize>,
    /// Probabilities of the text that comes next, by its choice.
    logprobs: BTreeMap<u32, RawJson>,
}

impl StreamEncoder for CompletionsEncoder {
    fn encode(&mut self, event: StreamEvent, trailer: &str, out: &mut Vec<u8>) {
        let Some(event) = self.chunks.take(event, out) else {
            return;
        };
        match event {
            StreamEvent::Start {
                id, model, created, ..
            } => self.chunks.begin(&Head {
                id: id.as_deref(),
                model: model.as_deref(),
                created,
                service_tier: None,
            }),
            StreamEvent::Text { choice, text } | StreamEvent::Refusal { choice, text } => {
                let logprobs = self.logprobs.remove(&choice);
                self.chunk(choice, &text, logprobs.as_ref(), None, out);
            }
            StreamEvent::Logprobs { choice, raw } => {
                if let Some(alone) = self.logprobs.insert(choice, raw) {
                    self.chunk(choice, "", Some(&alone), None, out);
                }
            }
            StreamEvent::Finish { choice, reason, .. } => {
                let logprobs = self.logprobs.remove(&choice);
                self.chunk(choice, "", logprobs.as_ref(), Some(reason), out);
            }
            StreamEvent::Done => self.chunks.end(trailer, out),
            // Thinking, calls and sources have no form here.
            _ => {}
        }
    }

    fn fail(&mut self, view: &ErrorView<'_>, out: &mut Vec<u8>) {
        self.chunks.fail(view, out);
    }
}

impl CompletionsEncoder {
    fn chunk(
        &mut self,
        number: u32,
        text: &str,
        raw: Option<&RawJson>,
        finish: Option<Finish>,
        out: &mut Vec<u8>,
    ) {
        self.chunks.begin_anyway();
        let probabilities = raw.map(|raw| {
            let index = number as usize;
            while self.offsets.len() <= index {
                self.offsets.push(0);
            }
            let (legacy, offset) = logprobs::legacy(raw, self.offsets[index]);
            self.offsets[index] = offset;
            legacy
        });
        self.chunks.write(out, |choice| {
            choice
                .set("text", text)
                .set("index", number)
                .set("logprobs", Serde(&probabilities))
                .set(
                    "finish_reason",
                    finish.map(|reason| finish_reason(Some(reason))),
                );
        });
    }
}
