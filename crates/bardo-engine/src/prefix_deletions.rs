//! Deletion of prefixes that providers store. What a provider does not delete at once waits in a
//! queue, and is tried again until it has ended by itself.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bardo_cache::prefix::Millis;
use bardo_cache::store::Flush;
use bardo_providers::Endpoint;
use bardo_providers::transport::Transport;
use bardo_types::money::MicroUsd;
use bytes::Bytes;
use http::Method;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::deletion_queue::{Deletion, DeletionQueue};
use crate::engine::Engine;
use crate::engine_future::EngineFuture;
use crate::prompt_cache::PromptCaches;
use crate::services::Services;
use crate::snapshot::Snapshot;
use crate::stored_calls::{StoreFailure, ask_store, names_the_prefix, tell};
use crate::stored_prefixes::StoredPrefix;

/// Deletions at the same time.
const AT_ONCE: usize = 16;
/// Longest lifetime of a stored prefix, in milliseconds.
const LIFETIME_MS: Millis = 3_600_000;
/// Time after an order without an answer from which its prefix is looked for, in milliseconds.
const LOOK_AFTER_MS: Millis = 5_000;
/// Time until the second try, in milliseconds. Each further one waits twice as long.
const AGAIN_MS: Millis = 10_000;
/// Longest time between two tries, in milliseconds.
const AGAIN_MAX_MS: Millis = 300_000;
/// Whole lists without a name after which nothing was stored under it.
const EMPTY_LISTS: u32 = 2;
/// Pages of a list that are read at most.
const PAGES: usize = 20;
/// Longest time for the deletions of a process that ends.
const DELETIONS_MAX: Duration = Duration::from_secs(5);

/// All that deletions need, beside requests.
#[derive(Clone)]
pub(crate) struct PrefixDeleter {
    transport: Transport,
    services: Arc<Services>,
    caches: Arc<PromptCaches>,
    world: Arc<Snapshot>,
}

impl PrefixDeleter {
    fn now(&self) -> Millis {
        self.caches.millis(Instant::now())
    }

    fn queue(&self) -> &DeletionQueue {
        &self.caches.deletions
    }

    /// Deletes a stored prefix, now or later.
    pub(crate) async fn delete(&self, stored: StoredPrefix) {
        let now = self.now();
        let deletion = Deletion::of(stored, now, now.saturating_add(LIFETIME_MS));
        self.work_off(deletion).await;
    }

    /// Deletes later what an order without an answer may have stored under a display name, which
    /// ends within `ttl_s` seconds.
    pub(crate) fn delete_named(&self, stored: StoredPrefix, display_name: &str, ttl_s: u64) {
        let now = self.now();
        let expires = now.saturating_add(ttl_s.saturating_mul(1_000));
        self.queue().push(Deletion {
            display_name: Some(display_name.into()),
            due: now.saturating_add(LOOK_AFTER_MS),
            ..Deletion::of(stored, now, expires)
        });
    }

    async fn work_off(&self, mut deletion: Deletion) {
        let is_done = match deletion.display_name.clone() {
            None => self.is_gone(&deletion.stored).await,
            Some(name) => self.is_found(&mut deletion, &name).await,
        };
        if !is_done {
            let wait = AGAIN_MS.saturating_mul(1 << deletion.tries.min(10));
            deletion.tries = deletion.tries.saturating_add(1);
            deletion.due = self.now().saturating_add(wait.min(AGAIN_MAX_MS));
            self.queue().push(deletion);
        }
    }

    /// Works a list off, as one of several that do.
    async fn work_off_all(self, all: Arc<Mutex<VecDeque<Deletion>>>) {
        loop {
            let next = all.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(one) = { next }.pop_front() else {
                return;
            };
            self.work_off(one).await;
        }
    }

    /// Deletes a stored prefix. Answers whether the provider does not have it any more.
    async fn is_gone(&self, stored: &StoredPrefix) -> bool {
        let Some(mut asked) = self.ask(&stored.endpoint, stored).await else {
            return true;
        };
        if let Err(failed) = &asked
            && matches!(failed.failure.fault.status, Some(400 | 401 | 403))
            && !is_absent(failed)
            && let Some(newer) = self.newer(&stored.endpoint)
            && let Some(again) = self.ask(newer, stored).await
        {
            // The old key may be worth nothing any more.
            asked = again;
        }
        match asked {
            Ok(_) => {
                let figures = (0, None, MicroUsd::ZERO);
                tell(&self.services, stored, "deleted", figures);
                true
            }
            Err(failed) if is_absent(&failed) => true,
            Err(_) => {
                tracing::debug!(
                    backend = stored.endpoint.name,
                    "a stored prefix was not deleted; it is tried again until it ends"
                );
                false
            }
        }
    }

    /// Asks for a deletion; `None` where the prefix has a name that cannot be asked for.
    async fn ask(
        &self,
        endpoint: &Endpoint,
        stored: &StoredPrefix,
    ) -> Option<Result<Bytes, StoreFailure>> {
        let target = endpoint.stored_prefix(Some(&stored.name), "")?;
        let method = Method::DELETE;
        Some(ask_store(&self.transport, endpoint, method, target, Bytes::new()).await)
    }

    /// The backend of the same name as it is configured now; `None` where it is this one.
    fn newer(&self, old: &Arc<Endpoint>) -> Option<&Arc<Endpoint>> {
        let mut all = self.world.endpoints.iter();
        all.find(|one| one.name == old.name && !one.is_same_place(old))
    }

