//! Random histories of payments over a store that fails, with requests and settlers that die at
//! any step, a chain that undoes blocks, and payers who withdraw their money.

mod chain;
mod crash;
mod world;

use std::sync::Arc;

use crate::claims::ClaimStore;
use crate::port::Ledger;

use self::world::ClaimWorld;

/// One random history, repeatable by its seed.
#[derive(Debug, Clone, Copy)]
pub struct ClaimHistory {
    /// Same seed, same history, where nobody else uses the store.
    pub seed: u64,
    /// How many things happen.
    pub steps: u32,
    /// In so many of a hundred calls the store fails: before the change, or after it and before
    /// the answer.
    pub failures: u64,
}

impl ClaimHistory {
    /// Lives the history, lets everything come to rest, and panics where an invariant is broken.
    /// `reopen` gives the store again after a process has died, so that a test can open its files
    /// anew. Histories with different seeds may share a store.
    pub async fn run(&self, reopen: &mut dyn FnMut() -> (Arc<dyn ClaimStore>, Arc<dyn Ledger>)) {
        let mut world = ClaimWorld::new(self);
        let (store, ledger) = reopen();
        world.open(store, ledger);
        for _ in 0..self.steps {
            if world.dice.percent(2) {
                world.close();
                let (store, ledger) = reopen();
                world.open(store, ledger);
            }
            world.happen().await;
        }
        world.come_to_rest().await;
        world.check().await;
    }
}
