//! What a caller gets, or why one backend gave nothing.

use bardo_ledger::StoreError;
use bytes::Bytes;

use crate::error::EngineError;
use crate::failure::Failure;
use crate::head::AnswerHead;
use crate::lifecycle::{Lifecycle, Sent};
use crate::relay::ReplyStream;

/// Why there is no answer from this backend.
pub(crate) enum Unanswered {
    /// The backend failed.
    Failed(Failure, Lifecycle<Sent>),
    /// The backend answered, and the ledger did not; the answer must not be delivered.
    Store(StoreError),
    /// The backend answered, and its answer must not be delivered.
    Withheld(EngineError),
}

/// What the caller gets.
pub struct Answer {
    /// What headers say of it.
    pub head: AnswerHead,
    /// The answer itself.
    pub body: AnswerBody,
}

/// The answer itself.
pub enum AnswerBody {
    /// All at once, as JSON.
    Whole(Bytes),
    /// Piece by piece, as server-sent events.
    Stream(Box<ReplyStream>),
}
