use super::*;

fn quiet() -> Vec<ProbeReading> {
    vec![ProbeReading::quiet("price"), ProbeReading::quiet("gas")]
}

#[track_caller]
fn check(probes: &[ProbeReading], tier: TickTier, reasons: &[EscalationReason]) {
    let beat = Heartbeat::default().observe(probes);
    assert_eq!((beat.tier, &beat.reasons[..]), (tier, reasons));
}

#[test]
fn quiet_probes_are_t0_in_every_mood() {
    check(&[], TickTier::T0, &[]);
    check(&quiet(), TickTier::T0, &[]);
    for worst in [Severity::Low, Severity::High, Severity::Critical] {
        let mut heart = Heartbeat::default();
        heart.observe(&[ProbeReading::new("price", worst)]);
        assert_eq!(
            heart.observe(&quiet()).tier,
            TickTier::T0,
            "after {worst:?}"
        );
    }
}

#[test]
fn known_anomalies_of_little_value_are_t1() {
    for severity in [Severity::Low, Severity::Moderate, Severity::High] {
        check(
            &[ProbeReading::new("price", severity)],
            TickTier::T1,
            &[EscalationReason::Anomaly],
        );
    }
    // What is low is not worth deliberation, however new and valuable.
    let low = ProbeReading::new("gas", Severity::Low)
        .novel()
        .at_stake(MicroUsd::new(u64::MAX >> 1));
    check(&[low], TickTier::T1, &[EscalationReason::Anomaly]);
}

#[test]
fn novelty_stakes_conflict_and_the_worst_are_t2() {
    let moderate = || ProbeReading::new("price", Severity::Moderate);
    let just = Rules::default().high_stakes;
    let below = MicroUsd::new(just.get() - 1);
    check(
        &[moderate().at_stake(below)],
        TickTier::T1,
        &[EscalationReason::Anomaly],
    );
    check(
        &[moderate().at_stake(just)],
        TickTier::T2,
        &[EscalationReason::Anomaly, EscalationReason::Stakes],
    );
    check(
        &[moderate().novel()],
        TickTier::T2,
        &[EscalationReason::Anomaly, EscalationReason::Novelty],
    );
    check(
        &[moderate().leaning(Lean::Up), moderate().leaning(Lean::Down)],
        TickTier::T2,
        &[EscalationReason::Anomaly, EscalationReason::Conflict],
    );
    check(
        &[moderate().leaning(Lean::Up), moderate().leaning(Lean::Up)],
        TickTier::T1,
        &[EscalationReason::Anomaly],
    );
    check(
        &[ProbeReading::new("oracle", Severity::Critical)],
        TickTier::T2,
        &[EscalationReason::Anomaly, EscalationReason::Critical],
    );
}

#[test]
fn a_relapse_is_t2() {
    let mut heart = Heartbeat::default();
    let alarm = [ProbeReading::new("price", Severity::High)];
    assert_eq!(heart.observe(&alarm).tier, TickTier::T1);
    assert_eq!(heart.observe(&quiet()).mood, Mood::Recovering);
    let again = heart.observe(&alarm);
    assert_eq!(again.tier, TickTier::T2);
    assert_eq!(
        again.reasons,
        [EscalationReason::Anomaly, EscalationReason::Relapse]
    );
}

#[test]
fn the_small_model_hands_over_once_and_only_what_it_had() {
    let mut heart = Heartbeat::default();
    assert!(!heart.escalate(), "nothing was observed");
    heart.observe(&quiet());
    assert!(!heart.escalate(), "T0 asks nobody");
    heart.observe(&[ProbeReading::new("price", Severity::Low)]);
    assert!(heart.escalate());
    assert!(!heart.escalate(), "it is T2 already");
    let counts = heart.counts();
    assert_eq!((counts.t0, counts.t1, counts.t2), (1, 0, 1));
    assert_eq!((counts.system_one(), counts.system_two()), (1, 1));
}

#[test]
fn each_regime_has_its_share_of_ticks_without_a_model() {
    for (regime, t0, t2) in [
        (Regime::BullLowVol, 0.90, 0.02),
        (Regime::Normal, 0.80, 0.05),
        (Regime::BearHighVol, 0.60, 0.15),
    ] {
        for seed in 0..5 {
            let (mut market, mut heart) = (Market::new(seed), Heartbeat::default());
            for _ in 0..20_000 {
                heart.observe(&market.tick(regime));
            }
            let counts = heart.counts();
            let (rate, deliberate) = (counts.t0_rate(), counts.t2 as f64 / 20_000.0);
            assert!((rate - t0).abs() < 0.015, "{regime:?}/{seed}: T0 {rate}");
            // Relapses come on top of what the market calls grave.
            assert!(
                (deliberate - t2).abs() < 0.03,
                "{regime:?}/{seed}: T2 {deliberate}"
            );
        }
    }
}

#[test]
fn the_same_seed_is_the_same_day() {
    let day = |seed| {
        let mut market = Market::new(seed);
        (0..288)
            .map(|_| market.tick(Regime::Normal))
            .collect::<Vec<_>>()
    };
    assert_eq!(day(7), day(7));
    assert_ne!(day(7), day(8));
}
