//! The OTLP sinks of a configuration: a collector, and Langfuse.

use std::time::Duration;

use bardo_telemetry::Metrics;
use bardo_traces::TraceForm;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::ReceiptQueue;
use super::destination::Destination;
use super::sinks::{ReceiptSink, SinkForm};
use crate::config::{LangfuseConfig, OtlpConfig, TelemetryConfig};

const PROTOBUF: &str = "application/x-protobuf";
const TRACES: &str = "/v1/traces";
const METRICS: &str = "/v1/metrics";
const LANGFUSE: &str = "/api/public/otel/v1/traces";

/// A sink of metrics.
pub(crate) struct MetricsSink {
    pub(crate) destination: Destination,
    /// Time between two messages.
    pub(crate) every: Duration,
}

/// The sinks of traces that these settings name.
///
/// # Errors
/// What is wrong with the settings.
pub(crate) fn traces(
    config: &TelemetryConfig,
    metrics: &Metrics,
) -> Result<Vec<ReceiptSink>, String> {
    let otlp = &config.otlp;
    let sink = |name, form, destination| ReceiptSink {
        name,
        form: SinkForm::Traces(form),
        queue: ReceiptQueue::new(otlp.queue, otlp.batch, metrics.exports(name)),
        destination,
        every: otlp.every.0,
    };
    let mut sinks = Vec::new();
    if otlp.traces
        && let Some(destination) = destination(
            otlp,
            ("telemetry.otlp.traces_endpoint", &otlp.traces_endpoint),
            TRACES,
        )?
    {
        sinks.push(sink("otlp", TraceForm::Conventions, destination));
    }
    if let Some(destination) = langfuse(&config.langfuse, otlp.timeout.0)? {
        sinks.push(sink("langfuse", TraceForm::Langfuse, destination));
    }
    Ok(sinks)
}

/// The sink of metrics that these settings name, if any.
///
/// # Errors
/// What is wrong with the settings.
pub(crate) fn metrics(otlp: &OtlpConfig) -> Result<Option<MetricsSink>, String> {
    if !otlp.metrics {
        return Ok(None);
    }
    let own = ("telemetry.otlp.metrics_endpoint", &*otlp.metrics_endpoint);
    Ok(
        destination(otlp, own, METRICS)?.map(|destination| MetricsSink {
            destination,
            every: otlp.metrics_every.0,
        }),
    )
}

/// The address of a signal: its own, or the common one with the signal's path.
fn destination(
    otlp: &OtlpConfig,
    own: (&str, &str),
    path: &str,
) -> Result<Option<Destination>, String> {
    let (named, path) = match (own.1.is_empty(), otlp.endpoint.is_empty()) {
        (false, _) => (own, ""),
        (true, false) => (("telemetry.otlp.endpoint", &*otlp.endpoint), path),
        (true, true) => return Ok(None),
    };
    let mut found = Destination::new(named, path, PROTOBUF, otlp.timeout.0)?;
    for (name, value) in &otlp.headers {
        found = found
            .with_header(name, value.0.expose())
            .map_err(|reason| format!("`telemetry.otlp.headers`: {reason}"))?;
    }
    Ok(Some(found))
}

fn langfuse(config: &LangfuseConfig, timeout: Duration) -> Result<Option<Destination>, String> {
    if config.public_key.is_empty() || config.secret_key.is_empty() {
        return Ok(None);
    }
    let pair = format!("{}:{}", config.public_key, config.secret_key.expose());
    let named = ("telemetry.langfuse.url", &*config.url);
    Destination::new(named, LANGFUSE, PROTOBUF, timeout)?
        .with_header("authorization", &format!("Basic {}", STANDARD.encode(pair)))
        .map_err(|reason| format!("`telemetry.langfuse`: {reason}"))
        .map(Some)
}
