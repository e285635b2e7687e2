//! The look-up for an answer to the identical request, before anything is screened, and the serving
//! of each answer that is there already: in place of a provider's, with a receipt of its own.

use std::sync::Arc;
use std::time::Duration;

use bardo_cache::policy::Wish;
use bardo_ledger::StoreError;
use bardo_router::Router;
use bardo_types::Degradation;
use bardo_types::chat::{Assembler, StreamEvent};
use bardo_types::model::{Capabilities, Dialect, Service};
use bardo_types::money::MicroUsd;
use bardo_types::privacy::SecurityClass;
use bardo_wire::codec::{DecodeContext, Original, ReplyContext, Target};
use bardo_wire::table;
use bytes::Bytes;

use crate::answer::{Answer, Delivering, Whole};
use crate::answer_cache::{CacheSkip, NO_NEWS};
use crate::answer_notes::NoNotes;
use crate::answer_stages::AnswerStages;
use crate::cache_slot::CacheSlot;
use crate::caching::{may_have, slot_of, wish};
use crate::call::Call;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::lifecycle::{Admitted, Flowing, Lifecycle};
use crate::limit::Limited;
use crate::pass_together::others_first;
use crate::receipt_builder::{Passed, Served};
use crate::received::Task;
use crate::replay_form::{arrange, has_thinking_state, original, tells_usage_unasked};
use crate::reply_stream::{Conversion, Passthrough, ReplyStream, Transcode};
use crate::shape::{Translation, unix_now};
use crate::single_flight::Follower;
use crate::source::AnswerSource;
use crate::stores::{AnswerStore, Asked, StoredBody};
use crate::usage_figures::UsageFigures;

/// Why a caller that takes a stored answer alone gets none.
const NONE_STORED: &str = "none is stored, or it has expired";

/// What a look-up came to.
pub(crate) enum Lookup<T> {
    /// The answer is there; no provider is called.
    Hit(Box<FoundHit>),
    /// No answer was found; the request goes on.
    Miss(T),
}

/// An answer to a request that is there already.
pub(crate) struct FoundHit {
    pub(crate) call: Call,
    pub(crate) life: Lifecycle<Admitted>,
    pub(crate) found: FoundAnswer,
}

/// An answer that no provider is called for.
pub(crate) struct FoundAnswer {
    pub(crate) body: FoundBody,
    pub(crate) served: Served,
}

/// Where the content of a found answer is.
pub(crate) enum FoundBody {
    /// All of it is there.
    Stored(StoredBody),
    /// An identical request makes it.
    Followed(Follower),
}

impl FoundHit {
    /// A found answer with the request that gets it.
    pub(crate) fn of(limited: Limited, found: FoundAnswer) -> Box<Self> {
        let (call, life) = limited.into_parts();
        Box::new(Self { call, life, found })
    }
}

impl Engine {
    /// Looks for an answer to the identical request. The limits of the caller were checked before.
    ///
    /// # Errors
    /// When the caller takes a stored answer alone, and there is none.
    pub(crate) async fn hash_lookup(
        &self,
        mut limited: Limited,
    ) -> Result<Lookup<Limited>, EngineError> {
        let asked = Asked {
            call: limited.call(),
            class: SecurityClass::default(),
        };
        let ported = find(&self.stores.by_hash, asked, "hash").await;
        let found = match ported {
            Some(found) => Some(found),
            None => self.cached(&mut limited).await?,
        };
        limited.passed(Passed::HashLookup);
        Ok(match found {
            Some(found) => Lookup::Hit(FoundHit::of(limited, found)),
            None => Lookup::Miss(limited),
        })
    }

