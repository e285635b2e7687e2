use super::*;

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
