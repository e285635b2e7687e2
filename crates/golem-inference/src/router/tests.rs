use std::sync::Arc;

use bardo_types::intent::Quality;
use bardo_types::phase::Phase;
use bardo_types::unit::UnitInterval;

use super::*;
use crate::adapter::ProviderAdapter;
use crate::event::Recorded;
use crate::extension::Extensions;
use crate::heartbeat::{ProbeReading, Severity};
use crate::runtime::fake::{FakeGateway, start, thought};
use crate::runtime::{CallOutcome, Runtime};
use crate::state::Mortality;

async fn routed(router: ModelRouter) -> (Runtime, Arc<Recorded>, Arc<FakeGateway>) {
    let gateway = FakeGateway::new();
    let adapter = ProviderAdapter::connected("http://gateway".into(), gateway.clone());
    let (runtime, sink) = start(Extensions::new().with(adapter).with(router)).await;
    (runtime, sink, gateway)
}

/// All parts of an agent that profiles and intents know.
const SUBSYSTEMS: [&str; 27] = [
    "heartbeat_t0",
    "heartbeat_t1",
    "heartbeat_t2",
    "risk",
    "dream",
    "daimon",
    "daimon_complex",
    "curator",
    "playbook",
    "operator",
    "death",
    "session_compact",
    "mind_wandering",
    "dream_nrem",
    "dream_rem",
    "dream_rem_creative",
    "dream_integration",
    "dream_threat",
    "hypnagogic_induction",
    "hypnagogic_dali",
    "hypnagogic_observer",
    "hypnagogic_capture",
    "hypnopompic_return",
    "death_reflect",
    "death_testament",
    "context",
    "social",
];

#[tokio::test]
async fn at_t0_the_heartbeat_is_silent_and_everybody_else_thinks() {
    let (runtime, _, gateway) = routed(ModelRouter::new()).await;
    assert_eq!(
        runtime.tick(1, &[ProbeReading::quiet("price")]).await.tier,
        TickTier::T0
    );
    for subsystem in SUBSYSTEMS {
        let before = gateway.asked().len();
        let called = runtime.call(thought(subsystem)).await.unwrap();
        let sent = gateway.asked().len() - before;
        let is_heartbeat = subsystem.starts_with("heartbeat");
        assert_eq!(sent, usize::from(!is_heartbeat), "{subsystem}");
        assert_eq!(
            matches!(called, CallOutcome::Skipped(_)),
            is_heartbeat,
            "{subsystem}"
        );
    }
    for spelled in ["heartbeat", "Heartbeat-T2", " HEARTBEAT_T1"] {
        runtime.call(thought(spelled)).await.unwrap();
    }
    let parts = SUBSYSTEMS.len() - 3;
    assert_eq!(
        gateway.asked().len(),
        parts,
        "no spelling gets past the gate"
    );
}

#[tokio::test]
async fn the_tier_of_the_tick_names_the_heartbeat_and_nobody_else() {
    let (runtime, _, gateway) = routed(ModelRouter::new()).await;
    runtime
        .tick(1, &[ProbeReading::new("price", Severity::Low)])
        .await;
    runtime.call(thought("heartbeat")).await.unwrap();
    runtime.call(thought("heartbeat_t0")).await.unwrap();
    assert!(runtime.escalate());
    runtime.call(thought("heartbeat")).await.unwrap();
    runtime.call(thought("risk")).await.unwrap();
    let asked = gateway.asked();
    let names: Vec<&str> = asked.iter().map(|spec| spec.subsystem()).collect();
    assert_eq!(
        names,
        ["heartbeat_t1", "heartbeat_t1", "heartbeat_t2", "risk"]
    );
}

#[tokio::test]
async fn how_alive_the_agent_is_goes_with_each_call() {
    let (runtime, _, gateway) = routed(ModelRouter::new()).await;
    runtime.tick(41, &[]).await;
    runtime.set_mortality(Mortality::new(0.2).earning(0.4));
    runtime.set_regime("normal");
    runtime.call(thought("daimon")).await.unwrap();
    runtime.set_mortality(Mortality::new(0.05));
    let mut spec = thought("daimon");
    spec.hints.vitality = UnitInterval::new(0.9);
    runtime.call(spec).await.unwrap();

    let asked = gateway.asked();
    let hints = &asked[0].hints;
    assert_eq!(
        (hints.vitality, hints.phase),
        (UnitInterval::new(0.2), Some(Phase::Desperate))
    );
    assert_eq!(hints.sustainability, Some(0.4));
    assert_eq!(hints.tick, Some(41));
    assert_eq!(hints.golem_id.as_deref(), Some("golem-7"));
    assert_eq!(hints.session_id.as_deref(), Some("session-1"));
    assert_eq!(hints.regime.as_deref(), Some("normal"));
    assert_eq!(
        asked[1].hints.vitality,
        UnitInterval::new(0.9),
        "the call's own word wins"
    );
    assert_eq!(asked[1].hints.phase, Some(Phase::Terminal));
    assert_eq!(asked[1].hints.sustainability, None);
    assert!(
        asked.iter().all(|spec| spec.model == crate::call::AUTO),
        "no model is chosen here"
    );
}

#[tokio::test]
async fn intents_of_the_owner_fill_what_a_call_leaves_open() {
    let wanted = IntentHints {
        quality: Some(Quality::High),
        max_latency_ms: Some(500),
        ..IntentHints::default()
    };
    let router = ModelRouter::new().with_intent("Daimon", wanted.clone());
    let (runtime, _, gateway) = routed(router).await;
    runtime.call(thought("daimon")).await.unwrap();
    runtime.call(thought("risk")).await.unwrap();
    let mut spec = thought("daimon");
    spec.hints.intent.quality = Some(Quality::Low);
    runtime.call(spec).await.unwrap();
    let asked = gateway.asked();
    assert_eq!(asked[0].hints.intent, wanted);
    assert!(asked[1].hints.intent.is_silent());
    assert_eq!(asked[2].hints.intent.quality, Some(Quality::Low));
    assert_eq!(asked[2].hints.intent.max_latency_ms, Some(500));
}

#[tokio::test]
async fn what_was_lost_is_told_once_per_change() {
    let (runtime, sink, gateway) = routed(ModelRouter::new()).await;
    let lose = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        gateway.answer(|reply| reply.origin.degraded = names);
    };
    let dream = || runtime.call(thought("dream"));
    lose(&["visible_thinking", "privacy"]);
    dream().await.unwrap();
    dream().await.unwrap();
    lose(&["temperature", "privacy", "reasoning_effort"]);
    dream().await.unwrap();
    lose(&["top_p"]);
    dream().await.unwrap();
    lose(&["privacy"]);
    dream().await.unwrap();
    let one = "dream routed to blockrun/claude-sonnet-5-5 (unavailable: privacy)";
    assert_eq!(
        sink.warnings(),
        [
            "dream routed to blockrun/claude-sonnet-5-5 (unavailable: visible_thinking, privacy)",
            one,
            one,
        ]
    );
}
