//! The recording of an answer: what passes is noted as it is made, and stored once its request has
//! ended well.

use std::sync::{Arc, Mutex, PoisonError};

use bardo_cache::entry::{CachedAnswer, Fresh};
use bardo_cache::policy::{CacheOffer, Never, may_store};
use bardo_cache::second::{LastFlush, SecondLevel};
use bardo_cache::store::FlushSubject;
use bardo_types::Degradation;
use bardo_types::chat::StreamEvent;
use bardo_types::ids::AccountId;
use bardo_types::privacy::SecurityClass;
use bardo_types::receipt::{Outcome, Receipt};
use tokio::runtime::Handle;

use crate::answer_cache::{AnswerCache, CacheSkip};
use crate::cache_slot::CacheSlot;
use crate::live::{AnswerOrigin, LiveAnswer};
use crate::meaning::{AuditCase, MeaningQuestion};
use crate::output_form::has_form;
use crate::sentences::SentenceVector;
use crate::snapshot::Snapshot;

/// Name of the loss that money limited the length of the answer.
pub(crate) const LIMITED: &str = "max_tokens";

/// Losses that another answer to the request may not have: they come of the moment, or of the choice
/// among backends.
const BY_CHANCE: [&str; 7] = [
    "fallback_backends",
    "model",
    "quality",
    "response_schema",
    "privacy",
    "tee",
    "e2ee",
];

/// Notes one answer, for the cache and for requests that wait for it.
pub(crate) struct Recording {
    live: Arc<LiveAnswer>,
    slot: CacheSlot,
    tenant: AccountId,
    cache: Arc<AnswerCache>,
    /// The model that the request names; `None` where any may answer.
    named: Option<RequestedModel>,
    /// The question by its meaning, where the semantic layer has a part in the request.
    meaning: Mutex<Option<Box<MeaningNote>>>,
}

/// The model that a request names, in its caller's spelling.
pub(crate) struct RequestedModel {
    pub(crate) name: Arc<str>,
    /// The configuration that the name was read under.
    pub(crate) snapshot: Arc<Snapshot>,
}

impl RequestedModel {
    /// Whether the request is meant for `model`, a name of the catalog.
    fn means(&self, model: &str) -> bool {
        let roster = self.snapshot.roster();
        // Where the owner made the name an alias, the model of this very name is a fallback.
        if *self.name == *model && roster.unaliased(model) == model {
            return true;
        }
        let named = roster.resolve(&self.name);
        let named = named.unwrap_or_default();
        named.is_empty() || named.iter().any(|candidate| candidate.entry.id == model)
    }
}

/// What the semantic layer does with an answer once it has ended.
pub(crate) struct MeaningNote {
    pub(crate) question: MeaningQuestion,
    /// `None` where it was not made in time.
    pub(crate) vector: Option<SentenceVector>,
    /// The stored answer that the live one is compared with.
    pub(crate) audit: Option<AuditCase>,
}

impl Recording {
    /// Notes the answer to a request of `tenant` in `live`.
    pub(crate) fn new(
        live: Arc<LiveAnswer>,
        slot: CacheSlot,
        tenant: AccountId,
        cache: Arc<AnswerCache>,
        named: Option<RequestedModel>,
    ) -> Self {
        let most = cache.store().limits().entry_bytes;
        live.keep_at_most(usize::try_from(most).unwrap_or(usize::MAX));
        Self {
            live,
            slot,
            tenant,
            cache,
            named,
            meaning: Mutex::default(),
        }
    }

    /// Notes what the semantic layer does with the answer.
    pub(crate) fn note_meaning(&self, note: MeaningNote) {
        let mut meaning = self.meaning.lock().unwrap_or_else(PoisonError::into_inner);
        *meaning = Some(Box::new(note));
    }

    /// The place of the request in the cache.
    pub(crate) fn slot(&self) -> &CacheSlot {
        &self.slot
    }

    /// A backend begins to answer.
    pub(crate) fn comes_from(&self, origin: AnswerOrigin) {
        self.live.comes_from(origin);
    }

    /// Notes the next events, as the caller gets them, and takes them out of `events`.
    pub(crate) fn push(&self, events: &mut Vec<StreamEvent>) {
        self.live.push(events);
    }

    /// All of the answer is there.
    pub(crate) fn finish(&self) {
        self.live.finish();
    }

    /// The answer is delivered: its hold or its charge is stored.
    pub(crate) fn begin(&self) {
        self.live.begin();
    }

