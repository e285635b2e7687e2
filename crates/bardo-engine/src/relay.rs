//! The answer on its way back: pumped from the provider to the caller, metered as it flows.
//!
//! A [`ReplyStream`] is polled by whoever writes to the caller; there is no task or queue between.
//! Dropping it closes the provider's connection and settles the request as aborted. Content is
//! handed on at once; the terminal event waits until the books have confirmed what it cost.

mod collect;
mod flow;
mod output;
mod passthrough;
mod slices;
mod transcode;

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bardo_types::fault::{Fault, FaultClass};
use bardo_types::secret::Secret;
use bardo_wire::receipt::comment;
use bytes::Bytes;
use tokio::time::{Instant, Sleep};

use crate::arriving::Arriving;
use crate::breaker::Watch;
use crate::call::Call;
use crate::failure::Failure;
use crate::funds::Persisting;
use crate::head::Figures;
use crate::lifecycle::{Flowing, Lifecycle, Sent, Unsettled};
use crate::record::RequestRecord;
use crate::scrub::scrub;
use crate::shape::Shaped;
use crate::snapshot::Deadlines;
use crate::source::Source;

use collect::told_before_content;
pub(crate) use collect::{Collected, collect};
use flow::Flow;
pub(crate) use flow::Pipeline;
use output::LINGER;
pub(crate) use passthrough::Passthrough;
use slices::{HoldCoverage, HoldTopUp};
pub(crate) use transcode::{Keep, Transcode};

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
    source: Source,
    /// The source has ended.
    ended: bool,
    /// The end of the body is told apart from a connection that just closes.
    framed: bool,
    flow: Flow,
    state: State,
    joins: u8,
    deadlines: Deadlines,
    timer: Pin<Box<Sleep>>,
    started: Instant,
    last_sent: Instant,
    watch: Option<Watch>,
    secret: Secret,
    /// There from the first content to the end.
    life: Option<Lifecycle<Flowing>>,
    growing: Option<HoldTopUp>,
    closing: Option<Pin<Box<dyn Future<Output = Closing> + Send>>>,
    figures: Option<Figures>,
}

/// What is written at the end, and the figures in it where they are final.
type Closing = (String, Option<Figures>);

impl ReplyStream {
    /// Reads until the first content is there, so that a provider that fails before it can still
    /// be replaced.
    pub(crate) async fn begin(
        arriving: Arriving,
        pump: Pipeline,
        call: &Call,
        shaped: &Shaped,
        mut sent: Lifecycle<Sent>,
    ) -> Result<Self, (Failure, Lifecycle<Sent>)> {
        let Arriving {
            source,
            started,
            framed,
        } = arriving;
        let deadlines = call.snapshot().deadlines;
        let now = Instant::now();
        let first = (now + deadlines.first_token).min(started + deadlines.total);
        let mut reply = Self {
            source,
            ended: false,
            framed,
            flow: Flow::new(pump, now),
            state: State::Running,
            joins: 0,
            deadlines,
            timer: Box::pin(tokio::time::sleep_until(first)),
            started,
            last_sent: now,
            watch: None,
            secret: shaped.endpoint.key.clone(),
            life: None,
            growing: None,
            closing: None,
            figures: None,
        };
        let primed = std::future::poll_fn(|cx| reply.poll_prime(cx, sent.record_mut())).await;
        if let Err(failure) = primed {
            return Err((failure, sent));
        }
        let life = sent.flowing();
        reply.growing = HoldTopUp::of(life.record());
        reply.life = Some(life);
        reply.last_sent = Instant::now();
        let next = reply.next_deadline();
        reply.timer.as_mut().reset(next);
        Ok(reply)
    }

    /// Who is to know when the answer breaks off.
    pub(crate) fn watched_by(&mut self, watch: Watch) {
        self.watch = Some(watch);
    }

