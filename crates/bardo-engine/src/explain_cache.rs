//! Why a request would get a stored answer or none, without asking anybody
//! (`POST /v1/cache/explain`).

use std::time::Duration;

use bardo_cache::policy::{Never, server_side_member};
use bardo_cache::semantic::AuditReport;
use bardo_cache::tags::Tags;
use bardo_router::Router;
use bardo_types::privacy::SecurityClass;
use bardo_wire::codec::BadRequest;

use crate::answer_cache::{CacheSkip, NO_NEWS};
use crate::cache_slot::CacheSlot;
use crate::caching::{may_have, slot_of};
use crate::call::Call;
use crate::engine::Engine;
use crate::engine_future::EngineFuture;
use crate::error::EngineError;
use crate::leg::Grant;
use crate::received::Received;
use crate::shape::shape;
use crate::similar::{MeaningSkip, Similar, similarity_text, thousandths};

const WHY_NO_NEWS: &str = "answers about a market are not served while it is unknown what other \
    processes removed: the level behind does not answer";
/// What is said of a request that asks for a new answer.
const NO_CACHE: &str = "no_cache";
const WHY_NO_CACHE: &str = "the request says `no-cache`, so it gets a new answer";
/// Time for the vector of a question that is explained.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the cache would do with a request.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplainedCache {
    /// The answer to the identical request.
    pub hash: ExplainedHash,
    /// The answer to the same question in other words; `None` where the hash layer has no part in
    /// the request.
    pub semantic: Option<ExplainedMeaning>,
    /// What an answer depends on, so that a removal finds it; `None` where the hash layer has no
    /// part in the request.
    pub tags: Option<Tags>,
}

/// What the hash layer would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedHash {
    /// `hit`, `no_entry`, `expired`, `scope`, or the reason why the layer has no part in the
    /// request, or did not store its last answer.
    pub result: &'static str,
    /// The layer has a part in the request.
    pub eligible: bool,
    /// One sentence for a person.
    pub reason: String,
    /// The member of the request that decided; `None` where there is none.
    pub member: Option<String>,
    /// Age of the answer; `None` where none would be served.
    pub age: Option<Duration>,
}

/// What the semantic layer would do.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplainedMeaning {
    /// `hit`, `no_entry`, `expired`, `similarity`, `guard`, `scope`, `stopped`, or the reason why the
    /// layer has no part in the request.
    pub result: &'static str,
    /// The layer has a part in the request.
    pub eligible: bool,
    /// One sentence for a person. It may quote words of the request and of a stored one.
    pub reason: String,
    /// The domain of the request; empty where the layer has no part in it.
    pub domain: &'static str,
    /// Cosine of the nearest question in thousandths; `None` where there is none.
    pub similarity: Option<u16>,
    /// The least cosine of a hit in thousandths; `None` where the layer has no part.
    pub threshold: Option<u16>,
    /// The evidence of the domain; `None` where the layer has no part.
    pub evidence: Option<AuditReport>,
}

