//! The prefixes that providers store on order, as this process knows them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bardo_cache::prefix::{
    KeepaliveLimits, Millis, PrefixId, StorageCase, StorageStep, StoredTable,
};
use bardo_cache::store::Flush;
use bardo_providers::Endpoint;
use bardo_types::money::MicroUsd;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::prompt_owner::PromptOwner;

/// Prefixes that are remembered.
const PREFIXES: usize = 4_096;
/// Flushes that are remembered for prefixes that are being created.
const FLUSHES: usize = 256;

/// A prefix that a provider stores.
#[derive(Clone)]
pub(crate) struct StoredPrefix {
    /// Its name at the provider.
    pub(crate) name: Arc<str>,
    /// The backend that stores it.
    pub(crate) endpoint: Arc<Endpoint>,
    /// Whose prefix it is.
    pub(crate) owner: PromptOwner,
    /// Id of the model.
    pub(crate) model: Arc<str>,
    /// Tokens, as the provider counted them.
    pub(crate) tokens: u64,
}

impl PartialEq for StoredPrefix {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.endpoint.name == other.endpoint.name
    }
}

/// The stored prefixes of a process.
pub(crate) struct StoredPrefixes {
    table: Mutex<StoredTable<StoredPrefix>>,
    /// Nothing more is stored: the process ends.
    is_stopped: AtomicBool,
    made: AtomicU64,
    flushes: Mutex<LastPrefixFlushes>,
    /// Calls to providers that nobody waits for until the process ends.
    orders: Mutex<JoinSet<()>>,
}

/// The last flushes, for prefixes that are being created meanwhile.
#[derive(Default)]
struct LastPrefixFlushes {
    count: u64,
    last: VecDeque<Flush>,
}

impl Default for StoredPrefixes {
    fn default() -> Self {
        Self {
            table: Mutex::new(StoredTable::new(PREFIXES)),
            is_stopped: AtomicBool::new(false),
            made: AtomicU64::new(0),
            flushes: Mutex::default(),
            orders: Mutex::default(),
        }
    }
}

impl StoredPrefixes {
    fn table(&self) -> MutexGuard<'_, StoredTable<StoredPrefix>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stored prefix that a call may name now.
    pub(crate) fn usable(&self, id: PrefixId, now: Millis) -> Option<StoredPrefix> {
        self.table().usable(id, now)
    }

    /// Takes in a call that was answered, and decides what is done beside it.
    pub(crate) fn seen(
        &self,
        id: PrefixId,
        case: &StorageCase,
        limits: &KeepaliveLimits,
        now: Millis,
    ) -> StorageStep<StoredPrefix> {
        if self.is_stopped() {
            return StorageStep::None;
        }
        self.table().seen(id, case, limits, now)
    }

    fn flushes(&self) -> MutexGuard<'_, LastPrefixFlushes> {
        self.flushes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Flushes so far, for [`Self::created`].
    pub(crate) fn flush_count(&self) -> u64 {
        self.flushes().count
    }

    /// Whether a flush after the one of this number meant a prompt. Of those that are forgotten, each may
    /// have.
    pub(crate) fn is_dropped_since(&self, count: u64, owner: &PromptOwner) -> bool {
        let flushes = self.flushes();
        let since = usize::try_from(flushes.count - count).unwrap_or(usize::MAX);
        let mut last = flushes.last.iter().rev().take(since);
        since > flushes.last.len() || last.any(|flush| owner.is_dropped_by(flush))
    }

    /// Takes in a new stored prefix, whose creation began after `begun` flushes, where the
    /// configuration still wants it.
    ///
    /// # Errors
    /// Where it is not wanted any more: it has to be deleted.
    pub(crate) fn created(
        &self,
        id: PrefixId,
        stored: StoredPrefix,
        (expires, spent): (Millis, (MicroUsd, MicroUsd)),
        begun: u64,
        is_wanted: impl FnOnce(&StoredPrefix) -> bool,
    ) -> Result<(), StoredPrefix> {
        let tokens = stored.tokens;
        let mut table = self.table();
        table.created(id, stored.clone(), tokens, expires, spent)?;
        let is_dropped = self.is_stopped() || self.is_dropped_since(begun, &stored.owner);
        if is_dropped || !is_wanted(&stored) {
            table.take(|one| *one == stored);
            return Err(stored);
        }
        Ok(())
    }

