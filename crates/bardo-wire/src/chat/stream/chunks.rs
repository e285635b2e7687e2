//! What the streams of both endpoints share: the frame of every chunk, and the end.

use bardo_types::chat::StreamEvent;
use bardo_types::usage::Usage;

use crate::chat::answer::encode::{Head, ReplyForm, write_head};
use crate::chat::error::encode::encode_stream_error;
use crate::chat::usage::encode::write as write_usage;
use crate::codec::{ErrorView, ReplyContext};
use crate::json::Object;

/// The chunks of one answer.
pub(in crate::chat) struct Chunks {
    pub(in crate::chat) context: ReplyContext,
    form: ReplyForm,
    /// What every chunk begins with, up to its choices; empty until the answer began.
    head: Vec<u8>,
    usage: Option<Usage>,
    over: bool,
}

impl Chunks {
    pub(in crate::chat) fn new(form: ReplyForm, context: ReplyContext) -> Self {
        Self {
            context,
            form,
            head: Vec::new(),
            usage: None,
            over: false,
        }
    }

    /// Takes counts and failures; hands back any other step of an answer that goes on.
    pub(in crate::chat) fn take(
        &mut self,
        event: StreamEvent,
        out: &mut Vec<u8>,
    ) -> Option<StreamEvent> {
        match event {
            _ if self.over => {}
            StreamEvent::Usage(usage) => self.usage.get_or_insert_default().supersede(&usage),
            StreamEvent::Failed(fault) => self.fail(
                &ErrorView {
                    status: fault.status.unwrap_or(500).max(500),
                    fault: &fault,
                    bardo_code: "upstream_error",
                    request_id: "",
                },
                out,
            ),
            event => return Some(event),
        }
        None
    }

    /// Writes the failure, after which nothing follows.
    pub(in crate::chat) fn fail(&mut self, view: &ErrorView<'_>, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.over, true) {
            out.extend_from_slice(&encode_stream_error(view));
        }
    }

    /// Sets what every chunk begins with.
    pub(in crate::chat) fn begin(&mut self, head: &Head<'_>) {
        self.head.clear();
        self.head.extend_from_slice(b"data: ");
        write_head(
            self.form,
            head,
            &self.context,
            &mut Object::new(&mut self.head),
        );
        // The object goes on with its choices.
        self.head.pop();
        self.head.extend_from_slice(b",\"choices\":[");
    }

    /// Begins with nothing known of the answer, where it has not begun.
    pub(in crate::chat) fn begin_anyway(&mut self) {
        if self.head.is_empty() {
            self.begin(&Head::default());
        }
    }

    /// Writes a chunk of one choice.
    pub(in crate::chat) fn write(&self, out: &mut Vec<u8>, fill: impl FnOnce(&mut Object<'_>)) {
        out.extend_from_slice(&self.head);
        fill(&mut Object::new(out));
        out.extend_from_slice(if self.context.request.include_usage {
            b"],\"usage\":null}\n\n"
        } else {
            b"]}\n\n"
        });
    }

    /// Writes the counts, where the caller wants them, and the end.
    pub(in crate::chat) fn end(&mut self, trailer: &str, out: &mut Vec<u8>) {
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
        self.over = true;
    }
}
