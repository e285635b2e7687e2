//! Where receipts and failures go: log lines, metrics, events. Prompts and keys never get here.

use std::sync::Arc;

use bardo_engine::EventSink;
use bardo_telemetry::Metrics;
use bardo_types::fault::Fault;
use bardo_types::feature::Feature;
use bardo_types::receipt::{Outcome, Receipt};
use bardo_wire::receipt::to_json;

use crate::events::{Bus, Event, OwnerMessages, outcome, started, told};

/// Logs, counts and tells.
pub(crate) struct Sink {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) bus: Bus,
    pub(crate) owners: OwnerMessages,
}

impl EventSink for Sink {
    fn settled(&self, receipt: &Receipt) {
        self.metrics.settled(receipt);
        log(receipt);
        let message = self.owners.of(receipt, owner_message);
        if let Some(message) = &message {
            tracing::info!(
                target: "bardo::owner",
                account = receipt.account.as_str(),
                "{message}"
            );
        }
        if self.bus.is_heard() {
            self.tell(receipt, message.as_deref());
        }
    }

    fn started(&self, receipt: &Receipt) {
        if self.bus.is_heard() {
            let (name, json) = started(receipt);
            self.bus.tell(Event {
                account: receipt.account.clone(),
                name,
                json: json.into(),
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

impl Sink {
    fn tell(&self, receipt: &Receipt, message: Option<&str>) {
        let tell = |name, json: String| {
            self.bus.tell(Event {
                account: receipt.account.clone(),
                name,
                json: json.into(),
            });
        };
        for (name, json) in told(receipt, message) {
            tell(name, json);
        }
        tell(outcome(receipt.outcome), to_json(receipt));
    }
}

/// Tells nobody: for decisions that are only explained.
pub(crate) struct Nowhere;

impl EventSink for Nowhere {
    fn settled(&self, _: &Receipt) {}

    fn attempt_failed(&self, _: &str, _: &str, _: &Fault) {}
}

/// What the owner should know of an answer that lacks something.
fn owner_message(receipt: &Receipt) -> String {
    let routing = receipt.routing.as_deref();
    let row = routing.and_then(|routing| routing.subsystem.as_deref());
    let subsystem = row.or(receipt.subsystem.as_deref());
    let lost = routing.map_or(&[][..], |routing| &routing.degraded);
    let subsystem = subsystem.unwrap_or("a request");
    bardo_router::owner_message(subsystem, &receipt.model, &receipt.backend, lost)
}

/// Writes one line per request: answered ones at `debug`, because an operator who wants each asks
/// for it (`RUST_LOG=bardo::requests=debug`), the others louder.
fn log(receipt: &Receipt) {
    let usage = receipt.usage.as_ref();
    let routing = receipt.routing.as_deref();
    let names = |lost: &[Feature]| {
        let names: Vec<&str> = lost.iter().map(|feature| feature.as_str()).collect();
        names.join(",")
    };
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
                subsystem = routing.and_then(|routing| routing.subsystem.as_deref()),
                degraded = routing.map(|routing| names(&routing.degraded)).filter(|names| !names.is_empty()),
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
