use std::sync::Arc;
use std::time::Duration;

use bardo_access::{KeyKind, KeyRecord, KeyStore, Scopes};
use bardo_ledger::contract::block_on;
use bardo_ledger::{
    Accounts, Cap, CapScope, CapWindow, Dimension, End, Funds, Holds, Ledger, ReceiptFilter,
    ReceiptRecord, Receipts, Settle, StoreError, SumQuery,
};
use bardo_types::ids::KeyId;

use super::rig::*;
use crate::sqlite::{Faults, OpenError, OpenMode, Options, SqliteStore};

fn settle_with_receipt(store: &dyn Ledger, number: u64, json: &str) -> Result<u64, StoreError> {
    let record = ReceiptRecord {
        json: json.into(),
        ..record("a", number, 24)
    };
    let command = Settle {
        record: Some(record),
        ..settle_command("a", number, capture(20, 4))
    };
    block_on(store.settle(command)).map(|settled| settled.charged.get())
}

#[test]
fn a_full_disk_stops_money_and_nothing_else_and_passes() {
    let folder = Folder::new();
    drop(folder.serve());
    let options = Options {
        max_pages: Some(120),
        ..Options::default()
    };
    let store = folder.serve_with(&options);
    deposit(&*store, "a", 1_000_000, "operator:1");
    let text = format!("{{\"pad\":\"{}\"}}", "x".repeat(3_000));
    let mut settled = 0;
    let failed = loop {
        match try_reserve(&*store, "a", settled, 30) {
            Ok(held) => held.unwrap(),
            Err(error) => break error,
        };
        assert_eq!(settle_with_receipt(&*store, settled, &text), Ok(24));
        settled += 1;
        assert!(settled < 1_000, "the file never became full");
        if settled % 10 == 0 && block_on(store.refresh()).is_err() {
            // What is held for may still be settled: the journal has room.
            reserve_fails(&*store);
        }
    };
    assert!(matches!(failed, StoreError::Unavailable(_)), "{failed}");
    let spent = settled * 24;
    assert_eq!(
        stands(&*store, "a"),
        (1_000_000, spent, 0, 1_000_000 - spent)
    );
    // Reads are served, as far as the database has it.
    check_verify(&*store);
    assert!(
        block_on(store.receipt(&account("a"), "req_0"))
            .unwrap()
            .is_some()
    );
    // Old receipts make room, and work goes on without a restart.
    assert!(block_on(store.prune(NOW_MS + settled / 2)).unwrap() > 0);
    until(|| try_reserve(&*store, "a", settled, 30).is_ok());
    assert_eq!(settle_with_receipt(&*store, settled, &text), Ok(24));
    reserve(&*store, "a", settled + 1, 30);
    assert_eq!(
        end(&*store, "a", settled + 1, End::Release).charged,
        micro(0)
    );
    assert_eq!(
        block_on(store.receipt(&account("a"), "req_0")).unwrap(),
        None
    );
    let lines = block_on(store.postings(&account("a"), 0, u32::MAX)).unwrap();
    assert_eq!(u64::try_from(lines.len()).unwrap(), 2 + (settled + 1) * 3);
    check_verify(&*store);
}

fn reserve_fails(store: &dyn Ledger) {
    let refused = try_reserve(store, "a", 5_000, 1);
    assert!(matches!(refused, Err(StoreError::Unavailable(_))));
}

