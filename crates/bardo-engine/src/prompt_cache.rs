//! Prompt caches of providers, as one request meets them: which marks pay at a backend, and which
//! backend still holds the prompt of a session. The policy is `bardo_cache::prefix`.

mod digest;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use bardo_cache::prefix::{
    Affinity, AffinityTable, MarkDecision, MarkReason, Millis, PrefixId, PrefixTracker, Sighting,
};
use bardo_router::{Candidate, HealthState, RoutedCandidate, Score};
use bardo_types::chat::{CacheTtl, ChatRequest, MarkPlan};
use bardo_types::clock::Clock;
use bardo_types::hints::RouteHints;
use bardo_types::receipt::{Outcome, Receipt};
use tokio::time::Instant;

use self::digest::Digest;
use crate::deletion_queue::DeletionQueue;
use crate::stored_prefixes::StoredPrefixes;

/// Prompts, conversations and sessions that are remembered, each.
const REMEMBERED: usize = 8_192;
/// The part of the score, which goes to 1, that a backend may lose for being warm.
const EPSILON: f64 = 0.02;

/// Memory of the prompt caches of providers.
pub(crate) struct PromptCaches {
    started: Instant,
    /// Clock of a simulation; `None`: gaps are measured by the machine's own.
    simulated: Option<Arc<dyn Clock>>,
    tracker: PrefixTracker,
    affinity: AffinityTable,
    /// Prefixes that providers store on order.
    pub(crate) stored: StoredPrefixes,
    /// Deletions of such prefixes that wait to be tried again.
    pub(crate) deletions: DeletionQueue,
}

impl Default for PromptCaches {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            simulated: None,
            tracker: PrefixTracker::new(REMEMBERED),
            affinity: AffinityTable::new(REMEMBERED),
            stored: StoredPrefixes::default(),
            deletions: DeletionQueue::default(),
        }
    }
}

impl PromptCaches {
    /// Memory whose gaps are measured by the clock of a simulation.
    pub(crate) fn simulated(clock: Arc<dyn Clock>) -> Self {
        Self {
            simulated: Some(clock),
            ..Self::default()
        }
    }

    /// A moment in milliseconds of the clock that gaps are measured by.
    pub(crate) fn millis(&self, at: Instant) -> Millis {
        if let Some(clock) = &self.simulated {
            return clock.now_ms();
        }
        let since = at.saturating_duration_since(self.started);
        Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
    }

    /// Decides the marks of a request that is sent now. Nothing is remembered.
    pub(crate) fn decide(&self, sighting: &Sighting) -> MarkDecision {
        self.tracker.decide(sighting, self.millis(Instant::now()))
    }

    /// Puts the backend that still holds the prompt of this session first, where it is healthy,
    /// loses less than 0.02 of the score and nothing else. Answers why, in words.
    pub(crate) fn prefer_warm(
        &self,
        session: Option<(PrefixId, PrefixId)>,
        choices: &mut [RoutedCandidate],
        name: impl Fn(&Candidate) -> String,
        health: impl Fn(&Candidate) -> HealthState,
    ) -> Option<String> {
        let (session, prefix) = session?;
        let now = self.millis(Instant::now());
        let warm = self.affinity.warm(session, prefix, now)?;
        let place = choices.iter().position(|choice| {
            let candidate = &choice.candidate;
            candidate.entry.id == warm.affinity.model && name(candidate) == warm.affinity.endpoint
        })?;
        let found = format!(
            "`{}` at {} has {} tokens of this session in its prompt cache, used {} s ago",
            warm.affinity.model,
            warm.affinity.endpoint,
            warm.affinity.tokens,
            warm.idle / 1_000
        );
        if place == 0 {
            return Some(format!("{found}; it is the first choice anyway"));
        }
        let state = health(&choices[place].candidate);
        if matches!(state, HealthState::Degraded | HealthState::Down) {
            return Some(format!("{found}, but is not healthy"));
        }
        if !is_near(&choices[0], &choices[place]) {
            let why = match choices[place].group == choices[0].group {
                true => "another backend is better by more",
                false => "the order of backends, a preference or the price puts another one first",
            };
            return Some(format!("{found}, but {why}"));
        }
        choices[..=place].rotate_right(1);
        Some(format!(
            "{found}; preferred over a score that is higher by less than {EPSILON}"
        ))
    }
}

/// The prompt cache of one leg.
pub(crate) struct LegCache {
    /// Memory in which the outcome is noted.
    pub(crate) caches: Arc<PromptCaches>,
    /// The decision about marks; `None` where the caller or the provider sets them.
    pub(crate) marks: Option<(Sighting, MarkDecision)>,
    /// Marks that are set in place of the decided ones; `None` where there are no such ones.
    pub(crate) fixed: Option<MarkPlan>,
    /// The session, and what it will find at the backend after a success.
    pub(crate) affinity: Option<(PrefixId, Affinity)>,
    /// Whether the call only keeps the prompt of the session in the cache.
    pub(crate) is_keepalive: bool,
    /// Removals of stored answers before the request.
    pub(crate) begun: u64,
    /// The prefix of the request, and whether it was named as a stored one; set where the provider
    /// may store it, when it is sent.
    pub(crate) stored: OnceLock<(PrefixId, bool)>,
}

impl LegCache {
    /// The marks to set where the caller sets none.
    pub(crate) fn plan(&self) -> MarkPlan {
        self.known_plan().unwrap_or(MarkPlan::USUAL)
    }

    /// The marks that are set; `None` where the caller, the provider or the usual ones decide.
    pub(crate) fn known_plan(&self) -> Option<MarkPlan> {
        let decided = self.decision().map(MarkDecision::plan);
        self.fixed.or(decided)
    }

