//! The answer on its way back: pumped from the provider to the caller, metered as it flows.
//!
//! A [`ReplyStream`] is polled by whoever writes to the caller; there is no task or queue between.
//! Dropping it closes the provider's connection and settles the request as aborted. Content is
//! handed on at once; the terminal event waits until the books have confirmed what it cost.

mod closing;
mod output;
mod passthrough;
mod pipeline;
mod slices;
mod tap;
mod transcode;

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bardo_types::error_code::ErrorCode;
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::secret::Secret;
use bytes::Bytes;
use tokio::time::{Instant, Sleep};

use crate::answer_notes::{AnswerNotes, NoNotes};
use crate::arriving::{Arriving, LINGER};
use crate::call::Call;
use crate::complete_answer::failed_before_content;
use crate::failure::Failure;
use crate::funds::Persisting;
use crate::head::Figures;
use crate::health::AnswerMonitor;
use crate::lifecycle::{Flowing, Lifecycle, Sent, Unsettled};
use crate::record::RequestRecord;
use crate::scrub::scrub;
use crate::shape::Shaped;
use crate::snapshot::Deadlines;
use crate::source::AnswerSource;
use crate::usage_figures::UsageFigures;

use closing::Closing;
pub(crate) use passthrough::Passthrough;
use pipeline::AnswerPipeline;
pub(crate) use pipeline::Conversion;
use slices::{HoldCoverage, HoldTopUp};
pub(crate) use tap::Tap;
pub(crate) use transcode::Transcode;

/// Number of bytes that are joined into one write.
const JOIN_MAX: usize = 64 << 10;
/// How often a poll steps aside for more data that is already there.
const JOIN_ROUNDS: u8 = 4;
/// The comment that shows a caller that a silent connection is alive. It is a block of its own, so it
/// may stand between any two events.
pub const HEARTBEAT: Bytes = Bytes::from_static(b": heartbeat\n\n");
/// The books get so long to confirm the figures; then the stream ends without them.
const FIGURES_WAIT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    /// The provider is done; the books are asked for the figures.
    Closing,
    /// The caller has everything; the provider's body may still end.
    Lingering(Instant),
    Finished,
}

/// An answer that comes piece by piece, in the caller's dialect.
pub struct ReplyStream {
    source: AnswerSource,
    /// The source has ended.
    ended: bool,
    /// The end of the body is told apart from a connection that just closes.
    framed: bool,
    pipeline: AnswerPipeline,
    state: State,
    joins: u8,
    deadlines: Deadlines,
    timer: Pin<Box<Sleep>>,
    started: Instant,
    last_sent: Instant,
    watch: Option<AnswerMonitor>,
    /// The credential that is removed from failures before the caller reads them.
    secret: Option<Secret>,
    books: Books,
    in_usage: UsageFigures,
    growing: Option<HoldTopUp>,
    closing: Option<Pin<Box<dyn Future<Output = Closing> + Send>>>,
    figures: Option<Figures>,
}

/// The books of a stream: the request that pays for it, until it is settled.
enum Books {
    /// The request is settled when the stream ends.
    Open(Lifecycle<Flowing>),
    /// The request is settled, or was an earlier one; the end is known.
    Settled(Closing),
    /// Not begun, or over.
    Closed,
}

impl Books {
    fn open(&mut self) -> Option<&mut RequestRecord> {
        match self {
            Self::Open(life) => Some(life.record_mut()),
            Self::Settled(_) | Self::Closed => None,
        }
    }

    /// Works on the answer with what takes note of it.
    fn noting(&mut self, work: impl FnOnce(&mut dyn AnswerNotes)) {
        match self {
            Self::Open(life) => work(life.record_mut()),
            Self::Settled(_) | Self::Closed => work(&mut NoNotes),
        }
    }

    fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Closed)
    }
}

impl ReplyStream {
    /// Reads until the first content is there, so that a provider that fails before it can still
    /// be replaced.
    pub(crate) async fn begin(
        arriving: Arriving,
        conversion: Conversion,
        call: &Call,
        shaped: &Shaped,
        mut sent: Lifecycle<Sent>,
    ) -> Result<Self, (Failure, Lifecycle<Sent>)> {
        let deadlines = call.snapshot().deadlines;
        let mut reply = Self::new(arriving, conversion, deadlines);
        let first = Instant::now() + deadlines.first_token;
        let first = first.min(reply.started + deadlines.total);
        reply.timer.as_mut().reset(first);
        reply.secret = Some(shaped.leg.endpoint.key.clone());
        reply.in_usage = UsageFigures::of(call);
        let primed = std::future::poll_fn(|cx| reply.poll_prime(cx, sent.record_mut())).await;
        if let Err(failure) = primed {
            return Err((failure, sent));
        }
        let life = sent.flowing();
        reply.growing = HoldTopUp::of(life.record());
        reply.books = Books::Open(life);
        reply.last_sent = Instant::now();
        let next = reply.next_deadline();
        reply.timer.as_mut().reset(next);
        Ok(reply)
    }

