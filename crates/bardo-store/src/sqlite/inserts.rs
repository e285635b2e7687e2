//! The rows that each settled request adds: its transfer, its receipt, and the text of the receipt.
//! One statement writes several of them: starting and ending a statement costs as much as a row.

use std::iter::repeat_n;
use std::sync::LazyLock;

use bardo_ledger::{ReceiptRecord, SettledCost};
use bardo_types::ids::KeyId;
use hashbrown::HashSet;
use rusqlite::{CachedStatement, Connection, Statement, ToSql, params};

use super::rows::clamp;

/// Rows of one statement, where so many wait.
pub(super) const ROWS: usize = 64;

static CHARGE: LazyLock<InsertSql> = LazyLock::new(|| {
    InsertSql::new(
        "INSERT OR FAIL INTO transfers (at_ms, kind, account, reference, counterparty, \
         customer_amount, counterparty_amount, spread_amount, shortfall)",
        "(?, 'charge', ?, ?, 'provider:' || ?, ?, ?, ?, ?)",
        "ON CONFLICT (reference, account, kind) DO NOTHING",
    )
});
static RECEIPT: LazyLock<InsertSql> = LazyLock::new(|| {
    InsertSql::new(
        "INSERT OR FAIL INTO receipts (account, request, client_request, key, at_ms, model, provider, \
         outcome, input_tokens, output_tokens, provider_cost, charge, savings, subsystem, session, \
         cost_unknown, cache_read_tokens, cache_written_tokens, cache_saved)",
        "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        "ON CONFLICT (request, account) DO NOTHING",
    )
});
static TEXT: LazyLock<InsertSql> =
    LazyLock::new(|| InsertSql::new("INSERT OR FAIL INTO receipt_texts (no, json)", "(?, ?)", ""));

/// A statement for one row and one for [`ROWS`].
///
/// With `OR FAIL`, a statement that fails leaves the rows before the bad one. The whole transaction is
/// rolled back then, so SQLite need not keep copies of pages to undo the statement alone.
struct InsertSql {
    one: String,
    many: String,
}

impl InsertSql {
    fn new(into: &str, row: &str, end: &str) -> Self {
        let of = |rows| format!("{into} VALUES {} {end}", vec![row; rows].join(", "));
        Self {
            one: of(1),
            many: of(ROWS),
        }
    }
}

/// A transfer between an account and a provider.
pub(super) struct ChargeRow<'a> {
    pub(super) at_ms: u64,
    pub(super) account: i64,
    pub(super) request: &'a str,
    pub(super) provider: &'a str,
    pub(super) paid: SettledCost,
}

/// A receipt, and the number of its account.
pub(super) type ReceiptRow<'a> = (i64, &'a ReceiptRecord);

/// The statements of a transaction, looked up once. They run within the caller's transaction.
pub(super) struct Inserts<'c> {
    charge: Insert<'c>,
    receipt: Insert<'c>,
    text: Insert<'c>,
    connection: &'c Connection,
}

impl<'c> Inserts<'c> {
    pub(super) fn new(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            charge: Insert::new(connection, &CHARGE)?,
            receipt: Insert::new(connection, &RECEIPT)?,
            text: Insert::new(connection, &TEXT)?,
            connection,
        })
    }

    /// Writes charges. Answers for each whether it was written: not where the request was charged
    /// before.
    pub(super) fn charges(&mut self, rows: &[ChargeRow<'_>]) -> rusqlite::Result<Vec<bool>> {
        let connection = self.connection;
        let mut made = Vec::with_capacity(rows.len());
        self.charge.write(rows, bind_charge, |part, written| {
            if written == part.len() {
                made.extend(repeat_n(true, written));
                return Ok(());
            }
            let mut new = NewNumbers::last(connection, written);
            for row in part {
                made.push(new.take(charge_no(connection, row)?));
            }
            Ok(())
        })?;
        Ok(made)
    }

    /// Keeps receipts, each in the place of an earlier one of the same request. Answers the numbers
    /// of the new ones.
    pub(super) fn receipts(
        &mut self,
        rows: &[ReceiptRow<'_>],
    ) -> rusqlite::Result<Vec<Option<i64>>> {
        let connection = self.connection;
        let mut numbers = Vec::with_capacity(rows.len());
        let mut texts = Vec::with_capacity(rows.len());
        let mut changed = Vec::new();
        self.receipt.write(rows, bind_receipt, |part, written| {
            let mut new = NewNumbers::last(connection, written);
            for (row, next) in part.iter().zip(new.first..) {
                let no = match written == part.len() {
                    true => next,
                    false => receipt_no(connection, row)?,
                };
                let number = new.take(no).then_some(no);
                match number {
                    Some(no) => texts.push((no, row.1.json.as_kept())),
                    None => changed.push((no, *row)),
                }
                numbers.push(number);
            }
            Ok(())
        })?;
        self.text.write(&texts, bind_text, |_, _| Ok(()))?;
        for (no, row) in changed {
            change_receipt(connection, no, &row)?;
        }
        Ok(numbers)
    }
}

/// The numbers of the rows that the last statement inserted.
struct NewNumbers {
    first: i64,
    last: i64,
    taken: HashSet<i64>,
}

impl NewNumbers {
    fn last(connection: &Connection, written: usize) -> Self {
        let last = connection.last_insert_rowid();
        let count = i64::try_from(written).expect("a statement writes few rows");
        Self {
            first: last - count + 1,
            last,
            taken: HashSet::new(),
        }
    }

    /// Whether the statement inserted the row of this number. A second row of the same request has
    /// the number of the first one and was not inserted.
    fn take(&mut self, no: i64) -> bool {
        (self.first..=self.last).contains(&no) && self.taken.insert(no)
    }
}

/// A statement that inserts rows.
struct Insert<'c> {
    one: CachedStatement<'c>,
    many: CachedStatement<'c>,
}

