//! The right of one request to a claimed payment, from the claim to the receipt.

use std::sync::Arc;
use std::time::Duration;

use bardo_ledger::StoreError;
use bardo_ledger::claims::{AuthorizationKey, ClaimRecord, ClaimScheme, ClaimStage, ClaimStep};
use bardo_types::ids::RequestId;
use bardo_types::money::MicroUsd;
use bardo_x402::evm::{Address, B256};
use bardo_x402::token::{EvmNetwork, TokenAmount};
use bardo_x402::wire::{SETTLEMENT_PENDING, SettlementReceipt, X402Version};

use crate::claimed::ClaimedHolds;
use crate::port::PaymentChain;

/// A claimed payment in the hands of its request. Where it is dropped before anything was held of
/// it, the payment is given back.
pub struct PaidTicket {
    pub(crate) key: AuthorizationKey,
    pub(crate) request: RequestId,
    pub(crate) version: X402Version,
    pub(crate) holds: Arc<ClaimedHolds>,
    pub(crate) chain: Arc<dyn PaymentChain>,
}

impl Drop for PaidTicket {
    fn drop(&mut self) {
        if self.holds.forget_unheld(&self.request) {
            self.holds.give_back(self.key, self.request.clone());
        }
    }
}

impl PaidTicket {
    /// The request that has the payment, which names it too.
    #[must_use]
    pub fn request(&self) -> &RequestId {
        &self.request
    }

    /// Notes that the request was answered. Where the answer cost nothing, such as a stored one, the
    /// payment is used up all the same, so that it buys one answer.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn answered(&self) -> Result<(), StoreError> {
        if !self.holds.forget_unheld(&self.request) {
            return Ok(());
        }
        let used = MicroUsd::ZERO;
        for step in [ClaimStep::Serve, ClaimStep::Served { used }] {
            if let Err(refusal) = self.holds.step(&self.key, &self.request, step).await? {
                tracing::warn!(id = %self.request, %refusal, "a payment for a free answer is not used up");
            }
        }
        Ok(())
    }

    /// The receipt of the payment, as far as it is known when the chain has decided or `wait` has
    /// passed.
    pub async fn receipt(&self, wait: Duration) -> SettlementReceipt {
        let claim = match self.chain.settle(&self.key, wait).await {
            Ok(claim) => claim,
            Err(unknown) => {
                tracing::warn!(id = %self.request, %unknown, "the settlement of a payment is not known yet");
                None
            }
        };
        match claim {
            Some(claim) => receipt_of(&claim),
            None => pending(&self.key, None),
        }
    }

    /// The version of the protocol that the payer speaks.
    #[must_use]
    pub fn version(&self) -> X402Version {
        self.version
    }
}

fn pending(key: &AuthorizationKey, transaction: Option<B256>) -> SettlementReceipt {
    SettlementReceipt::Failed {
        reason: SETTLEMENT_PENDING.to_owned(),
        payer: Some(Address::from(key.payer.0)),
        network: Some(EvmNetwork::new(key.chain_id)),
        transaction,
    }
}

/// The receipt of a claim as it is now.
#[must_use]
pub fn receipt_of(claim: &ClaimRecord) -> SettlementReceipt {
    let key = &claim.key;
    let payer = Some(Address::from(key.payer.0));
    let network = EvmNetwork::new(key.chain_id);
    let is_upto = claim.scheme == ClaimScheme::Upto;
    match (claim.stage, claim.settlement) {
        (ClaimStage::Settled, Some(settlement)) => SettlementReceipt::Settled {
            payer,
            network,
            transaction: Some(B256::from(settlement.transaction.0)),
            amount: is_upto.then(|| TokenAmount::from_usd(settlement.amount)),
        },
        (ClaimStage::Void, _) => SettlementReceipt::Settled {
            payer,
            network,
            transaction: None,
            amount: is_upto.then_some(TokenAmount::ZERO),
        },
        (ClaimStage::Failed, _) => SettlementReceipt::Failed {
            reason: claim.reason.clone().unwrap_or_else(|| "failed".to_owned()),
            payer,
            network: Some(network),
            transaction: None,
        },
        _ => {
            let sent = claim.sent().map(|hash| B256::from(hash.0));
            pending(key, sent)
        }
    }
}
