//! What a backend's prompt cache holds of one request, and the marks that pay there.

use std::sync::{Arc, OnceLock};

use bardo_cache::prefix::{Affinity, CacheRates, MarkDecision, PrefixId, Sighting, Stretch};
use bardo_profile::{longest_mark, placed};
use bardo_providers::Endpoint;
use bardo_router::Candidate;
use bardo_types::chat::{CacheTtl, MarkPlan};
use bardo_types::model::{Dialect, Service};
use bardo_types::privacy::SecurityClass;
use tokio::time::Instant;

use crate::call::Call;
use crate::engine::Engine;
use crate::leg::{Leg, Settings};
use crate::partition::prompt_owner;
use crate::prompt_cache::{LegCache, PromptDigest, session_id};
use crate::received::Task;
use crate::routed::Routed;
use crate::warm_prompts::{self, WarmPrompt, keepalive_request};

/// Fewest tokens that are taken for cached where the minimum of a model is not known.
const CACHED_MIN: u64 = 1_024;

impl Engine {
    /// What is known and decided of the prompt cache of a candidate; `None` where the gateway sets
    /// no marks there and no session could come back to it. Nothing is remembered.
    pub(crate) fn leg_cache(
        &self,
        call: &Call,
        candidate: &Candidate,
        endpoint: &Endpoint,
        dialect: Dialect,
        routed: Option<&Arc<Routed>>,
    ) -> Option<Arc<LegCache>> {
        if call.task() != Task::Generate {
            return None;
        }
        let caps = &candidate.entry.capabilities;
        let wanted = routed.and_then(|routed| routed.wanted.as_ref());
        let translated = dialect == Dialect::Anthropic && call.dialect() != dialect;
        let service = endpoint.service;
        let places = |plan| placed(call.dialect(), dialect, service, plan);
        let by_profile = wanted.is_some_and(|wanted| wanted.profile.cache_control == Some(true))
            && places(MarkPlan::USUAL) != MarkPlan::default();
        // Marks of a profile lie among the words: what is not read of a body would be lost for them.
        let loses = by_profile
            && !translated
            && caps.cache_marks
            && call.request_body().holds_unread_members(&self.memory);
        let sets_marks = caps.cache_marks && (by_profile && !loses || translated);
        let chosen = routed.is_some_and(|routed| routed.automatic);
        let hints = call.hints().route.as_deref();
        let prompts_of = call.principal().prompts_of();
        let session = session_id(&prompts_of, call.hints().session.as_deref()).filter(|_| chosen);
        let stores =
            call.snapshot().setup.stored_prefixes.is_some() && endpoint.service == Service::Google;
        if !sets_marks && !loses && session.is_none() && !stores {
            return None;
        }
        let request = call.request_body().neutral(&self.memory)?;
        let prompt = PromptDigest::of(&prompts_of, hints, request);
        let marks = (sets_marks && longest_mark(request).is_none())
            .then(|| {
                let keeps = translated && may_be_kept(routed);
                self.marks(call, candidate, endpoint, &prompt, keeps)
            })
            .flatten();
        let decided = marks.as_ref().map(|(_, decision)| decision.plan());
        let fixed = match decided {
            // Encoders have a place for each mark, profiles for some.
            Some(plan) if !translated => Some(places(plan)),
            None if loses => Some(MarkPlan::default()),
            _ => None,
        };
        let ttl = match fixed.or(decided) {
            Some(plan) => plan.stable.max(plan.turns),
            None => match longest_mark(request) {
                None if caps.cache_marks => None,
                // Caches without marks live about as long.
                own => Some(own.unwrap_or(CacheTtl::FiveMinutes)),
            },
        };
        let least = match caps.cache_minimum_tokens {
            0 => CACHED_MIN,
            known => known,
        };
        let affinity = session.zip(ttl).filter(|_| prompt.tokens >= least);
        Some(Arc::new(LegCache {
            caches: Arc::clone(&self.prompt_caches),
            marks,
            fixed,
            stored: OnceLock::new(),
            is_keepalive: false,
            // Only keepalive asks for it.
            begun: match &call.snapshot().setup.keepalive {
                Some(_) => self.prompt_caches.stored.flush_count(),
                None => 0,
            },
            affinity: affinity.map(|(session, ttl)| {
                let affinity = Affinity {
                    endpoint: endpoint.name.clone(),
                    model: candidate.entry.id.clone(),
                    prefix: prompt.stable,
                    tokens: prompt.tokens,
                    ttl,
                };
                (session, affinity)
            }),
        }))
    }

