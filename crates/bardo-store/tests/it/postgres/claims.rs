//! Claims on several processes.

use std::sync::Arc;
use std::thread;

use bardo_ledger::claims::{
    AuthorizationKey, ChainAddress, ChainHash, ClaimAnswer, ClaimBook, ClaimOrder, ClaimScheme,
    ClaimStage, ClaimStep, ClaimStore, ExposureTerms, NewClaim, StepBy,
};
use bardo_ledger::contract::{CLAIM_CASES, ClaimHistory, block_on, join_all};
use bardo_store::postgres::PostgresStore;
use bardo_types::money::MicroUsd;

use super::{NOW_MS, adds_up, request, server, store};

#[test]
fn the_store_keeps_the_contract_of_claims() {
    let store = store(&server().database().unwrap());
    for case in CLAIM_CASES {
        println!("{}", case.name);
        block_on(case.run(Arc::clone(&store) as _, Arc::clone(&store) as _));
    }
    adds_up(&*store);
}

fn command(number: u64, by: &str) -> NewClaim {
    let mut nonce = [0; 32];
    nonce[..8].copy_from_slice(&number.to_be_bytes());
    let key = AuthorizationKey {
        chain_id: 8_453,
        contract: ChainAddress([7; 20]),
        payer: ChainAddress([1; 20]),
        nonce: ChainHash(nonce),
    };
    NewClaim {
        key,
        request: request(by),
        account: key.wallet().account(),
        body_hash: ChainHash([1; 32]),
        quote: "q".to_owned(),
        scheme: ClaimScheme::Upto,
        order: ClaimOrder::ServeFirst,
        ceiling: MicroUsd::new(10),
        deadline_s: NOW_MS / 1_000 + 60,
        payload: vec![1],
        stale_at_ms: NOW_MS + 1_000,
        terms: ExposureTerms {
            cap: MicroUsd::new(55),
            first_cap: MicroUsd::new(55),
            raise: MicroUsd::ZERO,
            open_max: 100,
            admits_debtors: false,
        },
        now_ms: NOW_MS,
    }
}

/// How many of `each` claims at each of three processes were won. All run at once.
fn won(processes: &[Arc<PostgresStore>; 3], each: u64, number: fn(u64) -> u64) -> usize {
    let claim = |process: usize, store: &Arc<PostgresStore>| {
        let book = ClaimBook::new(Arc::clone(store) as _);
        let commands: Vec<_> = (0..each)
            .map(|place| command(number(place), &format!("r{process}-{place}")))
            .collect();
        let claims = commands.iter().map(|command| book.claim(command)).collect();
        let answers = block_on(join_all(claims));
        let won = answers.iter().filter(|answer| {
            let answer = answer.as_ref().expect("the store works");
            matches!(answer, Ok(ClaimAnswer::Claimed(_)))
        });
        won.count()
    };
    thread::scope(|scope| {
        let run = |(process, store)| scope.spawn(move || claim(process, store));
        let running: Vec<_> = processes.iter().enumerate().map(run).collect();
        running.into_iter().map(|each| each.join().unwrap()).sum()
    })
}

#[test]
fn one_authorization_at_three_processes_is_one_claim() {
    let url = server().database().unwrap();
    let processes = [store(&url), store(&url), store(&url)];
    assert_eq!(won(&processes, 34, |_| 1), 1);
    let wallet = block_on(processes[0].wallet(command(1, "r").key.wallet()));
    assert_eq!(wallet.unwrap().unwrap().exposure, MicroUsd::new(10));
}

#[test]
fn three_processes_keep_one_cap() {
    let url = server().database().unwrap();
    let processes = [store(&url), store(&url), store(&url)];
    // The same authorizations everywhere: five of ten fit.
    assert_eq!(won(&processes, 10, |place| place), 5);
    let wallet = block_on(processes[0].wallet(command(1, "r").key.wallet()));
    let wallet = wallet.unwrap().unwrap();
    assert_eq!((wallet.open, wallet.exposure.get()), (5, 50));
}

#[test]
fn due_claims_are_handed_out_once() {
    let url = server().database().unwrap();
    let processes = [store(&url), store(&url), store(&url)];
    assert_eq!(won(&processes, 5, |place| place), 5);
    let now_ms = NOW_MS + 2_000;
    let leased = thread::scope(|scope| {
        let lease = |store: &Arc<PostgresStore>| {
            let store = Arc::clone(store);
            scope.spawn(move || {
                let lease = |_| store.lease_due("settler", now_ms, now_ms + 9, 1);
                let leases: Vec<_> = (0..6).map(lease).collect();
                let leased = block_on(join_all(leases)).into_iter();
                leased.flat_map(Result::unwrap).collect::<Vec<_>>()
            })
        };
        let running: Vec<_> = processes.iter().map(lease).collect();
        let leased = running.into_iter().flat_map(|each| each.join().unwrap());
        leased.collect::<Vec<_>>()
    });
    // Whoever looked while another had a row locked may have found nothing; nobody found the same.
    let mut keys: Vec<_> = leased.iter().map(|claim| claim.key).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), leased.len());
    for claim in leased {
        let book = ClaimBook::new(Arc::clone(&processes[0]) as _);
        assert_eq!((claim.stage, claim.lease_no), (ClaimStage::Claimed, 1));
        let by = StepBy::Lease(claim.lease_no);
        let released = block_on(book.step(&claim.key, &by, &ClaimStep::Release, now_ms));
        assert_eq!(released.unwrap(), Ok(None));
    }
}

/// Requests and settlers of a history are at another process each time one has died.
#[test]
fn whatever_dies_money_is_settled_once_and_booked_once() {
    let url = server().database().unwrap();
    let processes = [store(&url), store(&url), store(&url)];
    let is_long = std::env::var("BARDO_LONG").is_ok_and(|value| value == "1");
    for seed in 0..if is_long { 10_000 } else { 20 } {
        println!("seed {seed}");
        let mut turn = 0;
        let history = ClaimHistory {
            seed,
            steps: 30,
            failures: 10,
        };
        block_on(history.run(&mut || {
            turn += 1;
            let store = &processes[turn % processes.len()];
            (Arc::clone(store) as _, Arc::clone(store) as _)
        }));
    }
    adds_up(&*processes[0]);
}
