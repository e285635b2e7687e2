//! The rules over the rows of a store.

use std::fmt;
use std::sync::Arc;

use super::admit::{ClaimAnswer, ClaimRefusal, NewClaim, admit};
use super::chain_deposit::{
    ChainDeposit, ChainDepositRefusal, ChainDepositState, ChainLog, SeenTransfer, passes,
};
use super::chain_state::{ChainProgress, GasBudgetRefusal, GasDay, GasUse};
use super::key::{AuthorizationKey, InvalidChainText};
use super::port::{ClaimChange, ClaimStore};
use super::record::ClaimRecord;
use super::step::{ClaimStep, StepBy, StepOutcome, StepRefusal, decide};
use crate::command::{Deposit, Settle};
use crate::port::{Funds, Holds, StoreError};

/// How often a change is decided anew because another one came before. Each time, somebody else
/// has got on.
const TRIES_MAX: u32 = 1_000;

/// Claims, settlements and debts over a store. Several processes may use one store; each change is
/// decided on rows that nobody changed meanwhile.
#[derive(Clone)]
pub struct ClaimBook {
    store: Arc<dyn ClaimStore>,
}

impl fmt::Debug for ClaimBook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClaimBook").finish_non_exhaustive()
    }
}

impl ClaimBook {
    /// The book over a store.
    #[must_use]
    pub fn new(store: Arc<dyn ClaimStore>) -> Self {
        Self { store }
    }

    /// The store, for reading.
    #[must_use]
    pub fn store(&self) -> &dyn ClaimStore {
        &*self.store
    }

    /// Claims an authorization. Once this answers [`ClaimAnswer::Claimed`], no other request ever
    /// gets it, unless the claim is released.
    ///
    /// # Errors
    /// When the store does not answer: the claim may have been made, and asking again for the same
    /// request is safe.
    pub async fn claim(
        &self,
        command: &NewClaim,
    ) -> Result<Result<ClaimAnswer, ClaimRefusal>, StoreError> {
        for _ in 0..TRIES_MAX {
            let view = self.store.view(&command.key).await?;
            let mut claim = match admit(command, view.claim.as_ref(), &view.wallet) {
                Err(refusal) => return Ok(Err(refusal)),
                Ok(Err(answer)) => return Ok(Ok(answer)),
                Ok(Ok(claim)) => claim,
            };
            let wallet = view.wallet.after(None, Some(&claim)).ok_or_else(range)?;
            let change = ClaimChange {
                wallet,
                claim: claim.clone(),
                is_removed: false,
            };
            if self.store.commit(change).await? {
                claim.version += 1;
                return Ok(Ok(ClaimAnswer::Claimed(Box::new(claim))));
            }
        }
        Err(contended())
    }

    /// Takes a step; answers the claim after it, `None` where it is gone.
    ///
    /// # Errors
    /// When the store does not answer: the step may have been taken. Each step can be sent again,
    /// but whoever did not hear the answer to [`ClaimStep::Serve`] must not serve.
    pub async fn step(
        &self,
        key: &AuthorizationKey,
        by: &StepBy,
        step: &ClaimStep,
        now_ms: u64,
    ) -> Result<Result<Option<ClaimRecord>, StepRefusal>, StoreError> {
        for _ in 0..TRIES_MAX {
            let view = self.store.view(key).await?;
            let Some(claim) = view.claim else {
                return Ok(Err(StepRefusal::NoClaim));
            };
            let (mut after, is_removed) = match decide(&claim, by, step, now_ms) {
                Err(refusal) => return Ok(Err(refusal)),
                Ok(StepOutcome::Unchanged) => return Ok(Ok(Some(claim))),
                Ok(StepOutcome::Changed(after)) => (*after, false),
                Ok(StepOutcome::Removed) => (claim.clone(), true),
            };
            let counted = (!is_removed).then_some(&after);
            let wallet = view.wallet.after(Some(&claim), counted).ok_or_else(range)?;
            let change = ClaimChange {
                wallet,
                claim: after.clone(),
                is_removed,
            };
            if self.store.commit(change).await? {
                after.version += 1;
                return Ok(Ok((!is_removed).then_some(after)));
            }
        }
        Err(contended())
    }

