use bardo_types::chat::{Assembler, ChatResponse, StreamEvent};
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::model::Dialect;
use bardo_wire::codec::{DecodeContext, StreamDecoder};
use bardo_wire::sse::SseParser;
use bardo_wire::table;
use bytes::Bytes;
use tokio::time::Instant;

use super::output::{EVENT_MAX, LINGER};
use super::passthrough::told_without_events;
use crate::arriving::{ANSWER_MAX, Arriving, TOO_LARGE};
use crate::failure::{Failure, RetryDecision};
use crate::meter::Meter;
use crate::snapshot::Deadlines;
use crate::source::Source;

/// A streamed answer that was read to its end before the caller got any of it.
pub(crate) struct Collected {
    /// The provider's bytes, in the pieces in which they came.
    pub(crate) bytes: Vec<Bytes>,
    pub(crate) response: ChatResponse,
    /// What a caller is charged for where the provider does not count.
    pub(crate) meter: Meter,
}

/// Reads a streamed answer to its end.
///
/// # Errors
/// When it fails, or does not come in time. What broke off after its first content may be billed,
/// so its outcome is unknown.
pub(crate) async fn collect(
    arriving: Arriving,
    dialect: Dialect,
    context: DecodeContext,
    deadlines: Deadlines,
) -> Result<Collected, Failure> {
    let Arriving {
        mut source,
        started,
        framed,
    } = arriving;
    let end = started + deadlines.total;
    let mut until = end.min(Instant::now() + deadlines.first_token);
    let mut collector = Collector::new(dialect, context);
    while !collector.is_over() {
        let late = |_| Failure::unknown(FaultClass::Timeout, "the answer did not arrive in time");
        let next = tokio::time::timeout_at(until, source.data()).await;
        let Some(data) = next.map_err(late)? else {
            collector.end(framed);
            break;
        };
        let data = data.map_err(|error| {
            tracing::debug!(%error, "stream cut");
            Failure::unknown(FaultClass::Connection, "the provider's stream was cut")
        })?;
        let before = collector.events;
        collector.take(data)?;
        if collector.content && collector.events != before {
            until = end.min(Instant::now() + deadlines.idle);
        }
    }
    linger(source).await;
    collector.finish()
}

/// Gives the provider a moment to end its body, which keeps its connection.
async fn linger(mut source: Source) {
    let rest = async { while let Some(Ok(_)) = source.data().await {} };
    let _ = tokio::time::timeout(LINGER, rest).await;
}

struct Collector {
    dialect: Dialect,
    parser: SseParser,
    decoder: Box<dyn StreamDecoder>,
    assembler: Assembler,
    steps: Vec<StreamEvent>,
    meter: Meter,
    bytes: Vec<Bytes>,
    size: usize,
    events: u64,
    content: bool,
    /// Whether the stream ended as its protocol demands, or failed.
    over: bool,
    fault: Option<Fault>,
}

impl Collector {
    fn new(dialect: Dialect, context: DecodeContext) -> Self {
        Self {
            dialect,
            parser: SseParser::new(EVENT_MAX),
            decoder: table::stream_decoder(dialect, context),
            assembler: Assembler::default(),
            steps: Vec::new(),
            meter: Meter::new(dialect),
            bytes: Vec::new(),
            size: 0,
            events: 0,
            content: false,
            over: false,
            fault: None,
        }
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn take(&mut self, data: Bytes) -> Result<(), Failure> {
        self.size += data.len();
        if self.size > ANSWER_MAX {
            return Err(Failure::reported(Fault::new(
                FaultClass::Malformed,
                TOO_LARGE,
            )));
        }
        let Self {
            parser,
            decoder,
            steps,
            events,
            ..
        } = self;
        let framed = parser.push(&data, |event| {
            *events += u64::from(event.name != "ping");
            decoder.event(event, steps);
        });
        if framed.is_err() {
            let message = "the provider sent an event of more than 16 MiB";
            let fault = Fault::new(FaultClass::Malformed, message);
            steps.push(StreamEvent::Failed(fault));
        }
        self.bytes.push(data);
        self.note();
        Ok(())
    }

    /// The provider closed; `whole`: its body ended as HTTP says that it does.
    fn end(&mut self, whole: bool) {
        if self.events == 0 {
            self.fault = told_without_events(self.dialect, &self.bytes.concat());
            if self.fault.is_some() {
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
            decoder.end_whole(steps);
        } else {
            decoder.end(steps);
        }
        self.note();
    }

    fn note(&mut self) {
        for step in self.steps.drain(..) {
            self.content |= !matches!(
                step,
                StreamEvent::Start { .. }
                    | StreamEvent::Usage(_)
                    | StreamEvent::Done
                    | StreamEvent::Failed(_)
            );
            self.over |= matches!(step, StreamEvent::Done | StreamEvent::Failed(_));
            self.meter.step(&step);
            self.assembler.push(step);
        }
    }

    fn finish(self) -> Result<Collected, Failure> {
        let response = match self.fault {
            Some(fault) => Err(fault),
            None => self.assembler.finish(),
        };
        match response {
            Ok(response) => Ok(Collected {
                bytes: self.bytes,
                response,
                meter: self.meter,
            }),
            Err(fault) if self.content => Err(Failure {
                fault,
                next: RetryDecision::Unknown,
            }),
            Err(fault) => Err(told_before_content(fault)),
        }
    }
}

/// A provider that fails in its own words before any content has made nothing yet, so another may
/// be asked; one that just stops leaves the outcome open.
pub(super) fn told_before_content(fault: Fault) -> Failure {
    let failure = Failure::reported(fault);
    match failure.fault.class {
        FaultClass::Connection | FaultClass::Malformed => Failure {
            next: RetryDecision::Unknown,
            ..failure
        },
        _ => failure,
    }
}