    /// The decision about marks; `None` where the caller or the provider sets them.
    pub(crate) fn decision(&self) -> Option<&MarkDecision> {
        self.marks.as_ref().map(|(_, decision)| decision)
    }

    /// Name for the list of optimizations; `None` where nothing could be cached.
    pub(crate) fn optimization(&self) -> Option<Cow<'static, str>> {
        let (decision, plan) = (self.decision()?, self.plan());
        let too_short = [decision.stable, decision.turns]
            .iter()
            .all(|verdict| verdict.reason == MarkReason::TooShort);
        Some(Cow::Borrowed(match plan.stable.max(plan.turns) {
            Some(CacheTtl::FiveMinutes) => "cache_marks_5m",
            Some(CacheTtl::OneHour) => "cache_marks_1h",
            None if too_short => return None,
            None => "cache_marks_withheld",
        }))
    }

    /// The request is over. What a provider has read is warm there from the time it was asked.
    pub(crate) fn settled(&self, receipt: &Receipt, asked: Instant) {
        // Nobody knows what a backend has read that was left before its head.
        let Some(head) = receipt.timings.head else {
            return;
        };
        if !matches!(receipt.outcome, Outcome::Finished | Outcome::Aborted) {
            return;
        }
        let now = self.caches.millis(asked);
        if let Some((sighting, _)) = &self.marks {
            let sent = receipt.timings.sent.unwrap_or(head);
            let readable = self.caches.millis(asked + head.saturating_sub(sent));
            let tracker = &self.caches.tracker;
            tracker.record(sighting, self.plan(), now, readable);
        }
        if let Some((id, false)) = self.stored.get()
            && let Some(usage) = &receipt.usage
        {
            self.caches.stored.read_without(*id, usage.cache_read);
        }
        if let Some((session, affinity)) = &self.affinity {
            let (session, affinity) = (*session, affinity.clone());
            if self.is_keepalive {
                self.caches.affinity.kept_warm(session, affinity, now);
            } else {
                self.caches.affinity.succeeded(session, affinity, now);
            }
        }
    }

    /// The backend failed, so its session looks elsewhere.
    pub(crate) fn failed(&self) {
        if let Some((session, affinity)) = &self.affinity {
            self.caches.affinity.forget(*session, &affinity.endpoint);
        }
    }
}

/// Whether a choice is as good as the first one but for a small part of its score.
fn is_near(first: &RoutedCandidate, other: &RoutedCandidate) -> bool {
    let (Some(best), Some(score)) = (first.score, other.score) else {
        return false;
    };
    let worse = |term: fn(&Score) -> f64| term(&score) < term(&best);
    let beaten =
        worse(|score| score.cost) && worse(|score| score.quality) && worse(|score| score.latency);
    !beaten
        && other.group == first.group
        && best.total - score.total < EPSILON
        && !worse(|score| score.features)
        && other.security >= first.security
        && other.below_quality <= first.below_quality
        && other.degraded.len() <= first.degraded.len()
}

/// Digest of an account or delegation and its session; `None` where no session is named.
pub(crate) fn session_id(prompts_of: &str, session: Option<&str>) -> Option<PrefixId> {
    Some(Digest::default().text(prompts_of).text(session?).done())
}

/// Digest of texts, each for itself.
pub(crate) fn texts_id(texts: &[&str]) -> PrefixId {
    let digest = Digest::default();
    texts
        .iter()
        .fold(digest, |digest, text| digest.text(text))
        .done()
}

/// The digests of session and prefix by which a session finds its warm backend; `None` where no
/// session is named.
pub(crate) fn warm_key(
    prompts_of: &str,
    session: Option<&str>,
    hints: Option<&RouteHints>,
    request: &ChatRequest,
) -> Option<(PrefixId, PrefixId)> {
    let session = session_id(prompts_of, session)?;
    Some((session, PromptDigest::of(prompts_of, hints, request).stable))
}

/// The digests of one prompt, apart from any backend.
pub(crate) struct PromptDigest<'a> {
    /// The request that the digests are of.
    pub(crate) request: &'a ChatRequest,
    /// Of account or delegation, and agent.
    pub(crate) pool: PrefixId,
    /// Of tools and system prompt.
    pub(crate) stable: PrefixId,
    /// Tokens of tools and system prompt.
    pub(crate) tokens: u64,
}

impl<'a> PromptDigest<'a> {
    /// Digests of a request of an account or delegation.
    pub(crate) fn of(
        prompts_of: &str,
        hints: Option<&RouteHints>,
        request: &'a ChatRequest,
    ) -> Self {
        let agent = hints.and_then(|hints| hints.golem_id.as_deref());
        let pool = Digest::default()
            .text(prompts_of)
            .text(agent.unwrap_or_default())
            .done();
        Self {
            request,
            pool,
            stable: Digest::default().id(pool).stable(request).done(),
            tokens: request.system_tokens(),
        }
    }

    /// Of a prefix at one backend and model.
    pub(crate) fn at(id: PrefixId, endpoint: &str, model: &str) -> PrefixId {
        Digest::default().id(id).text(endpoint).text(model).done()
    }

    /// Of the conversation: what stays of it as it grows, its first turn.
    pub(crate) fn turns(&self, session: Option<&str>) -> PrefixId {
        let digest = Digest::default().id(self.stable);
        let digest = digest.text(session.unwrap_or_default());
        let first = self.request.turns().first();
        first.into_iter().fold(digest, Digest::message).done()
    }
}

#[cfg(test)]
mod tests;
