//! Who overrules whom.

use std::sync::Arc;

use bardo_profile::{Sources, golem_cache_key, wanted};
use bardo_types::hints::RouteHints;
use bardo_types::intent::Quality;
use bardo_types::model::Effort;
use bardo_types::profile::InferenceProfile;
use bardo_types::unit::UnitInterval;

use crate::models::{rows, subsystem, wish};

fn warm(temperature: f64) -> InferenceProfile {
    InferenceProfile {
        temperature: Some(temperature),
        ..InferenceProfile::default()
    }
}

fn asking(profile: InferenceProfile) -> RouteHints {
    RouteHints {
        profile: Some(Box::new(profile)),
        ..RouteHints::default()
    }
}

fn temperature(name: &str, hints: &RouteHints) -> f64 {
    wish(name, hints)
        .profile
        .temperature
        .expect("every row has one")
}

#[test]
fn nobody_says_anything() {
    let silent = Sources {
        subsystem: None,
        hints: &RouteHints::default(),
        owner: None,
        quality: Quality::High,
    };
    assert_eq!(wanted(&silent), None);
}

#[test]
fn the_caller_counts_more_than_the_owner_and_the_owner_more_than_the_row() {
    let name = subsystem("heartbeat_t1");
    let owner = InferenceProfile {
        temperature: Some(0.4),
        reasoning_effort: Some(Effort::Medium),
        ..InferenceProfile::default()
    };
    let hints = asking(warm(0.6));
    let all = Sources {
        subsystem: Some(&name),
        hints: &hints,
        owner: Some(&owner),
        quality: Quality::Low,
    };
    let profile = wanted(&all).unwrap().profile;
    assert_eq!(profile.temperature, Some(0.6));
    assert_eq!(profile.reasoning_effort, Some(Effort::Medium));
    // What neither names is the row's.
    assert_eq!(profile.top_p, Some(0.9));
}

#[test]
fn a_locked_row_is_the_same_whatever_anybody_says() {
    let owner = warm(1.0);
    for name in ["risk", "operator", "death_reflect"] {
        let row = subsystem(name);
        let plain = wish(name, &RouteHints::default());
        assert!(plain.locked && plain.warnings.is_empty(), "{name}");
        let hints = RouteHints {
            vitality: UnitInterval::new(0.0),
            golem_id: Some(Arc::from("g1")),
            call_index: Some(3),
            cycle: Some(9),
            intent: bardo_types::hints::IntentHints {
                low_effort: Some(true),
                quality: Some(Quality::Minimum),
                ..bardo_types::hints::IntentHints::default()
            },
            ..asking(InferenceProfile {
                reasoning_effort: Some(Effort::None),
                ..warm(1.9)
            })
        };
        let pressed = wanted(&Sources {
            subsystem: Some(&row),
            hints: &hints,
            owner: Some(&owner),
            quality: Quality::Minimum,
        })
        .unwrap();
        assert_eq!(pressed.profile, plain.profile, "{name}");
        assert_eq!(
            pressed.warnings,
            [
                format!(
                    "the profile of {name} is locked, so temperature of the owner's \
                     configuration is ignored"
                ),
                format!(
                    "the profile of {name} is locked, so temperature, reasoning_effort of the \
                     caller is ignored"
                ),
            ]
        );
    }
}

#[test]
fn the_special_profiles_of_the_sources_come_out_as_written() {
    let hints = RouteHints {
        golem_id: Some(Arc::from("g1")),
        cycle: Some(7),
        ..RouteHints::default()
    };
    let rem = wish("dream_rem", &hints).profile;
    assert_eq!(rem.temperature, Some(0.9));
    assert_eq!(rem.min_p, Some(0.1));
    assert_eq!(rem.reasoning_effort, Some(Effort::High));
    assert_eq!(
        (rem.visible_thinking, rem.web_search),
        (Some(true), Some(true))
    );
    assert_eq!(
        rem.prompt_cache_key,
        Some(golem_cache_key("g1", "dream_rem"))
    );
    assert_eq!(rem.prompt_cache_key.as_deref(), Some("golem-g1-dream_rem"));
    let nrem = wish("dream_nrem", &hints).profile;
    assert_eq!(
        nrem.prompt_cache_key.as_deref(),
        Some("golem-g1-dream_nrem-7")
    );
    assert_eq!(
        wish("dream_nrem", &RouteHints::default())
            .profile
            .prompt_cache_key,
        None
    );
    assert_eq!(wish("risk", &hints).profile.prompt_cache_key, None);

    let sealed = InferenceProfile {
        tee_mode: Some(true),
        ..InferenceProfile::default()
    };
    let name = subsystem("death_testament");
    let testament = wanted(&Sources {
        subsystem: Some(&name),
        hints: &RouteHints::default(),
        owner: Some(&sealed),
        quality: Quality::Maximum,
    })
    .unwrap()
    .profile;
    assert_eq!(testament.temperature, Some(0.4));
    assert_eq!(testament.top_p, Some(0.9));
    assert_eq!(testament.reasoning_effort, Some(Effort::High));
    assert_eq!(testament.tee_mode, Some(true));
    let schema = testament.response_schema.unwrap();
    assert_eq!(
        (schema.name.as_str(), schema.strict),
        ("death_testament", true)
    );
}

