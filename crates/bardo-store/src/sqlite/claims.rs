//! Claims as rows. Each change is a transaction of its own, on a connection that serves nothing
//! else, so that a claim never waits behind receipts.

use bardo_ledger::claims::{
    AuthorizationKey, ChainDeposit, ChainDepositState, ChainHash, ChainLog, ClaimChange,
    ClaimQuery, ClaimRecord, ClaimStage, ClaimStore, ClaimTotals, ClaimView, StageTotal, WalletId,
    WalletRecord,
};
use bardo_ledger::{LedgerFuture, StoreError};
use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;
use rusqlite::types::ToSqlOutput;
use rusqlite::{
    Connection, OptionalExtension, Params, Row, ToSql, Transaction, TransactionBehavior, params,
};

use super::SqliteStore;
use super::error::store_error;
use super::reader::Length;
use crate::claim_columns::{
    ClaimCell, ClaimCells, ClaimColumns, claim_cells, deposit_cells, read_claim, read_deposit,
    read_view, read_wallet, wallet_cells,
};

const VIEW: &str = "SELECT w.wallet AS w_wallet, w.version AS w_version,
        w.open_claims AS w_open_claims, w.exposure AS w_exposure, w.debt AS w_debt,
        w.settlements AS w_settlements, w.settled AS w_settled, w.booked AS w_booked, c.*
    FROM (SELECT 1) LEFT JOIN wallets w ON w.wallet = ?1 LEFT JOIN claims c ON c.key = ?2";
const LEASE: &str = "UPDATE claims SET lease_owner = ?1, lease_no = lease_no + 1,
        lease_until_ms = ?3, version = version + 1
    WHERE no IN (SELECT no FROM claims WHERE due_at_ms <= ?2 AND lease_until_ms <= ?2
        ORDER BY due_at_ms, no LIMIT ?4)
    RETURNING *";
const LIST: &str = "SELECT * FROM claims WHERE (?1 IS NULL OR stage = ?1)
        AND (?2 IS NULL OR wallet = ?2) AND (?3 IS NULL OR account = ?3)
        AND (?4 IS NULL OR request = ?4) AND (NOT ?5 OR debt > 0)
        AND (?6 IS NULL OR claimed_at_ms >= ?6) AND (?7 IS NULL OR claimed_at_ms < ?7)
        AND (?8 IS NULL OR no < ?8)
    ORDER BY no DESC LIMIT ?9";
const PRUNE: &str = "DELETE FROM claims WHERE no IN
    (SELECT no FROM claims WHERE prunable = 1 AND deadline_s < ?1 LIMIT 500)";
/// `;` follows `:` in the order of names.
const PRUNE_PROOFS: &str = "DELETE FROM chain_values WHERE name IN
    (SELECT name FROM chain_values WHERE name >= 'proof:' AND name < 'proof;'
        AND CAST(value AS INTEGER) < ?1 LIMIT 500)";

impl ToSql for ClaimCell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Text(text) => text.to_sql(),
            Self::Number(number) => number.to_sql(),
        }
    }
}

impl ClaimColumns for Row<'_> {
    fn text(&self, column: &str) -> Result<Option<String>, StoreError> {
        self.get(column).map_err(|error| store_error(&error))
    }

    fn number(&self, column: &str) -> Result<Option<i64>, StoreError> {
        self.get(column).map_err(|error| store_error(&error))
    }
}

fn sql<T>(answer: rusqlite::Result<T>) -> Result<T, StoreError> {
    answer.map_err(|error| store_error(&error))
}

/// As large as the database takes it.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn all<T>(
    connection: &Connection,
    text: &str,
    params: impl Params,
    read: impl Fn(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = sql(connection.prepare_cached(text))?;
    let mut rows = sql(statement.query(params))?;
    let mut found = Vec::new();
    while let Some(row) = sql(rows.next())? {
        found.push(read(row)?);
    }
    Ok(found)
}

