//! A receipt for tests: streamed, after one failed attempt.

use std::time::Duration;

use bardo_types::fault::FaultClass;
use bardo_types::ids::{AccountId, KeyId, RequestId};
use bardo_types::model::Dialect;
use bardo_types::money::{BasisPoints, MicroUsd};
use bardo_types::receipt::{
    Amounts, Attempt, AttemptFailure, Outcome, PaymentMode, ProviderPayment, Receipt, Routing,
    Timings,
};
use bardo_types::usage::Usage;

fn attempt(backend: &str, failure: Option<AttemptFailure>) -> Attempt {
    Attempt {
        backend: backend.into(),
        model: "gpt-5.5".into(),
        failure,
        duration: Duration::from_millis(12),
        payment: None,
    }
}

fn timings() -> Timings {
    let ms = |count| Some(Duration::from_millis(count));
    Timings {
        read: ms(1),
        limited: ms(2),
        hash_lookup: ms(3),
        screened: ms(4),
        prepared: ms(5),
        planned: ms(6),
        semantic_lookup: None,
        reserved: ms(7),
        sent: ms(30),
        head: ms(42),
        first_content: ms(50),
        settled: ms(398),
        total: Duration::from_millis(400),
    }
}

pub(crate) fn receipt() -> Receipt {
    let refused = AttemptFailure {
        class: FaultClass::RateLimit,
        status: Some(429),
        unknown_outcome: false,
    };
    Receipt {
        request_id: RequestId::parse("req_019a2b3c4d5e7001a1b2c3d4e5f60718").unwrap(),
        client_request_id: None,
        trace_id: None,
        caller_span: None,
        received_at_ms: 1_795_190_400_123,
        account: AccountId::parse("acct_1").unwrap(),
        key: KeyId::parse("key_1").ok(),
        session: Some("session-7".into()),
        subsystem: Some("dream_rem".into()),
        dialect: Dialect::Chat,
        upstream_dialect: Dialect::Chat,
        model_requested: "gpt-5.5".into(),
        model: "gpt-5.5".into(),
        model_answered: Some("gpt-5.5-2026-09-01".into()),
        backend: "direct/openai".into(),
        upstream_request_id: Some("up-1".into()),
        attempts: vec![
            attempt("openrouter", Some(refused)),
            attempt("direct/openai", None),
        ],
        passed_over: Vec::new(),
        streamed: true,
        usage: Some(Usage {
            fresh_input: 100,
            cache_read: 900,
            cache_write_5m: 24,
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
            spread: MicroUsd::new(200),
            charge: MicroUsd::new(1_200),
            shortfall: MicroUsd::ZERO,
            baseline: Some(MicroUsd::new(1_500)),
            cache_savings: None,
            balance: Some(MicroUsd::new(77)),
        },
        cache: "miss".into(),
        verification: None,
        degraded: Vec::new(),
        optimizations: Vec::new(),
        routing: Some(Box::new(Routing {
            golem_id: Some("golem-1".into()),
            ..Routing::default()
        })),
        outcome: Outcome::Finished,
        timings: timings(),
    }
}
