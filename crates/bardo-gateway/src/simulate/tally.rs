//! What one arm cost on one seed.

use bardo_types::model::Price;
use bardo_types::money::{MicroUsd, PricePerMillion};
use bardo_types::usage::Usage;
use serde::Serialize;

/// Counts and costs of one arm, or their sum over seeds.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Tally {
    /// Calls of the workload.
    pub(crate) calls: u64,
    /// Calls that a provider carried out.
    pub(crate) upstream: u64,
    /// Calls answered by a stored answer.
    pub(crate) hash_hits: u64,
    /// Calls answered by that of an identical one at the same time.
    pub(crate) shared: u64,
    /// Calls answered by the answer to a question of the same meaning.
    pub(crate) semantic_hits: u64,
    /// Bill of the provider, in micro-USD.
    pub(crate) cost_micro: u64,
    /// Tokens and their cost, by class.
    pub(crate) fresh: Share,
    /// Read from the provider's cache.
    pub(crate) read: Share,
    /// Written to the provider's cache.
    pub(crate) written: Share,
    pub(crate) output: Share,
    /// Part of `written` that exceeds the price of fresh input, in USD.
    pub(crate) premium_usd: f64,
}

/// Tokens of a class and what they cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Share {
    pub(crate) tokens: u64,
    pub(crate) usd: f64,
}

impl Share {
    fn add(&mut self, tokens: u64, price: PricePerMillion) {
        self.tokens += tokens;
        self.usd += usd(tokens, price);
    }

    fn plus(&mut self, other: Self) {
        self.tokens += other.tokens;
        self.usd += other.usd;
    }
}

/// For figures of a report alone: money is counted in whole micro-USD.
#[expect(clippy::cast_precision_loss, reason = "figures of a report")]
fn usd(tokens: u64, price: PricePerMillion) -> f64 {
    tokens as f64 * price.micro() as f64 / 1e12
}

impl Tally {
    /// A provider answered.
    pub(super) fn answered(&mut self, usage: &Usage, price: &Price, cost: MicroUsd) {
        self.upstream += 1;
        self.cost_micro += cost.get();
        let read = price.cache_read.unwrap_or(price.input);
        self.fresh.add(usage.fresh_input, price.input);
        self.read.add(usage.cache_read, read);
        self.output.add(usage.output, price.output);
        for (tokens, rate) in [
            (usage.cache_write_5m, price.cache_write_5m),
            (usage.cache_write_1h, price.cache_write_1h),
        ] {
            let rate = rate.unwrap_or(price.input);
            self.written.add(tokens, rate);
            self.premium_usd += usd(tokens, rate) - usd(tokens, price.input);
        }
    }

    /// The bill in USD.
    #[expect(clippy::cast_precision_loss, reason = "figures of a report")]
    pub(crate) fn cost_usd(&self) -> f64 {
        self.cost_micro as f64 / 1e6
    }

    pub(super) fn plus(&mut self, other: &Self) {
        self.calls += other.calls;
        self.upstream += other.upstream;
        self.hash_hits += other.hash_hits;
        self.shared += other.shared;
        self.semantic_hits += other.semantic_hits;
        self.cost_micro += other.cost_micro;
        self.fresh.plus(other.fresh);
        self.read.plus(other.read);
        self.written.plus(other.written);
        self.output.plus(other.output);
        self.premium_usd += other.premium_usd;
    }
}
