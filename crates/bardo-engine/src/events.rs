//! The one reader of providers' streams: frames in, neutral events out, within limits.

use bardo_types::chat::StreamEvent;
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::model::Dialect;
use bardo_wire::codec::{DecodeContext, StreamDecoder};
use bardo_wire::sse::SseParser;
use bardo_wire::table;

/// The largest size of one event, in bytes.
pub(crate) const EVENT_MAX: usize = 16 << 20;
/// The message of the failure when an event is larger.
pub(crate) const EVENT_TOO_LARGE: &str = "the provider sent an event of more than 16 MiB";
/// The number of bytes before the first event that are searched for a failure.
const UNFRAMED_MAX: usize = 64 << 10;

/// Reads the bytes of a stream, cut anywhere, into neutral events. Nothing follows the first
/// [`StreamEvent::Done`] or [`StreamEvent::Failed`].
pub(crate) struct EventReader {
    dialect: Dialect,
    parser: SseParser,
    decoder: Box<dyn StreamDecoder>,
    /// The bytes before the first event, for a provider that sends a plain error object.
    unframed: Vec<u8>,
    count: u64,
    is_over: bool,
}

impl EventReader {
    /// A reader for a stream in `dialect`.
    pub(crate) fn new(dialect: Dialect, context: DecodeContext) -> Self {
        Self {
            dialect,
            parser: SseParser::new(EVENT_MAX),
            decoder: table::stream_decoder(dialect, context),
            unframed: Vec::new(),
            count: 0,
            is_over: false,
        }
    }

    /// The number of events so far, without pings and comments.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Whether the stream ended as its protocol demands, or failed.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Reads the next bytes and appends their events.
    pub(crate) fn read(&mut self, bytes: &[u8], events: &mut Vec<StreamEvent>) {
        if self.is_over {
            return;
        }
        if self.count == 0 && self.unframed.len() < UNFRAMED_MAX {
            let room = bytes.len().min(UNFRAMED_MAX - self.unframed.len());
            self.unframed.extend_from_slice(&bytes[..room]);
        }
        let from = events.len();
        let Self {
            parser,
            decoder,
            count,
            ..
        } = self;
        let framed = parser.push(bytes, |event| {
            *count += u64::from(event.name != "ping");
            decoder.event(event, events);
        });
        if framed.is_err() {
            let fault = Fault::new(FaultClass::Malformed, EVENT_TOO_LARGE);
            events.push(StreamEvent::Failed(fault));
        }
        self.stop_at_the_last(from, events);
    }

    /// Appends the last events after the body ended. `whole` says that HTTP marked its end, as
    /// opposed to a connection that just closed.
    pub(crate) fn end(&mut self, whole: bool, events: &mut Vec<StreamEvent>) {
        if self.is_over {
            return;
        }
        let from = events.len();
        let told = match self.count {
            0 => failure_without_events(self.dialect, &self.unframed),
            _ => None,
        };
        if let Some(fault) = told {
            events.push(StreamEvent::Failed(fault));
        } else {
            let Self {
                parser, decoder, ..
            } = self;
            parser.finish(|event| decoder.event(event, events));
            if whole {
                decoder.end_whole(events);
            } else {
                decoder.end(events);
            }
        }
        self.stop_at_the_last(from, events);
    }

    fn stop_at_the_last(&mut self, from: usize, events: &mut Vec<StreamEvent>) {
        let is_last = |event| matches!(event, &StreamEvent::Done | &StreamEvent::Failed(_));
        if let Some(last) = events[from..].iter().position(is_last) {
            events.truncate(from + last + 1);
            self.is_over = true;
        }
    }
}

/// Whether an event gives the caller something that no other provider may repeat.
pub(crate) fn is_content(event: &StreamEvent) -> bool {
    !matches!(
        event,
        StreamEvent::Start { .. }
            | StreamEvent::Usage(_)
            | StreamEvent::Done
            | StreamEvent::Failed(_)
    )
}

/// The failure in the one JSON object that a provider sent instead of a stream.
pub(crate) fn failure_without_events(dialect: Dialect, body: &[u8]) -> Option<Fault> {
    if body.trim_ascii_start().starts_with(b"{") {
        table::observe_response(dialect, body).fault
    } else {
        None
    }
}
