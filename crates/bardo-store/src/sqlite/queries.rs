//! What is read of accounts: balances and postings.

use bardo_ledger::{Balance, Posting, PostingKind};
use bardo_types::money::MicroUsd;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::rows;

/// Where an account stands by its row; `None` where nothing was ever deposited.
pub(super) fn balance(connection: &Connection, id: &str) -> rusqlite::Result<Option<Balance>> {
    connection
        .prepare_cached(
            "SELECT deposited, spent, held, deposited - spent - held FROM accounts \
             WHERE id = ?1 AND opened_at_ms IS NOT NULL",
        )?
        .query_row([id], |row| {
            Ok(Balance {
                deposited: MicroUsd::new(row.get(0)?),
                spent: MicroUsd::new(row.get(1)?),
                held: MicroUsd::new(row.get(2)?),
                available: MicroUsd::new(row.get(3)?),
            })
        })
        .optional()
}

/// Transfers are indexed by blocks of so many numbers, and within them by account.
const BLOCK: i64 = 4096;

/// Lines of whole transfers, until there are at least `limit`.
pub(super) fn postings(
    connection: &Connection,
    account: &str,
    after: u64,
    limit: u32,
) -> rusqlite::Result<Vec<Posting>> {
    let mut lines = Vec::new();
    let Some(no) = rows::find_account_no(connection, account)? else {
        return Ok(lines);
    };
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let last: i64 = connection
        .prepare_cached("SELECT coalesce(max(no), 0) FROM transfers")?
        .query_row([], |row| row.get(0))?;
    let mut select = connection.prepare_cached(
        "SELECT no, at_ms, kind, counterparty, reference, customer_amount, \
         counterparty_amount, spread_amount FROM transfers \
         WHERE no / 4096 = ?1 AND account = ?2 AND no > ?3 ORDER BY no",
    )?;
    for block in after / BLOCK..=last / BLOCK {
        let mut rows = select.query(params![block, no, after])?;
        while lines.len() < limit
            && let Some(row) = rows.next()?
        {
            push_lines(&mut lines, account, row)?;
        }
    }
    Ok(lines)
}

fn push_lines(lines: &mut Vec<Posting>, account: &str, row: &Row<'_>) -> rusqlite::Result<()> {
    let kind = match row.get_ref(2)?.as_str()? {
        "deposit" => PostingKind::Deposit,
        _ => PostingKind::Charge,
    };
    let books = [
        format!("customer:{account}"),
        row.get(3)?,
        "spread".to_owned(),
    ];
    for (book, column) in books.into_iter().zip(5..) {
        let amount: i64 = row.get(column)?;
        if amount != 0 {
            lines.push(Posting {
                transfer: row.get(0)?,
                at_ms: row.get(1)?,
                kind,
                book,
                amount,
                reference: row.get(4)?,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of these would otherwise read a whole table.
    #[test]
    fn what_is_asked_of_one_account_is_found_by_an_index() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(include_str!("migrations/0001.sql"))
            .unwrap();
        let account = "account = (SELECT no FROM accounts WHERE id = 'a')";
        for (query, index) in [
            (
                "SELECT * FROM transfers WHERE no / 4096 = 1 AND account = 2 AND no > 3 \
                 ORDER BY no"
                    .to_owned(),
                "transfers_by_account",
            ),
            (
                "SELECT no FROM transfers WHERE account = 1 AND kind = 'charge' \
                 AND reference = 'x'"
                    .to_owned(),
                "transfers_by_reference",
            ),
            (
                format!("SELECT * FROM receipts WHERE {account} AND client_request = 'x'"),
                "receipts_by_client_request",
            ),
            (
                format!("SELECT * FROM receipts WHERE {account} AND request = 'x'"),
                "receipts_by_request",
            ),
            (
                format!("SELECT * FROM receipts WHERE at_ms / 60000 = 5 AND {account}"),
                "receipts_by_minute",
            ),
            (
                "SELECT min(at_ms / 60000) FROM receipts WHERE at_ms / 60000 > 5".to_owned(),
                "receipts_by_minute",
            ),
            (
                "SELECT no FROM receipts WHERE at_ms / 60000 <= 9 AND at_ms < 99 \
                 ORDER BY at_ms / 60000, account, no LIMIT 5"
                    .to_owned(),
                "receipts_by_minute",
            ),
        ] {
            let plan: Vec<String> = connection
                .prepare(&format!("EXPLAIN QUERY PLAN {query}"))
                .unwrap()
                .query_map([], |row| row.get(3))
                .unwrap()
                .map(Result::unwrap)
                .collect();
            let plan = plan.join("; ");
            assert!(plan.contains(index), "{query}: {plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{query}: {plan}");
        }
    }
}
