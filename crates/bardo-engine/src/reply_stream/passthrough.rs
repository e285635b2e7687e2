//! A stream whose events go on as they came, in the same dialect.

use bardo_types::fault::{Fault, FaultClass};
use bardo_types::model::{Dialect, Service};
use bardo_wire::codec::Observed;
use bardo_wire::sse::{SseEvent, SseParser, event_end, missing_end};
use bardo_wire::{chat, table};
use bytes::{Bytes, BytesMut};

use super::closing::Closing;
use super::output::{Output, Progress, error_view};
use super::tap::Tap;
use crate::answer_notes::AnswerNotes;
use crate::events::{EVENT_MAX, EVENT_TOO_LARGE, failure_without_events};
use crate::usage_figures::{self, UsageFigures, has_final_usage};

/// Same dialect in and out: whole events are handed on as they came. Only five things are done to
/// them: a usage chunk that the caller did not ask for is left out, the closing comment is put
/// before the terminal event, figures that the caller asked for are put into the last usage, what
/// follows the terminal event is dropped, and what the end lacks of its form (a blank line, `[DONE]`)
/// is added.
pub(crate) struct Passthrough {
    dialect: Dialect,
    service: Service,
    /// Number of answers that the request wants.
    choices: u64,
    hide_usage: bool,
    /// The unfinished event.
    tail: BytesMut,
    /// The terminal event, until the figures before it are known.
    terminal: Bytes,
    seen: Observed,
    figures: UsageFigures,
    /// The event with the final usage, until the figures in it are known.
    held: Bytes,
    /// The last event that was handed on, where a failure has to go on from it (Responses).
    last: Bytes,
    tap: Option<Box<Tap>>,
}

impl Passthrough {
    /// For answers of `service` to a request for so many `choices`. `hide_usage` leaves out a usage
    /// chunk that the caller did not ask for, unless figures are to be put into it.
    pub(crate) fn new(
        dialect: Dialect,
        service: Service,
        choices: u64,
        hide_usage: bool,
        figures: UsageFigures,
    ) -> Self {
        Self {
            dialect,
            service,
            choices,
            hide_usage: hide_usage && figures == UsageFigures::Omitted,
            figures,
            held: Bytes::new(),
            tail: BytesMut::new(),
            terminal: Bytes::new(),
            seen: Observed::default(),
            last: Bytes::new(),
            tap: None,
        }
    }

    /// The stream with something that notes what it says.
    pub(crate) fn tapped(self, tap: Option<Tap>) -> Self {
        let tap = tap.map(Box::new);
        Self { tap, ..self }
    }

    pub(super) fn data(
        &mut self,
        bytes: Bytes,
        progress: &mut Progress,
        out: &mut Output,
        notes: &mut dyn AnswerNotes,
    ) {
        if progress.done {
            return;
        }
        if let Some(tap) = &mut self.tap {
            tap.data(&bytes);
        }
        let searched = self.tail.len();
        let input = if searched == 0 {
            bytes
        } else {
            self.tail.extend_from_slice(&bytes);
            self.tail.split().freeze()
        };
        // Everything before `kept` is handed on or dropped; `at` is where the next event begins.
        let (mut kept, mut at, mut from) = (0, 0, searched);
        let mut last = 0..0;
        let mut push = |piece: Bytes| {
            if let Some(meter) = notes.live_meter() {
                meter.keep(piece.clone());
            }
            out.push(piece);
        };
        while let Some(length) = event_end(&input[at..], from) {
            from = 0;
            let block = &input[at..at + length];
            let mut verdict = EventVerdict::Keep;
            let before = progress.events;
            with_event(block, |event| verdict = self.look(event, progress));
            if !self.held.is_empty()
                && progress.events != before
                && !matches!(verdict, EventVerdict::Terminal)
            {
                // More came: it was not the last usage.
                push(input.slice(kept..at));
                push(std::mem::take(&mut self.held));
                kept = at;
            }
            match verdict {
                EventVerdict::Keep => {
                    if self.dialect == Dialect::Responses {
                        last = at..at + length;
                    }
                }
                EventVerdict::Drop => {
                    push(input.slice(kept..at));
                    kept = at + length;
                }
                EventVerdict::Hold => {
                    push(input.slice(kept..at));
                    kept = at + length;
                    self.held = input.slice(at..at + length);
                }
                EventVerdict::Fault(fault) => {
                    push(input.slice(kept..at));
                    progress.fault = Some(fault);
                    self.note_last(input.slice(last));
                    notes.observe(&self.seen);
                    return;
                }
                EventVerdict::Terminal => {
                    push(input.slice(kept..at));
                    self.terminal = input.slice(at..at + length);
                    progress.done = true;
                    notes.observe(&self.seen);
                    return;
                }
            }
            at += length;
        }
        push(input.slice(kept..at));
        self.tail.extend_from_slice(&input[at..]);
        self.note_last(input.slice(last));
        notes.observe(&self.seen);
        if self.tail.len() > EVENT_MAX {
            progress.fault = Some(Fault::new(FaultClass::Malformed, EVENT_TOO_LARGE));
        }
    }

    fn note_last(&mut self, event: Bytes) {
        if !event.is_empty() {
            self.last = event;
        }
    }