#[test]
fn a_locked_file_stops_money_and_nothing_else_and_passes() {
    let folder = Folder::new();
    let store = folder.serve_with(&Options {
        busy_timeout: Duration::from_millis(20),
        ..Options::default()
    });
    deposit(&*store, "a", 100, "operator:1");
    reserve(&*store, "a", 1, 60);
    reserve(&*store, "a", 2, 10);
    let locker = folder.raw();
    locker.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let locked = |error| matches!(error, StoreError::Unavailable(_));
    assert!(locked(
        try_deposit(&*store, "a", 1, "operator:2").unwrap_err()
    ));
    // Nothing more is sold, and what was is settled: the journal keeps it.
    reserve_fails(&*store);
    assert_eq!(end(&*store, "a", 1, capture(20, 4)).charged, micro(24));
    persist(&*store, "a", 2).unwrap();
    reserve_fails(&*store);
    assert_eq!(stands(&*store, "a"), (100, 24, 10, 66));
    assert_eq!(
        block_on(store.postings(&account("a"), 0, 9)).unwrap().len(),
        2
    );
    check_verify(&*store);
    locker.execute_batch("COMMIT").unwrap();
    until(|| try_reserve(&*store, "a", 3, 1).is_ok());
    let settled = end(&*store, "a", 1, capture(20, 4));
    assert!(settled.repeated, "it was settled while the file was locked");
    assert_eq!(stands(&*store, "a"), (100, 24, 11, 65));
    assert_eq!(
        block_on(store.postings(&account("a"), 0, 9)).unwrap().len(),
        5
    );
    check_verify(&*store);
}

#[test]
fn what_was_settled_while_the_file_was_locked_survives_a_crash() {
    let folder = Folder::new();
    let store = folder.serve_with(&Options {
        busy_timeout: Duration::from_millis(20),
        ..Options::default()
    });
    deposit(&*store, "a", 100, "operator:1");
    reserve(&*store, "a", 1, 60);
    let locker = folder.raw();
    locker.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert_eq!(settle_with_receipt(&*store, 1, "{}"), Ok(24));
    crash(store);
    locker.execute_batch("COMMIT").unwrap();
    let store = folder.serve();
    assert_eq!(stands(&*store, "a"), (100, 24, 0, 76));
    check_verify(&*store);
}

#[test]
fn what_no_row_may_say_is_kept_aside_and_told() {
    let folder = Folder::new();
    let store = folder.serve();
    deposit(&*store, "a", 100, "operator:1");
    let charge = |number, provider: &str| {
        let store = &*store;
        reserve(store, "a", number, 10);
        let charge = bardo_ledger::Charge {
            provider: provider.into(),
            provider_cost: micro(5),
            spread: micro(1),
        };
        end(store, "a", number, End::Capture(charge));
    };
    charge(1, "sim");
    charge(2, &"x".repeat(600));
    charge(3, "sim");
    refresh(&store);
    assert_eq!(stands(&*store, "a"), (100, 18, 0, 82));
    let problems = || block_on(store.verify()).unwrap().problems;
    assert!(
        problems()
            .iter()
            .any(|problem| problem.contains("is not in the ledger")),
        "{:?}",
        problems()
    );
    let lines = block_on(store.postings(&account("a"), 0, 99)).unwrap();
    assert_eq!(lines.len(), 2 + 3 + 3);
    // Work goes on, and a restart does not stumble over it.
    charge(4, "sim");
    charge(5, &"y".repeat(600));
    charge(6, "sim");
    crash(store);
    let store = folder.serve();
    let lines = block_on(store.postings(&account("a"), 0, 99)).unwrap();
    assert_eq!(lines.len(), 2 + 4 * 3);
    let problems = block_on(store.verify()).unwrap().problems;
    let told = problems
        .iter()
        .filter(|told| told.contains("is not in the ledger"));
    assert_eq!(told.count(), 2);
}

fn key(id: &str) -> KeyRecord {
    KeyRecord {
        id: KeyId::parse(id).unwrap(),
        account: account("a"),
        kind: KeyKind::Spend,
        name: "a name".to_owned(),
        hash: "$2b$".to_owned(),
        scopes: Scopes::default(),
        tier: None,
        spread: None,
        created_at_ms: NOW_MS,
        expires_at_ms: None,
        revoked_at_ms: None,
        replaces: None,
    }
}

/// Asks until it is answered, as whoever must not lose money does.
fn insist<T>(mut ask: impl FnMut() -> Result<T, StoreError>) -> T {
    let mut answer = None;
    until(|| {
        answer = ask().ok();
        answer.is_some()
    });
    answer.unwrap()
}

