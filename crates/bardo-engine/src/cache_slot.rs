//! What the cache is asked for a request: its key, its partition, and what an entry is stored with.

use bardo_cache::key::Key;
use bardo_cache::policy::Wish;
use bardo_cache::scope::Namespace;
use bardo_cache::second::LastFlush;
use bardo_cache::store::{CacheReader, FlushSubject};
use bardo_cache::tags::Tags;
use bardo_cache::ttl::{AnswerKind, MarketRegime};
use bardo_types::chat::OutputFormat;
use bardo_types::ids::AccountId;
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
    /// The form that the request asks of its answer.
    pub(crate) output: OutputFormat,
    /// The caller is an agent whose profile sets the temperature.
    pub(crate) has_profile: bool,
    /// The request or its profile says how much the model thinks.
    pub(crate) thinks: bool,
    /// Flushes of the process when the request was looked up.
    pub(crate) flushes: u64,
    /// The last flush of all processes that was carried out here by then; `None` where nothing is
    /// heard of other processes.
    pub(crate) heard: Option<LastFlush>,
}

impl CacheSlot {
    /// What a look-up for `tenant` is made with.
    pub(crate) fn reader<'a>(&'a self, tenant: &'a AccountId, now_ms: u64) -> CacheReader<'a> {
        CacheReader {
            tenant,
            namespace: &self.namespace,
            class: self.class,
            regime: self.regime,
            now_ms,
        }
    }

    /// What decides whether a flush reaches the entry that `tenant` pays for.
    pub(crate) fn subject<'a>(&'a self, tenant: &'a AccountId) -> FlushSubject<'a> {
        FlushSubject {
            tenant,
            namespace: &self.namespace,
            kind: self.kind,
            tags: &self.tags,
        }
    }
}
