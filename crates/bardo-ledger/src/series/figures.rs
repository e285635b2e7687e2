//! The figures of a row: counts and sums with a sign, so that a receipt can be taken out again.

use bardo_types::money::SignedMicroUsd;

use super::histogram::Histogram;

macro_rules! figures {
    ($($(#[doc = $doc:literal])* $variant:ident $name:literal,)*) => {
        /// One figure of a row. Amounts are in 10⁻⁶ USD.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Figure {
            $($(#[doc = $doc])* $variant,)*
        }

        impl Figure {
            /// All of them, in the order in which stores keep them: new ones go to the end.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Name in answers.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

figures! {
    /// Number of requests.
    Requests "requests",
    /// Requests whose answer is complete.
    Finished "finished",
    /// Requests that failed.
    Failed "failed",
    /// Requests that their client left.
    Aborted "aborted",
    /// Requests of unknown outcome.
    Unknown "unknown",
    /// Requests whose cost is unknown.
    Unpriced "unpriced",
    /// Requests sent to backends.
    Attempts "attempts",
    /// Requests sent to backends that failed there.
    FailedAttempts "failed_attempts",
    /// Requests answered by an answer to the identical request.
    HashHits "hash_hits",
    /// Requests answered by an answer to a request of the same meaning.
    SemanticHits "semantic_hits",
    /// Requests that the answer cache had no answer for.
    CacheMisses "cache_misses",
    /// Prompt tokens that the provider neither read from nor wrote to its cache.
    InputTokens "input_tokens",
    /// Prompt tokens that the provider read from its cache.
    CachedTokens "cached_tokens",
    /// Prompt tokens that the provider wrote to its cache.
    CacheWriteTokens "cache_write_tokens",
    /// Tokens of answers, with those of reasoning.
    OutputTokens "output_tokens",
    /// Tokens of reasoning, as far as providers report them.
    ReasoningTokens "reasoning_tokens",
    /// Costs at the prices of the backends.
    ProviderCost "provider_cost",
    /// Costs to the payer: the charge of prepaid requests, else the price of the backend.
    Cost "cost",
    /// Amounts that accounts were charged.
    Charge "charge",
    /// Part of the charges above the price of the backends.
    Spread "spread",
    /// Amounts that could not be charged.
    Shortfall "shortfall",
    /// Savings against list prices, by all means together.
    Savings "savings",
    /// Part of the savings by answers to identical requests.
    HashSavings "hash_savings",
    /// Part of the savings by answers to requests of the same meaning.
    SemanticSavings "semantic_savings",
    /// Savings by the prompt caches of providers; below zero where writes cost more.
    PrefixSavings "prefix_savings",
    /// Sum of the durations of requests in milliseconds.
    DurationMs "duration_ms",
}

/// Number of numbers that stores keep for a row.
const FIGURES_WIDTH: usize = Figure::ALL.len() + 2 * Histogram::WIDTH;

/// Figures of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesFigures([i64; FIGURES_WIDTH]);

impl Default for SeriesFigures {
    fn default() -> Self {
        Self([0; FIGURES_WIDTH])
    }
}

impl SeriesFigures {
    /// Figures as a store keeps them; missing ones at the end are 0.
    #[must_use]
    pub fn read(numbers: &[i64]) -> Self {
        let mut figures = Self::default();
        for (figure, number) in figures.0.iter_mut().zip(numbers) {
            *figure = *number;
        }
        figures
    }

    /// All numbers, for a store.
    #[must_use]
    pub const fn numbers(&self) -> &[i64; FIGURES_WIDTH] {
        &self.0
    }

    /// The number of one figure.
    #[must_use]
    pub const fn get(&self, figure: Figure) -> i64 {
        self.0[figure as usize]
    }

    /// One figure as a count; 0 below zero.
    #[must_use]
    pub fn count(&self, figure: Figure) -> u64 {
        u64::try_from(self.get(figure)).unwrap_or(0)
    }

    /// One figure as an amount.
    #[must_use]
    pub const fn usd(&self, figure: Figure) -> SignedMicroUsd {
        SignedMicroUsd::new(self.get(figure))
    }

    /// Durations of requests.
    #[must_use]
    pub fn latency(&self) -> Histogram {
        let first = Figure::ALL.len();
        Histogram::read(&self.0[first..first + Histogram::WIDTH])
    }

    /// Times to the first content.
    #[must_use]
    pub fn first_content(&self) -> Histogram {
        Histogram::read(&self.0[Figure::ALL.len() + Histogram::WIDTH..])
    }

    /// Whether all figures are 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|number| *number == 0)
    }

    /// The places and numbers that are not 0. A receipt has about a dozen.
    pub(super) fn places(&self) -> Vec<(usize, i64)> {
        let numbers = self.0.iter().copied().enumerate();
        numbers.filter(|(_, number)| *number != 0).collect()
    }

    /// Adds the numbers of some places.
    pub(super) fn add_places(&mut self, places: &[(usize, i64)]) {
        for (place, more) in places {
            self.0[*place] = self.0[*place].saturating_add(*more);
        }
    }

    /// Adds other figures. A sum beyond its range stays at the end of it.
    pub fn add(&mut self, other: &Self) {
        for (sum, more) in self.0.iter_mut().zip(&other.0) {
            *sum = sum.saturating_add(*more);
        }
    }

    /// Takes other figures out.
    pub(super) fn subtract(&mut self, other: &Self) {
        for (sum, less) in self.0.iter_mut().zip(&other.0) {
            *sum = sum.saturating_sub(*less);
        }
    }

    pub(super) fn set(&mut self, figure: Figure, number: u64) {
        self.0[figure as usize] = signed(number);
    }

    pub(super) fn set_signed(&mut self, figure: Figure, number: i64) {
        self.0[figure as usize] = number;
    }

    pub(super) fn note_latency(&mut self, ms: u64) {
        self.0[Figure::ALL.len() + Histogram::bucket(ms)] += 1;
    }

    pub(super) fn note_first_content(&mut self, ms: u64) {
        self.0[Figure::ALL.len() + Histogram::WIDTH + Histogram::bucket(ms)] += 1;
    }
}

/// A figure that no sum of which leaves the range: larger ones are no figure that anything counted.
fn signed(number: u64) -> i64 {
    const MOST: i64 = 1 << 50;
    i64::try_from(number).unwrap_or(MOST).min(MOST)
}
