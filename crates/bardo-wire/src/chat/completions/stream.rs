//! A streamed `text_completion`.

use bardo_types::chat::{Finish, StreamEvent};
use bardo_types::json::RawJson;
use bardo_types::usage::Usage;

use super::{finish_reason, logprobs};
use crate::chat::answer::encode::reply_id;
use crate::chat::error::encode::{encode_stream_error, write_fault};
use crate::chat::usage::encode::write as write_usage;
use crate::codec::{ErrorView, ReplyContext, StreamEncoder};
use crate::json::{Object, Serde};

/// An encoder for a streamed answer.
#[must_use]
pub fn stream_encoder(context: ReplyContext) -> Box<dyn StreamEncoder> {
    Box::new(CompletionsEncoder {
        context,
        head: Vec::new(),
        offsets: Vec::new(),
        usage: None,
        over: false,
    })
}

struct CompletionsEncoder {
    context: ReplyContext,
    /// What every chunk begins with, up to its choices.
    head: Vec<u8>,
    /// How many characters each choice's probabilities have covered.
    offsets: Vec<usize>,
    usage: Option<Usage>,
    over: bool,
}

impl StreamEncoder for CompletionsEncoder {
    fn encode(&mut self, event: StreamEvent, trailer: &str, out: &mut Vec<u8>) {
        if self.over {
            return;
        }
        match event {
            StreamEvent::Start {
                id, model, created, ..
            } => self.begin(id.as_deref(), model.as_deref(), created),
            StreamEvent::Text { choice, text } | StreamEvent::Refusal { choice, text } => {
                self.chunk(choice, &text, None, None, out);
            }
            StreamEvent::Logprobs { choice, raw } => {
                self.chunk(choice, "", Some(&raw), None, out);
            }
            StreamEvent::Finish { choice, reason, .. } => {
                self.chunk(choice, "", None, Some(reason), out);
            }
            StreamEvent::Usage(usage) => match &mut self.usage {
                Some(known) => known.supersede(&usage),
                empty => *empty = Some(usage),
            },
            StreamEvent::Done => self.done(trailer, out),
            StreamEvent::Failed(fault) => {
                self.over = true;
                out.extend_from_slice(b"data: ");
                let status = fault.status.unwrap_or(500).max(500);
                write_fault(&fault, status, "upstream_error", out);
                out.extend_from_slice(b"\n\n");
            }
            // Thinking, calls and sources have no form here.
            _ => {}
        }
    }

    fn fail(&mut self, view: &ErrorView<'_>, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.over, true) {
            out.extend_from_slice(&encode_stream_error(view));
        }
    }
}

impl CompletionsEncoder {
    fn begin(&mut self, id: Option<&str>, model: Option<&str>, created: Option<u64>) {
        let mut head = b"data: ".to_vec();
        Object::new(&mut head)
            .set("id", reply_id(id, "cmpl-", &self.context))
            .set("object", "text_completion")
            .set("created", created.unwrap_or(self.context.created))
            .set("model", model.unwrap_or(&self.context.model))
            .set("system_fingerprint", ());
        // The object goes on with its choices.
        head.pop();
        head.extend_from_slice(b",\"choices\":[");
        self.head = head;
    }

    fn chunk(
        &mut self,
        number: u32,
        text: &str,
        raw: Option<&RawJson>,
        finish: Option<Finish>,
        out: &mut Vec<u8>,
    ) {
        if self.head.is_empty() {
            self.begin(None, None, None);
        }
        let probabilities = raw.map(|raw| {
            let index = number as usize;
            while self.offsets.len() <= index {
                self.offsets.push(0);
            }
            let (legacy, offset) = logprobs::legacy(raw, self.offsets[index]);
            self.offsets[index] = offset;
            legacy
        });
        out.extend_from_slice(&self.head);
        Object::new(out)
            .set("text", text)
            .set("index", number)
            .set("logprobs", Serde(&probabilities))
            .set(
                "finish_reason",
                finish.map(|reason| finish_reason(Some(reason))),
            );
        out.extend_from_slice(if self.context.request.include_usage {
            b"],\"usage\":null}\n\n"
        } else {
            b"]}\n\n"
        });
    }

    fn done(&mut self, trailer: &str, out: &mut Vec<u8>) {
        self.over = true;
        if self.context.request.include_usage
            && let Some(usage) = &self.usage
            && !self.head.is_empty()
        {
            out.extend_from_slice(&self.head);
            out.extend_from_slice(b"],\"usage\":");
            write_usage(usage, &mut Object::new(out));
            out.extend_from_slice(b"}\n\n");
        }
        out.extend_from_slice(trailer.as_bytes());
        out.extend_from_slice(b"data: [DONE]\n\n");
    }
}
