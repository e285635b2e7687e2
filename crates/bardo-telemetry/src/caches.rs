//! The metrics of stored answers.

use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::labels::{CacheAuditLabels, CacheDomainLabels, CacheEventLabels, CacheReasonLabels};
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
    /// Invalidations, by cause.
    pub invalidations: Vec<(&'static str, u64)>,
    /// Times that the level behind this process could not be used, by reason.
    pub second_level_losses: Vec<(&'static str, u64)>,
    /// Losses of the state that several gateways share, by reason; empty: none is shared.
    pub shared_losses: Vec<(&'static str, u64)>,
    /// Answers to the same question in other words.
    pub semantic: SemanticGauges,
}

/// What the semantic part of a cache holds and did since the start.
#[derive(Debug, Clone, Default)]
pub struct SemanticGauges {
    /// Questions in the index.
    pub entries: u64,
    /// Requests that no stored question was near enough to.
    pub misses: u64,
    /// Requests that were not compared, by reason.
    pub skipped: Vec<(&'static str, u64)>,
    /// Refusals of the guard, by the kind of the difference.
    pub guarded: Vec<(&'static str, u64)>,
    /// The domains that can serve.
    pub domains: Vec<SemanticDomainGauges>,
}

/// What one domain did, and its measured error.
#[derive(Debug, Clone, Copy)]
pub struct SemanticDomainGauges {
    /// The name of the domain.
    pub domain: &'static str,
    /// Hits that were served.
    pub hits: u64,
    /// Audits whose answers agree.
    pub agreed: u64,
    /// Audits whose answers disagree.
    pub disagreed: u64,
    /// Audits without a result.
    pub unjudged: u64,
    /// Upper bound of the share of false hits at 95 %.
    pub bound: f64,
    /// Whether it serves nothing, because of that bound.
    pub is_stopped: bool,
}

/// The registered metrics.
pub(crate) struct CacheMetrics {
    entries: Gauge,
    bytes: Gauge,
    saved: Counter,
    events: Family<CacheEventLabels, Counter>,
    bypassed: Family<CacheReasonLabels, Counter>,
    unstored: Family<CacheReasonLabels, Counter>,
    invalidations: Family<CacheReasonLabels, Counter>,
    second_level_losses: Family<CacheReasonLabels, Counter>,
    shared_losses: Family<CacheReasonLabels, Counter>,
    semantic: SemanticMetrics,
}

struct SemanticMetrics {
    entries: Gauge,
    misses: Counter,
    skipped: Family<CacheReasonLabels, Counter>,
    guarded: Family<CacheReasonLabels, Counter>,
    hits: Family<CacheDomainLabels, Counter>,
    audits: Family<CacheAuditLabels, Counter>,
    false_hits: Family<CacheDomainLabels, Counter>,
    bound: Family<CacheDomainLabels, Gauge<f64, AtomicU64>>,
    stopped: Family<CacheDomainLabels, Gauge>,
}

impl SemanticMetrics {
    fn new(registry: &mut Registry) -> Self {
        let all = Self {
            entries: Gauge::default(),
            misses: Counter::default(),
            skipped: Family::default(),
            guarded: Family::default(),
            hits: Family::default(),
            audits: Family::default(),
            false_hits: Family::default(),
            bound: Family::default(),
            stopped: Family::default(),
        };
        let help = "Questions in the index of the semantic cache";
        registry.register("cache_semantic_entries", help, all.entries.clone());
        let help = "Requests that no stored question was near enough to";
        registry.register("cache_semantic_misses", help, all.misses.clone());
        let help = "Requests that the semantic cache did not compare, by reason";
        registry.register("cache_semantic_skipped", help, all.skipped.clone());
        let help = "Refusals of the guard, by the kind of the difference";
        registry.register("cache_semantic_guarded", help, all.guarded.clone());
        let help = "Answers to the same question in other words that were served";
        registry.register("cache_semantic_hits", help, all.hits.clone());
        let help = "Stored answers that were compared with live ones, by result";
        registry.register("cache_semantic_audits", help, all.audits.clone());
        let help = "Audits whose answers disagree: false hits, had they been served";
        registry.register("cache_semantic_false_hits", help, all.false_hits.clone());
        let help = "Upper bound of the share of false hits, at 95 % confidence";
        registry.register("cache_semantic_error_bound", help, all.bound.clone());
        let help = "1 if the domain serves nothing, because its error is not proven to be low";
        registry.register("cache_semantic_stopped", help, all.stopped.clone());
        all
    }

    fn take(&self, now: &SemanticGauges) {
        self.entries.set(signed(now.entries));
        set(&self.misses, now.misses);
        for (family, reasons) in [(&self.skipped, &now.skipped), (&self.guarded, &now.guarded)] {
            for (reason, count) in reasons {
                let labels = CacheReasonLabels { reason };
                set(&family.get_or_create_owned(&labels), *count);
            }
        }
        for one in &now.domains {
            let labels = CacheDomainLabels { domain: one.domain };
            set(&self.hits.get_or_create_owned(&labels), one.hits);
            let false_hits = self.false_hits.get_or_create_owned(&labels);
            set(&false_hits, one.disagreed);
            self.bound.get_or_create_owned(&labels).set(one.bound);
            let stopped = self.stopped.get_or_create_owned(&labels);
            stopped.set(i64::from(one.is_stopped));
            for (result, count) in [
                ("agreed", one.agreed),
                ("disagreed", one.disagreed),
                ("unjudged", one.unjudged),
            ] {
                let labels = CacheAuditLabels {
                    domain: one.domain,
                    result,
                };
                set(&self.audits.get_or_create_owned(&labels), count);
            }
        }
    }
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn set(counter: &Counter, to: u64) {
    counter.inner().store(to, Ordering::Relaxed);
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
            invalidations: Family::default(),
            second_level_losses: Family::default(),
            shared_losses: Family::default(),
            semantic: SemanticMetrics::new(registry),
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
        let help = "Removals of stored answers before their time, by cause";
        registry.register("cache_invalidations", help, all.invalidations.clone());
        let help = "Look-ups and writes that the shared level of the cache lost, by reason";
        let losses = all.second_level_losses.clone();
        registry.register("cache_second_level_losses", help, losses);
        let help = "Reads and writes of the state that gateways share which were lost, by reason";
        registry.register("shared_losses", help, all.shared_losses.clone());
        all
    }
}

impl Metrics {
    /// Takes what the cache of answers holds and did.
    pub fn caches(&self, now: &CacheGauges) {
        let all = &self.caches;
        all.entries.set(signed(now.entries));
        all.bytes.set(signed(now.bytes));
        set(&all.saved, now.saved_micro_usd);
        for (event, count) in &now.events {
            let labels = CacheEventLabels { event };
            set(&all.events.get_or_create_owned(&labels), *count);
        }
        for (family, reasons) in [
            (&all.bypassed, &now.bypassed),
            (&all.unstored, &now.unstored),
            (&all.invalidations, &now.invalidations),
            (&all.second_level_losses, &now.second_level_losses),
            (&all.shared_losses, &now.shared_losses),
        ] {
            for (reason, count) in reasons {
                let labels = CacheReasonLabels { reason };
                set(&family.get_or_create_owned(&labels), *count);
            }
        }
        all.semantic.take(&now.semantic);
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
            invalidations: vec![("regime", 2)],
            second_level_losses: vec![("down", 5)],
            shared_losses: vec![("slow", 4)],
            semantic: SemanticGauges {
                entries: 9,
                misses: 8,
                skipped: vec![("late", 5)],
                guarded: vec![("number", 4)],
                domains: vec![SemanticDomainGauges {
                    domain: "reference",
                    hits: 3,
                    agreed: 20,
                    disagreed: 1,
                    unjudged: 2,
                    bound: 0.02,
                    is_stopped: true,
                }],
            },
        });
        let text = metrics.encode(&Gauges::default());
        for line in [
            "bardo_cache_entries 3",
            "bardo_cache_bytes 4096",
            "bardo_cache_saved_usd_micro_total 1200",
            "bardo_cache_events_total{event=\"hit\"} 2",
            "bardo_cache_bypassed_total{reason=\"not_asked\"} 7",
            "bardo_cache_unstored_total{reason=\"short\"} 1",
            "bardo_cache_invalidations_total{reason=\"regime\"} 2",
            "bardo_cache_second_level_losses_total{reason=\"down\"} 5",
            "bardo_shared_losses_total{reason=\"slow\"} 4",
            "bardo_cache_semantic_entries 9",
            "bardo_cache_semantic_misses_total 8",
            "bardo_cache_semantic_skipped_total{reason=\"late\"} 5",
            "bardo_cache_semantic_guarded_total{reason=\"number\"} 4",
            "bardo_cache_semantic_hits_total{domain=\"reference\"} 3",
            "bardo_cache_semantic_audits_total{domain=\"reference\",result=\"agreed\"} 20",
            "bardo_cache_semantic_false_hits_total{domain=\"reference\"} 1",
            "bardo_cache_semantic_error_bound{domain=\"reference\"} 0.02",
            "bardo_cache_semantic_stopped{domain=\"reference\"} 1",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
