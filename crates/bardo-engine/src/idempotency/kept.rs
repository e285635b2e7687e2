//! Answers that are kept for repeats, and how many of them.

use std::time::Duration;

use bytes::Bytes;

use crate::head::{AnswerHead, Figures};

/// How long a key is remembered.
pub(super) const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);
/// How many keys are remembered.
pub(super) const KEYS_MAX: usize = 10_000;
/// Number of keys remembered for one account, so that no account displaces the keys of others.
pub(super) const KEYS_PER_ACCOUNT_MAX: usize = 2_500;
/// The largest answer that is kept.
pub(crate) const ANSWER_MAX: usize = 1 << 20;
/// Bytes of all kept answers together.
pub(super) const ANSWERS_MAX: usize = 64 << 20;
/// Bytes of answers beyond which an account that stores another one loses its own oldest first,
/// where all together are too many.
pub(super) const ANSWERS_PER_ACCOUNT: usize = 16 << 20;

/// An answer as it was given.
#[derive(Debug)]
pub struct Kept {
    /// The content of the first answer's headers.
    pub head: AnswerHead,
    /// All of it.
    pub body: KeptBody,
}

/// The bytes of an answer as its caller got them.
#[derive(Debug)]
pub enum KeptBody {
    /// All at once.
    Whole(Bytes),
    /// Piece by piece.
    Stream(KeptStream),
}

impl KeptBody {
    /// The size of the answer, in bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Whole(bytes) => bytes.len(),
            Self::Stream(stream) => stream.bytes.len(),
        }
    }
}

/// A stream as its caller got it.
#[derive(Debug)]
pub struct KeptStream {
    pub(super) bytes: Bytes,
    /// Where each piece ends.
    pub(super) ends: Vec<usize>,
    /// The final figures, which a whole answer has in its head.
    pub(crate) figures: Option<Figures>,
}

impl KeptStream {
    /// The pieces in which the stream went.
    pub(crate) fn pieces(&self) -> Vec<Bytes> {
        let mut from = 0;
        let piece = |&end| self.bytes.slice(std::mem::replace(&mut from, end)..end);
        self.ends.iter().map(piece).collect()
    }
}
