//! Transactions of a claim: the first, those that replace it, and what became of them.

use std::collections::HashSet;
use std::time::Duration;

use bardo_ledger::StoreError;
use bardo_ledger::claims::{
    ChainDepositRefusal, ChainDepositState, ChainHash, ChainLog, ClaimQuery, ClaimRecord,
    ClaimStage, ClaimStep, OnChainSettlement, TRANSACTIONS_MAX,
};
use bardo_x402::evm::{Revert, U256};
use bardo_x402::token::TokenAmount;
use bardo_x402::verify::SettlementPlan;
use bardo_x402::wire::TransferMethod;

use super::{ClaimSettler, Stopped, id};
use crate::receipt::ChainReceipt;
use crate::sender::{ChainSender, TransactionError};

/// The fewest blocks in which the transaction of somebody else is looked for: six hours of Base.
const BLOCKS: u64 = 10_800;
/// Seconds after the end of a payment at which no block can have it any more.
pub(super) const OVER_S: u64 = 120;
/// After so many transactions that failed no other is sent, and the claim is looked at after so many
/// milliseconds, until its payment expires.
const FAILED_MAX: usize = 3;
const FAILED_MS: u64 = 60_000;
/// Claims that are read at a time to find their nonces.
const OPEN: u32 = 1_000;

impl ClaimSettler {
    /// The first transaction of a claim, or why there is none.
    pub(super) async fn pay(
        &self,
        sender: &ChainSender,
        claim: &ClaimRecord,
        now_ms: u64,
    ) -> Result<ClaimStep, Stopped> {
        let plan = Self::plan(claim)?;
        let amount = match claim.stage {
            // Settled first: the whole.
            ClaimStage::Claimed => claim.ceiling,
            _ => claim.amount,
        };
        let Some(call) = plan.call(TokenAmount::from_usd(amount)) else {
            let reason = "the payment does not settle this amount".to_owned();
            return Ok(ClaimStep::Fail { reason });
        };
        match sender.make(call.to, call.data, now_ms).await {
            Ok(transaction) => Ok(ClaimStep::Send {
                transaction,
                check_at_ms: now_ms + self.terms.block_ms / 2,
            }),
            Err(error) => self.unsent(claim, &plan, error, now_ms).await,
        }
    }

    /// What follows where a transaction cannot be made.
    async fn unsent(
        &self,
        claim: &ClaimRecord,
        plan: &SettlementPlan,
        error: TransactionError,
        now_ms: u64,
    ) -> Result<ClaimStep, Stopped> {
        match error {
            TransactionError::Read(error) => Err(error.into()),
            TransactionError::Store(error) => Err(error.into()),
            TransactionError::GasBudget(_) | TransactionError::TooDear { .. } => {
                tracing::warn!(id = %id(claim), %error, "a payment is settled later");
                Ok(self.later(now_ms, &error.to_string()))
            }
            TransactionError::Reverts(revert) => self.reverted(claim, plan, &revert, now_ms).await,
        }
    }

    /// A settlement would fail, or failed: somebody else may have paid by it.
    async fn reverted(
        &self,
        claim: &ClaimRecord,
        plan: &SettlementPlan,
        revert: &Revert,
        now_ms: u64,
    ) -> Result<ClaimStep, Stopped> {
        if let Some(paid) = self.used_by_others(claim, revert, now_ms).await? {
            return Ok(paid);
        }
        let reason = revert.code(plan.method()).to_owned();
        tracing::warn!(id = %id(claim), %reason, "a payment cannot be settled");
        Ok(ClaimStep::Fail { reason })
    }

    /// The settlement by others where a call would fail since its authorization is used.
    async fn used_by_others(
        &self,
        claim: &ClaimRecord,
        revert: &Revert,
        now_ms: u64,
    ) -> Result<Option<ClaimStep>, Stopped> {
        match revert {
            Revert::NonceUsed => self.paid_by_others(claim, now_ms).await,
            _ => Ok(None),
        }
    }

    /// The settlement of `exact` by a transaction that is not ours; `None` where there is none.
    /// Only our account can settle `upto`.
    pub(super) async fn paid_by_others(
        &self,
        claim: &ClaimRecord,
        now_ms: u64,
    ) -> Result<Option<ClaimStep>, Stopped> {
        let plan = Self::plan(claim)?;
        if plan.method() != TransferMethod::Exact {
            return Ok(None);
        }
        let key = &claim.key;
        let (token, payer) = (plan.token().0.0, key.payer.0);
        let age_ms = now_ms.saturating_sub(claim.claimed_at_ms);
        let blocks = blocks_since(age_ms, self.terms.block_ms);
        let used = self
            .reader
            .authorization_used(token, payer, key.nonce.0, blocks);
        let Some(hash) = used.await? else {
            return Ok(None);
        };
        let receipts = self.reader.receipts(&[hash]).await?;
        let Some(receipt) = receipts.into_iter().next().flatten() else {
            return Ok(None);
        };
        let Some(settle) = self.settlement(claim, &plan, &receipt, now_ms) else {
            return Ok(None);
        };
        let transfer = receipt.authorized((token, payer, key.nonce.0), plan.pay_to().0.0);
        let log = transfer.map(|transfer| ChainLog {
            chain_id: key.chain_id,
            transaction: ChainHash(receipt.transaction),
            log_index: transfer.log_index,
        });
        let is_credit = match log {
            Some(log) => self.is_credit(log, now_ms).await?,
            None => false,
        };
        Ok((!is_credit).then_some(settle))
    }

