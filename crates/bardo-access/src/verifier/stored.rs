//! Records of keys as the store had them a moment ago, so that a flood of wrong secrets for one id
//! does not become a flood of questions to the store.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bardo_types::ids::KeyId;

use crate::record::KeyRecord;

/// Ids that are remembered; more at once are a flood of made-up ones.
const REMEMBERED: usize = 4_096;

#[derive(Default)]
pub(super) struct RecordCache(Mutex<HashMap<KeyId, CachedRecord>>);

struct CachedRecord {
    revision: u64,
    record: Option<KeyRecord>,
}

impl RecordCache {
    /// The answer of the store for the id, unless its revision has changed since.
    pub(super) fn get(&self, id: &KeyId, revision: u64) -> Option<Option<KeyRecord>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = all.get(id).filter(|answer| answer.revision == revision)?;
        Some(answer.record.clone())
    }

    pub(super) fn put(&self, id: &KeyId, revision: u64, record: &Option<KeyRecord>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REMEMBERED && !all.contains_key(id) {
            all.clear();
        }
        let record = record.clone();
        all.insert(id.clone(), CachedRecord { revision, record });
    }
}
