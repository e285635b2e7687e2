//! Random histories of eight actors, checked after every step against a reference that knows
//! nothing but a list of what happened.
//!
//! `BARDO_LONG=1` runs 100,000 histories instead of 2,000, `BARDO_SEED=…` one alone.

mod history;
mod reference;

use crate::chance::{Replay, long, only_seed};

use self::history::History;

const HISTORIES: u64 = 2_000;
const LONG: u64 = 100_000;

#[test]
fn money_is_conserved_in_every_history() {
    let seeds = match (only_seed(), long()) {
        (Some(seed), _) => seed..seed + 1,
        (None, true) => 0..LONG,
        (None, false) => 0..HISTORIES,
    };
    eprintln!("seeds {} to {}", seeds.start, seeds.end - 1);
    let mut seen = history::Seen::default();
    for seed in seeds.clone() {
        let _replay = Replay(seed);
        History::new(seed).run(&mut seen);
    }
    if seeds.end - seeds.start > 100 {
        seen.check_that_all_occurred();
    }
}
