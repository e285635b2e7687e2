//! Series over a file that an earlier version wrote, that is pruned, and that ends at any moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bardo_ledger::contract::block_on;
use bardo_ledger::series::{
    Figure, ReceiptSearch, Resolution, RolledUp, SeriesDimension, SeriesFigures, SeriesKeep,
    SeriesQuery,
};
use bardo_ledger::{Cursor, Holds, ReceiptFilter, ReceiptRecord, ReceiptSeries, Receipts};

use super::rig::{Folder, NOW_MS, crash, record, refresh};
use crate::sqlite::{Faults, Options, SqliteStore};

fn keep(store: &SqliteStore, numbers: std::ops::Range<u64>) {
    for number in numbers {
        store.record(record("owner", number, 0));
    }
    refresh(store);
}

fn step(store: &SqliteStore, limit: u32) -> RolledUp {
    block_on(store.roll_up(SeriesKeep::default(), limit)).unwrap()
}

fn roll_up(store: &SqliteStore, limit: u32) {
    while step(store, limit).has_more {}
}

fn total(store: &SqliteStore) -> SeriesFigures {
    let query = SeriesQuery {
        resolution: Resolution::Day,
        from_ms: 0,
        to_ms: NOW_MS + 10 * 86_400_000,
        account: None,
        dimension: SeriesDimension::Total,
        only: None,
        summed: true,
    };
    let rows = block_on(store.series(query)).unwrap();
    rows.first().map(|row| row.figures).unwrap_or_default()
}

fn requests(store: &SqliteStore) -> i64 {
    total(store).get(Figure::Requests)
}

#[test]
fn receipts_of_an_earlier_version_are_added_in_bounded_steps_after_new_ones() {
    let folder = Folder::new();
    let store = folder.serve();
    keep(&store, 0..10);
    drop(store);
    let back = "UPDATE series_state SET done = 10, back = 10";
    folder.raw().execute_batch(back).unwrap();
    let store = folder.serve();
    keep(&store, 10..12);
    assert_eq!(block_on(store.lag()).unwrap().waiting, 2);
    // The two new ones, which the server added up, and three that are read.
    let first = step(&store, 3);
    assert_eq!((first.receipts, first.has_more), (5, true));
    assert!(block_on(store.lag()).unwrap().is_back_filling);
    assert_eq!(requests(&store), 5);
    roll_up(&store, 3);
    assert_eq!(requests(&store), 12);
    assert_eq!(step(&store, 3), RolledUp::default());
    assert!(!block_on(store.lag()).unwrap().is_back_filling);
}

#[test]
fn a_process_that_ends_between_steps_loses_no_receipt_and_adds_none_twice() {
    let folder = Folder::new();
    let store = folder.serve();
    keep(&store, 0..7);
    step(&store, 4);
    crash(store);
    let store = folder.serve();
    roll_up(&store, 4);
    assert_eq!(requests(&store), 7);
    // A command beside the server adds what waits, once.
    let tool = folder.tool();
    keep(&store, 7..9);
    roll_up(&tool, 4);
    roll_up(&store, 4);
    assert_eq!(requests(&store), 9);
}

#[test]
fn a_step_that_was_read_before_a_receipt_changed_is_not_written() {
    let folder = Folder::new();
    let store = folder.serve();
    keep(&store, 0..3);
    let mut reader = folder.raw();
    let stale = crate::sqlite::series::read(&mut reader, SeriesKeep::default(), 9);
    let stale = stale.unwrap().unwrap();
    keep(&store, 1..2);
    assert!(!crate::sqlite::series::write(&folder.raw(), &stale).unwrap());
    assert_eq!(requests(&store), 0);
    roll_up(&store, 9);
    assert_eq!(requests(&store), 3);
    // Changed again after it was added: it counts once.
    keep(&store, 1..2);
    roll_up(&store, 9);
    assert_eq!(requests(&store), 3);
}

#[test]
fn receipts_after_all_others_were_deleted_are_added_too() {
    let folder = Folder::new();
    let store = folder.serve();
    keep(&store, 0..5);
    roll_up(&store, 9);
    let deleted = block_on(store.prune(u64::MAX)).unwrap();
    assert_eq!(deleted, 5);
    keep(&store, 5..7);
    roll_up(&store, 9);
    // Figures of deleted receipts stay.
    assert_eq!(requests(&store), 7);
    assert_eq!(block_on(store.lag()).unwrap().waiting, 0);
    assert_eq!(store.dropped(), 0);
}

