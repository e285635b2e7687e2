//! The stage between plan and hold: looks for an answer to the same question in other words.
//!
//! It has a part in requests that asked for it, by hint, key or tier, and that the hash layer
//! records. The answer is taken from the store of that layer, so nothing is served here that it
//! would not keep. A missing, slow or broken embedder is a reported skip, and the request goes on.

use std::sync::Arc;
use std::time::Duration;

use bardo_access::CachePermission;
use bardo_cache::guard::{Mismatch, Signature};
use bardo_cache::key::{KeySource, Steering};
use bardo_cache::policy::Wish;
use bardo_cache::semantic::{AuditDecision, Domain, Nearest, context};
use bardo_cache::store::CacheHit;
use bardo_types::hints::RouteHints;
use bardo_types::money::MicroUsd;
use bardo_types::privacy::SecurityClass;
use tokio::sync::oneshot;

use crate::answer_cache::NO_NEWS;
use crate::cache_slot::CacheSlot;
use crate::caching::{is_golem, key_scope, may_have, settings};
use crate::call::Call;
use crate::engine::Engine;
use crate::lookup::{FoundAnswer, FoundBody, FoundHit, Lookup, find};
use crate::meaning::{AuditCase, LiveTwin, MeaningQuestion, QUESTION_TOKENS, text_of};
use crate::plan::Planned;
use crate::receipt_builder::{Passed, Served};
use crate::recording::MeaningNote;
use crate::sentences::SentenceVector;
use crate::stores::{Asked, StoredBody};

/// Entries that are tried where the store lost the nearest ones.
const TRIES: usize = 4;
/// The part of an agent that thinks at length about single decisions.
const DELIBERATION: &str = "heartbeat_t2";

/// An audit, and where its second live answer is sent, if it has one.
type OrderedAudit = (AuditCase, Option<oneshot::Sender<LiveTwin>>);

/// Why the semantic layer has no part in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MeaningSkip {
    /// Neither the request nor its key nor its tier asks for it.
    NotAsked,
    /// Another reason, by its name.
    Named(&'static str),
}

/// The result of a search.
pub(crate) enum Similar {
    /// A stored answer to the same question.
    Hit { hit: CacheHit, similarity: f32 },
    /// The guard refused the nearest question.
    Guarded { similarity: f32, mismatch: Mismatch },
    /// No question is near enough; the cosine of the nearest one.
    Far(Option<f32>),
    /// The caller may not use the model or the backend of the answer.
    Closed,
    /// The answer to the same question is too old for this reader, and the store still has it.
    Expired { similarity: f32 },
    /// Nothing is compared: other processes may have removed the answers, and cannot tell.
    Unknown,
}

impl Engine {
    /// Looks for an answer to a request of the same meaning.
    ///
    /// Where a would-be hit is audited with a second live answer, that is what the sender wants.
    pub(crate) async fn semantic_lookup(
        &self,
        mut planned: Planned,
    ) -> (Lookup<Planned>, Option<oneshot::Sender<LiveTwin>>) {
        let asked = Asked {
            call: planned.call(),
            class: planned.class(),
        };
        let is_on =
            !self.stores.by_meaning.is_empty() || asked.call.snapshot().cache.semantic.enabled;
        let mut twin = None;
        let found = match find(&self.stores.by_meaning, asked, "semantic").await {
            Some(found) => Some(found),
            None => self.similar(&mut planned, &mut twin).await,
        };
        match is_on {
            true => planned.passed(Passed::SemanticLookup),
            false => planned.skipped(Passed::SemanticLookup),
        }
        let found = match found {
            Some(found) => {
                let (mut limited, _) = planned.into_parts();
                limited.stop_recording();
                Lookup::Hit(FoundHit::of(limited, found))
            }
            None => Lookup::Miss(planned),
        };
        (found, twin)
    }

    /// Searches the stored questions, and leaves a note for the end of the request where none is
    /// served.
    async fn similar(
        &self,
        planned: &mut Planned,
        twin: &mut Option<oneshot::Sender<LiveTwin>>,
    ) -> Option<FoundAnswer> {
        let recording = Arc::clone(planned.limited_mut().recording()?);
        let slot = recording.slot();
        let question = match self.question(planned.call(), slot, planned.class()) {
            Ok(question) => question,
            Err(MeaningSkip::NotAsked) => return None,
            Err(MeaningSkip::Named(reason)) => {
                self.cache.meaning().skip(reason);
                planned.limited_mut().cache_reason(reason);
                return None;
            }
        };
        let mut note = MeaningNote {
            question,
            vector: None,
            audit: None,
        };
        if slot.wish.serves() {
            let deadline = planned.call().snapshot().cache.semantic.deadline;
            match self.embedded(&note.question, deadline).await {
                Ok(vector) => {
                    self.learn_elsewhere(planned.call(), slot, &note.question, &vector)
                        .await;
                    match self.decided(planned, slot, &note.question, &vector) {
                        Ok(found) => return Some(found),
                        Err(audit) => {
                            note.audit = audit.map(|(case, sender)| {
                                *twin = sender;
                                case
                            })
                        }
                    }
                    note.vector = Some(vector);
                }
                Err(reason) => {
                    self.cache.meaning().skip(reason);
                    planned.limited_mut().cache_reason(reason);
                }
            }
        }
        recording.note_meaning(note);
        None
    }

