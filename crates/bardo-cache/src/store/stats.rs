use std::sync::atomic::{AtomicU64, Ordering};

use bardo_types::money::MicroUsd;

/// What a store holds and did, in total or for one tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Entries that are kept.
    pub entries: u64,
    /// Bytes of those entries.
    pub bytes: u64,
    /// Requests that a stored answer was served to.
    pub hits: u64,
    /// Requests that looked for a stored answer and got none.
    pub misses: u64,
    /// Hits whose question differs in words from the stored one.
    pub similar: u64,
    /// Entries that were stored.
    pub stored: u64,
    /// Entries that gave way to others.
    pub evicted: u64,
    /// Entries that expired before they gave way.
    pub expired: u64,
    /// Entries that were flushed.
    pub flushed: u64,
    /// The sum of what the receipts of the hits say they saved.
    pub saved: MicroUsd,
}

/// Counts of a store or of a tenant.
#[derive(Debug, Default)]
pub(super) struct CacheCounters {
    pub(super) hits: AtomicU64,
    pub(super) misses: AtomicU64,
    pub(super) similar: AtomicU64,
    pub(super) stored: AtomicU64,
    pub(super) evicted: AtomicU64,
    pub(super) expired: AtomicU64,
    pub(super) flushed: AtomicU64,
    saved: AtomicU64,
}

impl CacheCounters {
    pub(super) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn hit(&self, saved: MicroUsd) {
        Self::count(&self.hits);
        self.saved.fetch_add(saved.get(), Ordering::Relaxed);
    }

    pub(super) fn stats(&self, entries: u64, bytes: u64) -> Stats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            entries,
            bytes,
            hits: read(&self.hits),
            misses: read(&self.misses),
            similar: read(&self.similar),
            stored: read(&self.stored),
            evicted: read(&self.evicted),
            expired: read(&self.expired),
            flushed: read(&self.flushed),
            saved: MicroUsd::new(read(&self.saved)),
        }
    }
}