    /// Takes in that nothing was stored, or that nobody knows whether it was.
    pub(crate) fn not_created(&self, id: PrefixId, expected: MicroUsd, is_unknown: bool) {
        self.table().not_created(id, expected, is_unknown);
    }

    /// Takes in the new end of a lifetime; `None`: it is the old one.
    pub(crate) fn extended(
        &self,
        id: PrefixId,
        until: Option<Millis>,
        expected: MicroUsd,
        is_unknown: bool,
    ) {
        self.table().extended(id, until, expected, is_unknown);
    }

    /// Takes in that the provider does not have it any more. Answers whether this is news.
    pub(crate) fn lost(&self, id: PrefixId, stored: &StoredPrefix) -> bool {
        self.table().lost(id, stored)
    }

    /// Takes in what the provider's own cache read in a call that named no stored prefix.
    pub(crate) fn read_without(&self, id: PrefixId, tokens: u64) {
        self.table().read_without(id, tokens);
    }

    /// Forgets the stored prefixes whose prompts a flush removes answers of, to be deleted at their
    /// providers.
    pub(crate) fn take(&self, flush: &Flush) -> Vec<StoredPrefix> {
        let mut flushes = self.flushes();
        flushes.count += 1;
        flushes.last.push_back(flush.clone());
        if flushes.last.len() > FLUSHES {
            flushes.last.pop_front();
        }
        drop(flushes);
        self.table().take(|one| one.owner.is_dropped_by(flush))
    }

    /// Forgets the stored prefixes that `is_meant` names, to be deleted at their providers.
    pub(crate) fn take_where(&self, is_meant: impl Fn(&StoredPrefix) -> bool) -> Vec<StoredPrefix> {
        self.table().take(is_meant)
    }

    fn orders(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries an order to store something out beside requests, unless the process ends.
    pub(crate) fn carry_out(
        &self,
        runtime: &Handle,
        order: impl Future<Output = ()> + Send + 'static,
    ) {
        let mut orders = self.orders();
        // Whoever waits for the orders has stopped new ones before, under this lock.
        if self.is_stopped() {
            return;
        }
        while orders.try_join_next().is_some() {}
        orders.spawn_on(order, runtime);
    }

    /// Carries deletions at a provider out beside requests, also while the process ends.
    pub(crate) fn carry_out_deletion(
        &self,
        runtime: &Handle,
        deletion: impl Future<Output = ()> + Send + 'static,
    ) {
        let mut orders = self.orders();
        while orders.try_join_next().is_some() {}
        orders.spawn_on(deletion, runtime);
    }

    /// The orders that are under way, for a process that ends.
    pub(crate) fn take_orders(&self) -> JoinSet<()> {
        std::mem::take(&mut *self.orders())
    }

    /// Stores nothing more. What is stored may still be used.
    pub(crate) fn stop(&self) {
        let _orders = self.orders();
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Prefixes that are stored at a time.
    pub(crate) fn len_at(&self, now: Millis) -> usize {
        self.table().len_at(now)
    }

    /// A number for the next call to a provider.
    pub(crate) fn next(&self) -> u64 {
        self.made.fetch_add(1, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_is_ordered_after_the_stop_and_deletions_are() {
        let stored = StoredPrefixes::default();
        stored.carry_out(&Handle::current(), std::future::ready(()));
        stored.stop();
        stored.carry_out(&Handle::current(), std::future::pending());
        let mut orders = stored.take_orders();
        assert_eq!(orders.len(), 1, "it was given before");
        assert!(orders.join_next().await.is_some());
        stored.carry_out(&Handle::current(), std::future::pending());
        assert_eq!(stored.take_orders().len(), 0);
        stored.carry_out_deletion(&Handle::current(), std::future::ready(()));
        assert_eq!(stored.take_orders().len(), 1);
    }
}
