//! Whether there is any key at all: a gateway without any may be open to its own machine.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::port::{KeyError, KeyStore};

/// Whether there are keys, as far as is known at once.
#[must_use]
pub enum KeyPresence {
    /// The store has keys.
    Some,
    /// There are none.
    None,
    /// The store has to be asked: `true` where there are some.
    Ask(Pin<Box<dyn Future<Output = Result<bool, KeyError>> + Send>>),
}

/// Knows whether a store has any key, and asks it again whenever something has changed there. Keys
/// are revoked and never deleted, so once there are some, there always are.
pub struct Presence {
    store: Arc<dyn KeyStore>,
    /// [`ANY`], or the revision at which there were none, plus one; 0: never asked.
    known: AtomicU64,
}

const ANY: u64 = u64::MAX;

impl Presence {
    /// Knows nothing yet.
    #[must_use]
    pub fn new(store: Arc<dyn KeyStore>) -> Self {
        Self {
            store,
            known: AtomicU64::new(0),
        }
    }

    /// Whether there are keys now.
    pub fn keys(self: &Arc<Self>) -> KeyPresence {
        let revision = self.store.revision();
        match self.known.load(Ordering::Relaxed) {
            ANY => KeyPresence::Some,
            known if known == revision.saturating_add(1) => KeyPresence::None,
            _ => {
                let presence = Arc::clone(self);
                KeyPresence::Ask(Box::pin(async move {
                    let is_empty = presence.store.is_empty().await?;
                    let known = if is_empty { revision + 1 } else { ANY };
                    // What is known to be there does not go away by a late answer.
                    presence.known.fetch_max(known, Ordering::Relaxed);
                    Ok(!is_empty)
                }))
            }
        }
    }
}
