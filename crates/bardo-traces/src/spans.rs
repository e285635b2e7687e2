//! The spans of one request: itself, its stages and its attempts.

use std::time::Duration;

use bardo_types::model::Dialect;
use bardo_types::receipt::{Attempt, Outcome, Receipt};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};

use crate::attributes::{Attributes, usd};
use crate::stages::{SpanPeriod, attempts, stages};
use crate::{BackendAddresses, langfuse, names, server_attributes};
use crate::{TraceForm, ids};

/// Bits 8 and 9 of a span's flags: whether its parent is in another process is known, and is so.
const PARENT_KNOWN: u32 = 0x100;
const PARENT_REMOTE: u32 = 0x200;
/// The trace is recorded.
const SAMPLED: u32 = 1;

/// `gen_ai.operation.name` of a dialect.
pub(crate) const fn operation(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Completions => "text_completion",
        Dialect::Gemini => "generate_content",
        Dialect::Chat | Dialect::Responses | Dialect::Anthropic => "chat",
    }
}

/// `error.type` of a request; `None` where it did not end in an error.
pub(crate) fn error_type(receipt: &Receipt) -> Option<&'static str> {
    let last = receipt
        .attempts
        .last()
        .and_then(|last| last.failure.as_ref());
    match receipt.outcome {
        Outcome::Finished => None,
        Outcome::Aborted => Some("client_disconnected"),
        Outcome::Failed => Some(last.map_or("failed", |failure| failure.class.as_str())),
        Outcome::Unknown => Some("unknown_outcome"),
    }
}

/// Makes the spans of one request.
pub(crate) struct SpanMaker<'a> {
    receipt: &'a Receipt,
    backends: &'a BackendAddresses,
    form: TraceForm,
    trace: Vec<u8>,
    root: Vec<u8>,
}

impl<'a> SpanMaker<'a> {
    pub(crate) fn new(
        receipt: &'a Receipt,
        backends: &'a BackendAddresses,
        form: TraceForm,
    ) -> Self {
        Self {
            receipt,
            backends,
            form,
            trace: ids::trace_id(receipt).to_vec(),
            root: ids::span_id(receipt, "server", 0),
        }
    }

    /// Adds all spans of the request, its own one first.
    pub(crate) fn add_to(&self, spans: &mut Vec<Span>) {
        spans.push(self.server());
        for (index, (name, period)) in stages(self.receipt).into_iter().enumerate() {
            spans.push(self.stage(name, period, index as u64));
        }
        let periods = attempts(self.receipt);
        for (index, (attempt, period)) in self.receipt.attempts.iter().zip(periods).enumerate() {
            spans.push(self.attempt(attempt, period, index));
        }
    }

