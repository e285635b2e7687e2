//! Whether a mark pays: the expected cost of each choice over the gaps that were observed.

use std::fmt;

use bardo_types::chat::CacheTtl;
use bardo_types::model::Price;
use bardo_types::money::{ExactCost, PricePerMillion};

use super::gaps::Evidence;
use super::keepalive::Warming;

/// A change of the marks must save this share of the cost without a mark: one part in this many.
const CHANGE_PARTS: u128 = 20;

/// Prices of prompt tokens that a decision compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheRates {
    /// Price of input that is read without a cache.
    pub fresh: PricePerMillion,
    /// Input read from the cache.
    pub read: PricePerMillion,
    /// Input written for five minutes; `None` where a provider offers no such mark.
    pub write_5m: Option<PricePerMillion>,
    /// Input written for an hour; `None` where a provider offers no such mark.
    pub write_1h: Option<PricePerMillion>,
    /// The list has no price of cache reads, so no discount is assumed.
    pub assumed: bool,
}

impl CacheRates {
    /// The rates of a model for a prompt of so many tokens. An unlisted price of reads counts as
    /// the price of fresh input, unlisted writes as the dearest that are known.
    #[must_use]
    pub fn of(price: &Price, tokens: u64, offers_an_hour: bool) -> Self {
        let price = price.for_prompt(tokens);
        Self {
            fresh: price.input,
            read: price.cache_read_or_more(),
            write_5m: price.cache_write_5m_or_more(),
            write_1h: price.cache_write_1h_or_more().filter(|_| offers_an_hour),
            assumed: price.cache_read.is_none(),
        }
    }

    fn write(&self, ttl: CacheTtl) -> Option<PricePerMillion> {
        match ttl {
            CacheTtl::FiveMinutes => self.write_5m,
            CacheTtl::OneHour => self.write_1h,
        }
    }
}

/// One stretch of a prompt whose marks are to be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkCase {
    /// Tokens that the last call began with too.
    pub reused: u64,
    /// Tokens that are new in each call and are written with the rest.
    pub added: u64,
    /// Fewest tokens that the model caches; 0: unknown.
    pub minimum: u64,
    /// Prices of the model at the backend.
    pub rates: CacheRates,
    /// Gaps that were observed.
    pub evidence: Evidence,
    /// Choice of the last call; `None` where there was none.
    pub current: Option<Option<CacheTtl>>,
}

/// Why a choice was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkReason {
    /// The stretch is shorter than what the model caches.
    TooShort,
    /// Reads are not cheaper than fresh input, so no mark can pay.
    NoDiscount,
    /// No gap was observed yet: five minutes as a first guess.
    FirstGuess,
    /// The caller says that further calls of its series follow.
    Announced,
    /// The caller says that this is the last call of its series.
    LastCall,
    /// The cheapest choice over the observed gaps.
    Cheapest,
    /// The choice of the last call, because another one saves too little.
    Kept,
    /// Keepalive calls between the calls save more than 1.5 times what they cost.
    KeptWarm,
}

/// A choice, with the figures of all sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Lifetime of the mark; `None`: no mark.
    pub ttl: Option<CacheTtl>,
    /// Reason for the choice.
    pub reason: MarkReason,
    /// Tokens of the stretch.
    pub tokens: u64,
    /// Fewest tokens that the model caches.
    pub minimum: u64,
    /// Gaps that were observed.
    pub evidence: Evidence,
    /// Cost of the prompt over all observed gaps without a mark.
    pub unmarked: ExactCost,
    /// That cost with marks of five minutes, where they are offered.
    pub five_minutes: Option<ExactCost>,
    /// That cost with marks of an hour, where they are offered.
    pub one_hour: Option<ExactCost>,
    /// Keepalive calls that follow the call; `None`: none do.
    pub warming: Option<Warming>,
}

