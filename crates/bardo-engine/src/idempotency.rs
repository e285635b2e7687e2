//! A request sent twice under one `Idempotency-Key` is carried out once (`docs/retries.md`).
//!
//! [`Idempotency::claim`] says what to do with a request that has a key: carry it out, replay the
//! answer of the first, wait for it, or refuse. What is carried out holds a [`Claimed`], which ends
//! in exactly one of three ways: the answer is kept, the key is free again because surely nothing
//! was done, or nobody can tell. It lives in this process's memory, and where the gateway has
//! several processes, in a store that they share.

mod kept;
mod record;
mod shared;
mod table;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bardo_types::ids::AccountId;
use bytes::BytesMut;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::head::{AnswerHead, Figures};
use crate::sent_mark::SentMark;

pub(crate) use kept::ANSWER_MAX;
pub use kept::{Kept, KeptBody, KeptStream};
use shared::{SharedHold, SharedKeys};
use table::{KeyOutcome, KeyTable, KeyedRequest, Name};

/// Time after which a request of another process is looked at again.
const ELSEWHERE: Duration = Duration::from_millis(250);

/// The requests with an `Idempotency-Key`: those in progress, and the answers that are kept.
#[derive(Clone)]
pub struct Idempotency {
    table: Arc<Mutex<KeyTable>>,
    /// Keys of all processes; `None`: this one has its own alone.
    shared: Option<SharedKeys>,
}

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

/// A request that somebody else is carrying out.
pub struct Running(Option<watch::Receiver<()>>);

impl Running {
    /// A request that another process is carrying out.
    fn elsewhere() -> Self {
        Self(None)
    }

    /// Waits until it has ended, in whatever way, or for a moment where another process carries it
    /// out; then the key is to be claimed anew.
    pub async fn ended(self) {
        match self.0 {
            // It never changes; the sender goes when the request has ended.
            Some(mut ended) => while ended.changed().await.is_ok() {},
            None => tokio::time::sleep(ELSEWHERE).await,
        }
    }
}

impl Default for Idempotency {
    fn default() -> Self {
        Self {
            table: Arc::new(Mutex::new(KeyTable::new(Instant::now()))),
            shared: None,
        }
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
                KeyOutcome::Running { ended, .. } => Claim::Wait(Running(Some(ended.clone()))),
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
            digest,
            hold: None,
            sent: SentMark::default(),
            done: false,
            _ending: ending,
        })
    }

    fn table(&self) -> MutexGuard<'_, KeyTable> {
        // A panic in between would at worst leave a key that is taken for running.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right, and the duty, to carry a request out. Dropped on the way, it leaves an unknown outcome
/// once the request may have been carried out, and frees the key before.
pub struct Claimed {
    idempotency: Idempotency,
    name: Name,
    /// Tells the request from others under its key.
    digest: [u8; 32],
    /// The claim that other processes see.
    hold: Option<SharedHold>,
    sent: SentMark,
    done: bool,
    /// Wakes those who wait, when it goes.
    _ending: watch::Sender<()>,
}

impl Claimed {
    /// The request is carried out from now on, as `sent` notes.
    pub(crate) fn begin(&mut self, streams: bool, sent: SentMark) {
        self.sent = sent;
        if streams {
            self.idempotency.table().streams(&self.name);
            if let Some(hold) = &self.hold {
                hold.streams();
            }
        }
    }

    /// Leads the request before other processes too.
    fn lead(self, hold: SharedHold) -> Self {
        let mut claimed = self;
        claimed.hold = Some(hold);
        claimed
    }

    /// Keeps the answer in this process: others learn that there is one, and not what it says.
    pub(crate) fn withhold(&mut self) {
        if let Some(hold) = &mut self.hold {
            hold.withhold();
        }
    }

    /// Surely nothing was done: whoever comes next may carry it out.
    pub(crate) fn free(mut self) {
        self.done = true;
        self.idempotency.table().remove(&self.name);
        if let Some(hold) = self.hold.take() {
            hold.free();
        }
    }

    pub(crate) fn keep(mut self, kept: Option<Kept>) {
        let kept = kept.map(Arc::new);
        if let Some(hold) = self.hold.take() {
            hold.end(kept.as_ref());
        }
        self.settle(kept);
    }

    /// Another process has answered the request.
    fn known(self, kept: &Arc<Kept>) {
        self.settle(Some(Arc::clone(kept)));
    }

    fn settle(mut self, kept: Option<Arc<Kept>>) {
        self.done = true;
        let outcome = kept.map_or(KeyOutcome::Unknown, KeyOutcome::Answered);
        self.idempotency.table().settle(&self.name, outcome);
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let mut table = self.idempotency.table();
        let is_sent = self.sent.is_set();
        if is_sent {
            table.settle(&self.name, KeyOutcome::Unknown);
        } else {
            table.remove(&self.name);
        }
        match self.hold.take() {
            Some(hold) if is_sent => hold.end(None),
            Some(hold) => hold.free(),
            None => {}
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
        claimed.sent.set();
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
