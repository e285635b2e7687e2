//! Claims in Postgres. Each change is one function and one transaction; rows that other processes
//! work on are skipped where work is handed out.

use bardo_ledger::claims::{
    AuthorizationKey, ChainDeposit, ChainDepositState, ChainHash, ChainLog, ClaimChange,
    ClaimQuery, ClaimRecord, ClaimStage, ClaimStore, ClaimTotals, ClaimView, StageTotal, WalletId,
    WalletRecord,
};
use bardo_ledger::{LedgerFuture, StoreError};
use serde_json::{Map, Value};
use tokio_postgres::Row;

use super::PostgresStore;
use super::arguments::{Argument, number, signed, text};
use super::rows::{self, amount, damaged, get, one};
use crate::claim_columns::{
    ClaimCell, ClaimCells, ClaimColumns, claim_cells, deposit_cells, read_claim, read_deposit,
    read_view, read_wallet, wallet_cells,
};

const VIEW: &str = "SELECT w.wallet AS w_wallet, w.version AS w_version,
        w.open_claims AS w_open_claims, w.exposure AS w_exposure, w.debt AS w_debt,
        w.settlements AS w_settlements, w.settled AS w_settled, w.booked AS w_booked, c.*
    FROM (SELECT 1) AS one LEFT JOIN bardo.wallets w ON w.wallet = $1
    LEFT JOIN bardo.claims c ON c.key = $2";
const COMMIT: &str =
    "SELECT bardo.commit_claim($1::jsonb, $2::jsonb, $3 = 1, $4, $5, $6) AS is_done";
const LEASE: &str = "UPDATE bardo.claims SET lease_owner = $1, lease_no = lease_no + 1,
        lease_until_ms = $3, version = version + 1
    WHERE key = ANY (ARRAY(SELECT key FROM bardo.claims
        WHERE due_at_ms <= $2 AND lease_until_ms <= $2
        ORDER BY due_at_ms, no LIMIT $4 FOR UPDATE SKIP LOCKED))
    RETURNING *";
const LIST: &str = "SELECT * FROM bardo.claims WHERE ($1::text IS NULL OR stage = $1)
        AND ($2::text IS NULL OR wallet = $2) AND ($3::text IS NULL OR account = $3)
        AND ($4::text IS NULL OR request = $4) AND ($5 = 0 OR debt > 0)
        AND ($6::bigint IS NULL OR claimed_at_ms >= $6)
        AND ($7::bigint IS NULL OR claimed_at_ms < $7) AND ($8::bigint IS NULL OR no < $8)
    ORDER BY no DESC LIMIT $9";
const PRUNE: &str = "WITH doomed AS (
        DELETE FROM bardo.claims WHERE key = ANY (ARRAY(
            SELECT key FROM bardo.claims WHERE prunable = 1 AND deadline_s < $1
            LIMIT 500 FOR UPDATE SKIP LOCKED
        )) RETURNING 1
    ) SELECT count(*) AS pruned FROM doomed";
const PRUNE_PROOFS: &str = "WITH doomed AS (
        DELETE FROM bardo.chain_values WHERE name = ANY (ARRAY(
            SELECT name FROM bardo.chain_values WHERE starts_with(name, 'proof:')
                AND (CASE WHEN starts_with(name, 'proof:') THEN value::bigint END) < $1
            LIMIT 500 FOR UPDATE SKIP LOCKED
        )) RETURNING 1
    ) SELECT count(*) AS pruned FROM doomed";
const SUMS: &str = "SELECT count(*) AS wallets, coalesce(sum(exposure), 0)::bigint AS exposure,
        coalesce(sum(debt), 0)::bigint AS debt, coalesce(sum(settled), 0)::bigint AS settled,
        coalesce(sum(booked), 0)::bigint AS booked,
        coalesce(sum(settlements), 0)::bigint AS settlements
    FROM bardo.wallets";
const STAGES: &str = "SELECT stage, count(*) AS claims,
        sum(CASE stage WHEN 'claimed' THEN ceiling ELSE amount END)::bigint AS amount
    FROM bardo.claims WHERE stage <> 'settled' GROUP BY stage";

impl ClaimColumns for Row {
    fn text(&self, column: &str) -> Result<Option<String>, StoreError> {
        get(self, column)
    }

    fn number(&self, column: &str) -> Result<Option<i64>, StoreError> {
        get(self, column)
    }
}

