//! A provider's whole answer: streamed or not, read to its end before the caller gets any of it.

use std::pin::pin;
use std::sync::Arc;

use bardo_types::chat::{Assembler, ChatRequest, ChatResponse, StreamEvent};
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::usage::Usage;
use bardo_wire::codec::{DecodeContext, Target};
use bardo_wire::table;
use bytes::Bytes;

use crate::answer_notes::AnswerNotes;
use crate::arriving::{ANSWER_MAX, Arriving, Intake, TOO_LARGE, linger, read_whole};
use crate::call::Call;
use crate::events::{EventReader, is_content};
use crate::failure::{Failure, RetryDecision};
use crate::meter::Meter;
use crate::shape::{AnswerMode, Shaped};

/// An answer that is there, all of it, and that the caller has nothing of yet.
#[derive(Default)]
pub(crate) struct CompleteAnswer {
    /// The provider's bytes, in the pieces in which they came.
    pub(crate) bytes: Vec<Bytes>,
    /// The answer in neutral form; `None` where no stage needs it, or a relayed answer could not be
    /// read.
    pub(crate) response: Option<ChatResponse>,
    /// The events of a relayed answer that was read for a recording ([`Reading::Recorded`]); empty
    /// otherwise.
    pub(crate) events: Vec<StreamEvent>,
    /// The usage that the provider reported.
    pub(crate) usage: Option<Usage>,
    model: Option<String>,
    /// The meter of a stream, for a provider that reports no usage.
    pub(crate) meter: Option<Meter>,
}

/// How far an answer is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Into its neutral form.
    Decoded,
    /// For a recording: a relayed answer into its events, one that is translated into its neutral form.
    Recorded,
    /// Into its neutral form where it is translated; a relayed answer is only scanned.
    AsRelayed,
}

impl CompleteAnswer {
    /// Reads an answer to its end.
    ///
    /// # Errors
    /// When it fails, does not come in time, or is too large. What broke off after its first content
    /// may be billed, so its outcome is unknown.
    pub(crate) async fn read(
        arriving: Arriving,
        call: &Call,
        shaped: &Shaped,
        reading: Reading,
    ) -> Result<Self, Failure> {
        if call.stream() {
            // On the heap, since most answers are read without it.
            return Box::pin(collect(arriving, call, shaped)).await;
        }
        let bytes = pin!(read_whole(arriving, call.snapshot().deadlines)).await?;
        let mut read = Self::default();
        match &shaped.mode {
            AnswerMode::Relay { .. } => read.relayed(call, shaped, &bytes, reading)?,
            AnswerMode::Transcode(_) => {
                let decoded =
                    table::decode_response(shaped.dialect, &bytes, &context(call, shaped));
                read.has_response(decoded.map_err(Failure::reported)?);
            }
        }
        read.bytes = vec![bytes];
        Ok(read)
    }

    /// Reads a whole answer that is relayed. One that counts words and can be decoded is no failure,
    /// and has nothing more for an observer: the decoders and observers are tested to agree on that.
    fn relayed(
        &mut self,
        call: &Call,
        shaped: &Shaped,
        bytes: &[u8],
        reading: Reading,
    ) -> Result<(), Failure> {
        let context = || context(call, shaped);
        // An answer that cannot be decoded is relayed all the same.
        match reading {
            Reading::Decoded => {
                if let Ok(response) = table::decode_response(shaped.dialect, bytes, &context()) {
                    self.has_response(response);
                }
            }
            Reading::Recorded => {
                if let Ok(events) = table::decode_events(shaped.dialect, bytes, &context()) {
                    self.has_events(events);
                }
            }
            Reading::AsRelayed => {}
        }
        if self.counts_words() {
            return Ok(());
        }
        let mut seen = table::observe_response(shaped.dialect, bytes);
        if let Some(fault) = seen.fault.take() {
            return Err(Failure::reported(fault));
        }
        self.usage = seen.usage;
        self.model = seen.model;
        Ok(())
    }

    fn has_response(&mut self, response: ChatResponse) {
        self.usage.clone_from(&response.usage);
        self.model.clone_from(&response.model);
        self.response = Some(response);
    }

    /// A whole answer says its usage once.
    fn has_events(&mut self, events: Vec<StreamEvent>) {
        for event in &events {
            match event {
                StreamEvent::Start { model, .. } => self.model.clone_from(model),
                StreamEvent::Usage(usage) => self.usage = Some(usage.clone()),
                _ => {}
            }
        }
        self.events = events;
    }