/// Receipts of three blocks, written in bulk: of 7 sessions, every 1,000th of a rare outcome.
fn fill(folder: &Folder, count: u64) {
    let mut raw = folder.raw();
    let transaction = raw.transaction().unwrap();
    let sql = "INSERT INTO accounts (no, id) VALUES (1, 'owner')";
    transaction.execute(sql, []).unwrap();
    for number in 1..=count {
        let outcome = if number % 1_000 == 0 {
            "unknown"
        } else {
            "finished"
        };
        let session = format!("s{}", number % 7);
        let request = format!("req_{number:06}");
        transaction
            .execute(
                "INSERT INTO receipts (no, account, request, at_ms, model, provider, outcome, \
                 input_tokens, output_tokens, provider_cost, charge, savings, session) \
                 VALUES (?1, 1, ?2, ?1 * 1000, 'm', 'sim', ?3, 1, 1, 1, 0, 0, ?4)",
                rusqlite::params![number, request, outcome, session],
            )
            .unwrap();
        let json = format!(
            r#"{{"cache":"miss","routing":{{"golem_id":"g{}"}}}}"#,
            number % 3
        );
        let sql = "INSERT INTO receipt_texts (no, json) VALUES (?1, ?2)";
        transaction
            .execute(sql, rusqlite::params![number, json])
            .unwrap();
    }
    transaction.commit().unwrap();
}

#[test]
fn searches_over_several_blocks_find_what_looking_at_each_receipt_finds() {
    let folder = Folder::new();
    drop(folder.serve());
    fill(&folder, 9_000);
    let store = folder.serve();
    roll_up(&store, 3_000);
    assert_eq!(requests(&store), 9_000);
    let found = |change: &dyn Fn(&mut ReceiptSearch)| -> Vec<u64> {
        let mut search = ReceiptSearch {
            filter: ReceiptFilter::between(0, u64::MAX >> 1),
            limit: 500,
            ..ReceiptSearch::default()
        };
        change(&mut search);
        let mut all = Vec::new();
        loop {
            let page = block_on(store.search(search.clone())).unwrap();
            let at = page.records.iter().map(|record| record.at_ms / 1_000);
            all.extend(at);
            search.after = page.records.last().map(Cursor::of);
            if page.records.len() < 500 {
                return all;
            }
        }
    };
    let expected = |covers: &dyn Fn(u64) -> bool| -> Vec<u64> {
        (1..=9_000).rev().filter(|number| covers(*number)).collect()
    };
    let unknown = found(&|search| search.filter.outcome = Some("unknown".to_owned()));
    assert_eq!(unknown, expected(&|number| number % 1_000 == 0));
    let both = found(&|search| {
        search.filter.session = Some("s3".to_owned());
        search.golem = Some("g1".to_owned());
    });
    assert_eq!(both, expected(&|number| number % 7 == 3 && number % 3 == 1));
    let early = found(&|search| {
        search.golem = Some("g2".to_owned());
        search.filter.to_ms = 5_000_000;
    });
    assert_eq!(early, expected(&|number| number < 5_000 && number % 3 == 2));
    let prefix = found(&|search| search.request_prefix = Some("req_0".to_owned()));
    assert_eq!(prefix, expected(&|_| true));
    let few = found(&|search| {
        search.request_prefix = Some("req_0041".to_owned());
        search.golem = Some("g0".to_owned());
    });
    assert_eq!(
        few,
        expected(&|number| number / 100 == 41 && number % 3 == 0)
    );
}

/// A receipt of one of three agents, with a text that has all that series know of.
fn of_an_agent(number: u64) -> ReceiptRecord {
    let outcome = if number.is_multiple_of(5) {
        "failed"
    } else {
        "finished"
    };
    let json = format!(
        r#"{{"attempts":[{{"class":"timeout"}},{{"class":null}}],"usage":{{"reasoning_tokens":7}},"cost":{{"mode":"prepaid","spread":"0.000004","shortfall":"0.000001"}},"cache":"miss","routing":{{"golem_id":"g{}","phase":"stable","vitality":0.5}},"timings_ms":{{"first_content":{number},"total":{}}}}}"#,
        number % 3,
        number * 30
    );
    ReceiptRecord {
        outcome,
        session: Some(format!("s{}", number / 10).into()),
        at_ms: NOW_MS + number * 5_000,
        json: json.into(),
        ..record("owner", number, number)
    }
}

/// Writes a receipt as another process does.
fn write_beside(folder: &Folder) {
    let sql = "INSERT INTO receipts (account, request, at_ms, model, provider, outcome, \
         input_tokens, output_tokens, provider_cost, charge, savings) \
         SELECT account, 'req_other', at_ms, model, provider, outcome, 1, 1, 0, 0, 0 \
         FROM receipts WHERE no = 1; \
         INSERT INTO receipt_texts SELECT max(no), '{}' FROM receipts";
    folder.raw().execute_batch(sql).unwrap();
}

