//! Postgres, on a real server.
//!
//! The futures are driven without any runtime: connections live on a thread of the store's own.

mod claims;
mod crash;
mod histories;
mod keys;
mod schema;
mod series;
mod tls;

use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use bardo_ledger::contract::{self, block_on, join_all};
use bardo_ledger::{
    Charge, Deposit, End, Holds, Ledger, LedgerRefusal, Receipts, Reserve, Settle, Settled,
    StoreError,
};
use bardo_store::postgres::{PostgresOptions, PostgresStore};
use bardo_store::servers::PostgresServer;
use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;
use bardo_types::secret::Secret;

const NOW_MS: u64 = 1_795_190_400_000;

/// One server for all tests of this program; each makes a database of its own.
fn server() -> &'static PostgresServer {
    static SERVER: OnceLock<PostgresServer> = OnceLock::new();
    SERVER.get_or_init(|| PostgresServer::start().expect("a Postgres to test with"))
}

/// The usual options, but for machines that are busy with other tests.
fn options(url: &str) -> PostgresOptions {
    PostgresOptions {
        timeout: Duration::from_secs(60),
        statement_timeout: Duration::from_secs(60),
        connect_timeout: Duration::from_secs(20),
        ..PostgresOptions::new(Secret::new(url.to_owned()))
    }
}

/// One process's store.
fn store(url: &str) -> Arc<PostgresStore> {
    Arc::new(block_on(PostgresStore::connect(&options(url))).expect("the server runs"))
}

fn account(id: &str) -> AccountId {
    AccountId::parse(id).unwrap()
}

fn request(id: &str) -> RequestId {
    RequestId::parse(id).unwrap()
}

fn reserve(of: &AccountId, id: &str, amount: u64) -> Reserve {
    Reserve {
        request: request(id),
        account: of.clone(),
        key: None,
        amount: MicroUsd::new(amount),
        caps: Vec::new(),
        expires_at_ms: NOW_MS + 60_000,
        now_ms: NOW_MS,
    }
}

fn capture(of: &AccountId, id: &str, provider_cost: u64, spread: u64) -> Settle {
    Settle {
        account: of.clone(),
        request: request(id),
        end: End::Capture(Charge {
            provider: "sim".into(),
            provider_cost: MicroUsd::new(provider_cost),
            spread: MicroUsd::new(spread),
        }),
        record: None,
        now_ms: NOW_MS,
    }
}

fn deposit(ledger: &impl Ledger, to: &AccountId, amount: u64, reference: &str) {
    let command = Deposit {
        account: to.clone(),
        amount: MicroUsd::new(amount),
        reference: reference.to_owned(),
        now_ms: NOW_MS,
    };
    block_on(ledger.deposit(command)).unwrap().unwrap();
}

/// Deposited, spent, held and available.
fn stands(ledger: &impl Ledger, of: &AccountId) -> (u64, u64, u64, u64) {
    let balance = block_on(ledger.balance(of)).unwrap().unwrap_or_default();
    (
        balance.deposited.get(),
        balance.spent.get(),
        balance.held.get(),
        balance.available.get(),
    )
}

#[track_caller]
fn adds_up(ledger: &impl Ledger) {
    let verification = block_on(ledger.verify()).unwrap();
    assert_eq!(verification.problems, Vec::<String>::new());
}

#[test]
fn the_store_keeps_the_contract() {
    let store = store(&server().database().unwrap());
    for case in contract::cases() {
        println!("{}", case.name);
        block_on(case.run(Arc::clone(&store) as Arc<dyn Ledger>));
    }
}

/// With several processes too, a balance for 37 is held 37 times.
#[test]
fn a_thousand_requests_at_each_of_three_processes_hold_what_is_there() {
    let url = server().database().unwrap();
    let processes = [store(&url), store(&url), store(&url)];
    let payer = account("payer");
    deposit(&*processes[0], &payer, 37 * 1_000 + 999, "operator:1");
    let held: usize = thread::scope(|scope| {
        let run = |(number, store): (usize, &Arc<PostgresStore>)| {
            let (store, payer) = (Arc::clone(store), payer.clone());
            scope.spawn(move || {
                let all = (0..1_000)
                    .map(|each| store.reserve(reserve(&payer, &format!("r{number}-{each}"), 1_000)))
                    .collect();
                let answers = block_on(join_all(all));
                let refused = |answer: &Result<_, StoreError>| match answer {
                    Ok(Err(LedgerRefusal::Insufficient { .. })) => true,
                    Ok(Ok(_)) => false,
                    other => panic!("{other:?}"),
                };
                answers.iter().filter(|answer| !refused(answer)).count()
            })
        };
        let running: Vec<_> = processes.iter().enumerate().map(run).collect();
        running.into_iter().map(|each| each.join().unwrap()).sum()
    });
    assert_eq!(held, 37);
    assert_eq!(stands(&*processes[1], &payer), (37_999, 0, 37_000, 999));
    adds_up(&*processes[2]);
}

