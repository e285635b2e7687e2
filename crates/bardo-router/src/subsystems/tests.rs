use super::*;
use Feature::{
    Citations, Compaction, InterleavedThinking, PredictedOutputs, Privacy, StructuredOutputs,
    VisibleThinking,
};
use Quality::{High, Low, Maximum, Medium, Minimum};

/// Name, quality, required, preferred, latency, cost sensitivity.
type IntentRow = (
    &'static str,
    Quality,
    &'static [Feature],
    &'static [Feature],
    Option<u64>,
    f64,
);

/// The table of subsystems, row by row.
const INTENTS: [IntentRow; 12] = [
    ("heartbeat_t0", Minimum, &[], &[], Some(200), 1.0),
    ("heartbeat_t1", Low, &[], &[], Some(2_000), 0.8),
    (
        "heartbeat_t2",
        High,
        &[],
        &[InterleavedThinking, Citations],
        Some(30_000),
        0.3,
    ),
    (
        "risk",
        Maximum,
        &[],
        &[InterleavedThinking, Citations],
        Some(30_000),
        0.0,
    ),
    (
        "dream",
        High,
        &[],
        &[VisibleThinking, Privacy],
        Some(120_000),
        0.5,
    ),
    ("daimon", Low, &[], &[Privacy], Some(1_000), 0.9),
    (
        "daimon_complex",
        High,
        &[],
        &[VisibleThinking, Privacy],
        Some(10_000),
        0.5,
    ),
    (
        "curator",
        Medium,
        &[],
        &[StructuredOutputs, Citations],
        Some(15_000),
        0.5,
    ),
    (
        "playbook",
        Medium,
        &[],
        &[PredictedOutputs],
        Some(10_000),
        0.6,
    ),
    (
        "operator",
        Maximum,
        &[],
        &[InterleavedThinking, Citations],
        Some(5_000),
        0.0,
    ),
    ("death", Maximum, &[VisibleThinking], &[Privacy], None, 0.0),
    (
        "session_compact",
        Medium,
        &[],
        &[Compaction],
        Some(30_000),
        0.5,
    ),
];

/// Every name that has a row of parameters in the tables of profiles.
const PROFILES: [&str; 21] = [
    "heartbeat_t1",
    "heartbeat_t2",
    "risk",
    "daimon",
    "daimon_complex",
    "curator",
    "playbook",
    "operator",
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
];

fn row(name: &str) -> &'static Subsystem {
    Subsystems::embedded().find(name).expect(name)
}

/// The names of the rows of which something is true.
fn named(which: fn(&Subsystem) -> bool) -> Vec<&'static str> {
    Subsystems::embedded()
        .rows()
        .filter(|row| which(row))
        .map(|row| row.name.as_str())
        .collect()
}

#[test]
fn the_twelve_intents_are_as_documented() {
    for (name, quality, require, prefer, latency, cost) in INTENTS {
        let intent = &row(name).intent;
        assert_eq!(intent.quality, quality, "{name}");
        assert_eq!(intent.require, require, "{name}");
        assert_eq!(intent.prefer, prefer, "{name}");
        assert_eq!(intent.max_latency_ms, latency, "{name}");
        assert!(
            (intent.cost_sensitivity.get() - cost).abs() < 1e-12,
            "{name}"
        );
        assert!(!intent.diem_available && intent.model.is_none(), "{name}");
        assert_eq!(intent.low_effort, name == "heartbeat_t1", "{name}");
    }
}

#[test]
fn only_the_dying_require_anything() {
    assert_eq!(
        named(|row| !row.intent.require.is_empty()),
        ["death", "death_reflect", "death_testament"]
    );
}

#[test]
fn every_profile_has_its_part_and_every_part_a_profile_that_exists() {
    for name in PROFILES {
        assert_eq!(row(name).profile.as_deref(), Some(name));
    }
    for row in Subsystems::embedded().rows() {
        if let Some(profile) = &row.profile {
            assert!(PROFILES.contains(&profile.as_str()), "{}", row.name);
        }
    }
    assert_eq!(row("death").profile.as_deref(), Some("death_reflect"));
    assert_eq!(row("dream").profile.as_deref(), Some("dream_nrem"));
    assert_eq!(
        named(|row| row.profile.is_none()),
        [
            "autonomous",
            "context",
            "heartbeat_t0",
            "session_compact",
            "social"
        ]
    );
}

