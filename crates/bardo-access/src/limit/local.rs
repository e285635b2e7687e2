//! Counters of one process.

use std::hash::BuildHasher as _;
use std::sync::{Mutex, MutexGuard};

use bardo_types::ids::{AccountId, KeyId};
use hashbrown::{DefaultHashBuilder, Equivalent, HashMap};

use super::bucket::{Hour, TokenBucket};
use super::{Admission, LimitRequest, Throttled};
use crate::port::{BoxFuture, LimitStore};

const SHARDS: usize = 16;

/// Counters of one process, in memory. What it counts ends with the process.
///
/// It keeps a bounded number of identities. Those whose buckets are full again are forgotten first,
/// which changes nothing; if that is not enough, the one that was idle longest begins anew.
#[derive(Debug)]
pub struct LocalLimits {
    shards: Vec<Mutex<LimitShard>>,
    hasher: DefaultHashBuilder,
    per_shard: usize,
}

#[derive(Debug, Default)]
struct LimitShard {
    rates: HashMap<Identity, Rates>,
    /// By account, or by key for an allowance of its own.
    hours: HashMap<Identity, Hour>,
}

/// An account, and a key where it has counters of its own.
type Identity = (AccountId, Option<KeyId>);

/// An identity as it is looked up. It hashes like the tuple of both.
#[derive(Hash)]
struct IdentityRef<'a>(&'a AccountId, Option<&'a KeyId>);

impl<'a> IdentityRef<'a> {
    fn of(request: &'a LimitRequest) -> Self {
        Self(&request.account, request.key.as_ref())
    }

    /// The identity whose hour the allowance counts.
    fn of_hour(request: &'a LimitRequest) -> Self {
        Self(&request.account, request.hour_of())
    }

    fn to_owned(&self) -> Identity {
        (self.0.clone(), self.1.cloned())
    }
}

impl Equivalent<Identity> for IdentityRef<'_> {
    fn equivalent(&self, (account, key): &Identity) -> bool {
        self.0 == account && self.1 == key.as_ref()
    }
}

#[derive(Debug)]
struct Rates {
    requests: Option<Rate>,
    tokens: Option<Rate>,
    seen_ms: u64,
}

#[derive(Debug)]
struct Rate {
    limit: u64,
    bucket: TokenBucket,
}

impl Rate {
    /// The bucket of this limit at this time; a new one is full.
    fn of(slot: &mut Option<Self>, limit: u64, now_ms: u64) -> &mut Self {
        let rate = slot.get_or_insert_with(|| Self {
            limit,
            bucket: TokenBucket::full(limit, now_ms),
        });
        // Time that has passed was filled at the old rate until this moment.
        rate.bucket.fill(rate.limit, now_ms);
        if rate.limit != limit {
            rate.limit = limit;
            rate.bucket.fill(limit, now_ms);
        }
        rate
    }

    fn is_full(&mut self, now_ms: u64) -> bool {
        self.bucket.fill(self.limit, now_ms);
        self.bucket.is_full(self.limit)
    }
}

impl Default for LocalLimits {
    fn default() -> Self {
        Self::new(200_000)
    }
}

impl LocalLimits {
    /// Counters for about so many identities at a time.
    #[must_use]
    pub fn new(identities: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: DefaultHashBuilder::default(),
            per_shard: (identities / SHARDS).max(1),
        }
    }

    /// As [`LimitStore::admit`], at once.
    ///
    /// # Errors
    /// When a limit is reached; nothing is taken from any of them then.
    fn admit_now(&self, request: &LimitRequest) -> Result<Admission, Throttled> {
        let now_ms = request.now_ms;
        let mut shard = self.shard(&request.account);
        shard.make_room(self.per_shard, now_ms);
        shard.admit(request, request.tokens, true)
    }

    fn shard(&self, account: &AccountId) -> MutexGuard<'_, LimitShard> {
        // An account's hour and its keys' buckets share a shard, so one lock covers a request.
        let hash = usize::try_from(self.hasher.hash_one(account) & 0xffff)
            .expect("16 bits fit every machine's word");
        self.shards[hash % SHARDS]
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    #[cfg(test)]
    fn identities(&self) -> usize {
        self.shards
            .iter()
            .map(|shard| shard.lock().unwrap().rates.len())
            .sum()
    }
}

impl LimitShard {
    /// As [`LimitStore::refuses`]; an identity without counters is not known to be refused.
    fn refuses(&mut self, request: &LimitRequest) -> Option<Throttled> {
        if !self.rates.contains_key(&IdentityRef::of(request)) {
            return None;
        }
        self.admit(request, 0, false).err()
    }