fn replace(connection: &Connection, table: &str, cells: &ClaimCells) -> Result<(), StoreError> {
    let names: Vec<_> = cells.iter().map(|(name, _)| *name).collect();
    let places = vec!["?"; names.len()].join(", ");
    let text = format!(
        "INSERT OR REPLACE INTO {table} ({}) VALUES ({places})",
        names.join(", ")
    );
    let mut statement = sql(connection.prepare_cached(&text))?;
    let values = rusqlite::params_from_iter(cells.iter().map(|(_, cell)| cell));
    sql(statement.execute(values)).map(|_| ())
}

fn version(connection: &Connection, text: &str, name: impl ToString) -> Result<u64, StoreError> {
    let mut statement = sql(connection.prepare_cached(text))?;
    let found = statement.query_row([name.to_string()], |row| row.get(0));
    sql(found.optional()).map(Option::unwrap_or_default)
}

fn commit(transaction: &Transaction<'_>, change: &ClaimChange) -> Result<bool, StoreError> {
    let ClaimChange {
        wallet,
        claim,
        is_removed,
    } = change;
    let of_wallet = "SELECT version FROM wallets WHERE wallet = ?1";
    let of_claim = "SELECT version FROM claims WHERE key = ?1";
    if version(transaction, of_wallet, wallet.wallet)? != wallet.version
        || version(transaction, of_claim, claim.key)? != claim.version
    {
        return Ok(false);
    }
    let mut wallet = wallet.clone();
    wallet.version += 1;
    replace(transaction, "wallets", &wallet_cells(&wallet)?)?;
    if *is_removed {
        let key = claim.key.to_string();
        sql(transaction.execute("DELETE FROM claims WHERE key = ?1", [key]))?;
        return Ok(true);
    }
    let mut claim = claim.clone();
    claim.version += 1;
    let mut cells = claim_cells(&claim)?;
    // The database gives the number.
    cells.retain(|(name, _)| *name != "no" || claim.no > 0);
    replace(transaction, "claims", &cells)?;
    let insert = "INSERT OR IGNORE INTO claim_transactions VALUES (?1, ?2, ?3)";
    let mut insert = sql(transaction.prepare_cached(insert))?;
    for hash in claim.transaction_hashes() {
        let (chain, key) = (signed(claim.key.chain_id), claim.key.to_string());
        sql(insert.execute(params![chain, hash.to_string(), key]))?;
    }
    Ok(true)
}

fn put_deposit(transaction: &Transaction<'_>, deposit: &ChainDeposit) -> Result<bool, StoreError> {
    let of_deposit = "SELECT version FROM chain_deposits WHERE log = ?1";
    if version(transaction, of_deposit, deposit.log)? != deposit.version {
        return Ok(false);
    }
    let mut deposit = deposit.clone();
    deposit.version += 1;
    replace(transaction, "chain_deposits", &deposit_cells(&deposit)?)?;
    Ok(true)
}

fn value(connection: &Connection, name: &str) -> Result<Option<String>, StoreError> {
    let select = "SELECT value FROM chain_values WHERE name = ?1";
    let mut statement = sql(connection.prepare_cached(select))?;
    sql(statement.query_row([name], |row| row.get(0)).optional())
}

fn totals(connection: &Connection) -> Result<ClaimTotals, StoreError> {
    let mut totals = ClaimTotals::default();
    let amount = |row: &Row<'_>, column| sql(row.get(column)).map(MicroUsd::new);
    let wallets = "SELECT count(*), coalesce(sum(exposure), 0), coalesce(sum(debt), 0),
        coalesce(sum(settled), 0), coalesce(sum(booked), 0), coalesce(sum(settlements), 0)
        FROM wallets";
    let sums = all(connection, wallets, [], |row| {
        let sums = [
            amount(row, 1)?,
            amount(row, 2)?,
            amount(row, 3)?,
            amount(row, 4)?,
        ];
        Ok((sql(row.get(0))?, sums, sql(row.get(5))?))
    })?;
    let mut settlements = 0;
    for (wallets, [exposure, debt, settled, booked], count) in sums {
        (totals.wallets, settlements) = (wallets, count);
        (totals.exposure, totals.debt) = (exposure, debt);
        (totals.settled, totals.booked) = (settled, booked);
    }
    let stages = "SELECT stage, count(*),
        sum(CASE stage WHEN 'claimed' THEN ceiling ELSE amount END)
        FROM claims WHERE stage <> 'settled' GROUP BY stage";
    let mut found = all(connection, stages, [], |row| {
        let total = StageTotal {
            count: sql(row.get(1))?,
            amount: amount(row, 2)?,
        };
        Ok((sql(row.get::<_, String>(0))?, total))
    })?;
    let settled = StageTotal {
        count: settlements,
        amount: totals.settled,
    };
    found.push((ClaimStage::Settled.as_str().to_owned(), settled));
    for (stage, total) in ClaimStage::ALL.iter().zip(&mut totals.stages) {
        let sum = found.iter().find(|(name, _)| name == stage.as_str());
        *total = sum.map_or(StageTotal::default(), |(_, total)| *total);
    }
    Ok(totals)
}

