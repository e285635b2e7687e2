//! The stage behind the look-up in the cache: a request whose answer may be stored is recorded, and
//! identical ones at the same time share its answer.

use std::pin::pin;
use std::sync::Arc;

use bardo_cache::policy::Wish;
use bardo_types::Degradation;
use bardo_types::hints::RouteHints;
use bardo_types::money::MicroUsd;

use crate::answer::Answer;
use crate::cache_slot::CacheSlot;
use crate::caching::may_have;
use crate::call::Call;
use crate::engine::Engine;
use crate::engine_future::boxed_future;
use crate::error::EngineError;
use crate::limit::Limited;
use crate::live::{AnswerOrigin, LiveAnswer};
use crate::lookup::{FoundAnswer, FoundBody, FoundHit};
use crate::receipt_builder::Served;
use crate::recording::{LIMITED, Recording, RequestedModel};
use crate::replay_form::last_usage;
use crate::single_flight::{Boarding, FlightTerms, FlightTicket, Follower};
use crate::stores::StoredBody;

/// What came of following another request.
enum Followed {
    /// The answer is the caller's too.
    Found(Box<FoundAnswer>),
    /// The caller may not have it, so it gets one of its own.
    Alone,
    /// The other request failed; how many have by now.
    Free(u32),
}

/// What an answer may lack because of the balance or the caps of the caller that it is made for.
const BY_MONEY: [&str; 3] = [LIMITED, "model", "fallback_backends"];

impl Engine {
    /// Carries out a request that the look-up found no answer to: alone, first of several, or by
    /// waiting for the answer of an identical one.
    pub(crate) async fn share(
        self: Arc<Self>,
        mut limited: Limited,
    ) -> Result<Answer, EngineError> {
        let Some(slot) = limited.take_slot() else {
            return boxed_future(|| self.carry_out(limited)).await;
        };
        let is_on = limited.call().snapshot().cache.single_flight;
        if !is_on || slot.wish == Wish::NoCache {
            let live = Arc::new(LiveAnswer::new());
            let recording = self.recording(limited.call(), *slot, live);
            limited.record_with(recording);
            return boxed_future(|| self.carry_out(limited)).await;
        }
        let mut round = 0;
        loop {
            let terms = || FlightTerms {
                flushes: slot.flushes,
                payer: limited.call().principal().payer.clone(),
                session: limited.call().hints().session.clone(),
            };
            let tenant = &limited.call().principal().account;
            let known = self.cache.invalidations();
            let is_current = |flushes| !known.reached_since(flushes, &slot.subject(tenant));
            let boarding = self.flights.board(slot.key, round, terms, is_current);
            let follower = match boarding {
                Boarding::Lead(ticket) => return pin!(self.lead(limited, *slot, ticket)).await,
                Boarding::Follow(follower) => follower,
            };
            match self.follow(limited.call(), follower).await {
                Followed::Found(found) => {
                    self.cache.follow();
                    let (call, life) = limited.into_parts();
                    let found = *found;
                    return Box::pin(self.serve(FoundHit { call, life, found })).await;
                }
                Followed::Alone => return boxed_future(|| self.carry_out(limited)).await,
                Followed::Free(next) => round = next,
            }
        }
    }

    /// Makes the answer, unless the request before has just stored it.
    async fn lead(
        self: Arc<Self>,
        mut limited: Limited,
        slot: CacheSlot,
        ticket: FlightTicket,
    ) -> Result<Answer, EngineError> {
        if self.cache.store().holds(&slot.key)
            && let Some(found) = self.stored(limited.call(), &slot).await
        {
            drop(ticket);
            let (call, life) = limited.into_parts();
            return Box::pin(self.serve(FoundHit { call, life, found })).await;
        }
        let recording = self.recording(limited.call(), slot, Arc::clone(ticket.live()));
        limited.record_with(recording);
        let sent = limited.call().sent_mark().clone();
        let work = boxed_future(|| self.carry_out(limited));
        ticket.lead(work, sent).await
    }

    fn recording(&self, call: &Call, slot: CacheSlot, live: Arc<LiveAnswer>) -> Recording {
        let tenant = call.principal().account.clone();
        Recording::new(live, slot, tenant, Arc::clone(&self.cache), named(call))
    }

    /// Waits for the answer of an identical request: until its first content for a caller that
    /// wants a stream, else until its end.
    async fn follow(&self, call: &Call, mut follower: Follower) -> Followed {
        let next = follower.next_round();
        let Ok(origin) = follower.begun().await else {
            return Followed::Free(next);
        };
        if !may_have(call, &origin.model, &origin.backend) {
            return Followed::Alone;
        }
        // The money of another key or session made it shorter, or another model answer.
        let by_money = |lost: &Degradation| BY_MONEY.contains(&&*lost.feature);
        let is_limited = origin.degraded.iter().any(by_money);
        if (is_limited || origin.is_capped) && !follower.has_the_caps_of(call) {
            return Followed::Alone;
        }
        let body = if call.stream() {
            FoundBody::Followed(follower)
        } else {
            match follower.all().await {
                Ok(events) => FoundBody::Stored(StoredBody::Events(events)),
                Err(_) => return Followed::Free(next),
            }
        };
        Followed::Found(Box::new(found(&origin, body)))
    }
}

/// The model that a request is for; `None` where the gateway chooses one.
fn named(call: &Call) -> Option<RequestedModel> {
    let silent = RouteHints::default();
    let hints = call.hints().route.as_deref().unwrap_or(&silent);
    let router = &call.snapshot().router;
    let name = router.bound_name(call.model(), hints)?;
    Some(RequestedModel {
        name: if name == &**call.model() {
            Arc::clone(call.model())
        } else {
            name.into()
        },
        snapshot: Arc::clone(call.snapshot()),
    })
}

/// The answer of another request, which is being made or was just made.
fn found(origin: &AnswerOrigin, body: FoundBody) -> FoundAnswer {
    let usage = match &body {
        FoundBody::Stored(StoredBody::Events(events)) => last_usage(events).cloned(),
        FoundBody::Stored(StoredBody::Bytes(_)) | FoundBody::Followed(_) => None,
    };
    FoundAnswer {
        body,
        served: Served {
            class: origin.class,
            layer: "hash",
            model: Arc::clone(&origin.model),
            backend: Some(Arc::clone(&origin.backend)),
            usage,
            degraded: origin.degraded.clone(),
            charge: MicroUsd::ZERO,
            cost: None,
            price: origin.price.map(Box::new),
            age: None,
            similarity: None,
            is_shared: true,
        },
    }
}
