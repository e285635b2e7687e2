//! What a provider says it counted, in disjoint classes.

use crate::model::Price;
use crate::money::{ExactCost, MicroUsd, PricePerMillion, SignedMicroUsd};

/// Tokens of one answer in disjoint classes, so that each is priced once.
///
/// `fresh_input + cache_read + cache_write_5m + cache_write_1h` is the whole prompt;
/// `output` includes `reasoning`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// Prompt tokens billed at the full input price.
    pub fresh_input: u64,
    /// Prompt tokens read from the provider's cache.
    pub cache_read: u64,
    /// Prompt tokens written to the provider's cache for 5 minutes (or its only duration).
    pub cache_write_5m: u64,
    /// Prompt tokens written to the provider's cache for an hour.
    pub cache_write_1h: u64,
    /// Completion tokens, reasoning included.
    pub output: u64,
    /// The part of `output` that was reasoning, where the provider tells.
    pub reasoning: Option<u64>,
    /// Audio tokens within the prompt, where the provider tells; those that it tells to be read
    /// from its cache are left out.
    pub audio_input: Option<u64>,
    /// Audio tokens within the completion.
    pub audio_output: Option<u64>,
    /// Predicted-output tokens that were accepted and rejected (OpenAI).
    pub accepted_prediction: Option<u64>,
    /// Tokens of the prediction that are not in the answer; see [`Self::accepted_prediction`].
    pub rejected_prediction: Option<u64>,
    /// Searches the provider ran for this answer.
    pub web_searches: Option<u64>,
    /// The provider's own charge, as its decimal text in USD.
    pub provider_cost_usd: Option<String>,
    /// The fee of a reseller that called the maker with a key of its customer's own (OpenRouter
    /// `is_byok`). It is all that the reseller bills: the maker bills the owner of the key.
    pub byok_fee: Option<MicroUsd>,
}

/// All counts, and the fee where there is one.
impl std::fmt::Debug for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Usage");
        shown
            .field("fresh_input", &self.fresh_input)
            .field("cache_read", &self.cache_read)
            .field("cache_write_5m", &self.cache_write_5m)
            .field("cache_write_1h", &self.cache_write_1h)
            .field("output", &self.output)
            .field("reasoning", &self.reasoning)
            .field("audio_input", &self.audio_input)
            .field("audio_output", &self.audio_output)
            .field("accepted_prediction", &self.accepted_prediction)
            .field("rejected_prediction", &self.rejected_prediction)
            .field("web_searches", &self.web_searches)
            .field("provider_cost_usd", &self.provider_cost_usd);
        if let Some(fee) = &self.byok_fee {
            shown.field("byok_fee", fee);
        }
        shown.finish()
    }
}

/// Prompt tokens by how they were read, where a service counts cached ones within the prompt:
/// fresh, read from a cache, written to one.
///
/// A service that tells more cached tokens than the whole prompt has either counted them apart, or
/// told a wrong number. Its total says which; where it tells none, they were counted apart.
#[must_use]
pub fn prompt_classes(
    prompt: u64,
    (read, written): (u64, u64),
    output: u64,
    total: Option<u64>,
) -> (u64, u64, u64) {
    let cached = read.saturating_add(written);
    if let Some(fresh) = prompt.checked_sub(cached) {
        return (fresh, read, written);
    }
    let apart = prompt.saturating_add(cached).saturating_add(output);
    if total.is_none_or(|total| total >= apart) {
        return (prompt, read, written);
    }
    let read = read.min(prompt);
    (0, read, written.min(prompt - read))
}

