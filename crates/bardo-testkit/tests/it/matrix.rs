//! Every fault, in every pair of dialects, streamed and whole: what its verdict says comes of it,
//! in time, once, and visibly.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bardo_testkit::answer::Answer;
use bardo_testkit::client::{Ending, Wish, name_of};
use bardo_testkit::dice::{Dice, seeds};
use bardo_testkit::fault::{Fault, Verdict};
use bardo_testkit::till::Till;
use bardo_testkit::upstream::Upstream;
use bardo_testkit::world::{Backend, End, Scene, Visit};
use bardo_types::model::Dialect;

pub(crate) const CALLERS: [Dialect; 3] = [Dialect::Chat, Dialect::Anthropic, Dialect::Responses];
pub(crate) const PROVIDERS: [Dialect; 4] = [
    Dialect::Chat,
    Dialect::Anthropic,
    Dialect::Responses,
    Dialect::Gemini,
];
/// Answers have so many words.
const WORDS: usize = 12;

/// A provider with a fault and a healthy one behind it, for the same model.
pub(crate) async fn pair(fault: Fault, provider: Dialect, seed: u64) -> Till {
    let faulty = Upstream::new("faulty.test", provider, move |asked| {
        let answer = Answer::new(provider, "m", 0, asked.case, WORDS);
        let mut dice = Dice::of(seed, fault.name(), asked.case);
        fault.script(&answer, asked, &mut dice)
    })
    .with_doors(move |_| fault.door());
    let healthy = Upstream::new("healthy.test", Dialect::Chat, move |asked| {
        let answer = Answer::new(Dialect::Chat, "m", 1, asked.case, WORDS);
        let mut dice = Dice::of(seed, "healthy", asked.case);
        Fault::Healthy.script(&answer, asked, &mut dice)
    });
    let backend = |upstream| Backend {
        upstream: Arc::new(upstream),
        models: vec!["m".to_owned()],
    };
    Till::over(&[backend(faulty), backend(healthy)]).await
}

struct Case {
    fault: Fault,
    provider: Dialect,
    caller: Dialect,
    stream: bool,
    seed: u64,
}

impl Case {
    fn name(&self) -> String {
        format!(
            "{} from {} to {} {} (BARDO_SEED={} BARDO_FAULT={})",
            self.fault.name(),
            name_of(self.provider),
            name_of(self.caller),
            if self.stream { "streamed" } else { "whole" },
            self.seed,
            self.fault.name()
        )
    }

    async fn play(&self) -> Vec<String> {
        let till = pair(self.fault, self.provider, self.seed).await;
        let mut wish = Wish::new(self.seed + 1, self.caller, "m", self.stream);
        wish.purse = Some(0);
        let visit = till.scene.visit(&wish).await;
        // What lingers after an answer has its time as well.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let mut wrong = self.judge(&till.scene, &visit);
        let damaged = self.verdict() == Verdict::RelaysOrBreaks && self.provider == self.caller;
        if !damaged {
            wrong.extend(till.judge(&visit).await);
        }
        wrong
    }

    fn verdict(&self) -> Verdict {
        self.fault.verdict(self.provider, self.stream)
    }

    fn judge(&self, scene: &Scene, visit: &Visit) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut check = |holds: bool, what: String| {
            if !holds {
                wrong.push(what);
            }
        };
        let took = visit.went_at - visit.came_at;
        let limit = self.fault.noticed_within(self.stream) + Duration::from_secs(1);
        check(took <= limit, format!("it took {took:?}"));
        let verdict = self.verdict();
        if verdict == Verdict::RelaysOrBreaks && self.provider == self.caller {
            return wrong;
        }
        check(visit.damage.is_empty(), format!("{:?}", visit.damage));
        let [faulty, healthy] = &scene.upstreams[..] else {
            panic!("two providers");
        };
        let (asked, other) = (faulty.calls(), healthy.calls());
        let refuses = verdict == Verdict::Refuses;
        check(
            refuses || asked.len() == 1,
            format!("asked {} times", asked.len()),
        );
        let retried = self.fault == Fault::UnavailableOnce && asked.len() == 2;
        check(
            other.len() == usize::from(refuses) || retried,
            format!("{} others were asked", other.len()),
        );
        let source = if other.is_empty() { &asked } else { &other };
        let whole = source
            .last()
            .map(|call| call.text.as_str())
            .unwrap_or_default();
        let clean = visit.end == End::Whole || visit.end == End::Stream(Ending::Clean);
        let broken = matches!(visit.end, End::Stream(Ending::Failed(_)));
        check(
            whole.starts_with(&visit.text),
            format!("not its text: {:?}", visit.text),
        );
        check(
            !clean || visit.text == whole,
            format!("a clean end after {:?}", visit.text),
        );
        let as_said = match verdict {
            Verdict::Answers | Verdict::Refuses => clean,
            Verdict::Unknown => matches!(visit.end, End::Refused { unknown: true, .. }),
            Verdict::Breaks => broken && !visit.text.is_empty(),
            Verdict::AnswersOrBreaks => clean || broken,
            Verdict::RelaysOrBreaks => {
                clean || broken || matches!(visit.end, End::Refused { unknown: true, .. })
            }
        };
        check(
            as_said,
            format!("{verdict:?} expected, got {:?}", visit.end),
        );
        for upstream in &scene.upstreams {
            let busy = upstream.calls().iter().filter(|call| !call.over).count();
            check(
                busy == 0,
                format!("{} still works for {busy}", upstream.host),
            );
        }
        wrong
    }
}

fn faults() -> Vec<Fault> {
    match std::env::var("BARDO_FAULT") {
        Ok(name) => vec![Fault::named(&name).expect("BARDO_FAULT names a fault")],
        Err(_) => Fault::ALL.to_vec(),
    }
}

#[tokio::test(start_paused = true)]
async fn every_fault_ends_as_its_verdict_says() {
    let mut wrong = String::new();
    let mut played = 0;
    for seed in seeds(1, 20) {
        for fault in faults() {
            for provider in PROVIDERS {
                for caller in CALLERS {
                    for stream in [false, true] {
                        let case = Case {
                            fault,
                            provider,
                            caller,
                            stream,
                            seed,
                        };
                        let found = case.play().await;
                        played += 1;
                        if !found.is_empty() {
                            let _ = writeln!(wrong, "{}: {}", case.name(), found.join("; "));
                        }
                    }
                }
            }
        }
    }
    println!("{played} cases");
    assert!(wrong.is_empty(), "{wrong}");
}