/// A row as the functions take it.
fn json(cells: ClaimCells) -> Argument {
    let value = |cell| match cell {
        ClaimCell::Text(text) => text.map_or(Value::Null, Value::String),
        ClaimCell::Number(number) => number.map_or(Value::Null, Value::from),
    };
    let row: Map<String, Value> = cells
        .into_iter()
        .map(|(name, cell)| (name.to_owned(), value(cell)))
        .collect();
    Argument::Text(Some(Value::Object(row).to_string()))
}

fn maybe_text(value: Option<impl ToString>) -> Argument {
    Argument::Text(value.map(|value| value.to_string()))
}

fn maybe_number(value: Option<u64>) -> Argument {
    Argument::Number(value.map(signed))
}

impl PostgresStore {
    /// Carries out a deletion that takes some rows at a time, until it finds none.
    async fn pruned(&self, prune: &'static str, before_s: u64) -> Result<u64, StoreError> {
        let mut sum = 0;
        loop {
            let rows = self.run(prune, vec![number(before_s)]).await?;
            match rows::number(one(&rows)?, "pruned")? {
                0 => return Ok(sum),
                count => sum += count,
            }
        }
    }

    async fn is_done(
        &self,
        sql: &'static str,
        arguments: Vec<Argument>,
    ) -> Result<bool, StoreError> {
        let rows = self.run(sql, arguments).await?;
        get(one(&rows)?, "is_done")
    }

    async fn commit_claim(&self, change: &ClaimChange) -> Result<bool, StoreError> {
        let claim = &change.claim;
        let hashes = claim.transaction_hashes();
        let hashes = hashes.map(|hash| Some(hash.to_string())).collect();
        let arguments = vec![
            json(wallet_cells(&change.wallet)?),
            json(claim_cells(claim)?),
            number(change.is_removed.into()),
            Argument::Texts(Some(hashes)),
            number(claim.key.chain_id),
            Argument::Number(Some(self.attempt())),
        ];
        self.is_done(COMMIT, arguments).await
    }

    async fn claim_totals(&self) -> Result<ClaimTotals, StoreError> {
        let rows = self.run(SUMS, Vec::new()).await?;
        let sums = one(&rows)?;
        let mut totals = ClaimTotals {
            wallets: rows::number(sums, "wallets")?,
            exposure: amount(sums, "exposure")?,
            debt: amount(sums, "debt")?,
            settled: amount(sums, "settled")?,
            booked: amount(sums, "booked")?,
            ..ClaimTotals::default()
        };
        let stages = self.run(STAGES, Vec::new()).await?;
        for (stage, total) in ClaimStage::ALL.iter().zip(&mut totals.stages) {
            let found = stages
                .iter()
                .find(|row| get::<&str>(row, "stage") == Ok(stage.as_str()));
            if let Some(row) = found {
                total.count = rows::number(row, "claims")?;
                total.amount = amount(row, "amount")?;
            }
            if *stage == ClaimStage::Settled {
                *total = StageTotal {
                    count: rows::number(sums, "settlements")?,
                    amount: totals.settled,
                };
            }
        }
        Ok(totals)
    }
}