    fn nanos(&self, since: Duration) -> u64 {
        let start = self.receipt.received_at_ms.saturating_mul(1_000_000);
        start.saturating_add(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }

    fn span(&self, name: String, kind: SpanKind, period: SpanPeriod) -> Span {
        let caller = self.receipt.caller_span.as_deref();
        let state = caller.and_then(|caller| caller.state.as_deref());
        Span {
            trace_id: self.trace.clone(),
            trace_state: state.unwrap_or_default().to_owned(),
            parent_span_id: self.root.clone(),
            flags: PARENT_KNOWN | SAMPLED,
            name,
            kind: kind.into(),
            start_time_unix_nano: self.nanos(period.start),
            end_time_unix_nano: self.nanos(period.end),
            ..Span::default()
        }
    }

    fn server(&self) -> Span {
        let receipt = self.receipt;
        let caller = receipt.caller_span.as_deref();
        let whole = SpanPeriod {
            start: Duration::ZERO,
            end: receipt.timings.total,
        };
        let name = format!("gateway {}", operation(receipt.dialect));
        let mut span = self.span(name, SpanKind::Server, whole);
        span.span_id.clone_from(&self.root);
        span.parent_span_id = caller
            .map(|caller| caller.span_id.to_vec())
            .unwrap_or_default();
        span.flags |= caller.map_or(0, |_| PARENT_REMOTE);
        span.attributes = self.server_attributes();
        span.status = status(error_type(receipt).filter(|_| receipt.outcome != Outcome::Aborted));
        span
    }

    fn server_attributes(&self) -> Vec<KeyValue> {
        let receipt = self.receipt;
        let mut all = Attributes::with_capacity(32);
        all.text(names::REQUEST_MODEL, &*receipt.model)
            .some_text(names::RESPONSE_MODEL, receipt.model_answered.as_deref())
            .some_text(names::CONVERSATION, receipt.session.as_deref())
            .some_text(names::ERROR_TYPE, error_type(receipt));
        server_attributes::of_request(receipt, &mut all);
        server_attributes::of_money(receipt, &mut all);
        if let Some(routing) = receipt.routing.as_deref() {
            server_attributes::of_routing(routing, &mut all);
        }
        if self.form == TraceForm::Langfuse {
            langfuse::of_trace(receipt, &mut all);
        }
        all.done()
    }

    fn stage(&self, name: &'static str, period: SpanPeriod, index: u64) -> Span {
        let mut span = self.span(name.to_owned(), SpanKind::Internal, period);
        span.span_id = ids::span_id(self.receipt, "stage", index);
        let mut all = Attributes::with_capacity(2);
        all.text("bardo.stage", name);
        if self.form == TraceForm::Langfuse {
            all.text(names::LANGFUSE_TYPE, "span");
        }
        span.attributes = all.done();
        span
    }

    fn attempt(&self, attempt: &Attempt, period: SpanPeriod, index: usize) -> Span {
        let receipt = self.receipt;
        let is_last = index + 1 == receipt.attempts.len();
        let operation = operation(receipt.upstream_dialect);
        let name = format!("{operation} {}", attempt.model);
        let mut span = self.span(name, SpanKind::Client, period);
        span.span_id = ids::span_id(receipt, "attempt", index as u64);
        let mut all = Attributes::with_capacity(24);
        all.text(names::OPERATION, operation)
            .text(names::PROVIDER, names::provider_name(&attempt.backend))
            .text(names::REQUEST_MODEL, &*attempt.model)
            .flag(names::REQUEST_STREAM, receipt.streamed)
            .some_text(names::CONVERSATION, receipt.session.as_deref())
            .text("bardo.backend", &*attempt.backend)
            .count("bardo.attempt.number", index as u64 + 1)
            .flag("bardo.attempt.start_estimated", !is_last);
        if let Some(backend) = self.backends.get(&*attempt.backend) {
            all.text(names::SERVER_ADDRESS, backend.address.as_str())
                .count(names::SERVER_PORT, backend.port.into());
        }
        if let Some(payment) = &attempt.payment {
            all.money("bardo.payment.micro_usd", Some(payment.amount))
                .text("bardo.payment.network", &*payment.network)
                .text("bardo.payment.scheme", payment.scheme);
            if let Some(end) = &payment.settlement {
                all.text("bardo.payment.settlement", end.state)
                    .some_text("bardo.payment.transaction", end.transaction.as_deref())
                    .money("bardo.payment.settled_micro_usd", end.amount);
            }
        }
        let failed = attempt.failure.as_ref();
        if let Some(failure) = failed {
            all.text(names::ERROR_TYPE, failure.class.as_str())
                .flag("bardo.attempt.unknown_outcome", failure.unknown_outcome);
            if let Some(status) = failure.status {
                all.count(names::STATUS_CODE, status.into());
            }
        }
        let broke = is_last && failed.is_none() && receipt.outcome != Outcome::Finished;
        let error = failed.map(|failure| failure.class.as_str());
        let error = error.or(error_type(receipt).filter(|_| broke));
        if broke {
            all.some_text(names::ERROR_TYPE, error);
        }
        // The figures of a request belong to one span, so that sums over spans count them once.
        if is_last {
            self.add_figures(period, &mut all);
        }
        if self.form == TraceForm::Langfuse {
            langfuse::of_attempt(receipt, attempt, is_last, &mut all);
        }
        span.attributes = all.done();
        span.status = status(error);
        span
    }

    fn add_figures(&self, period: SpanPeriod, all: &mut Attributes) {
        let receipt = self.receipt;
        all.some_text(names::RESPONSE_MODEL, receipt.model_answered.as_deref())
            .some_text(
                "bardo.upstream.request_id",
                receipt.upstream_request_id.as_deref(),
            );
        if let Some(first) = receipt.timings.first_content {
            let since = first.saturating_sub(period.start);
            all.number(names::FIRST_CHUNK, since.as_secs_f64());
        }
        let routing = receipt.routing.as_deref();
        if let Some(profile) = routing.and_then(|routing| routing.profile.as_ref()) {
            if let Some(temperature) = profile.temperature {
                all.number(names::REQUEST_TEMPERATURE, temperature);
            }
            if profile.structured {
                all.text(names::OUTPUT_TYPE, "json");
            }
        }
        // The usage of a stored answer was not used again.
        if let Some(usage) = receipt.usage.as_ref().filter(|_| !receipt.is_found()) {
            all.count(names::INPUT_TOKENS, usage.prompt())
                .count(names::CACHE_READ_TOKENS, usage.cache_read)
                .count(names::CACHE_WRITE_TOKENS, usage.cache_write())
                .count(names::OUTPUT_TOKENS, usage.output)
                .flag("bardo.usage.estimated", receipt.estimated);
            if let Some(reasoning) = usage.reasoning {
                all.count(names::REASONING_TOKENS, reasoning);
            }
        }
        if let Some(cost) = receipt.cost() {
            all.number(names::COST, usd(cost));
        }
        server_attributes::of_money(receipt, all);
    }
}

fn status(error: Option<&str>) -> Option<Status> {
    error.map(|error| Status {
        message: error.to_owned(),
        code: StatusCode::Error.into(),
    })
}