    /// Stores the answer of a request that has ended, where it may be stored. Answers its lifetime in
    /// milliseconds; `None` where it is not stored.
    pub(crate) fn store(&self, receipt: &Receipt, now_ms: u64) -> Option<u64> {
        let stored = match self.slot.wish.stores() {
            true => self.try_store(receipt, now_ms),
            false => Err(CacheSkip::Never(Never::NoStore)),
        };
        let ttl_ms = stored.as_ref().ok().map(|entry| entry.ttl_ms);
        if self.slot.wish.stores() {
            let lost = stored.as_ref().err().copied();
            self.cache.note_stored(&self.slot.key, lost);
        }
        let mut meaning = self.meaning.lock().unwrap_or_else(PoisonError::into_inner);
        let note = meaning.take();
        drop(meaning);
        let Some(note) = note else {
            return ttl_ms;
        };
        let MeaningNote {
            question,
            vector,
            audit,
        } = *note;
        if let Some(case) = audit {
            self.compare(case, receipt.outcome);
        }
        if let Ok(entry) = stored {
            self.cache.index(entry, question, vector);
        }
        ttl_ms
    }

    /// Compares a stored answer with this one, where it is whole.
    fn compare(&self, case: AuditCase, outcome: Outcome) {
        let meaning = Arc::clone(self.cache.meaning());
        match self
            .live
            .complete()
            .filter(|_| outcome == Outcome::Finished)
        {
            Some((origin, live)) => meaning.judge(case, origin, &live),
            None => meaning.unjudged(&case),
        }
    }

    fn try_store(&self, receipt: &Receipt, now_ms: u64) -> Result<Arc<CachedAnswer>, CacheSkip> {
        let cut = CacheSkip::Never(Never::Cut);
        if receipt.outcome != Outcome::Finished {
            return Err(cut);
        }
        if self.live.is_overgrown() {
            return Err(CacheSkip::Never(Never::TooLarge));
        }
        self.live
            .read_complete(|origin, events| self.offer(receipt, now_ms, origin, events))
            .ok_or(cut)?
    }

    /// Stores a complete answer, where it may be stored.
    fn offer(
        &self,
        receipt: &Receipt,
        now_ms: u64,
        origin: &AnswerOrigin,
        events: &[StreamEvent],
    ) -> Result<Arc<CachedAnswer>, CacheSkip> {
        let routing = receipt.routing.as_deref();
        let schema = routing.and_then(|routing| routing.schema.as_ref());
        may_store(&CacheOffer {
            events,
            usage: receipt.usage.as_ref(),
            matches_schema: schema.and_then(|schema| schema.valid),
        })
        .map_err(CacheSkip::Never)?;
        if !has_form(&self.slot.output, events) {
            return Err(CacheSkip::Never(Never::Invalid));
        }
        let usage = receipt.usage.clone().unwrap_or_default();
        if usage.web_searches.is_some_and(|searches| searches > 0) {
            return Err(CacheSkip::Never(Never::ServerSide));
        }
        if origin.class != self.slot.class || origin.class > SecurityClass::Private {
            return Err(CacheSkip::Never(Never::Private));
        }
        // An answer that ended by itself below its limit has the words of one without a limit,
        // unless the room for thinking was made smaller with the limit.
        let is_limited = receipt.degraded.iter().any(|lost| lost.feature == LIMITED);
        if is_limited && self.slot.thinks {
            return Err(CacheSkip::Circumstances);
        }
        let is_by_chance = |feature: &str| BY_CHANCE.contains(&feature);
        let is_meant = |named: &RequestedModel| named.means(&origin.model);
        if !self.named.as_ref().is_none_or(is_meant)
            || receipt
                .degraded
                .iter()
                .any(|lost| is_by_chance(&lost.feature))
        {
            return Err(CacheSkip::Circumstances);
        }
        let known = self.cache.invalidations();
        let subject = self.slot.subject(&self.tenant);
        let is_flushed = || known.reached_since(self.slot.flushes, &subject);
        if is_flushed() {
            return Err(CacheSkip::Flushed);
        }
        let entry = self
            .cache
            .store()
            .insert(Fresh {
                key: self.slot.key,
                namespace: self.slot.namespace,
                tenant: self.tenant.clone(),
                events,
                model: Arc::clone(&origin.model),
                provider: Arc::clone(&origin.backend),
                usage,
                cost: receipt.cost().unwrap_or_default(),
                class: self.slot.class,
                kind: self.slot.kind,
                regime: self.slot.regime,
                tags: self.slot.tags.clone(),
                degraded: lasting(&receipt.degraded),
                now_ms,
            })
            .map_err(CacheSkip::Never)?;
        // A flush between the look and the insertion did not find the entry.
        if is_flushed() {
            self.cache.store().remove(&entry.key);
            return Err(CacheSkip::Flushed);
        }
        if let (Some(second), Ok(runtime)) = (self.cache.second(), Handle::try_current()) {
            let (second, entry) = (Arc::clone(second), Arc::clone(&entry));
            let (heard, flushes) = (self.slot.heard, self.slot.flushes);
            let cache = Arc::clone(&self.cache);
            runtime.spawn(async move {
                let Some(last) = last_flush(&*second, &entry, heard).await else {
                    return;
                };
                // The flushes of this process are not among the news, and `last` counts them.
                let subject = FlushSubject::of(&entry);
                if cache.invalidations().reached_since(flushes, &subject) {
                    return;
                }
                // A loss is counted there and costs a miss.
                let _ = second.put(&entry, entry.ttl_ms, last).await;
            });
        }
        Ok(entry)
    }
}