#[test]
fn nobody_falls_through_to_a_heartbeat_who_should_dream_or_die() {
    for name in ["dream_nrem", "dream_rem", "dream_rem_creative"] {
        assert_eq!(row(name).intent, row("dream").intent, "{name}");
    }
    for name in ["dream_integration", "dream_threat"] {
        assert_eq!(row(name).intent, row("dream").intent, "{name}");
    }
    for name in ["death_reflect", "death_testament"] {
        assert_eq!(row(name).intent, row("death").intent, "{name}");
    }
    for (name, like, quality) in [
        ("hypnagogic_induction", "dream", Low),
        ("hypnagogic_dali", "dream", Low),
        ("hypnagogic_observer", "dream", Minimum),
        ("hypnagogic_capture", "dream", Low),
        ("hypnopompic_return", "dream", Low),
        ("mind_wandering", "daimon", Minimum),
    ] {
        let like = Intent {
            quality,
            ..row(like).intent.clone()
        };
        assert_eq!(row(name).intent, like, "{name}");
    }
    let context = &row("context").intent;
    assert_eq!(context.quality, Low);
    assert!(context.prefer.is_empty() && context.require.is_empty());
    assert_eq!(row("session").name, "session_compact");
    assert_eq!(row("batch_dream").intent.max_latency_ms, None);
}

#[test]
fn attributes_belong_to_exactly_these() {
    assert_eq!(
        named(|row| row.protected),
        [
            "death",
            "death_reflect",
            "death_testament",
            "operator",
            "risk"
        ]
    );
    assert_eq!(
        named(|row| row.locked),
        ["death_reflect", "operator", "risk"]
    );
    assert_eq!(
        named(|row| row.creative),
        [
            "hypnagogic_capture",
            "hypnagogic_dali",
            "hypnagogic_induction",
            "hypnagogic_observer"
        ]
    );
    assert_eq!(named(|row| row.interactive), ["operator"]);
    assert_eq!(
        named(|row| row.heartbeat),
        ["heartbeat_t0", "heartbeat_t1", "heartbeat_t2"]
    );
    assert_eq!(
        named(|row| row.floor == SecurityClass::Standard),
        [
            "autonomous",
            "context",
            "curator",
            "heartbeat_t0",
            "heartbeat_t1",
            "heartbeat_t2",
            "operator",
            "playbook",
            "risk",
            "session_compact",
            "social"
        ]
    );
    assert!(named(|row| row.floor > SecurityClass::Private).is_empty());
    assert!(
        named(|row| !row.route.is_empty()).is_empty(),
        "owners order"
    );
}

#[test]
fn groups_are_what_a_part_is_like() {
    for (group, members) in [
        ("heartbeat", 3),
        ("dream", 12),
        ("death", 3),
        ("daimon", 2),
        ("daimon_complex", 1),
    ] {
        let found = Subsystems::embedded()
            .rows()
            .filter(|row| row.group == group)
            .count();
        assert_eq!(found, members, "{group}");
    }
}

#[test]
fn names_are_found_in_every_spelling() {
    for spelling in [
        "dream_rem_creative",
        "DreamRemCreative",
        "dream-rem-creative",
        "DREAM REM creative",
    ] {
        assert_eq!(row(spelling).name, "dream_rem_creative");
    }
    assert_eq!(row("Heartbeat-T1").name, "heartbeat_t1");
    assert!(Subsystems::embedded().find("lunch").is_none());
    assert!(Subsystems::embedded().find("").is_none());
}

#[test]
fn a_table_that_means_nothing_is_refused() {
    let own = "quality = 'low'\nmax_latency_ms = 1\ncost_sensitivity = 0.5\n";
    let refused = |text: &str| Subsystems::parse(text).unwrap_err();
    assert!(matches!(
        refused("[a]\nquality = 'low'\nmax_latency_ms = 1"),
        SubsystemsError::Missing {
            member: "cost_sensitivity",
            ..
        }
    ));
    assert!(matches!(
        refused("[a]\nlike = 'b'"),
        SubsystemsError::Like { .. }
    ));
    assert!(matches!(
        refused(&format!("[a]\n{own}[b]\nlike = 'a'\n[c]\nlike = 'b'")),
        SubsystemsError::Like { .. }
    ));
    assert!(matches!(
        refused(&format!("[a]\n{own}[A]\n{own}")),
        SubsystemsError::Twice { .. }
    ));
    assert!(matches!(
        refused("[a]\nquality = 'low'\nmax_latency_ms = 1\ncost_sensitivity = nan"),
        SubsystemsError::CostSensitivity { .. }
    ));
    assert!(matches!(
        refused(&format!("[a]\n{own}prefer = ['thinking_visible']")),
        SubsystemsError::Malformed(_)
    ));
}
