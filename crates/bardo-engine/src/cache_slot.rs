//! What the cache is asked for a request: its key, its partition, and what an entry is stored with.

use bardo_cache::key::Key;
use bardo_cache::policy::Wish;
use bardo_cache::scope::Namespace;
use bardo_cache::tags::Tags;
use bardo_cache::ttl::{AnswerKind, MarketRegime};
use bardo_types::privacy::SecurityClass;

/// The place of one request in the cache.
#[derive(Debug, Clone)]
pub(crate) struct CacheSlot {
    pub(crate) key: Key,
    pub(crate) namespace: Namespace,
    /// How well the answer has to be kept.
    pub(crate) class: SecurityClass,
    pub(crate) wish: Wish,
    pub(crate) kind: AnswerKind,
    pub(crate) regime: Option<MarketRegime>,
    pub(crate) tags: Tags,
}
