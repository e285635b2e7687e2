//! The statements that write money and receipts. Each runs within its caller's transaction.

use bardo_ledger::{CapScope, CapWindow, Deposit, HoldState, SettledCost};
use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;
use rusqlite::{Connection, OptionalExtension, params};

/// A hold as its row has it.
pub(super) struct HoldRow<'a> {
    pub(super) account: i64,
    pub(super) request: &'a str,
    pub(super) amount: MicroUsd,
    pub(super) state: HoldState,
    /// The caps of the hold, as [`super::caps`] writes them.
    pub(super) caps: Option<&'a str>,
    pub(super) created_at_ms: u64,
    pub(super) expires_at_ms: u64,
}

/// The result of a deposit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deposited {
    /// The money is in.
    Now,
    /// A deposit with this reference was made before.
    Before,
    /// The sum would be out of range.
    Overflow,
}

/// The number of an account, given to it when its name is first seen.
pub(super) fn account_no(connection: &Connection, id: &AccountId) -> rusqlite::Result<i64> {
    if let Some(no) = find_account_no(connection, id.as_str())? {
        return Ok(no);
    }
    connection
        .prepare_cached("INSERT INTO accounts (id) VALUES (?1)")?
        .insert([id.as_str()])
}

pub(super) fn find_account_no(connection: &Connection, id: &str) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT no FROM accounts WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()
}

/// Adds to what an account spent and holds; either may be negative.
pub(super) fn add_to_account(
    connection: &Connection,
    account: i64,
    spent: i64,
    held: i64,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE accounts SET spent = spent + ?2, held = held + ?3 WHERE no = ?1")?
        .execute([account, spent, held])?;
    Ok(())
}

/// Adds to what was spent under a cap.
pub(super) fn add_to_cap(
    connection: &Connection,
    account: i64,
    scope: &CapScope,
    window: CapWindow,
    starts_at_ms: u64,
    spent: MicroUsd,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO cap_counters (account, scope, span, starts_at_ms, spent) \
             VALUES (?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT (account, scope, span, starts_at_ms) DO UPDATE SET spent = spent + ?5",
        )?
        .execute(params![
            account,
            super::caps::scope_name(scope),
            window.as_str(),
            clamp(starts_at_ms),
            spent.get()
        ])?;
    Ok(())
}

/// The charge of a request, if it was charged.
pub(super) fn find_charge(
    connection: &Connection,
    account: i64,
    request: &str,
) -> rusqlite::Result<Option<SettledCost>> {
    connection
        .prepare_cached(
            "SELECT counterparty_amount, spread_amount, shortfall FROM transfers \
             WHERE account = ?1 AND kind = 'charge' AND reference = ?2",
        )?
        .query_row(params![account, request], |row| {
            Ok(SettledCost {
                provider_cost: MicroUsd::new(row.get(0)?),
                spread: MicroUsd::new(row.get(1)?),
                shortfall: MicroUsd::new(row.get(2)?),
            })
        })
        .optional()
}

/// Puts money in, once per account and reference.
pub(super) fn deposit(
    connection: &Connection,
    account: i64,
    command: &Deposit,
) -> rusqlite::Result<Deposited> {
    let Ok(amount) = i64::try_from(command.amount.get()) else {
        return Ok(Deposited::Overflow);
    };
    let known: Option<i64> = connection
        .prepare_cached(
            "SELECT no FROM transfers \
             WHERE account = ?1 AND kind = 'deposit' AND reference = ?2",
        )?
        .query_row(params![account, command.reference], |row| row.get(0))
        .optional()?;
    if known.is_some() {
        return Ok(Deposited::Before);
    }
    let added = connection
        .prepare_cached(
            "UPDATE accounts SET deposited = deposited + ?2, \
             opened_at_ms = coalesce(opened_at_ms, ?3) \
             WHERE no = ?1 AND deposited <= 9223372036854775807 - ?2",
        )?
        .execute(params![account, amount, clamp(command.now_ms)])?;
    if added == 0 {
        return Ok(Deposited::Overflow);
    }
    connection
        .prepare_cached(
            "INSERT INTO transfers (at_ms, kind, account, reference, counterparty, \
             customer_amount, counterparty_amount, spread_amount) \
             VALUES (?1, 'deposit', ?2, ?3, ?4, ?5, -?5, 0)",
        )?
        .execute(params![
            clamp(command.now_ms),
            account,
            command.reference,
            format!("funding:{}", source_of(&command.reference)),
            amount,
        ])?;
    Ok(Deposited::Now)
}

