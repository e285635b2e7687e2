//! Many threads, writes that fail, another process, and a crash now and then: in the end the file
//! says what was acknowledged.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use bardo_ledger::contract::block_on;
use bardo_ledger::{Accounts, Cap, CapScope, CapWindow, End, Holds, Ledger, StoreError};
use bardo_types::ids::KeyId;

use super::rig::*;
use crate::sqlite::{Faults, Options, SqliteStore};

const ACCOUNTS: [&str; 3] = ["a", "b", "c"];
const THREADS: u64 = 8;
const STEPS: u64 = 150;

/// SplitMix64: enough to mix commands, and the same on every run of a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// What one thread knows to be acknowledged.
#[derive(Default)]
struct Acknowledged {
    spent: HashMap<&'static str, u64>,
    deposited: HashMap<&'static str, u64>,
}

fn insist<T>(mut ask: impl FnMut() -> Result<T, StoreError>) -> T {
    let mut answer = None;
    until(|| {
        answer = ask().ok();
        answer.is_some()
    });
    answer.unwrap()
}

fn live(store: &SqliteStore, tool: &dyn Ledger, thread: u64, seed: u64) -> Acknowledged {
    let mut random = Random(seed * 1_000 + thread);
    let mut known = Acknowledged::default();
    for step in 0..STEPS {
        let name = ACCOUNTS[usize::try_from(random.below(3)).unwrap()];
        let number = seed * 1_000_000 + thread * 10_000 + step;
        if random.below(10) == 0 {
            let amount = random.below(500);
            let reference = format!("operator:{number}");
            let into: &dyn Ledger = if random.below(2) == 0 { tool } else { store };
            insist(|| try_deposit(into, name, amount, &reference)).unwrap();
            *known.deposited.entry(name).or_default() += amount;
        }
        let amount = random.below(300);
        let caps = vec![Cap {
            scope: CapScope::Key(KeyId::parse(&format!("key_{name}")).unwrap()),
            window: CapWindow::Total,
            limit: micro(100_000),
        }];
        let command = reserve_command(name, number, amount, caps);
        if insist(|| block_on(store.reserve(command.clone()))).is_err() {
            continue;
        }
        if random.below(3) == 0 {
            insist(|| persist(store, name, number));
        }
        if random.below(4) == 0 {
            let by = micro(random.below(50));
            let extend = || block_on(store.extend(&account(name), &request(number), by, NOW_MS));
            drop(insist(extend));
        }
        let cost = random.below(400);
        match random.below(8) {
            0 => store.release(&account(name), &request(number), NOW_MS),
            1 => {
                insist(|| try_end(store, name, number, End::Release));
            }
            2 => {
                insist(|| try_end(store, name, number, End::Unknown));
                insist(|| block_on(store.refresh()));
                let settled = insist(|| try_end(tool, name, number, capture(cost, cost / 5)));
                *known.spent.entry(name).or_default() += settled.charged.get();
            }
            _ => {
                let settled = insist(|| try_end(store, name, number, capture(cost, cost / 5)));
                *known.spent.entry(name).or_default() += settled.charged.get();
            }
        }
    }
    known
}

fn check(seed: u64) {
    println!("seed {seed}");
    let folder = Folder::new();
    let failed = std::sync::Arc::new(AtomicU64::new(0));
    let counted = failed.clone();
    let store = folder.serve_with(&Options {
        faults: Some(Faults::new(move |number| {
            let fails = Random(seed ^ (number << 20)).below(12) == 0;
            counted.fetch_add(u64::from(fails), Ordering::Relaxed);
            fails
        })),
        ..Options::default()
    });
    let tool = folder.tool();
    for name in ACCOUNTS {
        insist(|| try_deposit(&*store, name, 60_000, "operator:first")).unwrap();
    }
    let mut all = Acknowledged::default();
    std::thread::scope(|threads| {
        let running: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (store, tool) = (&*store, &tool);
                threads.spawn(move || live(store, tool, thread, seed))
            })
            .collect();
        for thread in running {
            let known = thread.join().unwrap();
            for name in ACCOUNTS {
                *all.spent.entry(name).or_default() += known.spent.get(name).unwrap_or(&0);
                *all.deposited.entry(name).or_default() += known.deposited.get(name).unwrap_or(&0);
            }
        }
    });
    assert!(failed.load(Ordering::Relaxed) > 0, "no write failed");
    insist(|| block_on(store.refresh()));
    check_verify(&*store);
    let expected = |name| {
        let (deposited, spent) = (60_000 + all.deposited[name], all.spent[name]);
        (deposited, spent, 0, deposited - spent)
    };
    for name in ACCOUNTS {
        assert_eq!(stands(&*store, name), expected(name), "{name}");
    }
    // Rows of holds that were released without waiting go by themselves.
    until(|| block_on(tool.holds(None)).unwrap().is_empty());
    crash(store);
    let store = folder.serve();
    for name in ACCOUNTS {
        assert_eq!(stands(&tool, name), expected(name), "{name}");
        assert_eq!(stands(&*store, name), expected(name), "{name}");
        let sum: i64 = folder
            .raw()
            .query_row(
                "SELECT sum(amount) FROM postings WHERE book = 'customer:' || ?1",
                [name],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(u64::try_from(sum).unwrap(), expected(name).3);
        let counted: u64 = folder
            .raw()
            .query_row(
                "SELECT spent FROM cap_counters WHERE scope = 'key:key_' || ?1",
                [name],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(counted, expected(name).1, "the cap counted all of it");
    }
    check_verify(&*store);
}

#[test]
fn any_interleaving_ends_where_its_acknowledgements_say() {
    for seed in 1..=3 {
        check(seed);
    }
}