impl SqliteStore {
    /// Carries out a deletion that takes some rows at a time, until it finds none.
    async fn pruned(&self, prune: &'static str, before_s: u64) -> Result<u64, StoreError> {
        let mut sum = 0;
        loop {
            let some = move |transaction: &Transaction<'_>| {
                sql(transaction.execute(prune, [signed(before_s)]))
            };
            match self.change(some).await? {
                0 => return Ok(sum),
                count => sum += count as u64,
            }
        }
    }

    async fn look<T: Send + 'static>(
        &self,
        length: Length,
        look: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let found = self.readers.ask(length, |connection| Ok(look(connection)));
        found.await?
    }

    /// Changes rows of claims; what `change` answers is on disk when this does.
    async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let changed = self.readers.ask(Length::Change, move |connection| {
            let behavior = TransactionBehavior::Immediate;
            let transaction = connection.transaction_with_behavior(behavior)?;
            let answer = change(&transaction);
            if answer.is_ok() {
                transaction.commit()?;
            }
            Ok(answer)
        });
        changed.await?
    }
}

impl ClaimStore for SqliteStore {
    fn view<'a>(
        &'a self,
        key: &'a AuthorizationKey,
    ) -> LedgerFuture<'a, Result<ClaimView, StoreError>> {
        let (key, wallet) = (key.to_string(), key.wallet());
        Box::pin(self.look(Length::Short, move |connection| {
            let params = [wallet.to_string(), key];
            let mut views = all(connection, VIEW, params, |row| read_view(row, wallet))?;
            let missing = || StoreError::Damaged("an answer is missing".to_owned());
            views.pop().ok_or_else(missing)
        }))
    }

    fn commit(&self, change: ClaimChange) -> LedgerFuture<'_, Result<bool, StoreError>> {
        Box::pin(self.change(move |transaction| commit(transaction, &change)))
    }

    fn lease_due<'a>(
        &'a self,
        owner: &'a str,
        now_ms: u64,
        until_ms: u64,
        limit: u32,
    ) -> LedgerFuture<'a, Result<Vec<ClaimRecord>, StoreError>> {
        let owner = owner.to_owned();
        Box::pin(self.change(move |transaction| {
            let params = params![owner, signed(now_ms), signed(until_ms), limit];
            let mut leased = all(transaction, LEASE, params, |row| read_claim(row))?;
            leased.sort_by_key(|claim| (claim.due_at_ms, claim.no));
            Ok(leased)
        }))
    }

    fn claims(&self, query: ClaimQuery) -> LedgerFuture<'_, Result<Vec<ClaimRecord>, StoreError>> {
        Box::pin(self.look(Length::Long, move |connection| {
            let params = params![
                query.stage.map(ClaimStage::as_str),
                query.wallet.map(|wallet| wallet.to_string()),
                query.account.as_ref().map(AccountId::as_str),
                query.request.as_ref().map(RequestId::as_str),
                query.only_debts,
                query.since_ms.map(signed),
                query.before_ms.map(signed),
                query.below_no.map(signed),
                query.limit,
            ];
            all(connection, LIST, params, |row| read_claim(row))
        }))
    }

    fn wallet(
        &self,
        wallet: WalletId,
    ) -> LedgerFuture<'_, Result<Option<WalletRecord>, StoreError>> {
        Box::pin(self.look(Length::Short, move |connection| {
            let select = "SELECT * FROM wallets WHERE wallet = ?1";
            let params = [wallet.to_string()];
            let mut found = all(connection, select, params, |row| read_wallet(row, ""))?;
            Ok(found.pop().flatten())
        }))
    }

    fn wallets(
        &self,
        after: Option<WalletId>,
        limit: u32,
    ) -> LedgerFuture<'_, Result<Vec<WalletRecord>, StoreError>> {
        let after = after.map(|wallet| wallet.to_string()).unwrap_or_default();
        Box::pin(self.look(Length::Long, move |connection| {
            let select = "SELECT * FROM wallets WHERE wallet > ?1 ORDER BY wallet LIMIT ?2";
            let read = |row: &Row<'_>| read_wallet(row, "");
            let found = all(connection, select, params![after, limit], read)?;
            Ok(found.into_iter().flatten().collect())
        }))
    }

    fn totals(&self) -> LedgerFuture<'_, Result<ClaimTotals, StoreError>> {
        Box::pin(self.look(Length::Long, totals))
    }

    fn claim_of_transaction(
        &self,
        chain_id: u64,
        transaction: ChainHash,
    ) -> LedgerFuture<'_, Result<Option<AuthorizationKey>, StoreError>> {
        Box::pin(self.look(Length::Short, move |connection| {
            let select = "SELECT key FROM claim_transactions WHERE chain_id = ?1 AND hash = ?2";
            let params = params![signed(chain_id), transaction.to_string()];
            let mut found = all(connection, select, params, |row| {
                let key = sql(row.get::<_, String>(0))?;
                key.parse()
                    .map_err(|_| StoreError::Damaged(format!("the claim `{key}`")))
            })?;
            Ok(found.pop())
        }))
    }

    fn prune_claims(&self, before_s: u64) -> LedgerFuture<'_, Result<u64, StoreError>> {
        Box::pin(self.pruned(PRUNE, before_s))
    }

    fn chain_deposit(
        &self,
        log: ChainLog,
    ) -> LedgerFuture<'_, Result<Option<ChainDeposit>, StoreError>> {
        Box::pin(self.look(Length::Short, move |connection| {
            let select = "SELECT * FROM chain_deposits WHERE log = ?1";
            let params = [log.to_string()];
            let mut found = all(connection, select, params, |row| read_deposit(row))?;
            Ok(found.pop())
        }))
    }

    fn put_chain_deposit(
        &self,
        deposit: ChainDeposit,
    ) -> LedgerFuture<'_, Result<bool, StoreError>> {
        Box::pin(self.change(move |transaction| put_deposit(transaction, &deposit)))
    }

    fn chain_deposits(
        &self,
        state: ChainDepositState,
        after: Option<ChainLog>,
        limit: u32,
    ) -> LedgerFuture<'_, Result<Vec<ChainDeposit>, StoreError>> {
        let after = after.map(|log| log.to_string()).unwrap_or_default();
        Box::pin(self.look(Length::Long, move |connection| {
            let select = "SELECT * FROM chain_deposits WHERE state = ?1 AND log > ?2
                ORDER BY log LIMIT ?3";
            let params = params![state.as_str(), after, limit];
            all(connection, select, params, |row| read_deposit(row))
        }))
    }

    fn chain_value<'a>(
        &'a self,
        name: &'a str,
    ) -> LedgerFuture<'a, Result<Option<String>, StoreError>> {
        let name = name.to_owned();
        Box::pin(self.look(Length::Short, move |connection| value(connection, &name)))
    }

    fn swap_chain_value<'a>(
        &'a self,
        name: &'a str,
        from: Option<String>,
        to: String,
    ) -> LedgerFuture<'a, Result<bool, StoreError>> {
        let name = name.to_owned();
        Box::pin(self.change(move |transaction| {
            if value(transaction, &name)? != from {
                return Ok(false);
            }
            let put = "INSERT OR REPLACE INTO chain_values VALUES (?1, ?2)";
            sql(transaction.execute(put, [name, to]))?;
            Ok(true)
        }))
    }

    fn prune_proofs(&self, before_s: u64) -> LedgerFuture<'_, Result<u64, StoreError>> {
        Box::pin(self.pruned(PRUNE_PROOFS, before_s))
    }
}
