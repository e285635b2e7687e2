//! A request sent twice under one `Idempotency-Key` is carried out once (`docs/retries.md`).
//!
//! [`Idempotency::claim`] says what to do with a request that has a key: carry it out, replay the
//! answer of the first, wait for it, or refuse. What is carried out holds a [`Claimed`], which ends
//! in exactly one of three ways: the answer is kept, the key is free again because surely nothing
//! was done, or nobody can tell. It lives in this process's memory.

mod table;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bardo_types::ids::AccountId;
use bytes::{Bytes, BytesMut};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::head::{AnswerHead, Figures};

use table::{KeyOutcome, KeyTable, KeyedRequest, Name};

/// How long a key is remembered.
const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);
/// How many keys are remembered.
const KEYS_MAX: usize = 10_000;
/// Number of keys remembered for one account, so that no account displaces the keys of others.
const KEYS_PER_ACCOUNT_MAX: usize = 2_500;
/// The largest answer that is kept.
pub(crate) const ANSWER_MAX: usize = 1 << 20;
/// All kept answers together.
const ANSWERS_MAX: usize = 64 << 20;

/// The requests with an `Idempotency-Key`: those in progress, and the answers that are kept.
#[derive(Clone)]
pub struct Idempotency(Arc<Mutex<KeyTable>>);

/// The decision about a request with a key.
pub enum Claim {
    /// This request is the first: carry it out.
    Run(Claimed),
    /// The first request was answered.
    Replay(Arc<Kept>),
    /// The first is being carried out; its whole answer is worth waiting for.
    Wait(Running),
    /// The first is being answered piece by piece.
    InProgress,
    /// The key belongs to another request.
    Mismatch,
    /// The first was carried out, perhaps, or its answer is not at hand.
    Unknown,
}

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
    bytes: Bytes,
    /// Where each piece ends.
    ends: Vec<usize>,
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

/// A request that somebody else is carrying out.
pub struct Running(watch::Receiver<()>);

impl Running {
    /// Waits until it has ended, in whatever way; then the key is to be claimed anew.
    pub async fn ended(mut self) {
        // It never changes; the sender goes when the request has ended.
        while self.0.changed().await.is_ok() {}
    }
}

impl Default for Idempotency {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(KeyTable::new(Instant::now()))))
    }
}

impl Idempotency {
    /// Says what to do with this request of an account under this key. `path` and `body` tell it
    /// from others.
    #[must_use]
    pub fn claim(&self, account: &AccountId, key: &str, path: &str, body: &[u8]) -> Claim {
        let mut hasher = Sha256::new();
        hasher.update((path.len() as u64).to_le_bytes());
        hasher.update(path);
        hasher.update(body);
        let digest = hasher.finalize().into();
        let name: Name = Arc::new((account.clone(), key.to_owned()));
        let mut table = self.table();
        table.forget_old(Instant::now());
        if let Some(known) = table.get(&name) {
            return match &known.outcome {
                _ if known.digest != digest => Claim::Mismatch,
                KeyOutcome::Running { streams: true, .. } => Claim::InProgress,
                KeyOutcome::Running { ended, .. } => Claim::Wait(Running(ended.clone())),
                KeyOutcome::Answered(kept) => Claim::Replay(Arc::clone(kept)),
                KeyOutcome::Unknown => Claim::Unknown,
            };
        }
        let (ending, ended) = watch::channel(());
        let outcome = KeyOutcome::Running {
            streams: false,
            ended,
        };
        let since = Instant::now();
        table.insert(
            &name,
            KeyedRequest {
                digest,
                since,
                outcome,
            },
        );
        Claim::Run(Claimed {
            idempotency: self.clone(),
            name,
            sent: false,
            done: false,
            _ending: ending,
        })
    }

    fn table(&self) -> MutexGuard<'_, KeyTable> {
        // A panic in between would at worst leave a key that is taken for running.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right, and the duty, to carry a request out. Dropped on the way, it leaves an unknown outcome
/// once providers may have seen the request, and frees the key before.
pub struct Claimed {
    idempotency: Idempotency,
    name: Name,
    sent: bool,
    done: bool,
    /// Wakes those who wait, when it goes.
    _ending: watch::Sender<()>,
}

impl Claimed {
    pub(crate) fn begin(&mut self, streams: bool) {
        self.sent = true;
        if streams {
            self.idempotency.table().streams(&self.name);
        }
    }

    /// Surely nothing was done: whoever comes next may carry it out.
    pub(crate) fn free(mut self) {
        self.done = true;
        self.idempotency.table().remove(&self.name);
    }

    pub(crate) fn keep(mut self, kept: Option<Kept>) {
        self.done = true;
        let outcome = kept.map_or(KeyOutcome::Unknown, |kept| {
            KeyOutcome::Answered(Arc::new(kept))
        });
        self.idempotency.table().settle(&self.name, outcome);
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let mut table = self.idempotency.table();
        if self.sent {
            table.settle(&self.name, KeyOutcome::Unknown);
        } else {
            table.remove(&self.name);
        }
    }
}

/// Keeps a stream's bytes as they go to the caller. Dropped before the end, it leaves an unknown
/// outcome: the caller has some of the answer and has been charged for it.
pub struct Recorder {
    claimed: Claimed,
    head: AnswerHead,
    /// The bytes so far and the ends of their pieces; `None` once they are too many.
    body: Option<(BytesMut, Vec<usize>)>,
}

impl Recorder {
    /// Records a stream whose headers are `head`, for the request that holds the key.
    pub(crate) fn new(claimed: Claimed, head: AnswerHead) -> Self {
        Self {
            claimed,
            head,
            body: Some((BytesMut::new(), Vec::new())),
        }
    }

    /// Keeps the next piece.
    pub fn data(&mut self, data: &[u8]) {
        if let Some((bytes, ends)) = &mut self.body {
            if bytes.len() + data.len() > ANSWER_MAX {
                self.body = None;
            } else {
                bytes.extend_from_slice(data);
                ends.push(bytes.len());
            }
        }
    }

    /// The stream is over, and came to these figures.
    pub fn end(self, figures: Option<Figures>) {
        let Self {
            claimed,
            head,
            body,
        } = self;
        claimed.keep(body.map(|(bytes, ends)| Kept {
            head,
            body: KeptBody::Stream(KeptStream {
                bytes: bytes.freeze(),
                ends,
                figures,
            }),
        }));
    }
}

#[cfg(test)]
mod tests;
