//! From rows into the books.

use std::sync::Arc;

use bardo_ledger::{Book, CapScope, CapWindow, HoldState, HoldView, LedgerRefusal, StoreError};
use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;
use rusqlite::{Connection, OptionalExtension, params};

use super::caps;
use super::error::store_error;
use super::rows;
use super::shared::{HoldKey, Shared};

/// Ends of the last minutes are remembered over a restart, so that a request that is sent again is
/// known at once; older ones are looked up when they are settled.
const ENDS: i64 = 32_768;
const ENDS_MS: u64 = 10 * 60 * 1000;

/// The sums deposited and spent; `None` where nothing was ever deposited.
pub(super) fn account(
    connection: &Connection,
    id: &AccountId,
) -> rusqlite::Result<Option<(MicroUsd, MicroUsd)>> {
    connection
        .prepare_cached(
            "SELECT deposited, spent FROM accounts WHERE id = ?1 AND opened_at_ms IS NOT NULL",
        )?
        .query_row([id.as_str()], |row| {
            Ok((MicroUsd::new(row.get(0)?), MicroUsd::new(row.get(1)?)))
        })
        .optional()
}

/// The sum spent under a cap.
pub(super) fn cap(
    connection: &Connection,
    account: &AccountId,
    scope: &CapScope,
    window: CapWindow,
    starts_at_ms: u64,
) -> rusqlite::Result<MicroUsd> {
    let spent: Option<u64> = connection
        .prepare_cached(
            "SELECT spent FROM cap_counters \
             WHERE account = (SELECT no FROM accounts WHERE id = ?1) \
             AND scope = ?2 AND span = ?3 AND starts_at_ms = ?4",
        )?
        .query_row(
            params![
                account.as_str(),
                caps::scope_name(scope),
                window.as_str(),
                starts_at_ms
            ],
            |row| row.get(0),
        )
        .optional()?;
    Ok(MicroUsd::new(spent.unwrap_or(0)))
}

/// Puts an account, and what a request was charged, into the books, where there is such a row.
pub(super) fn end(
    connection: &Connection,
    shared: &Arc<Shared>,
    id: &AccountId,
    request: &RequestId,
    now_ms: u64,
) -> rusqlite::Result<()> {
    let Some(no) = rows::find_account_no(connection, id.as_str())? else {
        return Ok(());
    };
    let row = account(connection, id)?;
    let paid = rows::find_charge(connection, no, request.as_str())?;
    let mut core = shared.lock();
    if let Some((deposited, spent)) = row {
        core.book.load_account(id.clone(), deposited, spent);
    }
    if let Some(paid) = paid {
        core.book
            .load_ended(id.clone(), request.clone(), paid, now_ms);
    }
    Ok(())
}

/// The state that a server starts from.
pub(super) struct Start {
    pub(super) book: Book,
    /// Rows of holds.
    pub(super) held: Vec<(HoldKey, MicroUsd)>,
}

/// Takes over from a server that ended. Its requests are gone, so nobody will end their holds:
/// they are released. What nobody knows the outcome of stays held. What other processes did until
/// then is in the rows, so the list of changes begins anew.
pub(super) fn take_over(connection: &mut Connection, now_ms: u64) -> Result<Start, StoreError> {
    release_open_holds(connection).map_err(|error| store_error(&error))?;
    let mut book = Book::default();
    let mut held = Vec::new();
    for (view, text) in holds(connection, None).map_err(|error| store_error(&error))? {
        let damaged = |why: String| {
            let (account, request) = (&view.account, &view.request);
            StoreError::Damaged(format!("the hold `{request}` of `{account}`: {why}"))
        };
        let row = account(connection, &view.account).map_err(|error| store_error(&error))?;
        let (deposited, spent) = row.unwrap_or_default();
        book.load_account(view.account.clone(), deposited, spent);
        let caps = caps::from_text(&view.account, text.as_deref())
            .ok_or_else(|| damaged("its caps are unreadable".to_owned()))?;
        for of in &caps {
            let start = of.window.bounds(view.created_at_ms).0;
            let spent = cap(connection, &view.account, &of.scope, of.window, start)
                .map_err(|error| store_error(&error))?;
            book.load_cap(of.scope.clone(), of.window, start, spent);
        }
        held.push(((view.account.clone(), view.request.clone()), view.amount));
        book.load_hold(view.clone(), &caps)
            .map_err(|refusal: LedgerRefusal| damaged(refusal.to_string()))?;
    }
    load_ends(connection, &mut book, now_ms).map_err(|error| store_error(&error))?;
    Ok(Start { book, held })
}

fn release_open_holds(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    transaction.execute_batch(
        "UPDATE accounts SET held = held - (
             SELECT sum(amount) FROM holds WHERE account = accounts.no AND state = 'open')
         WHERE no IN (SELECT account FROM holds WHERE state = 'open');
         DELETE FROM holds WHERE state = 'open';
         DELETE FROM changes;",
    )?;
    transaction.commit()
}

fn load_ends(connection: &Connection, book: &mut Book, now_ms: u64) -> rusqlite::Result<()> {
    let mut select = connection.prepare(
        "SELECT a.id, t.reference, t.counterparty_amount, t.spread_amount, t.shortfall, t.at_ms \
         FROM (SELECT * FROM transfers ORDER BY no DESC LIMIT ?1) t \
         JOIN accounts a ON a.no = t.account \
         WHERE t.kind = 'charge' AND t.at_ms >= ?2 ORDER BY t.no",
    )?;
    let since_ms = now_ms.saturating_sub(ENDS_MS);
    let mut rows = select.query(params![ENDS, since_ms])?;
    while let Some(row) = rows.next()? {
        let id = AccountId::parse(row.get_ref(0)?.as_str()?);
        let request = RequestId::parse(row.get_ref(1)?.as_str()?);
        if let (Ok(id), Ok(request)) = (id, request) {
            let paid = bardo_ledger::SettledCost {
                provider_cost: MicroUsd::new(row.get(2)?),
                spread: MicroUsd::new(row.get(3)?),
                shortfall: MicroUsd::new(row.get(4)?),
            };
            book.load_ended(id, request, paid, row.get(5)?);
        }
    }
    Ok(())
}

/// Holds as their rows have them, oldest first, each with its caps as text.
pub(super) fn holds(
    connection: &Connection,
    account: Option<&str>,
) -> rusqlite::Result<Vec<(HoldView, Option<String>)>> {
    let mut select = connection.prepare_cached(
        "SELECT a.id, h.request, h.amount, h.state, h.created_at_ms, h.expires_at_ms, h.caps \
         FROM holds h JOIN accounts a ON a.no = h.account \
         WHERE ?1 IS NULL OR a.id = ?1 \
         ORDER BY h.created_at_ms, a.id, h.request",
    )?;
    let rows = select.query_map([account], |row| {
        let bad = |column: usize| {
            move |error: bardo_types::ids::InvalidId| {
                let kind = rusqlite::types::Type::Text;
                rusqlite::Error::FromSqlConversionFailure(column, kind, error.into())
            }
        };
        let view = HoldView {
            account: AccountId::parse(row.get_ref(0)?.as_str()?).map_err(bad(0))?,
            request: RequestId::parse(row.get_ref(1)?.as_str()?).map_err(bad(1))?,
            amount: MicroUsd::new(row.get(2)?),
            state: match row.get_ref(3)?.as_str()? {
                "unknown" => HoldState::Unknown,
                _ => HoldState::Open,
            },
            created_at_ms: row.get(4)?,
            expires_at_ms: row.get(5)?,
        };
        Ok((view, row.get(6)?))
    })?;
    rows.collect()
}
