//! Books that are slow, do not answer, or do what was asked and lose the answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bardo_ledger::{
    Balance, Deposit, Funds, Holds, LedgerFuture, LedgerRefusal, MemoryLedger, ReceiptRecord,
    Reservation, Reserve, Settle, Settled, StoreError,
};
use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;

use crate::dice::Dice;

/// What happens to one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mishap {
    None,
    Slow(u64),
    /// Nothing was done.
    Before,
    /// The command was carried out, and its answer is lost.
    After,
}

/// The books in memory behind a bad line.
#[derive(Debug)]
pub struct FlakyLedger {
    inner: Arc<MemoryLedger>,
    seed: u64,
    /// In percent of calls.
    mishaps: u64,
    calls: AtomicU64,
}

impl FlakyLedger {
    /// These books, with so many mishaps in a hundred calls.
    #[must_use]
    pub fn new(inner: Arc<MemoryLedger>, seed: u64, mishaps: u64) -> Self {
        Self {
            inner,
            seed,
            mishaps,
            calls: AtomicU64::new(0),
        }
    }

    fn throw(&self) -> Mishap {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let mut dice = Dice::of(self.seed, "books", call);
        if !dice.percent(self.mishaps) {
            return Mishap::None;
        }
        match dice.below(4) {
            0 => Mishap::Before,
            1 => Mishap::After,
            _ => Mishap::Slow(1 + dice.below(400)),
        }
    }

    fn flaky<'a, T: Send + 'a>(
        &'a self,
        work: impl FnOnce() -> LedgerFuture<'a, Result<T, StoreError>> + Send + 'a,
    ) -> LedgerFuture<'a, Result<T, StoreError>> {
        let mishap = self.throw();
        let lost = || StoreError::Unavailable("the line is bad".to_owned());
        Box::pin(async move {
            match mishap {
                Mishap::None => {}
                Mishap::Slow(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
                Mishap::Before => return Err(lost()),
                Mishap::After => {
                    work().await?;
                    return Err(lost());
                }
            }
            work().await
        })
    }
}

impl Funds for FlakyLedger {
    fn balance<'a>(
        &'a self,
        account: &'a AccountId,
    ) -> LedgerFuture<'a, Result<Option<Balance>, StoreError>> {
        self.flaky(|| self.inner.balance(account))
    }

    fn deposit(
        &self,
        command: Deposit,
    ) -> LedgerFuture<'_, Result<Result<Balance, LedgerRefusal>, StoreError>> {
        self.inner.deposit(command)
    }
}

impl Holds for FlakyLedger {
    fn deposit_for<'a>(
        &'a self,
        command: Deposit,
        request: &'a RequestId,
    ) -> LedgerFuture<'a, Result<Result<Balance, LedgerRefusal>, StoreError>> {
        self.inner.deposit_for(command, request)
    }

    fn reserve(
        &self,
        command: Reserve,
    ) -> LedgerFuture<'_, Result<Result<Reservation, LedgerRefusal>, StoreError>> {
        self.flaky(|| self.inner.reserve(command))
    }

    fn persist<'a>(
        &'a self,
        account: &'a AccountId,
        request: &'a RequestId,
    ) -> LedgerFuture<'a, Result<(), StoreError>> {
        self.flaky(|| self.inner.persist(account, request))
    }

    fn extend<'a>(
        &'a self,
        account: &'a AccountId,
        request: &'a RequestId,
        by: MicroUsd,
        now_ms: u64,
    ) -> LedgerFuture<'a, Result<Result<Reservation, LedgerRefusal>, StoreError>> {
        self.flaky(move || self.inner.extend(account, request, by, now_ms))
    }

    fn settle(&self, command: Settle) -> LedgerFuture<'_, Result<Settled, StoreError>> {
        self.flaky(|| self.inner.settle(command))
    }

    fn release(&self, account: &AccountId, request: &RequestId, now_ms: u64) {
        // Without an answer it may be lost; then the hold expires.
        if !matches!(self.throw(), Mishap::Before) {
            self.inner.release(account, request, now_ms);
        }
    }

    fn record(&self, record: ReceiptRecord) {
        self.inner.record(record);
    }
}
