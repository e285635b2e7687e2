use std::time::Duration;

use bardo_types::fault::FaultClass;
use bardo_types::receipt::{Attempt, AttemptFailure};

use super::super::names::NAMES;
use super::*;

fn events(receipt: &Receipt, message: Option<&str>) -> Vec<(&'static str, Value)> {
    std::iter::once(started(receipt))
        .chain(told(receipt, message))
        .map(|(name, json)| (name, serde_json::from_str(&json).unwrap()))
        .collect()
}

#[test]
fn a_receipt_with_everything_tells_every_event_in_order() {
    let mut receipt = sample();
    receipt.usage.as_mut().unwrap().web_searches = Some(2);
    let all = events(&receipt, Some("Dream used m on b"));
    let told: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        told,
        [
            "inference.start",
            "provider.feature_negotiated",
            "provider.resolved",
            "inference.profile_applied",
            "inference.profile_degraded",
            "inference.provider_fallback",
            "routing.warning",
            "inference.cache_hit",
            "inference.cache_stats",
            "inference.reasoning_captured",
            "inference.web_search_used",
            "inference.schema_fallback",
            "inference.schema_validated",
            "routing.warning",
            "owner.message",
            "inference.verification",
            "inference.token",
            "inference.token",
            "inference.end",
        ]
    );
    for (index, (name, event)) in all.iter().enumerate() {
        assert!(NAMES.contains(name), "{name}");
        assert_eq!(event["sequence"], index + 1, "{name}");
        assert_eq!(event["request_id"], "req_1", "{name}");
        assert_eq!(event["golem_id"], "golem-1", "{name}");
        assert_eq!(event["tick"], 7, "{name}");
        assert!(
            event["timestamp"].as_str().unwrap().ends_with('Z'),
            "{name}"
        );
    }
    insta::assert_json_snapshot!("events", all);
}

#[test]
fn the_counts_of_tokens_add_up_to_the_output() {
    for (reasoning, output) in [
        (None, 7),
        (Some(3), 7),
        (Some(7), 7),
        (Some(9), 7),
        (None, 0),
    ] {
        let mut receipt = sample();
        let usage = receipt.usage.as_mut().unwrap();
        (usage.reasoning, usage.output) = (reasoning, output);
        let all = events(&receipt, None);
        let counts = all.iter().filter(|(name, _)| *name == "inference.token");
        let sum: u64 = counts
            .map(|(_, event)| event["token_count"].as_u64().unwrap())
            .sum();
        assert_eq!(sum, output, "{reasoning:?} of {output}");
    }
}

#[test]
fn a_request_of_a_plain_client_tells_its_begin_and_end_alone() {
    let mut receipt = sample();
    receipt.routing = None;
    receipt.cache = "bypass".into();
    receipt.usage = None;
    receipt.attempts.truncate(1);
    receipt.passed_over.clear();
    receipt.verification = None;
    let all = events(&receipt, None);
    assert_eq!(all.len(), 2);
    assert_eq!((all[0].0, all[1].0), ("inference.start", "inference.end"));
    for (_, event) in &all {
        assert!(event.get("golem_id").is_none() && event.get("tick").is_none());
    }
    assert_eq!(all[1].1["cache_hit_rate"], Value::Null);
}

#[test]
fn the_same_backend_asked_again_is_no_fallback() {
    let mut receipt = sample();
    receipt.attempts = [Some(()), None]
        .map(|failed| Attempt {
            backend: "b".into(),
            model: "m".into(),
            failure: failed.map(|()| AttemptFailure {
                class: FaultClass::RateLimit,
                status: Some(429),
                unknown_outcome: false,
            }),
            duration: Duration::ZERO,
            payment: None,
        })
        .into();
    let fell = events(&receipt, None)
        .iter()
        .any(|(name, _)| *name == "inference.provider_fallback");
    assert!(!fell);
}
