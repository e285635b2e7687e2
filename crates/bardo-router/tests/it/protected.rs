//! Nothing that degrades touches what is protected.

use bardo_router::{Router, Subsystems};
use bardo_types::hints::RouteHints;
use bardo_types::phase::Phase;
use bardo_types::unit::UnitInterval;

use crate::setup::{Setup, hints, names, route};

/// An agent at its very end.
fn dying(subsystem: &str) -> RouteHints {
    RouteHints {
        vitality: UnitInterval::new(0.0),
        sustainability: Some(0.1),
        phase: Some(Phase::Terminal),
        ..hints(subsystem)
    }
}

/// All that a route decides, as text.
fn decided(router: &Router, hints: &RouteHints) -> String {
    match route(router, hints) {
        Err(refusal) => format!("refused: {:?}", refusal.missing),
        Ok(route) => {
            let degraded: Vec<_> = route
                .choices
                .iter()
                .map(|choice| &choice.degraded)
                .collect();
            format!(
                "{:?} {degraded:?} {:?} {:?}",
                names(router, &route),
                route.intent,
                route.security_class
            )
        }
    }
}

#[test]
fn the_protected_parts_of_a_dying_agent_think_as_at_full_life() {
    for setup in Setup::ALL {
        for router in [setup.of_march_2026(), setup.of_today()] {
            for row in Subsystems::embedded().rows().filter(|row| row.protected) {
                assert_eq!(
                    decided(&router, &dying(&row.name)),
                    decided(&router, &hints(&row.name)),
                    "{setup:?} {}",
                    row.name
                );
            }
        }
    }
}

#[test]
fn the_other_parts_of_a_dying_agent_do_think_for_less() {
    let router = Setup::BlockrunOnly.of_march_2026();
    for subsystem in ["heartbeat_t2", "curator", "dream", "playbook"] {
        let (well, ill) = (hints(subsystem), dying(subsystem));
        let cost = |hints: &RouteHints| route(&router, hints).unwrap().choices[0].estimated_cost;
        assert!(cost(&ill) < cost(&well), "{subsystem}");
    }
}

#[test]
fn a_dream_of_a_fading_agent_falls_one_level() {
    let router = Setup::BlockrunOnly.of_march_2026();
    let quality = |vitality| {
        let hints = RouteHints {
            vitality: UnitInterval::new(vitality),
            ..hints("heartbeat_t2")
        };
        names(&router, &route(&router, &hints).unwrap()).swap_remove(0)
    };
    assert_eq!(quality(1.0), "blockrun/claude-opus-4-6");
    // More sensitive to cost, a strong model will do (decisions on quality as a floor of tiers).
    assert_eq!(quality(0.9), "blockrun/claude-sonnet-4-6");
    assert_eq!(quality(0.29), "blockrun/claude-sonnet-4-6");
}
