//! The ledger on Postgres.

use std::sync::Arc;
use std::time::Duration;

use bardo_ledger::{
    Accounts, Balance, Deposit, End, Funds, HoldView, Holds, LedgerFuture, LedgerRefusal, Posting,
    ReceiptRecord, Reservation, Reserve, Settle, Settled, StoreError, Verification,
};
use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;

use super::arguments::{Argument, Statement, amount, number, short, text};
use super::pool::PostgresPool;
use super::records::Underway;
use super::{PostgresStore, on, records, rows, scope};

/// Adding everything up reads everything.
const VERIFY_MAX: Duration = Duration::from_secs(300);
/// A reference is found by an index, whose entries are bounded.
const REFERENCE_BYTES_MAX: usize = 2_000;

const RESERVE: &str =
    "SELECT * FROM bardo.reserve($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
const EXTEND: &str = "SELECT * FROM bardo.extend($1, $2, $3, $4)";
const SETTLE: &str = "SELECT * FROM bardo.settle($1, $2, $3, $4, $5, $6, $7, $8, $9)";
/// The hold comes after the deposit, whose figures it names, and only after a new one.
const DEPOSIT_FOR: &str = "WITH before AS MATERIALIZED (
        SELECT EXISTS (
            SELECT FROM bardo.transfers WHERE account = $1 AND kind = 'deposit' AND reference = $4
        ) AS is_known
    ), deposit AS MATERIALIZED (
        SELECT d.*, before.is_known FROM before, bardo.deposit($1, $2, $3, $4, $5) AS d
    ), hold AS MATERIALIZED (
        SELECT r.outcome FROM deposit, LATERAL bardo.reserve(
            $1, $6, $7, NULL, least($2, deposit.deposited), $8, $5,
            '{}', '{}', '{}', '{}', '{}'
        ) AS r WHERE NOT deposit.is_known AND deposit.outcome = 'deposited'
    )
    SELECT outcome, deposited, spent,
        held + CASE (SELECT outcome FROM hold) WHEN 'held' THEN $2 ELSE 0 END AS held
    FROM deposit";
const DEPOSIT: &str = "SELECT * FROM bardo.deposit($1, $2, $3, $4, $5)";
const EXPIRE: &str = "SELECT * FROM bardo.expire($1)";
const BALANCE: &str = "SELECT deposited, spent, held FROM bardo.accounts WHERE id = $1";
const HOLDS: &str = "SELECT request, account, amount, state, created_at_ms, expires_at_ms
    FROM bardo.holds
    WHERE state IN ('open', 'unknown') AND ($1::text IS NULL OR account = $1)
    ORDER BY created_at_ms, account COLLATE \"C\", request COLLATE \"C\"";
const POSTINGS: &str = "SELECT p.transfer, p.at_ms, p.kind, p.book, p.amount, p.reference
    FROM bardo.postings AS p
    WHERE p.account = $1 AND p.transfer > $2 AND p.transfer <= (
        SELECT max(no) FROM (
            SELECT no FROM bardo.transfers WHERE account = $1 AND no > $2 ORDER BY no LIMIT $3
        ) AS page
    )
    ORDER BY p.transfer, p.line";
const VERIFY: &str = "SELECT (SELECT count(*) FROM bardo.accounts) AS accounts,
    (SELECT count(*) FROM bardo.postings) AS postings,
    (SELECT count(*) FROM bardo.holds WHERE state IN ('open', 'unknown')) AS holds,
    ARRAY(SELECT bardo.problems()) AS problems";

fn settle_arguments(command: &Settle) -> Vec<Argument> {
    let none = (MicroUsd::ZERO, MicroUsd::ZERO);
    let (end, provider, (cost, spread)) = match &command.end {
        End::Capture(charge) => (
            "capture",
            &*charge.provider,
            (charge.provider_cost, charge.spread),
        ),
        End::Release => ("release", "", none),
        End::Unknown => ("unknown", "", none),
    };
    let mut arguments = vec![
        text(command.account.as_str()),
        text(command.request.as_str()),
        text(end),
        Argument::Text(Some(short(provider))),
        amount(cost),
        amount(spread),
        number(command.now_ms),
    ];
    arguments.extend(records::arguments(command.record.as_ref()));
    arguments
}

