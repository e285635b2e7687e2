//! What one process grants alone.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard};

use bardo_access::{Allowance, LimitRequest};

/// How many grants are remembered at most. What is forgotten is corrected in Redis, where nothing
/// was taken: an error of one request's estimate.
const GRANTS_MAX: usize = 65_536;

/// The request under this process's share of its limits: at least one of each, so that no process
/// refuses everything.
pub(super) fn share_of(request: &LimitRequest, instances: NonZeroU32) -> LimitRequest {
    let share = |limit: u64| match limit {
        0 => 0,
        _ => (limit / u64::from(instances.get())).max(1),
    };
    LimitRequest {
        requests_per_minute: request
            .requests_per_minute
            .map(|limit| u32::try_from(share(limit.into())).unwrap_or(limit)),
        tokens_per_minute: request.tokens_per_minute.map(share),
        allowance: request.allowance.map(|allowance| Allowance {
            tokens: share(allowance.tokens),
            ..allowance
        }),
        ..request.clone()
    }
}

/// Requests that were granted from the counters of this process, until they are corrected.
#[derive(Debug, Default)]
pub(super) struct Granted {
    hasher: RandomState,
    grants: Mutex<HashMap<u64, u32>>,
}

impl Granted {
    pub(super) fn note(&self, request: &LimitRequest, reserved: u64) {
        let mut grants = self.grants();
        if grants.len() >= GRANTS_MAX {
            grants.clear();
        }
        *grants.entry(self.name(request, reserved)).or_default() += 1;
    }

    /// Whether it was granted here; once for each time.
    pub(super) fn take(&self, request: &LimitRequest, reserved: u64) -> bool {
        let mut grants = self.grants();
        if grants.is_empty() {
            return false;
        }
        let name = self.name(request, reserved);
        let Some(count) = grants.get_mut(&name) else {
            return false;
        };
        *count -= 1;
        if *count == 0 {
            grants.remove(&name);
        }
        true
    }

    fn name(&self, request: &LimitRequest, reserved: u64) -> u64 {
        let parts = (&request.account, &request.key, request.now_ms, reserved);
        self.hasher.hash_one(parts)
    }

    fn grants(&self) -> MutexGuard<'_, HashMap<u64, u32>> {
        self.grants.lock().expect("nothing panics while it is held")
    }
}

#[cfg(test)]
mod tests {
    use bardo_types::ids::AccountId;

    use super::*;

    fn request(limit: u64) -> LimitRequest {
        LimitRequest {
            account: AccountId::parse("a").unwrap(),
            key: None,
            requests_per_minute: Some(u32::try_from(limit).unwrap()),
            tokens_per_minute: Some(limit),
            allowance: Some(Allowance {
                tokens: limit,
                overage: false,
            }),
            own_allowance: false,
            tokens: 5,
            now_ms: 7,
        }
    }

    #[test]
    fn a_share_is_a_fraction_and_never_nothing_of_something() {
        let three = NonZeroU32::new(3).unwrap();
        for (limit, expected) in [(100, 33), (3, 1), (2, 1), (1, 1), (0, 0)] {
            let share = share_of(&request(limit), three);
            assert_eq!(share.tokens_per_minute, Some(expected), "{limit}");
            assert_eq!(share.requests_per_minute.map(u64::from), Some(expected));
            assert_eq!(share.allowance.map(|hour| hour.tokens), Some(expected));
        }
    }

    #[test]
    fn a_grant_is_taken_back_as_often_as_it_was_given() {
        let granted = Granted::default();
        assert!(!granted.take(&request(9), 5));
        granted.note(&request(9), 5);
        granted.note(&request(9), 5);
        assert!(!granted.take(&request(9), 4));
        assert!(granted.take(&request(9), 5));
        assert!(granted.take(&request(9), 5));
        assert!(!granted.take(&request(9), 5));
    }
}