    /// Looks into the cache. A request that the cache has a part in, and that it has no answer to,
    /// takes its place there along.
    async fn cached(&self, limited: &mut Limited) -> Result<Option<FoundAnswer>, EngineError> {
        let call = limited.call();
        let only = wish(call) == Some(Wish::OnlyIfCached);
        // Vectors and token counts are never stored, so the cache has nothing to do with them.
        if call.task() != Task::Generate {
            let why = "answers of this endpoint are never stored";
            return if only {
                self.cache.refuse(&call.principal().account);
                Err(EngineError::NotCached { why })
            } else {
                Ok(None)
            };
        }
        let slot = match slot_of(call, &self.memory) {
            Ok(slot) => self.placed(call, slot),
            Err(skip) => {
                self.pass_cache(limited, skip)?;
                return Ok(None);
            }
        };
        let serves = slot.wish.serves();
        if let Some(found) = self.stored(call, &slot).await.filter(|_| serves) {
            return Ok(Some(found));
        }
        if only {
            self.cache.refuse(&call.principal().account);
            let plan = self.plan_for(call, &mut Router::route);
            return Err(match plan {
                // There never will be one.
                Err(error @ EngineError::NoRoute(_)) => error,
                _ => EngineError::NotCached { why: NONE_STORED },
            });
        }
        let reason = if serves {
            self.unserved(call, &slot)
        } else {
            "no_cache"
        };
        limited.missed(slot);
        limited.cache_reason(reason);
        Ok(None)
    }

    /// Notes that the cache has no part in a request, and why.
    ///
    /// # Errors
    /// When the caller takes a stored answer alone.
    pub(crate) fn pass_cache(
        &self,
        limited: &mut Limited,
        skip: CacheSkip,
    ) -> Result<(), EngineError> {
        let call = limited.call();
        self.watch_regime(call);
        let wished = wish(call);
        if wished == Some(Wish::OnlyIfCached) {
            self.cache.refuse(&call.principal().account);
            let why = skip.explain();
            return Err(EngineError::NotCached { why });
        }
        self.cache.bypass(skip);
        // Relays that say nothing of the cache are told nothing.
        if wished.is_some() {
            limited.cache_reason(skip.as_str());
        }
        Ok(())
    }

