//! Telemetry sinks: settled receipts go into bounded queues, and tasks of the main thread send them.
//!
//! A request pays for the copy of its receipt if a sink wants it, and for nothing else. A sink that is
//! slow, dead or wrong loses receipts, which is counted, and never holds up a request.

mod clickhouse;
mod destination;
mod otlp;
mod pump;
mod queue;
mod sinks;

use std::sync::Arc;
use std::time::Duration;

use bardo_providers::transport::Transport;
use bardo_telemetry::Metrics;
use bardo_traces::{Meters, Sampler, TelemetrySource};
use bardo_types::clock::{Clock as _, SystemClock};
use bardo_types::receipt::Receipt;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use self::otlp::MetricsSink;
use self::queue::ReceiptQueue;
use self::sinks::{ReceiptSink, SinkForm};
use crate::config::TelemetryConfig;
use crate::edge::Edge;
use crate::request_id;

/// The time limit for sending what still waits at the end of the process.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Where receipts go beside the store.
pub(crate) struct Exports {
    sampler: Option<Sampler>,
    sinks: Vec<ReceiptSink>,
    meters: Option<(Meters, MetricsSink)>,
    origin: TelemetrySource,
    started_ms: u64,
}

impl Exports {
    /// The sinks that these settings name; `None` if there is none. Connects to nothing.
    ///
    /// # Errors
    /// What is wrong with the settings.
    pub(crate) fn open(
        config: &TelemetryConfig,
        metrics: &Metrics,
    ) -> Result<Option<Arc<Self>>, String> {
        if !config.enabled {
            return Ok(None);
        }
        let mut sinks = otlp::traces(config, metrics)?;
        sinks.extend(clickhouse::sink(&config.clickhouse, metrics)?);
        let meters = otlp::metrics(&config.otlp)?.map(|sink| (Meters::default(), sink));
        if sinks.is_empty() && meters.is_none() {
            return Ok(None);
        }
        let otlp = &config.otlp;
        let instance = request_id::fresh();
        Ok(Some(Arc::new(Self {
            sampler: Sampler::named(&otlp.sampler, otlp.sample),
            sinks,
            meters,
            origin: TelemetrySource::new(
                &otlp.service_name,
                env!("CARGO_PKG_VERSION"),
                instance.as_str().trim_start_matches("req_"),
                &otlp.resource,
            ),
            started_ms: SystemClock.now_ms(),
        })))
    }

    /// Counts a receipt, and queues a copy of it for each sink that wants it. Never waits for a sink.
    pub(crate) fn take(&self, receipt: &Receipt) {
        if let Some((meters, _)) = &self.meters {
            meters.count(receipt);
        }
        if self.sinks.is_empty() {
            return;
        }
        let is_sampled = self.sampler.is_some_and(|sampler| sampler.takes(receipt));
        let takes = |sink: &&ReceiptSink| is_sampled || sink.form == SinkForm::Rows;
        let mut copy = None;
        for sink in self.sinks.iter().filter(takes) {
            let copy = copy.get_or_insert_with(|| Arc::new(receipt.clone()));
            sink.queue.push(copy);
        }
    }
}

/// The tasks that send.
pub(crate) struct Pumps {
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Pumps {
    /// Starts a task for each sink of a server.
    pub(crate) fn start(edge: &Edge, transport: &Transport, runtime: &Handle) -> Self {
        let (stop, stopping) = watch::channel(false);
        let mut tasks = Vec::new();
        if let Some(exports) = &edge.exports {
            for index in 0..exports.sinks.len() {
                let pump = pump::Pump {
                    exports: Arc::clone(exports),
                    engine: Arc::clone(&edge.engine),
                    transport: transport.clone(),
                    stopping: stopping.clone(),
                };
                tasks.push(runtime.spawn(pump.receipts(index)));
                tracing::info!(sink = exports.sinks[index].name, "receipts are exported");
            }
            if exports.meters.is_some() {
                let pump = pump::Pump {
                    exports: Arc::clone(exports),
                    engine: Arc::clone(&edge.engine),
                    transport: transport.clone(),
                    stopping,
                };
                tasks.push(runtime.spawn(pump.metrics()));
            }
        }
        Self { stop, tasks }
    }

    /// Sends what still waits, once and within [`FLUSH_TIMEOUT`].
    pub(crate) async fn finish(self) {
        self.stop.send_replace(true);
        let all = async {
            for task in self.tasks {
                let _ = task.await;
            }
        };
        if tokio::time::timeout(FLUSH_TIMEOUT, all).await.is_err() {
            tracing::warn!("telemetry that still waited was not sent");
        }
    }
}

#[cfg(test)]
mod tests;
