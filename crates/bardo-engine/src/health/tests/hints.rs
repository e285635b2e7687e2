//! Hints between processes.

use super::*;

#[test]
fn a_hint_pauses_a_backend_until_it_answers_and_is_not_told_on() {
    let scene = CircuitRig::new();
    let hint = HealthHint {
        backend: scene.who.0.endpoint.name.to_string(),
        model: scene.who.0.entry.upstream_id.clone(),
        left: Duration::from_secs(20),
    };
    scene
        .health
        .take_hint(&scene.who.0.endpoint, &hint, scene.now);
    assert!(matches!(scene.gate(), CircuitCheck::Paused(..)));
    assert!(scene.shown().hinted && scene.shown().state == CircuitState::Closed);
    assert!(scene.health.hints(scene.now).is_empty());
    let Ok(permit) = scene.last() else {
        panic!("there is no other backend");
    };
    permit.succeeded(scene.now);
    assert!(matches!(scene.gate(), CircuitCheck::Pass(_)));
}

#[test]
fn what_this_process_has_seen_is_a_hint_for_others() {
    let scene = CircuitRig::opened();
    let hints = scene.health.hints(scene.now);
    assert_eq!(hints.len(), 1);
    assert_eq!(hints[0].backend, *scene.who.0.endpoint.name);
    assert!(hints[0].left > Duration::ZERO);
}