    /// Writes the figures and the terminal event behind them.
    pub(super) fn close(&mut self, closing: &Closing, out: &mut Output) {
        let mut held = std::mem::take(&mut self.held);
        let mut terminal = std::mem::take(&mut self.terminal);
        if let Some(figures) = &closing.in_usage {
            held = usage_figures::in_events(self.dialect, &held, figures).into();
            terminal = usage_figures::in_events(self.dialect, &terminal, figures).into();
        }
        out.push(held);
        out.buffer().extend_from_slice(closing.comment.as_bytes());
        out.push(terminal);
    }

    fn look(&mut self, event: SseEvent<'_>, progress: &mut Progress) -> EventVerdict {
        if event.name == "ping" {
            return EventVerdict::Keep;
        }
        progress.events += 1;
        table::observe(self.dialect, event, &mut self.seen);
        if let Some(fault) = self.seen.fault.take() {
            return EventVerdict::Fault(fault);
        }
        progress.content |= self.seen.content;
        if self.seen.terminal {
            return EventVerdict::Terminal;
        }
        if self.hide_usage && chat::usage_only_chunk(event) {
            EventVerdict::Drop
        } else if self.figures == UsageFigures::Added && has_final_usage(self.dialect, event) {
            EventVerdict::Hold
        } else {
            EventVerdict::Keep
        }
    }

    /// The provider closed. A chat stream in which every answer said why it ended may lack its
    /// `[DONE]` where its body ended whole, and at local servers in any case; for everybody else a
    /// missing terminal event is a failure.
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
        if let Some(tap) = &mut self.tap {
            tap.end(whole);
        }
        let tail = self.tail.split().freeze();
        self.last(&tail, progress, out, notes);
        if progress.done || progress.fault.is_some() {
            return;
        }
        let forgiven = self.service == Service::Local || (whole && self.dialect == Dialect::Chat);
        if forgiven && self.seen.all_finished(self.choices) {
            if self.dialect == Dialect::Chat {
                self.terminal = Bytes::from_static(b"data: [DONE]\n\n");
            }
            progress.done = true;
        } else if !progress.content {
            progress.fault = failure_without_events(self.dialect, &tail);
        }
    }

    /// Looks at a last event whose blank line is missing, or ends in a CR that could have been
    /// half of a line end. What was torn is no event.
    fn last(
        &mut self,
        tail: &Bytes,
        progress: &mut Progress,
        out: &mut Output,
        notes: &mut dyn AnswerNotes,
    ) {
        let mut verdict = None;
        let mut parser = SseParser::new(EVENT_MAX);
        // It cannot outgrow the limit without having done so before.
        let _ = parser.push(tail, |event| verdict = Some(self.look(event, progress)));
        parser.finish(|event| verdict = Some(self.look(event, progress)));
        notes.observe(&self.seen);
        let whole = || {
            let mut event = BytesMut::from(&tail[..]);
            event.extend_from_slice(missing_end(tail));
            event.freeze()
        };
        match verdict {
            None | Some(EventVerdict::Drop) => {}
            Some(EventVerdict::Keep) => {
                let event = whole();
                if let Some(meter) = notes.live_meter() {
                    meter.keep(event.clone());
                }
                self.note_last(event.clone());
                out.push(event);
            }
            Some(EventVerdict::Hold) => self.held = whole(),
            Some(EventVerdict::Terminal) => {
                self.terminal = whole();
                progress.done = true;
            }
            Some(EventVerdict::Fault(fault)) => progress.fault = Some(fault),
        }
    }

    pub(super) fn fail(&mut self, fault: &Fault, out: &mut Output, request_id: &str) {
        out.push(std::mem::take(&mut self.held));
        let view = error_view(fault, request_id);
        let mut end = Vec::new();
        with_event(&self.last, |last| {
            end = table::end_stream(self.dialect, &view, &self.seen, last.data);
        });
        if end.is_empty() {
            end = table::end_stream(self.dialect, &view, &self.seen, b"");
        }
        out.push(end.into());
    }
}

/// The treatment of an event of the provider.
enum EventVerdict {
    /// The event is handed on.
    Keep,
    /// The event is left out.
    Drop,
    /// The event has the usage that the figures go into, so that it waits for them.
    Hold,
    /// The stream is complete; the event waits for the figures.
    Terminal,
    /// The provider failed.
    Fault(Fault),
}

/// Hands the event in `block` to `take`, without copying where it has one data line, as nearly
/// all have.
fn with_event(block: &[u8], mut take: impl FnMut(SseEvent<'_>)) {
    let (name, rest) = match block.strip_prefix(b"event: ") {
        Some(rest) => match memchr::memchr(b'\n', rest) {
            Some(end) => (&rest[..end], &rest[end + 1..]),
            None => (&b""[..], block),
        },
        None => (&b""[..], block),
    };
    if let Some(line) = rest.strip_prefix(b"data: ")
        && let Some(end) = memchr::memchr2(b'\n', b'\r', line)
        && line[end..].iter().all(|&byte| byte == b'\n')
        && let Ok(name) = std::str::from_utf8(name)
    {
        take(SseEvent {
            name,
            data: &line[..end],
        });
        return;
    }
    let mut parser = SseParser::new(EVENT_MAX);
    // The block is complete, so it cannot outgrow the limit without having done so before.
    let _ = parser.push(block, &mut take);
    parser.finish(&mut take);
}
