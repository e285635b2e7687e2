//! Where receipts and failures go: log lines, metrics, events. Prompts and keys never get here.

use std::sync::Arc;

use bardo_engine::EventSink;
use bardo_telemetry::Metrics;
use bardo_types::fault::Fault;
use bardo_types::receipt::{Outcome, Receipt};
use bardo_wire::receipt::to_json;

use crate::events::{Bus, Event};

/// Logs, counts and tells.
pub(crate) struct Sink {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) bus: Bus,
}

impl EventSink for Sink {
    fn settled(&self, receipt: &Receipt) {
        self.metrics.settled(receipt);
        log(receipt);
        if self.bus.is_heard() {
            self.bus.tell(Event {
                account: receipt.account.clone(),
                name: event_name(receipt.outcome),
                json: to_json(receipt).into(),
            });
        }
    }

    fn attempt_failed(&self, request_id: &str, backend: &str, fault: &Fault) {
        self.metrics.attempt_failed(backend, fault.class);
        tracing::warn!(
            target: "bardo::requests",
            id = request_id,
            provider = backend,
            class = fault.class.as_str(),
            status = fault.status,
            message = %fault.message.chars().take(200).collect::<String>(),
            "provider failed"
        );
    }

    fn unpriced(&self, model: &str) {
        tracing::error!(
            model,
            "refused: nobody published a price of this model, so it cannot be billed"
        );
    }
}

fn event_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Finished => "inference.completed",
        Outcome::Aborted => "inference.aborted",
        Outcome::Failed => "inference.failed",
        Outcome::Unknown => "inference.unknown",
    }
}

/// Writes one line per request: answered ones at `debug`, because an operator who wants each asks
/// for it (`RUST_LOG=bardo::requests=debug`), the others louder.
fn log(receipt: &Receipt) {
    let usage = receipt.usage.as_ref();
    macro_rules! line {
        ($level:expr, $text:literal) => {
            tracing::event!(
                target: "bardo::requests",
                $level,
                id = receipt.request_id.as_str(),
                model = &*receipt.model,
                provider = &*receipt.backend,
                ms = u64::try_from(receipt.timings.total.as_millis()).unwrap_or(u64::MAX),
                input = usage.map_or(0, bardo_types::usage::Usage::prompt),
                output = usage.map_or(0, |usage| usage.output),
                cost = receipt.cost_text().unwrap_or_default(),
                stream = receipt.streamed,
                $text
            )
        };
    }
    match receipt.outcome {
        Outcome::Finished => line!(tracing::Level::DEBUG, "answered"),
        Outcome::Aborted => line!(tracing::Level::INFO, "caller left"),
        Outcome::Failed => line!(tracing::Level::WARN, "failed"),
        Outcome::Unknown => line!(
            tracing::Level::ERROR,
            "the outcome is unknown: decide with `bardo-gateway reconcile`"
        ),
    }
}
