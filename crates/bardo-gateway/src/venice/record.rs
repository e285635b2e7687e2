//! One call of Venice as its telemetry has it: figures alone, never a prompt or an answer.

use std::sync::Arc;

use bardo_types::backend::BackendName;
use bardo_types::calendar::rfc3339;
use bardo_types::fault::FaultClass;
use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;
use bardo_types::receipt::{Outcome, Receipt};
use bardo_types::usage::Usage;
use serde_json::{Value, json};

/// Name of the backend of Venice.
const BACKEND: &str = "venice";

/// An attempt at Venice that ended, answered or not.
#[derive(Debug)]
pub(crate) struct VeniceRecord {
    /// Its number among the remembered calls of its account, from 1.
    pub(crate) number: u64,
    pub(crate) account: AccountId,
    at_ms: u64,
    request_id: Arc<str>,
    /// Venice's own id of the call.
    ray: Option<Arc<str>>,
    tick: Option<u64>,
    /// The subsystem, or what the caller calls itself.
    class: Option<Arc<str>>,
    pub(crate) model: Arc<str>,
    latency_ms: u64,
    /// `None` where Venice reported no usage.
    tokens: Option<CallTokens>,
    /// In decimal USD; `None` where it is unknown.
    cost: Option<MicroUsd>,
    balance: Option<String>,
    schema: Option<bool>,
    end: AttemptEnd,
}

#[derive(Debug, Clone, Copy, Default)]
struct CallTokens {
    input: u64,
    cached: u64,
    output: u64,
}

#[derive(Debug, Clone, Copy)]
enum AttemptEnd {
    Answered(Outcome),
    Failed {
        class: FaultClass,
        status: Option<u16>,
    },
}

impl VeniceRecord {
    /// The records of a request, in the order of its attempts; none where Venice was not called.
    pub(crate) fn of(receipt: &Receipt) -> Vec<Self> {
        let attempts = receipt.attempts.iter();
        attempts
            .filter(|attempt| is_venice(&attempt.backend))
            .map(|attempt| {
                let end = match &attempt.failure {
                    Some(failure) => AttemptEnd::Failed {
                        class: failure.class,
                        status: failure.status,
                    },
                    None => AttemptEnd::Answered(receipt.outcome),
                };
                let mut record = Self::begun(receipt, end);
                match end {
                    AttemptEnd::Answered(_) => record.answered(receipt),
                    AttemptEnd::Failed { .. } => {
                        // The receipt names the model of the backend that was called last.
                        record.model = Arc::clone(&attempt.model);
                        record.latency_ms = millis(attempt.duration);
                    }
                }
                record
            })
            .collect()
    }

    fn begun(receipt: &Receipt, end: AttemptEnd) -> Self {
        let routing = receipt.routing.as_deref();
        let row = routing.and_then(|routing| routing.subsystem.clone());
        Self {
            number: 0,
            account: receipt.account.clone(),
            at_ms: receipt
                .received_at_ms
                .saturating_add(millis(receipt.timings.total)),
            request_id: receipt.request_id.as_str().into(),
            ray: None,
            tick: routing.and_then(|routing| routing.tick),
            class: row.or_else(|| receipt.subsystem.clone()),
            model: Arc::clone(&receipt.model),
            latency_ms: 0,
            tokens: None,
            cost: None,
            balance: None,
            schema: None,
            end,
        }
    }

    fn answered(&mut self, receipt: &Receipt) {
        let routing = receipt.routing.as_deref();
        let schema = routing.and_then(|routing| routing.schema.as_ref());
        self.latency_ms = millis(receipt.timings.total);
        self.tokens = receipt.usage.as_ref().map(CallTokens::of);
        self.cost = receipt.cost();
        self.balance = receipt.amounts.balance.map(|balance| balance.to_string());
        self.ray.clone_from(&receipt.upstream_request_id);
        self.schema = schema.and_then(|schema| schema.valid);
    }

    /// Whether Venice refused the gateway's own key.
    pub(crate) fn is_key_refused(&self) -> bool {
        matches!(
            self.end,
            AttemptEnd::Failed {
                class: FaultClass::Authentication,
                ..
            }
        )
    }