    /// Takes over the answer to a question that another process learnt, where none is known here.
    pub(crate) async fn learn_elsewhere(
        &self,
        call: &Call,
        slot: &CacheSlot,
        question: &MeaningQuestion,
        vector: &SentenceVector,
    ) {
        let meaning = self.cache.meaning();
        if !meaning.is_shared()
            || matches!(meaning.search(question, vector, &[]), Nearest::Hit { .. })
        {
            return;
        }
        let (tenant, now_ms) = (&call.principal().account, self.services.clock.now_ms());
        self.cache
            .adopt_elsewhere(question, vector, slot, tenant, now_ms)
            .await;
    }

    /// The answer to serve, or the audit that is made in its place, if any.
    fn decided(
        &self,
        planned: &mut Planned,
        slot: &CacheSlot,
        question: &MeaningQuestion,
        vector: &SentenceVector,
    ) -> Result<FoundAnswer, Option<OrderedAudit>> {
        let meaning = self.cache.meaning();
        let (hit, similarity) = match self.nearest(planned.call(), slot, question, vector) {
            Similar::Hit { hit, similarity } => (hit, similarity),
            miss => {
                match &miss {
                    Similar::Guarded { mismatch, .. } => meaning.guarded(mismatch.class()),
                    _ => meaning.miss(),
                }
                planned
                    .limited_mut()
                    .cache_reason(miss.reason(question.threshold));
                return Err(None);
            }
        };
        let (entry, domain) = (&hit.entry, question.domain);
        let Ok(events) = entry.events() else {
            return Err(None);
        };
        let now_ms = self.services.clock.now_ms();
        let request = planned.call().request_id();
        match meaning.decide(question, request, now_ms) {
            AuditDecision::Serve => {}
            AuditDecision::Audit { twice } => {
                planned.limited_mut().cache_reason("audit");
                let (sender, receiver) = oneshot::channel();
                let case = AuditCase {
                    domain,
                    account: planned.call().principal().account.clone(),
                    tenant: question.tenant,
                    key: entry.key,
                    stored: text_of(&events),
                    twin: twice.then_some(receiver),
                };
                return Err(Some((case, twice.then_some(sender))));
            }
            AuditDecision::Miss => {
                meaning.stopped(domain);
                planned.limited_mut().cache_reason("stopped");
                return Err(None);
            }
        }
        meaning.hit(domain);
        Ok(FoundAnswer {
            body: FoundBody::Stored(StoredBody::Events(events)),
            served: Served {
                class: entry.class,
                layer: "semantic",
                model: Arc::clone(&entry.model),
                backend: Some(Arc::clone(&entry.provider)),
                usage: Some(entry.usage.clone()),
                degraded: entry.degraded.clone(),
                charge: MicroUsd::ZERO,
                cost: Some(entry.cost),
                price: None,
                age: Some(Duration::from_millis(hit.age_ms)),
                similarity: Some(thousandths(similarity)),
                is_shared: false,
            },
        })
    }

    /// The question of a request, where the semantic layer has a part in it.
    ///
    /// # Errors
    /// Why it has none.
    pub(crate) fn question(
        &self,
        call: &Call,
        slot: &CacheSlot,
        class: SecurityClass,
    ) -> Result<MeaningQuestion, MeaningSkip> {
        let policy = &call.snapshot().cache;
        let silent = RouteHints::default();
        let hints = call.hints().route.as_deref().unwrap_or(&silent);
        let domain = Domain::of(hints.domain.as_deref());
        if !is_asked(call, slot, domain) {
            return Err(MeaningSkip::NotAsked);
        }
        if !policy.semantic.enabled {
            return Err(MeaningSkip::Named("semantic_off"));
        }
        if slot.class > SecurityClass::Standard || class > SecurityClass::Standard {
            return Err(MeaningSkip::Named("private"));
        }
        let part = hints.subsystem.as_deref();
        let Some(least) = domain.threshold().filter(|_| part != Some(DELIBERATION)) else {
            return Err(MeaningSkip::Named("critical"));
        };
        let request = call
            .request_body()
            .request(&self.memory)
            .map_err(|_| MeaningSkip::Named("unreadable"))?;
        if !request.tools.is_empty() {
            return Err(MeaningSkip::Named("tools"));
        }
        if call.request_body().unread(&self.memory).is_some() {
            return Err(MeaningSkip::Named("unread_members"));
        }
        let (context, text) = context(&KeySource {
            request: &request,
            hints,
            steering: Steering::Raw,
            namespace: &slot.namespace,
            class: slot.class,
            settings: &settings(call, policy),
            enrichment: &[],
            unread: &[],
            ephemeral: &call.hints().ephemeral,
        })
        .ok_or(MeaningSkip::Named("no_question"))?;
        let signature = Signature::of(&text);
        if let Some(mismatch) = signature.unusable() {
            return Err(MeaningSkip::Named(mismatch.class()));
        }
        Ok(MeaningQuestion {
            context,
            domain,
            text,
            signature,
            tenant: self.cache.meaning().tenant(&call.principal().account),
            threshold: least.max(policy.semantic.min_similarity),
        })
    }

