//! Keys that were verified, and how long that is to be believed.

use std::sync::{Arc, PoisonError, RwLock};

use super::tag::{Tag, TagMap};
use crate::record::KeyRecord;

const SHARDS: usize = 32;

/// A key whose secret fitted, with what the store said of it.
#[derive(Debug, Clone)]
pub(super) struct Verified {
    pub(super) record: Arc<KeyRecord>,
    /// The store's revision before it was asked.
    pub(super) revision: u64,
    /// When it was asked.
    pub(super) at_ms: u64,
}

/// The memory's answer about a presented key.
pub(super) enum WarmKey {
    /// The remembered record is recent enough to use.
    Fresh(Arc<KeyRecord>),
    /// Its secret fits, and the store has to be asked whether the rest still holds.
    Stale(Verified),
    Nothing,
}

pub(super) struct Warm {
    shards: Vec<RwLock<TagMap<Verified>>>,
    per_shard: usize,
}

impl Warm {
    pub(super) fn new(entries: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            per_shard: entries.div_ceil(SHARDS).max(1),
        }
    }

    fn shard(&self, tag: Tag) -> &RwLock<TagMap<Verified>> {
        // The table uses the other end of the number.
        let index =
            usize::try_from(tag.slot() >> 32 & 0xffff).expect("16 bits fit every machine's word");
        &self.shards[index % SHARDS]
    }

    pub(super) fn look(&self, tag: Tag, revision: u64, now_ms: u64, ttl_ms: u64) -> WarmKey {
        let shard = self
            .shard(tag)
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        match shard.get(&tag) {
            None => WarmKey::Nothing,
            Some(known)
                if known.revision == revision && now_ms.saturating_sub(known.at_ms) < ttl_ms =>
            {
                WarmKey::Fresh(Arc::clone(&known.record))
            }
            Some(known) => WarmKey::Stale(known.clone()),
        }
    }

    pub(super) fn insert(&self, tag: Tag, verified: Verified) {
        let mut shard = self
            .shard(tag)
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if shard.len() >= self.per_shard && !shard.contains_key(&tag) {
            let oldest = shard.iter().min_by_key(|(_, known)| known.at_ms);
            if let Some(oldest) = oldest.map(|(tag, _)| *tag) {
                shard.remove(&oldest);
            }
        }
        // Two that asked at the same time may arrive in either order; the later answer stays.
        if shard
            .get(&tag)
            .is_none_or(|known| known.revision <= verified.revision)
        {
            shard.insert(tag, verified);
        }
    }

    pub(super) fn remove(&self, tag: Tag) {
        self.shard(tag)
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&tag);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.shards
            .iter()
            .map(|shard| shard.read().unwrap().len())
            .sum()
    }
}