impl Usage {
    /// The whole prompt: fresh, cache reads and cache writes.
    #[must_use]
    pub fn prompt(&self) -> u64 {
        self.fresh_input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write())
    }

    /// Cache writes of both durations.
    #[must_use]
    pub fn cache_write(&self) -> u64 {
        self.cache_write_5m.saturating_add(self.cache_write_1h)
    }

    /// Prompt and completion.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.prompt().saturating_add(self.output)
    }

    /// Takes over a later snapshot of the same answer; snapshots in a stream replace, they never
    /// add. Prompt and completion are taken each as a whole, so that tokens which a later snapshot
    /// moves to another class are not counted in both; a part that says nothing changes nothing.
    pub fn supersede(&mut self, later: &Usage) {
        if later.prompt() != 0 {
            self.fresh_input = later.fresh_input;
            self.cache_read = later.cache_read;
            self.cache_write_5m = later.cache_write_5m;
            self.cache_write_1h = later.cache_write_1h;
        }
        if later.output != 0 {
            self.output = later.output;
        }
        let newer = |old: &mut Option<u64>, new: Option<u64>| {
            if new.is_some() {
                *old = new;
            }
        };
        newer(&mut self.reasoning, later.reasoning);
        newer(&mut self.audio_input, later.audio_input);
        newer(&mut self.audio_output, later.audio_output);
        newer(&mut self.accepted_prediction, later.accepted_prediction);
        newer(&mut self.rejected_prediction, later.rejected_prediction);
        newer(&mut self.web_searches, later.web_searches);
        newer_fee(&mut self.byok_fee, later.byok_fee);
        if later.provider_cost_usd.is_some() {
            self.provider_cost_usd.clone_from(&later.provider_cost_usd);
        }
    }

    /// Adds what another call for the same answer counted.
    pub fn add(&mut self, other: &Usage) {
        let plus = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        plus(&mut self.fresh_input, other.fresh_input);
        plus(&mut self.cache_read, other.cache_read);
        plus(&mut self.cache_write_5m, other.cache_write_5m);
        plus(&mut self.cache_write_1h, other.cache_write_1h);
        plus(&mut self.output, other.output);
        let told = |sum: &mut Option<u64>, more: Option<u64>| {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0).saturating_add(more));
            }
        };
        told(&mut self.reasoning, other.reasoning);
        told(&mut self.audio_input, other.audio_input);
        told(&mut self.audio_output, other.audio_output);
        told(&mut self.accepted_prediction, other.accepted_prediction);
        told(&mut self.rejected_prediction, other.rejected_prediction);
        told(&mut self.web_searches, other.web_searches);
        // One of two calls that was billed by its tokens makes both so.
        self.byok_fee = self
            .byok_fee
            .zip(other.byok_fee)
            .and_then(|(one, other)| one.checked_add(other));
        // Decimal texts are not added up; what was counted is.
        self.provider_cost_usd = None;
    }

    /// The exact cost at `price`; `None` on overflow.
    ///
    /// Each token is priced once. Audio leaves the fresh prompt, and audio and reasoning leave the
    /// completion, only where they have prices of their own; a part that claims more tokens than
    /// its whole is cut to it. Cache classes without a price of their own fall back to one that is
    /// not below the real one, see [`Price::cache_write_5m_or_more`]. Where the tokens were billed to
    /// a key of the customer's own, the cost is the fee alone.
    // One copy: a request is priced in several places, at each of them once.
    #[inline(never)]
    #[must_use]
    pub fn cost(&self, price: &Price) -> Option<ExactCost> {
        if let Some(fee) = self.byok_fee {
            return ExactCost::ZERO.plus_each(fee, 1);
        }
        let price = &price.for_prompt(self.prompt());
        let (audio_input, fresh) = part(self.fresh_input, self.audio_input, price.audio_input);
        let (audio_output, spoken) = part(self.output, self.audio_output, price.audio_output);
        let (reasoning, plain) = part(spoken, self.reasoning, price.reasoning);
        ExactCost::ZERO
            .plus(price.input, fresh)?
            .plus(price.audio_input.unwrap_or(price.input), audio_input)?
            .plus(price.cache_read_or_more(), self.cache_read)?
            .plus(price.cache_write_5m_or_more()?, self.cache_write_5m)?
            .plus(price.cache_write_1h_or_more()?, self.cache_write_1h)?
            .plus(price.output, plain)?
            .plus(price.audio_output.unwrap_or(price.output), audio_output)?
            .plus(price.reasoning.unwrap_or(price.output), reasoning)?
            .plus_each(
                price.web_search.unwrap_or_default(),
                self.web_searches.unwrap_or(0),
            )?
            .plus_each(price.request.unwrap_or_default(), 1)
    }
}

fn newer_fee(old: &mut Option<MicroUsd>, new: Option<MicroUsd>) {
    if new.is_some() {
        *old = new;
    }
}

impl Usage {
    /// Difference that the provider's prompt cache made to the cost: the cost of the same tokens
    /// without a cache, less the cost. Below zero where writing to the cache cost more than reading
    /// from it saved; `None` on overflow.
    #[must_use]
    pub fn cache_savings(&self, price: &Price) -> Option<SignedMicroUsd> {
        if self.cache_read == 0 && self.cache_write_5m == 0 && self.cache_write_1h == 0 {
            return Some(SignedMicroUsd::default());
        }
        let uncached = Self {
            fresh_input: self.prompt(),
            cache_read: 0,
            cache_write_5m: 0,
            cache_write_1h: 0,
            ..self.clone()
        };
        let cost = |usage: &Self| usage.cost(price)?.charge();
        Some(SignedMicroUsd::difference(cost(&uncached)?, cost(self)?))
    }
}

/// Divides `whole` into the tokens that have a price of their own and the rest.
fn part(whole: u64, told: Option<u64>, own_price: Option<PricePerMillion>) -> (u64, u64) {
    let part = match own_price {
        Some(_) => told.unwrap_or(0).min(whole),
        None => 0,
    };
    (part, whole - part)
}

#[cfg(test)]
mod tests;
