//! Several rows in one statement: which of them are new, and what becomes of the others.

use bardo_ledger::contract::block_on;
use bardo_ledger::series::{ReceiptDetails, SeriesKeep};
use bardo_ledger::{
    Holds as _, ReceiptRecord, ReceiptSeries as _, Receipts as _, Settle, SettledCost,
};
use bardo_types::money::MicroUsd;
use bardo_types::receipt::text::member;
use rusqlite::Connection;

use super::rig::{Folder, account, capture, crash, deposit, record, reserve, settle_command};
use crate::sqlite::inserts::{ChargeRow, Inserts, ROWS};
use crate::sqlite::rows;

/// A full statement, and two rows alone.
const COUNT: u64 = ROWS as u64 + 2;

fn with_account() -> (Folder, Connection, i64) {
    let folder = Folder::new();
    drop(folder.serve());
    let connection = folder.raw();
    let no = rows::account_no(&connection, &account("a")).unwrap();
    (folder, connection, no)
}

fn charge(account: i64, request: &str) -> ChargeRow<'_> {
    ChargeRow {
        at_ms: 1,
        account,
        request,
        provider: "sim",
        paid: SettledCost {
            provider_cost: MicroUsd::new(2),
            ..SettledCost::default()
        },
    }
}

fn transfers(connection: &Connection) -> u64 {
    connection
        .query_row("SELECT count(*) FROM transfers", [], |row| row.get(0))
        .unwrap()
}

#[test]
fn a_charge_is_written_once_whatever_stands_beside_it() {
    let (_folder, connection, account) = with_account();
    let names: Vec<_> = (0..COUNT).map(|number| format!("req_{number}")).collect();
    let row = |number: usize| charge(account, &names[number]);
    let mut inserts = Inserts::new(&connection).unwrap();
    assert_eq!(inserts.charges(&[row(3)]).unwrap(), [true]);
    assert_eq!(inserts.charges(&[row(3)]).unwrap(), [false]);

    let mut all: Vec<_> = (0..names.len()).map(row).collect();
    // Twice within one statement.
    all.insert(6, row(5));
    let made = inserts.charges(&all).unwrap();
    let not_made: Vec<_> = (0..made.len()).filter(|at| !made[*at]).collect();
    assert_eq!(not_made, [3, 6]);
    assert_eq!(transfers(&connection), COUNT);
    assert_eq!(inserts.charges(&all).unwrap(), vec![false; all.len()]);
    assert_eq!(transfers(&connection), COUNT);
}

#[test]
fn a_bad_row_fails_its_statement_and_a_rollback_leaves_nothing_of_the_rows_before_it() {
    let (_folder, mut connection, account) = with_account();
    let mut names: Vec<_> = (0..ROWS).map(|number| format!("req_{number}")).collect();
    // Longer than a reference may be.
    names[ROWS - 2] = "r".repeat(513);
    let all: Vec<_> = names.iter().map(|name| charge(account, name)).collect();
    let transaction = connection.transaction().unwrap();
    let refused = Inserts::new(&transaction).unwrap().charges(&all);
    assert!(refused.unwrap_err().to_string().contains("CHECK"));
    drop(transaction);
    assert_eq!(transfers(&connection), 0);
    names[ROWS - 2] = "req_good".to_owned();
    let all: Vec<_> = names.iter().map(|name| charge(account, name)).collect();
    let made = Inserts::new(&connection).unwrap().charges(&all).unwrap();
    assert_eq!(made, [true; ROWS]);
}

