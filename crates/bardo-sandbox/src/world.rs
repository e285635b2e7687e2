//! Everything that outlives one request: caches, queues, the journal and the clock.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::answer_book::AnswerBook;
use crate::cache::PromptCache;
use crate::fault::FaultQueue;
use crate::journal::Journal;
use crate::recorded::Recorded;
use crate::seal::Seals;

/// The state behind the services.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) seed: u64,
    /// Milliseconds between the pieces of a stream that has no pace of its own.
    pub(crate) pace_ms: u64,
    keys: Vec<String>,
    pub(crate) seals: Seals,
    pub(crate) cache: PromptCache,
    pub(crate) faults: FaultQueue,
    pub(crate) journal: Journal,
    /// Stored objects by id, such as responses kept for `previous_response_id`.
    pub(crate) shelf: Shelf,
    /// Answers to questions that are known in advance.
    pub(crate) answers: AnswerBook,
    /// Unix milliseconds of a simulation; `None`: the clock of the machine.
    clock: Option<Arc<AtomicU64>>,
}

/// Why a key was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyProblem {
    Missing,
    Wrong,
}

impl World {
    pub(crate) fn new(seed: u64, keys: Vec<String>) -> Self {
        Self {
            seed,
            pace_ms: 0,
            keys,
            seals: Seals::new(seed),
            cache: PromptCache::default(),
            faults: FaultQueue::default(),
            journal: Journal::default(),
            shelf: Shelf::default(),
            answers: AnswerBook::default(),
            clock: None,
        }
    }

    /// Gives the world a time of its own, and answers that are known in advance.
    pub(crate) fn prepared(self, clock: Option<Arc<AtomicU64>>, answers: AnswerBook) -> Self {
        Self {
            answers,
            clock,
            ..self
        }
    }

    /// Lets people see how streams come.
    pub(crate) fn paced(self, pace_ms: u64) -> Self {
        Self { pace_ms, ..self }
    }

    /// Forgets everything but the configuration.
    pub(crate) fn reset(&self) {
        self.cache.clear();
        self.faults.clear();
        self.journal.clear();
        self.shelf.clear();
    }

    /// Milliseconds since the epoch, for lifetimes; answers never depend on it.
    pub(crate) fn now_ms(&self) -> u64 {
        if let Some(clock) = &self.clock {
            return clock.load(Ordering::Relaxed);
        }
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    /// A timestamp in seconds that depends on the request alone, so that answers repeat.
    pub(crate) fn created(&self, request: &Recorded) -> u64 {
        let digest = self.digest(&[request.service.as_bytes(), &request.body]);
        1_790_000_000 + u64::from(digest[0]) * 256 + u64::from(digest[1])
    }

    /// A repeatable identifier: `prefix` and `length` alphanumeric characters.
    pub(crate) fn id(&self, prefix: &str, length: usize, parts: &[&[u8]]) -> String {
        const ALPHABET: &[u8; 62] =
            b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let mut id = prefix.to_owned();
        let mut round = 0_u8;
        while id.len() < prefix.len() + length {
            let mut salted = vec![prefix.as_bytes(), std::slice::from_ref(&round)];
            salted.extend_from_slice(parts);
            for byte in self.digest(&salted) {
                if id.len() < prefix.len() + length {
                    id.push(char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]));
                }
            }
            round = round.wrapping_add(1);
        }
        id
    }

    /// A repeatable lower-case hexadecimal identifier.
    pub(crate) fn hex_id(&self, prefix: &str, length: usize, parts: &[&[u8]]) -> String {
        let mut id = prefix.to_owned();
        let mut round = 0_u8;
        while id.len() < prefix.len() + length {
            let mut salted = vec![prefix.as_bytes(), std::slice::from_ref(&round)];
            salted.extend_from_slice(parts);
            let hex: String = self
                .digest(&salted)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            let wanted = prefix.len() + length - id.len();
            id.push_str(&hex[..wanted.min(hex.len())]);
            round = round.wrapping_add(1);
        }
        id
    }

    /// An identifier that is new for every request, even a repeated one.
    pub(crate) fn request_id(&self, prefix: &str, request: &Recorded) -> String {
        self.id(prefix, 24, &[b"request", &request.seq.to_be_bytes()])
    }

    /// Checks a key: present, not starting with `bad`, and in the list if there is one.
    pub(crate) fn check_key(&self, key: Option<&str>) -> Result<(), KeyProblem> {
        let key = key
            .map(str::trim)
            .filter(|key| !key.is_empty())
            .ok_or(KeyProblem::Missing)?;
        let listed = self.keys.is_empty() || self.keys.iter().any(|held| held == key);
        if key.starts_with("bad") || !listed {
            Err(KeyProblem::Wrong)
        } else {
            Ok(())
        }
    }

    /// SHA-256 over the seed and length-prefixed parts.
    pub(crate) fn digest(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.seed.to_be_bytes());
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hash.finalize().into()
    }
}

/// A small keyed store with insertion order, bounded so that a long run stays small.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    held: Mutex<HashMap<String, Value>>,
}

const SHELF_MAX: usize = 10_000;

impl Shelf {
    pub(crate) fn put(&self, id: &str, value: Value) {
        let mut held = locked(&self.held);
        if held.len() >= SHELF_MAX {
            held.clear();
        }
        held.insert(id.to_owned(), value);
    }

    pub(crate) fn get(&self, id: &str) -> Option<Value> {
        locked(&self.held).get(id).cloned()
    }

    pub(crate) fn take(&self, id: &str) -> Option<Value> {
        locked(&self.held).remove(id)
    }

    /// Changes what is held under `id` in one step, and answers the new value.
    pub(crate) fn update(&self, id: &str, change: impl FnOnce(Option<Value>) -> Value) -> Value {
        let mut held = locked(&self.held);
        let changed = change(held.remove(id));
        held.insert(id.to_owned(), changed.clone());
        changed
    }

    /// Puts `value` only if nothing is held under `id`; answers whether it was put.
    pub(crate) fn claim(&self, id: &str, value: Value) -> bool {
        let mut held = locked(&self.held);
        if held.contains_key(id) {
            return false;
        }
        held.insert(id.to_owned(), value);
        true
    }

    fn clear(&self) {
        locked(&self.held).clear();
    }
}

/// Locks a mutex even if another thread panicked: the data here has no broken halves.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
impl Recorded {
    /// A request for tests that call a service without a socket.
    pub(crate) fn test(service: &'static str, path: &str, body: &Value) -> Self {
        let mut headers = http::HeaderMap::new();
        headers.insert("authorization", "Bearer sk-test".parse().expect("ascii"));
        headers.insert("x-api-key", "sk-test".parse().expect("ascii"));
        headers.insert("x-goog-api-key", "sk-test".parse().expect("ascii"));
        headers.insert("anthropic-version", "2023-06-01".parse().expect("ascii"));
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (path, None),
        };
        Self {
            seq: 1,
            service,
            method: if body.is_null() {
                http::Method::GET
            } else {
                http::Method::POST
            },
            path: path.to_owned(),
            query,
            headers,
            body: if body.is_null() {
                bytes::Bytes::new()
            } else {
                body.to_string().into()
            },
            faults: crate::fault::Faults::default(),
        }
    }
}
