//! A store that dies before or after a change.

use std::sync::{Arc, Mutex};

use super::chain::ClaimDice;
use crate::claims::{
    AuthorizationKey, ChainDeposit, ChainDepositState, ChainHash, ChainLog, ClaimChange,
    ClaimQuery, ClaimRecord, ClaimStore, ClaimTotals, ClaimView, WalletId, WalletRecord,
};
use crate::port::{LedgerFuture, StoreError};

/// A store whose changes fail at random: before they are made, or after, with the answer lost.
pub(super) struct CrashingClaims {
    store: Arc<dyn ClaimStore>,
    dice: Mutex<ClaimDice>,
    failures: u64,
}

impl CrashingClaims {
    /// Lets this many of a hundred changes fail.
    pub(super) fn new(store: Arc<dyn ClaimStore>, seed: u64, failures: u64) -> Self {
        let dice = Mutex::new(ClaimDice::new(seed));
        Self {
            store,
            dice,
            failures,
        }
    }

    fn change<'a, T: Send + 'a>(
        &'a self,
        change: LedgerFuture<'a, Result<T, StoreError>>,
    ) -> LedgerFuture<'a, Result<T, StoreError>> {
        let (fails, is_before) = {
            let mut dice = self.dice.lock().expect("nothing panics while it is held");
            (dice.percent(self.failures), dice.percent(50))
        };
        let error = || Err(StoreError::Unavailable("it fails on purpose".to_owned()));
        Box::pin(async move {
            match (fails, is_before) {
                (false, _) => change.await,
                (true, true) => error(),
                (true, false) => {
                    change.await?;
                    error()
                }
            }
        })
    }
}

impl ClaimStore for CrashingClaims {
    fn view<'a>(
        &'a self,
        key: &'a AuthorizationKey,
    ) -> LedgerFuture<'a, Result<ClaimView, StoreError>> {
        self.store.view(key)
    }

    fn commit(&self, change: ClaimChange) -> LedgerFuture<'_, Result<bool, StoreError>> {
        self.change(self.store.commit(change))
    }

    fn lease_due<'a>(
        &'a self,
        owner: &'a str,
        now_ms: u64,
        until_ms: u64,
        limit: u32,
    ) -> LedgerFuture<'a, Result<Vec<ClaimRecord>, StoreError>> {
        self.change(self.store.lease_due(owner, now_ms, until_ms, limit))
    }

    fn claims(&self, query: ClaimQuery) -> LedgerFuture<'_, Result<Vec<ClaimRecord>, StoreError>> {
        self.store.claims(query)
    }

    fn wallet(
        &self,
        wallet: WalletId,
    ) -> LedgerFuture<'_, Result<Option<WalletRecord>, StoreError>> {
        self.store.wallet(wallet)
    }

    fn wallets(
        &self,
        after: Option<WalletId>,
        limit: u32,
    ) -> LedgerFuture<'_, Result<Vec<WalletRecord>, StoreError>> {
        self.store.wallets(after, limit)
    }

    fn totals(&self) -> LedgerFuture<'_, Result<ClaimTotals, StoreError>> {
        self.store.totals()
    }

    fn claim_of_transaction(
        &self,
        chain_id: u64,
        transaction: ChainHash,
    ) -> LedgerFuture<'_, Result<Option<AuthorizationKey>, StoreError>> {
        self.store.claim_of_transaction(chain_id, transaction)
    }

    fn prune_claims(&self, before_s: u64) -> LedgerFuture<'_, Result<u64, StoreError>> {
        self.change(self.store.prune_claims(before_s))
    }

    fn chain_deposit(
        &self,
        log: ChainLog,
    ) -> LedgerFuture<'_, Result<Option<ChainDeposit>, StoreError>> {
        self.store.chain_deposit(log)
    }

    fn put_chain_deposit(
        &self,
        deposit: ChainDeposit,
    ) -> LedgerFuture<'_, Result<bool, StoreError>> {
        self.change(self.store.put_chain_deposit(deposit))
    }

    fn chain_deposits(
        &self,
        state: ChainDepositState,
        after: Option<ChainLog>,
        limit: u32,
    ) -> LedgerFuture<'_, Result<Vec<ChainDeposit>, StoreError>> {
        self.store.chain_deposits(state, after, limit)
    }

    fn chain_value<'a>(
        &'a self,
        name: &'a str,
    ) -> LedgerFuture<'a, Result<Option<String>, StoreError>> {
        self.store.chain_value(name)
    }

    fn swap_chain_value<'a>(
        &'a self,
        name: &'a str,
        from: Option<String>,
        to: String,
    ) -> LedgerFuture<'a, Result<bool, StoreError>> {
        self.change(self.store.swap_chain_value(name, from, to))
    }

    fn prune_proofs(&self, before_s: u64) -> LedgerFuture<'_, Result<u64, StoreError>> {
        self.change(self.store.prune_proofs(before_s))
    }
}
