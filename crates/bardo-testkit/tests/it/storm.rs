//! Providers that refuse everybody for a minute (quality F4, P-30): few attempts beyond the
//! requests, and all is well soon after.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bardo_testkit::answer::Answer;
use bardo_testkit::client::{Ending, Wish};
use bardo_testkit::dice::Dice;
use bardo_testkit::fault::Fault;
use bardo_testkit::upstream::Upstream;
use bardo_testkit::world::{Backend, End, Scene, Visit};
use bardo_types::model::Dialect;
use tokio::time::Instant;

const STORM: Duration = Duration::from_secs(60);
const RECOVERY: Duration = Duration::from_secs(5);
const AFTER: Duration = Duration::from_secs(20);
/// One request every so often.
const PACE: Duration = Duration::from_millis(50);

fn refusing(index: usize, fault: Fault, began: Instant) -> Backend {
    let upstream = Upstream::new(
        &format!("storm-{index}.test"),
        Dialect::Chat,
        move |asked| {
            let answer = Answer::new(Dialect::Chat, "m", index, asked.case, 4);
            let fault = if began.elapsed() < STORM {
                fault
            } else {
                Fault::Healthy
            };
            fault.script(&answer, asked, &mut Dice::new(asked.case))
        },
    );
    Backend {
        upstream: Arc::new(upstream),
        models: vec!["m".to_owned()],
    }
}

fn is_clean(visit: &Visit) -> bool {
    matches!(visit.end, End::Whole | End::Stream(Ending::Clean))
}

/// Plays a storm before so many providers; the scene after it, and everybody's visit.
async fn weather(fault: Fault, providers: usize) -> (Rc<Scene>, Vec<Visit>, Instant) {
    let began = Instant::now();
    let backends: Vec<Backend> = (0..providers)
        .map(|index| refusing(index, fault, began))
        .collect();
    let scene = Rc::new(Scene::new(&backends));
    let mut callers = Vec::new();
    let mut case = 0;
    while began.elapsed() < STORM + AFTER {
        let wish = Wish::new(case, Dialect::Chat, "m", case % 2 == 0);
        let scene = Rc::clone(&scene);
        callers.push(tokio::task::spawn_local(
            async move { scene.visit(&wish).await },
        ));
        case += 1;
        tokio::time::sleep(PACE).await;
    }
    let mut visits = Vec::new();
    for caller in callers {
        visits.push(caller.await.expect("no caller panics"));
    }
    (scene, visits, began)
}

fn play(fault: Fault, providers: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    let (scene, visits, began) =
        tokio::task::LocalSet::new().block_on(&runtime, weather(fault, providers));
    let what = format!("{} at {providers} providers", fault.name());
    let during = |at: Instant| at - began < STORM;
    let asked = visits.iter().filter(|visit| during(visit.came_at)).count();
    let calls: Vec<Instant> = scene
        .upstreams
        .iter()
        .flat_map(|upstream| upstream.calls())
        .map(|call| call.at)
        .filter(|at| during(*at))
        .collect();
    let amplified = calls.len() as f64 / asked as f64;
    assert!(
        amplified <= 1.2,
        "{amplified} attempts a request under {what}"
    );
    let late: Vec<&Visit> = visits
        .iter()
        .filter(|visit| visit.came_at - began >= STORM + RECOVERY)
        .collect();
    assert!(!late.is_empty());
    let failed = late.iter().find(|visit| !is_clean(visit));
    assert!(failed.is_none(), "{what}: still failing: {failed:?}");
}

#[test]
fn a_total_refusal_is_not_answered_with_a_storm_of_our_own() {
    for fault in [
        Fault::RateLimitedHint,
        Fault::RateLimitedPlain,
        Fault::ServerError,
        Fault::Overloaded,
    ] {
        for providers in [1, 3] {
            play(fault, providers);
        }
    }
}
