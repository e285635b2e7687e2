//! A place that receipts go to, and the form in which they go there.

use std::sync::Arc;
use std::time::Duration;

use bardo_traces::{BackendAddresses, TelemetrySource, TraceForm, batch_name, rows};
use bardo_types::receipt::Receipt;

use super::destination::Destination;
use super::queue::ReceiptQueue;

/// The form of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SinkForm {
    /// Spans, of sampled requests alone.
    Traces(TraceForm),
    /// One row for each request.
    Rows,
}

/// A place that receipts go to.
pub(crate) struct ReceiptSink {
    /// Name in log lines and metrics.
    pub(crate) name: &'static str,
    pub(crate) form: SinkForm,
    pub(crate) queue: ReceiptQueue,
    pub(crate) destination: Destination,
    /// Longest time that a receipt waits for its message.
    pub(crate) every: Duration,
}

impl SinkForm {
    /// The message of a batch: what it adds to the address, and its body.
    pub(crate) fn message(
        self,
        batch: &[Arc<Receipt>],
        source: &TelemetrySource,
        backends: &BackendAddresses,
    ) -> (String, Vec<u8>) {
        match self {
            Self::Traces(form) => (String::new(), source.traces(batch, backends, form)),
            // Ids have no character that an address must not have.
            Self::Rows => (
                format!("&insert_deduplication_token={}", batch_name(batch)),
                rows(batch),
            ),
        }
    }
}