    /// Books a settled claim in the ledger and says so: a deposit of what the chain paid, and the
    /// charge of the request, `settle`, which the ledger takes from it. Either can be there
    /// already; nothing is booked twice.
    ///
    /// # Errors
    /// When a store does not answer, or the ledger refuses a deposit that is out of range. It is
    /// safe to ask again.
    pub async fn book(
        &self,
        ledger: &dyn Holds,
        claim: &ClaimRecord,
        settle: Option<Settle>,
        now_ms: u64,
    ) -> Result<Result<Option<ClaimRecord>, StepRefusal>, StoreError> {
        let refused = StepRefusal::OutOfOrder {
            stage: claim.stage,
            service: claim.service,
        };
        let Some(settlement) = claim.settlement else {
            return Ok(Err(refused));
        };
        if claim.booked.is_none() {
            let deposit = Deposit {
                account: claim.account.clone(),
                amount: settlement.amount,
                reference: claim.key.deposit_reference(),
                now_ms,
            };
            let answer = match &settle {
                // Other requests of the account must not take it before it is charged.
                Some(settle) => ledger.deposit_for(deposit, &settle.request).await?,
                None => ledger.deposit(deposit).await?,
            };
            answer.map_err(|refusal| StoreError::Damaged(refusal.to_string()))?;
            if let Some(settle) = settle {
                ledger.settle(settle).await?;
            }
        }
        let by = StepBy::Lease(claim.lease_no);
        self.step(&claim.key, &by, &ClaimStep::Book, now_ms).await
    }

    /// Takes note of a transfer to the gateway's address, whose state is
    /// [`ChainDepositState::Pending`]. The second time changes nothing, except that one that was
    /// undone or moved to another block is pending in its new block.
    ///
    /// # Errors
    /// When the store does not answer. It is safe to ask again.
    pub async fn see_transfer(&self, seen: &ChainDeposit) -> Result<SeenTransfer, StoreError> {
        for _ in 0..TRIES_MAX {
            if self.is_settlement(seen.log).await? {
                return Ok(SeenTransfer::Settlement);
            }
            let mut deposit = seen.clone();
            deposit.state = ChainDepositState::Pending;
            deposit.version = 0;
            if let Some(found) = self.store.chain_deposit(seen.log).await? {
                let is_news = match found.state {
                    ChainDepositState::Pending => found.block_hash != seen.block_hash,
                    ChainDepositState::Reversed => true,
                    ChainDepositState::Confirmed | ChainDepositState::Credited => false,
                };
                if !is_news {
                    return Ok(SeenTransfer::Kept(found));
                }
                deposit.version = found.version;
            }
            if self.store.put_chain_deposit(deposit.clone()).await? {
                deposit.version += 1;
                return Ok(SeenTransfer::Kept(deposit));
            }
        }
        Err(contended())
    }

    /// Changes the state of a deposit on a chain. Confirmed ones are never reversed.
    ///
    /// # Errors
    /// When the store does not answer. It is safe to ask again.
    pub async fn move_deposit(
        &self,
        log: ChainLog,
        to: ChainDepositState,
        now_ms: u64,
    ) -> Result<Result<ChainDeposit, ChainDepositRefusal>, StoreError> {
        for _ in 0..TRIES_MAX {
            let Some(mut deposit) = self.store.chain_deposit(log).await? else {
                return Ok(Err(ChainDepositRefusal::NoDeposit));
            };
            let from = deposit.state;
            match passes(from, to) {
                None => return Ok(Err(ChainDepositRefusal::OutOfOrder { from, to })),
                Some(false) => return Ok(Ok(deposit)),
                Some(true) => {}
            }
            if to == ChainDepositState::Confirmed && self.is_settlement(log).await? {
                return Ok(Err(ChainDepositRefusal::Settlement));
            }
            deposit.state = to;
            deposit.changed_at_ms = now_ms;
            if self.store.put_chain_deposit(deposit.clone()).await? {
                deposit.version += 1;
                return Ok(Ok(deposit));
            }
        }
        Err(contended())
    }