/// Decides the mark of a stretch. Under the observed gaps the choice never costs more than no mark.
#[must_use]
pub fn decide(case: &MarkCase) -> Verdict {
    let tokens = case.reused.saturating_add(case.added);
    let mut verdict = Verdict {
        ttl: None,
        reason: MarkReason::TooShort,
        tokens,
        minimum: case.minimum,
        evidence: case.evidence,
        unmarked: ExactCost::ZERO,
        five_minutes: None,
        one_hour: None,
        warming: None,
    };
    if tokens == 0 || tokens < case.minimum {
        return verdict;
    }
    if case.rates.read >= case.rates.fresh {
        verdict.reason = MarkReason::NoDiscount;
        return verdict;
    }
    if case.evidence.total == 0 {
        verdict.ttl = case.rates.write_5m.map(|_| CacheTtl::FiveMinutes);
        verdict.reason = MarkReason::FirstGuess;
        return verdict;
    }
    let Some(unmarked) = total(case, None) else {
        return verdict;
    };
    verdict.unmarked = unmarked;
    verdict.five_minutes = total(case, Some(CacheTtl::FiveMinutes));
    verdict.one_hour = total(case, Some(CacheTtl::OneHour));
    (verdict.ttl, verdict.reason) = verdict.choice(case.current);
    verdict
}

impl Verdict {
    /// Cost of one choice over all observed gaps; `None` where it is not offered.
    #[must_use]
    pub fn cost(&self, ttl: Option<CacheTtl>) -> Option<ExactCost> {
        match ttl {
            None => Some(self.unmarked),
            Some(CacheTtl::FiveMinutes) => self.five_minutes,
            Some(CacheTtl::OneHour) => self.one_hour,
        }
    }

    /// Whether the observed gaps speak against marks of five minutes: a first guess for what stands
    /// behind this stretch would write the stretch too.
    pub(super) fn comes_back_late(&self) -> bool {
        let is_reckoned = matches!(
            self.reason,
            MarkReason::Cheapest | MarkReason::Kept | MarkReason::KeptWarm
        );
        is_reckoned && (self.ttl.is_none() || self.evidence.within_5m == 0)
    }

    /// Cost of the cheapest choice over all observed gaps.
    pub(super) fn cheapest(&self) -> ExactCost {
        let marked = [self.five_minutes, self.one_hour].into_iter().flatten();
        marked.fold(self.unmarked, Ord::min)
    }

    /// The verdict where the caller says that further calls follow.
    pub(super) fn announced(self) -> Self {
        let reason = match self.reason {
            MarkReason::FirstGuess => MarkReason::Announced,
            other => other,
        };
        Self { reason, ..self }
    }

    /// The verdict where the caller says that no further call follows.
    pub(super) fn of_last_call(self) -> Self {
        match self.ttl {
            None => self,
            Some(_) => Self {
                ttl: None,
                reason: MarkReason::LastCall,
                ..self
            },
        }
    }

    /// The verdict where keepalive calls follow.
    #[must_use]
    pub(super) fn kept_warm(self, warming: Warming) -> Self {
        Self {
            ttl: Some(warming.ttl),
            reason: MarkReason::KeptWarm,
            warming: Some(warming),
            ..self
        }
    }

    /// The cheapest choice, or the current one where the cheapest saves too little over it.
    fn choice(&self, current: Option<Option<CacheTtl>>) -> (Option<CacheTtl>, MarkReason) {
        let (mut best, mut least) = (None, self.unmarked);
        for ttl in [CacheTtl::FiveMinutes, CacheTtl::OneHour] {
            if let Some(cost) = self.cost(Some(ttl)).filter(|cost| *cost < least) {
                (best, least) = (Some(ttl), cost);
            }
        }
        if let Some(kept) = current
            && kept != best
            && let Some(cost) = self.cost(kept).filter(|cost| *cost <= self.unmarked)
            && cost.pico() - least.pico() < self.unmarked.pico() / CHANGE_PARTS
        {
            return (kept, MarkReason::Kept);
        }
        (best, MarkReason::Cheapest)
    }
}

