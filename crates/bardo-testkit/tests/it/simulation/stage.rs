//! The minute itself.

use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bardo_ledger::{Accounts as _, Balance, Funds as _, HoldView, Holds, MemoryLedger, Posting};
use bardo_testkit::answer::Answer;
use bardo_testkit::client::{Leaves, Wish, name_of};
use bardo_testkit::dice::Dice;
use bardo_testkit::fault::{Fault, Patience};
use bardo_testkit::flaky::FlakyLedger;
use bardo_testkit::purse::Purse;
use bardo_testkit::upstream::{Call, Door, Upstream};
use bardo_testkit::weather::Weather;
use bardo_testkit::world::{Backend, Scene, Visit, request_id};
use bardo_types::model::Dialect;
use bardo_types::receipt::Receipt;
use tokio::time::Instant;

const MINUTE: Duration = Duration::from_secs(60);
const VISITS: u64 = 30;
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

/// Micro-USD of each caller who pays: two who never run out, two who do.
const PURSES: [u64; 4] = [50_000_000, 20_000_000, 300_000, 20_000];
/// From here on purses may be too small for what is owed.
pub(super) const SMALL: usize = 2;
/// How often the books are looked at.
const LOOK: Duration = Duration::from_millis(1_000);
/// Holds that nobody ended are over after this.
const HOLDS_END: Duration = Duration::from_secs(120);

/// What happened in a minute.
pub(super) struct Minute {
    pub(super) began: Instant,
    pub(super) visits: Vec<Visit>,
    pub(super) calls: Vec<Vec<Call>>,
    pub(super) books: Vec<Books>,
    /// Holds at the end, of all purses.
    pub(super) holds: Vec<HoldView>,
    /// What did not add up at any moment.
    pub(super) problems: Vec<String>,
    pub(super) receipts: Vec<Receipt>,
}

/// Where one purse stands at the end.
pub(super) struct Books {
    pub(super) purse: Purse,
    pub(super) balance: Balance,
    pub(super) postings: Vec<Posting>,
}

impl Minute {
    /// What was charged for a case, as the books have it.
    pub(super) fn charged(&self, case: u64) -> i64 {
        let request = request_id(case);
        let postings = self.books.iter().flat_map(|books| &books.postings);
        postings
            .filter(|posting| posting.reference == request.as_str())
            .filter(|posting| posting.book.starts_with("customer:"))
            .map(|posting| -posting.amount)
            .sum()
    }

    /// All of it as text; the same for the same seed.
    pub(super) fn transcript(&self) -> String {
        let mut text = String::new();
        let at = |instant: Instant| (instant - self.began).as_millis();
        for visit in &self.visits {
            let Visit { wish, .. } = visit;
            let _ = writeln!(
                text,
                "{:>6}..{:<6} case {} {} {}{} {:?} purse {:?} charged {} -> {:?} {:?}",
                at(visit.came_at),
                at(visit.went_at),
                wish.case,
                name_of(wish.dialect),
                wish.model,
                if wish.stream { " streamed" } else { "" },
                wish.leaves,
                wish.purse,
                self.charged(wish.case),
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
    wish.purse = Some(dice.index(PURSES.len() + 1)).filter(|index| *index < PURSES.len());
    wish.max_tokens = dice.percent(50).then(|| 20 + dice.below(500));
    let comes = dice.below(u64::try_from(MINUTE.as_millis()).expect("a minute is short"));
    (Duration::from_millis(comes), wish)
}

/// Looks at the books until it is stopped.
async fn watch(ledger: Arc<MemoryLedger>, purses: Vec<Purse>) -> Vec<String> {
    let mut problems = Vec::new();
    while problems.is_empty() {
        tokio::time::sleep(LOOK).await;
        problems.extend(look(&ledger, &purses).await);
    }
    problems
}

async fn look(ledger: &MemoryLedger, purses: &[Purse]) -> Vec<String> {
    let mut problems = ledger.verify().await.expect("books in memory").problems;
    for purse in purses {
        let account = &purse.key.account;
        let balance = ledger.balance(account).await.expect("books in memory");
        let balance = balance.unwrap_or_default();
        let [all, parts] = [
            vec![balance.deposited],
            vec![balance.spent, balance.held, balance.available],
        ]
        .map(|amounts| amounts.iter().map(|amount| amount.get()).sum::<u64>());
        if all != parts || balance.deposited != purse.deposited {
            problems.push(format!("{account}: {balance:?}"));
        }
    }
    problems
}

/// Every third minute has books behind a bad line.
pub(super) fn is_flaky(seed: u64) -> bool {
    seed % 3 == 2
}

/// Plays the minute of a seed, and what lingers after it.
pub(super) async fn minute(seed: u64) -> Minute {
    let began = Instant::now();
    let backends: Vec<Backend> = (0..PROVIDERS.len())
        .map(|index| provider(seed, index))
        .collect();
    let ledger = Arc::new(MemoryLedger::new());
    let mut purses = Vec::new();
    for (index, micro) in PURSES.iter().enumerate() {
        purses.push(Purse::fill(&*ledger, &format!("p{index}"), *micro).await);
    }
    let line: Arc<dyn Holds> = if is_flaky(seed) {
        Arc::new(FlakyLedger::new(Arc::clone(&ledger), seed, 12))
    } else {
        Arc::<MemoryLedger>::clone(&ledger)
    };
    let scene = Rc::new(Scene::selling(&backends, line, purses.clone()));
    let watch = tokio::spawn(watch(Arc::clone(&ledger), purses.clone()));
    let visits = perform(seed, &scene, &backends).await;
    tokio::time::sleep(Patience::IDLE).await;
    if is_flaky(seed) {
        tokio::time::sleep(HOLDS_END).await;
        let now = scene.engine.services().clock.now_ms();
        ledger.expire(now).await.expect("books in memory");
    }
    scene.engine.drain_settler().await;
    let mut problems = look(&ledger, &purses).await;
    if watch.is_finished() {
        problems.extend(watch.await.expect("nobody stopped it"));
    } else {
        watch.abort();
    }
    let mut books = Vec::new();
    for purse in purses {
        let account = &purse.key.account;
        let postings = ledger.postings(account, 0, 10_000).await;
        let balance = ledger.balance(account).await.expect("books in memory");
        books.push(Books {
            balance: balance.unwrap_or_default(),
            postings: postings.expect("books in memory"),
            purse,
        });
    }
    let calls = scene.upstreams.iter().map(|upstream| upstream.calls());
    Minute {
        began,
        calls: calls.collect(),
        visits,
        books,
        holds: ledger.holds(None).await.expect("books in memory"),
        problems,
        receipts: scene.receipts(),
    }
}

/// Lets everybody come and go, and the configuration change in between.
async fn perform(seed: u64, scene: &Rc<Scene>, backends: &[Backend]) -> Vec<Visit> {
    let mut callers = Vec::new();
    for case in 0..VISITS {
        let (comes, wish) = wish(seed, case);
        let scene = Rc::clone(scene);
        callers.push(tokio::task::spawn_local(async move {
            tokio::time::sleep(comes).await;
            scene.visit(&wish).await
        }));
    }
    let reloads = Dice::of(seed, "reload", 0).below(4);
    for reload in 0..reloads {
        let wait = Dice::of(seed, "reload", 1 + reload).below(20_000);
        tokio::time::sleep(Duration::from_millis(wait)).await;
        scene.reload(backends);
    }
    let mut visits = Vec::new();
    for caller in callers {
        visits.push(caller.await.expect("no caller panics"));
    }
    visits
}