    /// Why no stored answer is served.
    fn unserved(&self, call: &Call, slot: &CacheSlot) -> &'static str {
        let store = self.cache.store();
        if !self.cache.has_news_for(slot) {
            return NO_NEWS;
        }
        if !store.holds(&slot.key) {
            let unstored = self.cache.unstored_because(&slot.key);
            return unstored.map_or("no_entry", CacheSkip::as_str);
        }
        let reader = slot.reader(&call.principal().account, self.services.clock.now_ms());
        // If it may be served, the key may not use its model or backend.
        store.get(&slot.key, &reader).map_or("expired", |_| "scope")
    }

    /// The place of a request after what it shows to be old was removed.
    fn placed(&self, call: &Call, mut slot: CacheSlot) -> CacheSlot {
        let known = self.cache.invalidations();
        self.set_regime_of(call, &mut slot);
        self.watch(call, &slot);
        slot.flushes = known.count();
        slot.heard = self.cache.second().and_then(|_| known.heard());
        slot
    }

    /// Gives a place the regime of its reader: that of the request, or else of the operator, or else
    /// the configured one.
    pub(crate) fn set_regime_of(&self, call: &Call, slot: &mut CacheSlot) {
        let set = self.cache.invalidations().regime();
        slot.regime = call.hints().regime.or(set).or(slot.regime);
    }

    /// The entry for a request, if its caller may have it now.
    pub(crate) async fn stored(&self, call: &Call, slot: &CacheSlot) -> Option<FoundAnswer> {
        let tenant = &call.principal().account;
        // Not the time at which the request arrived: an identical one may have been answered since.
        let now_ms = self.services.clock.now_ms();
        let hit = self.cache.find(slot, tenant, now_ms).await?;
        if !may_have(call, &hit.entry.model, &hit.entry.provider) {
            return None;
        }
        let entry = &hit.entry;
        let events = entry.events().ok()?;
        Some(FoundAnswer {
            body: FoundBody::Stored(StoredBody::Events(events)),
            served: Served {
                class: entry.class,
                layer: "hash",
                model: Arc::clone(&entry.model),
                backend: Some(Arc::clone(&entry.provider)),
                usage: Some(entry.usage.clone()),
                degraded: entry.degraded.clone(),
                charge: MicroUsd::ZERO,
                cost: Some(entry.cost),
                price: None,
                age: Some(Duration::from_millis(hit.age_ms)),
                similarity: None,
                is_shared: false,
            },
        })
    }

    /// The entry that serves a caller that asked for a new answer when no backend answers.
    pub(crate) async fn last_resort(&self, call: &Call, slot: &CacheSlot) -> Option<FoundAnswer> {
        let is_on = call.snapshot().cache.last_resort;
        if !is_on || !slot.wish.serves_as_last_resort() || !self.cache.store().holds(&slot.key) {
            return None;
        }
        let mut found = self.stored(call, slot).await?;
        let detail = "no backend answers; a stored answer is served";
        let lost = Degradation::new("no_cache", detail);
        found.served.degraded.push(lost);
        self.cache.resort();
        Some(found)
    }

    /// Serves an answer that is there already: holds its charge, where there is any, and hands it
    /// over as any other answer, with a receipt that names the look-up and no backend.
    ///
    /// # Errors
    /// When the caller cannot pay the charge, or the answer cannot be written in its dialect.
    pub(crate) async fn serve(self: &Arc<Self>, hit: FoundHit) -> Result<Answer, EngineError> {
        let FoundHit {
            call,
            mut life,
            found,
        } = hit;
        // What cannot be handed over costs nothing.
        let ready = self.ready(&call, found.body, &found.served)?;
        self.hold_charge(&call, &mut life, found.served.charge)
            .await?;
        others_first().await;
        let flowing = life.served(&call, &found.served);
        Ok(self.relay(ready.delivering(&call, flowing)).await?)
    }

    /// An answer in the form in which it is handed over.
    ///
    /// # Errors
    /// When the answer cannot be written in the dialect of the caller.
    pub(crate) fn ready(
        self: &Arc<Self>,
        call: &Call,
        body: FoundBody,
        served: &Served,
    ) -> Result<ReadyAnswer, EngineError> {
        let mut original = original(call, served.backend.as_deref());
        let source = match body {
            FoundBody::Stored(StoredBody::Bytes(bytes)) => {
                return Ok(match call.stream() {
                    true => of_bytes(call, bytes),
                    false => ReadyAnswer::Whole(bytes),
                });
            }
            FoundBody::Stored(StoredBody::Events(mut events)) => {
                if let Some(original) = &mut original {
                    original.has_thinking_state = has_thinking_state(&events);
                }
                if !call.stream() {
                    return self.whole_of(call, events, served, original);
                }
                arrange(call.dialect(), &mut events);
                AnswerSource::of_events(events)
            }
            FoundBody::Followed(follower) => AnswerSource::shared(follower),
        };
        let translation = self.translation(call, served, original)?;
        let stages = self.replayed(call, &translation);
        let (dialect, figures) = (call.dialect(), UsageFigures::of(call));
        let written = Transcode::new(dialect, dialect, &translation, stages, figures);
        let conversion = Conversion::Transcode(Box::new(written));
        Ok(ReadyAnswer::Stream(Box::new((source, conversion))))
    }

    fn whole_of(
        self: &Arc<Self>,
        call: &Call,
        events: Vec<StreamEvent>,
        served: &Served,
        original: Option<Original>,
    ) -> Result<ReadyAnswer, EngineError> {
        let translation = self.translation(call, served, original)?;
        let mut assembler = Assembler::default();
        events.into_iter().for_each(|event| assembler.push(event));
        let mut response = assembler
            .finish()
            .map_err(|fault| StoreError::Damaged(format!("a stored answer: {}", fault.message)))?;
        let stages = self.replayed(call, &translation);
        stages.whole(&mut response, &mut NoNotes);
        let body = table::encode_response(call.dialect(), &response, &translation.reply);
        Ok(ReadyAnswer::Whole(body.into()))
    }

    /// The stages of a replay. A response that its caller may go on from is remembered under its
    /// new id.
    fn replayed(self: &Arc<Self>, call: &Call, translation: &Translation) -> AnswerStages {
        let goes_on = call.dialect() == Dialect::Responses;
        let keep = goes_on.then(|| self.remember(call, translation));
        AnswerStages::replayed(keep)
    }

    fn translation(
        &self,
        call: &Call,
        served: &Served,
        original: Option<Original>,
    ) -> Result<Translation, EngineError> {
        let mut request = call.request_body().request(&self.memory)?;
        if tells_usage_unasked(call, served.backend.as_deref()) && !request.include_usage {
            Arc::make_mut(&mut request).include_usage = true;
        }
        let reply = ReplyContext {
            request,
            id_seed: id_seed(call).to_owned(),
            created: unix_now(),
            model: served.model.to_string(),
            original,
        };
        Ok(translation(reply, served.class))
    }
}