#[test]
fn dreams_warm_up_and_half_sleep_cools_down() {
    let call = |index, count, cycle| RouteHints {
        call_index: index,
        call_count: count,
        cycle,
        ..RouteHints::default()
    };
    for (index, wanted) in [
        (None, 0.9),
        (Some(1), 0.7),
        (Some(2), 0.767),
        (Some(3), 0.833),
        (Some(4), 0.9),
        (Some(9), 0.9),
    ] {
        assert_eq!(temperature("dream_rem", &call(index, None, None)), wanted);
    }
    for (index, wanted) in [(Some(1), 1.0), (Some(3), 1.1), (Some(5), 1.2), (None, 1.2)] {
        assert_eq!(
            temperature("hypnagogic_induction", &call(index, Some(5), None)),
            wanted
        );
    }
    for (index, count, cycle, wanted) in [
        (None, None, None, 1.5),
        (Some(1), Some(11), None, 1.5),
        (Some(6), Some(11), None, 0.9),
        (Some(11), Some(11), None, 0.3),
        (Some(1), Some(11), Some(1), 1.425),
        (Some(5), Some(0), None, 1.5),
        (Some(1), Some(2), None, 1.5),
    ] {
        assert_eq!(
            temperature("hypnagogic_dali", &call(index, count, cycle)),
            wanted
        );
    }
    // Whoever names a temperature gets that one.
    let hints = RouteHints {
        call_index: Some(1),
        ..asking(warm(1.0))
    };
    assert_eq!(temperature("dream_rem", &hints), 1.0);
}

#[test]
fn age_cools_what_is_warm_and_neither_protected_nor_creative() {
    let at = |vitality| RouteHints {
        vitality: UnitInterval::new(vitality),
        ..RouteHints::default()
    };
    for (name, vitality, wanted) in [
        ("heartbeat_t2", 1.0, 0.5),
        ("heartbeat_t2", 0.0, 0.4),
        ("heartbeat_t2", 0.5, 0.45),
        ("dream_rem_creative", 0.0, 0.75),
        ("hypnopompic_return", 0.0, 0.45),
        // Cold ones are not warmed.
        ("heartbeat_t1", 0.0, 0.3),
        ("risk", 0.0, 0.1),
        ("operator", 0.0, 0.7),
        ("death_reflect", 0.0, 0.5),
        ("death_testament", 0.0, 0.4),
        ("hypnagogic_dali", 0.0, 1.5),
        ("hypnagogic_induction", 0.0, 1.2),
    ] {
        assert_eq!(
            temperature(name, &at(vitality)),
            wanted,
            "{name} at {vitality}"
        );
    }
    // A caller that names one means it.
    let dying = RouteHints {
        vitality: UnitInterval::new(0.0),
        ..asking(warm(0.9))
    };
    assert_eq!(temperature("heartbeat_t2", &dying), 0.9);
}

#[test]
fn an_effort_is_derived_where_nobody_names_one() {
    let mut bare = subsystem("context");
    bare.profile = None;
    let effort = |quality, hints: &RouteHints| {
        wanted(&Sources {
            subsystem: Some(&bare),
            hints,
            owner: None,
            quality,
        })
        .unwrap()
        .profile
        .reasoning_effort
    };
    let silent = RouteHints::default();
    for (quality, wanted) in [
        (Quality::Minimum, Effort::Low),
        (Quality::Low, Effort::Low),
        (Quality::Medium, Effort::Medium),
        (Quality::High, Effort::High),
        (Quality::Maximum, Effort::High),
    ] {
        assert_eq!(effort(quality, &silent), Some(wanted));
    }
    let sparing = RouteHints {
        intent: bardo_types::hints::IntentHints {
            low_effort: Some(true),
            ..bardo_types::hints::IntentHints::default()
        },
        ..RouteHints::default()
    };
    assert_eq!(effort(Quality::High, &sparing), Some(Effort::Low));
    assert_eq!(
        wish("dream_rem", &sparing).profile.reasoning_effort,
        Some(Effort::Low)
    );
    // Little is not more than none.
    assert_eq!(
        wish("mind_wandering", &sparing).profile.reasoning_effort,
        Some(Effort::None)
    );
}

#[test]
fn nonsense_is_named_and_has_no_effect() {
    let hints = asking(InferenceProfile {
        temperature: Some(f64::NAN),
        top_p: Some(7.0),
        ..InferenceProfile::default()
    });
    for name in rows().into_iter().filter(|name| !subsystem(name).locked) {
        let odd = wish(name, &hints);
        assert_eq!(
            odd.profile,
            wish(name, &RouteHints::default()).profile,
            "{name}"
        );
        assert_eq!(odd.warnings.len(), 2, "{:?}", odd.warnings);
    }
    let mut lost = subsystem("risk");
    lost.profile = Some("rsik".to_owned());
    lost.locked = false;
    let said = wanted(&Sources {
        subsystem: Some(&lost),
        hints: &RouteHints::default(),
        owner: None,
        quality: Quality::Medium,
    })
    .unwrap();
    assert_eq!(
        said.warnings,
        ["no profile has the name `rsik`, so none is applied"]
    );
    assert_eq!(said.row, None);
}
