//! Which stored answer fits a question asked in other words.

use std::collections::{HashMap, VecDeque};

use super::scan::{DIMENSIONS, VectorBlock};
use crate::guard::{Mismatch, Signature};
use crate::key::Key;

/// Candidates that are shown to the guard, nearest first.
const CANDIDATES: usize = 8;

/// What must be equal exactly. The digest of the context holds the scope, the tenant, the domain's
/// class, the model, the settings and all earlier turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SearchSpace {
    /// Digest of everything but the last turn, from [`super::context()`].
    pub context: Key,
    /// The domain of the request.
    pub domain: super::Domain,
    /// Digest of the embedder: engine, model, version and quantization.
    pub embedder: [u8; 32],
}

/// The last turn of a user, as the index sees it.
#[derive(Debug, Clone, Copy)]
pub struct EmbeddedTurn<'a> {
    /// The unit vector of the turn, with a scale of 127.
    pub vector: &'a [i8; DIMENSIONS],
    /// What the turn says.
    pub signature: &'a Signature,
}

/// The result of a lookup.
#[derive(Debug, Clone, PartialEq)]
pub enum Nearest {
    /// An entry of the hash store answers the question.
    Hit {
        /// Its key there.
        key: Key,
        /// The cosine of both questions.
        similarity: f32,
    },
    /// Similar entries exist, and the guard refused each.
    Guarded {
        /// The most similar one.
        key: Key,
        /// The cosine of both questions.
        similarity: f32,
        /// Why it is no answer.
        mismatch: Mismatch,
    },
    /// Nothing similar enough is known.
    Miss,
}

/// Vectors of stored answers, each with the key of its entry in the hash store. The owner of that store calls
/// [`Index::remove`] with each entry that it removes.
#[derive(Debug)]
pub struct Index {
    buckets: HashMap<SearchSpace, Bucket>,
    places: HashMap<Key, SearchSpace>,
    order: VecDeque<Key>,
    most: usize,
}

#[derive(Debug, Default)]
struct Bucket {
    vectors: VectorBlock,
    entries: Vec<(Key, Signature)>,
}

impl Index {
    /// An empty index for `most` entries in all places together.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            buckets: HashMap::new(),
            places: HashMap::new(),
            order: VecDeque::new(),
            most,
        }
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Adds an entry, in place of one with its key; above the limit the oldest entries leave.
    pub fn insert(&mut self, place: SearchSpace, key: Key, question: &EmbeddedTurn<'_>) {
        self.remove(&key);
        let bucket = self.buckets.entry(place).or_default();
        bucket.vectors.push(question.vector);
        bucket.entries.push((key, question.signature.clone()));
        self.places.insert(key, place);
        self.order.push_back(key);
        while self.places.len() > self.most {
            match self.order.pop_front() {
                Some(oldest) => self.forget(&oldest),
                None => break,
            }
        }
    }

    /// Removes an entry, because the hash store lost it.
    pub fn remove(&mut self, key: &Key) {
        if self.places.contains_key(key) {
            self.order.retain(|known| known != key);
            self.forget(key);
        }
    }

    /// Removes the entries whose keys the hash store no longer has.
    pub fn retain(&mut self, mut has: impl FnMut(&Key) -> bool) {
        let gone: Vec<Key> = self.order.iter().filter(|key| !has(key)).copied().collect();
        self.order.retain(|key| !gone.contains(key));
        for key in gone {
            self.forget(&key);
        }
    }

    fn forget(&mut self, key: &Key) {
        let Some(place) = self.places.remove(key) else {
            return;
        };
        let Some(bucket) = self.buckets.get_mut(&place) else {
            return;
        };
        if let Some(at) = bucket.entries.iter().position(|(known, _)| known == key) {
            bucket.vectors.swap_remove(at);
            bucket.entries.swap_remove(at);
        }
        if bucket.entries.is_empty() {
            self.buckets.remove(&place);
        }
    }

    /// The nearest entry that asks the same. `threshold` is the least cosine, at least that of the
    /// domain; a domain without a threshold never hits.
    #[must_use]
    pub fn lookup(
        &self,
        place: &SearchSpace,
        question: &EmbeddedTurn<'_>,
        threshold: f32,
    ) -> Nearest {
        let Some(least) = place.domain.threshold() else {
            return Nearest::Miss;
        };
        let Some(bucket) = self.buckets.get(place) else {
            return Nearest::Miss;
        };
        let from = least.max(threshold);
        let mut refused = None;
        for (at, similarity) in bucket.vectors.nearest(question.vector, from, CANDIDATES) {
            let (key, signature) = &bucket.entries[at];
            match question.signature.difference(signature) {
                None => {
                    return Nearest::Hit {
                        key: *key,
                        similarity,
                    };
                }
                Some(mismatch) => {
                    refused.get_or_insert(Nearest::Guarded {
                        key: *key,
                        similarity,
                        mismatch,
                    });
                }
            }
        }
        refused.unwrap_or(Nearest::Miss)
    }
}
