//! Where receipts and failures go: log lines, metrics, events. Prompts and keys never get here.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bardo_cache::semantic::AuditReport;
use bardo_engine::{EventSink, FlushCause, KeepaliveCall, StoredPrefixCall};
use bardo_telemetry::Metrics;
use bardo_types::calendar::rfc3339;
use bardo_types::clock::{Clock as _, SystemClock};
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::feature::Feature;
use bardo_types::ids::AccountId;
use bardo_types::receipt::{Outcome, Receipt};
use bardo_wire::receipt::to_json;

use serde_json::{Value, json};

use crate::caches;
use crate::events::{Bus, Event, OwnerMessages, outcome, started, told};
use crate::export::Exports;
use crate::venice::VeniceFeed;

/// Logs, counts and tells.
pub(crate) struct Sink {
    pub(crate) exports: Option<Arc<Exports>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) bus: Bus,
    pub(crate) venice: Arc<VeniceFeed>,
    pub(crate) owners: OwnerMessages,
}

impl EventSink for Sink {
    fn settled(&self, receipt: &Receipt) {
        self.metrics.settled(receipt);
        if let Some(exports) = &self.exports {
            exports.take(receipt);
        }
        self.venice.take(receipt);
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

    fn flushed(&self, account: &AccountId, cause: FlushCause, removed: u64, at_ms: u64) {
        if self.bus.is_heard() {
            let told = json!({
                "timestamp": rfc3339(at_ms),
                "cause": cause.as_str(),
                "removed": removed,
            });
            self.bus.tell(Event {
                account: account.clone(),
                name: "cache.flushed",
                json: told.to_string().into(),
            });
        }
    }

    fn stored(&self, receipt: &Receipt, ttl_ms: u64, at_ms: u64) {
        if self.bus.is_heard() {
            let routing = receipt.routing.as_deref();
            let told = json!({
                "timestamp": rfc3339(at_ms),
                "request_id": receipt.request_id.as_str(),
                "golem_id": routing.and_then(|routing| routing.golem_id.as_deref()),
                "provider": &*receipt.backend,
                "model": &*receipt.model,
                "ttl_s": ttl_ms / 1_000,
            });
            self.bus.tell(Event {
                account: receipt.account.clone(),
                name: "cache.stored",
                json: told.to_string().into(),
            });
        }
    }

    fn kept_warm(&self, call: &KeepaliveCall<'_>) {
        self.metrics.kept_warm(call.result);
        if self.bus.is_heard() {
            let told = json!({
                "timestamp": rfc3339(call.at_ms),
                "golem_id": call.agent,
                "provider": call.backend,
                "model": call.model,
                "result": call.result,
                "cached_tokens": call.tokens_read,
                "cost_usd": call.cost.map(|cost| cost.to_string()),
                "expected_savings_usd": call.expected_saving.to_string(),
            });
            self.bus.tell(Event {
                account: call.account.clone(),
                name: "cache.keepalive",
                json: told.to_string().into(),
            });
        }
    }

    fn prefix_stored(&self, call: &StoredPrefixCall<'_>) {
        self.metrics.prefix_stored(call.result);
        if self.bus.is_heard() {
            let told = json!({
                "timestamp": rfc3339(call.at_ms),
                "golem_id": call.agent,
                "provider": call.backend,
                "model": call.model,
                "result": call.result,
                "cached_tokens": call.tokens,
                "ttl_s": call.ttl_s,
                "cost_usd": call.cost.map(|cost| cost.to_string()),
                "expected_savings_usd": call.expected_saving.to_string(),
            });
            self.bus.tell(Event {
                account: call.account.clone(),
                name: "cache.prefix_stored",
                json: told.to_string().into(),
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
            reason = own_words(fault),
            "provider failed"
        );
        // A provider's text may quote the prompt, and holds whatever the provider likes.
        if let Cow::Owned(text) = &fault.message {
            let text: String = text.chars().take(200).collect();
            tracing::debug!(target: "bardo::requests", id = request_id, ?text, "the provider's text");
        }
    }

    fn audited(
        &self,
        account: &AccountId,
        domain: &'static str,
        agrees: bool,
        report: &AuditReport,
    ) {
        let mut told = caches::told(domain, report);
        told["agrees"] = json!(agrees);
        self.tell_of_cache(account, "cache.audit", told);
    }

    fn domain_changed(
        &self,
        account: &AccountId,
        domain: &'static str,
        serves: bool,
        report: &AuditReport,
    ) {
        let bound = report.bound;
        if serves {
            tracing::info!(domain, bound, "the semantic cache serves this domain");
        } else {
            tracing::warn!(
                domain,
                bound,
                "the semantic cache stopped this domain: stored answers differ from live ones too often"
            );
        }
        let name = match serves {
            true => "cache.domain_serving",
            false => "cache.domain_stopped",
        };
        self.tell_of_cache(account, name, caches::told(domain, report));
    }

    fn unpriced(&self, model: &str) {
        tracing::error!(
            model,
            "refused: no price is known for this model, so it cannot be billed"
        );
    }
}

/// The reason of a failure in words of the gateway's own: a text that was fixed when it was built,
/// the dialer's, or else one for the class.
fn own_words(fault: &Fault) -> &str {
    match (&fault.message, fault.class) {
        (Cow::Borrowed(text), _) => text,
        // Providers do not speak of connections; the dialer does.
        (Cow::Owned(text), FaultClass::Connection) => text,
        (_, FaultClass::BadRequest) => "the provider rejected the request",
        (_, FaultClass::ContextTooLong) => "the prompt is longer than the model's context",
        (_, FaultClass::Authentication) => "the provider refused the gateway's key",
        (_, FaultClass::Permission) => "the provider denied permission to the gateway's key",
        (_, FaultClass::Payment) => "the gateway's credit at the provider is used up",
        (_, FaultClass::NotFound) => "the provider does not have the model or resource",
        (_, FaultClass::Conflict) => "the provider reported a conflict",
        (_, FaultClass::TooLarge) => "the request is too large for the provider",
        (_, FaultClass::Unprocessable) => "the provider could not process the request",
        (_, FaultClass::RateLimit) => "the provider's rate limit is reached",
        (_, FaultClass::Server) => "the provider reported an internal error",
        (_, FaultClass::Overloaded) => "the provider is overloaded",
        (_, FaultClass::Timeout) => "the provider reported a timeout",
        (_, FaultClass::Malformed) => "the provider's answer breaks its protocol",
    }
}

impl Sink {
    fn tell_of_cache(&self, account: &AccountId, name: &'static str, mut told: Value) {
        if self.bus.is_heard() {
            told["timestamp"] = json!(rfc3339(SystemClock.now_ms()));
            self.bus.tell(Event {
                account: account.clone(),
                name,
                json: told.to_string().into(),
            });
        }
    }

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

/// The message for the agent's owner about an answer that lacks something.
fn owner_message(receipt: &Receipt) -> String {
    let routing = receipt.routing.as_deref();
    let row = routing.and_then(|routing| routing.subsystem.as_deref());
    let subsystem = row.or(receipt.subsystem.as_deref());
    let lost = routing.map_or(&[][..], |routing| &routing.degraded);
    let subsystem = subsystem.unwrap_or("a request");
    bardo_router::owner_message(subsystem, &receipt.model, &receipt.backend, lost)
}

/// The gateway closes the requests that are still open.
static STOPPING: AtomicBool = AtomicBool::new(false);

/// Notes that the gateway closes open requests from now on, for their log lines.
pub(crate) fn note_stop() {
    STOPPING.store(true, Ordering::Relaxed);
}

fn is_stopping() -> bool {
    STOPPING.load(Ordering::Relaxed)
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
        Outcome::Aborted if is_stopping() => {
            line!(tracing::Level::WARN, "cut off by the stop of the gateway")
        }
        Outcome::Aborted => line!(tracing::Level::INFO, "the client disconnected"),
        Outcome::Failed => line!(tracing::Level::WARN, "failed"),
        Outcome::Unknown if receipt.amounts.charge > bardo_types::money::MicroUsd::ZERO => line!(
            tracing::Level::ERROR,
            "the provider reported implausibly many tokens; the hold is charged; compare the provider's bill"
        ),
        Outcome::Unknown => line!(
            tracing::Level::ERROR,
            "the outcome is unknown; decide it with `bardo-gateway reconcile`"
        ),
    }
}
