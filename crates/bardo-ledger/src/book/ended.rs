//! The requests that ended lately, so that none ends twice.

use std::collections::VecDeque;

use bardo_types::ids::{AccountId, RequestId};
use hashbrown::HashMap;

use super::counters::HeldCap;
use super::pair::{RequestKey, RequestKeyRef};
use super::settle::SettledCost;

/// How many are remembered, and for how long, unless somebody says otherwise. Sending an end
/// again is a matter of seconds; what comes later meets the unique index of the store.
const ENTRIES: usize = 32_768;
const FOR_MS: u64 = 10 * 60 * 1000;

/// How a hold ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// The hold was captured or released; this was paid.
    Settled(SettledCost),
    /// Its time was over. It may still be charged, under the same caps.
    Expired(Box<[HeldCap]>),
}

#[derive(Debug)]
pub(super) struct EndedHolds {
    entries: HashMap<RequestKey, Ended>,
    /// In the order in which they ended first.
    order: VecDeque<(u64, AccountId, RequestId)>,
    max_entries: usize,
    for_ms: u64,
}

impl Default for EndedHolds {
    fn default() -> Self {
        Self::new(ENTRIES, FOR_MS)
    }
}

impl EndedHolds {
    pub(super) fn new(max_entries: usize, for_ms: u64) -> Self {
        Self {
            entries: HashMap::new(),
            order: VecDeque::new(),
            max_entries,
            for_ms,
        }
    }

    pub(super) fn get(&self, account: &AccountId, request: &RequestId) -> Option<&Ended> {
        self.entries.get(&RequestKeyRef(account, request))
    }

    pub(super) fn insert(
        &mut self,
        account: AccountId,
        request: RequestId,
        ended: Ended,
        now_ms: u64,
    ) {
        let key = (account.clone(), request.clone());
        if self.entries.insert(key, ended).is_none() {
            self.order.push_back((now_ms, account, request));
        }
        while let Some((at_ms, _, _)) = self.order.front()
            && (self.order.len() > self.max_entries || at_ms.saturating_add(self.for_ms) < now_ms)
        {
            let (_, account, request) = self.order.pop_front().expect("looked at above");
            self.entries.remove(&RequestKeyRef(&account, &request));
        }
    }

    /// Forgets one, because its hold lives again.
    pub(super) fn remove(&mut self, account: &AccountId, request: &RequestId) {
        if self
            .entries
            .remove(&RequestKeyRef(account, request))
            .is_some()
        {
            self.order.retain(|(_, a, r)| a != account || r != request);
        }
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &RequestKey> {
        self.entries.keys()
    }
}