    /// The marks that pay at a candidate; `None` where no price is known, so that none can be
    /// reckoned.
    fn marks(
        &self,
        call: &Call,
        candidate: &Candidate,
        endpoint: &Endpoint,
        prompt: &PromptDigest<'_>,
        keeps: bool,
    ) -> Option<(Sighting, MarkDecision)> {
        let price = call.snapshot().price(candidate)?;
        let whole = prompt.request.prompt_tokens();
        let model = &candidate.entry.upstream_id;
        let place = |id: PrefixId| PromptDigest::at(id, &endpoint.name, model);
        let stable = Stretch {
            id: place(prompt.stable),
            tokens: prompt.tokens,
        };
        let hints = call.hints().route.as_deref();
        // Of other providers nobody knows that a use renews an entry.
        let policy = call.snapshot().setup.keepalive.as_ref();
        // Others take marks of this form without a lifetime, or refuse it.
        let rates = CacheRates::of(&price, whole, endpoint.service == Service::Anthropic);
        let keepalive = policy
            .filter(|_| keeps && endpoint.service == Service::Anthropic)
            .filter(|_| warm_prompts::may_be_kept(prompt.request))
            .and_then(|policy| {
                let now = self.prompt_caches.millis(Instant::now());
                let price = (&price.for_prompt(whole), &rates);
                self.warm_prompts.terms(policy, stable, price, now)
            });
        let sighting = Sighting {
            pool: prompt.pool,
            stable,
            turns: Stretch {
                id: place(prompt.turns(call.hints().session.as_deref())),
                tokens: whole,
            },
            minimum: candidate.entry.capabilities.cache_minimum_tokens,
            rates,
            followed: hints.and_then(|hints| Some(hints.call_index? < hints.call_count?)),
            keepalive,
        };
        Some((sighting, self.prompt_caches.decide(&sighting)))
    }

    /// A provider has answered, so its cache has the prompt. Keeps it there where that was decided.
    pub(crate) fn answered_at(&self, call: &Call, leg: &Leg, asked: Instant) {
        let cache = leg.prompt_cache.as_ref();
        let Some((sighting, decision)) = cache.and_then(|cache| cache.marks.as_ref()) else {
            return;
        };
        if sighting.keepalive.is_none() {
            return;
        }
        let id = sighting.stable.id;
        let warming = decision.stable.warming;
        match warming.zip(self.warm_prompt(call, leg, decision)) {
            Some((warming, prompt)) => {
                let asked = self.prompt_caches.millis(asked);
                let begun = cache.map_or(0, |cache| cache.begun);
                let is_dropped =
                    |owner: &_| self.prompt_caches.stored.is_dropped_since(begun, owner);
                self.warm_prompts
                    .keep(id, prompt, (warming, asked), is_dropped);
            }
            None => self.warm_prompts.forget(id),
        }
    }

    /// The keepalive call for a call as it was sent; `None` where none can be made.
    fn warm_prompt(&self, call: &Call, leg: &Leg, decision: &MarkDecision) -> Option<WarmPrompt> {
        let sent = match &leg.settings {
            Settings::Untouched => call.request_body().request(&self.memory).ok()?,
            Settings::Rewritten(request, _) => Arc::clone(request),
            Settings::Edits(..) => return None,
        };
        let account = &call.principal().account;
        let body = call.request_body();
        let body = body.alone(keepalive_request(&sent)?, account.as_str(), &self.memory);
        let affinity = leg
            .prompt_cache
            .as_ref()
            .and_then(|cache| cache.affinity.clone());
        Some(WarmPrompt {
            call: call.shortened(body),
            endpoint: leg.endpoint.name.clone(),
            model: leg.candidate.entry.id.clone(),
            marks: decision.plan(),
            affinity,
            owner: prompt_owner(call),
        })
    }
}

/// Whether the tools and the system prompt of a request may stay in memory, and be sent again
/// without a request: only where nobody asked for more protection than the usual.
pub(crate) fn may_be_kept(routed: Option<&Arc<Routed>>) -> bool {
    routed.is_none_or(|routed| {
        routed.security_class.max(routed.wished_class) == SecurityClass::Standard
    })
}
