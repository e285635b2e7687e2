use bardo_ledger::contract::block_on;
use bardo_ledger::{
    Accounts, Cap, CapScope, CapWindow, End, HoldState, Holds, Ledger, LedgerRefusal,
    ReceiptFilter, Receipts, Settle, SumQuery,
};
use bardo_types::ids::KeyId;

use super::rig::*;

fn rows(folder: &Folder, table: &str) -> i64 {
    folder
        .raw()
        .query_row(&format!("SELECT count(*) FROM {table}"), [], |r| r.get(0))
        .unwrap()
}

#[test]
fn what_was_acknowledged_survives_and_open_holds_end() {
    let folder = Folder::new();
    let store = folder.serve();
    deposit(&*store, "a", 1_000, "operator:1");
    for number in 1..=4 {
        reserve(&*store, "a", number, 100);
    }
    let command = Settle {
        record: Some(record("a", 1, 24)),
        ..settle_command("a", 1, capture(20, 4))
    };
    block_on(store.settle(command)).unwrap();
    end(&*store, "a", 2, End::Unknown);
    persist(&*store, "a", 3).unwrap();
    crash(store);
    // Without a server, a tool sees all of it.
    let tool = folder.tool();
    assert_eq!(stands(&tool, "a").1, 24);
    let holds = block_on(tool.holds(None)).unwrap();
    for number in [2, 3] {
        assert!(holds.iter().any(|hold| hold.request == request(number)));
    }
    check_verify(&tool);
    drop(tool);

    let store = folder.serve();
    assert_eq!(stands(&*store, "a"), (1_000, 24, 100, 876));
    let holds = block_on(store.holds(None)).unwrap();
    assert_eq!(holds.len(), 1);
    assert_eq!(holds[0].request, request(2));
    assert_eq!(holds[0].state, HoldState::Unknown);
    let receipt = block_on(store.receipt(&account("a"), "mine")).unwrap();
    assert_eq!(receipt.as_deref(), Some("{\"n\":1}"));
    // Sent again, nothing happens twice.
    let settled = end(&*store, "a", 1, capture(20, 4));
    assert_eq!((settled.charged, settled.repeated), (micro(24), true));
    deposit(&*store, "a", 1_000, "operator:1");
    // A request that was under way is charged late, if it was carried out after all.
    assert_eq!(end(&*store, "a", 3, capture(10, 0)).charged, micro(10));
    assert_eq!(end(&*store, "a", 2, capture(30, 0)).charged, micro(30));
    assert_eq!(stands(&*store, "a"), (1_000, 64, 0, 936));
    check_verify(&*store);
    crash(store);
    let store = folder.serve();
    assert_eq!(stands(&*store, "a"), (1_000, 64, 0, 936));
    check_verify(&*store);
}

#[test]
fn a_hold_gets_a_row_when_it_lives_long_and_loses_it_when_it_ends() {
    let folder = Folder::new();
    let store = folder.serve();
    deposit(&*store, "a", 1_000, "operator:1");
    reserve(&*store, "a", 1, 100);
    until(|| rows(&folder, "holds") == 1);
    assert_eq!(
        block_on(store.extend(&account("a"), &request(1), micro(11), NOW_MS)),
        Ok(Ok(bardo_ledger::Reservation {
            held: micro(111),
            available: micro(889),
        }))
    );
    persist(&*store, "a", 1).unwrap();
    refresh(&store);
    let held = || -> i64 {
        folder
            .raw()
            .query_row("SELECT sum(held) FROM accounts", [], |r| r.get(0))
            .unwrap()
    };
    assert_eq!(held(), 111);
    store.release(&account("a"), &request(1), NOW_MS);
    assert_eq!(stands(&*store, "a"), (1_000, 0, 0, 1_000));
    until(|| rows(&folder, "holds") == 0 && held() == 0);
    // One that is settled at once never had one.
    folder
        .raw()
        .execute_batch(
            "CREATE TRIGGER no_row BEFORE INSERT ON holds \
             BEGIN SELECT RAISE(ABORT, 'a row'); END",
        )
        .unwrap();
    reserve(&*store, "a", 2, 100);
    assert_eq!(end(&*store, "a", 2, capture(5, 0)).charged, micro(5));
    refresh(&store);
    check_verify(&*store);
    // Nor does one that ends before the database gets it.
    reserve(&*store, "a", 3, 100);
    persist(&*store, "a", 3).unwrap();
    assert_eq!(end(&*store, "a", 3, capture(5, 0)).charged, micro(5));
    refresh(&store);
    assert_eq!(stands(&*store, "a"), (1_000, 10, 0, 990));
    check_verify(&*store);
}

