//! What the engine works with beside the world: the books, the counters, the time, the events.

use std::sync::Arc;

use bardo_access::{Admission, BoxFuture, LimitRequest, LimitStore, Throttled};
use bardo_cache::semantic::AuditReport;
use bardo_ledger::Holds;
use bardo_types::clock::{Clock, SystemClock};
use bardo_types::fault::Fault;
use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;
use bardo_types::receipt::Receipt;

use crate::invalidations::FlushCause;

/// Takes receipts and turns them into logs, events and metrics. Must not block.
pub trait EventSink: Send + Sync {
    /// A provider is asked for the first time for a request. Nothing of its outcome is known.
    fn started(&self, receipt: &Receipt) {
        let _ = receipt;
    }

    /// A request has ended and its figures are final. Told once for each.
    fn settled(&self, receipt: &Receipt);

    /// One backend failed and another may be tried.
    fn attempt_failed(&self, request_id: &str, backend: &str, fault: &Fault);

    /// A request was refused because nobody priced the model: an operator has to look.
    fn unpriced(&self, model: &str) {
        let _ = model;
    }

    /// A stored answer of an account was compared with a live one, for the error of the semantic
    /// cache.
    fn audited(
        &self,
        account: &AccountId,
        domain: &'static str,
        agrees: bool,
        report: &AuditReport,
    ) {
        let _ = (account, domain, agrees, report);
    }

    /// A domain of the semantic cache began to serve hits, or ceased to, by an audit of an account.
    fn domain_changed(
        &self,
        account: &AccountId,
        domain: &'static str,
        serves: bool,
        report: &AuditReport,
    ) {
        let _ = (account, domain, serves, report);
    }

    /// The answer of a request was stored for so many milliseconds.
    fn stored(&self, receipt: &Receipt, ttl_ms: u64, at_ms: u64) {
        let _ = (receipt, ttl_ms, at_ms);
    }

    /// Stored answers of an account were removed before their time, so many in this process.
    fn flushed(&self, account: &AccountId, cause: FlushCause, removed: u64, at_ms: u64) {
        let _ = (account, cause, removed, at_ms);
    }

    /// A keepalive call for a prompt in a provider's cache has ended.
    fn kept_warm(&self, call: &KeepaliveCall<'_>) {
        let _ = call;
    }

    /// A provider stored a prefix, or something else became of it.
    fn prefix_stored(&self, call: &StoredPrefixCall<'_>) {
        let _ = call;
    }

    /// The books did not take a settlement at once; it is tried again until they do.
    fn settling_delayed(&self, request_id: &str) {
        let _ = request_id;
    }
}

/// A keepalive call that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepaliveCall<'a> {
    /// Account of the agent whose prompt is kept. The owner paid, not this account.
    pub account: &'a AccountId,
    /// Name of the agent; `None` where it has none.
    pub agent: Option<&'a str>,
    /// Name of the backend.
    pub backend: &'a str,
    /// Id of the model.
    pub model: &'a str,
    /// `warm`: the provider had the prompt; `cold`: it did not; `failed`: there was no answer.
    pub result: &'static str,
    /// Tokens that the provider read from its cache.
    pub tokens_read: u64,
    /// Cost at the provider's price; `None`: unknown.
    pub cost: Option<MicroUsd>,
    /// What the observed gaps say that a call of the agent saves.
    pub expected_saving: MicroUsd,
    /// When it ended, in Unix milliseconds.
    pub at_ms: u64,
}

/// What became of a prefix that a provider stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredPrefixCall<'a> {
    /// Account whose prefix it is. The owner paid, not this account.
    pub account: &'a AccountId,
    /// Name of the agent; `None` where it has none.
    pub agent: Option<&'a str>,
    /// Name of the backend.
    pub backend: &'a str,
    /// Id of the model.
    pub model: &'a str,
    /// `created`, `extended`, `deleted`, `lost` (the provider does not have it any more), `failed`
    /// (the provider refused), or `unknown` (there was no answer).
    pub result: &'static str,
    /// Tokens that are stored; 0 where none are.
    pub tokens: u64,
    /// Lifetime from now on in seconds; 0 where it is over.
    pub ttl_s: u64,
    /// Cost at the provider's price; `None`: unknown.
    pub cost: Option<MicroUsd>,
    /// What the observed gaps say that calls within the lifetime save; zero where it is over.
    pub expected_saving: MicroUsd,
    /// When it happened, in Unix milliseconds.
    pub at_ms: u64,
}

/// The ports and shared state that the engine works with.
#[derive(Clone)]
pub struct Services {
    /// The books; without them nobody is charged and prepaid callers are refused.
    pub ledger: Option<Arc<dyn Holds>>,
    /// Requests and tokens per minute.
    pub limits: Arc<dyn LimitStore>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Where receipts go.
    pub sink: Arc<dyn EventSink>,
}

impl Services {
    /// No books and no limits, for gateways that serve only their operator.
    #[must_use]
    pub fn without_money(sink: Arc<dyn EventSink>) -> Self {
        Self {
            ledger: None,
            limits: Arc::new(Unlimited),
            clock: Arc::new(SystemClock),
            sink,
        }
    }
}

/// Lets everybody in.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unlimited;

impl LimitStore for Unlimited {
    fn admit<'a>(
        &'a self,
        _request: &'a LimitRequest,
    ) -> BoxFuture<'a, Result<Admission, Throttled>> {
        Box::pin(std::future::ready(Ok(Admission::default())))
    }

    fn correct(&self, _request: &LimitRequest, _reserved: u64, _used: u64, _now_ms: u64) {}

    fn mode(&self) -> &'static str {
        "local"
    }
}