    /// Whether a transfer is the credit of an account already, and must not settle a claim besides. A
    /// deposit that is not confirmed yet never will be: the transfer is the claim's.
    async fn is_credit(&self, log: ChainLog, now_ms: u64) -> Result<bool, StoreError> {
        let reversed = ChainDepositState::Reversed;
        let moved = self.claims.move_deposit(log, reversed, now_ms).await?;
        Ok(matches!(moved, Err(ChainDepositRefusal::OutOfOrder { .. })))
    }

    /// The settlement that a receipt shows; `None` where it moved nothing for this claim.
    fn settlement(
        &self,
        claim: &ClaimRecord,
        plan: &SettlementPlan,
        receipt: &ChainReceipt,
        now_ms: u64,
    ) -> Option<ClaimStep> {
        if !receipt.succeeded {
            return None;
        }
        let (token, payer, to) = (plan.token().0.0, claim.key.payer.0, plan.pay_to().0.0);
        let moved = match plan.method() {
            // Anybody may have sent it, with other authorizations beside it.
            TransferMethod::Exact => {
                let moved = receipt.authorized((token, payer, claim.key.nonce.0), to)?;
                let price = U256::from(claim.ceiling.get());
                Some(moved.value).filter(|moved| *moved == price)?
            }
            TransferMethod::ExactPermit2 | TransferMethod::Upto { .. } => {
                receipt.moved(token, payer, to)?
            }
        };
        let amount = u64::try_from(moved.min(U256::from(claim.ceiling.get()))).ok()?;
        Some(ClaimStep::Settle {
            settlement: OnChainSettlement {
                transaction: ChainHash(receipt.transaction),
                amount: TokenAmount::new(amount).to_usd(),
                block: receipt.block,
            },
            book_at_ms: now_ms + self.terms.confirmations * self.terms.block_ms,
        })
    }

    /// Looks for the transactions of a claim.
    pub(super) async fn look(
        &self,
        sender: &ChainSender,
        claim: &ClaimRecord,
        now_ms: u64,
    ) -> Result<ClaimStep, Stopped> {
        let plan = Self::plan(claim)?;
        let hashes: Vec<_> = claim.transactions.iter().map(|sent| sent.hash.0).collect();
        let receipts = self.reader.receipts(&hashes).await?;
        let (mut failed, mut failures) = (None, 0);
        for (sent, receipt) in claim.transactions.iter().zip(receipts) {
            let Some(receipt) = receipt else { continue };
            let spent = sender.spent(sent.sender_nonce, receipt.cost, now_ms);
            spent.await?;
            if let Some(settle) = self.settlement(claim, &plan, &receipt, now_ms) {
                return Ok(settle);
            }
            failed = Some(sent.sender_nonce);
            failures += 1;
        }
        let head = self.reader.head().await?;
        // By the clock of the chain, and by that of this machine.
        let over_s = claim.deadline_s + OVER_S;
        if head.time_s > over_s && now_ms / 1_000 > over_s {
            if let Some(paid) = self.paid_by_others(claim, now_ms).await? {
                return Ok(paid);
            }
            let reason = "the payment expired before it was settled".to_owned();
            return Ok(ClaimStep::Fail { reason });
        }
        // A later one may still be on its way.
        let last = claim.transactions.last().map(|sent| sent.sender_nonce);
        let has_failed = failed.is_some() && failed == last;
        let is_hopeless = failures >= FAILED_MAX || claim.transactions.len() >= TRANSACTIONS_MAX;
        if has_failed && is_hopeless {
            let reason = "its transactions fail, though their simulation works".to_owned();
            return Ok(Self::much_later(now_ms, reason));
        }
        if has_failed {
            return self.pay_again(sender, claim, &plan, now_ms).await;
        }
        self.hurry(sender, claim, &plan, now_ms).await
    }