impl Engine {
    /// Looks a request up as for an answer, and says what was found. Nothing is asked, counted or
    /// charged.
    ///
    /// # Errors
    /// When the body is malformed, no backend has the model, or the model has no answers to store.
    pub fn explain_cache(
        &self,
        received: Received,
    ) -> EngineFuture<'_, Result<ExplainedCache, EngineError>> {
        Box::pin(self.found_in_cache(received))
    }

    async fn found_in_cache(&self, received: Received) -> Result<ExplainedCache, EngineError> {
        let call = self.read(received)?;
        let class = self.refuse_hopeless(&call)?;
        let mut slot = match slot_of(&call, &self.memory) {
            Ok(slot) => slot,
            Err(skip) => {
                let hash = self.left_out(&call, skip);
                return Ok(ExplainedCache {
                    hash,
                    semantic: None,
                    tags: None,
                });
            }
        };
        self.set_regime_of(&call, &mut slot);
        let tags = Some(slot.tags.clone());
        if !slot.wish.serves() {
            return Ok(ExplainedCache {
                hash: ExplainedHash {
                    result: NO_CACHE,
                    eligible: true,
                    reason: WHY_NO_CACHE.to_owned(),
                    member: Some("bardo.cache".to_owned()),
                    age: None,
                },
                semantic: Some(ExplainedMeaning::without(NO_CACHE)),
                tags,
            });
        }
        // Another process may have stored it.
        let (tenant, now_ms) = (&call.principal().account, self.services.clock.now_ms());
        let _ = self.cache.find(&slot, tenant, now_ms).await;
        let hash = self.found_by_hash(&call, &slot);
        let semantic = Some(self.found_by_meaning(&call, &slot, class).await);
        Ok(ExplainedCache {
            hash,
            semantic,
            tags,
        })
    }

    /// Refuses a request that nothing is ever stored for, as a real one is refused: its model is
    /// unknown or has no answers, or its first backend could not read it. Else answers how well its
    /// answer has to be kept.
    fn refuse_hopeless(&self, call: &Call) -> Result<SecurityClass, EngineError> {
        let plan = match self.plan_for(call, &mut Router::route) {
            Ok(plan) => plan,
            Err(EngineError::NoOperation { model, .. }) => return Err(no_answers(&model)),
            Err(error @ EngineError::NoRoute(_)) => return Err(error),
            Err(error) if error.is_unreadable() => return Err(error),
            Err(_) => return Ok(SecurityClass::default()),
        };
        let Some(leg) = plan.legs().first() else {
            return Ok(SecurityClass::default());
        };
        match shape(call, leg, Grant::default(), plan.said(), &self.memory) {
            Err(error) if error.is_unreadable() => Err(error),
            Ok(_) | Err(_) => Ok(leg.effective_class()),
        }
    }

    fn left_out(&self, call: &Call, skip: CacheSkip) -> ExplainedHash {
        ExplainedHash {
            result: skip.as_str(),
            eligible: false,
            reason: skip.explain().to_owned(),
            member: self.member(call, skip),
            age: None,
        }
    }

    /// The member of a request that keeps the cache from having a part in it.
    fn member(&self, call: &Call, skip: CacheSkip) -> Option<String> {
        let CacheSkip::Never(never) = skip else {
            return None;
        };
        let name = match never {
            Never::NoStore => "bardo.cache",
            Never::NotAsked if call.top().get("temperature").is_none() => return None,
            Never::NotAsked | Never::Warm => "temperature",
            Never::Several => "n",
            Never::Creative | Never::Critical => "bardo.subsystem",
            Never::Private => "bardo.security_class",
            Never::Spoken => "modalities",
            Never::ServerSide => {
                let request = call.request_body().request(&self.memory).ok()?;
                return server_side_member(&request).map(str::to_owned);
            }
            _ => return None,
        };
        Some(name.to_owned())
    }

    fn found_by_hash(&self, call: &Call, slot: &CacheSlot) -> ExplainedHash {
        let store = self.cache.store();
        let now_ms = self.services.clock.now_ms();
        let reader = slot.reader(&call.principal().account, now_ms);
        let found = store.get(&slot.key, &reader);
        let (result, reason, age) = match found {
            _ if !self.cache.has_news_for(slot) => (NO_NEWS, WHY_NO_NEWS.to_owned(), None),
            Some(hit) if may_have(call, &hit.entry.model, &hit.entry.provider) => {
                let age = Duration::from_millis(hit.age_ms);
                let left = hit.left_ms / 1_000;
                let reason = format!(
                    "an answer to the identical request is stored, {} s old; it expires in {left} s",
                    age.as_secs()
                );
                ("hit", reason, Some(age))
            }
            Some(_) => (
                "scope",
                "an answer is stored, and the key may not use its model or backend".to_owned(),
                None,
            ),
            None if store.holds(&slot.key) => {
                ("expired", "the stored answer has expired".to_owned(), None)
            }
            None => match self.cache.unstored_because(&slot.key) {
                Some(skip) => {
                    let why = skip.explain();
                    let reason = format!("the last answer to this request was not stored: {why}");
                    (skip.as_str(), reason, None)
                }
                None => (
                    "no_entry",
                    "no answer to the identical request is stored".to_owned(),
                    None,
                ),
            },
        };
        ExplainedHash {
            result,
            eligible: true,
            reason,
            member: None,
            age,
        }
    }

    async fn found_by_meaning(
        &self,
        call: &Call,
        slot: &CacheSlot,
        class: SecurityClass,
    ) -> ExplainedMeaning {
        let question = match self.question(call, slot, class) {
            Ok(question) => question,
            Err(MeaningSkip::NotAsked) => return ExplainedMeaning::without("not_asked"),
            Err(MeaningSkip::Named(reason)) => return ExplainedMeaning::without(reason),
        };
        let vector = match self.embedded(&question, PATIENCE).await {
            Ok(vector) => vector,
            Err(reason) => return ExplainedMeaning::without(reason),
        };
        self.learn_elsewhere(call, slot, &question, &vector).await;
        let found = self.nearest(call, slot, &question, &vector);
        let meaning = self.cache.meaning();
        let serves = meaning.serves(&question);
        let (result, similarity) = match &found {
            Similar::Hit { similarity, .. } if serves => ("hit", Some(*similarity)),
            Similar::Hit { similarity, .. } => ("stopped", Some(*similarity)),
            Similar::Guarded { similarity, .. } => ("guard", Some(*similarity)),
            Similar::Far(Some(closest)) => ("similarity", Some(*closest)),
            Similar::Far(None) => ("no_entry", None),
            Similar::Closed => ("scope", None),
            Similar::Expired { similarity } => ("expired", Some(*similarity)),
            Similar::Unknown => (NO_NEWS, None),
        };
        ExplainedMeaning {
            result,
            eligible: true,
            reason: in_words(&found, serves, question.threshold),
            domain: question.domain.as_str(),
            similarity: similarity.map(thousandths),
            threshold: Some(thousandths(question.threshold)),
            evidence: Some(meaning.report(question.domain)),
        }
    }
}

