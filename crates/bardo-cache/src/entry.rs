//! One kept answer.

use std::sync::Arc;

use bardo_types::Degradation;
use bardo_types::chat::StreamEvent;
use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;
use bardo_types::privacy::SecurityClass;
use bardo_types::usage::Usage;

use crate::codec::{self, Corrupt};
use crate::key::Key;
use crate::scope::Namespace;
use crate::tags::Tags;
use crate::ttl::{AnswerKind, Lifetimes, MarketRegime};

/// What the store, its indexes and the allocator take for an entry beside its own bytes, measured
/// with a store full of the smallest answers.
const INDEXED_BYTES: usize = 400;
/// What a tag takes: its text, and its place in the index.
const TAG_BYTES: usize = 128;

/// A complete answer, as it is offered to the cache.
#[derive(Debug, Clone)]
pub struct Fresh<'a> {
    /// Key of the request.
    pub key: Key,
    /// Partition that the key was made for.
    pub namespace: Namespace,
    /// Account that paid.
    pub tenant: AccountId,
    /// The answer, event by event, as it was streamed, from [`StreamEvent::Start`] to
    /// [`StreamEvent::Done`]. Neighbors are never joined: a replay keeps the chunks.
    pub events: &'a [StreamEvent],
    /// The model that answered, by its id in the catalog.
    pub model: Arc<str>,
    /// The backend that answered.
    pub provider: Arc<str>,
    /// What the provider counted.
    pub usage: Usage,
    /// The cost of the answer when it was made, in micro-USD.
    pub cost: MicroUsd,
    /// Effective class of the request.
    pub class: SecurityClass,
    /// What the lifetime depends on.
    pub kind: AnswerKind,
    /// Regime of the account when the answer came.
    pub regime: Option<MarketRegime>,
    /// What the answer depends on.
    pub tags: Tags,
    /// What the answer lacks of what was asked for.
    pub degraded: Vec<Degradation>,
    /// When the answer was complete, in Unix milliseconds.
    pub now_ms: u64,
}

/// A kept answer. The events are kept as compact bytes, so that its size is known exactly.
#[derive(Debug, Clone, PartialEq)]
pub struct CachedAnswer {
    /// Key of the request.
    pub key: Key,
    /// Partition that the entry belongs to.
    pub namespace: Namespace,
    /// Account that paid.
    pub tenant: AccountId,
    /// The model that answered, by its id in the catalog.
    pub model: Arc<str>,
    /// The backend that answered.
    pub provider: Arc<str>,
    /// What the provider counted. A hit shows it and charges nothing for it.
    pub usage: Usage,
    /// The cost of the answer when it was made, in micro-USD.
    pub cost: MicroUsd,
    /// Effective class of the request.
    pub class: SecurityClass,
    /// What the lifetime depends on.
    pub kind: AnswerKind,
    /// What the answer depends on.
    pub tags: Tags,
    /// What the answer lacks of what was asked for.
    pub degraded: Vec<Degradation>,
    /// When the answer was complete, in Unix milliseconds.
    pub created_ms: u64,
    /// Lifetime by the regime at that time, in milliseconds.
    pub ttl_ms: u64,
    pub(crate) answer: Arc<[u8]>,
}

impl CachedAnswer {
    /// The entry of a complete answer, with its lifetime by `lifetimes`.
    #[must_use]
    pub fn new(fresh: Fresh<'_>, lifetimes: &Lifetimes) -> Self {
        let ttl_ms = lifetimes.under(fresh.kind, fresh.class, fresh.regime);
        Self {
            key: fresh.key,
            namespace: fresh.namespace,
            tenant: fresh.tenant,
            model: fresh.model,
            provider: fresh.provider,
            usage: fresh.usage,
            cost: fresh.cost,
            class: fresh.class,
            kind: fresh.kind,
            tags: fresh.tags,
            degraded: fresh.degraded,
            created_ms: fresh.now_ms,
            ttl_ms,
            answer: codec::write_events(fresh.events).into(),
        }
    }

    /// The answer, event by event, with the chunks of the original.
    ///
    /// # Errors
    /// When the bytes are no answer, which only a second level can cause.
    pub fn events(&self) -> Result<Vec<StreamEvent>, Corrupt> {
        codec::read_events(&self.answer)
    }

    /// Age at `now_ms`, in milliseconds; 0 where the clock stepped back.
    #[must_use]
    pub const fn age_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.created_ms)
    }

    /// Milliseconds that the entry may still be served under the regime of the reader; 0 once it
    /// expired, and where it was made in the future.
    #[must_use]
    pub fn left_ms(&self, lifetimes: &Lifetimes, regime: Option<MarketRegime>, now_ms: u64) -> u64 {
        if now_ms < self.created_ms {
            return 0;
        }
        let now_allowed = lifetimes.under(self.kind, self.class, regime);
        self.ttl_ms
            .min(now_allowed)
            .saturating_sub(self.age_ms(now_ms))
    }

    /// Bytes that the entry takes, its places in the store and its indexes included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let tags = self.tags.each().count();
        let names = self.tenant.as_str().len() + self.model.len() + self.provider.len();
        let texts = self.answer.len() + names;
        let lost: usize = self
            .degraded
            .iter()
            .map(|lost| size_of::<Degradation>() + lost.feature.len() + lost.detail.len())
            .sum();
        size_of::<Self>() + INDEXED_BYTES + texts + lost + TAG_BYTES * tags
    }
}