    /// Books a confirmed deposit in the ledger and says so; nothing is booked twice.
    ///
    /// # Errors
    /// When a store does not answer, or the ledger refuses a deposit that is out of range. It is
    /// safe to ask again.
    pub async fn credit_deposit(
        &self,
        ledger: &dyn Funds,
        deposit: &ChainDeposit,
        now_ms: u64,
    ) -> Result<Result<ChainDeposit, ChainDepositRefusal>, StoreError> {
        let (from, to) = (deposit.state, ChainDepositState::Credited);
        match passes(from, to) {
            None => return Ok(Err(ChainDepositRefusal::OutOfOrder { from, to })),
            Some(false) => return Ok(Ok(deposit.clone())),
            Some(true) => {}
        }
        let command = Deposit {
            account: deposit.account.clone(),
            amount: deposit.amount,
            reference: deposit.log.deposit_reference(),
            now_ms,
        };
        let answer = ledger.deposit(command).await?;
        answer.map_err(|refusal| StoreError::Damaged(refusal.to_string()))?;
        self.move_deposit(deposit.log, to, now_ms).await
    }

    async fn is_settlement(&self, log: ChainLog) -> Result<bool, StoreError> {
        let (chain_id, transaction) = (log.chain_id, log.transaction);
        let found = self.store.claim_of_transaction(chain_id, transaction);
        Ok(found.await?.is_some())
    }

    /// How far a watcher has read; `None` before it has begun.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn progress(
        &self,
        chain_id: u64,
        watcher: &str,
    ) -> Result<Option<ChainProgress>, StoreError> {
        let name = ChainProgress::name(chain_id, watcher);
        let text = self.store.chain_value(&name).await?;
        let progress = text.as_deref().map(ChainProgress::decode).transpose();
        progress.map_err(damaged)
    }

    /// Moves a watcher on, or back after a reorganization, if it is still at `from`; answers
    /// whether it was.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn move_progress(
        &self,
        chain_id: u64,
        watcher: &str,
        from: Option<ChainProgress>,
        to: ChainProgress,
    ) -> Result<bool, StoreError> {
        let name = ChainProgress::name(chain_id, watcher);
        let from = from.map(|progress| progress.encode());
        self.store.swap_chain_value(&name, from, to.encode()).await
    }

    /// Sets gas aside for the transaction of a nonce, in wei; for one that replaces it, only the
    /// difference. Answers all that is spent or set aside in the day.
    ///
    /// # Errors
    /// When the store does not answer. It is safe to ask again.
    pub async fn set_gas_aside(
        &self,
        day: GasDay,
        sender_nonce: u64,
        wei: u128,
        budget: u128,
    ) -> Result<Result<u128, GasBudgetRefusal>, StoreError> {
        self.change_gas(day, |gas| gas.set_aside(sender_nonce, wei, budget))
            .await
    }

    /// Counts what the transaction of a nonce cost, in wei, in place of what was set aside in that
    /// day. Answers all that is spent or set aside in the day.
    ///
    /// # Errors
    /// When the store does not answer. It is safe to ask again.
    pub async fn spend_gas(
        &self,
        day: GasDay,
        sender_nonce: u64,
        wei: u128,
    ) -> Result<u128, StoreError> {
        let spent = self.change_gas(day, |gas| {
            gas.spend(sender_nonce, wei);
            Ok(())
        });
        let refused = |refusal: GasBudgetRefusal| StoreError::Damaged(refusal.to_string());
        spent.await?.map_err(refused)
    }

    async fn change_gas(
        &self,
        day: GasDay,
        change: impl Fn(&mut GasUse) -> Result<(), GasBudgetRefusal>,
    ) -> Result<Result<u128, GasBudgetRefusal>, StoreError> {
        let name = day.name();
        for _ in 0..TRIES_MAX {
            let from = self.store.chain_value(&name).await?;
            let found = from.as_deref().map(GasUse::decode).transpose();
            let mut gas = found.map_err(damaged)?.unwrap_or_default();
            if let Err(refusal) = change(&mut gas) {
                return Ok(Err(refusal));
            }
            let swapped = self.store.swap_chain_value(&name, from, gas.encode());
            if swapped.await? {
                return Ok(Ok(gas.total()));
            }
        }
        Err(contended())
    }
}

fn contended() -> StoreError {
    StoreError::Unavailable("too many changes at once".to_owned())
}

fn range() -> StoreError {
    StoreError::Damaged("the figures of a wallet are out of range".to_owned())
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn damaged(error: InvalidChainText) -> StoreError {
    StoreError::Damaged(error.to_string())
}
