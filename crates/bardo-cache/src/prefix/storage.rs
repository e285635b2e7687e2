//! Prefixes that a provider stores on order, for a fee per token and hour: whether that pays.
//!
//! Storing costs the input price of the prefix once, and the fee for the whole lifetime. Each call
//! that names the stored prefix then pays the price of cached reads for it. It pays where enough
//! calls come within one lifetime.

use bardo_types::money::{MicroUsd, PricePerMillion};

use super::Millis;
use super::gaps::Gaps;

/// Lifetimes that are considered, in seconds.
const LIFETIMES_S: [u64; 4] = [300, 900, 1_800, 3_600];
/// Time before the end of a lifetime from which the stored prefix is not used any more.
pub(super) const MARGIN_MS: Millis = 60_000;
/// Fewest gaps on which a decision rests.
const GAPS_MIN: usize = 4;
/// 10⁻¹² USD in 10⁻⁶ USD.
const PICO: u128 = 1_000_000;

/// Prices of one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StorageRates {
    /// Price of input, which creation is billed at.
    pub input: PricePerMillion,
    /// Price of input that is read from a stored prefix.
    pub read: PricePerMillion,
    /// Price of a million stored tokens for an hour.
    pub hour: PricePerMillion,
}

/// One prefix at one model, as far as its price goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StorageCase {
    /// Prices of the model.
    pub rates: StorageRates,
    /// Tokens of the prefix.
    pub tokens: u64,
    /// Fewest tokens that the provider stores.
    pub minimum: u64,
}

/// A decision to store a prefix, or to go on storing it, with the figures behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoragePlan {
    /// Lifetime from now on, in seconds.
    pub ttl_s: u64,
    /// The part of it that is not paid for yet, in seconds.
    pub added_s: u64,
    /// Observed gaps of calls that fit into the lifetime, the longest first.
    pub hits: u32,
    /// Fee of the storage for the whole lifetime.
    pub fee: MicroUsd,
    /// Fee and, where the prefix is created, its tokens at the input price.
    pub cost: MicroUsd,
    /// What those calls save. More than 1.5 times the cost.
    pub saving: MicroUsd,
}

impl StorageCase {
    /// The best lifetime for a prefix that is not stored yet; `None` where none saves more than 1.5
    /// times what it costs. `already`: tokens of the prefix that the provider's own cache reads in
    /// any case.
    #[must_use]
    pub fn create(&self, gaps: &Gaps, already: u64) -> Option<StoragePlan> {
        let once = u128::from(self.rates.input.micro()).checked_mul(u128::from(self.tokens))?;
        self.best(gaps, already, once)
    }

    /// The best lifetime from now on for a prefix that is stored; `None` where none pays.
    #[must_use]
    pub fn extend(&self, gaps: &Gaps, already: u64) -> Option<StoragePlan> {
        self.best(gaps, already, 0)
    }

    /// Fee for the storage over so many seconds, rounded up; `None` on overflow.
    #[must_use]
    pub fn fee(&self, seconds: u64) -> Option<MicroUsd> {
        micro_up(self.fee_pico(seconds)?)
    }

    fn fee_pico(&self, seconds: u64) -> Option<u128> {
        u128::from(self.rates.hour.micro())
            .checked_mul(u128::from(self.tokens))?
            .checked_mul(u128::from(seconds))
            .map(|pico| pico.div_ceil(3_600))
    }

    fn best(&self, gaps: &Gaps, already: u64, once: u128) -> Option<StoragePlan> {
        if self.tokens < self.minimum || gaps.len() < GAPS_MIN {
            return None;
        }
        let per_token = self
            .rates
            .input
            .micro()
            .checked_sub(self.rates.read.micro())?;
        let fresh = self.tokens.saturating_sub(already);
        let per_hit = u128::from(per_token).checked_mul(u128::from(fresh))?;
        let plan = |ttl_s: u64| {
            let hits = hits(gaps, ttl_s);
            let fee = self.fee_pico(ttl_s)?;
            let cost = once.checked_add(fee)?;
            let saving = per_hit.checked_mul(u128::from(hits))?;
            (saving.checked_mul(2)? > cost.checked_mul(3)?).then_some(())?;
            let plan = StoragePlan {
                ttl_s,
                added_s: ttl_s,
                hits,
                fee: micro_up(fee)?,
                cost: micro_up(cost)?,
                saving: micro_down(saving),
            };
            Some((saving - cost, plan))
        };
        let all = LIFETIMES_S.into_iter().filter_map(plan);
        // Of equal ones the shorter lifetime.
        all.reduce(|best, next| if next.0 > best.0 { next } else { best })
            .map(|(_, plan)| plan)
    }
}

/// Calls that come within a lifetime for sure, if gaps are as they were: the longest come first.
fn hits(gaps: &Gaps, ttl_s: u64) -> u32 {
    let mut known: Vec<Millis> = gaps.known().collect();
    known.sort_unstable_by(|one, other| other.cmp(one));
    let usable = ttl_s.saturating_mul(1_000).saturating_sub(MARGIN_MS);
    let mut sum: Millis = 0;
    let within = known.into_iter().take_while(|gap| {
        sum = sum.saturating_add(*gap);
        sum <= usable
    });
    u32::try_from(within.count()).unwrap_or(u32::MAX)
}

fn micro_up(pico: u128) -> Option<MicroUsd> {
    let micro = u64::try_from(pico.div_ceil(PICO)).ok()?;
    Some(MicroUsd::new(micro)).filter(|amount| *amount <= MicroUsd::MAX)
}

fn micro_down(pico: u128) -> MicroUsd {
    u64::try_from(pico / PICO).map_or(MicroUsd::MAX, MicroUsd::new)
}

#[cfg(test)]
mod tests;