/// Takes away the texts, without which no step can read a receipt.
fn drop_texts(folder: &Folder) {
    let sql = "DELETE FROM receipt_texts";
    folder.raw().execute_batch(sql).unwrap();
}

#[test]
fn receipts_that_the_server_wrote_are_added_without_reading_them() {
    let folder = Folder::new();
    let store = folder.serve();
    assert_eq!(step(&store, 9), RolledUp::default());
    keep(&store, 0..3);
    keep(&store, 3..5);
    drop_texts(&folder);
    let added = step(&store, 9);
    assert_eq!((added.receipts, added.has_more), (5, false));
    assert_eq!(requests(&store), 5);
    keep(&store, 5..6);
    drop_texts(&folder);
    assert_eq!(step(&store, 9).receipts, 1);
    assert_eq!(requests(&store), 6);
    assert_eq!(step(&store, 9), RolledUp::default());
    assert_eq!(block_on(store.lag()).unwrap().waiting, 0);
}

#[test]
fn what_the_writer_added_up_is_the_same_as_what_a_step_reads() {
    let rows = |is_written: bool| {
        let folder = Folder::new();
        let store = folder.serve();
        for number in 0..50 {
            store.record(of_an_agent(number));
        }
        refresh(&store);
        if is_written {
            drop_texts(&folder);
            roll_up(&store, 99);
        } else {
            roll_up(&folder.tool(), 99);
        }
        let mut all = Vec::new();
        for table in ["series", "golems_seen", "receipt_places", "receipt_spans"] {
            let raw = folder.raw();
            let mut select = raw.prepare(&format!("SELECT * FROM {table}")).unwrap();
            let columns = select.column_count();
            let mut rows = select.raw_query();
            while let Some(row) = rows.next().unwrap() {
                let value = |column| row.get::<_, rusqlite::types::Value>(column).unwrap();
                all.push((table, (0..columns).map(value).collect::<Vec<_>>()));
            }
        }
        all
    };
    let (written, read) = (rows(true), rows(false));
    assert!(written.len() > 40, "{}", written.len());
    assert_eq!(written, read);
}

#[test]
fn sums_of_the_writer_are_dropped_where_they_do_not_hold_any_more() {
    type Change = fn(&Folder, &SqliteStore);
    let changes: [(&str, Change, i64); 4] = [
        ("a receipt changed", |_, store| keep(store, 1..2), 6),
        (
            "another process was first",
            |folder, _| roll_up(&folder.tool(), 9),
            6,
        ),
        (
            "another process wrote a receipt",
            |folder, store| {
                write_beside(folder);
                keep(store, 6..7);
            },
            8,
        ),
        (
            "all were deleted",
            |_, store| {
                block_on(store.prune(u64::MAX)).unwrap();
                keep(store, 6..7);
            },
            4,
        ),
    ];
    for (what, change, expected) in changes {
        let folder = Folder::new();
        let store = folder.serve();
        keep(&store, 0..3);
        roll_up(&store, 9);
        keep(&store, 3..6);
        change(&folder, &store);
        roll_up(&store, 9);
        assert_eq!(requests(&store), expected, "{what}");
        assert_eq!(block_on(store.lag()).unwrap().waiting, 0, "{what}");
        keep(&store, 10..12);
        roll_up(&store, 9);
        assert_eq!(requests(&store), expected + 2, "{what}");
    }
}

#[test]
fn sums_that_the_writer_had_not_written_are_read_after_a_crash() {
    let folder = Folder::new();
    let store = folder.serve();
    keep(&store, 0..2);
    roll_up(&store, 9);
    keep(&store, 2..5);
    crash(store);
    let store = folder.serve();
    keep(&store, 5..6);
    roll_up(&store, 9);
    assert_eq!(requests(&store), 6);
}

#[test]
fn sums_of_a_transaction_that_did_not_happen_are_dropped() {
    let folder = Folder::new();
    let fails = Arc::new(AtomicBool::new(false));
    let once = Arc::clone(&fails);
    let options = Options {
        faults: Some(Faults::new(move |_| once.swap(false, Ordering::AcqRel))),
        ..Options::default()
    };
    let store = folder.serve_with(&options);
    keep(&store, 0..2);
    roll_up(&store, 9);
    keep(&store, 2..3);
    fails.store(true, Ordering::Release);
    for number in 3..5 {
        store.record(record("owner", number, 10));
    }
    assert!(block_on(store.refresh()).is_err());
    // Another receipt gets the number that one of them had.
    write_beside(&folder);
    refresh(&store);
    roll_up(&store, 9);
    assert_eq!(requests(&store), 6);
    assert_eq!(total(&store).get(Figure::Charge), 20);
}
