//! The queue of prefixes that a provider stores and has not deleted yet.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bardo_cache::prefix::Millis;

use crate::stored_prefixes::StoredPrefix;

/// Deletions that wait. Beyond them the oldest is given up.
const WAITING: usize = 4_096;

/// A prefix that is to be deleted at its provider.
pub(crate) struct Deletion {
    /// The prefix; without its name at the provider where only `display_name` is known.
    pub(crate) stored: StoredPrefix,
    /// What the order called it whose outcome is unknown.
    pub(crate) display_name: Option<Arc<str>>,
    /// When it has ended by itself.
    pub(crate) expires: Millis,
    /// When it is tried.
    pub(crate) due: Millis,
    /// Tries that failed.
    pub(crate) tries: u32,
    /// Whole lists that did not have the display name.
    pub(crate) empty_lists: u32,
}

impl Deletion {
    /// A deletion that is due now.
    pub(crate) fn of(stored: StoredPrefix, now: Millis, expires: Millis) -> Self {
        Self {
            stored,
            display_name: None,
            expires,
            due: now,
            tries: 0,
            empty_lists: 0,
        }
    }
}

/// Deletions that wait to be tried again.
#[derive(Default)]
pub(crate) struct DeletionQueue(Mutex<VecDeque<Deletion>>);

impl DeletionQueue {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<Deletion>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a deletion at the end. A full queue gives the oldest one up.
    pub(crate) fn push(&self, deletion: Deletion) {
        let mut waiting = self.waiting();
        if waiting.len() >= WAITING {
            waiting.pop_front();
        }
        waiting.push_back(deletion);
    }

    /// Takes the first `most` deletions that are due, and forgets those whose prefix has ended.
    pub(crate) fn due(&self, now: Millis, most: usize) -> Vec<Deletion> {
        let mut waiting = self.waiting();
        let (mut due, mut later) = (Vec::new(), VecDeque::new());
        for one in waiting.drain(..).filter(|one| now < one.expires) {
            if one.due <= now && due.len() < most {
                due.push(one);
            } else {
                later.push_back(one);
            }
        }
        *waiting = later;
        due
    }

    /// Takes all deletions, for a process that ends.
    pub(crate) fn take(&self) -> VecDeque<Deletion> {
        std::mem::take(&mut *self.waiting())
    }
}

#[cfg(test)]
mod tests {
    use bardo_providers::{BaseUrl, Endpoint, EndpointConfig};
    use bardo_types::ids::AccountId;
    use bardo_types::model::Service;
    use bardo_types::secret::Secret;

    use super::*;
    use crate::prompt_owner::PromptOwner;

    fn stored() -> StoredPrefix {
        StoredPrefix {
            name: "cachedContents/a".into(),
            endpoint: Arc::new(Endpoint::new(EndpointConfig {
                name: "google".into(),
                service: Service::Google,
                base: BaseUrl::parse("https://example.com").expect("an address"),
                key: Secret::new("key".into()),
                allow_private: false,
                dialects: None,
                direct: false,
            })),
            owner: PromptOwner {
                account: AccountId::parse("a").expect("an id"),
                agent: None,
                namespace: None,
            },
            model: "m".into(),
            tokens: 5_000,
        }
    }

    #[test]
    fn the_queue_is_bounded_gives_sixteen_at_once_and_forgets_what_has_ended() {
        let queue = DeletionQueue::default();
        let stored = stored();
        for _ in 0..WAITING + 10 {
            queue.push(Deletion::of(stored.clone(), 5, 1_000));
        }
        assert_eq!(queue.waiting().len(), WAITING);
        assert!(queue.due(4, 16).is_empty());
        assert_eq!(queue.due(5, 16).len(), 16);
        assert_eq!(queue.waiting().len(), WAITING - 16);
        assert!(queue.due(1_000, 16).is_empty());
        assert!(queue.waiting().is_empty());
    }
}