#[test]
fn money_that_a_hold_gave_back_is_held_again_after_a_crash() {
    let folder = Folder::new();
    let store = folder.serve();
    deposit(&*store, "a", 100, "operator:1");
    for number in 1..=20 {
        reserve(&*store, "a", number, 100);
        persist(&*store, "a", number).unwrap();
        if number % 5 == 0 {
            refresh(&store);
        }
        store.release(&account("a"), &request(number), NOW_MS);
    }
    reserve(&*store, "a", 21, 80);
    end(&*store, "a", 21, End::Unknown);
    crash(store);
    let tool = folder.tool();
    assert_eq!(stands(&tool, "a"), (100, 0, 80, 20));
    check_verify(&tool);
}

#[test]
fn the_journal_is_begun_anew_when_the_database_has_it() {
    let folder = Folder::new();
    let size = || std::fs::metadata(folder.journal()).unwrap().len();
    let store = folder.serve();
    let empty = size();
    deposit(&*store, "a", 1_000_000_000, "operator:1");
    let json = format!("{{\"pad\":\"{}\"}}", "x".repeat(100_000));
    let mut longest = 0;
    for number in 0..400 {
        reserve(&*store, "a", number, 30);
        let receipt = bardo_ledger::ReceiptRecord {
            json: json.as_str().into(),
            ..record("a", number, 24)
        };
        let command = Settle {
            record: Some(receipt),
            ..settle_command("a", number, capture(20, 4))
        };
        assert_eq!(block_on(store.settle(command)).unwrap().charged, micro(24));
        longest = longest.max(size());
        if number % 50 == 0 {
            refresh(&store);
        }
    }
    assert!(longest > empty + 1_000_000, "{longest}");
    until(|| size() < 17_000_000);
    drop(store);
    assert_eq!(size(), empty);
    let store = folder.serve();
    assert_eq!(stands(&*store, "a").1, 400 * 24);
    assert_eq!(rows(&folder, "receipts"), 400);
    check_verify(&*store);
}

#[test]
fn books_of_an_earlier_version_are_taken_over() {
    let folder = Folder::new();
    folder
        .raw()
        .execute_batch(concat!(
            "PRAGMA journal_mode = WAL; PRAGMA application_id = 0x4252444f; BEGIN;",
            include_str!("../migrations/0001.sql"),
            "PRAGMA user_version = 1;
             INSERT INTO accounts VALUES (1, 'a', 5, 100, 24, 30);
             INSERT INTO transfers VALUES (1, 5, 'deposit', 1, 'operator:1', 'funding:operator', 100, -100, 0, 0);
             INSERT INTO transfers VALUES (2, 6, 'charge', 1, 'req_1', 'provider:sim', -24, 20, 4, 0);
             INSERT INTO holds VALUES (1, 'req_2', 30, 'unknown', NULL, 6, 7);
             COMMIT;"
        ))
        .unwrap();
    let store = folder.serve();
    assert_eq!(stands(&*store, "a"), (100, 24, 30, 46));
    end(&*store, "a", 2, capture(10, 2));
    assert!(end(&*store, "a", 1, capture(20, 4)).repeated);
    crash(store);
    let store = folder.serve();
    assert_eq!(stands(&*store, "a"), (100, 36, 0, 64));
    check_verify(&*store);
}

