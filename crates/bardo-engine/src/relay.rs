//! The answer on its way back: pumped from the provider to the caller, metered as it flows.
//!
//! A [`ReplyStream`] is polled by whoever writes to the caller; there is no task or queue between.
//! Dropping it closes the provider's connection and settles the request as aborted.

mod pass;
mod settlement;
mod translate;

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};

use bardo_providers::transport::UpstreamBody;
use bardo_types::fault::{Fault, FaultClass};
use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use tokio::time::{Instant, Sleep};

use crate::attempt::{Failure, Next};
use crate::respond::Arriving;
use crate::world::Deadlines;

pub(crate) use pass::Pass;
pub(crate) use settlement::Settlement;
pub(crate) use translate::Translate;

/// An unfinished event may grow to this size.
const EVENT_MAX: usize = 16 << 20;
/// So much is joined before it is handed on.
const JOIN_MAX: usize = 64 << 10;
/// How often a poll steps aside for more data that is already there.
const JOIN_ROUNDS: u8 = 4;
/// After the terminal event the provider gets so long to end its body, which keeps its connection.
const LINGER: std::time::Duration = std::time::Duration::from_millis(100);

/// One direction of work: relayed or translated.
pub(crate) enum Pump {
    Pass(Box<Pass>),
    Translate(Box<Translate>),
}

/// What has become of the stream so far.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Events with content or control, not pings or comments.
    pub(crate) events: u64,
    /// The caller has something to read that no other provider may repeat.
    pub(crate) content: bool,
    /// The terminal event is written.
    pub(crate) done: bool,
    /// The provider failed; nothing was written of it.
    pub(crate) fault: Option<Fault>,
}

/// Bytes ready for the caller. One slice is handed on as it is; several are joined.
#[derive(Default)]
pub(crate) struct Output {
    first: Bytes,
    rest: BytesMut,
}

impl Output {
    pub(crate) fn push(&mut self, bytes: Bytes) {
        if bytes.is_empty() {
        } else if self.first.is_empty() && self.rest.is_empty() {
            self.first = bytes;
        } else {
            self.buffer().extend_from_slice(&bytes);
        }
    }

