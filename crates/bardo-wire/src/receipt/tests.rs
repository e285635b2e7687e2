use std::time::Duration;

use bardo_types::Degradation;
use bardo_types::fault::FaultClass;
use bardo_types::feature::{Feature, FeatureSet};
use bardo_types::ids::{AccountId, KeyId, RequestId};
use bardo_types::intent::Quality;
use bardo_types::model::{Dialect, Effort, Tier};
use bardo_types::money::{BasisPoints, MicroUsd, SignedMicroUsd};
use bardo_types::phase::Phase;
use bardo_types::privacy::SecurityClass;
use bardo_types::receipt::{
    Amounts, Attempt, AttemptFailure, AttemptPayment, DecisionVerification, Outcome, PassedOver,
    PaymentMode, ProviderPayment, ProviderSettlement, Receipt, Routing, SchemaOutcome, SentProfile,
    Timings, VerificationResult,
};
use bardo_types::usage::Usage;

use super::{comment, rfc3339, to_json};

fn receipt() -> Receipt {
    let attempt = |failure| Attempt {
        backend: "openrouter".into(),
        model: "anthropic/claude-opus-5.5".into(),
        failure,
        duration: Duration::from_millis(12),
        payment: Some(AttemptPayment {
            amount: MicroUsd::new(3_660),
            network: "eip155:8453".into(),
            reference: "0x5a5a".into(),
            scheme: "upto",
            settlement: Some(ProviderSettlement {
                state: "settled",
                transaction: Some("0x7b7b".into()),
                amount: Some(MicroUsd::new(2_100)),
            }),
        }),
    };
    Receipt {
        request_id: RequestId::parse("req_1").unwrap(),
        client_request_id: Some("mine-1234".into()),
        trace_id: Some("4bf92f3577b34da6a3ce929d0e0e4736".into()),
        caller_span: None,
        received_at_ms: 1_795_190_400_123,
        account: AccountId::parse("acct_1").unwrap(),
        key: Some(KeyId::parse("k1").unwrap()),
        session: Some("s".into()),
        subsystem: None,
        dialect: Dialect::Chat,
        upstream_dialect: Dialect::Anthropic,
        model_requested: "opus".into(),
        model: "claude-opus-5-5".into(),
        model_answered: Some("claude-opus-5-5-20260901".into()),
        backend: "openrouter".into(),
        upstream_request_id: Some("gen-1".into()),
        passed_over: vec![PassedOver {
            backend: "direct/anthropic".into(),
            reason: "would lose `n`".into(),
        }],
        attempts: vec![
            attempt(Some(AttemptFailure {
                class: FaultClass::RateLimit,
                status: Some(429),
                unknown_outcome: false,
            })),
            attempt(None),
        ],
        streamed: true,
        usage: Some(Usage {
            fresh_input: 10,
            cache_read: 100,
            cache_write_5m: 7,
            output: 5,
            reasoning: Some(2),
            ..Usage::default()
        }),
        saved_usage: Some(Usage {
            fresh_input: 11,
            output: 6,
            ..Usage::default()
        }),
        cache_age: Some(Duration::from_millis(12_500)),
        cache_similarity: Some(973),
        cache_reason: Some("no_entry".into()),
        estimated: false,
        mode: PaymentMode::Prepaid,
        provider_payment: Some(ProviderPayment::ApiKey),
        amounts: Amounts {
            provider_cost: Some(MicroUsd::new(1_000)),
            spread_rate: BasisPoints::new(2_000).unwrap(),
            spread: MicroUsd::new(200),
            charge: MicroUsd::new(1_200),
            shortfall: MicroUsd::ZERO,
            baseline: Some(MicroUsd::new(1_500)),
            cache_savings: Some(SignedMicroUsd::new(-40)),
            balance: Some(MicroUsd::new(9_998_800)),
        },
        cache: "bypass".into(),
        verification: Some(Box::new(DecisionVerification {
            result: VerificationResult::Disagreed,
            other: RequestId::parse("req_1_verify").ok(),
            other_model: Some("gpt-6-sol".into()),
            other_cost: Some(MicroUsd::new(3_210)),
            is_second: false,
            delivered: true,
        })),
        degraded: vec![Degradation::new("top_k", "the provider has no such knob")],
        optimizations: Vec::new(),
        routing: Some(Box::new(Routing {
            subsystem: Some("dream_rem".into()),
            automatic: true,
            quality: Some(Quality::High),
            cost_sensitivity: Some(0.35),
            security_class: SecurityClass::Private,
            security: SecurityClass::Standard,
            tee: None,
            tier: Some(Tier::Frontier),
            requested: vec![Feature::Privacy, Feature::VisibleThinking],
            features: FeatureSet::EMPTY.with(Feature::Tools),
            degraded: vec![Feature::Privacy, Feature::VisibleThinking],
            estimated_cost: Some(MicroUsd::new(900)),
            warnings: vec!["`vitality` is not between 0 and 1".into()],
            owner_message: Some("Dream used claude-opus-5-5 on openrouter".into()),
            profile: Some(SentProfile {
                row: Some("dream_rem".into()),
                temperature: Some(0.8),
                effort: Some(Effort::High),
                structured: true,
                cached: false,
                degraded: vec![Degradation::new("min_p", "min_p -> top_p")],
            }),
            schema: Some(SchemaOutcome {
                name: "DreamScenario".into(),
                mode: "prompt",
                valid: Some(false),
                repaired: true,
            }),
            golem_id: Some("golem-1".into()),
            tick: Some(7),
            vitality: Some(f64::NAN),
            phase: Some(Phase::Stable),
            sustainability: Some(1.5),
        })),
        outcome: Outcome::Finished,
        timings: Timings {
            read: Some(Duration::from_micros(1)),
            limited: Some(Duration::from_micros(2)),
            hash_lookup: Some(Duration::from_micros(3)),
            screened: Some(Duration::from_micros(4)),
            prepared: Some(Duration::from_micros(5)),
            planned: Some(Duration::from_micros(6)),
            semantic_lookup: Some(Duration::from_micros(7)),
            settled: Some(Duration::from_millis(399)),
            reserved: Some(Duration::from_millis(1)),
            sent: Some(Duration::from_millis(2)),
            head: Some(Duration::from_millis(30)),
            first_content: None,
            total: Duration::from_millis(400),
        },
    }
}

