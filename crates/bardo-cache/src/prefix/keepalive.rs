//! Calls between the calls: whether keeping an entry of a provider's cache pays.
//!
//! An entry lives for a time after its last use. A small call with the same prefix is a use. It pays
//! where calls come back regularly, a little later than the entry lives.

use bardo_types::chat::CacheTtl;
use bardo_types::money::{ExactCost, MicroUsd, PricePerMillion};

use super::Millis;
use super::gaps::{Gaps, usable_ms};
use super::policy::{CacheRates, MarkCase, MarkReason, Verdict, total_with};

/// Time before the end of an entry at which it is used again.
const AHEAD_MS: Millis = 60_000;
/// Tokens of a keepalive call behind the prefix, rather too many than too few.
const OWN_TOKENS: u64 = 32;

/// What the owner allows of keepalive calls, and what they cost beside the prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepaliveTerms {
    /// Most keepalive calls in a row, without a call of the agent between them.
    pub in_row: u32,
    /// Price of output, of which each call makes one token.
    pub output: PricePerMillion,
}

impl KeepaliveTerms {
    /// Cost of one call for a prefix of so many tokens, rounded up; the most where it cannot be
    /// reckoned.
    #[must_use]
    pub fn charge(&self, rates: &CacheRates, tokens: u64) -> MicroUsd {
        let cost = pings_cost(rates, tokens, self, 1);
        cost.and_then(ExactCost::charge).unwrap_or(MicroUsd::MAX)
    }
}

/// A decision to keep an entry, with the figures behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Warming {
    /// Lifetime of the entry.
    pub ttl: CacheTtl,
    /// Keepalive calls in a row after which the entry is given up.
    pub pings: u32,
    /// Cost of one keepalive call.
    pub ping_cost: ExactCost,
    /// Cost of all keepalive calls over the observed gaps.
    pub spent: ExactCost,
    /// Cost of the prompt over the observed gaps with the best choice without keepalive calls.
    pub without: ExactCost,
    /// That cost with them, themselves left out. The difference is more than 1.5 times `spent`.
    pub with: ExactCost,
    /// Gaps that were observed.
    pub gaps: u32,
}

impl Warming {
    /// Time from a use of the entry to the keepalive call, in milliseconds.
    #[must_use]
    pub const fn interval_ms(&self) -> Millis {
        interval_ms(self.ttl)
    }

    /// Time from a use of the entry after which it counts as expired, in milliseconds.
    #[must_use]
    pub const fn usable_ms(&self) -> Millis {
        usable_ms(self.ttl)
    }

    /// Cost of one keepalive call, rounded up.
    #[must_use]
    pub fn ping_charge(&self) -> MicroUsd {
        self.ping_cost.charge().unwrap_or(MicroUsd::MAX)
    }

    /// What a gap saves on average, without the cost of keepalive calls, rounded down.
    #[must_use]
    pub fn saving_per_gap(&self) -> MicroUsd {
        let micro = self.saving() / 1_000_000 / u128::from(self.gaps.max(1));
        u64::try_from(micro).map_or(MicroUsd::MAX, MicroUsd::new)
    }

    /// What the observed gaps save, without the cost of keepalive calls, in 10⁻¹² USD.
    fn saving(&self) -> u128 {
        self.without.pico().saturating_sub(self.with.pico())
    }

    /// Whether the saving is more than 1.5 times the cost of the keepalive calls.
    fn pays(&self) -> bool {
        self.saving().saturating_mul(2) > self.spent.pico().saturating_mul(3)
    }

    /// The saving less the cost of the keepalive calls, in 10⁻¹² USD.
    fn net(&self) -> u128 {
        self.saving().saturating_sub(self.spent.pico())
    }
}

const fn interval_ms(ttl: CacheTtl) -> Millis {
    let whole = match ttl {
        CacheTtl::FiveMinutes => 300_000,
        CacheTtl::OneHour => 3_600_000,
    };
    whole - AHEAD_MS
}

/// Keepalive calls that a gap needs.
fn needed(gap: Millis, ttl: CacheTtl) -> u64 {
    let interval = interval_ms(ttl);
    gap.saturating_sub(usable_ms(ttl)).div_ceil(interval)
}

/// Decides whether keepalive calls pay over the observed gaps; `None` where they do not save more
/// than 1.5 times what they cost, and where the calls are not regular.
pub(super) fn warming(
    case: &MarkCase,
    gaps: &Gaps,
    verdict: &Verdict,
    terms: &KeepaliveTerms,
) -> Option<Warming> {
    let is_reckoned = matches!(verdict.reason, MarkReason::Cheapest | MarkReason::Kept);
    if !is_reckoned || case.rates.assumed || !gaps.is_periodic() {
        return None;
    }
    let without = verdict.cheapest();
    let cost = |calls| pings_cost(&case.rates, case.reused, terms, calls);
    let ping_cost = cost(1)?;
    let mut best: Option<Warming> = None;
    for ttl in [CacheTtl::FiveMinutes, CacheTtl::OneHour] {
        for pings in 1..=terms.in_row {
            let (mut warm, mut sent) = (0_u32, 0_u64);
            for gap in gaps.known() {
                let needed = needed(gap, ttl);
                warm += u32::from(needed <= u64::from(pings));
                sent += needed.min(u64::from(pings));
            }
            let Some(with) = total_with(case, ttl, warm).filter(|_| sent > 0) else {
                continue;
            };
            let choice = Warming {
                ttl,
                pings,
                ping_cost,
                spent: cost(sent)?,
                without,
                with,
                gaps: case.evidence.total,
            };
            if choice.pays() && choice.net() > best.as_ref().map_or(0, Warming::net) {
                best = Some(choice);
            }
        }
    }
    best
}

/// Cost of so many keepalive calls that find their entry; `None` on overflow.
fn pings_cost(
    rates: &CacheRates,
    tokens: u64,
    terms: &KeepaliveTerms,
    count: u64,
) -> Option<ExactCost> {
    ExactCost::ZERO
        .plus(rates.read, tokens.checked_mul(count)?)?
        .plus(rates.fresh, OWN_TOKENS.checked_mul(count)?)?
        .plus(terms.output, count)
}

#[cfg(test)]
mod tests;
