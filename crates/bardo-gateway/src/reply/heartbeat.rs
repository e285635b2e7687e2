//! Comments while a provider has not begun, for a caller whose head was sent already.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bardo_engine::HEARTBEAT;
use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::time::{Instant, Sleep};

/// An answer that is still being worked on: its body, or its last and only event.
pub(crate) type Working<B> = Pin<Box<dyn Future<Output = Result<B, Bytes>> + Send>>;

/// A body that says that somebody is at work until there is something of it.
pub(crate) enum HeartbeatBody<B> {
    /// No provider has begun.
    Pending(Box<PendingBody<B>>),
    /// The answer is on its way.
    Flowing(B),
    /// Nothing comes but this; empty when it was sent.
    Last(Bytes),
}

/// A body that is being worked on.
pub(crate) struct PendingBody<B> {
    working: Working<B>,
    timer: Pin<Box<Sleep>>,
    every: Duration,
    started: bool,
}

impl<B> HeartbeatBody<B> {
    /// Waits for `working`; a comment comes at once and then as often as said.
    pub(crate) fn until(working: Working<B>, every: Duration) -> Self {
        Self::Pending(Box::new(PendingBody {
            working,
            timer: Box::pin(tokio::time::sleep(every)),
            every,
            started: false,
        }))
    }
}

impl<B> PendingBody<B> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<B, Bytes>>> {
        if !std::mem::replace(&mut self.started, true) {
            return Poll::Ready(None);
        }
        if let Poll::Ready(done) = self.working.as_mut().poll(cx) {
            return Poll::Ready(Some(done));
        }
        std::task::ready!(self.timer.as_mut().poll(cx));
        self.timer.as_mut().reset(Instant::now() + self.every);
        // Registers the new deadline for the poll after this one.
        cx.waker().wake_by_ref();
        Poll::Ready(None)
    }
}

impl<B: Body<Data = Bytes, Error = Infallible> + Unpin> Body for HeartbeatBody<B> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        loop {
            match &mut *self {
                Self::Flowing(body) => return Pin::new(body).poll_frame(cx),
                Self::Last(event) if event.is_empty() => return Poll::Ready(None),
                Self::Last(event) => {
                    let event = std::mem::take(event);
                    return Poll::Ready(Some(Ok(Frame::data(event))));
                }
                Self::Pending(waiting) => match std::task::ready!(waiting.poll(cx)) {
                    None => return Poll::Ready(Some(Ok(Frame::data(HEARTBEAT)))),
                    Some(Ok(body)) => *self = Self::Flowing(body),
                    Some(Err(event)) => *self = Self::Last(event),
                },
            }
        }
    }
}
