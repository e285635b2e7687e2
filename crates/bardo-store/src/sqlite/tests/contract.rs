use std::sync::Arc;

use bardo_ledger::contract;

use super::rig::{Folder, check_verify};
use crate::sqlite::{Durability, Options};

#[test]
fn the_store_keeps_the_contract() {
    for case in contract::cases() {
        println!("{}", case.name);
        let folder = Folder::new();
        contract::block_on(case.run(folder.serve()));
    }
}

#[test]
fn the_store_keeps_the_contract_for_many_accounts_at_once() {
    let folder = Folder::new();
    let store = folder.serve_with(&Options {
        durability: Durability::Power,
        ..Options::default()
    });
    std::thread::scope(|threads| {
        let (receipts, money): (Vec<_>, Vec<_>) = contract::cases()
            .into_iter()
            .partition(|case| case.name.contains("receipt") || case.name.contains("newest"));
        // Receipts of these cases show charges that nobody posted, which verification would tell.
        let shared = Folder::new();
        let other = shared.serve();
        threads.spawn(move || {
            for case in receipts {
                contract::block_on(case.run(Arc::clone(&other) as _));
            }
        });
        // Expiry is of the whole store, so cases that let time pass cannot run beside others.
        for case in money {
            let store = Arc::clone(&store);
            contract::block_on(case.run(store));
        }
    });
    check_verify(&*store);
}