    fn new(arriving: Arriving, conversion: Conversion, deadlines: Deadlines) -> Self {
        let Arriving {
            source,
            started,
            framed,
        } = arriving;
        let now = Instant::now();
        Self {
            source,
            ended: false,
            framed,
            pipeline: AnswerPipeline::new(conversion, now),
            state: State::Running,
            joins: 0,
            deadlines,
            timer: Box::pin(tokio::time::sleep_until(started + deadlines.total)),
            started,
            last_sent: now,
            watch: None,
            secret: None,
            books: Books::Closed,
            in_usage: UsageFigures::Omitted,
            growing: None,
            closing: None,
            figures: None,
        }
    }

    /// A stream that a caller got before: its bytes in their pieces, as they are.
    pub(crate) fn replay(
        pieces: Vec<Bytes>,
        figures: Option<Figures>,
        deadlines: Deadlines,
    ) -> Self {
        let source = AnswerSource::of_bytes(pieces);
        let closing = Closing::replayed(figures);
        Self::settled(source, Conversion::Verbatim, closing, deadlines)
    }

    /// A stream of an answer that is there and settled: the pieces of `source`, each handed on by
    /// itself, and the end of `closing`.
    fn settled(
        source: AnswerSource,
        conversion: Conversion,
        closing: Closing,
        deadlines: Deadlines,
    ) -> Self {
        let arriving = Arriving {
            source,
            started: Instant::now(),
            framed: true,
        };
        Self {
            books: Books::Settled(closing),
            ..Self::new(arriving, conversion, deadlines)
        }
    }

    /// An answer that no provider is called for: it is there, or an identical request makes it. The
    /// request is settled when the stream ends.
    pub(crate) fn kept(
        source: AnswerSource,
        conversion: Conversion,
        call: &Call,
        life: Lifecycle<Flowing>,
    ) -> Self {
        let arriving = Arriving {
            source,
            started: Instant::now(),
            framed: true,
        };
        let mut reply = Self {
            books: Books::Open(life),
            in_usage: UsageFigures::of(call),
            ..Self::new(arriving, conversion, call.snapshot().deadlines)
        };
        let next = reply.next_deadline();
        reply.timer.as_mut().reset(next);
        reply
    }

    /// Names the monitor that is told when the answer breaks off.
    pub(crate) fn watched_by(&mut self, watch: AnswerMonitor) {
        self.watch = Some(watch);
    }

    fn poll_prime(
        &mut self,
        cx: &mut Context<'_>,
        record: &mut RequestRecord,
    ) -> Poll<Result<(), Failure>> {
        let cut = |message| Poll::Ready(Err(Failure::unknown(FaultClass::Connection, message)));
        while !self.pipeline.progress.content && !self.pipeline.progress.done {
            match self.source.poll_next(cx) {
                Poll::Ready(Some(Ok(piece))) => self.pipeline.take(piece, record),
                Poll::Ready(Some(Err(error))) => {
                    tracing::debug!(%error, "stream cut before its first content");
                    return cut("the provider's stream was cut before its first content");
                }
                Poll::Ready(None) => {
                    self.ended = true;
                    self.pipeline.end(self.framed, record);
                    if self.pipeline.progress.fault.is_none() && !self.pipeline.progress.done {
                        return cut("the provider's stream ended before its first content");
                    }
                }
                Poll::Pending => {
                    std::task::ready!(self.timer.as_mut().poll(cx));
                    let message = "the provider sent no content in time";
                    return Poll::Ready(Err(Failure::unknown(FaultClass::Timeout, message)));
                }
            }
            // What came before a failure in one read is content all the same: the caller gets it,
            // nobody else is asked, and the failure is told behind it.
            if !self.pipeline.progress.content
                && let Some(fault) = self.pipeline.progress.fault.take()
            {
                return Poll::Ready(Err(failed_before_content(fault)));
            }
        }
        Poll::Ready(Ok(()))
    }

    /// The record of the request. It exists until the stream is over.
    pub(crate) fn record(&self) -> &RequestRecord {
        match &self.books {
            Books::Open(life) => life.record(),
            Books::Settled(_) | Books::Closed => {
                unreachable!("a stream that has begun and not ended has a record")
            }
        }
    }

