//! The metrics of what is sent to telemetry sinks.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use crate::metrics::Metrics;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SinkLabels {
    sink: &'static str,
}

#[derive(Debug)]
pub(crate) struct ExportMetrics {
    exported: Family<SinkLabels, Counter>,
    dropped: Family<SinkLabels, Counter>,
}

impl ExportMetrics {
    pub(crate) fn new(registry: &mut Registry) -> Self {
        let new = Self {
            exported: Family::default(),
            dropped: Family::default(),
        };
        registry.register(
            "telemetry_exported",
            "Receipts that a telemetry sink accepted",
            new.exported.clone(),
        );
        registry.register(
            "telemetry_dropped",
            "Receipts that a telemetry sink did not get, because its queue was full or it refused them",
            new.dropped.clone(),
        );
        new
    }
}

/// Counts the receipts of one telemetry sink.
#[derive(Debug, Clone)]
pub struct ExportCounts {
    exported: Counter,
    dropped: Counter,
}

impl ExportCounts {
    /// Counts receipts that the sink accepted.
    pub fn exported(&self, receipts: usize) {
        self.exported.inc_by(receipts as u64);
    }

    /// Counts receipts that the sink did not get.
    pub fn dropped(&self, receipts: usize) {
        self.dropped.inc_by(receipts as u64);
    }
}

impl Metrics {
    /// The counts of a sink: `otlp`, `langfuse` or `clickhouse`. Its series exist from then on.
    #[must_use]
    pub fn exports(&self, sink: &'static str) -> ExportCounts {
        let labels = SinkLabels { sink };
        ExportCounts {
            exported: self.exports.exported.get_or_create_owned(&labels),
            dropped: self.exports.dropped.get_or_create_owned(&labels),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Gauges, Metrics};

    #[test]
    fn a_sink_has_its_series_before_anything_is_lost() {
        let metrics = Metrics::new();
        let counts = metrics.exports("otlp");
        counts.dropped(3);
        let text = metrics.encode(&Gauges::default());
        for line in [
            "bardo_telemetry_dropped_total{sink=\"otlp\"} 3",
            "bardo_telemetry_exported_total{sink=\"otlp\"} 0",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}
