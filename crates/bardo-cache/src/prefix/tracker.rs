//! The memory behind decisions: when each prefix was last used, at what gaps, with what marks.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use bardo_types::chat::{CacheTtl, MarkPlan};

use super::gaps::{Evidence, Gaps, usable_ms};
use super::keepalive::{KeepaliveTerms, warming};
use super::policy::{CacheRates, MarkCase, MarkReason, Verdict, decide};
use super::{Millis, PrefixId};
use crate::generations::Generations;

/// First sightings of a caller before its other prompts say anything of a new one.
const POOL_MIN: u32 = 8;
/// First sightings at which the counts of a pool are halved, so that old habits fade.
const POOL_MAX: u32 = 256;
/// Time in which a new prefix may still come back; it counts as lost only afterwards.
const PENDING_MS: Millis = usable_ms(CacheTtl::FiveMinutes);

/// One stretch of a prompt that begins a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Digest of the stretch, its tenant, agent or session, and model. That of a conversation covers
    /// what stays as it grows: its first turn.
    pub id: PrefixId,
    /// Tokens from the beginning of the prompt to the end of the stretch.
    pub tokens: u64,
}

/// A request as far as prompt caches go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sighting {
    /// Digest of the tenant and its agent or session. Prefixes that are new are judged by the others
    /// of their pool.
    pub pool: PrefixId,
    /// Tools and system prompt.
    pub stable: Stretch,
    /// The whole conversation.
    pub turns: Stretch,
    /// Fewest tokens that the model caches; 0: unknown.
    pub minimum: u64,
    /// Prices of the model there.
    pub rates: CacheRates,
    /// Whether further calls of the caller's series follow; `None`: the caller does not say.
    pub followed: Option<bool>,
    /// Terms of keepalive calls for tools and system prompt; `None`: none may follow.
    pub keepalive: Option<KeepaliveTerms>,
}

/// The decisions for one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkDecision {
    /// Of tools and system prompt.
    pub stable: Verdict,
    /// Of the conversation.
    pub turns: Verdict,
}

impl MarkDecision {
    /// The marks to set. A longer lifetime may not stand behind a shorter one.
    #[must_use]
    pub fn plan(&self) -> MarkPlan {
        let stable = self.stable.ttl;
        let turns = match (stable, self.turns.ttl) {
            _ if self.turns.reason == MarkReason::FirstGuess && self.stable.comes_back_late() => {
                None
            }
            (Some(stable), Some(turns)) if turns > stable => self.shortened(stable),
            (_, turns) => turns,
        };
        MarkPlan { stable, turns }
    }

    /// A shorter mark of the conversation, where it costs no more than none.
    fn shortened(&self, ttl: CacheTtl) -> Option<CacheTtl> {
        let cost = self.turns.cost(Some(ttl))?;
        (cost <= self.turns.unmarked).then_some(ttl)
    }
}

impl fmt::Display for MarkDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "tools and system prompt: {}; conversation: {}",
            self.stable, self.turns
        )?;
        let plan = self.plan();
        if plan.turns.is_none() && self.turns.reason == MarkReason::FirstGuess {
            write!(
                f,
                "; the conversation gets none, because calls come back too late"
            )?;
        } else if plan.turns != self.turns.ttl {
            write!(
                f,
                "; the marks of the conversation may not outlive those before them"
            )?;
        }
        Ok(())
    }
}

/// The calls that were asked before a provider had what any of them wrote: one use of its cache.
#[derive(Debug, Clone, Copy)]
struct Burst {
    /// When the first of them was asked.
    first: Millis,
    /// When the last of them was asked.
    last: Millis,
    /// When the first answer began. A provider's entry can be read from then on.
    readable: Millis,
}

/// What is remembered of one stretch.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// The newest calls.
    burst: Burst,
    /// When the last call before them was asked. The gap that was added last begins there.
    before: Option<Millis>,
    tokens: u64,
    gaps: Gaps,
    marked: Option<CacheTtl>,
}

impl Seen {
    /// Gap that a call ends which is asked now; `None` where the entry cannot be read yet.
    fn gap(&self, now: Millis) -> Option<Millis> {
        (now >= self.burst.readable).then(|| now.saturating_sub(self.burst.last))
    }

    /// Takes in a call. Answers whether it was asked before the newest ones, because its answer took
    /// longer than theirs.
    fn called(&mut self, asked: Millis, readable: Millis) -> bool {
        let burst = &mut self.burst;
        if asked >= burst.readable {
            self.gaps.add(asked.saturating_sub(burst.last));
            self.before = Some(burst.last);
            *burst = Burst {
                first: asked,
                last: asked,
                readable,
            };
            return false;
        }
        if readable > burst.first {
            burst.first = burst.first.min(asked);
            burst.last = burst.last.max(asked);
            burst.readable = burst.readable.min(readable);
            return false;
        }
        let after = burst.first - asked;
        match self.before {
            None => self.gaps.add(after),
            Some(before) if asked > before => self.gaps.split(asked - before, after),
            // Between calls that are not remembered one by one.
            Some(_) => return true,
        }
        self.before = Some(asked);
        true
    }
}

/// How often the new prefixes of a caller came back.
#[derive(Debug, Clone, Copy, Default)]
struct Pool {
    firsts: u32,
    /// Those of `firsts` that are younger than the shortest lifetime, or were when one last looked.
    pending: u32,
    since: Millis,
    back_5m: u32,
    back_1h: u32,
}

impl Pool {
    fn evidence(&self, now: Millis) -> Evidence {
        let fresh = now.saturating_sub(self.since) <= PENDING_MS;
        let pending = if fresh { self.pending } else { 0 };
        let settled = self.firsts.saturating_sub(pending).max(self.back_1h);
        if settled < POOL_MIN {
            return Evidence::default();
        }
        Evidence {
            total: settled,
            within_5m: self.back_5m,
            within_1h: self.back_1h,
            pooled: true,
        }
    }