    /// The record of the request, to note more of it; `None` once the stream is over.
    pub(crate) fn record_mut(&mut self) -> Option<&mut RequestRecord> {
        self.books.open()
    }

    /// The hold's way to the disk, where it has not got there yet.
    pub(crate) fn persisting(&mut self) -> Option<Persisting> {
        self.books.open()?.take_persisting()
    }

    /// Nothing of it may be handed on.
    pub(crate) fn give_up(mut self) {
        if let Books::Open(life) = self.books.take() {
            life.failed();
        }
    }

    /// The final figures, once the stream is over and settled; they are sent as trailers.
    #[must_use]
    pub fn figures(&self) -> Option<&Figures> {
        self.figures.as_ref()
    }

    /// The next bytes for the caller; `None` when the stream is over.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            match self.state {
                State::Running => {
                    if let Some(step) = self.poll_running(cx) {
                        return step;
                    }
                }
                State::Closing => {
                    if self.pipeline.out.len() > 0 {
                        return self.hand_on();
                    }
                    let Some(closing) = &mut self.closing else {
                        self.state = State::Finished;
                        continue;
                    };
                    let closing = std::task::ready!(closing.as_mut().poll(cx));
                    self.closing = None;
                    self.close(&closing);
                }
                State::Lingering(until) => {
                    if self.pipeline.out.len() > 0 {
                        return self.hand_on();
                    }
                    match self.source.poll_next(cx) {
                        Poll::Ready(Some(Ok(_))) => {}
                        Poll::Ready(None | Some(Err(_))) => self.state = State::Finished,
                        Poll::Pending => {
                            self.timer.as_mut().reset(until);
                            if self.timer.as_mut().poll(cx).is_pending() {
                                return Poll::Pending;
                            }
                            self.state = State::Finished;
                        }
                    }
                }
                State::Finished => {
                    if self.pipeline.out.len() > 0 {
                        return self.hand_on();
                    }
                    return Poll::Ready(None);
                }
            }
        }
    }

    /// One step of a running stream; `None`: look again.
    fn poll_running(&mut self, cx: &mut Context<'_>) -> Option<Poll<Option<Bytes>>> {
        // The end may have come together with the first content.
        if self.is_over() {
            return None;
        }
        if matches!(self.books, Books::Closed) {
            self.state = State::Finished;
            return None;
        }
        let ready = self.pipeline.out.len();
        if ready >= JOIN_MAX || ready > 0 && matches!(self.books, Books::Settled(_)) {
            return Some(self.hand_on());
        }
        let cover = match (&mut self.growing, self.books.open()) {
            (Some(growing), Some(record)) => growing.poll(cx, record),
            _ => HoldCoverage::Enough,
        };
        match cover {
            HoldCoverage::Enough => {}
            // Nothing more is taken from the provider before it is known that it can be paid.
            HoldCoverage::Asking if ready > 0 => return Some(self.hand_on()),
            HoldCoverage::Asking => return Some(self.poll_timer(cx)),
            HoldCoverage::Unsettled(fault) => {
                self.books
                    .open()
                    .into_iter()
                    .for_each(RequestRecord::cut_off);
                self.fail(fault);
                return None;
            }
        }
        match self.source.poll_next(cx) {
            Poll::Ready(Some(Ok(piece))) => {
                let pipeline = &mut self.pipeline;
                self.books.noting(|notes| pipeline.take(piece, notes));
            }
            Poll::Ready(Some(Err(error))) => {
                tracing::debug!(%error, "stream cut");
                let message = "the provider's stream was cut";
                self.fail(Fault::new(FaultClass::Connection, message));
            }
            Poll::Ready(None) => {
                self.ended = true;
                let (pipeline, framed) = (&mut self.pipeline, self.framed);
                self.books.noting(|notes| pipeline.end(framed, notes));
                if !self.pipeline.progress.done {
                    let fault = self.pipeline.progress.fault.take().unwrap_or_else(|| {
                        let message = "the provider's stream ended too early";
                        Fault::new(FaultClass::Connection, message)
                    });
                    self.fail(fault);
                }
            }
            Poll::Pending => {
                if let Some(growing) = &mut self.growing {
                    growing.caught_up();
                }
                if ready == 0 {
                    return Some(self.poll_timer(cx));
                }
                // The connection's own task may have more at hand: let it run once.
                if self.joins < JOIN_ROUNDS {
                    self.joins += 1;
                    cx.waker().wake_by_ref();
                    return Some(Poll::Pending);
                }
                return Some(self.hand_on());
            }
        }
        None
    }

    /// Ends the stream where the provider said its last word, or failed.
    fn is_over(&mut self) -> bool {
        let progress = &mut self.pipeline.progress;
        if !progress.done && progress.fault.is_none() || matches!(self.books, Books::Closed) {
            return false;
        }
        match progress.fault.take() {
            Some(fault) => self.fail(fault),
            None => self.finish(),
        }
        true
    }

    fn hand_on(&mut self) -> Poll<Option<Bytes>> {
        self.joins = 0;
        self.last_sent = Instant::now();
        if let Some(record) = self.books.open() {
            record.deliver();
        }
        Poll::Ready(Some(self.pipeline.out.take()))
    }

    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        while self.timer.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            if now >= self.pipeline.last_data + self.deadlines.idle {
                self.fail(Fault::new(
                    FaultClass::Timeout,
                    "the provider stopped sending",
                ));
                return self.hand_on();
            }
            if now >= self.started + self.deadlines.total {
                self.fail(Fault::new(
                    FaultClass::Timeout,
                    "the answer took longer than the total limit",
                ));
                return self.hand_on();
            }
            let beat = now >= self.last_sent + self.deadlines.heartbeat;
            if beat {
                self.last_sent = now;
            }
            let next = self.next_deadline();
            self.timer.as_mut().reset(next);
            if beat {
                return Poll::Ready(Some(HEARTBEAT));
            }
        }
        Poll::Pending
    }

    fn next_deadline(&self) -> Instant {
        (self.last_sent + self.deadlines.heartbeat)
            .min(self.pipeline.last_data + self.deadlines.idle)
            .min(self.started + self.deadlines.total)
    }

    /// The provider said its last word: settles, then writes the end.
    fn finish(&mut self) {
        let life = match self.books.take() {
            Books::Open(life) => life,
            Books::Settled(closing) => return self.close(&closing),
            Books::Closed => return,
        };
        let placed = self.in_usage;
        match life.finished().at_once() {
            Ok(over) => self.close(&Closing::settled(over.record().receipt(), placed)),
            Err(ended) => {
                self.closing = Some(Box::pin(closing(ended, placed)));
                self.state = State::Closing;
            }
        }
    }

    /// Writes the figures, the closing comment and the terminal event.
    fn close(&mut self, closing: &Closing) {
        self.figures = closing.figures;
        self.pipeline.close(closing);
        self.state = if self.ended {
            State::Finished
        } else {
            State::Lingering(Instant::now() + LINGER)
        };
    }

    /// Shows the failure to the caller and ends the stream without its terminal event.
    fn fail(&mut self, mut fault: Fault) {
        if let Some(secret) = &self.secret {
            scrub(&mut fault, secret.expose());
        }
        match self.books.take() {
            Books::Open(mut life) => {
                if let Some(watch) = self.watch.take() {
                    watch.failed(&fault);
                }
                let record = life.record_mut();
                record.broke_off(&fault);
                blame_the_gateway(&mut fault, &record.receipt().backend);
                let id = record.receipt().request_id.as_str();
                self.pipeline.fail(&fault, id);
                life.failed();
            }
            Books::Settled(_) => self.pipeline.fail(&fault, ""),
            Books::Closed => return,
        }
        self.state = State::Finished;
    }
}

