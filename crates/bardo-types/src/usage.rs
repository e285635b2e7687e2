//! What a provider says it counted, in disjoint classes.

use crate::model::Price;
use crate::money::ExactCost;

/// Tokens of one answer in disjoint classes, so that each is priced once (quality P-05).
///
/// `fresh_input + cache_read + cache_write_5m + cache_write_1h` is the whole prompt;
/// `output` includes `reasoning`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    /// Audio tokens within the prompt and the completion, where the provider tells.
    pub audio_input: Option<u64>,
    /// Audio tokens within the completion.
    pub audio_output: Option<u64>,
    /// Predicted-output tokens that were accepted and rejected (OpenAI).
    pub accepted_prediction: Option<u64>,
    /// See [`Self::accepted_prediction`].
    pub rejected_prediction: Option<u64>,
    /// Searches the provider ran for this answer.
    pub web_searches: Option<u64>,
    /// What the provider says it charged, as its own decimal text in USD.
    pub provider_cost_usd: Option<String>,
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

    /// Replaces each value that `later` reports, as snapshots in a stream do (never adds).
    pub fn supersede(&mut self, later: &Usage) {
        let replace = |old: &mut u64, new: u64| {
            if new != 0 {
                *old = new;
            }
        };
        replace(&mut self.fresh_input, later.fresh_input);
        replace(&mut self.cache_read, later.cache_read);
        replace(&mut self.cache_write_5m, later.cache_write_5m);
        replace(&mut self.cache_write_1h, later.cache_write_1h);
        replace(&mut self.output, later.output);
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
        if later.provider_cost_usd.is_some() {
            self.provider_cost_usd.clone_from(&later.provider_cost_usd);
        }
    }

    /// The exact cost at `price`; `None` on overflow. Classes without a price of their own fall
    /// back to the input price, which is never below the real one.
    #[must_use]
    pub fn cost(&self, price: &Price) -> Option<ExactCost> {
        ExactCost::ZERO
            .plus(price.input, self.fresh_input)?
            .plus(price.cache_read.unwrap_or(price.input), self.cache_read)?
            .plus(
                price.cache_write_5m.unwrap_or(price.input),
                self.cache_write_5m,
            )?
            .plus(
                price
                    .cache_write_1h
                    .or(price.cache_write_5m)
                    .unwrap_or(price.input),
                self.cache_write_1h,
            )?
            .plus(price.output, self.output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::PricePerMillion;

    #[test]
    fn snapshots_replace_and_never_add() {
        let mut usage = Usage {
            fresh_input: 10,
            cache_read: 5,
            output: 1,
            ..Usage::default()
        };
        usage.supersede(&Usage {
            output: 89,
            reasoning: Some(10),
            ..Usage::default()
        });
        assert_eq!(
            usage,
            Usage {
                fresh_input: 10,
                cache_read: 5,
                output: 89,
                reasoning: Some(10),
                ..Usage::default()
            }
        );
    }

    #[test]
    fn bug_36_each_class_is_priced_once_and_none_is_left_out() {
        let price = Price {
            input: PricePerMillion::from_micro(5_000_000),
            output: PricePerMillion::from_micro(25_000_000),
            cache_read: Some(PricePerMillion::from_micro(500_000)),
            cache_write_5m: Some(PricePerMillion::from_micro(6_250_000)),
            cache_write_1h: Some(PricePerMillion::from_micro(10_000_000)),
            ..Price::default()
        };
        let usage = Usage {
            fresh_input: 10,
            cache_read: 1000,
            cache_write_5m: 100,
            output: 5,
            ..Usage::default()
        };
        assert_eq!(usage.prompt(), 1110);
        assert_eq!(
            usage.cost(&price).unwrap().pico(),
            10 * 5_000_000 + 1000 * 500_000 + 100 * 6_250_000 + 5 * 25_000_000
        );
    }
}
