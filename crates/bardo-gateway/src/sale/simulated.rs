//! The chain of the sandbox: every wallet has play money on it, and each settlement is final at once.

use std::sync::Arc;
use std::time::Duration;

use bardo_ledger::claims::{
    AuthorizationKey, ChainAddress, ChainHash, ClaimBook, ClaimOrder, ClaimRecord, ClaimStage,
    ClaimStep, OnChainSettlement, ServiceStage, SettlementTransaction, StepBy, WalletId,
};
use bardo_ledger::{Ledger, StoreError};
use bardo_seller::{ChainFuture, ChainUnknown, PayerFacts, PaymentChain};
use bardo_types::clock::{Clock as _, SystemClock};
use bardo_types::money::MicroUsd;
use bardo_x402::evm::{Address, SigningAccount, U256, keccak256};
use bardo_x402::verify::{CheckedPayment, PayerState};
use tokio::time::Instant;

use super::charges::capture;

/// The balance of every wallet: 1,000 USDC.
const BALANCE: u64 = 1_000_000_000;
/// Milliseconds for which a claim is worked on.
const LEASE_MS: u64 = 10_000;
/// The pause before a claim that another works on is looked at again.
const PAUSE: Duration = Duration::from_millis(5);
/// The name under which claims are leased.
const OWNER: &str = "sandbox";

/// A chain in this process. Its wallets are keys, have approved Permit2 and never run dry.
pub(super) struct SandboxChain {
    claims: ClaimBook,
    ledger: Arc<dyn Ledger>,
}

impl SandboxChain {
    pub(super) fn new(claims: ClaimBook, ledger: Arc<dyn Ledger>) -> Self {
        Self { claims, ledger }
    }

    async fn settled(&self, key: &AuthorizationKey) -> Result<Option<ClaimRecord>, StoreError> {
        let now_ms = SystemClock.now_ms();
        let until_ms = now_ms + LEASE_MS;
        let lease = ClaimStep::Lease {
            owner: OWNER.to_owned(),
            until_ms,
        };
        let leased = self
            .claims
            .step(key, &StepBy::Operator, &lease, now_ms)
            .await?;
        if let Ok(Some(claim)) = leased {
            self.work(claim, now_ms).await?;
        }
        Ok(self.claims.store().view(key).await?.claim)
    }

    /// Takes a leased claim as far as it goes.
    async fn work(&self, mut claim: ClaimRecord, now_ms: u64) -> Result<(), StoreError> {
        while let Some(step) = next_step(&claim, now_ms) {
            let by = StepBy::Lease(claim.lease_no);
            match self.claims.step(&claim.key, &by, &step, now_ms).await? {
                Ok(Some(after)) => claim = after,
                Ok(None) | Err(_) => return Ok(()),
            }
        }
        if claim.stage == ClaimStage::Settled && claim.booked.is_none() {
            let charge = capture(&*self.ledger, &claim, now_ms).await?;
            let ledger: &dyn Ledger = &*self.ledger;
            let _ = self.claims.book(ledger, &claim, charge, now_ms).await?;
        }
        Ok(())
    }

    /// Works on all claims that are due.
    async fn work_on_due(&self) -> Result<(), StoreError> {
        let now_ms = SystemClock.now_ms();
        let until_ms = now_ms + LEASE_MS;
        let due = self.claims.store();
        let due = due.lease_due(OWNER, now_ms, until_ms, 64).await?;
        for claim in due {
            self.work(claim, now_ms).await?;
        }
        Ok(())
    }
}