/// A hold that is being made. Whoever asked for it may be gone before the answer is there; then it
/// is released.
struct Unclaimed {
    pool: Arc<PostgresPool>,
    runtime: tokio::runtime::Handle,
    underway: Option<Underway>,
    release: Settle,
    armed: bool,
}

impl PostgresStore {
    fn unclaimed(&self, command: &Reserve) -> Unclaimed {
        Unclaimed {
            pool: Arc::clone(&self.pool),
            runtime: self.thread.handle(),
            underway: Some(self.records.enter()),
            release: Settle {
                account: command.account.clone(),
                request: command.request.clone(),
                end: End::Release,
                record: None,
                now_ms: command.now_ms,
            },
            armed: false,
        }
    }
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if self.armed {
            let (pool, arguments) = (Arc::clone(&self.pool), settle_arguments(&self.release));
            let underway = self.underway.take();
            self.runtime.spawn(async move {
                if let Err(error) = pool.run(&Statement::new(SETTLE, arguments)).await {
                    tracing::warn!(%error, "a hold was not released; it ends when it expires");
                }
                drop(underway);
            });
        }
    }
}

impl Funds for PostgresStore {
    fn balance<'a>(
        &'a self,
        account: &'a AccountId,
    ) -> LedgerFuture<'a, Result<Option<Balance>, StoreError>> {
        Box::pin(async move {
            let rows = self.run(BALANCE, vec![text(account.as_str())]).await?;
            rows.first().map(rows::balance).transpose()
        })
    }

    fn deposit(
        &self,
        command: Deposit,
    ) -> LedgerFuture<'_, Result<Result<Balance, LedgerRefusal>, StoreError>> {
        Box::pin(async move {
            if let Err(refusal) = checked(&command)? {
                return Ok(Err(refusal));
            }
            self.put_in(DEPOSIT, deposit_arguments(&command)).await
        })
    }
}

/// Refuses a deposit that the database cannot have.
fn checked(command: &Deposit) -> Result<Result<(), LedgerRefusal>, StoreError> {
    if command.amount > MicroUsd::MAX {
        return Ok(Err(LedgerRefusal::Overflow));
    }
    if !(1..=REFERENCE_BYTES_MAX).contains(&command.reference.len()) {
        let problem = "a deposit's reference has 1 to 2,000 bytes";
        return Err(StoreError::Damaged(problem.to_owned()));
    }
    Ok(Ok(()))
}

fn deposit_arguments(command: &Deposit) -> Vec<Argument> {
    let source = command.reference.split(':').next().unwrap_or_default();
    vec![
        text(command.account.as_str()),
        amount(command.amount),
        Argument::Text(Some(short(source))),
        text(&command.reference),
        number(command.now_ms),
    ]
}

impl PostgresStore {
    async fn put_in(
        &self,
        statement: &'static str,
        arguments: Vec<Argument>,
    ) -> Result<Result<Balance, LedgerRefusal>, StoreError> {
        let rows = self.run(statement, arguments).await?;
        let row = rows::one(&rows)?;
        match rows::get(row, "outcome")? {
            "overflow" => Ok(Err(LedgerRefusal::Overflow)),
            _ => rows::balance(row).map(Ok),
        }
    }
}

