//! Settlements that a facilitator elsewhere sends. It is asked with the same request each time, and
//! the chain says whether the money moved.

use std::sync::Arc;
use std::time::Duration;

use bardo_ledger::claims::{
    ChainAddress, ChainHash, ClaimRecord, ClaimStep, SettlementTransaction,
};
use bardo_x402::evm::keccak256;
use bardo_x402::wire::SettleAnswer;
use tokio::time::Instant;

use super::paying::OVER_S;
use super::{ClaimSettler, Stopped, id};
use crate::facilitator::Facilitator;

/// The pause before a facilitator is asked again.
const AGAIN: Duration = Duration::from_secs(3);

impl ClaimSettler {
    /// Notes durably that a facilitator may have the payment. No block has this transaction.
    pub(super) fn submitted(claim: &ClaimRecord, now_ms: u64) -> ClaimStep {
        ClaimStep::Send {
            transaction: SettlementTransaction {
                hash: mark(claim),
                sender: ChainAddress([0; 20]),
                sender_nonce: 0,
                raw: Vec::new(),
            },
            check_at_ms: now_ms,
        }
    }

    /// Looks for the settlement on the chain, else asks the facilitator. `is_first`: it was never
    /// asked for this claim before, so that a refusal may be one. Later, it may speak of what an
    /// earlier request did, and only the end of the payment is a refusal.
    pub(super) async fn ask(
        &self,
        claim: &ClaimRecord,
        facilitator: &Arc<dyn Facilitator>,
        is_first: bool,
        now_ms: u64,
    ) -> Result<ClaimStep, Stopped> {
        if !is_first && let Some(paid) = self.paid_by_others(claim, now_ms).await? {
            return Ok(paid);
        }
        let head = self.reader.head().await?;
        let over_s = claim.deadline_s + OVER_S;
        if head.time_s > over_s && now_ms / 1_000 > over_s {
            // No block can have it any more, whatever a facilitator says.
            if let Some(paid) = self.paid_by_others(claim, now_ms).await? {
                return Ok(paid);
            }
            let reason = "the payment expired before it was settled".to_owned();
            return Ok(ClaimStep::Fail { reason });
        }
        let plan = Self::plan(claim)?;
        let request = plan.request().filter(|_| self.may_ask(mark(claim)));
        let Some(request) = request else {
            return Ok(self.later(now_ms, "the transaction is in no block yet"));
        };
        let answer = facilitator.settle(request.to_vec()).await;
        let paid = self.paid_by_others(claim, now_ms).await?;
        Ok(match (paid, answer) {
            (Some(paid), _) => paid,
            (None, SettleAnswer::Refused { reason }) if is_first && sent_nothing(&reason) => {
                tracing::warn!(id = %id(claim), %reason, "the facilitator refuses a settlement");
                ClaimStep::Fail { reason }
            }
            (None, answer) => {
                tracing::debug!(id = %id(claim), ?answer, "a settlement is not on the chain yet");
                self.later(
                    now_ms,
                    "the facilitator has it, and the chain does not show it yet",
                )
            }
        })
    }

    /// Whether it is time to ask a facilitator for a claim; answers yes once.
    fn may_ask(&self, mark: ChainHash) -> bool {
        let asked = self.asked.lock();
        let mut asked = asked.unwrap_or_else(std::sync::PoisonError::into_inner);
        asked.retain(|_, at| at.elapsed() < AGAIN);
        let is_time = !asked.contains_key(&mark);
        if is_time {
            asked.insert(mark, Instant::now());
        }
        is_time
    }
}

/// Codes of refusals before a transaction is sent, as the protocol and its programs write them. A
/// used nonce or a simulation that fails may be the effect of a transaction.
const SENT_NOTHING: [&str; 17] = [
    "insufficient_funds",
    "invalid_exact_evm_insufficient_balance",
    "invalid_exact_evm_payload_authorization_valid_after",
    "invalid_exact_evm_payload_authorization_valid_before",
    "invalid_exact_evm_payload_authorization_value",
    "invalid_exact_evm_payload_authorization_value_mismatch",
    "invalid_exact_evm_payload_recipient_mismatch",
    "invalid_exact_evm_payload_signature",
    "invalid_exact_evm_recipient_mismatch",
    "invalid_exact_evm_signature",
    "invalid_network",
    "invalid_payload",
    "invalid_payment_requirements",
    "invalid_scheme",
    "invalid_x402_version",
    "unsupported_scheme",
    "eip6492_factory_not_allowed",
];

/// Whether a code says that the facilitator sent no transaction.
fn sent_nothing(code: &str) -> bool {
    SENT_NOTHING.contains(&code)
}

/// A hash that no transaction has, for the claim alone.
fn mark(claim: &ClaimRecord) -> ChainHash {
    ChainHash(keccak256(format!("facilitator {}", claim.key)).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_code_of_a_check_before_the_transaction_says_that_none_was_sent() {
        for code in ["insufficient_funds", "invalid_exact_evm_signature"] {
            assert!(sent_nothing(code), "{code}");
        }
        for code in [
            "invalid_exact_evm_nonce_already_used",
            "invalid_exact_evm_transaction_simulation_failed",
            "invalid_transaction_state",
            "duplicate_settlement",
            "sanctioned_wallet",
            "",
        ] {
            assert!(!sent_nothing(code), "{code}");
        }
    }
}