/// The refusal of a model of embeddings, in the words of this dry run.
fn no_answers(model: &str) -> EngineError {
    let message = format!("`{model}` is a model of embeddings; their answers are never stored");
    BadRequest::new("model", message).into()
}

fn in_words(found: &Similar, serves: bool, threshold: f32) -> String {
    // Rounding in a sum of products can exceed 1.
    let shown = |similarity: &f32| similarity_text(*similarity);
    match found {
        Similar::Hit { similarity, .. } if serves => format!(
            "a stored question asks the same at similarity {}; its answer is served, \
            unless the request is chosen for an audit",
            shown(similarity)
        ),
        Similar::Hit { similarity, .. } => format!(
            "a stored question asks the same at similarity {}, but the domain is \
            stopped: too few checks so far show that its stored answers are right",
            shown(similarity)
        ),
        Similar::Guarded {
            similarity,
            mismatch,
        } => format!(
            "the nearest stored question has similarity {}; the guard refuses its \
            answer: {mismatch}",
            shown(similarity)
        ),
        Similar::Far(Some(closest)) => {
            format!(
                "the nearest stored question has similarity {}, below {threshold:.3}",
                shown(closest)
            )
        }
        Similar::Far(None) => "no question is stored with the same context: the same caller, \
            model, settings, system prompt and earlier turns"
            .to_owned(),
        Similar::Unknown => WHY_NO_NEWS.to_owned(),
        Similar::Expired { similarity } => format!(
            "a stored question asks the same at similarity {}; its answer is too old, or too old \
            for the regime of this request",
            shown(similarity)
        ),
        Similar::Closed => {
            "a stored question asks the same, and the key may not use the model or backend of its \
            answer"
                .to_owned()
        }
    }
}

impl ExplainedMeaning {
    /// The layer has no part in a request.
    fn without(result: &'static str) -> Self {
        Self {
            result,
            eligible: false,
            reason: why_not(result).to_owned(),
            domain: "",
            similarity: None,
            threshold: None,
            evidence: None,
        }
    }
}

/// Why the semantic layer has no part in a request, as a sentence.
fn why_not(result: &str) -> &'static str {
    match result {
        "not_asked" => "neither the request nor its key says `cache: semantic`",
        NO_CACHE => WHY_NO_CACHE,
        "semantic_off" => "`cache.semantic.enabled` is false",
        "private" => "answers of this privacy class are compared with identical requests alone",
        "critical" => "answers about risk, trades, the operator or death are never reused",
        "unreadable" => {
            "the request cannot be compared with others: it continues a stored response, or a part of it is unknown"
        }
        "tools" => "the request has tools",
        "unread_members" => "the body holds members of messages that the gateway does not know",
        "no_question" => "the last message is not a text of the user",
        "too_long" => "the last message is too long to compare",
        "empty" => "the last message has no words to compare",
        "no_embedder" => "this build has no embedding model",
        "loading" => "the embedding model is being loaded; retry in a moment",
        "busy" => "the embedding model has too many questions waiting",
        "late" => "the embedding model did not answer in time",
        "crashed" => "the embedding model crashed and starts again after a pause",
        _ => "the embedding model cannot run",
    }
}