    /// Looks for what was stored under a display name, and deletes it. Answers whether the search is
    /// over.
    async fn is_found(&self, deletion: &mut Deletion, display_name: &str) -> bool {
        let (found, is_whole) = self.listed(&deletion.stored, display_name).await;
        let is_empty = found.is_empty();
        for stored in found {
            let stored = Deletion::of(stored, self.now(), deletion.expires);
            // No display name: this goes no deeper.
            Box::pin(self.work_off(stored)).await;
        }
        deletion.empty_lists += u32::from(is_empty && is_whole);
        !is_empty || deletion.empty_lists >= EMPTY_LISTS
    }

    /// The stored prefixes of a display name, and whether the whole list was read.
    async fn listed(&self, stored: &StoredPrefix, display_name: &str) -> (Vec<StoredPrefix>, bool) {
        let endpoint = &stored.endpoint;
        let (mut found, mut page) = (Vec::new(), String::new());
        for _ in 0..PAGES {
            let rest = format!("?pageSize=1000{page}");
            let Some(target) = endpoint.stored_prefix(None, &rest) else {
                break;
            };
            let method = Method::GET;
            let asked = ask_store(&self.transport, endpoint, method, target, Bytes::new());
            let Ok(listed) = asked.await else { break };
            let Ok(listed) = serde_json::from_slice::<Value>(&listed) else {
                break;
            };
            let all = listed["cachedContents"].as_array().into_iter().flatten();
            let meant = all.filter(|one| one["displayName"] == display_name);
            found.extend(meant.filter_map(|one| {
                Some(StoredPrefix {
                    name: one["name"].as_str()?.into(),
                    ..stored.clone()
                })
            }));
            match listed["nextPageToken"].as_str().unwrap_or_default() {
                "" => return (found, true),
                token => match page_token(token) {
                    Some(token) => page = format!("&pageToken={token}"),
                    None => break,
                },
            }
        }
        (found, false)
    }
}

/// A token for the next page as a query has it; `None` where it has characters that no token has.
fn page_token(token: &str) -> Option<String> {
    let mut written = String::with_capacity(token.len());
    for character in token.chars() {
        match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' | '~' => written.push(character),
            '+' => written.push_str("%2B"),
            '/' => written.push_str("%2F"),
            '=' => written.push_str("%3D"),
            _ => return None,
        }
    }
    Some(written)
}

/// Whether a provider says that it does not have a prefix.
fn is_absent(failed: &StoreFailure) -> bool {
    match failed.failure.fault.status {
        Some(404) => true,
        Some(403) => names_the_prefix(&failed.failure),
        _ => false,
    }
}

impl Engine {
    /// What deletes stored prefixes under the configuration of now.
    pub(crate) fn prefix_deleter(&self) -> PrefixDeleter {
        PrefixDeleter {
            transport: self.transport.clone(),
            services: Arc::clone(&self.services),
            caches: Arc::clone(&self.prompt_caches),
            world: self.snapshot(),
        }
    }

    /// Deletes stored prefixes, without being waited for.
    pub(crate) fn delete_prefixes(&self, taken: Vec<StoredPrefix>) {
        let now = self.prompt_caches.millis(Instant::now());
        let expires = now.saturating_add(LIFETIME_MS);
        let all = taken.into_iter();
        self.delete_beside(all.map(|one| Deletion::of(one, now, expires)).collect());
    }

    /// Tries the deletions again that are due, without being waited for.
    pub(crate) fn retry_deletions(&self) {
        let now = self.prompt_caches.millis(Instant::now());
        self.delete_beside(self.prompt_caches.deletions.due(now, AT_ONCE).into());
    }

    fn delete_beside(&self, all: VecDeque<Deletion>) {
        let stored = &self.prompt_caches.stored;
        let Ok(runtime) = Handle::try_current() else {
            let queue = &self.prompt_caches.deletions;
            all.into_iter().for_each(|one| queue.push(one));
            return;
        };
        let (count, all) = (all.len().min(AT_ONCE), Arc::new(Mutex::new(all)));
        for _ in 0..count {
            let deleting = self.prefix_deleter().work_off_all(Arc::clone(&all));
            stored.carry_out_deletion(&runtime, deleting);
        }
    }

    /// Deletes the prefixes that are stored at providers, and those that are being stored, as far as
    /// the providers answer within five seconds. Answers how many were stored.
    pub fn delete_stored_prefixes(&self) -> EngineFuture<'_, usize> {
        Box::pin(async move {
            let stored = &self.prompt_caches.stored;
            stored.stop();
            let taken = stored.take(&Flush::All);
            let count = taken.len();
            // One that is created from now on is deleted by its own order.
            let mut orders = stored.take_orders();
            let now = self.prompt_caches.millis(Instant::now());
            let expires = now.saturating_add(LIFETIME_MS);
            let taken = taken.into_iter();
            let mut all: VecDeque<_> = taken.map(|one| Deletion::of(one, now, expires)).collect();
            all.extend(self.prompt_caches.deletions.take());
            let all = Arc::new(Mutex::new(all));
            for _ in 0..AT_ONCE {
                orders.spawn(self.prefix_deleter().work_off_all(Arc::clone(&all)));
            }
            let all = async { while orders.join_next().await.is_some() {} };
            let _ = tokio::time::timeout(DELETIONS_MAX, all).await;
            count
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_token_is_plain_and_escaped() {
        assert_eq!(page_token("aZ0-_.~").as_deref(), Some("aZ0-_.~"));
        assert_eq!(page_token("+/=").as_deref(), Some("%2B%2F%3D"));
        for broken in ["a b", "a&key=x", "a\n", "ä", "%00"] {
            assert_eq!(page_token(broken), None);
        }
    }
}
