//! `kill -9` at random moments under load: what a caller saw completed is charged once, nothing is
//! charged twice, and the books open again at once.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::http::PATIENCE;
use crate::money::shop::{CHARGE, Key, Shop, completed, provider, question, try_send};
use crate::rig::pass;

const CALLERS: usize = 6;
/// A hold outlives the longest answer (10 s here) by a minute, and is looked for now and then.
const HOLDS_END: Duration = Duration::from_secs(180);

/// Numbers that repeat for a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

fn is_long() -> bool {
    std::env::var("BARDO_LONG").is_ok_and(|value| value == "1")
}

fn rounds() -> Vec<u64> {
    if let Ok(seed) = std::env::var("BARDO_SEED") {
        return vec![seed.parse().expect("BARDO_SEED is a number")];
    }
    (0..if is_long() { 500 } else { 25 }).collect()
}

/// When the long version ends early, if `BARDO_MINUTES` says so.
fn deadline() -> Option<Instant> {
    let minutes: u64 = std::env::var("BARDO_MINUTES").ok()?.parse().ok()?;
    Some(Instant::now() + Duration::from_secs(60 * minutes))
}

/// Calls until nobody answers any more; the requests whose answers were complete.
fn call(
    key: &Key,
    to: SocketAddr,
    caller: usize,
    over: &AtomicBool,
    answers: &AtomicU64,
) -> Vec<String> {
    let mut seen = Vec::new();
    for number in 0.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let Some(answer) = try_send(&question(key, (caller + number).is_multiple_of(2)), to) else {
            continue;
        };
        seen.extend(completed(&answer));
        answers.fetch_add(1, Ordering::Relaxed);
    }
    seen
}

/// Waits for the moment of death: so many answers, and a little more.
fn until(answers: &AtomicU64, count: u64, more: Duration) {
    let since = Instant::now();
    while answers.load(Ordering::Relaxed) < count && since.elapsed() < PATIENCE {
        std::thread::park_timeout(Duration::from_micros(200));
    }
    pass(more);
}

/// What was held for requests that died with their process ends by itself.
fn until_nothing_is_held(shop: &Shop, key: &Key) {
    let since = Instant::now();
    while shop.books(key).held > 0 {
        assert!(since.elapsed() < HOLDS_END, "{:?}", shop.books(key));
        std::thread::park_timeout(Duration::from_secs(1));
    }
    shop.verify();
}

#[test]
fn what_was_acknowledged_survives_a_kill_and_nothing_is_doubled() {
    let upstream = provider();
    let shop = Shop::selling(&upstream);
    let key = shop.key("1000");
    let mut acknowledged: HashSet<String> = HashSet::new();
    let mut restarts = Vec::new();
    let (mut gateway, _) = shop.reopen();
    let deadline = deadline();
    for seed in rounds() {
        if deadline.is_some_and(|end| Instant::now() > end) {
            break;
        }
        let mut dice = Dice(seed);
        let (count, more) = (dice.below(40), Duration::from_micros(dice.below(20_000)));
        let answers = AtomicU64::new(0);
        let (over, address) = (AtomicBool::new(false), gateway.address);
        // The first use of a key takes its time; the load shall not be over before.
        let first = gateway.send(&question(&key, false));
        acknowledged.extend(completed(&first));
        let seen: Vec<String> = std::thread::scope(|scope| {
            let callers: Vec<_> = (0..CALLERS)
                .map(|caller| {
                    scope.spawn({
                        let (key, over, answers) = (&key, &over, &answers);
                        move || call(key, address, caller, over, answers)
                    })
                })
                .collect();
            until(&answers, count, more);
            gateway.signal("KILL");
            gateway.wait();
            over.store(true, Ordering::Relaxed);
            callers
                .into_iter()
                .flat_map(|caller| caller.join().expect("no caller panics"))
                .collect()
        });
        acknowledged.extend(seen);
        let (again, took) = shop.reopen();
        gateway = again;
        restarts.push(took);
        shop.verify();
        let books = shop.books(&key);
        books.check();
        for request in &acknowledged {
            let charged = books.charges.get(request);
            assert_eq!(
                charged.map(Vec::as_slice),
                Some(&[CHARGE][..]),
                "{request} was answered; BARDO_SEED={seed}"
            );
        }
        let strange = books
            .charges
            .values()
            .flatten()
            .find(|&&amount| amount > CHARGE);
        assert_eq!(strange, None, "more was charged than an answer costs");
    }
    if is_long() {
        until_nothing_is_held(&shop, &key);
    }
    restarts.sort();
    let slowest = restarts.last().expect("some rounds");
    let median = restarts[restarts.len() / 2];
    println!(
        "{} kills, {} answers seen, ready again in {median:?} (median), {slowest:?} (slowest)",
        restarts.len(),
        acknowledged.len()
    );
    assert!(!acknowledged.is_empty(), "the load was none");
    // Far above what a busy machine needs, and far below a gateway that waits for something.
    let most = Duration::from_secs(10);
    assert!(median < most, "ready again in {median:?}");
}