#[test]
fn each_write_that_fails_once_changes_nothing_in_the_end() {
    let mut last = 0;
    for failing in 1..=30 {
        let folder = Folder::new();
        let store = folder.serve_with(&Options {
            faults: Some(Faults::new(move |number| number == failing)),
            ..Options::default()
        });
        insist(|| try_deposit(&*store, "a", 1_000, "operator:1")).unwrap();
        insist(|| try_deposit(&*store, "b", 50, "operator:1")).unwrap();
        for number in 0..6 {
            insist(|| try_reserve(&*store, "a", number, 40)).unwrap();
        }
        for number in 0..3 {
            insist(|| persist(&*store, "a", number));
        }
        insist(|| settle_with_receipt(&*store, 0, "{}"));
        insist(|| try_end(&*store, "a", 1, End::Unknown));
        insist(|| try_end(&*store, "a", 2, End::Release));
        // More than was held, and more than there is.
        insist(|| try_end(&*store, "a", 3, capture(45, 10)));
        insist(|| try_end(&*store, "b", 3, capture(45, 10)));
        store.release(&account("a"), &request(4), NOW_MS);
        insist(|| persist(&*store, "a", 5));
        insist(|| try_end(&*store, "a", 1, capture(10, 2)));
        insist(|| match block_on(store.insert(key("k1"))) {
            Ok(()) | Err(bardo_access::KeyError::Exists(_)) => Ok(()),
            Err(error) => Err(StoreError::Unavailable(error.to_string())),
        });
        assert_eq!(
            stands(&*store, "a"),
            (1_000, 24 + 55 + 12, 40, 1_000 - 91 - 40)
        );
        assert_eq!(stands(&*store, "b"), (50, 50, 0, 0));
        insist(|| block_on(store.refresh()));
        check_verify(&*store);
        let raw = folder.raw();
        let held: i64 = raw
            .query_row("SELECT held FROM accounts WHERE id = 'a'", [], |r| r.get(0))
            .unwrap();
        assert_eq!(held, 40, "the file says what the books say");
        crash(store);
        let store = folder.serve();
        assert_eq!(stands(&*store, "a"), (1_000, 91, 0, 909));
        check_verify(&*store);
        last = failing;
    }
    assert_eq!(last, 30);
}

#[test]
fn an_impossible_write_is_refused_alone() {
    let folder = Folder::new();
    let store = folder.serve();
    deposit(&*store, "a", 100, "operator:1");
    let too_long = format!("operator:{}", "x".repeat(600));
    let (bad, good) = block_on(async {
        let command = |reference: &str| bardo_ledger::Deposit {
            account: account("a"),
            amount: micro(5),
            reference: reference.to_owned(),
            now_ms: NOW_MS,
        };
        let both = vec![
            store.deposit(command(&too_long)),
            store.deposit(command("operator:2")),
        ];
        let mut answers = bardo_ledger::contract::join_all(both).await.into_iter();
        (answers.next().unwrap(), answers.next().unwrap())
    });
    assert!(matches!(bad, Err(StoreError::Damaged(_))), "{bad:?}");
    assert_eq!(good.unwrap().unwrap().deposited, micro(105));
    reserve(&*store, "a", 1, 105);
    check_verify(&*store);
}

#[test]
fn times_that_never_come_harm_nobody() {
    let folder = Folder::new();
    let store = folder.serve();
    block_on(store.deposit(bardo_ledger::Deposit {
        account: account("a"),
        amount: micro(100),
        reference: "operator:1".to_owned(),
        now_ms: u64::MAX,
    }))
    .unwrap()
    .unwrap();
    let command = bardo_ledger::Reserve {
        expires_at_ms: u64::MAX,
        now_ms: u64::MAX,
        ..reserve_command("a", 1, 60, Vec::new())
    };
    block_on(store.reserve(command)).unwrap().unwrap();
    persist(&*store, "a", 1).unwrap();
    let command = Settle {
        now_ms: u64::MAX,
        record: Some(ReceiptRecord {
            at_ms: u64::MAX,
            input_tokens: u64::MAX,
            ..record("a", 1, 24)
        }),
        ..settle_command("a", 1, capture(20, 4))
    };
    block_on(store.settle(command)).unwrap();
    assert_eq!(stands(&*store, "a"), (100, 24, 0, 76));
    settle_with_receipt(&*store, 2, "{}").unwrap();
    // Between the two receipts lie more minutes than can be looked at.
    for account in [None, Some(account("a"))] {
        let filter = ReceiptFilter {
            account,
            ..ReceiptFilter::between(0, u64::MAX)
        };
        let query = SumQuery {
            filter,
            by: vec![Dimension::Day],
            limit: u32::MAX,
        };
        assert_eq!(block_on(store.sums(query)).unwrap().len(), 1);
    }
    check_verify(&*store);
}

