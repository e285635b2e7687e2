use std::sync::Arc;

use bardo_types::feature::Feature;
use bardo_types::json::RawJson;
use bardo_types::profile::{InferenceProfile, ResponseSchema};

use super::*;
use crate::adapter::ProviderAdapter;
use crate::call::CallSpec;
use crate::event::Recorded;
use crate::extension::Extensions;
use crate::router::ModelRouter;
use crate::runtime::fake::{FakeGateway, start, thought};
use crate::runtime::{CallOutcome, Runtime};

async fn negotiated() -> (Runtime, Arc<Recorded>, Arc<FakeGateway>) {
    let gateway = FakeGateway::new();
    let adapter = ProviderAdapter::connected("http://gateway".into(), gateway.clone());
    let extensions = Extensions::new()
        .with(adapter)
        .with(ProviderFeatureNegotiator::new());
    let (runtime, sink) = start(extensions).await;
    (runtime, sink, gateway)
}

fn wishful() -> CallSpec {
    let mut spec = thought("curator");
    spec.hints.profile = Some(Box::new(InferenceProfile {
        temperature: Some(0.3),
        min_p: Some(0.1),
        visible_thinking: Some(true),
        prompt_cache_key: Some("cycle-1".into()),
        response_schema: Some(ResponseSchema {
            name: "verdict".into(),
            schema: RawJson::empty_object(),
            strict: true,
        }),
        ..InferenceProfile::default()
    }));
    spec.hints.intent.prefer = Some(vec![Feature::Citations, Feature::Privacy]);
    spec
}

async fn record(runtime: &Runtime, spec: CallSpec) -> Negotiated {
    match runtime.call(spec).await.unwrap() {
        CallOutcome::Answered { negotiated, .. } => *negotiated,
        CallOutcome::Skipped(reason) => panic!("skipped: {reason}"),
    }
}

#[tokio::test]
async fn nothing_of_a_profile_is_applied_here() {
    let (runtime, _, gateway) = negotiated().await;
    let spec = wishful();
    record(&runtime, spec.clone()).await;
    assert_eq!(
        gateway.asked(),
        [spec],
        "what is sent is what was meant, to the letter"
    );
}

#[tokio::test]
async fn what_came_back_is_recorded() {
    let (runtime, _, gateway) = negotiated().await;
    gateway.answer(|reply| {
        reply.reasoning = Some("so it goes".into());
        reply.origin.degraded = vec!["citations".into()];
    });
    let held = record(&runtime, wishful()).await;
    assert_eq!(
        held,
        Negotiated {
            degraded: vec!["citations".into()],
            schema_enforced: Some(true),
            reasoning: Some("so it goes".into()),
            cached_tokens: 40,
        }
    );
    let plain = record(&runtime, thought("curator")).await;
    assert_eq!(plain.schema_enforced, None, "no schema was asked for");
    assert_eq!(plain.reasoning, None, "nobody wanted to see it");
}

#[tokio::test]
async fn a_schema_in_words_is_not_taken_for_an_enforced_one() {
    for lost in [
        "structured_outputs",
        "response_schema -> prompt-guided JSON",
    ] {
        let (runtime, _, gateway) = negotiated().await;
        gateway.answer(|reply| reply.origin.degraded = vec![lost.into()]);
        assert_eq!(
            record(&runtime, wishful()).await.schema_enforced,
            Some(false)
        );
    }
}

#[tokio::test]
async fn events_tell_what_was_lost_and_what_caches_gave() {
    let (runtime, sink, gateway) = negotiated().await;
    gateway.answer(|reply| {
        reply.origin.degraded = vec!["privacy".into(), "min_p -> top_p".into()];
    });
    record(&runtime, wishful()).await;
    runtime.end().await;
    let events: Vec<GolemEvent> = sink.events().into_iter().map(|event| event.data).collect();
    let subsystem = || "curator".to_owned();
    for expected in [
        GolemEvent::FeatureNegotiated {
            subsystem: subsystem(),
            requested: vec!["citations".into(), "privacy".into()],
            available: vec!["citations".into()],
        },
        GolemEvent::InferenceProfileDegraded {
            subsystem: subsystem(),
            provider: "blockrun".into(),
            degraded: vec!["min_p -> top_p".into()],
        },
        GolemEvent::InferenceCacheStats {
            subsystem: subsystem(),
            cached_tokens: 40,
            total_tokens: 100,
            savings_usd: None,
        },
        GolemEvent::InferenceCacheStats {
            subsystem: "session".into(),
            cached_tokens: 40,
            total_tokens: 100,
            savings_usd: None,
        },
    ] {
        assert!(
            events.contains(&expected),
            "{expected:?} not in {events:#?}"
        );
    }
}

#[test]
fn it_runs_after_the_router() {
    let extensions = Extensions::new()
        .with(ModelRouter::new())
        .with(ProviderFeatureNegotiator::new());
    let names: Vec<&str> = extensions.names().collect();
    assert_eq!(names, ["model-router", "provider-feature-negotiator"]);
}