#[test]
fn every_member_of_a_receipt_is_shown() {
    let json: serde_json::Value = serde_json::from_str(&to_json(&receipt())).unwrap();
    insta::assert_json_snapshot!("whole", json);
}

#[test]
fn the_closing_comment_is_one_line_of_figures() {
    let text = comment(&receipt(), false);
    let json = text.strip_prefix(": bardo ").unwrap().strip_suffix("\n\n");
    assert!(!json.unwrap().contains('\n'));
    let json: serde_json::Value = serde_json::from_str(json.unwrap()).unwrap();
    insta::assert_json_snapshot!("figures", json);
    assert!(comment(&receipt(), true).contains("\"pending\":true"));
}

#[test]
fn what_the_callers_own_key_pays_is_an_amount_that_is_not_billed() {
    let direct = Receipt {
        mode: PaymentMode::Direct,
        ..receipt()
    };
    let text = comment(&direct, false);
    assert!(text.contains("\"cost\":\"0.001000\""), "{text}");
    assert!(text.contains("\"billed\":false"), "{text}");
    let mut unpriced = direct;
    unpriced.amounts.provider_cost = None;
    let text = comment(&unpriced, false);
    assert!(text.contains("\"cost\":null"), "{text}");
    assert!(text.contains("\"savings\":null"), "{text}");
    let owner = Receipt {
        mode: PaymentMode::Owner,
        ..receipt()
    };
    assert!(comment(&owner, false).contains("\"cost\":\"0.001000\""));
    assert_eq!(owner.savings(), Some(MicroUsd::new(500)));
}

#[test]
fn times_are_utc() {
    let check = |ms, expected: &str| assert_eq!(rfc3339(ms), expected);
    check(0, "1970-01-01T00:00:00.000Z");
    check(951_782_399_999, "2000-02-28T23:59:59.999Z");
    check(951_782_400_000, "2000-02-29T00:00:00.000Z");
    check(1_709_251_200_000, "2024-03-01T00:00:00.000Z");
    check(4_102_444_799_000, "2099-12-31T23:59:59.000Z");
}
