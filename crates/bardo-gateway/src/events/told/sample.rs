//! A receipt of a request of which everything can be told.

use std::time::Duration;

use bardo_types::Degradation;
use bardo_types::fault::FaultClass;
use bardo_types::feature::{Feature, FeatureSet};
use bardo_types::ids::{AccountId, RequestId};
use bardo_types::model::{Dialect, Effort, Tier};
use bardo_types::money::{BasisPoints, MicroUsd, SignedMicroUsd};
use bardo_types::privacy::SecurityClass;
use bardo_types::receipt::{
    Amounts, Attempt, AttemptFailure, DecisionVerification, Outcome, PassedOver, PaymentMode,
    ProviderPayment, Receipt, Routing, SchemaOutcome, SentProfile, Timings, VerificationResult,
};
use bardo_types::usage::Usage;

fn attempt(backend: &str, failure: Option<AttemptFailure>) -> Attempt {
    Attempt {
        backend: backend.into(),
        model: "claude-sonnet-4-6".into(),
        failure,
        duration: Duration::from_millis(12),
        payment: None,
    }
}

fn routing() -> Routing {
    Routing {
        subsystem: Some("dream_rem".into()),
        automatic: true,
        security_class: SecurityClass::Private,
        security: SecurityClass::Standard,
        tee: None,
        tier: Some(Tier::Strong),
        requested: vec![Feature::Privacy, Feature::VisibleThinking],
        features: FeatureSet::EMPTY.with(Feature::Tools),
        degraded: vec![Feature::Privacy, Feature::VisibleThinking],
        warnings: vec!["`vitality` is not between 0 and 1".into()],
        profile: Some(SentProfile {
            row: Some("dream_rem".into()),
            temperature: Some(0.8),
            effort: Some(Effort::High),
            structured: true,
            cached: true,
            degraded: vec![Degradation::new("min_p", "min_p -> top_p")],
        }),
        schema: Some(SchemaOutcome {
            name: "DreamIntegration".into(),
            mode: "prompt",
            valid: Some(true),
            repaired: true,
        }),
        golem_id: Some("golem-1".into()),
        tick: Some(7),
        ..Routing::default()
    }
}

pub(crate) fn sample() -> Receipt {
    let refused = AttemptFailure {
        class: FaultClass::RateLimit,
        status: Some(429),
        unknown_outcome: false,
    };
    Receipt {
        request_id: RequestId::parse("req_1").unwrap(),
        client_request_id: None,
        trace_id: None,
        caller_span: None,
        received_at_ms: 1_795_190_400_123,
        account: AccountId::parse("acct_1").unwrap(),
        key: None,
        session: None,
        subsystem: Some("dream-rem".into()),
        dialect: Dialect::Chat,
        upstream_dialect: Dialect::Chat,
        model_requested: "bardo/auto".into(),
        model: "claude-sonnet-4-6".into(),
        model_answered: None,
        backend: "openrouter".into(),
        upstream_request_id: None,
        passed_over: vec![PassedOver {
            backend: "direct/anthropic".into(),
            reason: "would lose `n`".into(),
        }],
        attempts: vec![
            attempt("blockrun", Some(refused)),
            attempt("openrouter", None),
        ],
        streamed: false,
        usage: Some(Usage {
            fresh_input: 100,
            cache_read: 900,
            output: 50,
            reasoning: Some(20),
            ..Usage::default()
        }),
        saved_usage: None,
        cache_age: None,
        cache_similarity: None,
        cache_reason: None,
        estimated: false,
        mode: PaymentMode::Prepaid,
        provider_payment: Some(ProviderPayment::ApiKey),
        amounts: Amounts {
            provider_cost: Some(MicroUsd::new(1_000)),
            spread_rate: BasisPoints::ZERO,
            spread: MicroUsd::ZERO,
            charge: MicroUsd::new(1_000),
            shortfall: MicroUsd::ZERO,
            baseline: Some(MicroUsd::new(1_500)),
            cache_savings: Some(SignedMicroUsd::new(-40)),
            balance: None,
        },
        cache: "hash".into(),
        verification: Some(Box::new(DecisionVerification {
            result: VerificationResult::Disagreed,
            other: RequestId::parse("req_1_verify").ok(),
            other_model: Some("gpt-6-sol".into()),
            other_cost: Some(MicroUsd::new(3_210)),
            is_second: false,
            delivered: true,
        })),
        degraded: Vec::new(),
        optimizations: Vec::new(),
        routing: Some(Box::new(routing())),
        outcome: Outcome::Finished,
        timings: Timings {
            total: Duration::from_millis(400),
            ..Timings::default()
        },
    }
}
