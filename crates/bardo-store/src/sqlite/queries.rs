//! What is read: balances, postings, receipts and their sums.

use bardo_ledger::{Balance, Posting, PostingKind, UsageQuery, UsageRow};
use bardo_types::ids::KeyId;
use bardo_types::money::MicroUsd;
use rusqlite::{Connection, OptionalExtension, params};

const DAY_MS: i64 = 86_400_000;

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

/// Lines of whole transfers, until there are at least `limit`.
pub(super) fn postings(
    connection: &Connection,
    account: &str,
    after: u64,
    limit: u32,
) -> rusqlite::Result<Vec<Posting>> {
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut select = connection.prepare_cached(
        "SELECT no, at_ms, kind, counterparty, reference, customer_amount, \
         counterparty_amount, spread_amount FROM transfers \
         WHERE account = (SELECT no FROM accounts WHERE id = ?1) AND no > ?2 ORDER BY no",
    )?;
    let mut rows = select.query(params![account, after])?;
    let mut lines = Vec::new();
    while lines.len() < limit
        && let Some(row) = rows.next()?
    {
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
    }
    Ok(lines)
}

/// A receipt's text, by our id or the caller's.
pub(super) fn receipt(
    connection: &Connection,
    account: &str,
    id: &str,
) -> rusqlite::Result<Option<String>> {
    let select = |condition: &str| -> rusqlite::Result<Option<String>> {
        connection
            .prepare_cached(&format!(
                "SELECT t.json FROM receipts r JOIN receipt_texts t ON t.no = r.no \
                 WHERE r.account = (SELECT no FROM accounts WHERE id = ?1) AND {condition} \
                 ORDER BY r.at_ms DESC, r.no DESC LIMIT 1"
            ))?
            .query_row([account, id], |row| row.get(0))
            .optional()
    };
    match select("r.request = ?2")? {
        Some(json) => Ok(Some(json)),
        None => select("r.client_request = ?2"),
    }
}

/// Sums of receipts by day, model and backend, in this order.
pub(super) fn usage(
    connection: &Connection,
    query: &UsageQuery,
) -> rusqlite::Result<Vec<UsageRow>> {
    // Sums of text from callers could leave 64 bits, where `sum` fails; `total` is inexact.
    let mut select = connection.prepare_cached(
        "SELECT at_ms / ?5, model, provider, count(*), sum(input_tokens), sum(output_tokens), \
         sum(provider_cost), sum(charge), sum(savings) FROM receipts \
         WHERE account = (SELECT no FROM accounts WHERE id = ?1) \
         AND at_ms >= ?2 AND at_ms < ?3 AND (?4 IS NULL OR key = ?4) \
         GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
    )?;
    let bound = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
    let rows = select.query_map(
        params![
            query.account.as_str(),
            bound(query.from_ms),
            bound(query.to_ms),
            query.key.as_ref().map(KeyId::as_str),
            DAY_MS
        ],
        |row| {
            Ok(UsageRow {
                day: row.get(0)?,
                model: row.get(1)?,
                provider: row.get(2)?,
                requests: row.get(3)?,
                input_tokens: row.get(4)?,
                output_tokens: row.get(5)?,
                provider_cost: MicroUsd::new(row.get(6)?),
                charge: MicroUsd::new(row.get(7)?),
                savings: MicroUsd::new(row.get(8)?),
            })
        },
    )?;
    rows.collect()
}