/// Cost of the prompt over the calls on both sides of all observed gaps. The first call writes what
/// is reused later; of the others a warm one reads that and writes what is new, and a cold one writes
/// all of it. Without a mark everything is fresh. `None` on overflow and where the mark is not
/// offered.
fn total(case: &MarkCase, ttl: Option<CacheTtl>) -> Option<ExactCost> {
    let Some(ttl) = ttl else {
        let gaps = u64::from(case.evidence.total);
        let all = case.reused.checked_add(case.added)?;
        let first = ExactCost::ZERO.plus(case.rates.fresh, case.reused)?;
        return first.plus(case.rates.fresh, all.checked_mul(gaps)?);
    };
    total_with(case, ttl, case.evidence.warm(ttl))
}

/// Cost of the prompt over all observed gaps with a mark, where so many calls find their entry.
pub(super) fn total_with(case: &MarkCase, ttl: CacheTtl, warm: u32) -> Option<ExactCost> {
    let gaps = u64::from(case.evidence.total);
    let all = case.reused.checked_add(case.added)?;
    let write = case.rates.write(ttl)?;
    let warm = u64::from(warm).min(gaps);
    ExactCost::ZERO
        .plus(write, case.reused)?
        .plus(case.rates.read, case.reused.checked_mul(warm)?)?
        .plus(write, case.added.checked_mul(warm)?)?
        .plus(write, all.checked_mul(gaps - warm)?)
}

/// Words for a lifetime.
fn name(ttl: Option<CacheTtl>) -> &'static str {
    match ttl {
        None => "no mark",
        Some(CacheTtl::FiveMinutes) => "marks of 5 minutes",
        Some(CacheTtl::OneHour) => "marks of 1 hour",
    }
}

/// A share of a cost for each of the calls on both sides of so many gaps, in USD with six digits,
/// rounded up.
fn usd(cost: ExactCost, gaps: u32) -> String {
    let micro = cost.pico().div_ceil(1_000_000 * (u128::from(gaps) + 1));
    format!("${}.{:06}", micro / 1_000_000, micro % 1_000_000)
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            tokens, minimum, ..
        } = self;
        if self.reason == MarkReason::TooShort && *tokens == 0 {
            return write!(f, "no mark: the request has nothing to cache");
        }
        write!(f, "{} on {tokens} tokens: ", name(self.ttl))?;
        match self.reason {
            MarkReason::TooShort => write!(f, "the model caches from {minimum} tokens on"),
            MarkReason::NoDiscount => {
                write!(f, "the price list has no discount on cache reads")
            }
            MarkReason::FirstGuess => {
                write!(f, "first guess, no gap between calls was observed yet")
            }
            MarkReason::Announced => {
                write!(f, "by call_index and call_count, further calls follow")
            }
            MarkReason::LastCall => {
                write!(f, "by call_index and call_count, no further call follows")
            }
            MarkReason::Cheapest | MarkReason::Kept | MarkReason::KeptWarm => self.figures(f),
        }
    }
}

impl Verdict {
    fn figures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Evidence {
            total,
            within_5m,
            within_1h,
            pooled,
        } = self.evidence;
        let of = if pooled {
            "calls of other prompts of this caller"
        } else {
            "calls"
        };
        write!(
            f,
            "of {total} {of}, {within_5m} came back within 5 minutes and {within_1h} within 1 hour; \
             expected per call: no mark {}",
            usd(self.unmarked, total)
        )?;
        for ttl in [CacheTtl::FiveMinutes, CacheTtl::OneHour] {
            if let Some(cost) = self.cost(Some(ttl)) {
                write!(f, ", {} {}", name(Some(ttl)), usd(cost, total))?;
            }
        }
        if self.reason == MarkReason::Kept {
            write!(f, "; kept, because a change saves less than 5 %")?;
        }
        if let Some(warming) = &self.warming {
            let Warming { pings, .. } = warming;
            let calls = if *pings == 1 { "call" } else { "calls" };
            write!(
                f,
                "; with at most {pings} keepalive {calls} between two calls {}, and {} for those",
                usd(warming.with, total),
                usd(warming.spent, total)
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