    fn poll_prime(
        &mut self,
        cx: &mut Context<'_>,
        record: &mut RequestRecord,
    ) -> Poll<Result<(), Failure>> {
        let cut = |message| Poll::Ready(Err(Failure::unknown(FaultClass::Connection, message)));
        while !self.flow.progress.content && !self.flow.progress.done {
            match self.source.poll_next(cx) {
                Poll::Ready(Some(Ok(piece))) => self.flow.take(piece, record),
                Poll::Ready(Some(Err(error))) => {
                    tracing::debug!(%error, "stream cut before its first content");
                    return cut("the provider's stream was cut before its first content");
                }
                Poll::Ready(None) => {
                    self.ended = true;
                    self.flow.end(self.framed, record);
                    if self.flow.progress.fault.is_none() && !self.flow.progress.done {
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
            if !self.flow.progress.content
                && let Some(fault) = self.flow.progress.fault.take()
            {
                return Poll::Ready(Err(told_before_content(fault)));
            }
        }
        Poll::Ready(Ok(()))
    }

    /// What the request has run up. There until the stream is over.
    pub(crate) fn record(&self) -> &RequestRecord {
        self.life
            .as_ref()
            .expect("a stream that was handed out has begun and not ended")
            .record()
    }

    /// The hold's way to the disk, where it has not got there yet.
    pub(crate) fn persisting(&mut self) -> Option<Persisting> {
        self.life.as_mut()?.record_mut().take_persisting()
    }

    /// Nothing of it may be handed on.
    pub(crate) fn give_up(mut self) {
        if let Some(life) = self.life.take() {
            life.failed();
        }
    }

    /// What it came to, once it is over and settled; for trailers.
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
                    if self.flow.out.len() > 0 {
                        return self.hand_on();
                    }
                    let Some(closing) = &mut self.closing else {
                        self.state = State::Finished;
                        continue;
                    };
                    let (comment, figures) = std::task::ready!(closing.as_mut().poll(cx));
                    self.closing = None;
                    self.figures = figures;
                    self.close(&comment);
                }
                State::Lingering(until) => {
                    if self.flow.out.len() > 0 {
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
                    if self.flow.out.len() > 0 {
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
        let Some(life) = &mut self.life else {
            self.state = State::Finished;
            return None;
        };
        if self.flow.out.len() >= JOIN_MAX {
            return Some(self.hand_on());
        }
        let cover = match &mut self.growing {
            Some(growing) => growing.poll(cx, life.record_mut()),
            None => HoldCoverage::Enough,
        };
        match cover {
            HoldCoverage::Enough => {}
            // Nothing more is taken from the provider before it is known that it can be paid.
            HoldCoverage::Asking if self.flow.out.len() > 0 => return Some(self.hand_on()),
            HoldCoverage::Asking => return Some(self.poll_timer(cx)),
            HoldCoverage::Unsettled(fault) => {
                life.record_mut().cut_off();
                self.fail(fault);
                return None;
            }
        }
        match self.source.poll_next(cx) {
            Poll::Ready(Some(Ok(piece))) => self.flow.take(piece, life.record_mut()),
            Poll::Ready(Some(Err(error))) => {
                tracing::debug!(%error, "stream cut");
                let message = "the provider's stream was cut";
                self.fail(Fault::new(FaultClass::Connection, message));
            }
            Poll::Ready(None) => {
                self.ended = true;
                self.flow.end(self.framed, life.record_mut());
                if !self.flow.progress.done {
                    let fault = self.flow.progress.fault.take().unwrap_or_else(|| {
                        let message = "the provider's stream ended too early";
                        Fault::new(FaultClass::Connection, message)
                    });
                    self.fail(fault);
                }
            }
            Poll::Pending if self.flow.out.len() > 0 => {
                if let Some(growing) = &mut self.growing {
                    growing.caught_up();
                }
                // The connection's own task may have more at hand: let it run once.
                if self.joins < JOIN_ROUNDS {
                    self.joins += 1;
                    cx.waker().wake_by_ref();
                    return Some(Poll::Pending);
                }
                return Some(self.hand_on());
            }
            Poll::Pending => {
                if let Some(growing) = &mut self.growing {
                    growing.caught_up();
                }
                return Some(self.poll_timer(cx));
            }
        }
        self.is_over();
        None
    }

    /// Ends the stream where the provider said its last word, or failed.
    fn is_over(&mut self) -> bool {
        if self.life.is_none() {
            return false;
        }
        if let Some(fault) = self.flow.progress.fault.take() {
            self.fail(fault);
        } else if self.flow.progress.done {
            self.finish();
        } else {
            return false;
        }
        true
    }

    fn hand_on(&mut self) -> Poll<Option<Bytes>> {
        self.joins = 0;
        self.last_sent = Instant::now();
        if let Some(life) = &mut self.life {
            life.record_mut().deliver();
        }
        Poll::Ready(Some(self.flow.out.take()))
    }

    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        while self.timer.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            if now >= self.flow.last_data + self.deadlines.idle {
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
            .min(self.flow.last_data + self.deadlines.idle)
            .min(self.started + self.deadlines.total)
    }

    /// The provider said its last word: settles, then writes the end.
    fn finish(&mut self) {
        let Some(life) = self.life.take() else {
            return;
        };
        match life.finished().at_once() {
            Ok(over) => {
                let receipt = over.record().receipt();
                self.figures = Some(Figures::of(receipt));
                self.close(&comment(receipt, false));
            }
            Err(ended) => {
                self.closing = Some(Box::pin(figures(ended)));
                self.state = State::Closing;
            }
        }
    }

    /// Writes the closing comment and the terminal event.
    fn close(&mut self, figures: &str) {
        self.flow.close(figures);
        self.state = if self.ended {
            State::Finished
        } else {
            State::Lingering(Instant::now() + LINGER)
        };
    }

    /// Shows the failure to the caller and ends the stream without its terminal event.
    fn fail(&mut self, mut fault: Fault) {
        let Some(mut life) = self.life.take() else {
            return;
        };
        scrub(&mut fault, self.secret.expose());
        if let Some(watch) = self.watch.take() {
            watch.failed(&fault);
        }
        let record = life.record_mut();
        record.broke_off(&fault);
        self.flow.fail(&fault, record.receipt().request_id.as_str());
        life.failed();
        self.state = State::Finished;
    }
}

/// The comment with the figures, as soon as the books have confirmed them. Where they take too
/// long the settler goes on asking them.
async fn figures(ended: Unsettled) -> Closing {
    match ended.within(FIGURES_WAIT).await {
        Ok(over) => {
            let receipt = over.record().receipt();
            (comment(receipt, false), Some(Figures::of(receipt)))
        }
        Err((ended, error)) => {
            tracing::warn!(%error, "a stream ends before it is settled");
            (comment(ended.record().receipt(), true), None)
        }
    }
}
