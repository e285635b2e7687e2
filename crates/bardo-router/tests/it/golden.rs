//! The routes that the sources name, and those of today.

use bardo_router::{HealthView, Mode, NoHealth, Policy, Router, Subsystems};
use bardo_types::privacy::SecurityClass;

use crate::setup::{Measured, Setup, first, first_by, hints, names, route, route_while_down};

/// Compares the first choice of each subsystem, all at once, so that a failure shows the whole
/// table.
#[track_caller]
fn check(router: &Router, expected: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (subsystem, expected) in expected {
        // A gateway that has just started has measured nothing, and chooses alike.
        for (when, health) in [
            ("measured", &Measured::all_well(router) as &dyn HealthView),
            ("unmeasured", &NoHealth),
        ] {
            let found = first_by(router, subsystem, health);
            if found != *expected {
                wrong.push(format!("{subsystem}, {when}: {found}, expected {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// The backend and model of each subsystem, with the missing preferred features.
const BLOCKRUN_ONLY: [(&str, &str); 12] = [
    ("heartbeat_t0", "blockrun/gpt-oss-120b"),
    ("heartbeat_t1", "blockrun/gemini-3-flash"),
    ("heartbeat_t2", "blockrun/claude-opus-4-6"),
    ("risk", "blockrun/claude-opus-4-6"),
    ("dream", "blockrun/deepseek-r1 -privacy"),
    ("daimon", "blockrun/gemini-3-flash -privacy"),
    ("daimon_complex", "blockrun/deepseek-r1 -privacy"),
    ("curator", "blockrun/claude-sonnet-4-6 -structured_outputs"),
    ("context", "blockrun/gemini-3-flash"),
    ("playbook", "blockrun/claude-sonnet-4-6 -predicted_outputs"),
    ("operator", "blockrun/claude-opus-4-6"),
    ("death", "blockrun/deepseek-r1 -privacy"),
];

#[test]
fn blockrun_only_is_routed_as_documented() {
    check(&Setup::BlockrunOnly.of_march_2026(), &BLOCKRUN_ONLY);
}

/// BlockRun holds only GPT models to a schema, so what needs one goes where it is held.
fn with_openrouter_behind() -> [(&'static str, &'static str); 12] {
    BLOCKRUN_ONLY.map(|(subsystem, route)| match subsystem {
        "curator" => (subsystem, "openrouter/claude-sonnet-4-6"),
        _ => (subsystem, route),
    })
}

#[test]
fn openrouter_behind_blockrun_changes_nothing_but_who_holds_answers_to_a_schema() {
    let router = Setup::OpenrouterFallback.of_march_2026();
    check(&router, &with_openrouter_behind());
}

#[test]
fn openrouter_takes_over_with_the_same_model_when_blockrun_is_down() {
    let router = Setup::OpenrouterFallback.of_march_2026();
    for (subsystem, route_up) in BLOCKRUN_ONLY {
        let (_, model) = route_up.split(' ').next().unwrap().split_once('/').unwrap();
        let down = route_while_down(&router, &hints(subsystem), &["blockrun"]).unwrap();
        let found = &names(&router, &down)[0];
        // OpenRouter has no free GPT-OSS here; the cheapest that it has stands in.
        match model {
            "gpt-oss-120b" => assert!(found.starts_with("openrouter/"), "{subsystem}: {found}"),
            _ => assert_eq!(*found, format!("openrouter/{model}"), "{subsystem}"),
        }
    }
}

#[test]
fn the_next_in_line_serves_what_the_first_did() {
    let router = Setup::OpenrouterFallback.of_march_2026();
    for subsystem in ["risk", "operator", "dream"] {
        let route = route(&router, &hints(subsystem)).unwrap();
        let names = names(&router, &route);
        let model = names[0].strip_prefix("blockrun/").unwrap();
        assert!(
            names.contains(&format!("openrouter/{model}")),
            "{subsystem}: {names:?}"
        );
        let lost = route.choices[0].degraded.len();
        assert!(
            route
                .choices
                .iter()
                .all(|choice| choice.degraded.len() >= lost),
            "{subsystem}"
        );
    }
}

/// The first choice of each subsystem if all providers are configured.
const FULL_STACK: [(&str, &str); 14] = [
    ("heartbeat_t0", "direct/local/qwen3-7b"),
    ("heartbeat_t1", "blockrun/gemini-3-flash"),
    ("heartbeat_t2", "blockrun/claude-opus-4-6"),
    ("risk", "blockrun/claude-opus-4-6"),
    ("dream", "venice/deepseek-r1"),
    ("daimon", "venice/llama-3.3-70b"),
    ("daimon_complex", "venice/deepseek-r1"),
    ("curator", "openrouter/claude-sonnet-4-6"),
    ("context", "openrouter/qwen-plus"),
    ("playbook", "direct/openai/gpt-5.4"),
    ("operator", "bankr/claude-opus-4-6"),
    ("death", "venice/deepseek-r1"),
    ("session", "blockrun/claude-opus-4-6"),
    // The batch API is not used yet.
    (
        "batch_dream",
        "direct/anthropic/claude-sonnet-4-6 -batch_api",
    ),
];

#[test]
fn the_full_stack_is_routed_as_documented() {
    check(&Setup::FullStack.of_march_2026(), &FULL_STACK);
}

/// An owner who wants the order alone to decide gets the same routes: nothing in the documented
/// setups hangs on the score between backends.
#[test]
fn the_owners_order_alone_leads_to_the_same_routes() {
    for (setup, expected) in [
        (Setup::BlockrunOnly, &BLOCKRUN_ONLY[..]),
        (Setup::OpenrouterFallback, &with_openrouter_behind()),
        (Setup::FullStack, &FULL_STACK),
    ] {
        let policy = Policy {
            mode: Mode::Ordered,
            ..setup.policy()
        };
        check(&setup.of_march_2026_with(policy), expected);
    }
}

/// The class of model and the backend that the table of intents names as typical.
#[test]
fn the_typical_resolution_of_every_intent_is_reached_in_the_full_stack() {
    let router = Setup::FullStack.of_march_2026();
    for (subsystem, backend, models) in [
        // The table says Haiku, the concrete routes say Gemini Flash: a small model either way.
        (
            "heartbeat_t1",
            "blockrun",
            &["gemini-3-flash", "claude-haiku-4-5"][..],
        ),
        ("heartbeat_t2", "blockrun", &["claude-opus-4-6"]),
        ("risk", "blockrun", &["claude-opus-4-6"]),
        ("dream", "venice", &["deepseek-r1"]),
        ("daimon", "venice", &["llama-3.3-70b"]),
        ("daimon_complex", "venice", &["deepseek-r1"]),
        ("curator", "openrouter", &["claude-sonnet-4-6"]),
        ("playbook", "direct/openai", &["gpt-5.4"]),
        // The table says BlockRun, the full stack Bankr, because its owner says so.
        ("operator", "bankr", &["claude-opus-4-6"]),
        ("death", "venice", &["deepseek-r1"]),
        ("session_compact", "blockrun", &["claude-opus-4-6"]),
    ] {
        let found = first(&router, subsystem);
        let (found, _) = found.split_once(" -").unwrap_or((&found, ""));
        assert!(
            models
                .iter()
                .any(|model| found == format!("{backend}/{model}")),
            "{subsystem}: {found}"
        );
    }
}

#[test]
fn what_is_private_never_leaves_venice_even_when_it_is_down() {
    let router = Setup::FullStack.of_march_2026();
    for row in Subsystems::embedded().rows() {
        let floor = router.policy().floors.get(&row.name).unwrap_or(&row.floor);
        if *floor < SecurityClass::Private {
            continue;
        }
        let up = route(&router, &hints(&row.name)).unwrap();
        for (name, choice) in names(&router, &up).iter().zip(&up.choices) {
            assert!(
                choice.security >= SecurityClass::Private,
                "{}: {name}",
                row.name
            );
        }
        if let Ok(down) = route_while_down(&router, &hints(&row.name), &["venice"]) {
            for name in names(&router, &down) {
                let stays = name.starts_with("venice/") || name.starts_with("direct/local/");
                assert!(stays, "{}: {name}", row.name);
            }
        }
    }
}

#[test]
fn with_blockrun_down_general_requests_go_to_openrouter_and_to_nobody_else() {
    let policy = Policy {
        diem_staked: false,
        ..Setup::FullStack.policy()
    };
    let staked = Setup::FullStack.of_march_2026();
    let unstaked = Setup::FullStack.of_march_2026_with(policy);
    for subsystem in ["heartbeat_t1", "heartbeat_t2", "risk", "curator"] {
        let down = route_while_down(&unstaked, &hints(subsystem), &["blockrun"]).unwrap();
        for name in names(&unstaked, &down) {
            assert!(name.starts_with("openrouter/"), "{subsystem}: {name}");
        }
        // Staked compute may help out, behind whoever is there for everything.
        let down = route_while_down(&staked, &hints(subsystem), &["blockrun"]).unwrap();
        let names = names(&staked, &down);
        assert!(names[0].starts_with("openrouter/"), "{names:?}");
        for name in names {
            let may_help = name.starts_with("openrouter/") || name.starts_with("venice/");
            assert!(may_help, "{subsystem}: {name}");
        }
    }
}

#[test]
fn venice_alone_serves_every_part_privately() {
    let router = Setup::SoloVenice.of_march_2026();
    for row in Subsystems::embedded().rows() {
        let route = route(&router, &hints(&row.name))
            .unwrap_or_else(|refusal| panic!("{}: {refusal:?}", row.name));
        for choice in &route.choices {
            assert!(choice.security >= SecurityClass::Private, "{}", row.name);
        }
    }
}

/// Who answers each part first, with the models that this build knows: a snapshot to look over when
/// the catalog changes, so that no row moves a part of an agent unseen.
#[test]
fn the_models_of_today_are_routed_as_last_looked_over() {
    for setup in Setup::ALL {
        let router = setup.of_today();
        let lines: Vec<String> = Subsystems::embedded()
            .rows()
            .map(|row| format!("{:<21} {}", row.name, first(&router, &row.name)))
            .collect();
        insta::assert_snapshot!(format!("today_{setup:?}"), lines.join("\n"));
    }
}