impl<'c> Insert<'c> {
    fn new(connection: &'c Connection, sql: &InsertSql) -> rusqlite::Result<Self> {
        Ok(Self {
            one: connection.prepare_cached(&sql.one)?,
            many: connection.prepare_cached(&sql.many)?,
        })
    }

    /// Writes rows, [`ROWS`] at a time and the rest one by one. Calls `done` after each statement
    /// with its rows and the number of those that were written.
    fn write<R>(
        &mut self,
        rows: &[R],
        bind: impl Fn(&mut Binder<'_, 'c>, &R) -> rusqlite::Result<()>,
        mut done: impl FnMut(&[R], usize) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        let (full, rest) = rows.as_chunks::<ROWS>();
        let full = full.iter().map(<[R; ROWS]>::as_slice);
        for part in full.chain(rest.chunks(1)) {
            let statement = match part.len() {
                ROWS => &mut self.many,
                _ => &mut self.one,
            };
            let mut binder = Binder { statement, next: 1 };
            for row in part {
                bind(&mut binder, row)?;
            }
            let written = statement.raw_execute()?;
            done(part, written)?;
        }
        Ok(())
    }
}

/// Binds values to the parameters of a statement, in their order.
struct Binder<'s, 'c> {
    statement: &'s mut Statement<'c>,
    next: usize,
}

impl Binder<'_, '_> {
    fn bind(&mut self, values: &[&dyn ToSql]) -> rusqlite::Result<()> {
        for value in values {
            self.statement.raw_bind_parameter(self.next, value)?;
            self.next += 1;
        }
        Ok(())
    }
}

fn bind_charge(binder: &mut Binder<'_, '_>, row: &ChargeRow<'_>) -> rusqlite::Result<()> {
    let charged = i64::try_from(row.paid.charged().get()).unwrap_or(i64::MAX);
    binder.bind(params![
        clamp(row.at_ms),
        row.account,
        row.request,
        row.provider,
        -charged,
        row.paid.provider_cost.get(),
        row.paid.spread.get(),
        row.paid.shortfall.get(),
    ])
}

fn bind_receipt(
    binder: &mut Binder<'_, '_>,
    (account, record): &ReceiptRow<'_>,
) -> rusqlite::Result<()> {
    binder.bind(params![
        account,
        record.request.as_str(),
        record.client_request_id.as_deref(),
        record.key.as_ref().map(KeyId::as_str),
        clamp(record.at_ms),
        &*record.model,
        &*record.provider,
        record.outcome,
        clamp(record.input_tokens),
        clamp(record.output_tokens),
        clamp(record.provider_cost.unwrap_or_default().get()),
        clamp(record.charge.get()),
        clamp(record.savings.get()),
        record.subsystem.as_deref(),
        record.session.as_deref(),
        record.provider_cost.is_none(),
        clamp(record.prompt_cache.read_tokens),
        clamp(record.prompt_cache.written_tokens),
        record.prompt_cache.saved.get(),
    ])
}

fn bind_text(binder: &mut Binder<'_, '_>, (no, json): &(i64, &str)) -> rusqlite::Result<()> {
    binder.bind(params![no, json])
}

/// The number of the transfer for this request.
fn charge_no(connection: &Connection, row: &ChargeRow<'_>) -> rusqlite::Result<i64> {
    connection
        .prepare_cached(
            "SELECT no FROM transfers WHERE reference = ?1 AND account = ?2 AND kind = 'charge'",
        )?
        .query_row(params![row.request, row.account], |row| row.get(0))
}

/// The number of the receipt of this request.
fn receipt_no(
    connection: &Connection,
    (account, record): &ReceiptRow<'_>,
) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT no FROM receipts WHERE request = ?1 AND account = ?2")?
        .query_row(params![record.request.as_str(), account], |row| row.get(0))
}

/// Puts a receipt in the place of an earlier one.
fn change_receipt(connection: &Connection, no: i64, row: &ReceiptRow<'_>) -> rusqlite::Result<()> {
    let mut update = connection.prepare_cached(
        "UPDATE receipts SET client_request = ?3, key = ?4, at_ms = ?5, model = ?6, \
         provider = ?7, outcome = ?8, input_tokens = ?9, output_tokens = ?10, \
         provider_cost = ?11, charge = ?12, savings = ?13, subsystem = ?14, \
         session = ?15, cost_unknown = ?16, cache_read_tokens = ?17, \
         cache_written_tokens = ?18, cache_saved = ?19 \
         WHERE account = ?1 AND request = ?2",
    )?;
    let mut binder = Binder {
        statement: &mut update,
        next: 1,
    };
    bind_receipt(&mut binder, row)?;
    update.raw_execute()?;
    connection
        .prepare_cached("UPDATE receipt_texts SET json = ?2 WHERE no = ?1")?
        .execute(params![no, row.1.json.as_kept()])?;
    Ok(())
}
