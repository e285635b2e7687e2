//! Receipts as log lines. Prompts and keys never get here.

use bardo_engine::EventSink;
use bardo_types::fault::Fault;
use bardo_types::receipt::{Outcome, Receipt};

/// Writes one line per request: answered ones at `debug`, because an operator who wants each asks
/// for it (`RUST_LOG=bardo::requests=debug`), the others at `warn`.
pub(crate) struct LogSink;

impl EventSink for LogSink {
    fn settled(&self, receipt: &Receipt) {
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
            Outcome::Unknown => line!(tracing::Level::WARN, "outcome unknown"),
        }
    }

    fn attempt_failed(&self, request_id: &str, backend: &str, fault: &Fault) {
        tracing::warn!(
            target: "bardo::requests",
            id = request_id,
            provider = backend,
            class = ?fault.class,
            status = fault.status,
            message = %fault.message.chars().take(200).collect::<String>(),
            "provider failed"
        );
    }

    fn unpriced(&self, model: &str) {
        tracing::error!(
            target: "bardo::requests",
            model,
            "refused: nobody priced this model, so a caller who pays cannot use it"
        );
    }
}
