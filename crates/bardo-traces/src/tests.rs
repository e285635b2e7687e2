use bardo_types::receipt::{CallerTrace, Outcome};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;

use super::*;
use crate::sample::receipt;

fn origin() -> TelemetrySource {
    let more = [("deployment.environment.name".to_owned(), "test".to_owned())];
    TelemetrySource::new("bardo-gateway", "1.2.3", "one", &more.into())
}

fn spans(receipt: &Receipt, form: TraceForm) -> Vec<Span> {
    let address = BackendAddress {
        address: "api.openai.com".to_owned(),
        port: 443,
    };
    let backends = BackendAddresses::from([("direct/openai".to_owned(), address)]);
    let bytes = origin().traces(&[receipt], &backends, form);
    let mut request = ExportTraceServiceRequest::decode(&*bytes).unwrap();
    let mut resource = request.resource_spans.pop().unwrap();
    assert_eq!(resource.schema_url, names::SCHEMA_URL);
    resource.scope_spans.pop().unwrap().spans
}

fn value(span: &Span, key: &str) -> Option<Value> {
    let mut found = span.attributes.iter().filter(|one| one.key == key);
    let value = found.next()?.value.clone()?.value;
    assert!(found.next().is_none(), "{key} comes twice in {}", span.name);
    value
}

fn count(span: &Span, key: &str) -> Option<i64> {
    match value(span, key)? {
        Value::IntValue(count) => Some(count),
        other => panic!("{key}: {other:?}"),
    }
}

fn text(span: &Span, key: &str) -> Option<String> {
    match value(span, key)? {
        Value::StringValue(text) => Some(text),
        other => panic!("{key}: {other:?}"),
    }
}

fn of_kind(spans: &[Span], kind: SpanKind) -> Vec<&Span> {
    spans
        .iter()
        .filter(|span| span.kind == i32::from(kind))
        .collect()
}

#[test]
fn a_request_has_a_span_and_one_for_each_stage_and_attempt() {
    let all = spans(&receipt(), TraceForm::Conventions);
    let server = of_kind(&all, SpanKind::Server);
    let [server] = server.as_slice() else {
        panic!("{} server spans", server.len());
    };
    assert_eq!(server.name, "gateway chat");
    assert!(server.parent_span_id.is_empty());
    let stages = of_kind(&all, SpanKind::Internal);
    assert_eq!(stages.len(), 12);
    let attempts = of_kind(&all, SpanKind::Client);
    assert_eq!(attempts.len(), 2);
    for span in stages.iter().chain(&attempts) {
        assert_eq!(span.parent_span_id, server.span_id);
        assert_eq!(span.trace_id, server.trace_id);
        assert!(span.start_time_unix_nano >= server.start_time_unix_nano);
        assert!(span.end_time_unix_nano <= server.end_time_unix_nano);
        assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
    }
}

#[test]
fn the_figures_of_a_request_are_on_its_last_attempt_alone() {
    let all = spans(&receipt(), TraceForm::Conventions);
    let attempts = of_kind(&all, SpanKind::Client);
    let [failed, answered] = attempts.as_slice() else {
        panic!("{} attempts", attempts.len());
    };
    assert_eq!(failed.name, "chat gpt-5.5");
    assert_eq!(text(failed, "error.type").as_deref(), Some("rate_limit"));
    assert_eq!(count(failed, "http.response.status_code"), Some(429));
    assert_eq!(failed.status.as_ref().unwrap().code, 2);
    for key in [names::INPUT_TOKENS, names::COST, "bardo.cost.micro_usd"] {
        assert_eq!(value(failed, key), None, "{key}");
    }
    assert_eq!(answered.status, None);
    assert_eq!(
        text(answered, "gen_ai.provider.name").as_deref(),
        Some("openai")
    );
    assert_eq!(
        text(answered, "server.address").as_deref(),
        Some("api.openai.com")
    );
    assert_eq!(count(answered, "server.port"), Some(443));
    for (key, tokens) in [
        ("gen_ai.usage.input_tokens", 1_024),
        ("gen_ai.usage.cache_read.input_tokens", 900),
        ("gen_ai.usage.cache_creation.input_tokens", 24),
        ("gen_ai.usage.output_tokens", 50),
        ("gen_ai.usage.reasoning.output_tokens", 20),
        ("bardo.cost.micro_usd", 1_200),
        ("bardo.cost.provider_micro_usd", 1_000),
    ] {
        assert_eq!(count(answered, key), Some(tokens), "{key}");
    }
    assert_eq!(
        text(answered, "bardo.cost.usd").as_deref(),
        Some("0.001200")
    );
    let cost = value(answered, "gen_ai.usage.cost");
    assert_eq!(cost, Some(Value::DoubleValue(0.0012)));
    let first = value(answered, "gen_ai.response.time_to_first_chunk");
    assert_eq!(first, Some(Value::DoubleValue(0.02)));
}

