//! Who presents a key: verified with bcrypt once, then from memory.
//!
//! [`Verifier::check`] answers at once wherever it can: a key that was verified is known again by a
//! keyed hash of it, in well under a microsecond. Whenever the store's revision has moved, or ten
//! minutes have passed, the store is asked anew before the key is believed, so what is revoked is
//! refused from the next request on. bcrypt runs on threads of its own behind a bounded queue.
//!
//! An unknown id and a wrong secret take the same way and the same work. A store that does not
//! answer never makes a key wrong: who was verified before stays known for [`VerifierSettings::grace`] after
//! the store's last answer, everybody else is told to come again.

mod hashing;
mod presence;
mod refused;
mod stored;
mod tag;
mod warm;

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bardo_types::ids::KeyId;
use bardo_types::secret::Secret;

pub use presence::{KeyPresence, Presence};

use self::hashing::{HashQueue, Hashing, Job};
use self::tag::{Tag, Tagger};
use self::warm::{Verified, WarmKey};
use crate::key::{PresentedKey, STAND_IN, matches_digest};
use crate::port::{KeyError, KeyStore};
use crate::record::{KeyRecord, KeyState};

/// After a store failed, it is left alone for so long.
const REST_MS: u64 = 500;
/// When to come again where nothing better is known.
const RETRY_MS: u64 = 1_000;

/// Now, by the clock on the wall (for the ends of keys) and by one that never steps (for how long
/// something is believed).
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Wall-clock time, in Unix milliseconds.
    pub unix_ms: u64,
    /// Monotonic time of this moment.
    pub at: Instant,
}

/// How long what is believed, and how much is kept.
#[derive(Debug, Clone)]
pub struct VerifierSettings {
    /// After this time the store is asked again, even if it tells of no change.
    pub ttl: Duration,
    /// How long verified keys are believed after the last answer of a store that is gone.
    pub grace: Duration,
    /// How long the store may take to answer.
    pub store_wait: Duration,
    /// Verified keys that are kept.
    pub entries: usize,
    /// Threads that compute bcrypt.
    pub threads: usize,
    /// Computations that may wait; more are told to come again.
    pub queue: usize,
}

impl Default for VerifierSettings {
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(600),
            grace: Duration::from_secs(3_600),
            store_wait: Duration::from_secs(2),
            entries: 200_000,
            threads: 1,
            queue: 512,
        }
    }
}

/// Why a key was not taken. What a caller is told of the first four must be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRefusal {
    /// The text does not have the format of a key.
    Malformed,
    /// There is no such key, or its secret is another.
    Wrong,
    /// Its time is over.
    Expired,
    /// Somebody took it back.
    Revoked,
    /// Too many keys are being verified, or too many wrong ones of this id came from the same
    /// network.
    Busy {
        /// When to come again.
        retry_after_ms: u64,
    },
    /// The store does not answer, which says nothing of the key.
    Unavailable {
        /// When to come again.
        retry_after_ms: u64,
    },
}

const UNAVAILABLE: KeyRefusal = KeyRefusal::Unavailable {
    retry_after_ms: RETRY_MS,
};

/// The result of checking a key.
pub type Checked = Result<Arc<KeyRecord>, KeyRefusal>;

/// The verdict on a presented key, at once or after a slow check.
#[must_use]
pub enum KeyVerdict {
    /// The key is valid.
    Verified(Arc<KeyRecord>),
    /// The key is refused, with the reason.
    Refused(KeyRefusal),
    /// The store has to be asked, or bcrypt. Dropping the future loses nothing.
    Slow(Pin<Box<dyn Future<Output = Checked> + Send>>),
}

impl From<Checked> for KeyVerdict {
    fn from(checked: Checked) -> Self {
        match checked {
            Ok(record) => Self::Verified(record),
            Err(refusal) => Self::Refused(refusal),
        }
    }
}

