//! The ports that stores implement, one per use. One contract suite runs against each store.

use std::pin::Pin;

use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;

use crate::command::{
    Balance, Deposit, HoldView, LedgerRefusal, Posting, ReceiptRecord, Reservation, Reserve,
    Settle, Settled, Verification,
};
use crate::receipts::{ListQuery, SumQuery, SumRow};
use crate::series::ReceiptSeries;

/// The future that every method of a store returns.
pub type LedgerFuture<'a, T> = Pin<Box<dyn std::future::Future<Output = T> + Send + 'a>>;

/// The store did not do what was asked. Nothing is known of what it did: asking again with the
/// same ids is safe, taking silence for "no" is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The store is locked, full, slow or unreachable.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// The store contains an impossible value.
    #[error("the store is damaged: {0}")]
    Damaged(String),
}

/// Money of accounts: what is there, and what comes in.
pub trait Funds: Send + Sync {
    /// Puts money in, making the account where there is none. Answers its balance after.
    fn deposit(
        &self,
        command: Deposit,
    ) -> LedgerFuture<'_, Result<Result<Balance, LedgerRefusal>, StoreError>>;

    /// Where an account stands; `None` where there is none.
    fn balance<'a>(
        &'a self,
        account: &'a AccountId,
    ) -> LedgerFuture<'a, Result<Option<Balance>, StoreError>>;
}

/// Money of requests, from the hold to the charge. An acknowledged change survives the process.
pub trait Holds: Funds {
    /// Puts money in and holds all of it for a request, in one step: no other request can have it in
    /// between. The request must be a new one. Where the deposit was made before, nothing changes.
    fn deposit_for<'a>(
        &'a self,
        command: Deposit,
        request: &'a RequestId,
    ) -> LedgerFuture<'a, Result<Result<Balance, LedgerRefusal>, StoreError>>;

    /// Holds money. When this answers, no other request can have it; it may not be on disk yet
    /// (see [`Self::persist`]).
    fn reserve(
        &self,
        command: Reserve,
    ) -> LedgerFuture<'_, Result<Result<Reservation, LedgerRefusal>, StoreError>>;

    /// Answers when the hold would survive the process. No content may reach a caller before.
    fn persist<'a>(
        &'a self,
        account: &'a AccountId,
        request: &'a RequestId,
    ) -> LedgerFuture<'a, Result<(), StoreError>>;

    /// Holds `by` more for an open hold, under the same caps.
    fn extend<'a>(
        &'a self,
        account: &'a AccountId,
        request: &'a RequestId,
        by: MicroUsd,
        now_ms: u64,
    ) -> LedgerFuture<'a, Result<Result<Reservation, LedgerRefusal>, StoreError>>;

    /// Ends a hold; the answer is on disk. A hold that was never made, or has expired, is charged
    /// from what is available.
    fn settle(&self, command: Settle) -> LedgerFuture<'_, Result<Settled, StoreError>>;

    /// Gives back a hold of which nothing was spent, without waiting; a failure leaves it to
    /// expire.
    fn release(&self, account: &AccountId, request: &RequestId, now_ms: u64);

    /// Keeps a receipt that moves no money. It may be dropped under pressure; drops are counted.
    fn record(&self, record: ReceiptRecord);
}

/// Accounts as operators see them: postings, open holds, and whether all adds up.
pub trait Accounts: Funds {
    /// Postings of an account's transfers, oldest first, after transfer `after`.
    fn postings<'a>(
        &'a self,
        account: &'a AccountId,
        after: u64,
        limit: u32,
    ) -> LedgerFuture<'a, Result<Vec<Posting>, StoreError>>;

    /// Holds that have not ended, oldest first; of one account or of all.
    fn holds<'a>(
        &'a self,
        account: Option<&'a AccountId>,
    ) -> LedgerFuture<'a, Result<Vec<HoldView>, StoreError>>;

    /// Releases open holds whose time is over; answers how many.
    fn expire(&self, now_ms: u64) -> LedgerFuture<'_, Result<u64, StoreError>>;

    /// Adds everything up.
    fn verify(&self) -> LedgerFuture<'_, Result<Verification, StoreError>>;
}

/// Receipts of requests: one of them, some of them, or sums over many, of one account or of all.
pub trait Receipts: Send + Sync {
    /// One receipt of an account, as JSON, by the id made here or by the caller's own; of several
    /// with the same name the newest.
    fn receipt<'a>(
        &'a self,
        account: &'a AccountId,
        id: &'a str,
    ) -> LedgerFuture<'a, Result<Option<String>, StoreError>>;

    /// Sums of receipts, a row for each group in their order.
    fn sums(&self, query: SumQuery) -> LedgerFuture<'_, Result<Vec<SumRow>, StoreError>>;

    /// Receipts one by one, newest first.
    fn list(&self, query: ListQuery) -> LedgerFuture<'_, Result<Vec<ReceiptRecord>, StoreError>>;

    /// Answers when what was recorded before can be read, as far as the store can tell.
    fn flush(&self) -> LedgerFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Records that were dropped because the store could not keep up.
    fn dropped(&self) -> u64;
}

/// A store of money and receipts: all its ports at once. A user that needs one part takes that
/// trait instead.
pub trait Ledger: Holds + Accounts + Receipts + ReceiptSeries {}

impl<T: Holds + Accounts + Receipts + ReceiptSeries> Ledger for T {}
