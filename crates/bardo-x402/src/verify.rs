//! Whether a payment pays our requirement: every field, then the signature, then the chain's state.
//!
//! The payer's `accepted` is compared and never believed. Start from [`CheckedPayment::check`],
//! read the state that it needs from a chain, and end with [`CheckedPayment::verify`], the one way
//! to a [`VerifiedPayment`].

mod fields;
mod permit;
mod plan;
mod proof;

use alloy_primitives::{Address, B256, U256};

pub use plan::SettlementPlan;
pub use proof::{PayerState, SettlementCall, VerifiedPayment};

use crate::authorization::TokenPermit;
use crate::evm::{SigningAccount, SigningDomain, calls};
use crate::refusal::PaymentRefusal;
use crate::token::{PaymentToken, TokenAmount};
use crate::wire::{OfferedRequirement, PaymentPayload, SchemePayload, TransferMethod};

/// Time that a payment must leave for its settlement. All in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaymentWindow {
    /// From now to the end of the payment: the longest answer, and the time to settle it.
    pub least_s: u64,
    /// How long after now a payment may end, since its nonce is remembered until then.
    pub most_s: u64,
}

impl PaymentWindow {
    /// Seconds that every payment must leave, as official facilitators ask for.
    pub const MARGIN_S: u64 = 6;
}

/// The name of a payment that can be settled once: what a seller claims before it serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PaymentClaim {
    /// Id of the chain.
    pub chain_id: u64,
    /// The contract that counts the nonce: the token, or Permit2.
    pub contract: Address,
    /// The account that pays.
    pub payer: Address,
    /// The nonce that the payer chose.
    pub nonce: B256,
}

impl std::fmt::Display for PaymentClaim {
    /// One text per claim, in lower case, for a store.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            chain_id,
            contract,
            payer,
            nonce,
        } = self;
        write!(f, "eip155:{chain_id}:{contract:#x}:{payer:#x}:{nonce:#x}")
    }
}

/// A payment whose every field agrees with our requirement, and whose signature nobody has seen yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedPayment {
    claim: PaymentClaim,
    method: TransferMethod,
    token: PaymentToken,
    ceiling: TokenAmount,
    /// Last second at which it can settle.
    ends_s: u64,
    payload: SchemePayload,
    digest: B256,
    permit: Option<CheckedPermit>,
}

/// A permit whose fields agree with the payment.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CheckedPermit {
    permit: TokenPermit,
    signature: Vec<u8>,
}

impl CheckedPayment {
    /// Compares every field of a payment with our requirement, at this Unix time in seconds.
    ///
    /// # Errors
    /// For the first field that differs.
    pub fn check(
        payment: PaymentPayload,
        requirement: &OfferedRequirement,
        window: PaymentWindow,
        now_s: u64,
    ) -> Result<Self, PaymentRefusal> {
        fields::check(payment, requirement, window, now_s)
    }

    /// The name under which the payment is to be claimed.
    #[must_use]
    pub fn claim(&self) -> PaymentClaim {
        self.claim
    }

    /// The account that says it pays.
    #[must_use]
    pub fn payer(&self) -> Address {
        self.claim.payer
    }

    /// Token of the payment.
    #[must_use]
    pub fn token(&self) -> &PaymentToken {
        &self.token
    }

    /// Price, or ceiling under `upto`.
    #[must_use]
    pub fn ceiling(&self) -> TokenAmount {
        self.ceiling
    }

    /// How the money is to move.
    #[must_use]
    pub fn method(&self) -> TransferMethod {
        self.method
    }

    /// Calldata of the call to the payer's contract that asks for its signature (ERC-1271). It must
    /// be made where the payer has code, even the 23 bytes of a delegation (EIP-7702).
    #[must_use]
    pub fn signature_call(&self) -> Vec<u8> {
        calls::is_valid_signature(self.digest, self.signature())
    }

    fn signature(&self) -> &[u8] {
        match &self.payload {
            SchemePayload::Transfer(signed) => &signed.signature,
            SchemePayload::Permit2(signed) => &signed.signature,
        }
    }

    /// Whether Permit2 moves the money, so that its allowance counts.
    fn by_permit2(&self) -> bool {
        matches!(self.payload, SchemePayload::Permit2(_))
    }

    /// Proves the payment by its signature and by what the chain says of the payer.
    ///
    /// # Errors
    /// When the signature is not the payer's, the nonce is used, or the payer cannot pay.
    pub fn verify(
        self,
        account: &SigningAccount,
        state: &PayerState,
    ) -> Result<VerifiedPayment, PaymentRefusal> {
        proof::verify(self, account, state)
    }
}

/// The domain of Permit2 on the chain of the token.
fn permit2_domain(token: &PaymentToken) -> SigningDomain {
    crate::authorization::Permit2Transfer::domain(token.network().chain_id())
}

/// The largest number of seconds that is still a time.
fn seconds(time: U256) -> u64 {
    u64::try_from(time).unwrap_or(u64::MAX)
}
