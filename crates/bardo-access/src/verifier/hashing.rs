//! The threads that compute bcrypt, and the queue to them.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use bardo_types::ids::KeyId;
use bardo_types::secret::Secret;
use tokio::sync::oneshot;

use super::refused::RefusedKeys;
use super::stored::RecordCache;
use super::tag::{Tag, TagMap};
use super::warm::{Verified, Warm, WarmKey};
use crate::key::{STAND_IN, verify_secret};
use crate::record::KeyRecord;

/// The record of a key whose secret is right; `None` where it is wrong or the id is unknown.
pub(super) type HashedKey = Option<Arc<KeyRecord>>;

/// A secret to be compared with a hash.
pub(super) struct Job {
    pub(super) tag: Tag,
    pub(super) id: KeyId,
    /// The address that presented it.
    pub(super) from: IpAddr,
    pub(super) secret: Secret,
    /// Absent where there is no such key; the work is then done on a hash that fits nothing.
    pub(super) record: Option<KeyRecord>,
    pub(super) revision: u64,
    pub(super) at_ms: u64,
    /// How long a verified key stays known.
    pub(super) ttl_ms: u64,
}

/// The state that the threads share with the requests that wait for them.
pub(super) struct HashQueue {
    pub(super) warm: Warm,
    pub(super) refused: RefusedKeys,
    pub(super) stored: RecordCache,
    /// The requests that wait, by key. Simultaneous requests with one key wait for one computation.
    waiting: Mutex<TagMap<Vec<oneshot::Sender<HashedKey>>>>,
    /// Computations so far.
    pub(super) computed: AtomicU64,
}

impl HashQueue {
    pub(super) fn new(entries: usize) -> Self {
        Self {
            warm: Warm::new(entries),
            refused: RefusedKeys::default(),
            stored: RecordCache::default(),
            waiting: Mutex::default(),
            computed: AtomicU64::new(0),
        }
    }

    /// Does one job and tells whoever waits for it. What was found is remembered before, so nobody
    /// who comes in between starts it again.
    pub(super) fn compute(&self, job: Job) {
        let tag = job.tag;
        let found = self.known(&job).unwrap_or_else(|| self.hashed(job));
        for waiter in self.forget(tag) {
            // Whoever left does not need to know.
            let _ = waiter.send(found.clone());
        }
    }

    /// What another job for the same key has found. A request may look for it before that job ends
    /// and hand over its own after it.
    fn known(&self, job: &Job) -> Option<HashedKey> {
        let Job {
            tag,
            revision,
            at_ms,
            ttl_ms,
            ..
        } = *job;
        match self.warm.look(tag, revision, at_ms, ttl_ms) {
            WarmKey::Fresh(record) => Some(Some(record)),
            _ => self.refused.has(tag, revision, at_ms).then_some(None),
        }
    }

    /// Compares the secret with the hash, and remembers the result.
    fn hashed(&self, job: Job) -> HashedKey {
        let hash = job.record.as_ref().map(|record| record.hash.as_str());
        let fits = self.fits(&job.secret, hash.unwrap_or(STAND_IN));
        let found = job.record.filter(|_| fits).map(Arc::new);
        if let Some(record) = &found {
            let verified = Verified {
                record: Arc::clone(record),
                revision: job.revision,
                at_ms: job.at_ms,
            };
            self.warm.insert(job.tag, verified);
        } else {
            self.refused
                .remember(job.tag, &job.id, job.from, job.revision, job.at_ms);
        }
        found
    }

    /// The one place where bcrypt is computed, so that what is counted is what was done.
    fn fits(&self, secret: &Secret, hash: &str) -> bool {
        self.computed.fetch_add(1, Ordering::Relaxed);
        verify_secret(secret, hash)
    }

    fn forget(&self, tag: Tag) -> Vec<oneshot::Sender<HashedKey>> {
        self.waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&tag)
            .unwrap_or_default()
    }
}

/// The way to the threads. They end when it is dropped.
pub(super) struct Hashing {
    queue: SyncSender<Job>,
    memory: Arc<HashQueue>,
}

impl Hashing {
    pub(super) fn start(memory: &Arc<HashQueue>, threads: usize, capacity: usize) -> Self {
        let (queue, jobs) = sync_channel(capacity);
        let jobs = Arc::new(Mutex::new(jobs));
        for index in 0..threads.max(1) {
            let (memory, jobs) = (Arc::clone(memory), Arc::clone(&jobs));
            std::thread::Builder::new()
                .name(format!("keys-{index}"))
                .spawn(move || work(&memory, &jobs))
                .expect("the operating system grants a handful of threads");
        }
        Self {
            queue,
            memory: Arc::clone(memory),
        }
    }

    /// A queue that nobody works on but the test.
    #[cfg(test)]
    pub(super) fn by_hand(memory: &Arc<HashQueue>, capacity: usize) -> (Self, Receiver<Job>) {
        let (queue, jobs) = sync_channel(capacity);
        let memory = Arc::clone(memory);
        (Self { queue, memory }, jobs)
    }

    /// Hands a job over, or joins those who wait for the same key already. `None` when the queue is
    /// full.
    pub(super) fn submit(&self, job: Job) -> Option<oneshot::Receiver<HashedKey>> {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self
            .memory
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(others) = waiting.get_mut(&job.tag) {
            others.retain(|other| !other.is_closed());
            others.push(sender);
            return Some(receiver);
        }
        let tag = job.tag;
        match self.queue.try_send(job) {
            Ok(()) => {
                // The lock is held, so the job cannot be done and forgotten before this.
                waiting.insert(tag, vec![sender]);
                Some(receiver)
            }
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => None,
        }
    }
}

fn work(memory: &HashQueue, jobs: &Mutex<Receiver<Job>>) {
    loop {
        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match next {
            Ok(job) => memory.compute(job),
            Err(_) => return,
        }
    }
}
