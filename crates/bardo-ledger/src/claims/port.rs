//! What a store of claims has to do: keep rows and compare versions.

use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;

use super::chain_deposit::{ChainDeposit, ChainDepositState, ChainLog};
use super::key::{AuthorizationKey, ChainHash, WalletId};
use super::record::{ClaimRecord, ClaimStage, WalletRecord};
use crate::port::{LedgerFuture, StoreError};

/// First part of the names of values that mark a proof of an agent as used. Such a value is the Unix
/// second, with ten digits, from which the proof is refused anyway.
pub const PROOF_MARKS: &str = "proof:";

/// A claim and its wallet as they were in one moment.
#[derive(Debug, Clone)]
pub struct ClaimView {
    /// The wallet; with version zero where the store has none.
    pub wallet: WalletRecord,
    /// The claim, where there is one.
    pub claim: Option<ClaimRecord>,
}

/// A change of a claim and its wallet, kept whole or not at all. Both carry the version that they
/// were read with; the store writes the next one.
#[derive(Debug, Clone)]
pub struct ClaimChange {
    /// The wallet as it shall be.
    pub wallet: WalletRecord,
    /// The claim as it shall be.
    pub claim: ClaimRecord,
    /// The claim's row goes instead.
    pub is_removed: bool,
}

/// Which claims to list. `None` admits all.
#[derive(Debug, Clone, Default)]
pub struct ClaimQuery {
    /// Claims in this stage.
    pub stage: Option<ClaimStage>,
    /// Claims of this wallet.
    pub wallet: Option<WalletId>,
    /// Claims that are booked on this account.
    pub account: Option<AccountId>,
    /// The claim of this request.
    pub request: Option<RequestId>,
    /// Failed claims with a debt that is open.
    pub only_debts: bool,
    /// Claims made at this Unix millisecond or later.
    pub since_ms: Option<u64>,
    /// Claims made before this Unix millisecond.
    pub before_ms: Option<u64>,
    /// Claims with a lower number: the last of the page before.
    pub below_no: Option<u64>,
    /// How many at most.
    pub limit: u32,
}

/// How many claims are in a stage, and their sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StageTotal {
    /// How many claims are in it.
    pub count: u64,
    /// Sum of ceilings where nothing is owed yet, else of the amounts to settle or settled.
    pub amount: MicroUsd,
}

/// Sums over all claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClaimTotals {
    /// By stage, in the order of [`ClaimStage::ALL`].
    pub stages: [StageTotal; ClaimStage::ALL.len()],
    /// How many wallets were seen.
    pub wallets: u64,
    /// Sum of the ceilings of open claims.
    pub exposure: MicroUsd,
    /// Sum of open debts.
    pub debt: MicroUsd,
    /// Sum of settled amounts.
    pub settled: MicroUsd,
    /// Sum of amounts that the ledger has booked.
    pub booked: MicroUsd,
}

impl ClaimTotals {
    /// The total of a stage.
    #[must_use]
    pub fn of(&self, stage: ClaimStage) -> StageTotal {
        let place = ClaimStage::ALL.iter().position(|each| *each == stage);
        place.map_or(StageTotal::default(), |place| self.stages[place])
    }
}

/// Where claims, wallets, deposits on chains and the progress of watchers are kept. An acknowledged
/// change survives the process. Decisions are made above it, by
/// [`ClaimBook`](super::ClaimBook).
pub trait ClaimStore: Send + Sync {
    /// Reads a claim and its wallet.
    fn view<'a>(
        &'a self,
        key: &'a AuthorizationKey,
    ) -> LedgerFuture<'a, Result<ClaimView, StoreError>>;

    /// Keeps a change if both rows still have the versions that it carries; answers whether they
    /// had.
    fn commit(&self, change: ClaimChange) -> LedgerFuture<'_, Result<bool, StoreError>>;

    /// Leases claims that are due, the longest due first, to `owner` until `until_ms`. No two
    /// callers get the same claim.
    fn lease_due<'a>(
        &'a self,
        owner: &'a str,
        now_ms: u64,
        until_ms: u64,
        limit: u32,
    ) -> LedgerFuture<'a, Result<Vec<ClaimRecord>, StoreError>>;

    /// Claims one by one, newest first.
    fn claims(&self, query: ClaimQuery) -> LedgerFuture<'_, Result<Vec<ClaimRecord>, StoreError>>;

    /// Reads a wallet; `None` where it never had a claim.
    fn wallet(
        &self,
        wallet: WalletId,
    ) -> LedgerFuture<'_, Result<Option<WalletRecord>, StoreError>>;

    /// Wallets in the order of their names, after `after`.
    fn wallets(
        &self,
        after: Option<WalletId>,
        limit: u32,
    ) -> LedgerFuture<'_, Result<Vec<WalletRecord>, StoreError>>;

    /// Sums over all claims.
    fn totals(&self) -> LedgerFuture<'_, Result<ClaimTotals, StoreError>>;

    /// The claim that a transaction settles or was made to settle.
    fn claim_of_transaction(
        &self,
        chain_id: u64,
        transaction: ChainHash,
    ) -> LedgerFuture<'_, Result<Option<AuthorizationKey>, StoreError>>;

    /// Deletes claims that are [prunable](ClaimRecord::is_prunable) and whose authorization ended
    /// before this Unix second; answers how many.
    fn prune_claims(&self, before_s: u64) -> LedgerFuture<'_, Result<u64, StoreError>>;

    /// Reads a deposit on a chain.
    fn chain_deposit(
        &self,
        log: ChainLog,
    ) -> LedgerFuture<'_, Result<Option<ChainDeposit>, StoreError>>;

    /// Keeps a deposit on a chain if the store's row still has its version, zero meaning none;
    /// answers whether it had.
    fn put_chain_deposit(
        &self,
        deposit: ChainDeposit,
    ) -> LedgerFuture<'_, Result<bool, StoreError>>;

    /// Deposits on chains in a state, in the order of their names, after `after`.
    fn chain_deposits(
        &self,
        state: ChainDepositState,
        after: Option<ChainLog>,
        limit: u32,
    ) -> LedgerFuture<'_, Result<Vec<ChainDeposit>, StoreError>>;

    /// A value by name: how far a watcher is, and what gas was spent.
    fn chain_value<'a>(
        &'a self,
        name: &'a str,
    ) -> LedgerFuture<'a, Result<Option<String>, StoreError>>;

    /// Writes a value if it is still `from`; answers whether it was.
    fn swap_chain_value<'a>(
        &'a self,
        name: &'a str,
        from: Option<String>,
        to: String,
    ) -> LedgerFuture<'a, Result<bool, StoreError>>;

    /// Deletes the [marks](PROOF_MARKS) of proofs that ended before this Unix second; answers how
    /// many.
    fn prune_proofs(&self, before_s: u64) -> LedgerFuture<'_, Result<u64, StoreError>>;
}
