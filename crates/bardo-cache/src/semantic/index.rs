//! Which stored answer fits a question asked in other words.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::scan::VectorBlock;
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
    pub vector: &'a [i8],
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

/// Vectors of stored answers, each with the key of its entry in the hash store. The owner of that
/// store calls [`Index::remove`] with each entry that it removes.
///
/// Above its limit the tenant with the most entries gives way, its oldest first, so that no tenant
/// pushes out the questions of another that has fewer.
#[derive(Debug)]
pub struct Index {
    buckets: HashMap<SearchSpace, Bucket>,
    places: HashMap<Key, IndexedPlace>,
    /// The keys of each tenant by age, the oldest first.
    tenants: HashMap<u64, BTreeMap<u64, Key>>,
    /// The tenants by their number of entries.
    by_count: BTreeSet<(usize, u64)>,
    next_age: u64,
    most: usize,
}

#[derive(Debug)]
struct IndexedPlace {
    space: SearchSpace,
    tenant: u64,
    age: u64,
    /// The place within the bucket.
    at: usize,
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
            tenants: HashMap::new(),
            by_count: BTreeSet::new(),
            next_age: 0,
            most,
        }
    }

    /// Takes another limit. Entries above it leave.
    pub fn limit(&mut self, most: usize) {
        self.most = most;
        self.make_room();
    }

    /// Removes every entry.
    pub fn clear(&mut self) {
        *self = Self::new(self.most);
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

    /// Adds an entry of a tenant, given by a digest of its account, in place of one with its key.
    pub fn insert(
        &mut self,
        space: SearchSpace,
        tenant: u64,
        key: Key,
        question: &EmbeddedTurn<'_>,
    ) {
        self.remove(&key);
        let bucket = self.buckets.entry(space).or_default();
        let at = bucket.entries.len();
        bucket.vectors.push(question.vector);
        bucket.entries.push((key, question.signature.clone()));
        let age = self.next_age;
        self.next_age += 1;
        let own = self.tenants.entry(tenant).or_default();
        self.by_count.remove(&(own.len(), tenant));
        own.insert(age, key);
        self.by_count.insert((own.len(), tenant));
        let place = IndexedPlace {
            space,
            tenant,
            age,
            at,
        };
        self.places.insert(key, place);
        self.make_room();
    }

    fn make_room(&mut self) {
        while self.places.len() > self.most {
            let largest = self.by_count.last();
            let own = largest.and_then(|(_, tenant)| self.tenants.get(tenant));
            let oldest = own.and_then(|own| own.first_key_value());
            let Some(key) = oldest.map(|(_, key)| *key) else {
                return;
            };
            self.remove(&key);
        }
    }

    /// Removes an entry, because the hash store lost it.
    pub fn remove(&mut self, key: &Key) {
        let Some(place) = self.places.remove(key) else {
            return;
        };
        if let Some(own) = self.tenants.get_mut(&place.tenant) {
            self.by_count.remove(&(own.len(), place.tenant));
            own.remove(&place.age);
            if own.is_empty() {
                self.tenants.remove(&place.tenant);
            } else {
                self.by_count.insert((own.len(), place.tenant));
            }
        }
        let Some(bucket) = self.buckets.get_mut(&place.space) else {
            return;
        };
        bucket.vectors.swap_remove(place.at);
        bucket.entries.swap_remove(place.at);
        if let Some((moved, _)) = bucket.entries.get(place.at)
            && let Some(moved) = self.places.get_mut(moved)
        {
            moved.at = place.at;
        }
        if bucket.entries.is_empty() {
            self.buckets.remove(&place.space);
        }
    }

    /// Removes the entries whose keys the hash store no longer has.
    pub fn retain(&mut self, mut has: impl FnMut(&Key) -> bool) {
        let gone: Vec<Key> = self
            .places
            .keys()
            .filter(|key| !has(key))
            .copied()
            .collect();
        for key in gone {
            self.remove(&key);
        }
    }

    /// The cosine of the nearest entry, however far it is, for explanations of a miss; `None`
    /// where the place has no entry.
    #[must_use]
    pub fn closest(&self, place: &SearchSpace, vector: &[i8]) -> Option<f32> {
        let bucket = self.buckets.get(place)?;
        let nearest = bucket.vectors.nearest(vector, -1.1, 1);
        nearest.first().map(|(_, similarity)| *similarity)
    }

    /// The nearest entry that asks the same. `threshold` is the least cosine, at least that of the
    /// domain; a domain without a threshold never hits. Entries of `except` are passed over.
    #[must_use]
    pub fn lookup(
        &self,
        place: &SearchSpace,
        question: &EmbeddedTurn<'_>,
        threshold: f32,
        except: &[Key],
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
            if except.contains(key) {
                continue;
            }
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