    /// Whether Venice answered.
    pub(crate) fn is_answered(&self) -> bool {
        matches!(self.end, AttemptEnd::Answered(_))
    }

    fn cached_ratio(&self) -> Option<f64> {
        let (input, cached) = self.prompt();
        ratio(cached, input)
    }

    fn outcome(&self) -> Outcome {
        match self.end {
            AttemptEnd::Answered(outcome) => outcome,
            AttemptEnd::Failed { .. } => Outcome::Failed,
        }
    }

    pub(crate) fn class(&self) -> &str {
        self.class.as_deref().unwrap_or("none")
    }

    pub(crate) fn tick(&self) -> Option<String> {
        self.tick.map(|tick| tick.to_string())
    }

    pub(crate) fn cost(&self) -> Option<MicroUsd> {
        self.cost
    }

    /// Tokens of the prompt, and those of them that Venice read from its cache.
    pub(crate) fn prompt(&self) -> (u64, u64) {
        let tokens = self.tokens.unwrap_or_default();
        (tokens.input, tokens.cached)
    }

    /// The record as `GET /venice/telemetry` shows it.
    pub(crate) fn shown(&self, tier: Option<&str>) -> Value {
        let mut shown = json!({
            "timestamp": rfc3339(self.at_ms),
            "request_id": &*self.request_id,
            "tick_id": self.tick(),
            "cognition_class": self.class.as_deref(),
            "model_id": &*self.model,
            "privacy_tier": tier,
            "cf_ray": self.ray.as_deref(),
            "latency_ms": self.latency_ms,
            "cached_tokens_ratio": self.cached_ratio(),
            "input_tokens": self.tokens.map(|tokens| tokens.input),
            "output_tokens": self.tokens.map(|tokens| tokens.output),
            "cost_estimate_usdc": self.cost.map(|cost| cost.to_string()),
            "balance_remaining": self.balance,
            "attestation_valid": null,
            "structured_output_valid": self.schema,
            "outcome": self.outcome().as_str(),
        });
        if let AttemptEnd::Failed { class, status } = self.end {
            shown["failure"] = json!({ "class": class.as_str(), "status": status });
        }
        shown
    }

    /// The evidence of a call of a model in a TEE, as `GET /venice/attestations` shows it.
    pub(crate) fn attestation(&self, tier: &str) -> Value {
        json!({
            "timestamp": rfc3339(self.at_ms),
            "request_id": &*self.request_id,
            "tick_id": self.tick(),
            "model_id": &*self.model,
            "privacy_tier": tier,
            "evidence": "listed",
            "verified": false,
        })
    }

    /// The data of the event `attestation`.
    pub(crate) fn attestation_event(&self) -> Value {
        json!({
            "requestId": &*self.request_id,
            "tickId": self.tick(),
            "enclaveId": null,
            "verified": false,
            "failureReason": "this version verifies no attestation; the list of the provider names the model",
            "latencyMs": self.latency_ms,
        })
    }

    /// The data of the event `cognition`.
    pub(crate) fn cognition(&self, tier: Option<&str>) -> Value {
        json!({
            "requestId": &*self.request_id,
            "tickId": self.tick(),
            "class": self.class.as_deref(),
            "privacyTier": tier,
            "latencyMs": self.latency_ms,
            "cachedTokenRatio": self.cached_ratio(),
            "costUsd": self.cost.map(|cost| cost.to_string()),
            "modelId": &*self.model,
            "outcome": self.outcome().as_str(),
            "failure": match self.end {
                AttemptEnd::Failed { class, .. } => Some(class.as_str()),
                AttemptEnd::Answered(_) => None,
            },
        })
    }
}

impl CallTokens {
    fn of(usage: &Usage) -> Self {
        Self {
            input: usage.prompt(),
            cached: usage.cache_read,
            output: usage.output,
        }
    }
}

fn is_venice(backend: &str) -> bool {
    BackendName::parse(backend).group() == BACKEND
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A share between 0 and 1 with three digits; `None` of nothing.
pub(super) fn ratio(part: u64, whole: u64) -> Option<f64> {
    let thousandths = part.saturating_mul(1_000).checked_div(whole)?;
    Some(f64::from(u32::try_from(thousandths.min(1_000)).unwrap_or(1_000)) / 1_000.0)
}
