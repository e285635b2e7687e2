//! Metrics of the GenAI conventions, counted from receipts. Sums are cumulative since the start.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bardo_types::receipt::Receipt;
use hashbrown::{Equivalent, HashMap};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Histogram, HistogramDataPoint, Metric, ResourceMetrics, ScopeMetrics,
};
use prost::Message as _;

use crate::attributes::Attributes;
use crate::spans::{error_type, operation};
use crate::{TelemetrySource, names};

/// Series beyond this number are counted as those of the model `other`.
pub(crate) const SERIES_MAX: usize = 500;
/// Bounds of durations in seconds, as the conventions advise.
const SECONDS: &[f64] = &[
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
/// Bounds of the time to the first token in seconds, as the conventions advise.
const FIRST_TOKEN: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
];
/// Bounds of tokens, as the conventions advise.
const TOKENS: &[f64] = &[
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

/// What tells series apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct MeterKey {
    operation: &'static str,
    backend: Arc<str>,
    model: Arc<str>,
    error: Option<&'static str>,
}

/// A [`MeterKey`] to look for without making one.
#[derive(Hash)]
struct MeterKeyRef<'a> {
    operation: &'static str,
    backend: &'a str,
    model: &'a str,
    error: Option<&'static str>,
}

impl Equivalent<MeterKey> for MeterKeyRef<'_> {
    fn equivalent(&self, key: &MeterKey) -> bool {
        *self.model == *key.model
            && *self.backend == *key.backend
            && self.operation == key.operation
            && self.error == key.error
    }
}

#[derive(Debug, Clone)]
struct Counts {
    bounds: &'static [f64],
    buckets: Vec<u64>,
    count: u64,
    sum: f64,
}

impl Counts {
    fn new(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            buckets: vec![0; bounds.len() + 1],
            count: 0,
            sum: 0.0,
        }
    }

    fn observe(&mut self, value: f64) {
        let at = self.bounds.partition_point(|bound| *bound < value);
        self.buckets[at] += 1;
        self.count += 1;
        self.sum += value;
    }

    fn point(&self, attributes: Vec<KeyValue>, start: u64, now: u64) -> Option<HistogramDataPoint> {
        (self.count > 0).then(|| HistogramDataPoint {
            attributes,
            start_time_unix_nano: start,
            time_unix_nano: now,
            count: self.count,
            sum: Some(self.sum),
            bucket_counts: self.buckets.clone(),
            explicit_bounds: self.bounds.to_vec(),
            ..HistogramDataPoint::default()
        })
    }
}

#[derive(Debug, Clone)]
pub(crate) struct MeterSeries {
    request: Counts,
    attempt: Counts,
    first_token: Counts,
    input: Counts,
    output: Counts,
}

impl MeterSeries {
    fn new() -> Self {
        Self {
            request: Counts::new(SECONDS),
            attempt: Counts::new(SECONDS),
            first_token: Counts::new(FIRST_TOKEN),
            input: Counts::new(TOKENS),
            output: Counts::new(TOKENS),
        }
    }

    fn count(&mut self, receipt: &Receipt) {
        let times = &receipt.timings;
        self.request.observe(times.total.as_secs_f64());
        if let Some(first) = times.first_content {
            self.first_token.observe(first.as_secs_f64());
        }
        if let Some(sent) = times.sent {
            let end = times.settled.unwrap_or(times.total);
            let took: Duration = end.saturating_sub(sent);
            self.attempt.observe(took.as_secs_f64());
        }
        if let Some(usage) = receipt.usage.as_ref().filter(|_| !receipt.is_found()) {
            self.input.observe(float(usage.prompt()));
            self.output.observe(float(usage.output));
        }
    }
}

/// Counts receipts for the metrics of the conventions.
#[derive(Debug, Default)]
pub struct Meters {
    pub(crate) series: Mutex<HashMap<MeterKey, MeterSeries>>,
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a histogram of token counts needs no more than 53 bits"
)]
fn float(count: u64) -> f64 {
    count as f64
}