#[test]
fn the_callers_span_is_the_parent() {
    let mut one = receipt();
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let caller = CallerTrace::parse(parent, Some("a=1")).unwrap();
    one.trace_id = Some(caller.trace_id.clone());
    one.caller_span = Some(caller.into());
    let all = spans(&one, TraceForm::Conventions);
    let server = of_kind(&all, SpanKind::Server)[0];
    assert_eq!(
        server.parent_span_id,
        0x00f0_67aa_0ba9_02b7_u64.to_be_bytes()
    );
    assert_eq!(server.trace_id[..2], [0x4b, 0xf9]);
    assert!(all.iter().all(|span| span.trace_state == "a=1"));
}

#[test]
fn an_answer_that_broke_off_is_an_error_of_its_attempt() {
    let mut one = receipt();
    one.outcome = Outcome::Failed;
    let all = spans(&one, TraceForm::Conventions);
    for span in [
        of_kind(&all, SpanKind::Server)[0],
        of_kind(&all, SpanKind::Client)[1],
    ] {
        assert_eq!(text(span, "error.type").as_deref(), Some("failed"));
        assert_eq!(span.status.as_ref().unwrap().code, 2);
    }
    one.outcome = Outcome::Aborted;
    let all = spans(&one, TraceForm::Conventions);
    let server = of_kind(&all, SpanKind::Server)[0];
    assert_eq!(
        text(server, "error.type").as_deref(),
        Some("client_disconnected")
    );
    assert_eq!(server.status, None);
}

#[test]
fn langfuse_gets_classes_that_add_up_and_one_generation_per_attempt() {
    let all = spans(&receipt(), TraceForm::Langfuse);
    let server = of_kind(&all, SpanKind::Server)[0];
    assert_eq!(text(server, "langfuse.user.id").as_deref(), Some("golem-1"));
    assert_eq!(
        text(server, "langfuse.session.id").as_deref(),
        Some("session-7")
    );
    assert_eq!(
        text(server, "langfuse.trace.name").as_deref(),
        Some("dream_rem")
    );
    let attempts = of_kind(&all, SpanKind::Client);
    for attempt in &attempts {
        let kind = text(attempt, "langfuse.observation.type");
        assert_eq!(kind.as_deref(), Some("generation"));
    }
    let details = text(attempts[1], "langfuse.observation.usage_details").unwrap();
    let details: serde_json::Value = serde_json::from_str(&details).unwrap();
    let classes = details.as_object().unwrap();
    let sum: u64 = classes
        .iter()
        .filter(|(name, _)| *name != "total")
        .map(|(_, tokens)| tokens.as_u64().unwrap())
        .sum();
    assert_eq!(Some(sum), details["total"].as_u64());
    let plain = spans(&receipt(), TraceForm::Conventions);
    let is_langfuse = |span: &Span| {
        span.attributes
            .iter()
            .any(|one| one.key.starts_with("langfuse"))
    };
    assert!(!plain.iter().any(is_langfuse));
}

#[test]
fn metrics_are_cumulative_and_split_tokens_by_type() {
    let meters = Meters::default();
    assert_eq!(meters.export(&origin(), 1, 2), None);
    meters.count(&receipt());
    meters.count(&receipt());
    let bytes = meters.export(&origin(), 1, 2).unwrap();
    let request = ExportMetricsServiceRequest::decode(&*bytes).unwrap();
    let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
    let counts: Vec<(&str, Vec<u64>)> = metrics
        .iter()
        .map(|metric| match &metric.data {
            Some(Data::Histogram(histogram)) => {
                assert_eq!(histogram.aggregation_temporality, 2);
                let points = &histogram.data_points;
                for point in points {
                    assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
                    assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
                }
                (
                    metric.name.as_str(),
                    points.iter().map(|point| point.count).collect(),
                )
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        counts,
        [
            ("gen_ai.client.token.usage", vec![2, 2]),
            ("gen_ai.client.operation.duration", vec![2]),
            ("gen_ai.server.request.duration", vec![2]),
            ("gen_ai.server.time_to_first_token", vec![2]),
        ]
    );
}

#[test]
fn the_number_of_series_has_a_limit() {
    let meters = Meters::default();
    for number in 0..2_000 {
        let mut one = receipt();
        one.model = format!("model-{number}").into();
        meters.count(&one);
    }
    let series = meters.series.lock().unwrap();
    assert_eq!(series.len(), meters::SERIES_MAX + 1);
}