/// The first answer of some stores.
pub(crate) async fn find(
    stores: &[Box<dyn AnswerStore>],
    asked: Asked<'_>,
    layer: &'static str,
) -> Option<FoundAnswer> {
    for store in stores {
        if let Some(answer) = store.find(asked).await {
            return Some(FoundAnswer {
                served: Served {
                    layer,
                    class: asked.class,
                    charge: store.charge(asked, &answer),
                    cost: None,
                    price: None,
                    model: answer.model.as_str().into(),
                    backend: None,
                    usage: answer.usage,
                    degraded: answer.degraded,
                    age: None,
                    similarity: None,
                    is_shared: false,
                },
                body: FoundBody::Stored(answer.body),
            });
        }
    }
    None
}

/// What decoders and encoders have to know of an answer that is there already.
fn translation(reply: ReplyContext, class: SecurityClass) -> Translation {
    Translation {
        decode: DecodeContext {
            target: Target {
                model: reply.model.clone(),
                service: Service::Local,
                capabilities: Arc::new(Capabilities::default()),
            },
            request: Arc::clone(&reply.request),
            renamed_tools: Vec::new(),
            id_seed: reply.id_seed.clone(),
        },
        reply,
        textual: false,
        lift: None,
        schema: None,
        class,
    }
}

fn id_seed(call: &Call) -> &str {
    call.request_id().as_str().trim_start_matches("req_")
}

/// Bytes of the caller's dialect as a stream.
fn of_bytes(call: &Call, bytes: Bytes) -> ReadyAnswer {
    let (dialect, choices) = (call.dialect(), call.size().choices);
    let figures = UsageFigures::of(call);
    let pass = Passthrough::new(dialect, Service::Local, choices, false, figures);
    let source = AnswerSource::of_bytes([bytes]);
    ReadyAnswer::Stream(Box::new((source, Conversion::Passthrough(Box::new(pass)))))
}

/// An answer in the form in which it is handed over.
pub(crate) enum ReadyAnswer {
    Whole(Bytes),
    Stream(Box<(AnswerSource, Conversion)>),
}

impl ReadyAnswer {
    /// The answer with the state of its request.
    pub(crate) fn delivering(self, call: &Call, life: Lifecycle<Flowing>) -> Delivering {
        match self {
            Self::Stream(ready) => {
                let (source, conversion) = *ready;
                let stream = ReplyStream::kept(source, conversion, call, life);
                Delivering::Stream(Box::new(stream))
            }
            Self::Whole(body) => Delivering::Whole(Whole {
                ended: life.finished(),
                figures: UsageFigures::of(call),
                body,
            }),
        }
    }
}