#[test]
fn a_receipt_takes_the_place_of_an_earlier_one_within_a_statement_too() {
    let (_folder, connection, account) = with_account();
    let texts = |connection: &Connection| -> Vec<(String, String)> {
        connection
            .prepare("SELECT r.request, t.json FROM receipts r JOIN receipt_texts t USING (no) ORDER BY no")
            .unwrap()
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap()
    };
    let mut inserts = Inserts::new(&connection).unwrap();
    let first = record("a", 3, 1);
    assert_eq!(inserts.receipts(&[(account, &first)]).unwrap(), [Some(1)]);

    let mut records: Vec<_> = (0..COUNT).map(|number| record("a", number, 7)).collect();
    let twice = ReceiptRecord {
        json: "{\"n\":\"again\"}".into(),
        ..record("a", 5, 7)
    };
    records.insert(6, twice);
    let all: Vec<_> = records.iter().map(|record| (account, record)).collect();
    let numbers = inserts.receipts(&all).unwrap();
    let old: Vec<_> = (0..numbers.len())
        .filter(|at| numbers[*at].is_none())
        .collect();
    assert_eq!(old, [3, 6]);
    let new: Vec<_> = numbers.into_iter().flatten().collect();
    assert_eq!(new, (2..=COUNT.cast_signed()).collect::<Vec<_>>());

    let kept = texts(&connection);
    assert_eq!(kept.len() as u64, COUNT);
    for (request, json) in kept {
        let number = request.trim_start_matches("req_");
        let text = if number == "5" { "\"again\"" } else { number };
        assert_eq!(json, format!("{{\"n\":{text}}}"));
    }
    let charges: u64 = connection
        .query_row("SELECT sum(charge) FROM receipts", [], |row| row.get(0))
        .unwrap();
    assert_eq!(charges, 7 * COUNT);
}

/// A receipt whose text has codes and lacks the balance alone, as the engine writes it.
fn coded(number: u64) -> ReceiptRecord {
    let name = |name| &member(name)[1..];
    let text = format!(
        "{{{}\"req_{number}\"{}{{{}\"prepaid\"{}\"0.000004\"{}null}}{}\"hash\"{}{{{}7}}}}",
        name("request_id"),
        member("cost"),
        name("mode"),
        member("spread"),
        member("balance"),
        member("cache"),
        member("timings_ms"),
        name("total"),
    );
    let details = ReceiptDetails {
        layer: "hash".into(),
        golem: None,
        phase: None,
        vitality: None,
        sustainability: None,
        class: None,
        attempts: 0,
        failed_attempts: 0,
        reasoning_tokens: 0,
        is_prepaid: true,
        spread: MicroUsd::new(4),
        shortfall: MicroUsd::ZERO,
        total_ms: 7,
        first_content_ms: None,
    };
    ReceiptRecord {
        json: text.into(),
        details: Some(Box::new(details)),
        ..record("a", number, 24)
    }
}

#[test]
fn a_text_with_codes_is_read_as_json_whatever_happened_meanwhile() {
    let folder = Folder::new();
    let mut store = folder.serve();
    deposit(&*store, "a", 1_000, "operator:1");
    for number in 0..2 {
        reserve(&*store, "a", number, 30);
        let settle = Settle {
            record: Some(coded(number)),
            ..settle_command("a", number, capture(20, 4))
        };
        block_on(store.settle(settle)).unwrap();
        if number == 0 {
            // Its text is read from the journal then.
            crash(store);
            store = folder.serve();
        }
    }
    for (number, balance) in [(0, "0.000976"), (1, "0.000952")] {
        let id = format!("req_{number}");
        let shown = block_on(store.receipt(&account("a"), &id))
            .unwrap()
            .unwrap();
        let expected = format!(
            r#"{{"request_id":"{id}","cost":{{"mode":"prepaid","spread":"0.000004","balance":"{balance}"}},"cache":"hash","timings_ms":{{"total":7}}}}"#
        );
        assert_eq!(shown, expected);
    }
    let kept: String = folder
        .raw()
        .query_row(
            "SELECT json FROM receipt_texts ORDER BY no DESC LIMIT 1",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert!(kept.contains(member("balance")), "{kept}");
    drop(store);
    let added = block_on(folder.tool().roll_up(SeriesKeep::default(), 9)).unwrap();
    assert_eq!(added.receipts, 2);
}
