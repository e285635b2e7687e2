//! The statements that write money and receipts. Each runs within its caller's transaction.

use bardo_ledger::{CapScope, CapWindow, Deposit, HoldState, ReceiptRecord, SettledCost};
use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

/// A transfer between an account and a provider.
pub(super) struct ChargeRow<'a> {
    pub(super) at_ms: u64,
    pub(super) account: i64,
    pub(super) request: &'a str,
    pub(super) provider: &'a str,
    pub(super) paid: SettledCost,
}

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

/// The statements of which each settled request needs some, looked up once per transaction.
pub(super) struct Inserts<'c> {
    charge: CachedStatement<'c>,
    receipt: CachedStatement<'c>,
    text: CachedStatement<'c>,
    connection: &'c Connection,
}

impl<'c> Inserts<'c> {
    pub(super) fn new(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            charge: connection.prepare_cached(
                "INSERT INTO transfers (at_ms, kind, account, reference, counterparty, \
                 customer_amount, counterparty_amount, spread_amount, shortfall) \
                 VALUES (?1, 'charge', ?2, ?3, 'provider:' || ?4, ?5, ?6, ?7, ?8) \
                 ON CONFLICT (reference, account, kind) DO NOTHING",
            )?,
            receipt: connection.prepare_cached(
                "INSERT INTO receipts (account, request, client_request, key, at_ms, model, \
                 provider, outcome, input_tokens, output_tokens, provider_cost, charge, savings, \
                 subsystem, session, cost_unknown, \
                 cache_read_tokens, cache_written_tokens, cache_saved) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, \
                 ?17, ?18, ?19) \
                 ON CONFLICT (request, account) DO NOTHING",
            )?,
            text: connection
                .prepare_cached("INSERT INTO receipt_texts (no, json) VALUES (?1, ?2)")?,
            connection,
        })
    }

    /// Writes a charge. Answers whether it was written: not where the request was charged before.
    pub(super) fn charge(&mut self, row: &ChargeRow<'_>) -> rusqlite::Result<bool> {
        let charged = i64::try_from(row.paid.charged().get()).unwrap_or(i64::MAX);
        let written = self.charge.execute(params![
            clamp(row.at_ms),
            row.account,
            row.request,
            row.provider,
            -charged,
            row.paid.provider_cost.get(),
            row.paid.spread.get(),
            row.paid.shortfall.get(),
        ])?;
        Ok(written == 1)
    }

    /// Keeps a receipt, in the place of an earlier one of the same request. Answers the number of a
    /// new one.
    pub(super) fn receipt(
        &mut self,
        account: i64,
        record: &ReceiptRecord,
    ) -> rusqlite::Result<Option<i64>> {
        let columns = params![
            account,
            record.request.as_str(),
            record.client_request_id.as_deref(),
            record.key.as_ref().map(bardo_types::ids::KeyId::as_str),
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
        ];
        if self.receipt.execute(columns)? == 1 {
            let no = self.connection.last_insert_rowid();
            self.text.execute(params![no, &*record.json])?;
            return Ok(Some(no));
        }
        let no: i64 = self
            .connection
            .prepare_cached(
                "UPDATE receipts SET client_request = ?3, key = ?4, at_ms = ?5, model = ?6, \
                 provider = ?7, outcome = ?8, input_tokens = ?9, output_tokens = ?10, \
                 provider_cost = ?11, charge = ?12, savings = ?13, subsystem = ?14, \
                 session = ?15, cost_unknown = ?16, cache_read_tokens = ?17, \
                 cache_written_tokens = ?18, cache_saved = ?19 \
                 WHERE account = ?1 AND request = ?2 RETURNING no",
            )?
            .query_row(columns, |row| row.get(0))?;
        self.connection
            .prepare_cached("UPDATE receipt_texts SET json = ?2 WHERE no = ?1")?
            .execute(params![no, &*record.json])?;
        Ok(None)
    }
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
fn clamp(value: u64) -> i64 {
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