#[test]
fn two_processes_end_a_request_once() {
    let url = server().database().unwrap();
    let processes = [store(&url), store(&url)];
    let payer = account("payer");
    deposit(&*processes[0], &payer, 1_000_000, "operator:1");
    for number in 0..50 {
        let id = format!("r{number}");
        block_on(processes[0].reserve(reserve(&payer, &id, 100)))
            .unwrap()
            .unwrap();
        let answers: Vec<Settled> = thread::scope(|scope| {
            let settle = |store: &Arc<PostgresStore>| {
                let (store, command) = (Arc::clone(store), capture(&payer, &id, 50, 5));
                scope.spawn(move || block_on(store.settle(command)).unwrap())
            };
            let running: Vec<_> = processes.iter().map(settle).collect();
            running
                .into_iter()
                .map(|each| each.join().unwrap())
                .collect()
        });
        assert!(answers.iter().all(|settled| settled.charged.get() == 55));
        assert_eq!(answers.iter().filter(|settled| settled.repeated).count(), 1);
    }
    assert_eq!(stands(&*processes[0], &payer).1, 50 * 55);
    adds_up(&*processes[1]);
}

#[test]
fn what_nobody_waits_for_is_done_before_the_store_is_drained() {
    let url = server().database().unwrap();
    let store = store(&url);
    let payer = account("payer");
    deposit(&*store, &payer, 1_000, "operator:1");
    for number in 0..20 {
        let id = format!("r{number}");
        block_on(store.reserve(reserve(&payer, &id, 10)))
            .unwrap()
            .unwrap();
        store.release(&payer, &request(&id), NOW_MS);
        store.record(record(&payer, &id));
    }
    block_on(store.drain());
    assert_eq!(stands(&*store, &payer), (1_000, 0, 0, 1_000));
    for number in 0..20 {
        let receipt = block_on(store.receipt(&payer, &format!("r{number}"))).unwrap();
        assert_eq!(receipt.as_deref(), Some("{\"a\":\"\u{fffd}\"}"));
    }
    assert_eq!(store.dropped(), 0);
}

/// Whoever asked may be gone at any moment before the answer.
#[test]
fn a_hold_whose_caller_left_while_it_was_made_is_given_back() {
    let url = server().database().unwrap();
    let store = store(&url);
    let payer = account("payer");
    deposit(&*store, &payer, 1_000, "operator:1");
    for number in 0..50 {
        let mut reserving = store.reserve(reserve(&payer, &format!("r{number}"), 10));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let polled = reserving.as_mut().poll(&mut context);
        assert!(polled.is_pending(), "{polled:?}");
        drop(reserving);
    }
    block_on(store.drain());
    assert_eq!(stands(&*store, &payer), (1_000, 0, 0, 1_000));
    // One that is waited for stays.
    let made = block_on(store.reserve(reserve(&payer, "kept", 10)));
    assert!(matches!(made, Ok(Ok(_))), "{made:?}");
    block_on(store.drain());
    assert_eq!(stands(&*store, &payer), (1_000, 0, 10, 990));
    adds_up(&*store);
}

#[test]
fn old_receipts_are_deleted_and_postings_are_not() {
    let url = server().database().unwrap();
    let store = store(&url);
    let payer = account("payer");
    deposit(&*store, &payer, 1_000, "operator:1");
    let old = NOW_MS - 1;
    for number in 0..2_003 {
        store.record(bardo_ledger::ReceiptRecord {
            at_ms: if number < 2_001 { old } else { NOW_MS },
            ..record(&payer, &format!("r{number}"))
        });
    }
    block_on(store.drain());
    assert_eq!(store.dropped(), 0);
    assert_eq!(block_on(store.prune(NOW_MS)).unwrap(), 2_001);
    assert_eq!(block_on(store.prune(NOW_MS)).unwrap(), 0);
    let receipt = |id: &str| block_on(store.receipt(&payer, id)).unwrap();
    assert_eq!(receipt("r0"), None);
    assert!(receipt("r2001").is_some());
    assert_eq!(stands(&*store, &payer), (1_000, 0, 0, 1_000));
    adds_up(&*store);
}

fn record(of: &AccountId, id: &str) -> bardo_ledger::ReceiptRecord {
    bardo_ledger::ReceiptRecord {
        request: request(id),
        client_request_id: Some("theirs\0".into()),
        account: of.clone(),
        key: None,
        at_ms: NOW_MS,
        model: "model".into(),
        provider: "sim".into(),
        outcome: "finished",
        input_tokens: u64::MAX,
        output_tokens: 2,
        provider_cost: Some(MicroUsd::new(3)),
        charge: MicroUsd::new(4),
        savings: MicroUsd::ZERO,
        prompt_cache: bardo_ledger::PromptCacheFigures::default(),
        subsystem: Some("sub\0system".into()),
        session: None,
        json: "{\"a\":\"\0\"}".into(),
        details: None,
    }
}