/// The end of a stream, as soon as the books have confirmed its figures. Where they take too long
/// the settler goes on asking them.
async fn closing(ended: Unsettled, placed: UsageFigures) -> Closing {
    match ended.within(FIGURES_WAIT).await {
        Ok(over) => Closing::settled(over.record().receipt(), placed),
        Err((ended, error)) => {
            tracing::warn!(%error, "a stream ends before its charge is stored");
            Closing::pending(ended.record().receipt())
        }
    }
}

/// Says in words of ours that a provider refuses the gateway's own account: the caller cannot mend
/// it, and its client must not take it for a refusal of the caller's key.
fn blame_the_gateway(fault: &mut Fault, backend: &str) {
    let message = match fault.class {
        FaultClass::Authentication | FaultClass::Permission => {
            format!("{backend} refused the gateway's own key; its operator must replace it")
        }
        FaultClass::Payment => {
            format!("the gateway's credit at {backend} is used up; its operator must add credit")
        }
        _ => return,
    };
    if fault.own_code.is_none() {
        let code = ErrorCode::of_upstream(fault.class);
        fault.message = message.into();
        fault.class = code.class();
        (fault.code, fault.own_code, fault.status) = (None, Some(code), Some(code.status()));
    }
}

#[cfg(test)]
mod tests;