/// Under a cap that has room for this hold alone.
fn reserve_with_cap(store: &dyn Ledger, number: u64) {
    let cap = Cap {
        scope: CapScope::Account(account("a")),
        window: CapWindow::Total,
        limit: micro(50),
    };
    let command = reserve_command("a", number, 50, vec![cap]);
    block_on(store.reserve(command)).unwrap().unwrap();
}

#[test]
fn a_request_that_was_charged_long_ago_is_not_charged_again() {
    let folder = Folder::new();
    let store = folder.serve();
    deposit(&*store, "a", 100, "operator:1");
    // The charge is on record, and too old to be remembered.
    folder
        .raw()
        .execute_batch(
            "BEGIN; INSERT INTO transfers (at_ms, kind, account, reference, counterparty, \
             customer_amount, counterparty_amount, spread_amount) \
             VALUES (1, 'charge', 1, 'req_1', 'provider:sim', -24, 20, 4); \
             UPDATE accounts SET spent = 24; COMMIT",
        )
        .unwrap();
    drop(store);
    let store = folder.serve();
    assert_eq!(stands(&*store, "a"), (100, 24, 0, 76));
    // Without a hold it is looked up before, with one it is found when the database gets it.
    reserve_with_cap(&*store, 1);
    end(&*store, "a", 1, capture(40, 0));
    refresh(&store);
    assert_eq!(stands(&*store, "a"), (100, 24, 0, 76));
    check_verify(&*store);
    reserve_with_cap(&*store, 2);
    end(&*store, "a", 2, End::Release);
    crash(store);
    let store = folder.serve();
    reserve_with_cap(&*store, 1);
    end(&*store, "a", 1, capture(40, 0));
    crash(store);
    let store = folder.serve();
    let settled = end(&*store, "a", 1, capture(40, 0));
    assert_eq!((settled.charged, settled.repeated), (micro(24), true));
    assert_eq!(stands(&*store, "a"), (100, 24, 0, 76));
    check_verify(&*store);
}

#[test]
fn what_is_posted_cannot_be_changed() {
    let folder = Folder::new();
    let store = folder.serve();
    deposit(&*store, "a", 100, "operator:1");
    end(&*store, "a", 1, capture(20, 4));
    refresh(&store);
    let raw = folder.raw();
    for statement in [
        "UPDATE transfers SET reference = 'x'",
        "DELETE FROM transfers",
        "UPDATE audit SET actor = 'x'",
        "DELETE FROM audit",
        "INSERT INTO transfers VALUES (99, 1, 'charge', 1, 'x', 'provider:x', -5, 4, 0, 0)",
        "INSERT INTO transfers VALUES (99, 1, 'deposit', 1, 'x', 'funding:x', -5, 5, 0, 0)",
        "UPDATE accounts SET spent = deposited + 1",
        "UPDATE accounts SET held = -1",
        "INSERT INTO accounts (id, deposited) VALUES ('b', 'many')",
    ] {
        let refused = raw.execute(statement, []);
        assert!(refused.is_err(), "{statement}");
    }
    let lines: Vec<(String, i64)> = raw
        .prepare("SELECT book, amount FROM postings ORDER BY transfer, line")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let line = |book: &str, amount| (book.to_owned(), amount);
    assert_eq!(
        lines,
        [
            line("customer:a", 100),
            line("funding:operator", -100),
            line("customer:a", -24),
            line("provider:sim", 20),
            line("spread", 4),
        ]
    );
}

