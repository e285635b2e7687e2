//! Payments on a chain, in random histories with crashes.

use std::sync::Arc;
use std::thread;

use bardo_ledger::MemoryLedger;
use bardo_ledger::claims::MemoryClaims;
use bardo_ledger::contract::{ClaimHistory, block_on};

use crate::chance::{Replay, long, only_seed};

const THREADS: u64 = 4;

fn live(seed: u64) {
    let _replay = Replay(seed);
    let history = ClaimHistory {
        seed,
        steps: 30,
        failures: [0, 5, 30][usize::try_from(seed % 3).expect("small")],
    };
    let claims = Arc::new(MemoryClaims::new());
    let ledger = Arc::new(MemoryLedger::new());
    block_on(history.run(&mut || (Arc::clone(&claims) as _, Arc::clone(&ledger) as _)));
}

#[test]
fn whatever_dies_money_is_settled_once_and_booked_once() {
    if let Some(seed) = only_seed() {
        return live(seed);
    }
    let histories = if long() { 200_000 } else { 10_000 };
    thread::scope(|scope| {
        for first in 0..THREADS {
            scope.spawn(move || {
                let seeds = (first..histories).step_by(usize::try_from(THREADS).expect("small"));
                seeds.for_each(live);
            });
        }
    });
}
