//! Bytes on their way to a caller, recorded as they go and with figures behind them.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bardo_engine::{AnswerStream, Figures, Recorder};
use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame};

use super::Behind;
use crate::describe::trailers;

/// Keeps what goes by for whoever repeats the request under the same key.
pub(crate) struct RecordedStream {
    stream: AnswerStream,
    recorder: Option<Box<Recorder>>,
}

impl RecordedStream {
    /// Records `stream` where there is a recorder.
    pub(crate) fn new(stream: AnswerStream, recorder: Option<Box<Recorder>>) -> Self {
        Self { stream, recorder }
    }

    /// The next piece; `None` when the stream is over.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let next = std::task::ready!(self.stream.poll_next(cx));
        match &next {
            Some(data) => {
                if let Some(recorder) = &mut self.recorder {
                    recorder.data(data);
                }
            }
            None => {
                if let Some(recorder) = self.recorder.take() {
                    recorder.end(self.figures());
                }
            }
        }
        Poll::Ready(next)
    }

    /// The final figures of the stream, once it is over and settled.
    fn figures(&self) -> Option<Figures> {
        self.stream.figures().copied()
    }
}

/// Puts what is known at the end behind a stream, where its caller takes trailers.
pub(crate) struct Trailers {
    inner: RecordedStream,
    behind: Behind,
    /// The fields that were not known yet when the head was sent.
    late: Option<Box<HeaderMap>>,
    over: bool,
}

impl Trailers {
    /// Puts figures behind `inner` where they are asked for.
    pub(crate) fn new(inner: RecordedStream, behind: Behind) -> Self {
        Self {
            inner,
            behind,
            late: None,
            over: false,
        }
    }

    /// Adds what the head would have said.
    pub(crate) fn with_late_head(self, head: HeaderMap) -> Self {
        Self {
            late: Some(Box::new(head)),
            ..self
        }
    }
}

impl Body for Trailers {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.over {
            return Poll::Ready(None);
        }
        if let Some(data) = std::task::ready!(self.inner.poll_piece(cx)) {
            return Poll::Ready(Some(Ok(Frame::data(data))));
        }
        self.over = true;
        if self.behind == Behind::Nothing {
            return Poll::Ready(None);
        }
        let mut fields = self.late.take().map_or_else(HeaderMap::new, |late| *late);
        if let Some(figures) = self.inner.figures() {
            trailers(&figures, &mut fields);
        }
        let fields = Some(fields).filter(|fields| !fields.is_empty());
        Poll::Ready(fields.map(|fields| Ok(Frame::trailers(fields))))
    }
}
