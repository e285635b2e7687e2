//! The schema holds by itself, whoever writes.

use std::thread;

use bardo_ledger::contract::block_on;
use bardo_ledger::{Ledger, StoreError};
use bardo_store::postgres::PostgresStore;

use super::{account, adds_up, capture, deposit, options, reserve, server, store};

#[test]
fn processes_that_start_together_make_the_schema_once() {
    let url = server().database().unwrap();
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| store(&url));
        }
    });
    let store = store(&url);
    deposit(&*store, &account("payer"), 5, "operator:1");
    adds_up(&*store);
}

#[test]
fn a_schema_of_a_newer_version_is_left_alone() {
    let url = server().database().unwrap();
    drop(store(&url));
    let newer = "INSERT INTO bardo.schema (version) VALUES (1000)";
    server().execute(&url, newer).unwrap();
    let answer = block_on(PostgresStore::connect(&options(&url)));
    assert!(matches!(answer, Err(StoreError::Damaged(_))));
}

#[test]
fn what_is_posted_is_never_changed_and_no_balance_falls_below_zero() {
    let url = server().database().unwrap();
    let store = store(&url);
    let payer = account("payer");
    deposit(&*store, &payer, 100, "operator:1");
    block_on(store.reserve(reserve(&payer, "r1", 60)))
        .unwrap()
        .unwrap();
    block_on(store.settle(capture(&payer, "r1", 20, 4))).unwrap();
    for sql in [
        "UPDATE bardo.transfers SET at_ms = 0",
        "DELETE FROM bardo.transfers",
        "TRUNCATE bardo.transfers",
        "UPDATE bardo.audit SET detail = ''",
        "DELETE FROM bardo.audit",
        "TRUNCATE bardo.audit",
        "UPDATE bardo.accounts SET spent = 101",
        "UPDATE bardo.accounts SET held = 77",
        "UPDATE bardo.accounts SET held = -1",
        "INSERT INTO bardo.transfers (at_ms, kind, account, reference, counterparty,
            customer_amount, counterparty_amount, spread_amount)
            VALUES (0, 'charge', 'payer', 'r2', 'provider:sim', -3, 1, 1)",
        "INSERT INTO bardo.transfers (at_ms, kind, account, reference, counterparty,
            customer_amount, counterparty_amount, spread_amount)
            VALUES (0, 'charge', 'payer', 'r1', 'provider:sim', -2, 1, 1)",
    ] {
        assert!(server().execute(&url, sql).is_err(), "{sql}");
    }
    adds_up(&*store);
}

#[test]
fn books_that_do_not_add_up_are_told() {
    for sql in [
        "UPDATE bardo.accounts SET deposited = deposited + 1",
        "UPDATE bardo.accounts SET spent = spent - 1",
        "UPDATE bardo.accounts SET held = held + 1",
        "UPDATE bardo.holds SET charged = charged + 1 WHERE state = 'captured'",
        "DELETE FROM bardo.holds WHERE state = 'captured'",
        "INSERT INTO bardo.cap_counters (scope, span, start_ms, held) VALUES ('key:k', 'day', 0, 1)",
    ] {
        let url = server().database().unwrap();
        let store = store(&url);
        let payer = account("payer");
        deposit(&*store, &payer, 100, "operator:1");
        block_on(store.settle(capture(&payer, "r1", 20, 4))).unwrap();
        adds_up(&*store);
        server().execute(&url, sql).unwrap();
        let verification = block_on(store.verify()).unwrap();
        assert!(!verification.problems.is_empty(), "{sql}");
    }
}