/// Verifies keys against a store, and remembers.
pub struct Verifier {
    store: Arc<dyn KeyStore>,
    settings: VerifierSettings,
    tagger: Tagger,
    memory: Arc<HashQueue>,
    hashing: Hashing,
    /// For keys whose digest fits: no flood of wrong keys gets into this queue.
    express: Hashing,
    start: Instant,
    /// When the store answered last, and failed last, in milliseconds since the start; 0: never.
    answered_ms: AtomicU64,
    failed_ms: AtomicU64,
}

impl Verifier {
    /// A verifier with its threads.
    ///
    /// # Panics
    /// When the operating system gives no randomness or no thread.
    #[must_use]
    pub fn new(store: Arc<dyn KeyStore>, settings: VerifierSettings, start: Instant) -> Self {
        let mut key = zeroize::Zeroizing::new([0; 32]);
        getrandom::fill(&mut *key)
            .expect("the operating system gives randomness to a process that starts");
        let memory = Arc::new(HashQueue::new(settings.entries));
        let hashing = Hashing::start(&memory, settings.threads, settings.queue);
        let express = Hashing::start(&memory, 1, settings.queue);
        Self {
            store,
            settings,
            tagger: Tagger::new(key),
            memory,
            hashing,
            express,
            start,
            answered_ms: AtomicU64::new(0),
            failed_ms: AtomicU64::new(0),
        }
    }

    /// Checks the key `text` that was presented from an address.
    pub fn check(self: &Arc<Self>, text: &str, from: IpAddr, now: Moment) -> KeyVerdict {
        let tag = self.tagger.tag(text);
        let revision = self.store.revision();
        let at_ms = self.since_start(now);
        let ttl_ms = millis(self.settings.ttl);
        match self.memory.warm.look(tag, revision, at_ms, ttl_ms) {
            WarmKey::Fresh(record) => return usable(record, now).into(),
            WarmKey::Stale(known) => {
                let (verifier, text) = (Arc::clone(self), Secret::new(text.to_owned()));
                return KeyVerdict::Slow(Box::pin(async move {
                    verifier.renew(tag, known, &text, from, now).await
                }));
            }
            WarmKey::Nothing => {}
        }
        if self.memory.refused.has(tag, revision, at_ms) {
            return KeyVerdict::Refused(KeyRefusal::Wrong);
        }
        // How keys are written is no secret, so this tells nothing of any of them.
        let Some(Ok(key)) = PresentedKey::parse(text) else {
            return KeyVerdict::Refused(KeyRefusal::Malformed);
        };
        let verifier = Arc::clone(self);
        KeyVerdict::Slow(Box::pin(async move {
            verifier.verify(tag, key, from, now).await
        }))
    }

    /// Takes a key that was made just now as verified, which spares its first use the computation.
    pub fn remember(&self, key: &PresentedKey, record: KeyRecord, now: Moment) {
        let verified = Verified {
            record: Arc::new(record),
            revision: self.store.revision(),
            at_ms: self.since_start(now),
        };
        let tag = self.tagger.tag(key.text().expose());
        self.memory.warm.insert(tag, verified);
    }

    /// Computations of bcrypt so far.
    #[must_use]
    pub fn computed(&self) -> u64 {
        self.memory.computed.load(Ordering::Relaxed)
    }

    /// A key whose secret is known to fit: does the rest still hold?
    async fn renew(
        &self,
        tag: Tag,
        known: Verified,
        text: &Secret,
        from: IpAddr,
        now: Moment,
    ) -> Checked {
        let revision = self.store.revision();
        match self.find(&known.record.id, now).await {
            Ok(Some(record)) if record.hash == known.record.hash => {
                let record = Arc::new(record);
                let verified = Verified {
                    record: Arc::clone(&record),
                    revision,
                    at_ms: self.since_start(now),
                };
                self.memory.warm.insert(tag, verified);
                usable(record, now)
            }
            // It has another secret now, or is gone.
            Ok(_) => {
                self.memory.warm.remove(tag);
                match PresentedKey::parse(text.expose()) {
                    Some(Ok(key)) => self.verify(tag, key, from, now).await,
                    _ => Err(KeyRefusal::Malformed),
                }
            }
            Err(_) => {
                let silent = self
                    .since_start(now)
                    .saturating_sub(self.answered_ms.load(Ordering::Relaxed));
                if silent <= millis(self.settings.grace) {
                    usable(known.record, now)
                } else {
                    Err(UNAVAILABLE)
                }
            }
        }
    }