    fn first(&mut self, now: Millis) {
        if now.saturating_sub(self.since) > PENDING_MS {
            (self.pending, self.since) = (0, now);
        }
        if self.firsts >= POOL_MAX {
            for count in [
                &mut self.firsts,
                &mut self.pending,
                &mut self.back_5m,
                &mut self.back_1h,
            ] {
                *count /= 2;
            }
        }
        self.firsts += 1;
        self.pending += 1;
    }

    fn back(&mut self, gap: Millis) {
        self.back_1h += u32::from(gap <= usable_ms(CacheTtl::OneHour));
        self.back_5m += u32::from(gap <= usable_ms(CacheTtl::FiveMinutes));
    }
}

#[derive(Debug)]
struct PrefixMemory {
    stable: Generations<PrefixId, Seen>,
    turns: Generations<PrefixId, Seen>,
    pools: Generations<PrefixId, [Pool; 2]>,
}

/// Remembers the prefixes of all callers, in bounded memory.
#[derive(Debug)]
pub struct PrefixTracker(Mutex<PrefixMemory>);

impl PrefixTracker {
    /// A tracker that remembers up to `capacity` prompts, and as many conversations and callers.
    /// Each takes about 180 bytes.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self(Mutex::new(PrefixMemory {
            stable: Generations::new(capacity),
            turns: Generations::new(capacity),
            pools: Generations::new(capacity),
        }))
    }

    /// Decides the marks of a request that is sent now. Nothing is remembered.
    #[must_use]
    pub fn decide(&self, request: &Sighting, now: Millis) -> MarkDecision {
        let (stable, turns, pools) = {
            let memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            (
                memory.stable.get(&request.stable.id).copied(),
                memory.turns.get(&request.turns.id).copied(),
                memory.pools.get(&request.pool).copied().unwrap_or_default(),
            )
        };
        let turns_are_new = turns.is_none();
        let mut decision = MarkDecision {
            stable: judged(
                request,
                request.stable,
                stable,
                &pools[0],
                now,
                request.keepalive,
            ),
            turns: judged(request, request.turns, turns, &pools[1], now, None),
        };
        if request.followed == Some(false) && turns_are_new {
            decision.turns = decision.turns.of_last_call();
        }
        decision
    }

    /// Remembers a request that a provider answered, and the marks that it was sent with. `asked` is
    /// when it was sent, `readable` when the answer began: what it wrote can be read from then on. A
    /// call that was sent earlier is no gap.
    pub fn record(&self, request: &Sighting, plan: MarkPlan, asked: Millis, readable: Millis) {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let PrefixMemory {
            stable,
            turns,
            pools,
        } = &mut *memory;
        let mut pool = pools.get(&request.pool).copied().unwrap_or_default();
        let times = (asked, readable.max(asked));
        remember(stable, &mut pool[0], request.stable, plan.stable, times);
        remember(turns, &mut pool[1], request.turns, plan.turns, times);
        pools.put(request.pool, pool);
    }

    /// Prefixes that are remembered now.
    #[must_use]
    pub fn len(&self) -> usize {
        let memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        memory.stable.len() + memory.turns.len()
    }

    /// Nothing is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn judged(
    request: &Sighting,
    stretch: Stretch,
    seen: Option<Seen>,
    pool: &Pool,
    now: Millis,
    keepalive: Option<KeepaliveTerms>,
) -> Verdict {
    let gaps = seen.map(|seen| {
        // The gap that this call ends is known as well.
        let mut gaps = seen.gaps;
        if let Some(gap) = seen.gap(now) {
            gaps.add(gap);
        }
        gaps
    });
    let gaps = gaps.filter(|gaps| !gaps.is_empty());
    let is_announced = gaps.is_none() && request.followed == Some(true);
    let evidence = match gaps {
        Some(gaps) => gaps.evidence(),
        // The caller knows more of it than its other prompts say.
        None if is_announced => Evidence::default(),
        None => pool.evidence(now),
    };
    let reused = seen.map_or(stretch.tokens, |seen| seen.tokens.min(stretch.tokens));
    let case = MarkCase {
        reused,
        added: stretch.tokens - reused,
        minimum: request.minimum,
        rates: request.rates,
        evidence,
        current: seen.map(|seen| seen.marked),
    };
    let verdict = match decide(&case) {
        guess if is_announced => guess.announced(),
        verdict => verdict,
    };
    let kept = keepalive
        .zip(gaps)
        .and_then(|(terms, gaps)| warming(&case, &gaps, &verdict, &terms));
    match kept {
        Some(warming) => verdict.kept_warm(warming),
        None => verdict,
    }
}

fn remember(
    seen: &mut Generations<PrefixId, Seen>,
    pool: &mut Pool,
    stretch: Stretch,
    marked: Option<CacheTtl>,
    (asked, readable): (Millis, Millis),
) {
    let Some(known) = seen.get(&stretch.id) else {
        pool.first(asked);
        let entry = Seen {
            burst: Burst {
                first: asked,
                last: asked,
                readable,
            },
            before: None,
            tokens: stretch.tokens,
            gaps: Gaps::default(),
            marked,
        };
        seen.put(stretch.id, entry);
        return;
    };
    let mut entry = *known;
    let was_single = entry.gaps.is_empty();
    let is_old = entry.called(asked, readable);
    if was_single && let Some(gap) = entry.gaps.known().next() {
        pool.back(gap);
    }
    if !is_old {
        entry.tokens = stretch.tokens;
        entry.marked = marked;
    }
    seen.put(stretch.id, entry);
}

#[cfg(test)]
mod tests;
