//! Refusals by the shared counters that hold for a known time: requests that come meanwhile are
//! refused without another call.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bardo_access::{Allowance, LimitRequest, Throttled};
use bardo_types::ids::{AccountId, KeyId};

/// Refusals that are remembered at most. Beyond it, all are forgotten.
const MOST: usize = 10_000;

/// The last refusal of each identity, in memory.
#[derive(Debug, Default)]
pub(super) struct RefusedIdentities(Mutex<HashMap<(AccountId, Option<KeyId>), RememberedRefusal>>);

#[derive(Debug)]
struct RememberedRefusal {
    throttled: Throttled,
    /// Unix milliseconds until which every request is refused.
    until_ms: u64,
    /// The limits that refused; others may let a request in.
    requests_per_minute: Option<u32>,
    allowance: Option<Allowance>,
}

impl RefusedIdentities {
    /// Remembers a refusal that does not depend on the size of the request.
    pub(super) fn note(&self, request: &LimitRequest, throttled: &Throttled) {
        if throttled.limit == "tokens" {
            return;
        }
        let mut refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() >= MOST {
            refused.clear();
        }
        refused.insert(
            (request.account.clone(), request.key.clone()),
            RememberedRefusal {
                throttled: throttled.clone(),
                until_ms: request.now_ms.saturating_add(throttled.retry_after_ms),
                requests_per_minute: request.requests_per_minute,
                allowance: request.allowance,
            },
        );
    }

    /// The refusal that still holds for a request, with the time that is left of it.
    pub(super) fn of(&self, request: &LimitRequest) -> Option<Throttled> {
        let mut refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let identity = (request.account.clone(), request.key.clone());
        let refusal = refused.get(&identity)?;
        let holds = refusal.until_ms > request.now_ms
            && refusal.requests_per_minute == request.requests_per_minute
            && refusal.allowance == request.allowance;
        if !holds {
            refused.remove(&identity);
            return None;
        }
        Some(Throttled {
            retry_after_ms: refusal.until_ms - request.now_ms,
            ..refusal.throttled.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(now_ms: u64, rpm: u32) -> LimitRequest {
        LimitRequest {
            account: AccountId::parse("acct").unwrap(),
            key: None,
            requests_per_minute: Some(rpm),
            tokens_per_minute: None,
            allowance: None,
            own_allowance: false,
            tokens: 5,
            now_ms,
        }
    }

    #[test]
    fn a_refusal_holds_for_its_time_and_its_limits_alone() {
        let refused = RefusedIdentities::default();
        let throttled = |limit| Throttled {
            limit,
            retry_after_ms: 100,
            state: bardo_access::Admission::default(),
        };
        refused.note(&request(1_000, 2), &throttled("tokens"));
        assert_eq!(refused.of(&request(1_000, 2)), None);
        refused.note(&request(1_000, 2), &throttled("requests"));
        let left = |now_ms, rpm| Some(refused.of(&request(now_ms, rpm))?.retry_after_ms);
        assert_eq!(left(1_040, 2), Some(60));
        assert_eq!(left(1_100, 2), None);
        refused.note(&request(1_000, 2), &throttled("requests"));
        assert_eq!(left(1_040, 3), None, "the limit was changed");
    }
}