#[test]
fn verification_sees_each_kind_of_damage() {
    let damages = [
        ("UPDATE accounts SET deposited = 90", "the postings are"),
        ("UPDATE accounts SET spent = 25", "the postings are"),
        ("UPDATE accounts SET held = 7", "the holds are"),
        ("DELETE FROM holds", "the holds are"),
        (
            "UPDATE receipts SET charge = 23",
            "shows 23, but the postings are 24",
        ),
        (
            "INSERT INTO cap_counters VALUES (1, 'key:k', 'day', 0, 99)",
            "above the amount spent",
        ),
        ("DELETE FROM accounts", "that does not exist"),
    ];
    for (damage, told) in damages {
        let folder = Folder::new();
        let store = folder.serve();
        deposit(&*store, "a", 100, "operator:1");
        reserve(&*store, "a", 2, 30);
        persist(&*store, "a", 2).unwrap();
        settle_with_receipt(&*store, 1, "{}").unwrap();
        check_verify(&*store);
        let raw = folder.raw();
        raw.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
            .unwrap();
        raw.execute_batch(damage).unwrap();
        let problems = block_on(store.verify()).unwrap().problems;
        assert!(
            problems.iter().any(|problem| problem.contains(told)),
            "{damage}: {problems:?}"
        );
    }
}

#[test]
fn the_files_are_for_their_owners_eyes_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let _store = folder.serve();
    for end in ["", "-wal", "-shm"] {
        let path = format!("{}{end}", folder.file().display());
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{path}: {mode:o}");
    }
    let journal = std::fs::metadata(folder.journal()).unwrap();
    assert_eq!(journal.permissions().mode() & 0o777, 0o600);
}

#[test]
fn other_files_are_left_alone() {
    let folder = Folder::new();
    let open = |mode| SqliteStore::open(folder.file(), mode).map(|_| ());
    std::fs::write(folder.file(), "").unwrap();
    open(OpenMode::Tool).unwrap();
    let raw = folder.raw();
    let version: i64 = raw
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(version, 6, "an empty file was brought up to date");
    raw.execute_batch("PRAGMA user_version = 99").unwrap();
    assert!(matches!(
        open(OpenMode::Serve),
        Err(OpenError::TooNew { found: 99, .. })
    ));
    raw.execute_batch("PRAGMA application_id = 7").unwrap();
    assert!(matches!(
        open(OpenMode::Serve),
        Err(OpenError::Foreign { found: 7, .. })
    ));
    drop(raw);
    std::fs::write(
        folder.file(),
        "no database at all, but long enough".repeat(99),
    )
    .unwrap();
    assert!(matches!(open(OpenMode::Tool), Err(OpenError::Store { .. })));
    let nowhere = folder.file().join("nowhere").join("ledger.db");
    let missing = SqliteStore::open(nowhere, OpenMode::Serve).map(|_| ());
    assert!(matches!(missing, Err(OpenError::Io { .. })));
}

#[test]
fn receipts_that_move_no_money_are_dropped_when_too_many_wait() {
    let folder = Folder::new();
    let store: Arc<SqliteStore> = folder.serve_with(&Options {
        busy_timeout: Duration::from_millis(20),
        ..Options::default()
    });
    let locker = folder.raw();
    locker.execute_batch("BEGIN IMMEDIATE").unwrap();
    for number in 0..10_000 {
        store.record(record("owner", number, 0));
    }
    let dropped = store.dropped();
    assert!((1..10_000).contains(&dropped), "{dropped}");
    locker.execute_batch("COMMIT").unwrap();
    let kept = 10_000 - dropped;
    let count = || -> u64 {
        folder
            .raw()
            .query_row("SELECT count(*) FROM receipts", [], |row| row.get(0))
            .unwrap()
    };
    until(|| count() == kept);
    assert_eq!(block_on(store.balance(&account("owner"))).unwrap(), None);
    check_verify(&*store);
}