/// The last flush of all processes, if none of those after `heard` would have removed an
/// answer. In the level behind, nothing would remove the answer again.
async fn last_flush(
    second: &dyn SecondLevel,
    entry: &CachedAnswer,
    heard: Option<LastFlush>,
) -> Option<LastFlush> {
    // While nothing was heard of other processes, any of their flushes may have reached it.
    let news = second.flushes(Some(heard?)).await.ok()?;
    let subject = FlushSubject::of(entry);
    let is_removed = news.flushes?.iter().any(|flush| flush.reaches(&subject));
    (!is_removed).then_some(news.last)
}

/// The losses that a stored answer has for each caller: it is whole, so its limit is none.
fn lasting(degraded: &[Degradation]) -> Vec<Degradation> {
    let lasting = degraded.iter().filter(|lost| lost.feature != LIMITED);
    lasting.cloned().collect()
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.live.close();
        let meaning = self.meaning.get_mut();
        let note = meaning.unwrap_or_else(PoisonError::into_inner).take();
        // A request that was refused its money, or whose caller left, was never settled.
        if let Some(case) = note.and_then(|note| note.audit) {
            self.cache.meaning().withdrawn(&case);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use bardo_cache::key::Key;
    use bardo_cache::policy::Wish;
    use bardo_cache::scope::Namespace;
    use bardo_cache::store::{Flush, Limits};
    use bardo_cache::tags::Tags;
    use bardo_cache::ttl::AnswerKind;
    use bardo_types::chat::{Finish, OutputFormat};

    use super::*;
    use crate::health::tests::observations::receipt;
    use crate::invalidations::FlushCause;

    fn recorded(cache: &Arc<AnswerCache>, tenant: &AccountId) -> Recording {
        let slot = CacheSlot {
            key: Key::from_bytes([1; 32]),
            namespace: Namespace::tenant(tenant),
            class: SecurityClass::Standard,
            wish: Wish::Default,
            kind: AnswerKind::Static,
            regime: None,
            tags: Tags::default(),
            output: OutputFormat::Text,
            has_profile: false,
            thinks: false,
            flushes: cache.invalidations().count(),
            heard: None,
        };
        let live = Arc::new(LiveAnswer::new());
        let recording = Recording::new(live, slot, tenant.clone(), Arc::clone(cache), None);
        recording.comes_from(AnswerOrigin {
            model: "m".into(),
            backend: "b".into(),
            class: SecurityClass::Standard,
            degraded: Vec::new(),
            price: None,
            is_capped: false,
        });
        recording.begin();
        let text = "An answer of more than ten tokens, which is thus kept.".to_owned();
        recording.push(&mut vec![
            StreamEvent::Text { choice: 0, text },
            StreamEvent::Finish {
                choice: 0,
                reason: Finish::Stop,
                stop_sequence: None,
                details: None,
            },
            StreamEvent::Done,
        ]);
        recording
    }

    #[test]
    fn a_flush_at_the_moment_of_storing_misses_no_entry() {
        let cache = Arc::new(AnswerCache::new(Limits::default(), || None, None));
        let tenant = AccountId::parse("a").unwrap();
        let receipt = receipt(Vec::new(), Outcome::Finished);
        assert!(recorded(&cache, &tenant).store(&receipt, 1).is_some());
        for round in 0..1_000 {
            let recording = recorded(&cache, &tenant);
            let start = Barrier::new(2);
            std::thread::scope(|threads| {
                threads.spawn(|| {
                    start.wait();
                    recording.store(&receipt, 1);
                });
                start.wait();
                cache.invalidations().note(&Flush::All, FlushCause::Chain);
                cache.store().flush(&Flush::All);
            });
            assert_eq!(cache.store().stats().entries, 0, "{round}");
        }
    }
}
