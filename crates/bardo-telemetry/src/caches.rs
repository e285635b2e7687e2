//! The metrics of stored answers.

use std::sync::atomic::Ordering;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::labels::{CacheEventLabels, CacheReasonLabels};
use crate::metrics::Metrics;

/// What a cache of answers holds and did since the start, read when somebody looks.
#[derive(Debug, Clone, Default)]
pub struct CacheGauges {
    /// Entries that are kept.
    pub entries: u64,
    /// Memory of the entries, in bytes.
    pub bytes: u64,
    /// What hits would have cost, in 10^-6 USD.
    pub saved_micro_usd: u64,
    /// Events by name: `hit`, `miss`, `followed`, `stored`, `evicted`, …
    pub events: Vec<(&'static str, u64)>,
    /// Requests that the cache had no part in, by reason.
    pub bypassed: Vec<(&'static str, u64)>,
    /// Answers that were not stored, by reason.
    pub unstored: Vec<(&'static str, u64)>,
}

/// The registered metrics.
pub(crate) struct CacheMetrics {
    entries: Gauge,
    bytes: Gauge,
    saved: Counter,
    events: Family<CacheEventLabels, Counter>,
    bypassed: Family<CacheReasonLabels, Counter>,
    unstored: Family<CacheReasonLabels, Counter>,
}

impl CacheMetrics {
    pub(crate) fn new(registry: &mut Registry) -> Self {
        let all = Self {
            entries: Gauge::default(),
            bytes: Gauge::default(),
            saved: Counter::default(),
            events: Family::default(),
            bypassed: Family::default(),
            unstored: Family::default(),
        };
        let mut gauge = |name, help, gauge: &Gauge| registry.register(name, help, gauge.clone());
        gauge("cache_entries", "Stored answers", &all.entries);
        gauge("cache_bytes", "Memory of stored answers", &all.bytes);
        let help = "Money that stored answers saved, in 10^-6 USD";
        registry.register("cache_saved_usd_micro", help, all.saved.clone());
        let help = "Events of the cache of answers: hits, misses and what became of entries";
        registry.register("cache_events", help, all.events.clone());
        let help = "Requests that the cache had no part in, by reason";
        registry.register("cache_bypassed", help, all.bypassed.clone());
        let help = "Answers that were not stored, by reason";
        registry.register("cache_unstored", help, all.unstored.clone());
        all
    }
}

impl Metrics {
    /// Takes what the cache of answers holds and did.
    pub fn caches(&self, now: &CacheGauges) {
        let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let all = &self.caches;
        all.entries.set(signed(now.entries));
        all.bytes.set(signed(now.bytes));
        let set = |counter: &Counter, to: u64| counter.inner().store(to, Ordering::Relaxed);
        set(&all.saved, now.saved_micro_usd);
        for (event, count) in &now.events {
            let labels = CacheEventLabels { event };
            set(&all.events.get_or_create_owned(&labels), *count);
        }
        for (family, reasons) in [
            (&all.bypassed, &now.bypassed),
            (&all.unstored, &now.unstored),
        ] {
            for (reason, count) in reasons {
                let labels = CacheReasonLabels { reason };
                set(&family.get_or_create_owned(&labels), *count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gauges;

    #[test]
    fn what_the_cache_did_is_shown_with_its_reasons() {
        let metrics = Metrics::new();
        metrics.caches(&CacheGauges {
            entries: 3,
            bytes: 4_096,
            saved_micro_usd: 1_200,
            events: vec![("hit", 2)],
            bypassed: vec![("not_asked", 7)],
            unstored: vec![("short", 1)],
        });
        let text = metrics.encode(&Gauges::default());
        for line in [
            "bardo_cache_entries 3",
            "bardo_cache_bytes 4096",
            "bardo_cache_saved_usd_micro_total 1200",
            "bardo_cache_events_total{event=\"hit\"} 2",
            "bardo_cache_bypassed_total{reason=\"not_asked\"} 7",
            "bardo_cache_unstored_total{reason=\"short\"} 1",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