    /// A transaction is in a block and failed. The call is simulated once more: it says why, or is
    /// worth another transaction.
    async fn pay_again(
        &self,
        sender: &ChainSender,
        claim: &ClaimRecord,
        plan: &SettlementPlan,
        now_ms: u64,
    ) -> Result<ClaimStep, Stopped> {
        let Some(call) = plan.call(TokenAmount::from_usd(claim.amount)) else {
            return self.reverted(claim, plan, &Revert::Empty, now_ms).await;
        };
        match sender.make(call.to, call.data, now_ms).await {
            Ok(transaction) => Ok(ClaimStep::Send {
                transaction,
                check_at_ms: now_ms + self.terms.block_ms / 2,
            }),
            Err(error) => self.unsent(claim, plan, error, now_ms).await,
        }
    }

    /// No transaction is in a block: the last is sent again, and after a while a dearer one.
    async fn hurry(
        &self,
        sender: &ChainSender,
        claim: &ClaimRecord,
        plan: &SettlementPlan,
        now_ms: u64,
    ) -> Result<ClaimStep, Stopped> {
        let Some(last) = claim.transactions.last() else {
            return self.pay(sender, claim, now_ms).await;
        };
        if self.waited(last.hash) < Duration::from_millis(self.terms.bump_ms) {
            sender.broadcast(last).await;
            return Ok(self.later(now_ms, "the transaction is in no block yet"));
        }
        if claim.transactions.len() >= TRANSACTIONS_MAX {
            sender.broadcast(last).await;
            let reason = "no block takes its transactions".to_owned();
            return Ok(Self::much_later(now_ms, reason));
        }
        let Some(call) = plan.call(TokenAmount::from_usd(claim.amount)) else {
            return self.reverted(claim, plan, &Revert::Empty, now_ms).await;
        };
        // The nonce may be used by a transaction of ours that a reorganization removed.
        let (to, data) = (call.to, call.data);
        let made = match sender.mined_nonce().await? > last.sender_nonce {
            true => sender.make(to, data, now_ms).await,
            false => sender.replace(last, to, data, now_ms).await,
        };
        match made {
            Ok(transaction) => Ok(ClaimStep::Send {
                transaction,
                check_at_ms: now_ms + self.terms.block_ms / 2,
            }),
            Err(error) => {
                // Nodes forget what no block takes.
                sender.broadcast(last).await;
                match error {
                    TransactionError::Reverts(revert) => {
                        self.fails_now(claim, plan, &revert, now_ms).await
                    }
                    error => self.unsent(claim, plan, error, now_ms).await,
                }
            }
        }
    }

    /// A transaction that was sent would fail now, or its payment is used up. That decides nothing: it
    /// may be in a block, or get into one. Its receipt says, or the end of the payment.
    async fn fails_now(
        &self,
        claim: &ClaimRecord,
        plan: &SettlementPlan,
        revert: &Revert,
        now_ms: u64,
    ) -> Result<ClaimStep, Stopped> {
        if let Some(paid) = self.used_by_others(claim, revert, now_ms).await? {
            return Ok(paid);
        }
        let reason = revert.code(plan.method());
        Ok(self.later(now_ms, &format!("its transaction would fail now: {reason}")))
    }

    fn much_later(now_ms: u64, reason: String) -> ClaimStep {
        let until_ms = now_ms + FAILED_MS;
        ClaimStep::Defer { until_ms, reason }
    }

    pub(super) fn later(&self, now_ms: u64, reason: &str) -> ClaimStep {
        ClaimStep::Defer {
            until_ms: now_ms + self.terms.block_ms / 2,
            reason: reason.to_owned(),
        }
    }

    /// The nonces that transactions of claims have which are being settled.
    pub(super) async fn used_nonces(
        &self,
        sender: &ChainSender,
    ) -> Result<HashSet<u64>, StoreError> {
        let account = sender.address().0.0;
        let mut query = ClaimQuery {
            stage: Some(ClaimStage::Settling),
            limit: OPEN,
            ..ClaimQuery::default()
        };
        let mut used = HashSet::new();
        loop {
            let open = self.claims.store().claims(query.clone()).await?;
            let sent = open.iter().flat_map(|claim| &claim.transactions);
            let own = sent.filter(|sent| sent.sender.0 == account);
            used.extend(own.map(|sent| sent.sender_nonce));
            match open.last() {
                Some(last) if open.len() >= OPEN as usize => query.below_no = Some(last.no),
                _ => return Ok(used),
            }
        }
    }
}

/// Blocks in which the transaction of a claim of this age may be, and some more: the gateway may
/// have been stopped for long.
fn blocks_since(age_ms: u64, block_ms: u64) -> u64 {
    (age_ms / block_ms.max(1)).saturating_add(BLOCKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_looked_for_in_all_blocks_since_the_claim() {
        assert_eq!(blocks_since(0, 2_000), BLOCKS);
        let week_ms = 7 * 24 * 3_600_000;
        assert!(blocks_since(week_ms, 2_000) > week_ms / 2_000);
    }
}
