//! The schema holds by itself, whoever writes.

use std::thread;

use bardo_ledger::contract::block_on;
use bardo_ledger::{Accounts, Dimension, Holds, ReceiptFilter, Receipts, StoreError, SumQuery};
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

/// Takes the schema back to before receipts had subsystems and sessions.
pub(super) const WITHOUT_RECEIPTS_OF_ALL: &str = "
    DELETE FROM bardo.schema WHERE version >= 8;
    DROP FUNCTION bardo.commit_claim;
    DROP FUNCTION bardo.put_chain_deposit;
    DROP FUNCTION bardo.swap_chain_value;
    DROP TABLE bardo.claims, bardo.wallets, bardo.claim_transactions, bardo.chain_deposits,
        bardo.chain_values;
    DROP SEQUENCE bardo.claims_no_seq;
    DROP TRIGGER receipts_that_change_are_counted_again ON bardo.receipts;
    DROP FUNCTION bardo.receipt_changed;
    DROP FUNCTION bardo.series_ready;
    DROP FUNCTION bardo.add_series;
    DROP FUNCTION bardo.add_figures;
    DROP TABLE bardo.series_state, bardo.series, bardo.golems_seen, bardo.receipts_before;
    DROP INDEX bardo.transfers_with_shortfall;
    ALTER TABLE bardo.receipts DROP COLUMN no;
    DROP SEQUENCE bardo.receipts_no_seq;
    ALTER TABLE bardo.receipts DROP COLUMN subsystem, DROP COLUMN session,
        DROP COLUMN cache_read_tokens, DROP COLUMN cache_written_tokens, DROP COLUMN cache_saved,
        ALTER COLUMN provider_cost SET NOT NULL;
    DROP INDEX bardo.receipts_by_moment;
    CREATE INDEX receipts_by_age ON bardo.receipts USING brin (at_ms);";

#[test]
fn receipts_of_an_earlier_version_are_summed_and_it_may_go_on_beside_this_one() {
    let url = server().database().unwrap();
    drop(store(&url));
    server().execute(&url, WITHOUT_RECEIPTS_OF_ALL).unwrap();
    let old = "INSERT INTO bardo.receipts (account, request, model, provider, outcome, json, at_ms,
            input_tokens, output_tokens, provider_cost, charge, savings)
        VALUES ('owner', 'r1', 'm', 'sim', 'finished', '{}', 5, 100, 10, 0, 0, 0)";
    server().execute(&url, old).unwrap();
    let store = store(&url);
    let beside = "SELECT bardo.keep_receipts(2,
        ARRAY['owner', 'r2', NULL, 'k', 'm', 'sim', 'failed', '{}',
              'owner', 'r3', NULL, NULL, 'm', 'sim', 'finished', '{}'],
        ARRAY[6, 100, 10, 7, 0, 0, 7, 100, 10, 8, 0, 0])";
    server().execute(&url, beside).unwrap();
    let query = SumQuery {
        filter: ReceiptFilter::between(0, 9),
        by: vec![Dimension::Key, Dimension::Session],
        limit: 9,
    };
    let rows = block_on(store.sums(query)).unwrap();
    let found: Vec<_> = rows
        .iter()
        .map(|row| {
            assert_eq!((row.sums.unpriced_requests, &row.group.session), (0, &None));
            (
                row.group.key.as_deref(),
                row.sums.requests,
                row.sums.failed_requests,
                row.sums.provider_cost.get(),
            )
        })
        .collect();
    assert_eq!(found, [(None, 2, 0, 8), (Some("k"), 1, 1, 7)]);
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

/// Where a connection is lost before the answer, the store sends a command again.
#[test]
fn a_command_sent_again_is_done_once() {
    let url = server().database().unwrap();
    let store = store(&url);
    deposit(&*store, &account("payer"), 100, "operator:1");
    let twice = "DO $$
        DECLARE r record;
        BEGIN
            FOR i IN 1..2 LOOP
                SELECT * INTO r FROM bardo.reserve(
                    'payer', 'r1', 7, NULL, 60, 9, 1, '{key:k}', '{total}', '{0}', '{90}', '{1}');
                ASSERT r.outcome = 'held' AND r.held = 60 AND r.available = 40, r;
            END LOOP;
            SELECT * INTO r FROM bardo.reserve(
                'payer', 'r1', 8, NULL, 60, 9, 1, '{}', '{}', '{}', '{}', '{}');
            ASSERT r.outcome = 'duplicate', r;
            FOR i IN 1..2 LOOP
                SELECT * INTO r FROM bardo.extend('payer', 'r1', 9, 20);
                ASSERT r.outcome = 'held' AND r.held = 80 AND r.available = 20, r;
            END LOOP;
            SELECT * INTO r FROM bardo.extend('payer', 'r1', 10, 11);
            ASSERT r.outcome = 'capped' AND r.cap_used = 80, r;
            FOR i IN 1..2 LOOP
                SELECT * INTO r FROM bardo.settle(
                    'payer', 'r1', 'capture', 'sim', 30, 3, 1, NULL, NULL);
                ASSERT r.charged = 33 AND r.available = 67 AND r.repeated = (i = 2), r;
            END LOOP;
        END $$";
    server().execute(&url, twice).unwrap();
    adds_up(&*store);
}
