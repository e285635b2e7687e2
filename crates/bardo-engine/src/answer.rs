//! What a caller gets, or why one backend gave nothing.

use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;

use crate::error::EngineError;
use crate::failure::Failure;
use crate::head::{AnswerHead, Figures};
use crate::lifecycle::{Lifecycle, Sent, Unsettled};
use crate::record::RequestRecord;
use crate::reply_stream::ReplyStream;
use crate::single_flight::LeadSeat;
use crate::usage_figures::UsageFigures;

/// Why there is no answer from this backend.
pub(crate) enum Unanswered {
    /// The backend failed.
    Failed(Failure, Lifecycle<Sent>),
    /// The backend answered, and its answer must not be delivered.
    Withheld(EngineError),
}

/// Longest time to wait for the ledger to store what must be stored before the caller gets anything.
pub(crate) const BOOKS_WAIT: Duration = Duration::from_secs(5);

/// An answer that no other backend can take the place of any more. The caller has nothing of it yet.
pub(crate) enum Delivering {
    /// All of it is there. It is settled before it is handed over.
    Whole(Whole),
    /// The first content is there. It is settled at its end.
    Stream(Box<ReplyStream>),
}

impl Delivering {
    /// The record of the request.
    pub(crate) fn record(&self) -> &RequestRecord {
        match self {
            Self::Whole(whole) => whole.ended.record(),
            Self::Stream(stream) => stream.record(),
        }
    }

    /// Notes something of the request, which is not settled yet.
    pub(crate) fn note(&mut self, note: impl FnOnce(&mut RequestRecord)) {
        match self {
            Self::Whole(whole) => note(whole.ended.record_mut()),
            Self::Stream(stream) => {
                if let Some(record) = stream.record_mut() {
                    note(record);
                }
            }
        }
    }
}

/// A whole answer that is not settled.
pub(crate) struct Whole {
    pub(crate) ended: Unsettled,
    /// The answer in the caller's dialect.
    pub(crate) body: Bytes,
    pub(crate) figures: UsageFigures,
}

/// An answer for the caller: the content of its headers, and its body.
pub struct Answer {
    /// The content of the headers. Boxed, since an answer is handed on many times.
    pub head: Box<AnswerHead>,
    /// The answer itself.
    pub body: AnswerBody,
}

/// The answer itself.
pub enum AnswerBody {
    /// All at once, as JSON.
    Whole(Bytes),
    /// Piece by piece, as server-sent events.
    Stream(AnswerStream),
}

/// An answer that comes piece by piece, in the caller's dialect.
pub enum AnswerStream {
    /// The request reads it alone.
    Own(Box<ReplyStream>),
    /// Identical requests may read it too.
    Led(LeadSeat),
}

impl AnswerStream {
    /// The next bytes for the caller; `None` when the stream is over.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match self {
            Self::Own(stream) => stream.poll_next(cx),
            Self::Led(seat) => seat.poll_next(cx),
        }
    }

    /// What it came to, once it is over and settled; for trailers.
    #[must_use]
    pub fn figures(&self) -> Option<&Figures> {
        match self {
            Self::Own(stream) => stream.figures(),
            Self::Led(seat) => seat.figures(),
        }
    }
}
