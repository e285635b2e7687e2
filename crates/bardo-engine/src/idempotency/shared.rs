//! Keys that several processes share: one of them carries a request out, the others see what became
//! of it.
//!
//! The process that carries it out holds the name by a lease, which it renews. Where the lease
//! expires before the request has an outcome, its process died, and nobody can tell what it did.
//! Where the shared store does not answer, each process goes by its own memory.

use std::sync::Arc;
use std::time::Duration;

use bardo_cache::shared::{SharedClaim, SharedLease, SharedName, SharedValues};
use bardo_types::ids::AccountId;
use tokio::sync::{OwnedRwLockReadGuard, RwLock, mpsc};

use super::kept::{Kept, REMEMBERED};
use super::record::{SharedOutcome, SharedRequest};
use super::{Claim, Claimed, Idempotency, Running};
use crate::engine_future::EngineFuture;

/// How long a process may be silent before it is taken for dead.
const LEASE: Duration = Duration::from_secs(15);
/// How often a lease is renewed.
const RENEWED_EVERY: Duration = Duration::from_secs(4);
/// How often an answer is tried to be kept while the store fails.
const TRIES: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// The store that processes share, and the claims of this one.
#[derive(Clone)]
pub(super) struct SharedKeys {
    values: Arc<dyn SharedValues>,
    /// Read by claims whose outcome is not stored yet.
    pending: Arc<RwLock<()>>,
}

impl SharedKeys {
    pub(super) fn new(values: Arc<dyn SharedValues>) -> Self {
        Self {
            values,
            pending: Arc::default(),
        }
    }
}

/// A claim that other processes see. Its task renews the lease, and stores the outcome.
pub(super) struct SharedHold {
    messages: mpsc::UnboundedSender<SharedStep>,
    /// The answer stays in this process.
    withholds: bool,
}

/// A step of a request that other processes have to see.
enum SharedStep {
    /// The answer goes out piece by piece.
    Streams,
    /// The request is over; `None`: surely nothing was done.
    Ended(Option<SharedOutcome>),
}

impl SharedHold {
    pub(super) fn streams(&self) {
        let _ = self.messages.send(SharedStep::Streams);
    }

    pub(super) fn withhold(&mut self) {
        self.withholds = true;
    }

    pub(super) fn free(self) {
        let _ = self.messages.send(SharedStep::Ended(None));
    }

    /// The request was answered; `None`: it was carried out, perhaps.
    pub(super) fn end(self, kept: Option<&Arc<Kept>>) {
        let kept = kept.filter(|_| !self.withholds);
        let outcome = kept.map_or(SharedOutcome::Unknown, |kept| {
            SharedOutcome::Answered(Arc::clone(kept))
        });
        let _ = self.messages.send(SharedStep::Ended(Some(outcome)));
    }
}

impl Idempotency {
    /// The keys, shared with other processes of the gateway.
    #[must_use]
    pub fn shared_by(mut self, values: Arc<dyn SharedValues>) -> Self {
        self.shared = Some(SharedKeys::new(values));
        self
    }

    /// Says what to do with a request under a key, as [`Self::claim`] does, with regard to all
    /// processes that share the keys.
    pub fn claim_shared<'a>(
        &'a self,
        account: &'a AccountId,
        key: &'a str,
        path: &'a str,
        body: &'a [u8],
    ) -> EngineFuture<'a, Claim> {
        Box::pin(async move {
            let (claimed, shared) = match (self.claim(account, key, path, body), &self.shared) {
                (Claim::Run(claimed), Some(shared)) => (claimed, shared),
                (claim, _) => return claim,
            };
            let name = SharedName::new("repeat", &[account.as_str(), key]);
            let digest = claimed.digest;
            let running = SharedRequest {
                digest,
                outcome: SharedOutcome::Running { streams: false },
            };
            let value = running.write();
            let claim = shared.values.claim(&name, &value, REMEMBERED, LEASE);
            match claim.await {
                // Counted where it is lost. The keys of this process still hold.
                Err(_) => Claim::Run(claimed),
                Ok(SharedClaim::Held(lease)) => {
                    Claim::Run(claimed.lead(shared.lead(lease, digest)))
                }
                Ok(SharedClaim::Taken { value, is_alive }) => taken(claimed, &value, is_alive),
            }
        })
    }

    /// Waits until the outcomes of all requests are stored where other processes see them. For the
    /// end of the process; whoever calls bounds the time.
    pub async fn drain(&self) {
        if let Some(shared) = &self.shared {
            drop(shared.pending.write().await);
        }
    }
}

/// What another process made of the request under this key.
fn taken(claimed: Claimed, value: &[u8], is_alive: bool) -> Claim {
    let digest = claimed.digest;
    let outcome = match SharedRequest::read(value) {
        Some(known) if known.digest != digest => {
            claimed.free();
            return Claim::Mismatch;
        }
        Some(known) => known.outcome,
        None => SharedOutcome::Unknown,
    };
    if let SharedOutcome::Answered(kept) = outcome {
        claimed.known(&kept);
        return Claim::Replay(kept);
    }
    claimed.free();
    match outcome {
        SharedOutcome::Running { streams: true } if is_alive => Claim::InProgress,
        SharedOutcome::Running { streams: false } if is_alive => Claim::Wait(Running::elsewhere()),
        _ => Claim::Unknown,
    }
}

impl SharedKeys {
    /// Holds a claim of this process until its request has an outcome.
    fn lead(&self, lease: SharedLease, digest: [u8; 32]) -> SharedHold {
        let (messages, steps) = mpsc::unbounded_channel();
        // Refused only while the process ends, which waits for no new request.
        let pending = Arc::clone(&self.pending).try_read_owned().ok();
        tokio::spawn(hold(
            Arc::clone(&self.values),
            lease,
            digest,
            steps,
            pending,
        ));
        SharedHold {
            messages,
            withholds: false,
        }
    }
}

async fn hold(
    values: Arc<dyn SharedValues>,
    lease: SharedLease,
    digest: [u8; 32],
    mut steps: mpsc::UnboundedReceiver<SharedStep>,
    _pending: Option<OwnedRwLockReadGuard<()>>,
) {
    let written = |outcome| SharedRequest { digest, outcome }.write();
    loop {
        let step = tokio::time::timeout(RENEWED_EVERY, steps.recv());
        match step.await {
            // Losses are counted; the next renewal comes soon.
            Err(_) => {
                let _ = values.renew(&lease, LEASE).await;
            }
            Ok(Some(SharedStep::Streams)) => {
                let value = written(SharedOutcome::Running { streams: true });
                let _ = values.change(&lease, &value, REMEMBERED, LEASE).await;
            }
            Ok(Some(SharedStep::Ended(outcome))) => {
                let value = outcome.map(written);
                return end(&*values, &lease, value.as_deref()).await;
            }
            // Dropped on the way without a word.
            Ok(None) => return,
        }
    }
}

/// Stores the outcome, also where the store comes back only after a moment.
async fn end(values: &dyn SharedValues, lease: &SharedLease, value: Option<&[u8]>) {
    let mut pause = FIRST_PAUSE;
    for _ in 0..TRIES {
        let ended = values.end(lease, value.map(|value| (value, REMEMBERED)));
        match ended.await {
            Ok(()) | Err(bardo_cache::second::Loss::Foreign) => return,
            Err(_) => tokio::time::sleep(pause).await,
        }
        pause *= 2;
    }
}
