//! The recording of an answer: what passes is noted as it is made, and stored once its request has
//! ended well.

use std::sync::{Arc, Mutex, PoisonError};

use bardo_cache::entry::{CachedAnswer, Fresh};
use bardo_cache::policy::{CacheOffer, Never, may_store};
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
use crate::sentences::SentenceVector;
use crate::snapshot::Snapshot;

/// Name of the loss that money limited the length of the answer.
const LIMITED: &str = "max_tokens";

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
    /// Whether the request is meant for `model`, a name of the catalog. A name that the gateway
    /// chooses a model for means each of them.
    fn means(&self, model: &str) -> bool {
        // A name that stands for another model gets this one as a fallback alone, which is a loss.
        if *self.name == *model {
            return true;
        }
        let named = self.snapshot.roster().resolve(&self.name);
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

    /// The answer will be delivered.
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
        if known.reached_since(self.slot.flushes, &self.slot.subject(&self.tenant)) {
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
        if let (Some(second), Ok(runtime)) = (self.cache.second(), Handle::try_current()) {
            let (second, entry) = (Arc::clone(second), Arc::clone(&entry));
            runtime.spawn(async move {
                // A loss is counted there and costs a miss.
                let _ = second.put(&entry, entry.ttl_ms).await;
            });
        }
        Ok(entry)
    }
}

/// The losses that a stored answer has for each caller: it is whole, so its limit is none.
fn lasting(degraded: &[Degradation]) -> Vec<Degradation> {
    let lasting = degraded.iter().filter(|lost| lost.feature != LIMITED);
    lasting.cloned().collect()
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.live.close();
    }
}
