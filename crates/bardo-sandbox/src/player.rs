//! A response body that plays a list of steps: send, wait, stall or break off.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

use crate::journal::Outcome;
use crate::wire::Switches;
use crate::world::World;

/// One step of a body.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Sends bytes; `event` says whether they complete an event.
    Send { bytes: Bytes, event: bool },
    /// Waits; what was sent before is flushed.
    Pause { ms: u64 },
    /// Sends the same bytes again and again until the client leaves.
    Repeat { bytes: Bytes, every_ms: u64 },
    /// Says nothing until the client leaves.
    Stall,
    /// Resets the connection.
    Abort,
}

/// The body error that makes the HTTP layer drop its connection.
#[derive(Debug)]
pub(crate) struct Aborted;

impl std::fmt::Display for Aborted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the sandbox closed the connection on purpose")
    }
}

impl std::error::Error for Aborted {}

/// Plays steps as an HTTP body, and tells the journal how it ended.
pub(crate) struct Player {
    steps: VecDeque<Step>,
    /// The promised `content-length`; `None` for a chunked stream.
    length: Option<u64>,
    sleep: Option<Pin<Box<Sleep>>>,
    switches: Arc<Switches>,
    world: Arc<World>,
    seq: u64,
    events: u64,
    sent: u64,
    faulted: bool,
    closed: bool,
}

impl Player {
    pub(crate) fn new(
        world: Arc<World>,
        seq: u64,
        switches: Arc<Switches>,
        steps: Vec<Step>,
        length: Option<u64>,
        faulted: bool,
    ) -> Self {
        let steps = steps.into();
        let (events, sent, closed, sleep) = (0, 0, false, None);
        Self {
            steps,
            length,
            sleep,
            switches,
            world,
            seq,
            events,
            sent,
            faulted,
            closed,
        }
    }

    fn close(&mut self, outcome: Outcome) {
        if !self.closed {
            self.closed = true;
            let closed_ms = self.world.now_ms();
            self.world
                .journal
                .close(self.seq, self.events, self.sent, outcome, closed_ms);
        }
    }

    fn pause(&mut self, ms: u64) {
        self.sleep = Some(Box::pin(tokio::time::sleep(Duration::from_millis(ms))));
    }
}

impl Body for Player {
    type Data = Bytes;
    type Error = Aborted;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Aborted>>> {
        let this = &mut *self;
        loop {
            if let Some(sleep) = &mut this.sleep {
                std::task::ready!(sleep.as_mut().poll(cx));
                this.sleep = None;
            }
            match this.steps.pop_front() {
                None => {
                    let outcome = if this.faulted {
                        Outcome::Fault
                    } else {
                        Outcome::Finished
                    };
                    this.close(outcome);
                    return Poll::Ready(None);
                }
                Some(Step::Send { bytes, event }) => {
                    this.events += u64::from(event);
                    this.sent += bytes.len() as u64;
                    if !bytes.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(bytes))));
                    }
                }
                Some(Step::Pause { ms }) => this.pause(ms),
                Some(Step::Repeat { bytes, every_ms }) => {
                    this.steps.push_front(Step::Repeat {
                        bytes: bytes.clone(),
                        every_ms,
                    });
                    this.steps.push_front(Step::Pause { ms: every_ms });
                    this.sent += bytes.len() as u64;
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                Some(Step::Stall) => {
                    this.steps.push_front(Step::Stall);
                    // The HTTP layer polls again when the client closes; no timer is needed.
                    return Poll::Pending;
                }
                Some(Step::Abort) => {
                    this.switches.reset();
                    this.close(Outcome::Fault);
                    return Poll::Ready(Some(Err(Aborted)));
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.steps.is_empty() && self.sleep.is_none() && self.closed
    }

    fn size_hint(&self) -> SizeHint {
        match self.length {
            Some(length) => SizeHint::with_exact(length.saturating_sub(self.sent)),
            None => SizeHint::default(),
        }
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        // The HTTP layer drops a body of known length once its last byte is taken.
        let all_sent = self.steps.is_empty() && self.sleep.is_none();
        let outcome = match (all_sent, self.faulted) {
            (true, false) => Outcome::Finished,
            (true, true) => Outcome::Fault,
            (false, _) => Outcome::ClientClosed,
        };
        self.close(outcome);
    }
}
