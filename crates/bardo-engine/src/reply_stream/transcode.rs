//! A stream that is decoded, changed by stages and encoded in the dialect of the caller.

use std::sync::Arc;

use bardo_types::chat::{ChatRequest, StreamEvent};
use bardo_types::fault::Fault;
use bardo_types::model::Dialect;
use bardo_wire::codec::{ReplyContext, StreamEncoder};
use bardo_wire::table;

use super::closing::Closing;
use super::output::{Output, Progress, error_view};
use crate::answer_notes::AnswerNotes;
use crate::answer_stages::AnswerStages;
use crate::events::{EventReader, is_content};
use crate::shape::Translation;
use crate::usage_figures::{self, UsageFigures};

/// From one dialect to another, event by event: read, passed through the stages, encoded.
pub(crate) struct Transcode {
    caller: Dialect,
    reader: EventReader,
    stages: AnswerStages,
    encoder: Box<dyn StreamEncoder>,
    /// Events between the reader and the encoder.
    events: Vec<StreamEvent>,
    written: Vec<u8>,
}

impl Transcode {
    /// From `upstream` to `caller`, through `stages`. An answer that is checked and kept already
    /// needs no stages.
    pub(crate) fn new(
        upstream: Dialect,
        caller: Dialect,
        translation: &Translation,
        stages: AnswerStages,
        figures: UsageFigures,
    ) -> Self {
        Self {
            caller,
            reader: EventReader::new(upstream, translation.decode.clone()),
            stages,
            encoder: table::stream_encoder(caller, reply_context(&translation.reply, figures)),
            events: Vec::new(),
            written: Vec::new(),
        }
    }

    /// Takes one event of an answer that is there already.
    pub(super) fn event(
        &mut self,
        event: StreamEvent,
        progress: &mut Progress,
        out: &mut Output,
        notes: &mut dyn AnswerNotes,
    ) {
        progress.events += 1;
        self.events.push(event);
        self.write(progress, out, notes);
    }

    pub(super) fn data(
        &mut self,
        bytes: &[u8],
        progress: &mut Progress,
        out: &mut Output,
        notes: &mut dyn AnswerNotes,
    ) {
        if progress.done || progress.fault.is_some() {
            return;
        }
        self.reader.read(bytes, &mut self.events);
        progress.events = self.reader.count();
        self.write(progress, out, notes);
    }

    pub(super) fn end(
        &mut self,
        whole: bool,
        progress: &mut Progress,
        out: &mut Output,
        notes: &mut dyn AnswerNotes,
    ) {
        if progress.done || progress.fault.is_some() {
            return;
        }
        self.reader.end(whole, &mut self.events);
        self.write(progress, out, notes);
    }

    fn write(&mut self, progress: &mut Progress, out: &mut Output, notes: &mut dyn AnswerNotes) {
        self.stages.events(&mut self.events, notes);
        for event in self.events.drain(..) {
            match event {
                StreamEvent::Failed(fault) => progress.fault = Some(fault),
                // The encoder writes the end when the figures before it are known.
                StreamEvent::Done => progress.done = true,
                event => {
                    progress.content |= is_content(&event);
                    self.encoder.encode(event, "", &mut self.written);
                }
            }
        }
        self.hand_on(out);
    }

    fn hand_on(&mut self, out: &mut Output) {
        if !self.written.is_empty() {
            out.buffer().extend_from_slice(&self.written);
            self.written.clear();
        }
    }

    /// Writes the figures and the end behind them.
    pub(super) fn close(&mut self, closing: &Closing, out: &mut Output) {
        self.encoder
            .encode(StreamEvent::Done, &closing.comment, &mut self.written);
        if let Some(figures) = &closing.in_usage {
            self.written = usage_figures::in_events(self.caller, &self.written, figures);
        }
        self.hand_on(out);
    }

    pub(super) fn fail(&mut self, fault: &Fault, out: &mut Output, request_id: &str) {
        let view = error_view(fault, request_id);
        self.encoder.fail(&view, &mut self.written);
        self.hand_on(out);
    }
}

/// What the encoder is told of the request: the figures need the usage that they are put into.
fn reply_context(reply: &ReplyContext, figures: UsageFigures) -> ReplyContext {
    let mut reply = reply.clone();
    if figures == UsageFigures::Added && !reply.request.include_usage {
        let request = ChatRequest::clone(&reply.request);
        reply.request = Arc::new(ChatRequest {
            include_usage: true,
            ..request
        });
    }
    reply
}