    /// The buffer behind everything pushed so far.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        if !self.first.is_empty() {
            let first = std::mem::take(&mut self.first);
            self.rest.extend_from_slice(&first);
        }
        &mut self.rest
    }

    fn len(&self) -> usize {
        self.first.len() + self.rest.len()
    }

    fn take(&mut self) -> Bytes {
        if self.first.is_empty() {
            self.rest.split().freeze()
        } else {
            std::mem::take(&mut self.first)
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    /// The caller has everything; the provider's body may still end.
    Lingering(Instant),
    Finished,
}

/// An answer that comes piece by piece, in the caller's dialect.
pub struct ReplyStream {
    body: UpstreamBody,
    pump: Pump,
    progress: Progress,
    out: Output,
    state: State,
    /// Failures may still be told to whoever drives the stream instead of to the caller.
    primed: bool,
    joins: u8,
    deadlines: Deadlines,
    timer: Pin<Box<Sleep>>,
    started: Instant,
    last_data: Instant,
    last_sent: Instant,
    settlement: Settlement,
}

impl ReplyStream {
    pub(crate) fn new(
        arriving: Arriving,
        pump: Pump,
        deadlines: Deadlines,
        settlement: Settlement,
    ) -> Self {
        let Arriving { body, started } = arriving;
        let now = Instant::now();
        let first = (now + deadlines.first_token).min(started + deadlines.total);
        Self {
            body,
            pump,
            progress: Progress::default(),
            out: Output::default(),
            state: State::Running,
            primed: false,
            joins: 0,
            deadlines,
            timer: Box::pin(tokio::time::sleep_until(first)),
            started,
            last_data: now,
            last_sent: now,
            settlement,
        }
    }

    /// Reads until the first content is there, so that a provider that fails before it can still
    /// be replaced.
    pub(crate) async fn prime(&mut self) -> Result<(), Failure> {
        std::future::poll_fn(|cx| self.poll_prime(cx)).await
    }

    fn poll_prime(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        while !self.progress.content && !self.progress.done {
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => self.take_frame(frame),
                Poll::Ready(Some(Err(error))) => {
                    tracing::debug!(%error, "stream cut before its first content");
                    return Poll::Ready(Err(
                        self.give_up("the provider's stream was cut before its first content")
                    ));
                }
                Poll::Ready(None) => {
                    self.pump_end();
                    if self.progress.fault.is_none() && !self.progress.done {
                        return Poll::Ready(Err(
                            self.give_up("the provider's stream ended before its first content")
                        ));
                    }
                }
                Poll::Pending => {
                    if self.timer.as_mut().poll(cx).is_ready() {
                        let late = Failure::unknown(
                            FaultClass::Timeout,
                            "the provider sent no content in time",
                        );
                        self.settlement.hand_over();
                        return Poll::Ready(Err(late));
                    }
                    return Poll::Pending;
                }
            }
            if let Some(fault) = self.progress.fault.take() {
                self.settlement.hand_over();
                return Poll::Ready(Err(told_before_content(fault)));
            }
        }
        self.primed = true;
        self.settlement.first_content();
        self.last_sent = Instant::now();
        let next = self.next_deadline();
        self.timer.as_mut().reset(next);
        Poll::Ready(Ok(()))
    }

    fn give_up(&mut self, message: &'static str) -> Failure {
        self.settlement.hand_over();
        Failure::unknown(FaultClass::Connection, message)
    }

    /// The next bytes for the caller; `None` when the stream is over.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            match self.state {
                State::Running => {
                    if self.out.len() >= JOIN_MAX {
                        return self.hand_on();
                    }
                    match Pin::new(&mut self.body).poll_frame(cx) {
                        Poll::Ready(Some(Ok(frame))) => self.take_frame(frame),
                        Poll::Ready(Some(Err(error))) => {
                            tracing::debug!(%error, "stream cut");
                            self.fail(Fault::new(
                                FaultClass::Connection,
                                "the provider's stream was cut",
                            ));
                        }
                        Poll::Ready(None) => {
                            self.pump_end();
                            if !self.progress.done {
                                let fault = self.progress.fault.take().unwrap_or_else(|| {
                                    let message = "the provider's stream ended too early";
                                    Fault::new(FaultClass::Connection, message)
                                });
                                self.fail(fault);
                            }
                            self.state = State::Finished;
                        }
                        Poll::Pending if self.out.len() > 0 => {
                            // The connection's own task may have more at hand: let it run once.
                            if self.joins < JOIN_ROUNDS {
                                self.joins += 1;
                                cx.waker().wake_by_ref();
                                return Poll::Pending;
                            }
                            return self.hand_on();
                        }
                        Poll::Pending => return self.poll_timer(cx),
                    }
                    if let Some(fault) = self.progress.fault.take() {
                        self.fail(fault);
                    }
                    if self.progress.done && self.state == State::Running {
                        self.state = State::Lingering(Instant::now() + LINGER);
                    }
                }
                State::Lingering(until) => {
                    if self.out.len() > 0 {
                        return self.hand_on();
                    }
                    match Pin::new(&mut self.body).poll_frame(cx) {
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
                    if self.out.len() > 0 {
                        return self.hand_on();
                    }
                    self.settlement.settle();
                    return Poll::Ready(None);
                }
            }
        }
    }

    fn hand_on(&mut self) -> Poll<Option<Bytes>> {
        self.joins = 0;
        self.last_sent = Instant::now();
        Poll::Ready(Some(self.out.take()))
    }

    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        while self.timer.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            if now >= self.last_data + self.deadlines.idle {
                self.fail(Fault::new(FaultClass::Timeout, "the provider fell silent"));
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
                return Poll::Ready(Some(Bytes::from_static(b": heartbeat\n\n")));
            }
        }
        Poll::Pending
    }

    fn next_deadline(&self) -> Instant {
        (self.last_sent + self.deadlines.heartbeat)
            .min(self.last_data + self.deadlines.idle)
            .min(self.started + self.deadlines.total)
    }

    fn take_frame(&mut self, frame: http_body::Frame<Bytes>) {
        let Ok(data) = frame.into_data() else { return };
        let before = self.progress.events;
        match &mut self.pump {
            Pump::Pass(pass) => pass.data(
                data,
                &mut self.progress,
                &mut self.out,
                &mut self.settlement,
            ),
            Pump::Translate(translate) => {
                translate.data(
                    &data,
                    &mut self.progress,
                    &mut self.out,
                    &mut self.settlement,
                );
            }
        }
        if self.progress.events != before {
            self.last_data = Instant::now();
        }
    }

    fn pump_end(&mut self) {
        match &mut self.pump {
            Pump::Pass(pass) => pass.end(&mut self.progress),
            Pump::Translate(translate) => {
                translate.end(&mut self.progress, &mut self.out, &mut self.settlement)
            }
        }
    }

    /// Shows the failure to the caller and ends the stream without its terminal event.
    fn fail(&mut self, fault: Fault) {
        if self.progress.done || self.state == State::Finished {
            return;
        }
        let fault = self.settlement.failed(fault);
        match &mut self.pump {
            Pump::Pass(pass) => pass.fail(&fault, &mut self.out, &self.settlement),
            Pump::Translate(translate) => translate.fail(fault, &mut self.out),
        }
        self.state = State::Finished;
    }
}

/// A provider that fails in its own words before any content has made nothing yet, so another may
/// be asked; one that just stops leaves the outcome open.
fn told_before_content(fault: Fault) -> Failure {
    let failure = Failure::told(fault);
    match failure.fault.class {
        FaultClass::Connection | FaultClass::Malformed => Failure {
            next: Next::Unknown,
            ..failure
        },
        _ => failure,
    }
}
