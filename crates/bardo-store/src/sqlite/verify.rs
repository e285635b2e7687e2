//! Adding everything up again, from the transfers.

use bardo_ledger::Verification;
use rusqlite::{Connection, Row};

/// Problems that are told; more are counted.
const TOLD: usize = 100;

/// One claim about the file: a query whose every row is a problem.
struct FileCheck {
    query: &'static str,
    tell: fn(&Row<'_>) -> rusqlite::Result<String>,
}

const CLAIMS: &[FileCheck] = &[
    FileCheck {
        query: "SELECT no, customer_amount + counterparty_amount + spread_amount FROM transfers \
                WHERE customer_amount + counterparty_amount + spread_amount <> 0",
        tell: |row| {
            let (no, sum): (i64, i64) = (row.get(0)?, row.get(1)?);
            Ok(format!("transfer {no} adds up to {sum}"))
        },
    },
    FileCheck {
        query: "SELECT a.id, a.deposited, a.spent, coalesce(t.deposited, 0), coalesce(t.spent, 0) \
                FROM accounts a LEFT JOIN (SELECT account, \
                    sum(CASE kind WHEN 'deposit' THEN customer_amount ELSE 0 END) AS deposited, \
                    -sum(CASE kind WHEN 'charge' THEN customer_amount ELSE 0 END) AS spent \
                    FROM transfers GROUP BY account) t ON t.account = a.no \
                WHERE a.deposited <> coalesce(t.deposited, 0) OR a.spent <> coalesce(t.spent, 0)",
        tell: |row| {
            let (id, deposited, spent): (String, i64, i64) =
                (row.get(0)?, row.get(1)?, row.get(2)?);
            let (posted_in, posted_out): (i64, i64) = (row.get(3)?, row.get(4)?);
            Ok(format!(
                "`{id}`: the postings are {posted_in} in and {posted_out} out, but the account has {deposited} \
                and {spent}"
            ))
        },
    },
    FileCheck {
        query: "SELECT a.id, a.held, coalesce(h.held, 0) FROM accounts a LEFT JOIN \
                (SELECT account, sum(amount) AS held FROM holds GROUP BY account) h \
                ON h.account = a.no WHERE a.held <> coalesce(h.held, 0)",
        tell: |row| {
            let (id, says, sum): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(format!(
                "`{id}`: the holds are {sum}, but the account has {says}"
            ))
        },
    },
    FileCheck {
        query: "SELECT id, deposited, spent, held FROM accounts \
                WHERE spent + held > deposited OR spent < 0 OR held < 0",
        tell: |row| {
            let id: String = row.get(0)?;
            Ok(format!(
                "`{id}`: more money is spent and held than was deposited"
            ))
        },
    },
    FileCheck {
        query: "SELECT a.id, r.request, r.charge, coalesce(-t.customer_amount, 0) \
                FROM receipts r JOIN accounts a ON a.no = r.account \
                LEFT JOIN transfers t ON t.account = r.account AND t.kind = 'charge' \
                    AND t.reference = r.request \
                WHERE r.charge <> coalesce(-t.customer_amount, 0)",
        tell: |row| {
            let (id, request): (String, String) = (row.get(0)?, row.get(1)?);
            let (shown, posted): (i64, i64) = (row.get(2)?, row.get(3)?);
            Ok(format!(
                "`{id}`: the receipt of `{request}` shows {shown}, but the postings are {posted}"
            ))
        },
    },
    FileCheck {
        query: "SELECT a.id, c.scope, c.span, c.spent, a.spent FROM cap_counters c \
                JOIN accounts a ON a.no = c.account WHERE c.spent > a.spent",
        tell: |row| {
            let (id, scope, span): (String, String, String) =
                (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(format!(
                "`{id}`: the counter `{scope}` per {span} is above the amount spent"
            ))
        },
    },
    FileCheck {
        query: "SELECT seq, why FROM refused",
        tell: |row| {
            let (seq, why): (i64, String) = (row.get(0)?, row.get(1)?);
            Ok(format!(
                "entry {seq} of the journal is not in the ledger: {why}"
            ))
        },
    },
    FileCheck {
        query: "PRAGMA foreign_key_check",
        tell: |row| {
            let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
            Ok(format!(
                "a row of {table} refers to a row of {parent} that does not exist"
            ))
        },
    },
    FileCheck {
        query: "SELECT quick_check FROM pragma_quick_check WHERE quick_check <> 'ok'",
        tell: |row| row.get(0),
    },
];

/// Looks at one moment of the file, whatever is written meanwhile.
pub(super) fn verify(connection: &mut Connection) -> rusqlite::Result<Verification> {
    let transaction = connection.transaction()?;
    let count =
        |query: &str| -> rusqlite::Result<u64> { transaction.query_row(query, [], |r| r.get(0)) };
    let mut verification = Verification {
        accounts: count("SELECT count(*) FROM accounts WHERE opened_at_ms IS NOT NULL")?,
        postings: count("SELECT count(*) FROM postings")?,
        holds: count("SELECT count(*) FROM holds")?,
        problems: Vec::new(),
    };
    let mut untold = 0_u64;
    for claim in CLAIMS {
        let mut select = transaction.prepare(claim.query)?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            if verification.problems.len() < TOLD {
                verification.problems.push((claim.tell)(row)?);
            } else {
                untold += 1;
            }
        }
    }
    if untold > 0 {
        verification.problems.push(format!("and {untold} more"));
    }
    Ok(verification)
}
