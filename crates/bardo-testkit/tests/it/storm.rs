//! Providers that refuse everybody for a minute: few attempts beyond the requests, none too few
//! where there is nobody else, and all is well soon after.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bardo_testkit::answer::Answer;
use bardo_testkit::client::{Ending, Wish};
use bardo_testkit::dice::Dice;
use bardo_testkit::fault::{Fault, Patience};
use bardo_testkit::upstream::{Door, Upstream};
use bardo_testkit::world::{Backend, End, Scene, Visit};
use bardo_types::model::Dialect;
use tokio::time::Instant;

const STORM: Duration = Duration::from_secs(60);
const RECOVERY: Duration = Duration::from_secs(5);
const AFTER: Duration = Duration::from_secs(30);
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
    )
    .with_doors(move |_| {
        if began.elapsed() < STORM {
            fault.door()
        } else {
            Door::Open
        }
    });
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

/// What a storm did to everybody.
struct Storm {
    /// The visits, in the order in which they came.
    visits: Vec<Visit>,
    began: Instant,
    /// When providers were asked, during the storm.
    calls: Vec<Instant>,
}

impl Storm {
    fn of(fault: Fault, providers: usize) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        let (scene, visits, began) =
            tokio::task::LocalSet::new().block_on(&runtime, weather(fault, providers));
        let calls = scene.upstreams.iter().flat_map(|upstream| upstream.calls());
        let calls = calls.map(|call| call.at).filter(|at| *at - began < STORM);
        Self {
            calls: calls.collect(),
            visits,
            began,
        }
    }

    /// Visits that came so long after it began.
    fn between(&self, from: Duration, to: Duration) -> Vec<&Visit> {
        let came = |visit: &&Visit| (from..to).contains(&(visit.came_at - self.began));
        let visits: Vec<&Visit> = self.visits.iter().filter(came).collect();
        assert!(!visits.is_empty());
        visits
    }
}

fn play(fault: Fault, providers: usize) {
    let storm = Storm::of(fault, providers);
    let what = format!("{} at {providers} providers", fault.name());
    let asked = storm.between(Duration::ZERO, STORM).len();
    let amplified = storm.calls.len() as f64 / asked as f64;
    assert!(
        amplified <= 1.2,
        "{amplified} attempts a request under {what}"
    );
    assert!(
        providers > 1 || storm.calls.len() >= asked,
        "{} of {asked} asked the only backend under {what}",
        storm.calls.len()
    );
    let late = storm.between(STORM + RECOVERY, STORM + AFTER);
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

/// A provider that is dead keeps few of those waiting who have nobody else to ask.
#[test]
fn a_dead_provider_does_not_hang_everybody() {
    for fault in [
        Fault::ConnectRefused,
        Fault::ConnectHangs,
        Fault::HeadNever,
        Fault::PingsOnly,
    ] {
        let storm = Storm::of(fault, 1);
        let what = fault.name();
        // Those who came before anybody could know hang, and after them one at a time.
        let known = Patience::HEADER + RECOVERY;
        let visits = storm.between(known, STORM);
        let slow = |visit: &&&Visit| visit.went_at - visit.came_at > Duration::from_secs(1);
        let slow = visits.iter().filter(slow).count();
        assert!(slow <= 5, "{slow} of {} hung under {what}", visits.len());
        // The looks become rarer, and so its end is seen within as long as it took at most.
        let last = storm.visits.last().expect("visits");
        assert!(is_clean(last), "{what}: still failing: {last:?}");
    }
}
