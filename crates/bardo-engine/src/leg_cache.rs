//! What a backend's prompt cache holds of one request, and the marks that pay there.

use std::sync::Arc;

use bardo_cache::prefix::{Affinity, CacheRates, MarkDecision, PrefixId, Sighting, Stretch};
use bardo_profile::is_marked;
use bardo_providers::Endpoint;
use bardo_router::Candidate;
use bardo_types::chat::CacheTtl;
use bardo_types::model::{Dialect, Service};

use crate::call::Call;
use crate::engine::Engine;
use crate::prompt_cache::{LegCache, PromptDigest, session_id};
use crate::received::Task;
use crate::routed::Routed;

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
        let by_profile = wanted.is_some_and(|wanted| wanted.profile.cache_control == Some(true));
        let translated = dialect == Dialect::Anthropic && call.dialect() != dialect;
        let sets_marks = caps.cache_marks && (by_profile || translated);
        let chosen = routed.is_some_and(|routed| routed.automatic);
        let hints = call.hints().route.as_deref();
        let account = call.principal().account.as_str();
        let session = session_id(account, call.hints().session.as_deref()).filter(|_| chosen);
        if !sets_marks && session.is_none() {
            return None;
        }
        let request = call.request_body().neutral(&self.memory)?;
        let prompt = PromptDigest::of(account, hints, request);
        let marks = (sets_marks && !is_marked(request))
            .then(|| self.marks(call, candidate, endpoint, &prompt))
            .flatten();
        let plan = marks.as_ref().map(|(_, decision)| decision.plan());
        let ttl = match plan {
            Some(plan) => plan.stable.max(plan.turns),
            // Caches without marks live about as long.
            None => Some(CacheTtl::FiveMinutes),
        };
        let affinity = session.zip(ttl).filter(|_| caps.caches(prompt.tokens));
        Some(Arc::new(LegCache {
            caches: Arc::clone(&self.prompt_caches),
            marks,
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
    ) -> Option<(Sighting, MarkDecision)> {
        let price = call.snapshot().price(candidate)?;
        let whole = prompt.request.prompt_tokens();
        let model = &candidate.entry.upstream_id;
        let place = |id: PrefixId| PromptDigest::at(id, &endpoint.name, model);
        let sighting = Sighting {
            pool: prompt.pool,
            stable: Stretch {
                id: place(prompt.stable),
                tokens: prompt.tokens,
            },
            turns: Stretch {
                id: place(prompt.turns(call.hints().session.as_deref())),
                tokens: whole,
            },
            minimum: candidate.entry.capabilities.cache_minimum_tokens,
            // Others take marks of this form without a lifetime, or refuse it.
            rates: CacheRates::of(&price, whole, endpoint.service == Service::Anthropic),
        };
        Some((sighting, self.prompt_caches.decide(&sighting)))
    }
}
