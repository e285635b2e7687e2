//! Traces and metrics that are sent to other systems.

use std::collections::BTreeMap;

use bardo_types::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use super::secret;
use crate::units::Span;

/// Traces and metrics that are sent to other systems.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TelemetryConfig {
    /// Send telemetry; false: nothing is sent, whatever else is set.
    pub enabled: bool,
    /// Send `traceparent` and `tracestate` of callers to providers.
    pub propagate: bool,
    /// An OpenTelemetry collector.
    pub otlp: OtlpConfig,
    /// A project of Langfuse that gets traces.
    pub langfuse: LangfuseConfig,
    /// A ClickHouse server that gets one row for each receipt.
    pub clickhouse: ClickHouseConfig,
}

/// ClickHouse, by its HTTP interface.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClickHouseConfig {
    /// Address of the HTTP interface. Empty: none.
    pub url: String,
    /// Name of the user. Empty: the server's default.
    pub user: String,
    /// Password of the user.
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub password: Secret,
    /// Name of the database.
    pub database: String,
    /// Name of the table.
    pub table: String,
    /// Receipts that can wait for the server.
    pub queue: usize,
    /// Most receipts in one insert.
    pub batch: usize,
    /// Longest time that a receipt waits for its insert.
    pub every: Span,
    /// Longest time for one insert.
    pub timeout: Span,
}

/// An OpenTelemetry collector: OTLP over HTTP with protobuf.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OtlpConfig {
    /// Address of the collector; `/v1/traces` and `/v1/metrics` are added. Empty: none.
    pub endpoint: String,
    /// Address for traces, used as it is. Empty: that of `endpoint`.
    pub traces_endpoint: String,
    /// Address for metrics, used as it is. Empty: that of `endpoint`.
    pub metrics_endpoint: String,
    /// Send traces to the collector.
    pub traces: bool,
    /// Send metrics to the collector.
    pub metrics: bool,
    /// Headers of each message, such as `authorization`.
    #[serde(default)]
    pub headers: BTreeMap<String, HeaderText>,
    /// Name of the service in the resource.
    pub service_name: String,
    /// Further attributes of the resource.
    #[serde(default)]
    pub resource: BTreeMap<String, String>,
    /// Name of the sampler.
    pub sampler: String,
    /// Share of the requests whose trace is sent, for the samplers by ratio: 0 to 1.
    pub sample: f64,
    /// Requests that can wait for the collector.
    pub queue: usize,
    /// Most requests in one message.
    pub batch: usize,
    /// Longest time that a request waits for its message.
    pub every: Span,
    /// Time between two messages of metrics.
    pub metrics_every: Span,
    /// Longest time for one message.
    pub timeout: Span,
}

/// The value of a header, which may be a secret.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct HeaderText(
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub Secret,
);

/// Langfuse, by its OTLP endpoint.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LangfuseConfig {
    /// Address of Langfuse.
    pub url: String,
    /// Public key of the project. Empty: nothing is sent.
    pub public_key: String,
    /// Secret key of the project. Empty: nothing is sent.
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub secret_key: Secret,
}

impl TelemetryConfig {
    /// Mistakes that can be seen without an address being called, one sentence each.
    pub fn problems(&self) -> Vec<String> {
        let otlp = &self.otlp;
        let mut problems = Vec::new();
        if bardo_traces::Sampler::named(&otlp.sampler, otlp.sample).is_none() {
            problems.push(format!(
                "`telemetry.otlp.sampler`: `{}` is not a sampler; write always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off or parentbased_traceidratio",
                otlp.sampler
            ));
        }
        if !(0.0..=1.0).contains(&otlp.sample) {
            problems.push("`telemetry.otlp.sample` must be between 0 and 1".to_owned());
        }
        if otlp.batch == 0 || otlp.queue < otlp.batch {
            problems.push(
                "`telemetry.otlp.batch` must be at least 1 and at most `telemetry.otlp.queue`"
                    .to_owned(),
            );
        }
        let clickhouse = &self.clickhouse;
        if clickhouse.batch == 0 || clickhouse.queue < clickhouse.batch {
            problems.push(
                "`telemetry.clickhouse.batch` must be at least 1 and at most `telemetry.clickhouse.queue`"
                    .to_owned(),
            );
        }
        for (name, span) in [
            ("otlp.every", &otlp.every),
            ("otlp.metrics_every", &otlp.metrics_every),
            ("otlp.timeout", &otlp.timeout),
            ("clickhouse.every", &clickhouse.every),
            ("clickhouse.timeout", &clickhouse.timeout),
        ] {
            if span.0.is_zero() {
                problems.push(format!("`telemetry.{name}` must be longer than 0"));
            }
        }
        if self.langfuse.public_key.is_empty() != self.langfuse.secret_key.is_empty() {
            problems.push(
                "`telemetry.langfuse` needs both `public_key` and `secret_key`, or neither"
                    .to_owned(),
            );
        }
        problems
    }
}
