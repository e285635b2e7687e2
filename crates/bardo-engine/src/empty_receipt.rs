//! The receipt that a request begins with: who asks for what, and nothing of an answer.

use std::sync::Arc;

use bardo_types::money::{BasisPoints, MicroUsd};
use bardo_types::receipt::{Amounts, Outcome, PaymentMode, Receipt, Timings};

use crate::call::Call;
use crate::received::Payer;

/// The receipt of a request that was read and not sent.
pub(crate) fn empty(call: &Call) -> Receipt {
    let key = match &call.principal().payer {
        Payer::Owner => None,
        Payer::Prepaid(terms) => terms.key.clone(),
    };
    let caller = call.hints().trace.as_ref();
    Receipt {
        request_id: call.request_id().clone(),
        client_request_id: call.client_request_id().cloned(),
        trace_id: caller.map(|trace| Arc::clone(&trace.trace_id)),
        caller_span: caller.cloned(),
        received_at_ms: call.received_at_ms(),
        account: call.principal().account.clone(),
        key,
        session: call.hints().session.clone(),
        subsystem: call.hints().subsystem.clone(),
        dialect: call.dialect(),
        upstream_dialect: call.dialect(),
        model_requested: Arc::clone(call.model()),
        model: Arc::clone(call.model()),
        model_answered: None,
        backend: Arc::default(),
        upstream_request_id: None,
        attempts: Vec::new(),
        passed_over: Vec::new(),
        streamed: call.stream(),
        usage: None,
        saved_usage: None,
        cache_age: None,
        cache_similarity: None,
        cache_reason: None,
        estimated: false,
        mode: PaymentMode::Owner,
        provider_payment: None,
        amounts: Amounts {
            provider_cost: None,
            spread_rate: BasisPoints::ZERO,
            spread: MicroUsd::ZERO,
            charge: MicroUsd::ZERO,
            shortfall: MicroUsd::ZERO,
            baseline: None,
            cache_savings: None,
            balance: None,
        },
        cache: "bypass".into(),
        verification: None,
        degraded: Vec::new(),
        optimizations: Vec::new(),
        routing: None,
        outcome: Outcome::Aborted,
        timings: Timings {
            read: Some(call.read_in()),
            ..Timings::default()
        },
    }
}