/// The next step of a claim on a chain where every payment succeeds; `None` where nothing is to do.
fn next_step(claim: &ClaimRecord, now_ms: u64) -> Option<ClaimStep> {
    let is_stale = claim.stale_at_ms <= now_ms;
    match (claim.stage, claim.service) {
        (ClaimStage::Claimed, ServiceStage::Pending) if is_stale => Some(ClaimStep::Release),
        (
            ClaimStage::Claimed | ClaimStage::Settled,
            ServiceStage::Pending | ServiceStage::Started,
        ) if is_stale => {
            let used = MicroUsd::ZERO;
            Some(ClaimStep::Served { used })
        }
        (ClaimStage::Owed, _) => Some(send(claim, now_ms)),
        (ClaimStage::Claimed, ServiceStage::Pending) if claim.order == ClaimOrder::SettleFirst => {
            Some(send(claim, now_ms))
        }
        (ClaimStage::Settling, _) => {
            let sent = claim.transactions.last()?;
            Some(ClaimStep::Settle {
                settlement: OnChainSettlement {
                    transaction: sent.hash,
                    amount: claim.amount,
                    block: claim.no,
                },
                book_at_ms: now_ms,
            })
        }
        _ => None,
    }
}

fn send(claim: &ClaimRecord, now_ms: u64) -> ClaimStep {
    let hash = ChainHash(keccak256(claim.key.to_string()).0);
    ClaimStep::Send {
        transaction: SettlementTransaction {
            hash,
            sender: ChainAddress([0; 20]),
            sender_nonce: claim.no,
            raw: Vec::new(),
        },
        check_at_ms: now_ms,
    }
}

fn unknown(error: &StoreError) -> ChainUnknown {
    ChainUnknown(error.to_string())
}

impl PaymentChain for SandboxChain {
    fn payer<'a>(
        &'a self,
        payment: &'a CheckedPayment,
    ) -> ChainFuture<'a, Result<PayerFacts, ChainUnknown>> {
        Box::pin(async move {
            let payer = ChainAddress(payment.payer().0.0);
            let wallet = WalletId {
                chain_id: payment.claim().chain_id,
                address: payer,
            };
            let found = self.claims.store().wallet(wallet).await;
            let found = found.map_err(|error| unknown(&error))?;
            let spent = found.map_or(0, |wallet| wallet.settled.get());
            Ok(PayerFacts {
                account: SigningAccount::Key,
                state: PayerState {
                    // The claims know which were used.
                    nonce_used: false,
                    balance: U256::from(BALANCE.saturating_sub(spent)),
                    permit2_allowance: U256::MAX,
                    permit_nonce: U256::ZERO,
                },
            })
        })
    }

    fn account(
        &self,
        _account: Address,
        _signature_call: Vec<u8>,
    ) -> ChainFuture<'_, Result<SigningAccount, ChainUnknown>> {
        Box::pin(std::future::ready(Ok(SigningAccount::Key)))
    }

    fn views(
        &self,
        calls: Vec<(Address, Vec<u8>)>,
    ) -> ChainFuture<'_, Result<Vec<Option<Vec<u8>>>, ChainUnknown>> {
        // There are no contracts on it.
        Box::pin(std::future::ready(Ok(vec![None; calls.len()])))
    }

    fn settle<'a>(
        &'a self,
        key: &'a AuthorizationKey,
        wait: Duration,
    ) -> ChainFuture<'a, Result<Option<ClaimRecord>, ChainUnknown>> {
        let until = Instant::now() + wait;
        Box::pin(async move {
            loop {
                let claim = self.settled(key).await.map_err(|error| unknown(&error))?;
                let is_open = claim.as_ref().is_some_and(ClaimRecord::is_open);
                if !is_open || Instant::now() >= until {
                    return Ok(claim);
                }
                // Another settler has it.
                tokio::time::sleep(PAUSE).await;
            }
        })
    }

    fn endpoints(&self) -> Vec<(String, Option<String>)> {
        vec![("simulated".to_owned(), None)]
    }

    fn transfers_block(&self) -> Option<u64> {
        // Nobody transfers anything on it.
        None
    }

    fn settle_due(&self) -> ChainFuture<'_, Result<(), ChainUnknown>> {
        Box::pin(async move { self.work_on_due().await.map_err(|error| unknown(&error)) })
    }
}