#[test]
fn receipts_of_an_earlier_version_are_summed_and_their_costs_count_as_known() {
    let folder = Folder::new();
    folder
        .raw()
        .execute_batch(concat!(
            "PRAGMA journal_mode = WAL; PRAGMA application_id = 0x4252444f; BEGIN;",
            include_str!("../migrations/0001.sql"),
            include_str!("../migrations/0002.sql"),
            "PRAGMA user_version = 2;
             INSERT INTO accounts (no, id) VALUES (1, 'owner');
             INSERT INTO receipts VALUES
                 (1, 1, 'req_1', NULL, 'k', 1795190400000, 'm', 'sim', 'failed', 100, 10, 0, 0, 5),
                 (2, 1, 'req_2', NULL, NULL, 1795190400001, 'm', 'sim', 'finished', 100, 10, 7, 0, 5);
             INSERT INTO receipt_texts VALUES (1, '{}'), (2, '{}');
             COMMIT;"
        ))
        .unwrap();
    let store = folder.serve();
    store.record(record("owner", 3, 0));
    refresh(&store);
    let query = SumQuery {
        filter: ReceiptFilter::between(0, u64::MAX),
        by: Vec::new(),
        limit: 9,
    };
    let rows = block_on(store.sums(query)).unwrap();
    let sums = rows[0].sums;
    assert_eq!((sums.requests, sums.failed_requests), (3, 1));
    assert_eq!((sums.unpriced_requests, sums.provider_cost), (0, micro(27)));
}

#[test]
fn a_store_that_is_closed_writes_what_waits() {
    let folder = Folder::new();
    let store = folder.serve();
    for number in 0..3_000 {
        store.record(record("owner", number, 0));
    }
    drop(store);
    assert_eq!(rows(&folder, "receipts"), 3_000);
    assert_eq!(rows(&folder, "receipt_texts"), 3_000);
}

#[test]
fn the_journal_is_moved_into_the_file_while_the_store_is_open() {
    let folder = Folder::new();
    let store = folder.serve();
    let size = || std::fs::metadata(folder.file()).unwrap().len();
    let before = size();
    for number in 0..2_000 {
        store.record(record("owner", number, 0));
    }
    until(|| size() > before + 100_000);
    check_verify(&*store);
}

#[test]
fn caps_count_on_after_a_restart() {
    let folder = Folder::new();
    let caps = |limit| {
        let of = |window| Cap {
            scope: CapScope::Key(KeyId::parse("key").unwrap()),
            window,
            limit: micro(limit),
        };
        vec![of(CapWindow::Day), of(CapWindow::Total)]
    };
    let capped = |store: &dyn Ledger, number, amount, limit| {
        block_on(store.reserve(reserve_command("a", number, amount, caps(limit)))).unwrap()
    };
    let store = folder.serve();
    deposit(&*store, "a", 1_000, "operator:1");
    capped(&*store, 1, 50, 100).unwrap();
    capped(&*store, 2, 30, 100).unwrap();
    end(&*store, "a", 1, capture(40, 5));
    end(&*store, "a", 2, End::Unknown);
    crash(store);

    let store = folder.serve();
    let used = |answer| match answer {
        Err(LedgerRefusal::Capped { used, .. }) => used.get(),
        other => unreachable!("{other:?}"),
    };
    assert_eq!(used(capped(&*store, 3, 26, 100)), 75);
    end(&*store, "a", 2, capture(10, 0));
    assert_eq!(used(capped(&*store, 3, 46, 100)), 55);
    capped(&*store, 3, 45, 100).unwrap();
    drop(store);

    let tool = folder.tool();
    check_verify(&tool);
    let store = folder.serve();
    assert_eq!(used(capped(&*store, 4, 46, 100)), 55);
}
