//! A minute in the life of a gateway, many times over: five providers in changing weather, callers
//! in every dialect who leave when they like, reloads in between. Whatever happens, the rules hold.

mod rules;
mod stage;

use bardo_testkit::dice::seeds;

use stage::Minute;

fn play(seed: u64) -> Minute {
    // A runtime of its own: what one seed leaves behind must not move the time of the next.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, stage::minute(seed))
}

#[test]
fn every_rule_holds_in_every_minute() {
    let mut visits = 0;
    let (mut clean, mut left, mut broken) = (0, 0, 0);
    for seed in seeds(200, 10_000) {
        let minute = play(seed);
        let wrong = rules::broken(&minute);
        assert!(
            wrong.is_empty(),
            "{}\n{}\nreplay with BARDO_SEED={seed}",
            minute.transcript(),
            wrong.join("\n"),
        );
        visits += minute.visits.len();
        clean += rules::count_clean(&minute);
        left += rules::count_left(&minute);
        broken += rules::count_broken(&minute);
    }
    println!("{visits} visits: {clean} clean, {left} left, {broken} broken");
    // A simulation in which nothing happens proves nothing.
    assert!(clean > 0 && left > 0 && broken > 0);
}

#[test]
fn a_seed_plays_the_same_minute_again() {
    for seed in 3..9 {
        assert_eq!(play(seed).transcript(), play(seed).transcript());
    }
}
