//! Keys that were refused a moment ago, and how often those of one id were.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bardo_types::ids::KeyId;

use super::tag::{Tag, TagMap};

/// How long a refusal is remembered. Somebody who mistypes a key and mends it is not hindered: the
/// mended one has another tag.
const REMEMBERED_MS: u64 = 5_000;
const REMEMBERED: usize = 65_536;

/// Wrong secrets for one id from one network that are checked in a row; then one every
/// [`PAUSE_MS`].
const FAILURES: u64 = 10;
const PAUSE_MS: u64 = 1_000;
const WATCHED: usize = 65_536;

#[derive(Default)]
pub(super) struct RefusedKeys {
    keys: Mutex<TagMap<Turned>>,
    /// For each id and each network that presents it, when its failures will be forgotten.
    ids: Mutex<HashMap<(KeyId, IpAddr), u64>>,
}

struct Turned {
    revision: u64,
    at_ms: u64,
}

/// The network that one caller can send from: an address, or with IPv6 the 64 bits of its prefix.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RefusedKeys {
    /// Whether this very key was refused a moment ago, and nothing was changed in the store since.
    pub(super) fn has(&self, tag: Tag, revision: u64, now_ms: u64) -> bool {
        locked(&self.keys).get(&tag).is_some_and(|turned| {
            turned.revision == revision && now_ms.saturating_sub(turned.at_ms) < REMEMBERED_MS
        })
    }

    /// Milliseconds to wait before another key of this id is checked that comes from there. The
    /// same for ids that exist and for those that do not.
    pub(super) fn pause_ms(&self, id: &KeyId, from: IpAddr, now_ms: u64) -> Option<u64> {
        let over = *locked(&self.ids).get(&(id.clone(), network(from)))?;
        (over.saturating_sub(now_ms))
            .checked_sub((FAILURES - 1) * PAUSE_MS)
            .filter(|wait| *wait > 0)
    }

    pub(super) fn remember(&self, tag: Tag, id: &KeyId, from: IpAddr, revision: u64, now_ms: u64) {
        let mut keys = locked(&self.keys);
        if keys.len() >= REMEMBERED {
            keys.retain(|_, turned| now_ms.saturating_sub(turned.at_ms) < REMEMBERED_MS);
            if keys.len() >= REMEMBERED {
                // It only saves work, and the thread that hashes bounds that.
                keys.clear();
            }
        }
        let at_ms = now_ms;
        keys.insert(tag, Turned { revision, at_ms });
        drop(keys);

        let mut ids = locked(&self.ids);
        if ids.len() >= WATCHED {
            ids.retain(|_, over| *over > now_ms);
            if ids.len() >= WATCHED {
                ids.clear();
            }
        }
        let over = ids.entry((id.clone(), network(from))).or_insert(now_ms);
        *over = (*over).max(now_ms) + PAUSE_MS;
    }
}
