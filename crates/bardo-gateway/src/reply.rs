//! The body of an answer as hyper sends it: parts that each do one thing and are put around one
//! another, `HeartbeatBody<Trailers>` for a stream.

mod heartbeat;
mod pieces;

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bardo_engine::{AnswerHead, AnswerStream, Recorder};
use bardo_types::model::Dialect;
use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

use crate::describe::{describe, takes_trailers};
use crate::events::Feed;

pub(crate) use heartbeat::HeartbeatBody;
pub(crate) use pieces::{RecordedStream, Trailers};

/// The body of an answer.
pub(crate) enum ReplyBody {
    /// All of it; the length goes into the head, and head and body into one write.
    Whole(Bytes),
    /// Piece by piece.
    Stream(HeartbeatBody<Trailers>),
    /// Events as they happen, until the caller leaves.
    Feed(Feed),
}

/// The trailers of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behind {
    /// No trailers follow.
    Nothing,
    /// The final figures, as trailers.
    Figures,
}

impl Behind {
    /// The trailers that the headers of a request ask for.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        if takes_trailers(headers) {
            Self::Figures
        } else {
            Self::Nothing
        }
    }
}

/// A stream as its caller gets it, recorded where a repetition may ask for it.
pub(crate) fn stream(
    stream: AnswerStream,
    recorder: Option<Box<Recorder>>,
    behind: Behind,
) -> Trailers {
    Trailers::new(RecordedStream::new(stream, recorder), behind)
}

/// The head of an answer as trailers, for an answer whose head had to be sent before its content
/// was known.
pub(crate) fn late_head(mut head: Box<AnswerHead>, dialect: Dialect) -> HeaderMap {
    let mut fields = HeaderMap::new();
    // Limits are of the moment of the request; they are not worth a trailer.
    head.limits = None;
    describe(&head, dialect, &mut fields);
    fields
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Stream(stream) => Pin::new(stream).poll_frame(cx),
            Self::Feed(feed) => feed
                .poll_next(cx)
                .map(|next| next.map(|data| Ok(Frame::data(data)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(_) | Self::Feed(_) => SizeHint::default(),
        }
    }
}
