//! Which endpoint has the prompt of a session in its cache.

use std::sync::{Mutex, PoisonError};

use bardo_types::chat::CacheTtl;

use super::gaps::usable_ms;
use super::{Millis, PrefixId};
use crate::generations::Generations;

/// Where a session was answered last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Affinity {
    /// Name of the endpoint.
    pub endpoint: String,
    /// Id of the model there.
    pub model: String,
    /// Digest of tools and system prompt.
    pub prefix: PrefixId,
    /// Tokens of that prefix.
    pub tokens: u64,
    /// Lifetime of the entry, counted from its last use.
    pub ttl: CacheTtl,
}

/// An endpoint that still holds the prefix of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warmth {
    /// Endpoint that answered the session last, and the prefix that it read.
    pub affinity: Affinity,
    /// Milliseconds since its last use.
    pub idle: Millis,
}

/// Remembers where sessions were answered, in bounded memory. The key is a digest of tenant and
/// session.
#[derive(Debug)]
pub struct AffinityTable(Mutex<Generations<PrefixId, (Affinity, Millis)>>);

impl AffinityTable {
    /// A table of at most `capacity` sessions.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self(Mutex::new(Generations::new(capacity)))
    }

    /// Remembers a successful answer to a call that was made at `now`. A session that goes on stays
    /// warm. The answer to a call before the last one is ignored.
    pub fn succeeded(&self, session: PrefixId, affinity: Affinity, now: Millis) {
        self.note(session, affinity, now, |_| true);
    }

    /// Remembers a keepalive call. It is no part of the session: one that goes on at another
    /// endpoint stays there.
    pub fn kept_warm(&self, session: PrefixId, affinity: Affinity, now: Millis) {
        let endpoint = affinity.endpoint.clone();
        self.note(session, affinity, now, |known| known.endpoint == endpoint);
    }

    fn note(
        &self,
        session: PrefixId,
        affinity: Affinity,
        now: Millis,
        replaces: impl FnOnce(&Affinity) -> bool,
    ) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, last)) = table.get(&session) {
            // An answer that took long says less of the session than that of a later call.
            let is_late = now < *last;
            if is_late || !replaces(known) {
                return;
            }
        }
        table.put(session, (affinity, now));
    }

    /// Forgets a session, because this endpoint failed. One that went on elsewhere stays.
    pub fn forget(&self, session: PrefixId, endpoint: &str) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if table
            .get(&session)
            .is_some_and(|(known, _)| known.endpoint == endpoint)
        {
            table.remove(&session);
        }
    }

    /// The endpoint that is warm for a session with this very prefix; `None` where the prefix
    /// changed or the entry has expired.
    #[must_use]
    pub fn warm(&self, session: PrefixId, prefix: PrefixId, now: Millis) -> Option<Warmth> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (affinity, last) = table.get(&session)?;
        let idle = now.saturating_sub(*last);
        let is_warm = affinity.prefix == prefix && idle <= usable_ms(affinity.ttl);
        is_warm.then(|| Warmth {
            affinity: affinity.clone(),
            idle,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(endpoint: &str, prefix: PrefixId) -> Affinity {
        Affinity {
            endpoint: endpoint.into(),
            model: "m".into(),
            prefix,
            tokens: 4_000,
            ttl: CacheTtl::FiveMinutes,
        }
    }

    #[test]
    fn continuous_traffic_keeps_its_endpoint() {
        let table = AffinityTable::new(8);
        for minute in 0..60 {
            let now = minute * 60_000;
            if minute > 0 {
                let warm = table.warm(1, 9, now).unwrap();
                assert_eq!((warm.affinity.endpoint.as_str(), warm.idle), ("a", 60_000));
            }
            table.succeeded(1, at("a", 9), now);
        }
    }

    #[test]
    fn another_prefix_another_session_and_an_expired_entry_are_cold() {
        let table = AffinityTable::new(8);
        table.succeeded(1, at("a", 9), 0);
        assert!(table.warm(1, 9, 290_000).is_some());
        assert_eq!(table.warm(1, 9, 290_001), None);
        assert_eq!(table.warm(1, 8, 0), None);
        assert_eq!(table.warm(2, 9, 0), None);
        table.forget(1, "a");
        assert_eq!(table.warm(1, 9, 0), None);
    }

    #[test]
    fn calls_elsewhere_leave_a_session_where_it_is() {
        let table = AffinityTable::new(8);
        let endpoint = |now| table.warm(1, 9, now).unwrap().affinity.endpoint;
        table.succeeded(1, at("a", 9), 0);
        table.succeeded(1, at("b", 9), 1_000);
        table.kept_warm(1, at("a", 9), 2_000);
        assert_eq!(endpoint(2_000), "b");
        table.forget(1, "a");
        assert_eq!(endpoint(2_000), "b");
        table.kept_warm(1, at("b", 9), 280_000);
        assert_eq!(endpoint(570_000), "b");
    }

    #[test]
    fn a_late_answer_to_an_earlier_call_moves_no_session_and_makes_none_younger() {
        let table = AffinityTable::new(8);
        table.succeeded(1, at("a", 9), 1_000_000);
        assert_eq!(table.warm(1, 9, 5).map(|warm| warm.idle), Some(0));
        for endpoint in ["b", "a"] {
            table.succeeded(1, at(endpoint, 9), 10);
            let warm = table.warm(1, 9, 1_000_000 + 290_000).unwrap();
            assert_eq!((warm.affinity.endpoint.as_str(), warm.idle), ("a", 290_000));
            assert_eq!(table.warm(1, 9, 1_000_000 + 290_001), None);
        }
    }

    #[test]
    fn memory_is_bounded() {
        let table = AffinityTable::new(10);
        for session in 0..1_000 {
            table.succeeded(session, at("a", 1), 0);
        }
        assert!(table.0.lock().unwrap().len() <= 10);
    }
}
