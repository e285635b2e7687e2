//! The body of an answer as hyper sends it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bardo_engine::{Answer, AnswerBody, EngineError, Recorder, ReplyStream};
use bardo_types::model::Dialect;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

use crate::describe::trailers;
use crate::error::Problem;
use crate::events::Feed;

/// An answer of the engine that is still being worked on.
pub(crate) type Working =
    Pin<Box<dyn Future<Output = Result<(Answer, Option<Recorder>), EngineError>> + Send>>;

/// The body of an answer.
pub(crate) enum ReplyBody {
    /// All of it; the length goes into the head, and head and body into one write.
    Whole(Bytes),
    /// Piece by piece.
    Stream(Box<ReplyStream>),
    /// Events as they happen, until the caller leaves.
    Feed(Feed),
    /// Piece by piece, and recorded for later requests with the same idempotency key.
    Recorded(Box<Recorded>),
    /// Piece by piece, and the final figures behind it as trailers.
    Trailed(Box<ReplyStream>),
    /// Nothing more, after the trailers.
    Over,
    /// Piece by piece, once a provider has begun. The caller was kept waiting so long that the
    /// head was sent already, to show that somebody is at work.
    Waiting(Box<Waiting>),
}

/// The body [`ReplyBody::Recorded`].
pub(crate) struct Recorded {
    stream: Box<ReplyStream>,
    recorder: Option<Recorder>,
}

/// The body [`ReplyBody::Waiting`].
pub(crate) struct Waiting {
    working: Working,
    timer: Pin<Box<Sleep>>,
    heartbeat: Duration,
    dialect: Dialect,
    request_id: Arc<str>,
    started: bool,
}

impl ReplyBody {
    pub(crate) fn stream(stream: Box<ReplyStream>, recorder: Option<Recorder>) -> Self {
        match recorder {
            None => Self::Stream(stream),
            recorder => Self::Recorded(Box::new(Recorded { stream, recorder })),
        }
    }

    /// This body with the final figures as trailers, if it is a stream.
    pub(crate) fn with_trailers(self) -> Self {
        match self {
            Self::Stream(stream) => Self::Trailed(stream),
            other => other,
        }
    }

    pub(crate) fn waiting(
        working: Working,
        heartbeat: Duration,
        dialect: Dialect,
        request_id: Arc<str>,
    ) -> Self {
        let timer = Box::pin(tokio::time::sleep(heartbeat));
        Self::Waiting(Box::new(Waiting {
            working,
            timer,
            heartbeat,
            dialect,
            request_id,
            started: false,
        }))
    }
}

const HEARTBEAT: Bytes = Bytes::from_static(b": heartbeat\n\n");

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::convert::Infallible>>> {
        loop {
            match &mut *self {
                Self::Whole(bytes) if bytes.is_empty() => return Poll::Ready(None),
                Self::Whole(bytes) => {
                    return Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes)))));
                }
                Self::Stream(stream) => {
                    return stream
                        .poll_next(cx)
                        .map(|next| next.map(|data| Ok(Frame::data(data))));
                }
                Self::Feed(feed) => {
                    return feed
                        .poll_next(cx)
                        .map(|next| next.map(|data| Ok(Frame::data(data))));
                }
                Self::Recorded(recorded) => {
                    let Recorded { stream, recorder } = &mut **recorded;
                    let next = std::task::ready!(stream.poll_next(cx));
                    match (&next, recorder.as_mut()) {
                        (Some(data), Some(recorder)) => recorder.data(data),
                        (None, Some(_)) => {
                            if let Some(recorder) = recorder.take() {
                                recorder.end();
                            }
                        }
                        (_, None) => {}
                    }
                    return Poll::Ready(next.map(|data| Ok(Frame::data(data))));
                }
                Self::Trailed(stream) => {
                    let next = std::task::ready!(stream.poll_next(cx));
                    let Some(data) = next else {
                        let trailers = stream.figures().map(trailers);
                        *self = Self::Over;
                        return Poll::Ready(trailers.map(|fields| Ok(Frame::trailers(fields))));
                    };
                    return Poll::Ready(Some(Ok(Frame::data(data))));
                }
                Self::Over => return Poll::Ready(None),
                Self::Waiting(waiting) => {
                    if !std::mem::replace(&mut waiting.started, true) {
                        return Poll::Ready(Some(Ok(Frame::data(HEARTBEAT))));
                    }
                    match waiting.working.as_mut().poll(cx) {
                        Poll::Ready(Ok((answer, recorder))) => {
                            *self = match answer.body {
                                AnswerBody::Stream(stream) => Self::stream(stream, recorder),
                                AnswerBody::Whole(bytes) => Self::Whole(bytes),
                            };
                        }
                        Poll::Ready(Err(error)) => {
                            let event =
                                Problem::from(error).event(waiting.dialect, &waiting.request_id);
                            *self = Self::Whole(event);
                        }
                        Poll::Pending => {
                            std::task::ready!(waiting.timer.as_mut().poll(cx));
                            let next = tokio::time::Instant::now() + waiting.heartbeat;
                            waiting.timer.as_mut().reset(next);
                            // Registers the new deadline for the poll after this one.
                            cx.waker().wake_by_ref();
                            return Poll::Ready(Some(Ok(Frame::data(HEARTBEAT))));
                        }
                    }
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(_)
            | Self::Recorded(..)
            | Self::Feed(_)
            | Self::Trailed(_)
            | Self::Over
            | Self::Waiting(_) => SizeHint::default(),
        }
    }
}
