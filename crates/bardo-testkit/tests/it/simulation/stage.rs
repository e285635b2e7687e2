//! The minute itself.

use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bardo_testkit::answer::Answer;
use bardo_testkit::client::{Leaves, Wish, name_of};
use bardo_testkit::dice::Dice;
use bardo_testkit::fault::{Fault, Patience};
use bardo_testkit::upstream::{Call, Door, Upstream};
use bardo_testkit::weather::Weather;
use bardo_testkit::world::{Backend, Scene, Visit};
use bardo_types::model::Dialect;
use tokio::time::Instant;

const MINUTE: Duration = Duration::from_secs(60);
const VISITS: u64 = 40;
const PROVIDERS: [Dialect; 5] = [
    Dialect::Chat,
    Dialect::Anthropic,
    Dialect::Responses,
    Dialect::Gemini,
    Dialect::Chat,
];
/// Which models each provider serves.
const SERVES: [&[&str]; 5] = [
    &["m0", "m1", "m3"],
    &["m0", "m2"],
    &["m1", "m2", "m3"],
    &["m0", "m3"],
    &["m1", "m2"],
];
const CALLERS: [Dialect; 3] = [Dialect::Chat, Dialect::Anthropic, Dialect::Responses];

/// What happened in a minute.
pub(super) struct Minute {
    pub(super) began: Instant,
    pub(super) visits: Vec<Visit>,
    pub(super) calls: Vec<Vec<Call>>,
}

impl Minute {
    /// All of it as text; the same for the same seed.
    pub(super) fn transcript(&self) -> String {
        let mut text = String::new();
        let at = |instant: Instant| (instant - self.began).as_millis();
        for visit in &self.visits {
            let Visit { wish, .. } = visit;
            let _ = writeln!(
                text,
                "{:>6}..{:<6} case {} {} {}{} {:?} -> {:?} {:?}",
                at(visit.came_at),
                at(visit.went_at),
                wish.case,
                name_of(wish.dialect),
                wish.model,
                if wish.stream { " streamed" } else { "" },
                wish.leaves,
                visit.end,
                visit.text,
            );
            for (provider, calls) in self.calls.iter().enumerate() {
                for call in calls.iter().filter(|call| call.case == wish.case) {
                    let left = call.left_at.map(at);
                    let _ = writeln!(
                        text,
                        "  {:>6} provider {provider} {} bills {:?}+{} left at {left:?}",
                        at(call.at),
                        name_of(PROVIDERS[provider]),
                        call.billed_input,
                        call.billed_output,
                    );
                }
            }
        }
        text
    }
}

fn provider(seed: u64, index: usize) -> Backend {
    let dialect = PROVIDERS[index];
    let weather = Weather::of(seed, index, MINUTE);
    let doors = weather.clone();
    let upstream = Upstream::new(&format!("provider-{index}.test"), dialect, move |asked| {
        let fault = weather.fate(asked.case, asked.earlier);
        let mut dice = Dice::of(seed, fault.name(), asked.case);
        let words = 4 + dice.index(20);
        let answer = Answer::new(dialect, &asked.model, index, asked.case, words);
        fault.script(&answer, asked, &mut dice)
    })
    .with_doors(move |_| doors.now().map_or(Door::Open, Fault::door));
    Backend {
        upstream: Arc::new(upstream),
        models: SERVES[index]
            .iter()
            .map(|&model| model.to_owned())
            .collect(),
    }
}

fn wish(seed: u64, case: u64) -> (Duration, Wish) {
    let mut dice = Dice::of(seed, "caller", case);
    let model = *dice.pick(&["m0", "m1", "m2", "m3"]);
    let stream = dice.percent(70);
    let mut wish = Wish::new(case, *dice.pick(&CALLERS), model, stream);
    wish.leaves = match dice.below(10) {
        0 => Leaves::After(Duration::from_millis(dice.below(900))),
        1 => Leaves::After(Duration::from_millis(dice.below(9_000))),
        2 if stream => Leaves::AfterReads(dice.index(12)),
        _ => Leaves::Never,
    };
    let comes = dice.below(u64::try_from(MINUTE.as_millis()).expect("a minute is short"));
    (Duration::from_millis(comes), wish)
}

/// Plays the minute of a seed, and what lingers after it.
pub(super) async fn minute(seed: u64) -> Minute {
    let began = Instant::now();
    let backends: Vec<Backend> = (0..PROVIDERS.len())
        .map(|index| provider(seed, index))
        .collect();
    let scene = Rc::new(Scene::new(&backends));
    let mut callers = Vec::new();
    for case in 0..VISITS {
        let (comes, wish) = wish(seed, case);
        let scene = Rc::clone(&scene);
        callers.push(tokio::task::spawn_local(async move {
            tokio::time::sleep(comes).await;
            scene.visit(&wish).await
        }));
    }
    let reloads = Dice::of(seed, "reload", 0).below(4);
    for reload in 0..reloads {
        let wait = Dice::of(seed, "reload", 1 + reload).below(20_000);
        tokio::time::sleep(Duration::from_millis(wait)).await;
        scene.reload(&backends);
    }
    let mut visits = Vec::new();
    for caller in callers {
        visits.push(caller.await.expect("no caller panics"));
    }
    tokio::time::sleep(Patience::IDLE).await;
    let calls = scene.upstreams.iter().map(|upstream| upstream.calls());
    Minute {
        began,
        calls: calls.collect(),
        visits,
    }
}