impl Holds for PostgresStore {
    fn deposit_for<'a>(
        &'a self,
        command: Deposit,
        request: &'a RequestId,
    ) -> LedgerFuture<'a, Result<Result<Balance, LedgerRefusal>, StoreError>> {
        Box::pin(async move {
            if let Err(refusal) = checked(&command)? {
                return Ok(Err(refusal));
            }
            let mut arguments = deposit_arguments(&command);
            let hold = command.hold_for(request);
            arguments.extend([
                text(request.as_str()),
                Argument::Number(Some(self.attempt())),
                number(hold.expires_at_ms),
            ]);
            self.put_in(DEPOSIT_FOR, arguments).await
        })
    }

    fn reserve(
        &self,
        command: Reserve,
    ) -> LedgerFuture<'_, Result<Result<Reservation, LedgerRefusal>, StoreError>> {
        Box::pin(async move {
            if command.amount > MicroUsd::MAX {
                return Ok(Err(LedgerRefusal::Overflow));
            }
            let mut arguments = vec![
                text(command.account.as_str()),
                text(command.request.as_str()),
                Argument::Number(Some(self.attempt())),
                Argument::Text(command.key.as_ref().map(ToString::to_string)),
                amount(command.amount),
                number(command.expires_at_ms),
                number(command.now_ms),
            ];
            arguments.extend(scope::arguments(&command.caps, command.now_ms));
            let pool = Arc::clone(&self.pool);
            let mut unclaimed = self.unclaimed(&command);
            let (rows, mut unclaimed) = on(&self.thread, async move {
                let rows = pool.run(&Statement::new(RESERVE, arguments)).await;
                unclaimed.armed = true;
                Ok((rows, unclaimed))
            })
            .await?;
            let answer = rows.and_then(|rows| {
                let row = rows::one(&rows)?;
                rows::reservation(row, &command.account, &command.request, command.amount)
            });
            // The caller has its answer. After an unknown one it may send the command again, and a
            // release that comes late would end the hold of the second sending.
            unclaimed.armed = false;
            answer
        })
    }

    /// What `reserve` has answered is kept already.
    fn persist<'a>(
        &'a self,
        _account: &'a AccountId,
        _request: &'a RequestId,
    ) -> LedgerFuture<'a, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn extend<'a>(
        &'a self,
        account: &'a AccountId,
        request: &'a RequestId,
        by: MicroUsd,
        _now_ms: u64,
    ) -> LedgerFuture<'a, Result<Result<Reservation, LedgerRefusal>, StoreError>> {
        Box::pin(async move {
            let arguments = vec![
                text(account.as_str()),
                text(request.as_str()),
                Argument::Number(Some(self.attempt())),
                amount(by),
            ];
            let rows = self.run(EXTEND, arguments).await?;
            rows::reservation(rows::one(&rows)?, account, request, by)
        })
    }

    fn settle(&self, command: Settle) -> LedgerFuture<'_, Result<Settled, StoreError>> {
        Box::pin(async move {
            let rows = self.run(SETTLE, settle_arguments(&command)).await?;
            rows::settled(rows::one(&rows)?)
        })
    }

    fn release(&self, account: &AccountId, request: &RequestId, now_ms: u64) {
        let arguments = settle_arguments(&Settle {
            account: account.clone(),
            request: request.clone(),
            end: End::Release,
            record: None,
            now_ms,
        });
        let (pool, underway) = (Arc::clone(&self.pool), self.records.enter());
        self.thread.spawn(async move {
            if let Err(error) = pool.run(&Statement::new(SETTLE, arguments)).await {
                tracing::warn!(%error, "a hold was not released; it ends when it expires");
            }
            drop(underway);
        });
    }

    fn record(&self, record: ReceiptRecord) {
        self.records.push(record);
    }
}

impl Accounts for PostgresStore {
    fn postings<'a>(
        &'a self,
        account: &'a AccountId,
        after: u64,
        limit: u32,
    ) -> LedgerFuture<'a, Result<Vec<Posting>, StoreError>> {
        Box::pin(async move {
            let arguments = vec![text(account.as_str()), number(after), number(limit.into())];
            let mut lines = self.all(POSTINGS, arguments, rows::posting).await?;
            // Whole transfers until the limit is reached.
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            if let Some(last) = limit.checked_sub(1).and_then(|at| lines.get(at)) {
                let transfer = last.transfer;
                lines.retain(|line| line.transfer <= transfer);
            }
            Ok(lines)
        })
    }

    fn holds<'a>(
        &'a self,
        account: Option<&'a AccountId>,
    ) -> LedgerFuture<'a, Result<Vec<HoldView>, StoreError>> {
        let account = Argument::Text(account.map(ToString::to_string));
        Box::pin(self.all(HOLDS, vec![account], rows::hold))
    }

    fn expire(&self, now_ms: u64) -> LedgerFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            let mut expired = 0;
            loop {
                let rows = self.run(EXPIRE, vec![number(now_ms)]).await?;
                let row = rows::one(&rows)?;
                expired += rows::number(row, "expired")?;
                if !rows::get(row, "more")? {
                    return Ok(expired);
                }
            }
        })
    }

    fn verify(&self) -> LedgerFuture<'_, Result<Verification, StoreError>> {
        Box::pin(async move {
            let pool = Arc::clone(&self.pool);
            let rows = on(&self.thread, async move {
                let command = Statement::new(VERIFY, Vec::new());
                pool.run_long(&command, VERIFY_MAX).await
            })
            .await?;
            rows::verification(rows::one(&rows)?)
        })
    }
}