/// Where money came from, by the deposit's reference: what stands before the first colon.
fn source_of(reference: &str) -> &str {
    reference.split(':').next().unwrap_or(reference)
}

/// Writes a hold, or what changed of it.
pub(super) fn put_hold(connection: &Connection, row: &HoldRow<'_>) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO holds (account, request, amount, state, caps, created_at_ms, \
             expires_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
             ON CONFLICT (account, request) DO UPDATE SET amount = ?3, state = ?4, caps = ?5",
        )?
        .execute(params![
            row.account,
            row.request,
            row.amount.get(),
            state_name(row.state),
            row.caps,
            clamp(row.created_at_ms),
            clamp(row.expires_at_ms),
        ])?;
    Ok(())
}

pub(super) fn delete_hold(
    connection: &Connection,
    account: i64,
    request: &str,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM holds WHERE account = ?1 AND request = ?2")?
        .execute(params![account, request])?;
    Ok(())
}

pub(super) const fn state_name(state: HoldState) -> &'static str {
    match state {
        HoldState::Open => "open",
        HoldState::Unknown => "unknown",
    }
}

/// A time, or a figure of a receipt, as SQLite can keep it. More is neither a time that comes nor a
/// figure that anybody counted, and must not keep the rest of a transaction from being written.
pub(super) fn clamp(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The name of these books, and the last entry of their journal that is in here.
pub(super) fn ledger(connection: &Connection) -> rusqlite::Result<([u8; 16], u64)> {
    connection.query_row("SELECT name, applied FROM ledger", [], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })
}

pub(super) fn set_applied(connection: &Connection, last: u64) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE ledger SET applied = ?1")?
        .execute([last])?;
    Ok(())
}

/// Keeps an entry of the journal for which there are no rows.
pub(super) fn refuse(
    connection: &Connection,
    seq: u64,
    why: &str,
    entry: &[u8],
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT INTO refused (seq, why, entry) VALUES (?1, ?2, ?3)")?
        .execute(params![seq, why, entry])?;
    Ok(())
}

/// A change by another process, for the server to read.
pub(super) struct Change<'a> {
    pub(super) at_ms: u64,
    /// `deposit`, `settle` or `keys`.
    pub(super) kind: &'static str,
    pub(super) account: Option<&'a str>,
    pub(super) reference: Option<&'a str>,
}

pub(super) fn announce(connection: &Connection, change: &Change<'_>) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO changes (at_ms, kind, account, reference) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![
            clamp(change.at_ms),
            change.kind,
            change.account,
            change.reference
        ])?;
    Ok(())
}

/// A line of the audit log.
pub(super) struct AuditRow<'a> {
    pub(super) at_ms: u64,
    pub(super) actor: &'a str,
    /// `deposit`, `reconcile`, `key.created`, `key.changed` or `key.revoked`.
    pub(super) action: &'static str,
    pub(super) subject: &'a str,
    pub(super) detail: String,
}

impl<'a> AuditRow<'a> {
    pub(super) fn of_deposit(actor: &'a str, command: &'a Deposit) -> Self {
        Self {
            at_ms: command.now_ms,
            actor,
            action: "deposit",
            subject: command.account.as_str(),
            detail: format!("{} USD, reference {:?}", command.amount, command.reference),
        }
    }
}

pub(super) fn audit(connection: &Connection, row: &AuditRow<'_>) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO audit (at_ms, actor, action, subject, detail) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            clamp(row.at_ms),
            row.actor,
            row.action,
            row.subject,
            row.detail
        ])?;
    Ok(())
}

/// Deletes at most `limit` of the oldest receipts, as far as they are from before `before_ms`;
/// answers how many.
pub(super) fn prune(connection: &Connection, before_ms: u64, limit: u64) -> rusqlite::Result<u64> {
    let doomed = "SELECT no FROM receipts WHERE at_ms / 60000 <= ?1 / 60000 AND at_ms < ?1 \
         ORDER BY at_ms / 60000, account, no LIMIT ?2";
    let before_ms = clamp(before_ms);
    connection
        .prepare_cached(&format!("DELETE FROM receipt_texts WHERE no IN ({doomed})"))?
        .execute(params![before_ms, limit])?;
    let count = connection
        .prepare_cached(&format!("DELETE FROM receipts WHERE no IN ({doomed})"))?
        .execute(params![before_ms, limit])?;
    Ok(u64::try_from(count).unwrap_or(u64::MAX))
}
