use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::{BasisPoints, MicroUsd};
use bardo_types::receipt::Timings;

use super::*;

/// Receipt of a whole answer in the dialect of Chat Completions.
fn receipt(usage: Usage) -> Receipt {
    Receipt {
        request_id: RequestId::parse("req_1").unwrap(),
        client_request_id: None,
        trace_id: None,
        caller_span: None,
        received_at_ms: 60_000_000,
        account: AccountId::parse("a").unwrap(),
        key: None,
        session: None,
        subsystem: None,
        dialect: Dialect::Chat,
        upstream_dialect: Dialect::Chat,
        model_requested: "m".into(),
        model: "m".into(),
        model_answered: None,
        backend: "b".into(),
        upstream_request_id: None,
        attempts: Vec::new(),
        passed_over: Vec::new(),
        streamed: false,
        usage: Some(usage),
        saved_usage: None,
        cache_age: None,
        cache_similarity: None,
        cache_reason: None,
        estimated: false,
        mode: PaymentMode::Owner,
        provider_payment: None,
        amounts: Amounts {
            provider_cost: None,
            spread_rate: BasisPoints::new(0).unwrap(),
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
        outcome: Outcome::Finished,
        timings: Timings::default(),
    }
}

#[test]
fn texts_for_vectors_are_no_prompts_that_a_cache_could_have_read() {
    let metrics = Metrics::new();
    let rate = |fresh_input, output| {
        metrics.settled(&receipt(Usage {
            fresh_input,
            output,
            ..Usage::default()
        }));
        metrics.show_prompt_caches(60_000_000);
        let text = metrics.encode(&Gauges::default());
        text.contains("bardo_prefix_cache_hit_rate{} 0.0")
    };
    assert!(!rate(5_000, 0));
    assert!(rate(5_000, 1));
}

#[test]
fn refusals_and_gauges_are_shown() {
    let metrics = Metrics::new();
    metrics.refused(ErrorCode::UnpricedModel);
    metrics.attempt_failed("direct/openai", FaultClass::RateLimit);
    metrics.listed("venice", 80, 2);
    metrics.listed("venice", 81, 1);
    let gauges = Gauges {
        store_up: true,
        ..Gauges::default()
    };
    let backends = BackendGauges {
        states: vec![("venice".to_owned(), "down")],
        latencies: vec![LatencyGauge {
            provider: "venice".to_owned(),
            model: "m".to_owned(),
            streamed: true,
            quantile: "0.9",
            took: Duration::from_millis(1_500),
        }],
    };
    metrics.backends(&backends);
    let text = metrics.encode(&gauges);
    for line in [
        "bardo_refused_requests_total{code=\"unpriced_model\"} 1",
        "bardo_unpriced_requests_total 1",
        "bardo_attempts_failed_total{provider=\"direct/openai\",class=\"rate_limit\"} 1",
        "bardo_store_up 1",
        "bardo_models_listed{provider=\"venice\"} 81",
        "bardo_models_quarantined{provider=\"venice\"} 1",
        "bardo_config_last_reload_success 0",
        "bardo_backend_state{provider=\"venice\",state=\"down\"} 1",
        "bardo_backend_state{provider=\"venice\",state=\"healthy\"} 0",
        "bardo_backend_latency_seconds{provider=\"venice\",model=\"m\",stream=\"true\",quantile=\"0.9\"} 1.5",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    metrics.backends(&BackendGauges::default());
    let text = metrics.encode(&gauges);
    assert!(!text.contains("bardo_backend_state{"), "{text}");
    assert!(!text.contains("bardo_backend_latency_seconds{"), "{text}");
}
