//! An upstream's answer into neutral steps.

mod calls;
mod machine;
mod sources;

use bardo_types::chat::{Assembler, ChatResponse, StreamEvent};
use bardo_types::fault::Fault;
use bardo_types::model::Service;

use crate::codec::DecodeContext;
use crate::error_in_200::Extent;
use crate::json::fill_from_str;
use crate::kit::messages::malformed;

use crate::chat::error::decode::of_value as fault_of;
use crate::chat::shapes::answer::{Chunk, WireChoice};
use crate::chat::usage::decode::read as read_usage;

use machine::Machine;

/// Events of an answer that is one text: its start, the text, its usage, why it ended, and that it is
/// over.
const USUAL_EVENTS: usize = 5;

/// Reads a whole answer.
///
/// # Errors
/// When the body tells of a failure in spite of its status, or is no answer at all.
pub fn decode_response(body: &[u8], context: &DecodeContext) -> Result<ChatResponse, Fault> {
    let mut assembler = Assembler::default();
    for event in decode_events(body, context)? {
        assembler.push(event);
    }
    assembler.finish()
}

/// Reads a whole answer as the events of a stream.
///
/// # Errors
/// As [`decode_response`].
pub fn decode_events(body: &[u8], context: &DecodeContext) -> Result<Vec<StreamEvent>, Fault> {
    let mut chunk = Chunk::default();
    read_chunk(body, context.target.service, &mut chunk)?;
    let mut answer = IncomingAnswer::default();
    let mut events = Vec::with_capacity(USUAL_EVENTS);
    answer.take(&chunk, true, context, &mut events)?;
    if !answer.machine.is_finished() {
        return Err(incomplete());
    }
    answer.machine.finish(context, &mut events);
    events.push(StreamEvent::Done);
    Ok(events)
}

/// Parses a body or an event into `chunk`; what tells of a failure is one.
pub(in crate::chat) fn read_chunk<'a>(
    data: &'a [u8],
    service: Service,
    chunk: &mut Chunk<'a>,
) -> Result<(), Fault> {
    let text = std::str::from_utf8(data)
        .map_err(|_| malformed("the provider's answer is not UTF-8"))?
        .trim();
    if text.starts_with('[') {
        return Err(fault_of(text, service));
    }
    fill_from_str(text, chunk)
        .map_err(|_| malformed("the provider's answer is not valid JSON of its protocol"))?;
    if let Some(error) = chunk.error {
        let fault = fault_of(error.get(), service);
        return Err(if error.get().starts_with('{') {
            fault
        } else {
            // A bare string says less than the members beside it.
            fault_of(text, service)
        });
    }
    let has_answer = chunk.choices.is_some() || chunk.usage.is_some();
    let tells_failure = chunk.message.is_some() || chunk.detail.is_some();
    if chunk.object.get() == Some("error") || (!has_answer && tells_failure) {
        return Err(fault_of(text, service));
    }
    Ok(())
}

pub(in crate::chat) fn incomplete() -> Fault {
    malformed("the provider's answer ended without a finish reason")
}

/// An answer while it comes in.
#[derive(Default)]
pub(in crate::chat) struct IncomingAnswer {
    machine: Machine,
    pub(in crate::chat) started: bool,
    /// Something was said.
    content: bool,
}

impl IncomingAnswer {
    /// Whether each choice said why it ended.
    pub(in crate::chat) fn is_finished(&self) -> bool {
        self.machine.is_finished()
    }

    /// Appends what closes the answer.
    pub(in crate::chat) fn finish(&mut self, context: &DecodeContext, out: &mut Vec<StreamEvent>) {
        self.machine.finish(context, out);
    }

    /// Takes one chunk, or the `whole` answer.
    pub(in crate::chat) fn take(
        &mut self,
        chunk: &Chunk<'_>,
        whole: bool,
        context: &DecodeContext,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), Fault> {
        let choices = chunk.choices.as_deref().unwrap_or_default();
        if !self.content {
            let extent = if whole { Extent::Whole } else { Extent::First };
            if let Some(fault) = chunk.error_in_words(extent) {
                return Err(fault);
            }
            self.content = choices.iter().any(WireChoice::has_content);
        }
        // Some servers begin with a chunk that has neither id nor choices.
        if !self.started && (!choices.is_empty() || chunk.id.get().is_some()) {
            self.started = true;
            out.push(StreamEvent::Start {
                id: chunk.id.to_owned_text(),
                model: chunk.model.to_owned_text(),
                created: chunk.created.and_then(|raw| raw.get().parse().ok()),
                service_tier: chunk.service_tier.to_owned_text(),
            });
        }
        for (place, choice) in choices.iter().enumerate() {
            self.machine.take(choice, place, whole, context, out)?;
        }
        for citation in sources::beside_the_choices(chunk) {
            self.machine.cite(citation);
        }
        if let Some(usage) = read_usage(&chunk.counts()) {
            out.push(StreamEvent::Usage(usage));
        }
        Ok(())
    }
}