    /// A key that was not seen before, or not lately.
    async fn verify(&self, tag: Tag, key: PresentedKey, from: IpAddr, now: Moment) -> Checked {
        let at_ms = self.since_start(now);
        let revision = self.store.revision();
        let pause = self.memory.refused.pause_ms(&key.id, from, at_ms);
        // What was stored for the id decides whether a braked key is the right one.
        let stored = match pause {
            Some(_) => self.memory.stored.get(&key.id, revision),
            None => None,
        };
        let found = match stored {
            Some(stored) => stored,
            None => {
                let found = self.find(&key.id, now).await.map_err(|_| UNAVAILABLE)?;
                self.memory.stored.put(&key.id, revision, &found);
                found
            }
        };
        let record = found.filter(|record| record.kind == key.kind);
        // An id that does not exist takes the same work.
        let hash = record.as_ref().map(|record| record.hash.as_str());
        let fits = matches_digest(&key.secret, hash.unwrap_or(STAND_IN));
        let is_right = record.is_some() && fits == Some(true);
        if let Some(retry_after_ms) = pause.filter(|_| !is_right) {
            return Err(KeyRefusal::Busy { retry_after_ms });
        }
        let ttl_ms = millis(self.settings.ttl);
        let job = Job {
            tag,
            id: key.id,
            from,
            secret: key.secret,
            record,
            revision,
            at_ms,
            ttl_ms,
        };
        const BUSY: KeyRefusal = KeyRefusal::Busy {
            retry_after_ms: RETRY_MS,
        };
        // Somebody may have had it verified while the store was asked.
        if let WarmKey::Fresh(record) = self.memory.warm.look(tag, revision, at_ms, ttl_ms) {
            return usable(record, now);
        }
        let hashing = if is_right {
            &self.express
        } else {
            &self.hashing
        };
        let computed = hashing.submit(job).ok_or(BUSY)?;
        match computed.await {
            Ok(Some(record)) => usable(record, now),
            Ok(None) => Err(KeyRefusal::Wrong),
            Err(_) => Err(BUSY),
        }
    }

    /// Asks the store, within its time, and not again at once after it failed.
    async fn find(&self, id: &KeyId, now: Moment) -> Result<Option<KeyRecord>, KeyError> {
        let at_ms = self.since_start(now);
        let failed_ms = self.failed_ms.load(Ordering::Relaxed);
        let is_failing = failed_ms > self.answered_ms.load(Ordering::Relaxed);
        // One request in a while tries again, so that not all of them wait for a dead store.
        let tries = || {
            at_ms.saturating_sub(failed_ms) >= REST_MS
                && self
                    .failed_ms
                    .compare_exchange(failed_ms, at_ms, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok()
        };
        if is_failing && !tries() {
            return Err(KeyError::Unavailable("its last call failed".into()));
        }
        let answer = tokio::time::timeout(self.settings.store_wait, self.store.find(id))
            .await
            .unwrap_or_else(|_| Err(KeyError::Unavailable("no answer in time".into())));
        // An error about the id is an answer as well.
        let answer = match answer {
            Err(KeyError::Unknown(_)) => Ok(None),
            other => other,
        };
        let last = match &answer {
            Ok(_) => &self.answered_ms,
            Err(_) => &self.failed_ms,
        };
        last.fetch_max(at_ms, Ordering::Relaxed);
        answer
    }

    /// Milliseconds since the start, and at least one, so that 0 can mean never.
    fn since_start(&self, now: Moment) -> u64 {
        millis(now.at.saturating_duration_since(self.start)).saturating_add(1)
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn usable(record: Arc<KeyRecord>, now: Moment) -> Checked {
    match record.state(now.unix_ms) {
        KeyState::Active => Ok(record),
        KeyState::Expired => Err(KeyRefusal::Expired),
        KeyState::Revoked => Err(KeyRefusal::Revoked),
    }
}

#[cfg(test)]
mod tests;