    fn counts_words(&self) -> bool {
        let usage = self.usage.as_ref();
        usage.is_some_and(|usage| usage.output > 0)
    }

    /// Notes the usage and the model that the provider reported.
    pub(crate) fn note(&self, notes: &mut dyn AnswerNotes) {
        self.usage.iter().for_each(|usage| notes.count(usage));
        self.model.iter().for_each(|model| notes.answered_by(model));
    }

    /// The provider's bytes in one piece.
    pub(crate) fn joined(self) -> Bytes {
        match <[Bytes; 1]>::try_from(self.bytes) {
            Ok([one]) => one,
            Err(many) => many.concat().into(),
        }
    }
}

/// Reads a stream to its end. Silence counts from its first content on.
async fn collect(
    arriving: Arriving,
    call: &Call,
    shaped: &Shaped,
) -> Result<CompleteAnswer, Failure> {
    let framed = arriving.framed;
    let deadlines = call.snapshot().deadlines;
    let mut intake = Intake::new(arriving, &deadlines);
    intake.expect_within(deadlines.first_token);
    let mut collector = Collector::new(call, shaped);
    while !collector.reader.is_over() {
        let cut = "the provider's stream was cut";
        let Some(data) = intake.next(cut).await? else {
            collector.end(framed);
            break;
        };
        let before = collector.reader.count();
        collector.take(data)?;
        if collector.content && collector.reader.count() != before {
            intake.expect_within(deadlines.idle);
        }
    }
    linger(intake.into_source()).await;
    collector.finish()
}

struct Collector {
    reader: EventReader,
    assembler: Assembler,
    events: Vec<StreamEvent>,
    meter: Meter,
    bytes: Vec<Bytes>,
    size: usize,
    content: bool,
}

impl Collector {
    fn new(call: &Call, shaped: &Shaped) -> Self {
        Self {
            reader: EventReader::new(shaped.dialect, context(call, shaped)),
            assembler: Assembler::default(),
            events: Vec::new(),
            meter: Meter::new(shaped.dialect),
            bytes: Vec::new(),
            size: 0,
            content: false,
        }
    }

    fn take(&mut self, data: Bytes) -> Result<(), Failure> {
        self.size += data.len();
        if self.size > ANSWER_MAX {
            let fault = Fault::new(FaultClass::Malformed, TOO_LARGE);
            return Err(Failure::reported(fault));
        }
        self.reader.read(&data, &mut self.events);
        self.bytes.push(data);
        self.note();
        Ok(())
    }

    /// The body ended; `whole`: as HTTP says that it does.
    fn end(&mut self, whole: bool) {
        self.reader.end(whole, &mut self.events);
        self.note();
    }

    fn note(&mut self) {
        for event in self.events.drain(..) {
            self.content |= is_content(&event);
            self.meter.step(&event);
            self.assembler.push(event);
        }
    }

    fn finish(self) -> Result<CompleteAnswer, Failure> {
        match self.assembler.finish() {
            Ok(response) => Ok(CompleteAnswer {
                bytes: self.bytes,
                usage: response.usage.clone(),
                model: response.model.clone(),
                response: Some(response),
                events: Vec::new(),
                meter: Some(self.meter),
            }),
            Err(fault) if self.content => Err(Failure {
                fault,
                retry: RetryDecision::Unknown,
            }),
            Err(fault) => Err(failed_before_content(fault)),
        }
    }
}

/// A provider that fails in its own words before any content has made nothing yet, so another may
/// be called; one that just stops leaves the outcome open.
pub(crate) fn failed_before_content(fault: Fault) -> Failure {
    let failure = Failure::reported(fault);
    match failure.fault.class {
        FaultClass::Connection | FaultClass::Malformed => Failure {
            retry: RetryDecision::Unknown,
            ..failure
        },
        _ => failure,
    }
}

/// The context of the request for the decoder of its answer.
pub(crate) fn context(call: &Call, shaped: &Shaped) -> DecodeContext {
    if let AnswerMode::Transcode(translation) = &shaped.mode {
        return translation.decode.clone();
    }
    let entry = &shaped.leg.candidate.entry;
    let unread = || Arc::new(ChatRequest::new(call.dialect(), String::new()));
    DecodeContext {
        target: Target {
            model: entry.upstream_id.clone(),
            service: shaped.leg.endpoint.service,
            capabilities: Arc::clone(&entry.capabilities),
        },
        request: call
            .request_body()
            .known_neutral()
            .cloned()
            .unwrap_or_else(unread),
        renamed_tools: Vec::new(),
        id_seed: String::new(),
    }
}
