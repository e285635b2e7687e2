//! Several rows in one statement: which of them are new, and what becomes of the others.

use bardo_ledger::{ReceiptRecord, SettledCost};
use bardo_types::money::MicroUsd;
use rusqlite::Connection;

use super::rig::{Folder, account, record};
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