impl ClaimStore for PostgresStore {
    fn view<'a>(
        &'a self,
        key: &'a AuthorizationKey,
    ) -> LedgerFuture<'a, Result<ClaimView, StoreError>> {
        let wallet = key.wallet();
        let arguments = vec![text(&wallet.to_string()), text(&key.to_string())];
        Box::pin(async move {
            let rows = self.run(VIEW, arguments).await?;
            read_view(one(&rows)?, wallet)
        })
    }

    fn commit(&self, change: ClaimChange) -> LedgerFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move { self.commit_claim(&change).await })
    }

    fn lease_due<'a>(
        &'a self,
        owner: &'a str,
        now_ms: u64,
        until_ms: u64,
        limit: u32,
    ) -> LedgerFuture<'a, Result<Vec<ClaimRecord>, StoreError>> {
        let arguments = vec![
            text(owner),
            number(now_ms),
            number(until_ms),
            number(limit.into()),
        ];
        Box::pin(async move {
            let leased = self.all(LEASE, arguments, |row| read_claim(row)).await;
            let mut leased = leased?;
            leased.sort_by_key(|claim| (claim.due_at_ms, claim.no));
            Ok(leased)
        })
    }

    fn claims(&self, query: ClaimQuery) -> LedgerFuture<'_, Result<Vec<ClaimRecord>, StoreError>> {
        let arguments = vec![
            maybe_text(query.stage.map(ClaimStage::as_str)),
            maybe_text(query.wallet),
            maybe_text(query.account),
            maybe_text(query.request),
            number(query.only_debts.into()),
            maybe_number(query.since_ms),
            maybe_number(query.before_ms),
            maybe_number(query.below_no),
            number(query.limit.into()),
        ];
        Box::pin(self.all(LIST, arguments, |row| read_claim(row)))
    }

    fn wallet(
        &self,
        wallet: WalletId,
    ) -> LedgerFuture<'_, Result<Option<WalletRecord>, StoreError>> {
        let select = "SELECT * FROM bardo.wallets WHERE wallet = $1";
        let arguments = vec![text(&wallet.to_string())];
        Box::pin(async move {
            let found = self
                .all(select, arguments, |row| read_wallet(row, ""))
                .await;
            Ok(found?.pop().flatten())
        })
    }

    fn wallets(
        &self,
        after: Option<WalletId>,
        limit: u32,
    ) -> LedgerFuture<'_, Result<Vec<WalletRecord>, StoreError>> {
        let select = "SELECT * FROM bardo.wallets WHERE wallet > $1 ORDER BY wallet LIMIT $2";
        let after = after.map(|wallet| wallet.to_string()).unwrap_or_default();
        let arguments = vec![text(&after), number(limit.into())];
        Box::pin(async move {
            let found = self
                .all(select, arguments, |row| read_wallet(row, ""))
                .await;
            Ok(found?.into_iter().flatten().collect())
        })
    }

    fn totals(&self) -> LedgerFuture<'_, Result<ClaimTotals, StoreError>> {
        Box::pin(self.claim_totals())
    }

    fn claim_of_transaction(
        &self,
        chain_id: u64,
        transaction: ChainHash,
    ) -> LedgerFuture<'_, Result<Option<AuthorizationKey>, StoreError>> {
        let select = "SELECT key FROM bardo.claim_transactions WHERE chain_id = $1 AND hash = $2";
        let arguments = vec![number(chain_id), text(&transaction.to_string())];
        Box::pin(async move {
            let read = |row: &Row| {
                let key: &str = get(row, "key")?;
                key.parse().map_err(|error| damaged(&error))
            };
            Ok(self.all(select, arguments, read).await?.pop())
        })
    }

    fn prune_claims(&self, before_s: u64) -> LedgerFuture<'_, Result<u64, StoreError>> {
        Box::pin(self.pruned(PRUNE, before_s))
    }

    fn chain_deposit(
        &self,
        log: ChainLog,
    ) -> LedgerFuture<'_, Result<Option<ChainDeposit>, StoreError>> {
        let select = "SELECT * FROM bardo.chain_deposits WHERE log = $1";
        let arguments = vec![text(&log.to_string())];
        Box::pin(async move {
            let found = self.all(select, arguments, |row| read_deposit(row)).await;
            Ok(found?.pop())
        })
    }

    fn put_chain_deposit(
        &self,
        deposit: ChainDeposit,
    ) -> LedgerFuture<'_, Result<bool, StoreError>> {
        let put = "SELECT bardo.put_chain_deposit($1::jsonb) AS is_done";
        Box::pin(async move {
            self.is_done(put, vec![json(deposit_cells(&deposit)?)])
                .await
        })
    }

    fn chain_deposits(
        &self,
        state: ChainDepositState,
        after: Option<ChainLog>,
        limit: u32,
    ) -> LedgerFuture<'_, Result<Vec<ChainDeposit>, StoreError>> {
        let select = "SELECT * FROM bardo.chain_deposits WHERE state = $1 AND log > $2
            ORDER BY log LIMIT $3";
        let after = after.map(|log| log.to_string()).unwrap_or_default();
        let arguments = vec![text(state.as_str()), text(&after), number(limit.into())];
        Box::pin(self.all(select, arguments, |row| read_deposit(row)))
    }

    fn chain_value<'a>(
        &'a self,
        name: &'a str,
    ) -> LedgerFuture<'a, Result<Option<String>, StoreError>> {
        let select = "SELECT value FROM bardo.chain_values WHERE name = $1";
        Box::pin(async move {
            let found = self.all(select, vec![text(name)], |row| get(row, "value"));
            Ok(found.await?.pop())
        })
    }

    fn swap_chain_value<'a>(
        &'a self,
        name: &'a str,
        from: Option<String>,
        to: String,
    ) -> LedgerFuture<'a, Result<bool, StoreError>> {
        let swap = "SELECT bardo.swap_chain_value($1, $2, $3) AS is_done";
        let arguments = vec![text(name), maybe_text(from), text(&to)];
        Box::pin(self.is_done(swap, arguments))
    }

    fn prune_proofs(&self, before_s: u64) -> LedgerFuture<'_, Result<u64, StoreError>> {
        Box::pin(self.pruned(PRUNE_PROOFS, before_s))
    }
}
