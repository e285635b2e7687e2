//! The permit by which a payer lets Permit2 take its tokens, sent along with a payment.

use alloy_primitives::U256;

use super::{CheckedPermit, PaymentWindow};
use crate::authorization::{PERMIT2, TokenPermit};
use crate::evm::EvmSignature;
use crate::refusal::PaymentRefusal;
use crate::token::PaymentToken;
use crate::wire::{GasPermit, OfferedRequirement, SignedPermit2};

fn wrong(member: &'static str, problem: &'static str) -> PaymentRefusal {
    PaymentRefusal::Permit { member, problem }
}

/// Compares every field of a permit with its payment.
pub(super) fn check(
    gas: GasPermit,
    payment: &SignedPermit2,
    requirement: &OfferedRequirement,
    now_s: u64,
) -> Result<CheckedPermit, PaymentRefusal> {
    let needed = now_s.saturating_add(PaymentWindow::MARGIN_S);
    if gas.owner != payment.owner {
        return Err(wrong("from", "must be the payer"));
    }
    if gas.asset != requirement.token.address() {
        return Err(wrong("asset", "must be the token of the offer"));
    }
    if gas.spender != PERMIT2 {
        return Err(wrong("spender", "must be Permit2"));
    }
    // The proxy refuses any other amount.
    if gas.amount != payment.transfer.amount {
        return Err(wrong("amount", "must be the signed ceiling"));
    }
    if gas.deadline < U256::from(needed) {
        return Err(wrong(
            "deadline",
            "has passed, or is too near to be settled",
        ));
    }
    Ok(CheckedPermit {
        permit: TokenPermit {
            owner: gas.owner,
            spender: gas.spender,
            value: gas.amount,
            nonce: gas.nonce,
            deadline: gas.deadline,
        },
        signature: gas.signature,
    })
}

impl CheckedPermit {
    /// Proves the permit by its signature and by the owner's next nonce.
    pub(super) fn verify(
        &self,
        token: &PaymentToken,
        next_nonce: U256,
    ) -> Result<EvmSignature, PaymentRefusal> {
        if self.permit.nonce != next_nonce {
            return Err(wrong("nonce", "must be the token's nonce of the payer"));
        }
        let bad = "must be the payer's signature of the permit, 65 bytes with a low s";
        let signature =
            EvmSignature::parse(&self.signature).map_err(|_| wrong("signature", bad))?;
        let signer = signature.recover(self.permit.digest(token.domain()));
        if signer != Ok(self.permit.owner) {
            return Err(wrong("signature", bad));
        }
        Ok(signature)
    }
}
