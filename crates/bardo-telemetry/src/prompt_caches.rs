//! The share of prompts that providers read from their prompt caches.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

use bardo_types::usage::Usage;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::labels::CacheResultLabels;
use crate::metrics::Metrics;

/// Minutes over which the share is taken.
const MINUTES: u64 = 15;
/// Prompts with fewer tokens are in no provider's cache.
const PROMPT_MIN: u64 = 1_024;

/// The one series of a metric that may be absent.
type NoLabels = [(&'static str, &'static str); 0];

/// Tokens of the prompts of one minute.
#[derive(Debug, Clone, Copy, Default)]
struct Minute {
    number: u64,
    read: u64,
    prompt: u64,
}

/// The registered gauge, and what it is computed from.
pub(crate) struct PromptCacheMetrics {
    /// Without a series while no prompt was long enough.
    hit_rate: Family<NoLabels, Gauge<f64, AtomicU64>>,
    /// The last minutes with a prompt, by their number.
    minutes: Mutex<[Minute; MINUTES as usize]>,
    keepalive: Family<CacheResultLabels, Counter>,
    stored_prefixes: Family<CacheResultLabels, Counter>,
}

impl PromptCacheMetrics {
    pub(crate) fn new(registry: &mut Registry) -> Self {
        let hit_rate = Family::default();
        let help = "Share of the tokens of prompts of 1,024 tokens and more that providers read from their prompt \
                    caches, over 15 minutes";
        registry.register("prefix_cache_hit_rate", help, Family::clone(&hit_rate));
        let keepalive = Family::default();
        let help = "Keepalive calls for prompts in providers' caches, by result";
        registry.register("cache_keepalive_calls", help, Family::clone(&keepalive));
        let stored_prefixes = Family::default();
        let help = "Prefixes that providers store on order, by what became of them";
        registry.register(
            "cache_stored_prefixes",
            help,
            Family::clone(&stored_prefixes),
        );
        Self {
            hit_rate,
            minutes: Mutex::default(),
            keepalive,
            stored_prefixes,
        }
    }

    /// Counts the prompt of a request that was received at that Unix millisecond.
    pub(crate) fn count(&self, at_ms: u64, usage: &Usage) {
        let prompt = usage.prompt();
        if prompt < PROMPT_MIN {
            return;
        }
        let number = at_ms / 60_000;
        let mut minutes = self.minutes.lock().unwrap_or_else(PoisonError::into_inner);
        let place = usize::try_from(number % MINUTES).unwrap_or(0);
        let minute = &mut minutes[place];
        if minute.number < number {
            *minute = Minute {
                number,
                ..Minute::default()
            };
        }
        // A request that took longer than all of the time counts in none of its minutes.
        if minute.number == number {
            minute.read = minute.read.saturating_add(usage.cache_read);
            minute.prompt = minute.prompt.saturating_add(prompt);
        }
    }

    /// The share at a Unix millisecond; `None` without a prompt in the last minutes.
    fn rate(&self, now_ms: u64) -> Option<f64> {
        let now = now_ms / 60_000;
        let minutes = self.minutes.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = minutes
            .iter()
            .filter(|minute| minute.number + MINUTES > now && minute.prompt > 0);
        let (read, prompt) = recent.fold((0_u64, 0_u64), |(read, prompt), minute| {
            (
                read.saturating_add(minute.read),
                prompt.saturating_add(minute.prompt),
            )
        });
        #[expect(
            clippy::cast_precision_loss,
            reason = "a share needs no more than 52 bits"
        )]
        (prompt > 0).then(|| read as f64 / prompt as f64)
    }
}

impl Metrics {
    /// Counts a keepalive call by its result: `warm`, `cold` or `failed`.
    pub fn kept_warm(&self, result: &'static str) {
        let labels = CacheResultLabels { result };
        self.prompt_caches.keepalive.get_or_create(&labels).inc();
    }

    /// Counts what became of a prefix that a provider stores: `created`, `extended`, `deleted`,
    /// `lost`, `failed` or `unknown`.
    pub fn prefix_stored(&self, result: &'static str) {
        let labels = CacheResultLabels { result };
        let stored = &self.prompt_caches.stored_prefixes;
        stored.get_or_create(&labels).inc();
    }

    /// Shows the share of prompts that came from prompt caches in the minutes before a Unix
    /// millisecond.
    pub fn show_prompt_caches(&self, now_ms: u64) {
        let all = &self.prompt_caches;
        match all.rate(now_ms) {
            None => all.hit_rate.clear(),
            Some(rate) => {
                all.hit_rate.get_or_create(&[]).set(rate);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Gauges;

    const MINUTE: u64 = 60_000;

    fn usage(fresh_input: u64, cache_read: u64) -> Usage {
        Usage {
            fresh_input,
            cache_read,
            ..Usage::default()
        }
    }

    #[test]
    fn the_share_is_that_of_long_prompts_within_a_quarter_of_an_hour() {
        let metrics = Metrics::new();
        let shown = |now_ms| {
            metrics.show_prompt_caches(now_ms);
            let text = metrics.encode(&Gauges::default());
            let mut lines = text.lines();
            let line = lines.find_map(|line| line.strip_prefix("bardo_prefix_cache_hit_rate{} "));
            line.map(str::to_owned)
        };
        let all = &metrics.prompt_caches;
        let start = 1_000 * MINUTE;
        all.count(start, &usage(1_023, 0));
        assert_eq!(shown(start), None, "no prompt was long enough");
        all.count(start, &usage(1_000, 3_000));
        all.count(start + MINUTE, &usage(4_000, 0));
        assert_eq!(shown(start + MINUTE).as_deref(), Some("0.375"));
        assert_eq!(shown(start + 15 * MINUTE).as_deref(), Some("0.0"));
        assert_eq!(shown(start + 16 * MINUTE), None);
        // The place of an old minute is taken by a later one, which an old request leaves alone.
        all.count(start + 15 * MINUTE, &usage(0, 2_000));
        all.count(start, &usage(2_000, 0));
        assert_eq!(shown(start + 16 * MINUTE).as_deref(), Some("1.0"));
    }
}
