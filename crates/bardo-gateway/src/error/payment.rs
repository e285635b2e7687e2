//! Refusals of payments, as HTTP.

use bardo_engine::PaymentRequirement;
use bardo_ledger::claims::{ClaimStage, ServiceStage};
use bardo_seller::{IdentityRejection, MalformedPayment, PaymentRejection};
use bardo_types::error_code::ErrorCode;
use bardo_types::money::MicroUsd;
use bardo_x402::wire::SettlementReceipt;

use super::Problem;
use crate::operator::OperatorError;

/// Milliseconds after which a chain or store that did not answer is worth another try.
const AGAIN_MS: u64 = 1_000;

impl Problem {
    /// The header of a payment cannot be read.
    pub(crate) fn malformed_payment(malformed: &MalformedPayment) -> Self {
        let message = format!("{malformed}; nothing was charged");
        Self::new(ErrorCode::InvalidRequest, message).for_good()
    }

    /// A payment buys nothing. Where another one would, this answer takes the members of the offer
    /// that the caller gets with it.
    pub(crate) fn payment(rejection: &PaymentRejection, offer: Option<Self>) -> Self {
        match rejection {
            PaymentRejection::Refused { code, message } => {
                let message = format!("the payment is refused: {message}; nothing was charged");
                let problem = Self::new(ErrorCode::PaymentRequired, message).told_as(*code);
                let requirement = offer.and_then(|offer| offer.requirement);
                Self {
                    requirement: requirement
                        .map(|offer| Box::new(bardo_seller::with_reason(*offer, code))),
                    ..problem.for_good()
                }
            }
            PaymentRejection::Used(claim) => {
                let id = claim.request.as_str();
                let state = match (claim.stage, claim.service) {
                    (ClaimStage::Failed, _) => "its settlement failed",
                    (_, ServiceStage::Done) => "that request was answered",
                    _ => "that request is in progress",
                };
                let message = format!(
                    "this payment was used for the request `{id}`, and {state}; see /v1/payments/{id}. Sign another \
                     payment for another answer, or send an Idempotency-Key with the first to get its answer again"
                );
                Self::new(ErrorCode::PaymentUsed, message)
                    .told_as("payment_replay")
                    .for_good()
            }
            PaymentRejection::InDebt { .. } => {
                let message = format!("{rejection}: POST /v1/deposits; nothing was charged");
                Self::new(ErrorCode::PaymentDebt, message).for_good()
            }
            PaymentRejection::Exposed(_) => {
                let message = format!("{rejection}; nothing was charged");
                Self::new(ErrorCode::PaymentLimit, message).retry_after(AGAIN_MS)
            }
            PaymentRejection::Unknown(_) => {
                tracing::warn!(%rejection, "a payment is not verified");
                let message = "the payment cannot be verified now, because the chain does not answer; nothing was \
                     charged. Send the request with the same payment again";
                Self::new(ErrorCode::PaymentPending, message).retry_after(AGAIN_MS)
            }
            PaymentRejection::Store(error) => Self::store_unavailable(error),
        }
    }

    /// The answer is there, or was to follow, and its payment did not settle. The answer is kept
    /// back.
    pub(crate) fn unsettled(receipt: &SettlementReceipt, id: &str) -> Self {
        let SettlementReceipt::Failed { reason, .. } = receipt else {
            return Self::store_unavailable(&"a settled payment is refused");
        };
        if receipt.is_pending() {
            let message = format!(
                "the settlement of the payment is not known yet; see /v1/payments/{id}. Do not sign another payment: if \
                 this one settles, it is credit of your wallet"
            );
            return Self::new(ErrorCode::PaymentPending, message)
                .told_as(reason.as_str())
                .for_good();
        }
        let message = format!(
            "the payment could not be settled ({reason}), so its answer is not sent; see /v1/payments/{id}. Pay what \
             the wallet owes by a deposit: POST /v1/deposits"
        );
        Self::new(ErrorCode::PaymentDebt, message)
            .told_as(reason.as_str())
            .for_good()
    }

    /// A deposit that is not paid yet, with the way to pay it.
    pub(crate) fn deposit_unpaid(amount: MicroUsd, offer: PaymentRequirement) -> Self {
        let message = format!(
            "a deposit of {amount} USD is not paid yet; pay as this answer says, and send the request again"
        );
        let problem = Self::new(ErrorCode::PaymentRequired, message);
        Self {
            requirement: Some(Box::new(offer)),
            ..problem.for_good()
        }
    }

    /// A deposit that cannot be taken.
    pub(crate) fn bad_deposit(message: String) -> Self {
        Self::new(ErrorCode::InvalidRequest, message).param("amount_usd")
    }

    /// A proof of an agent is not accepted.
    pub(crate) fn identity(rejection: &IdentityRejection) -> Self {
        match rejection {
            IdentityRejection::Closed | IdentityRejection::Malformed(_) => {
                Self::bad_identity(rejection.to_string())
            }
            IdentityRejection::Refused(_)
            | IdentityRejection::Replayed
            | IdentityRejection::Revoked
            | IdentityRejection::NoAuthority(_) => {
                Self::new(ErrorCode::IdentityRefused, rejection.to_string()).for_good()
            }
            IdentityRejection::Unknown(_) => {
                tracing::warn!(%rejection, "an agent is not proven");
                let message = "the agent cannot be proven now, because the chain does not answer";
                Self::new(ErrorCode::PaymentPending, message).retry_after(AGAIN_MS)
            }
            IdentityRejection::Store(error) => Self::store_unavailable(error),
        }
    }

    /// A request is signed by an agent and carries the key of an account.
    pub(crate) fn two_callers() -> Self {
        Self::bad_identity(
            "the request carries a key and an agent proof; send one of them, as either names the account that pays"
                .to_owned(),
        )
    }

    /// The account of a linked wallet was proven by a key that is not good any more.
    pub(crate) fn link_without_key() -> Self {
        let message = "the key by which the wallet was linked with its account is expired or revoked; link it again \
                       with another key (POST /v1/identity/link)";
        Self::new(ErrorCode::IdentityRefused, message).for_good()
    }

    /// A signed request cannot be carried out.
    pub(crate) fn bad_identity(message: String) -> Self {
        Self::new(ErrorCode::InvalidRequest, message)
    }

    /// A request names no delegation.
    pub(crate) fn bad_delegation(message: String) -> Self {
        Self::bad_identity(message).param("nonce")
    }

    /// An action of operators failed on behalf of a wallet.
    pub(crate) fn of_operator(error: &OperatorError) -> Self {
        match error {
            OperatorError::Unavailable(_) => Self::store_unavailable(error),
            error => Self::bad_identity(error.to_string()),
        }
    }

    /// There is no such payment.
    pub(crate) fn payment_not_found(id: &str) -> Self {
        let id: String = id.chars().take(128).collect();
        Self::new(
            ErrorCode::PaymentNotFound,
            format!("no payment has the id `{id}`; take the id of `x-bardo-payment`"),
        )
    }
}