    /// Lets a request of so many tokens in, or says when it can come. `takes`: it is counted.
    fn admit(
        &mut self,
        request: &LimitRequest,
        tokens: u64,
        takes: bool,
    ) -> Result<Admission, Throttled> {
        let now_ms = request.now_ms;
        // A request larger than a whole minute's worth may go when the bucket is full; the rest is
        // owed once its true size is known.
        let reserved = request
            .tokens_per_minute
            .map_or(tokens, |limit| tokens.min(limit));
        let rates = self
            .rates
            .entry(IdentityRef::of(request).to_owned())
            .or_insert_with(|| Rates {
                requests: None,
                tokens: None,
                seen_ms: now_ms,
            });
        rates.seen_ms = now_ms;
        let mut requests = request
            .requests_per_minute
            .map(|limit| Rate::of(&mut rates.requests, limit.into(), now_ms));
        let mut tokens = request
            .tokens_per_minute
            .map(|limit| Rate::of(&mut rates.tokens, limit, now_ms));
        let mut hour = request.allowance.map(|allowance| {
            let hour = self
                .hours
                .entry(IdentityRef::of_hour(request).to_owned())
                .or_insert_with(|| Hour::new(now_ms));
            hour.turn(now_ms);
            (hour, allowance)
        });

        let wait = |rate: &Option<&mut Rate>, amount| {
            let rate = rate.as_deref()?;
            match (rate.limit, rate.bucket.wait_ms(rate.limit, amount)) {
                // Nothing is let in by a limit of nothing; a minute is as good as any time to ask.
                (0, _) => Some(60_000),
                (_, 0) => None,
                (_, wait) => Some(wait),
            }
        };
        let refusal = [
            ("requests", wait(&requests, 1)),
            ("tokens", wait(&tokens, reserved)),
            (
                "allowance",
                hour.as_ref().and_then(|(hour, allowance)| {
                    (!allowance.overage && hour.left(allowance.tokens) == 0)
                        .then(|| hour.until_next_ms(now_ms))
                }),
            ),
        ]
        .into_iter()
        .filter_map(|(limit, wait)| Some((limit, wait?)))
        .max_by_key(|(_, wait)| *wait);

        if takes && refusal.is_none() {
            if let Some(rate) = &mut requests {
                rate.bucket.take(1);
            }
            if let Some(rate) = &mut tokens {
                rate.bucket.take(reserved);
            }
            if let Some((hour, _)) = &mut hour {
                hour.take(reserved);
            }
        }
        let state = |rate: Option<&mut Rate>| rate.map(|rate| rate.bucket.remaining(rate.limit));
        let state = Admission {
            requests: state(requests),
            tokens: state(tokens),
            allowance: hour.map(|(hour, allowance)| hour.left(allowance.tokens)),
            reserved_tokens: if refusal.is_none() { reserved } else { 0 },
        };
        match refusal {
            None => Ok(state),
            Some((limit, retry_after_ms)) => Err(Throttled {
                limit,
                retry_after_ms,
                state,
            }),
        }
    }

    fn correct(&mut self, request: &LimitRequest, reserved: u64, used: u64, now_ms: u64) {
        if let Some(limit) = request.tokens_per_minute {
            let rates = self
                .rates
                .entry(IdentityRef::of(request).to_owned())
                .or_insert_with(|| Rates {
                    requests: None,
                    tokens: None,
                    seen_ms: now_ms,
                });
            let rate = Rate::of(&mut rates.tokens, limit, now_ms);
            rate.bucket.correct(limit, reserved, used);
        }
        // A request without an allowance took nothing from an hour of another key.
        let counted = request.allowance.map(|_| IdentityRef::of_hour(request));
        if let Some(hour) = counted.and_then(|of| self.hours.get_mut(&of)) {
            hour.turn(now_ms);
            hour.correct(request.now_ms, reserved, used);
        }
    }

    /// Forgets what is full again, and if all is in use, whoever was idle longest.
    fn make_room(&mut self, most: usize, now_ms: u64) {
        if self.rates.len() >= most {
            self.rates.retain(|_, rates| {
                let is_full =
                    |rate: &mut Option<Rate>| rate.as_mut().is_none_or(|rate| rate.is_full(now_ms));
                !(is_full(&mut rates.requests) && is_full(&mut rates.tokens))
            });
            while self.rates.len() >= most {
                let idle = self.rates.iter().min_by_key(|(_, rates)| rates.seen_ms);
                let Some(idle) = idle.map(|(who, _)| who.clone()) else {
                    break;
                };
                self.rates.remove(&idle);
            }
        }
        if self.hours.len() >= most {
            self.hours.retain(|_, hour| !hour.is_over(now_ms));
            // An hour's count is never forgotten before its end: it would be granted twice. There
            // are as many as there are accounts with an allowance.
        }
    }
}

impl LimitStore for LocalLimits {
    fn admit<'a>(
        &'a self,
        request: &'a LimitRequest,
    ) -> BoxFuture<'a, Result<Admission, Throttled>> {
        Box::pin(std::future::ready(self.admit_now(request)))
    }

    fn refuses(&self, request: &LimitRequest) -> Option<Throttled> {
        self.shard(&request.account).refuses(request)
    }

    fn correct(&self, request: &LimitRequest, reserved: u64, used: u64, now_ms: u64) {
        // A correction of nothing leaves the limit in force as it is, as it does in a shared store.
        if reserved != used {
            self.shard(&request.account)
                .correct(request, reserved, used, now_ms);
        }
    }

    fn mode(&self) -> &'static str {
        "local"
    }
}

#[cfg(test)]
mod tests;
