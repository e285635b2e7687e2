//! What a provider does for a caller without anybody seeing it: reasoning that it does not show, and
//! whole answers before they are there.
//!
//! A caller who leaves meanwhile pays for it by the time that it took, at the speed that the model
//! was observed to have with the backend.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bardo_types::feature::Feature;
use bardo_types::model::Capabilities;
use bardo_wire::json::TopLevel;
use tokio::time::Instant;

/// The speed of a model that has not been observed yet, in tokens per second: rather slow.
const USUAL_SPEED: u64 = 50;
/// The tokens of an answer of a model that has not been observed yet.
const USUAL_ANSWER: u64 = 256;
/// How long a backend without observations may work on an answer.
const USUAL_LONGEST: Duration = Duration::from_secs(60);
/// Observations beyond so much time count less and less.
const REMEMBERED_US: u64 = 600_000_000;

/// When a provider took the request, for as long as it has not refused it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Accepted(Arc<Mutex<Option<Instant>>>);

impl Accepted {
    pub(crate) fn set(&self, at: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }

    pub(crate) fn get(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How fast a model writes with a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Pace {
    tokens: u64,
    us: u64,
    answers: u64,
    /// The answer that took longest.
    longest_us: u64,
}

impl Pace {
    /// An answer of so many tokens took so long.
    pub(crate) fn add(&mut self, tokens: u64, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
        self.tokens = self.tokens.saturating_add(tokens);
        self.us = self.us.saturating_add(us);
        self.answers = self.answers.saturating_add(1);
        self.longest_us = self.longest_us.max(us);
        while self.us > REMEMBERED_US {
            self.tokens /= 2;
            self.us /= 2;
            self.answers = self.answers.div_ceil(2);
        }
    }

    /// The tokens that an answer has.
    pub(crate) fn usual_answer(self) -> u64 {
        self.tokens
            .checked_div(self.answers)
            .unwrap_or(USUAL_ANSWER)
    }

    /// How long it works on an answer at most, where too few answers were seen for a percentile.
    fn longest(self) -> Duration {
        match self.longest_us {
            0 => USUAL_LONGEST,
            us => Duration::from_micros(us),
        }
    }

    /// The tokens that it writes in such a time.
    pub(crate) fn tokens_in(self, time: Duration) -> u64 {
        let (tokens, us) = match self {
            Self { tokens: 0, .. } | Self { us: 0, .. } => (USUAL_SPEED, 1_000_000),
            Self { tokens, us, .. } => (tokens, us),
        };
        let made = time.as_micros().saturating_mul(u128::from(tokens)) / u128::from(us);
        u64::try_from(made).unwrap_or(u64::MAX)
    }
}

/// The observed speed and duration of a model at a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Work {
    pub(crate) pace: Pace,
    /// How long nineteen of twenty take at most, in milliseconds, where enough were seen.
    pub(crate) p95_ms: Option<u64>,
}

impl Work {
    /// The tokens that were made in such a time, which counts up to what is usual.
    pub(crate) fn tokens_in(self, time: Duration) -> u64 {
        let observed = self.p95_ms.map(Duration::from_millis);
        let longest = observed.unwrap_or_else(|| self.pace.longest());
        self.pace.tokens_in(time.min(longest))
    }
}

/// Whether a model, by what is known of it, thinks about this request without showing it.
pub(crate) fn reasons_unseen(
    capabilities: &Capabilities,
    top: &TopLevel<'_>,
    is_set_up: bool,
) -> bool {
    const ASKS: [&str; 4] = ["reasoning", "reasoning_effort", "thinking", "output_config"];
    let thinking = capabilities.thinking;
    if !thinking.any() || capabilities.features.has(Feature::VisibleThinking) {
        return false;
    }
    let asks = || is_set_up || ASKS.iter().any(|key| top.get(key).is_some());
    thinking.by_default || asks()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_what_was_observed_and_else_a_slow_one() {
        let mut pace = Pace::default();
        assert_eq!(pace.tokens_in(Duration::from_secs(10)), 500);
        pace.add(4_000, Duration::from_secs(20));
        assert_eq!(pace.tokens_in(Duration::from_secs(10)), 2_000);
        // The newest hour outweighs the one before.
        for _ in 0..180 {
            pace.add(400, Duration::from_secs(20));
        }
        let now = pace.tokens_in(Duration::from_secs(10));
        assert!((200..=210).contains(&now), "{now}");
        pace.add(u64::MAX, Duration::ZERO);
        assert!(pace.tokens_in(Duration::MAX) > 0);
    }

    #[test]
    fn time_counts_up_to_what_is_usual() {
        let mut work = Work::default();
        assert_eq!(work.tokens_in(Duration::from_secs(600)), 3_000);
        work.p95_ms = Some(4_000);
        assert_eq!(work.tokens_in(Duration::from_secs(600)), 200);
        assert_eq!(work.tokens_in(Duration::from_secs(2)), 100);
    }
}