    /// The vector of a question.
    ///
    /// # Errors
    /// Why there is none, in one word.
    pub(crate) async fn embedded(
        &self,
        question: &MeaningQuestion,
        at_most: Duration,
    ) -> Result<SentenceVector, &'static str> {
        let meaning = self.cache.meaning();
        meaning
            .vector(&question.text, QUESTION_TOKENS, at_most)
            .await
    }

    /// The stored answer to the nearest question, or why there is none.
    pub(crate) fn nearest(
        &self,
        call: &Call,
        slot: &CacheSlot,
        question: &MeaningQuestion,
        vector: &SentenceVector,
    ) -> Similar {
        let (meaning, store) = (self.cache.meaning(), self.cache.store());
        if !self.cache.has_news_for(slot) {
            return Similar::Unknown;
        }
        let now_ms = self.services.clock.now_ms();
        let reader = slot.reader(&call.principal().account, now_ms);
        let (mut expired, mut nearest) = (Vec::new(), None);
        for _ in 0..TRIES {
            match meaning.search(question, vector, &expired) {
                Nearest::Hit { key, similarity } => match store.get(&key, &reader) {
                    Some(hit) if !may_have(call, &hit.entry.model, &hit.entry.provider) => {
                        return Similar::Closed;
                    }
                    Some(hit) => return Similar::Hit { hit, similarity },
                    // Another reader may have it, or the store has not removed it yet.
                    None if store.holds(&key) => {
                        expired.push(key);
                        nearest.get_or_insert(similarity);
                    }
                    None => meaning.remove(&key),
                },
                Nearest::Guarded { .. } if nearest.is_some() => break,
                Nearest::Guarded {
                    similarity,
                    mismatch,
                    ..
                } => {
                    return Similar::Guarded {
                        similarity,
                        mismatch,
                    };
                }
                Nearest::Miss => break,
            }
        }
        match nearest {
            Some(similarity) => Similar::Expired { similarity },
            None => Similar::Far(meaning.closest(question, vector)),
        }
    }
}

impl Similar {
    /// Why nothing is served, without words of the request: for headers and receipts.
    pub(crate) fn reason(&self, threshold: f32) -> String {
        match self {
            Self::Hit { .. } => "hit".to_owned(),
            Self::Guarded { mismatch, .. } => format!("guard: {}", mismatch.class()),
            Self::Far(Some(closest)) => {
                format!(
                    "similarity {} below {threshold:.3}",
                    similarity_text(*closest)
                )
            }
            Self::Far(None) => "no_entry".to_owned(),
            Self::Closed => "scope".to_owned(),
            Self::Expired { .. } => "expired".to_owned(),
            Self::Unknown => NO_NEWS.to_owned(),
        }
    }
}

/// Whether a request, its key or its tier asks for the semantic layer.
fn is_asked(call: &Call, slot: &CacheSlot, domain: Domain) -> bool {
    let policy = &call.snapshot().cache.semantic;
    if slot.wish == Wish::Semantic {
        return true;
    }
    // A new answer is not looked for, and indexed as one that is.
    if !matches!(call.hints().cache, None | Some(Wish::NoCache)) {
        return false;
    }
    match key_scope(call) {
        Some(CachePermission::Semantic) => true,
        Some(CachePermission::Off | CachePermission::Default) => false,
        None => slot.has_profile && is_golem(call) && policy.golem_domains.contains(&domain),
    }
}

/// A cosine in thousandths.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and 1,000 after the clamp"
)]
pub(crate) fn thousandths(cosine: f32) -> u16 {
    (cosine.clamp(0.0, 1.0) * 1_000.0).round() as u16
}

/// A similarity with three digits. The rest is cut off, not rounded: one below a threshold of 0.900
/// must not read as 0.900.
pub(crate) fn similarity_text(similarity: f32) -> String {
    let rounded = thousandths(similarity);
    let is_above = f32::from(rounded) / 1_000.0 > similarity;
    let cut = rounded - u16::from(is_above && rounded > 0);
    format!("{:.3}", f32::from(cut) / 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_similarity_below_a_threshold_reads_as_one_below_it() {
        for threshold in 850_u16..1_000 {
            let threshold = f32::from(threshold) / 1_000.0;
            assert_eq!(similarity_text(threshold), format!("{threshold:.3}"));
            let below = similarity_text(threshold.next_down());
            assert!(below < format!("{threshold:.3}"), "{below}");
        }
        assert_eq!(similarity_text(1.000_1), "1.000");
    }
}