impl Meters {
    /// Counts one request.
    pub fn count(&self, receipt: &Receipt) {
        let key = MeterKeyRef {
            operation: operation(receipt.dialect),
            backend: &receipt.backend,
            model: &receipt.model,
            error: error_type(receipt),
        };
        let mut all = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(series) = all.get_mut(&key) {
            series.count(receipt);
        } else {
            let is_full = all.len() >= SERIES_MAX;
            let model = is_full.then(|| Arc::from("other"));
            let key = MeterKey {
                operation: key.operation,
                backend: Arc::clone(&receipt.backend),
                model: model.unwrap_or_else(|| Arc::clone(&receipt.model)),
                error: key.error,
            };
            all.entry(key)
                .or_insert_with(MeterSeries::new)
                .count(receipt);
        }
    }

    /// All metrics at this moment as an encoded `ExportMetricsServiceRequest`. Both times are in Unix
    /// nanoseconds; `start` is when counting began. `None` if nothing was counted.
    #[must_use]
    pub fn export(&self, origin: &TelemetrySource, start: u64, now: u64) -> Option<Vec<u8>> {
        let all = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        let all: Vec<(MeterKey, MeterSeries)> = all
            .iter()
            .map(|(key, series)| (key.clone(), series.clone()))
            .collect();
        if all.is_empty() {
            return None;
        }
        let points = |pick: fn(&MeterSeries) -> &Counts, token: Option<&'static str>| {
            let point = |(key, series): &(MeterKey, MeterSeries)| {
                pick(series).point(attributes(key, token), start, now)
            };
            all.iter().filter_map(point).collect::<Vec<_>>()
        };
        let mut tokens = points(|series| &series.input, Some("input"));
        tokens.extend(points(|series| &series.output, Some("output")));
        let metrics = vec![
            histogram(
                names::CLIENT_TOKENS,
                "Tokens of calls of models",
                "{token}",
                tokens,
            ),
            histogram(
                names::CLIENT_DURATION,
                "Duration of calls of models, from the last sending to the end",
                "s",
                points(|series| &series.attempt, None),
            ),
            histogram(
                names::SERVER_DURATION,
                "Duration of requests of clients",
                "s",
                points(|series| &series.request, None),
            ),
            histogram(
                names::SERVER_FIRST_TOKEN,
                "Time from receiving a request to its first content",
                "s",
                points(|series| &series.first_token, None),
            ),
        ];
        let scope = ScopeMetrics {
            scope: Some(origin.scope.clone()),
            metrics,
            schema_url: names::SCHEMA_URL.to_owned(),
        };
        let request = ExportMetricsServiceRequest {
            resource_metrics: vec![ResourceMetrics {
                resource: Some(origin.resource.clone()),
                scope_metrics: vec![scope],
                schema_url: names::SCHEMA_URL.to_owned(),
            }],
        };
        Some(request.encode_to_vec())
    }
}

fn attributes(key: &MeterKey, token: Option<&'static str>) -> Vec<KeyValue> {
    let mut all = Attributes::with_capacity(6);
    all.text(names::OPERATION, key.operation)
        .text(names::PROVIDER, names::provider_name(&key.backend))
        .text(names::REQUEST_MODEL, &*key.model)
        .some_text(names::ERROR_TYPE, key.error)
        .some_text(names::TOKEN_TYPE, token);
    all.text("bardo.backend", &*key.backend);
    all.done()
}

fn histogram(
    name: &str,
    description: &str,
    unit: &str,
    data_points: Vec<HistogramDataPoint>,
) -> Metric {
    Metric {
        name: name.to_owned(),
        description: description.to_owned(),
        unit: unit.to_owned(),
        data: Some(Data::Histogram(Histogram {
            data_points,
            aggregation_temporality: AggregationTemporality::Cumulative.into(),
        })),
        ..Metric::default()
    }
}
