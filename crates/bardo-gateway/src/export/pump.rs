//! The tasks that empty the queues.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use bardo_engine::Engine;
use bardo_providers::transport::Transport;
use bardo_traces::{BackendAddress, BackendAddresses};
use bardo_types::clock::{Clock as _, SystemClock};
use bardo_types::receipt::Receipt;
use bytes::Bytes;
use tokio::sync::watch;

use super::Exports;
use super::destination::{Destination, Posted};
use super::sinks::SinkForm;

/// Sendings of one message.
const SENDINGS: u32 = 5;
/// Pause before the second sending; each further one is twice as long.
const PAUSE: Duration = Duration::from_secs(1);
/// Longest pause that a sink may ask for.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// What a task needs.
pub(crate) struct Pump {
    pub(crate) exports: Arc<Exports>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) transport: Transport,
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Pump {
    /// Sends the receipts of one sink, until the process ends and the queue is empty.
    pub(crate) async fn receipts(mut self, index: usize) {
        let exports = Arc::clone(&self.exports);
        let Some(sink) = exports.sinks.get(index) else {
            return;
        };
        loop {
            let is_last = self.pause(sink.every, sink.queue.batch()).await;
            loop {
                let batch = sink.queue.take();
                if batch.is_empty() {
                    break;
                }
                let is_whole = sink.queue.is_batch(batch.len());
                let (more, body) = self.encoded(&batch, sink.form).await;
                match self
                    .deliver((sink.name, &sink.destination), &more, body)
                    .await
                {
                    true => sink.queue.counts.exported(batch.len()),
                    false => sink.queue.counts.dropped(batch.len()),
                }
                if !is_whole && !is_last {
                    break;
                }
            }
            if is_last {
                return;
            }
        }
    }

    /// Sends metrics until the process ends, and then once more.
    pub(crate) async fn metrics(mut self) {
        let exports = Arc::clone(&self.exports);
        let Some((meters, sink)) = &exports.meters else {
            return;
        };
        let nanos = |ms: u64| ms.saturating_mul(1_000_000);
        loop {
            let is_last = self.pause(sink.every, std::future::pending()).await;
            let now = nanos(SystemClock.now_ms());
            if let Some(body) = meters.export(&exports.origin, nanos(exports.started_ms), now) {
                self.deliver(("otlp metrics", &sink.destination), "", body.into())
                    .await;
            }
            if is_last {
                return;
            }
        }
    }

    /// Waits for a time, for `early`, or for the end of the process. Answers whether it is the end.
    async fn pause(&mut self, time: Duration, early: impl Future<Output = ()>) -> bool {
        tokio::select! {
            biased;
            _ = self.stopping.wait_for(|stopping| *stopping) => true,
            () = early => false,
            () = tokio::time::sleep(time) => false,
        }
    }

    /// The message of a batch, made beside the main thread: it takes longer than any other work of
    /// that thread.
    async fn encoded(&self, batch: &[Arc<Receipt>], form: SinkForm) -> (String, Bytes) {
        let (exports, batch) = (Arc::clone(&self.exports), batch.to_vec());
        let backends = self.backends();
        let encode = move || form.message(&batch, &exports.origin, &backends);
        let made = tokio::task::spawn_blocking(encode).await;
        let (more, body) = made.unwrap_or_default();
        (more, body.into())
    }

    fn backends(&self) -> BackendAddresses {
        let snapshot = self.engine.snapshot();
        let address = |endpoint: &Arc<bardo_providers::Endpoint>| {
            let address = BackendAddress {
                address: endpoint.base.host.clone(),
                port: endpoint.base.port,
            };
            (endpoint.name.clone(), address)
        };
        snapshot.remote().map(address).collect()
    }

    /// Posts a message until the sink takes or refuses it, a few times. Once the process ends it is
    /// posted a single time. `more` is added to the address. Answers whether it was taken.
    async fn deliver(&mut self, (sink, to): (&str, &Destination), more: &str, body: Bytes) -> bool {
        let mut pause = PAUSE;
        for sending in 1..=SENDINGS {
            let (reason, after) = match to.post(&self.transport, more, body.clone()).await {
                Posted::Taken => return true,
                Posted::Refused(reason) => {
                    tracing::warn!(sink, reason, "telemetry was refused and is dropped");
                    return false;
                }
                Posted::Later(reason, after) => (reason, after),
            };
            let wait = after.unwrap_or_else(|| jittered(pause)).min(PAUSE_MAX);
            pause *= 2;
            let is_given_up = sending == SENDINGS
                || *self.stopping.borrow()
                || self.pause(wait, std::future::pending()).await;
            if is_given_up {
                tracing::warn!(
                    sink,
                    reason,
                    sendings = sending,
                    "telemetry was not sent and is dropped"
                );
                return false;
            }
            tracing::debug!(sink, reason, "telemetry is sent again");
        }
        false
    }
}

/// A pause between half of the time and all of it, so that many gateways do not come back at once.
fn jittered(pause: Duration) -> Duration {
    let half = pause / 2;
    let span = u64::try_from(half.as_millis()).unwrap_or(u64::MAX).max(1);
    let random = RandomState::new().hash_one(pause) % span;
    half + Duration::from_millis(random)
}
