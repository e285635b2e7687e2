//! The stored answers of a process, with what is counted about them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};
use bardo_cache::entry::CachedAnswer;
use bardo_cache::guard::Signature;
use bardo_cache::key::Key;
use bardo_cache::policy::Never;
use bardo_cache::sealed::Sealer;
use bardo_cache::second::{SecondFetch, SecondLevel};
use bardo_cache::store::{CacheHit, FlushSubject, Limits, Store};
use bardo_cache::ttl::AnswerKind;
use bardo_types::ids::AccountId;
use bardo_types::receipt::Receipt;
use tokio::runtime::Handle;

use crate::cache_policy::CachePolicy;
use crate::cache_slot::CacheSlot;
use crate::invalidations::Invalidations;
use crate::meaning::{MeaningCache, MeaningQuestion, QUESTION_TOKENS};
use crate::sentences::SentenceVector;

/// Why the cache has no part in a request, or does not keep its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheSkip {
    /// The cache is off.
    Off,
    /// The request cannot be read, or goes on with what its provider keeps.
    Unreadable,
    /// The scope of the cache is closed to the caller.
    Scope,
    /// The answer is another one than would be made now: it lacks something by chance, or another
    /// model answered.
    Circumstances,
    /// The entry was flushed while the answer was made.
    Flushed,
    /// A rule of the cache.
    Never(Never),
}

impl CacheSkip {
    /// Every reason, in the order of the counters.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let own = [
            Self::Off,
            Self::Unreadable,
            Self::Scope,
            Self::Circumstances,
            Self::Flushed,
        ];
        own.into_iter().chain(Never::ALL.map(Self::Never))
    }

    /// The name in metrics.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Unreadable => "unreadable",
            Self::Scope => "scope",
            Self::Circumstances => "circumstances",
            Self::Flushed => "flushed",
            Self::Never(never) => never.as_str(),
        }
    }

    /// One sentence for a person.
    pub(crate) const fn explain(self) -> &'static str {
        match self {
            Self::Off => "the cache is off",
            Self::Unreadable => {
                "the request cannot be compared with others: it continues a stored response, or a part of it is \
                unknown"
            }
            Self::Scope => "`cache.scope` allows no stored answers for this caller",
            Self::Circumstances => "the answer lacks something that the next one may have",
            Self::Flushed => "its entry was flushed while the answer was made",
            Self::Never(never) => never.explain(),
        }
    }

    fn place(self) -> usize {
        Self::all().position(|one| one == self).unwrap_or(0)
    }
}

/// Why answers were not stored, each at the place of its key.
type SkipReasons = Vec<Option<(Key, CacheSkip)>>;

