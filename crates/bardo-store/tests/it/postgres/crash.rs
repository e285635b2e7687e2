//! A database that goes away and comes back.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use bardo_access::{KeyError, KeyStore};
use bardo_ledger::contract::block_on;
use bardo_ledger::{Accounts, Funds, Holds, LedgerRefusal, StoreError};
use bardo_store::postgres::{PostgresOptions, PostgresStore};
use bardo_store::servers::{PostgresServer, ShutdownMode};
use bardo_types::ids::KeyId;
use bardo_types::secret::Secret;

use super::{account, adds_up, capture, deposit, reserve, server, stands, store};
use crate::wait::until;

/// Sends a command again, as the engine does, until the store has answered.
fn insist<T>(mut send: impl FnMut() -> Result<T, StoreError>) -> T {
    let mut answer = None;
    until("the store answers", || match send() {
        Ok(value) => {
            answer = Some(value);
            true
        }
        Err(StoreError::Unavailable(_)) => false,
        Err(damaged) => panic!("{damaged}"),
    });
    answer.unwrap()
}

#[test]
fn nothing_is_lost_or_doubled_when_the_server_crashes_and_comes_back() {
    let mut server = PostgresServer::start().unwrap();
    let store = store(&server.database().unwrap());
    let payer = account("payer");
    deposit(&*store, &payer, 100_000_000, "operator:1");
    let (settled, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let requests: u64 = thread::scope(|scope| {
        let running: Vec<_> = (0..6)
            .map(|number| {
                let (store, payer) = (Arc::clone(&store), payer.clone());
                let (settled, is_over) = (&settled, &is_over);
                scope.spawn(move || {
                    let mut count = 0;
                    while !is_over.load(Ordering::Relaxed) {
                        let id = format!("r{number}-{count}");
                        match insist(|| block_on(store.reserve(reserve(&payer, &id, 100)))) {
                            // Held by the first sending, whose answer was lost.
                            Ok(_) | Err(LedgerRefusal::Duplicate(_)) => {}
                            Err(other) => panic!("{other}"),
                        }
                        let end = insist(|| block_on(store.settle(capture(&payer, &id, 70, 7))));
                        assert_eq!(end.charged.get(), 77);
                        count += 1;
                        settled.fetch_add(1, Ordering::Relaxed);
                    }
                    count
                })
            })
            .collect();
        for stop in [ShutdownMode::Crash, ShutdownMode::Fast, ShutdownMode::Crash] {
            let before = settled.load(Ordering::Relaxed);
            until("requests go through", || {
                settled.load(Ordering::Relaxed) > before + 20
            });
            server.stop(stop);
            // It says that it is away, and nothing about anybody's money or key.
            let answer = block_on(store.balance(&payer));
            assert!(
                matches!(answer, Err(StoreError::Unavailable(_))),
                "{answer:?}"
            );
            let answer = block_on(store.find(&KeyId::parse("any").unwrap()));
            assert!(
                matches!(answer, Err(KeyError::Unavailable(_))),
                "{answer:?}"
            );
            server.resume().unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
        running.into_iter().map(|each| each.join().unwrap()).sum()
    });
    assert_eq!(
        stands(&*store, &payer),
        (100_000_000, requests * 77, 0, 100_000_000 - requests * 77)
    );
    assert_eq!(block_on(store.holds(None)).unwrap(), vec![]);
    adds_up(&*store);
}

#[test]
fn a_store_starts_while_the_database_is_away_and_works_when_it_comes() {
    let mut server = PostgresServer::start().unwrap();
    let url = server.database().unwrap();
    server.stop(ShutdownMode::Fast);
    assert!(matches!(
        block_on(PostgresStore::connect(&super::options(&url))),
        Err(StoreError::Unavailable(_))
    ));
    let store = PostgresStore::new(&super::options(&url)).unwrap();
    let payer = account("payer");
    let answer = block_on(store.balance(&payer));
    assert!(
        matches!(answer, Err(StoreError::Unavailable(_))),
        "{answer:?}"
    );
    server.resume().unwrap();
    assert_eq!(insist(|| block_on(store.balance(&payer))), None);
}

#[test]
fn a_server_that_accepts_and_says_nothing_is_unavailable() {
    let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = silent.local_addr().unwrap().port();
    let url = format!("postgres://bardo@127.0.0.1:{port}/test");
    let options = PostgresOptions {
        connect_timeout: Duration::from_millis(50),
        ..PostgresOptions::new(Secret::new(url))
    };
    let store = PostgresStore::new(&options).unwrap();
    let answer = block_on(store.balance(&account("payer")));
    assert!(
        matches!(answer, Err(StoreError::Unavailable(_))),
        "{answer:?}"
    );
}

#[test]
fn a_lock_that_is_held_too_long_is_unavailable_and_queues_are_bounded() {
    let url = server().database().unwrap();
    let payer = account("payer");
    deposit(&*store(&url), &payer, 1_000, "operator:1");
    let options = PostgresOptions {
        statement_timeout: Duration::from_millis(100),
        connections: 2,
        queue: 4,
        ..super::options(&url)
    };
    let store = block_on(PostgresStore::connect(&options)).unwrap();
    let holds = |number: u32| block_on(store.reserve(reserve(&payer, &format!("r{number}"), 1)));
    thread::scope(|scope| {
        scope.spawn(|| {
            let lock = "BEGIN; LOCK TABLE bardo.accounts; SELECT pg_sleep(600)";
            assert!(server().execute(&url, lock).is_err(), "it is ended below");
        });
        let mut number = 0;
        until("the lock is felt", || {
            number += 1;
            matches!(holds(number), Err(StoreError::Unavailable(_)))
        });
        let many = (0..20).map(|_| store.balance(&payer)).collect();
        let answers = bardo_ledger::contract::join_all(many);
        let refused = |answer: &Result<_, StoreError>| matches!(answer, Err(StoreError::Unavailable(why)) if why.contains("too many"));
        assert!(
            block_on(answers)
                .iter()
                .filter(|answer| refused(answer))
                .count()
                >= 15
        );
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND query LIKE '%LOCK TABLE%'
            AND pid <> pg_backend_pid()";
        server().execute(&url, end).unwrap();
    });
    insist(|| holds(1_000_000)).unwrap();
    adds_up(&store);
}
