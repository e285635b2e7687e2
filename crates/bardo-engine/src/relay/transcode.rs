use bardo_profile::SchemaCheck;
use bardo_types::chat::{Assembler, ChatResponse, StreamEvent};
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::model::Dialect;
use bardo_wire::codec::{ErrorView, StreamDecoder, StreamEncoder};
use bardo_wire::sse::SseParser;
use bardo_wire::table;

use super::output::{EVENT_MAX, Output, Progress};
use super::passthrough::told_without_events;
use crate::record::RequestRecord;
use crate::schema;
use crate::shape::Translation;
use crate::transform::Transforms;

/// A failure told without events is read up to here.
const UNFRAMED_MAX: usize = 64 << 10;

/// What is done with a whole answer when it is there: its thinking state is remembered.
pub(crate) type Keep = Box<dyn FnOnce(&ChatResponse) + Send>;

/// From one dialect to another, event by event.
pub(crate) struct Transcode {
    upstream: Dialect,
    parser: SseParser,
    /// What came before the first event, in case none ever comes.
    unframed: Vec<u8>,
    decoder: Box<dyn StreamDecoder>,
    transforms: Transforms,
    /// What the answer is held to.
    schema: Option<SchemaCheck>,
    encoder: Box<dyn StreamEncoder>,
    steps: Vec<StreamEvent>,
    written: Vec<u8>,
    assembler: Option<Assembler>,
    keep: Option<Keep>,
    /// A finish reason was seen.
    finished: bool,
}

impl Transcode {
    pub(crate) fn new(
        upstream: Dialect,
        caller: Dialect,
        translation: &Translation,
        keep: Keep,
    ) -> Self {
        Self {
            upstream,
            parser: SseParser::new(EVENT_MAX),
            unframed: Vec::new(),
            decoder: table::stream_decoder(upstream, translation.decode.clone()),
            transforms: Transforms::of(translation),
            schema: translation.schema.clone(),
            encoder: table::stream_encoder(caller, translation.reply.clone()),
            steps: Vec::new(),
            written: Vec::new(),
            assembler: Some(Assembler::default()),
            keep: Some(keep),
            finished: false,
        }
    }

    /// For an answer that was finished, checked and kept before: its steps are only written.
    pub(crate) fn replay(upstream: Dialect, caller: Dialect, translation: &Translation) -> Self {
        Self {
            transforms: Transforms::none(),
            schema: None,
            assembler: None,
            keep: None,
            ..Self::new(upstream, caller, translation, Box::new(|_| ()))
        }
    }

    /// One step of an answer that is there already.
    pub(super) fn step(
        &mut self,
        step: StreamEvent,
        progress: &mut Progress,
        out: &mut Output,
        record: &mut RequestRecord,
    ) {
        progress.events += 1;
        self.steps.push(step);
        self.write(progress, out, record);
    }

    pub(super) fn data(
        &mut self,
        bytes: &[u8],
        progress: &mut Progress,
        out: &mut Output,
        record: &mut RequestRecord,
    ) {
        if progress.done || progress.fault.is_some() {
            return;
        }
        if progress.events == 0 && self.unframed.len() < UNFRAMED_MAX {
            let room = bytes.len().min(UNFRAMED_MAX - self.unframed.len());
            self.unframed.extend_from_slice(&bytes[..room]);
        }
        let Self {
            parser,
            decoder,
            steps,
            ..
        } = self;
        let framed = parser.push(bytes, |event| {
            if event.name != "ping" {
                progress.events += 1;
            }
            decoder.event(event, steps);
        });
        if framed.is_err() {
            let fault = Fault::new(
                FaultClass::Malformed,
                "the provider sent an event of more than 16 MiB",
            );
            self.steps.push(StreamEvent::Failed(fault));
        }
        self.write(progress, out, record);
    }

    pub(super) fn end(
        &mut self,
        whole: bool,
        progress: &mut Progress,
        out: &mut Output,
        record: &mut RequestRecord,
    ) {
        if progress.done || progress.fault.is_some() {
            return;
        }
        if progress.events == 0 {
            progress.fault = told_without_events(self.upstream, &self.unframed);
            if progress.fault.is_some() {
                return;
            }
        }
        let Self {
            parser,
            decoder,
            steps,
            ..
        } = self;
        parser.finish(|event| decoder.event(event, steps));
        if whole {
            self.decoder.end_whole(&mut self.steps);
        } else {
            self.decoder.end(&mut self.steps);
        }
        self.write(progress, out, record);
    }

    fn write(&mut self, progress: &mut Progress, out: &mut Output, record: &mut RequestRecord) {
        self.transforms.steps(&mut self.steps);
        for step in self.steps.drain(..) {
            if progress.done || progress.fault.is_some() {
                break;
            }
            if let Some(assembler) = &mut self.assembler {
                assembler.push(step.clone());
            }
            match step {
                StreamEvent::Failed(fault) => progress.fault = Some(fault),
                StreamEvent::Done => {
                    let answer = self.assembler.take().map(Assembler::finish);
                    if let (Some(keep), Some(Ok(answer))) = (self.keep.take(), answer) {
                        if let Some(check) = &self.schema {
                            schema::note(check, &answer, record);
                        }
                        keep(&answer);
                    }
                    // The encoder writes the end when the figures before it are known.
                    progress.done = true;
                }
                step => {
                    match &step {
                        StreamEvent::Start {
                            model: Some(model), ..
                        } => record.answered_by(model),
                        StreamEvent::Usage(usage) => record.count(usage),
                        StreamEvent::Finish { .. } => {
                            self.finished = true;
                            progress.content = true;
                        }
                        StreamEvent::Start { .. } => {}
                        _ => progress.content = true,
                    }
                    if let Some(meter) = record.live_meter() {
                        meter.step(&step);
                    }
                    self.encoder.encode(step, "", &mut self.written);
                }
            }
        }
        record.note_counted(self.finished && record.has_usage());
        self.steps.clear();
        if !self.written.is_empty() {
            out.buffer().extend_from_slice(&self.written);
            self.written.clear();
        }
    }

    /// Writes the figures and the end behind them.
    pub(super) fn close(&mut self, figures: &str, out: &mut Output) {
        self.encoder
            .encode(StreamEvent::Done, figures, &mut self.written);
        out.buffer().extend_from_slice(&self.written);
        self.written.clear();
    }

    pub(super) fn fail(&mut self, fault: &Fault, out: &mut Output, request_id: &str) {
        let status = fault.status.unwrap_or(502);
        let view = ErrorView {
            fault,
            // What a provider says of our request is no fault of the caller's.
            status: if fault.own_code.is_some() {
                status
            } else {
                status.max(500)
            },
            bardo_code: fault.error_code().as_str(),
            request_id,
        };
        self.encoder.fail(&view, &mut self.written);
        out.buffer().extend_from_slice(&self.written);
        self.written.clear();
    }
}