/// What the cache did, beside the figures of its store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Requests that got the answer of an identical one while it was made.
    pub followed: u64,
    /// Requests that were served because no backend answered.
    pub last_resorts: u64,
    /// Requests without a part of the cache in them, by reason.
    pub bypassed: Vec<(&'static str, u64)>,
    /// Answers that were not stored, by reason.
    pub unstored: Vec<(&'static str, u64)>,
    /// Invalidations by cause.
    pub invalidations: Vec<(&'static str, u64)>,
}

/// Time for the vector of a question whose answer is stored already. No caller waits for it.
const LEARNING: Duration = Duration::from_secs(10);

/// Why answers about a market are not served while the removals of other processes are unknown.
pub(crate) const NO_NEWS: &str = "no_news";
/// Answers that are looked up for one question of another process.
const ELSEWHERE_MAX: usize = 4;

/// The number of reasons.
const REASONS: usize = 5 + Never::ALL.len();

/// The stored answers of a process.
pub struct AnswerCache {
    store: ArcSwap<Store>,
    /// The limits that the store was made with.
    limits: Mutex<Limits>,
    make_sealer: Box<dyn Fn() -> Option<Sealer> + Send + Sync>,
    second: Option<Arc<dyn SecondLevel>>,
    meaning: Arc<MeaningCache>,
    invalidations: Invalidations,
    followed: AtomicU64,
    last_resorts: AtomicU64,
    bypassed: [AtomicU64; REASONS],
    unstored: [AtomicU64; REASONS],
    /// Why the last answers were not stored, each in the place that its key has.
    reasons: OnceLock<Mutex<SkipReasons>>,
}

/// Requests whose last answer was not stored that are remembered with the reason.
const REMEMBERED: usize = 1_024;

impl AnswerCache {
    /// An empty cache. `make_sealer` makes what encrypts answers of class `private`; without it none
    /// are kept.
    #[must_use]
    pub fn new(
        limits: Limits,
        make_sealer: impl Fn() -> Option<Sealer> + Send + Sync + 'static,
        second: Option<Arc<dyn SecondLevel>>,
    ) -> Self {
        let meaning = Arc::new(MeaningCache::default());
        Self {
            store: ArcSwap::from_pointee(store_of(limits, make_sealer(), &meaning)),
            meaning,
            limits: Mutex::new(limits),
            make_sealer: Box::new(make_sealer),
            second,
            invalidations: Invalidations::default(),
            followed: AtomicU64::new(0),
            last_resorts: AtomicU64::new(0),
            bypassed: std::array::from_fn(|_| AtomicU64::new(0)),
            unstored: std::array::from_fn(|_| AtomicU64::new(0)),
            reasons: OnceLock::new(),
        }
    }

    /// The part that compares questions by their meaning.
    #[must_use]
    pub fn meaning(&self) -> &Arc<MeaningCache> {
        &self.meaning
    }

    /// Takes other settings. Where the limits differ the cache begins anew.
    pub(crate) fn obey(&self, policy: &CachePolicy) {
        self.meaning.obey(&policy.semantic);
        self.limit(policy.limits);
    }

    fn limit(&self, limits: Limits) {
        let mut known = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        if *known != limits {
            *known = limits;
            let store = store_of(limits, (self.make_sealer)(), &self.meaning);
            self.store.store(Arc::new(store));
            self.meaning.clear();
        }
    }

    /// The store of the entries in this process.
    #[must_use]
    pub fn store(&self) -> Guard<Arc<Store>> {
        self.store.load()
    }

    /// What is remembered of invalidations.
    pub(crate) fn invalidations(&self) -> &Invalidations {
        &self.invalidations
    }

    /// The level behind the memory of this process.
    #[must_use]
    pub fn second(&self) -> Option<&Arc<dyn SecondLevel>> {
        self.second.as_ref()
    }

    /// Whether the removals of the other processes behind the second level are known up to a few
    /// seconds ago. Before the first contact no answer goes to that level. While they are unknown,
    /// no stored answer about a market is served.
    #[must_use]
    pub fn knows_removals(&self) -> bool {
        let known = &self.invalidations;
        self.second.is_none() || known.heard().is_some() && known.is_current()
    }

    /// The entry for a request of `tenant`, if it may be served now.
    pub(crate) async fn find(
        &self,
        slot: &CacheSlot,
        tenant: &AccountId,
        now_ms: u64,
    ) -> Option<CacheHit> {
        self.find_of(&slot.key, slot, tenant, now_ms).await
    }

    /// Takes over the answers to a question that other processes learnt, if this caller may have
    /// them, and indexes the first one here.
    pub(crate) async fn adopt_elsewhere(
        &self,
        question: &MeaningQuestion,
        vector: &SentenceVector,
        slot: &CacheSlot,
        tenant: &AccountId,
        now_ms: u64,
    ) {
        let known = self.meaning.elsewhere(question, vector).await;
        let known = known
            .into_iter()
            .filter(|known| !self.meaning.is_refuted(&known.key));
        for known in known.take(ELSEWHERE_MAX) {
            if self
                .find_of(&known.key, slot, tenant, now_ms)
                .await
                .is_some()
            {
                let asked = MeaningQuestion {
                    signature: Signature::of(&known.text),
                    text: known.text,
                    ..question.clone()
                };
                let vector = SentenceVector {
                    vector: known.vector,
                    ..vector.clone()
                };
                self.index_now(known.key, &asked, &vector);
                return;
            }
        }
    }

    /// Whether the removals of other processes are known well enough for a request: one may have
    /// removed an answer about a market, and could not tell.
    pub(crate) fn has_news_for(&self, slot: &CacheSlot) -> bool {
        let is_alone = self.second.is_none();
        is_alone || slot.kind == AnswerKind::Static || self.invalidations.is_current()
    }

    /// The entry of a key, here or in the level behind, if the caller of `slot` may have it now.
    async fn find_of(
        &self,
        key: &Key,
        slot: &CacheSlot,
        tenant: &AccountId,
        now_ms: u64,
    ) -> Option<CacheHit> {
        let reading = slot.reader(tenant, now_ms);
        let Some(second) = &self.second else {
            return self.store().get(key, &reading);
        };
        let store = self.store.load_full();
        if !self.has_news_for(slot) {
            return None;
        }
        if store.holds(key)
            && let Some(hit) = store.get(key, &reading)
        {
            return Some(hit);
        }
        // The level behind may still hold what was removed here. Each flush is untold before it
        // counts, so none is missed between the two.
        let known = &self.invalidations;
        let flushes = known.count();
        let untold = known.untold.all();
        let is_removed = |entry: &CachedAnswer| {
            let subject = FlushSubject::of(entry);
            untold.iter().any(|flush| flush.reaches(&subject))
                || known.reached_since(flushes, &subject)
        };
        if let SecondFetch::Entry(entry) = second.get(key).await
            && !is_removed(&entry)
            && let Some(hit) = store.adopt(key, *entry, &reading)
        {
            // A flush just now may not have found it, here or there.
            if !is_removed(&hit.entry) {
                return Some(hit);
            }
            store.remove(key);
        }
        store.get(key, &reading)
    }

    /// Counts what the cache did for a request, as the receipt of the request says it.
    pub(crate) fn count(&self, receipt: &Receipt) {
        let tenant = &receipt.account;
        match &*receipt.cache {
            "miss" => self.store.load().count_miss(tenant),
            _ if receipt.is_found() => {
                let saved = receipt.savings().unwrap_or_default();
                let store = self.store.load();
                store.count_hit(tenant, saved);
                if receipt.cache == "semantic" {
                    store.count_similar(tenant);
                }
            }
            _ => {}
        }
    }

    /// Counts a request of `tenant` that was refused because no answer is stored.
    pub(crate) fn refuse(&self, tenant: &AccountId) {
        self.store.load().count_miss(tenant);
    }

    /// Indexes the question of an answer that was just stored. Without its vector, which came too
    /// late for its request, that is made now, behind it.
    pub(crate) fn index(
        self: &Arc<Self>,
        entry: Arc<CachedAnswer>,
        question: MeaningQuestion,
        vector: Option<SentenceVector>,
    ) {
        self.meaning.renewed(&entry.key);
        if let Some(vector) = vector {
            return self.index_and_share(&entry, &question, &vector);
        }
        if let Ok(runtime) = Handle::try_current() {
            let cache = Arc::clone(self);
            runtime.spawn(async move {
                let text = &question.text;
                let made = cache.meaning.vector(text, QUESTION_TOKENS, LEARNING).await;
                if let Ok(vector) = made {
                    cache.index_and_share(&entry, &question, &vector);
                }
            });
        }
    }

    fn index_and_share(
        self: &Arc<Self>,
        entry: &Arc<CachedAnswer>,
        question: &MeaningQuestion,
        vector: &SentenceVector,
    ) {
        let key = entry.key;
        self.index_now(key, question, vector);
        let cache = Arc::clone(self);
        let is_stored = move || cache.answers_others(&key);
        self.meaning.share(entry, question, vector, is_stored);
    }

    fn index_now(&self, key: Key, question: &MeaningQuestion, vector: &SentenceVector) {
        self.meaning.insert(key, question, vector);
        if !self.answers_others(&key) {
            self.meaning.remove(&key);
        }
    }

    /// Whether the answer may serve other questions. The store may have lost it since it was stored,
    /// or an audit may have disagreed with it.
    fn answers_others(&self, key: &Key) -> bool {
        self.store.load().holds(key) && !self.meaning.is_refuted(key)
    }

    /// Counts a request that the cache has no part in.
    pub(crate) fn bypass(&self, skip: CacheSkip) {
        self.bypassed[skip.place()].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an answer that was to be stored; `skip` is the reason why it is not. The reason is
    /// remembered for the next request with the same key.
    pub(crate) fn note_stored(&self, key: &Key, skip: Option<CacheSkip>) {
        if let Some(skip) = skip {
            self.unstored[skip.place()].fetch_add(1, Ordering::Relaxed);
            self.reasons
                .get_or_init(|| Mutex::new(vec![None; REMEMBERED]));
        }
        if let Some(reasons) = self.reasons.get() {
            let mut reasons = reasons.lock().unwrap_or_else(PoisonError::into_inner);
            reasons[remembered_at(key)] = skip.map(|skip| (*key, skip));
        }
    }

    /// Why the last answer to a request was not stored; `None` where that is not known.
    pub(crate) fn unstored_because(&self, key: &Key) -> Option<CacheSkip> {
        let reasons = self.reasons.get()?;
        let known = reasons.lock().unwrap_or_else(PoisonError::into_inner)[remembered_at(key)];
        known.filter(|(of, _)| of == key).map(|(_, skip)| skip)
    }

    /// Counts a request that got the answer of another one while it was made.
    pub(crate) fn follow(&self) {
        self.followed.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request that was served because no backend answered.
    pub(crate) fn resort(&self) {
        self.last_resorts.fetch_add(1, Ordering::Relaxed);
    }

    /// What was counted so far.
    #[must_use]
    pub fn counts(&self) -> CacheCounts {
        let by_reason = |counters: &[AtomicU64; REASONS]| {
            let counted = counters.iter().map(|one| one.load(Ordering::Relaxed));
            let all = CacheSkip::all().map(CacheSkip::as_str).zip(counted);
            all.filter(|(_, count)| *count > 0).collect()
        };
        CacheCounts {
            followed: self.followed.load(Ordering::Relaxed),
            last_resorts: self.last_resorts.load(Ordering::Relaxed),
            bypassed: by_reason(&self.bypassed),
            unstored: by_reason(&self.unstored),
            invalidations: self.invalidations.counts(),
        }
    }
}

/// The place of a key among those that are remembered.
fn remembered_at(key: &Key) -> usize {
    let [first, second, ..] = *key.as_bytes();
    usize::from(u16::from_be_bytes([first, second])) % REMEMBERED
}

/// A store whose losses the index learns of.
fn store_of(limits: Limits, sealer: Option<Sealer>, meaning: &Arc<MeaningCache>) -> Store {
    let meaning = Arc::clone(meaning);
    Store::new(limits, sealer).telling(move |key| meaning.remove(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_place_and_its_name() {
        let all: Vec<CacheSkip> = CacheSkip::all().collect();
        assert_eq!(all.len(), REASONS);
        for (index, skip) in all.iter().enumerate() {
            assert_eq!(skip.place(), index);
            assert!(!skip.as_str().is_empty() && !skip.explain().is_empty());
        }
    }
}
