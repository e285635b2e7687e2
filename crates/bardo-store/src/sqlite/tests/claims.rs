use std::sync::Arc;

use bardo_ledger::claims::{ClaimQuery, ClaimStore};
use bardo_ledger::contract::{self, ClaimHistory, block_on};

use super::rig::{Folder, check_verify, crash};
use crate::sqlite::SqliteStore;

#[test]
fn the_store_keeps_the_contract_of_claims() {
    let folder = Folder::new();
    let store = folder.serve();
    for case in contract::CLAIM_CASES {
        println!("{}", case.name);
        block_on(case.run(Arc::clone(&store) as _, Arc::clone(&store) as _));
    }
    check_verify(&*store);
}

/// Lives a history in which the process dies and its files are opened again.
fn live(folder: &Folder, seed: u64, failures: u64) {
    let mut running: Option<Arc<SqliteStore>> = None;
    let history = ClaimHistory {
        seed,
        steps: 40,
        failures,
    };
    block_on(history.run(&mut || {
        if let Some(store) = running.take() {
            crash(store);
        }
        let store = folder.serve();
        running = Some(Arc::clone(&store));
        (Arc::clone(&store) as _, store as _)
    }));
    if let Some(store) = running {
        check_verify(&*store);
    }
}

#[test]
fn whatever_dies_money_is_settled_once_and_booked_once() {
    let is_long = std::env::var("BARDO_LONG").is_ok_and(|value| value == "1");
    let histories: u64 = if is_long { 10_000 } else { 45 };
    let mut folder = Folder::new();
    for seed in 0..histories {
        println!("seed {seed}");
        // The check of the whole store takes longer with every history.
        if seed % 15 == 0 {
            folder = Folder::new();
        }
        live(
            &folder,
            seed,
            [0, 5, 30][usize::try_from(seed % 3).unwrap()],
        );
    }
}

/// A process that has only a database of its own, beside the server: what both do is one thing.
#[test]
fn a_command_beside_the_server_sees_its_claims() {
    let folder = Folder::new();
    let server = folder.serve();
    let tool = Arc::new(folder.tool());
    for case in contract::CLAIM_CASES.iter().take(3) {
        block_on(case.run(Arc::clone(&server) as _, Arc::clone(&server) as _));
    }
    let query = ClaimQuery {
        limit: 100,
        ..ClaimQuery::default()
    };
    let theirs = block_on(tool.claims(query.clone())).unwrap();
    assert_eq!(theirs.len(), 3);
    assert!(theirs == block_on(server.claims(query)).unwrap());
}
