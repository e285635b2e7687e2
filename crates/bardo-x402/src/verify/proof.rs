//! A payment that is proven, and the call that settles it.

use alloy_primitives::{Address, U256};

use super::{CheckedPayment, PaymentClaim};
use crate::authorization::{EXACT_PROXY, TokenPermit, UPTO_PROXY};
use crate::evm::{EvmSignature, SigningAccount, calls};
use crate::refusal::PaymentRefusal;
use crate::token::{PaymentToken, TokenAmount};
use crate::wire::{SchemePayload, TransferMethod};

/// What the chain says of the payer at one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayerState {
    /// Whether the nonce of the payment is used or canceled.
    pub nonce_used: bool,
    /// Balance of the token in smallest units.
    pub balance: U256,
    /// What Permit2 may take of it. It counts where Permit2 moves the money.
    pub permit2_allowance: U256,
    /// Nonce of the payer's next permit (ERC-2612). It counts where the payment has a permit.
    pub permit_nonce: U256,
}

impl PayerState {
    /// The state of a payer who can pay. For a payment that is claimed already, which the chain may
    /// refuse because it was settled.
    pub const ABLE: Self = Self {
        nonce_used: false,
        balance: U256::MAX,
        permit2_allowance: U256::MAX,
        permit_nonce: U256::ZERO,
    };
}

/// A payment that can be settled: it pays our requirement, its payer signed it, and the chain has the
/// money, as far as the state that was shown is true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedPayment {
    payment: CheckedPayment,
    /// The parts of a key's signature; a contract's has none, and another function settles it.
    key: Option<EvmSignature>,
    /// A permit that must be sent first.
    permit: Option<(TokenPermit, EvmSignature)>,
}

/// A call to a contract that settles a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettlementCall {
    /// The contract that is called.
    pub to: Address,
    /// Calldata of the call.
    pub data: Vec<u8>,
    /// The one account from which the contract takes it; anyone where there is none.
    pub from: Option<Address>,
}

pub(super) fn verify(
    payment: CheckedPayment,
    account: &SigningAccount,
    state: &PayerState,
) -> Result<VerifiedPayment, PaymentRefusal> {
    let key = account
        .prove(payment.payer(), payment.digest, payment.signature())
        .map_err(PaymentRefusal::Signature)?;
    if state.nonce_used {
        return Err(PaymentRefusal::NonceUsed);
    }
    let needed = payment.ceiling.to_u256();
    if state.balance < needed {
        let balance = state.balance;
        return Err(PaymentRefusal::Balance { balance, needed });
    }
    let permit = if payment.by_permit2() && state.permit2_allowance < needed {
        Some(permit(&payment, account, state)?)
    } else {
        None
    };
    Ok(VerifiedPayment {
        payment,
        key,
        permit,
    })
}

/// The permit that makes up for a missing allowance.
fn permit(
    payment: &CheckedPayment,
    account: &SigningAccount,
    state: &PayerState,
) -> Result<(TokenPermit, EvmSignature), PaymentRefusal> {
    let Some(checked) = &payment.permit else {
        return Err(PaymentRefusal::Allowance {
            allowance: state.permit2_allowance,
            needed: payment.ceiling.to_u256(),
        });
    };
    if *account != SigningAccount::Key {
        return Err(PaymentRefusal::PermitOfContract);
    }
    let signature = checked.verify(&payment.token, state.permit_nonce)?;
    Ok((checked.permit, signature))
}

impl VerifiedPayment {
    /// The name under which the payment is to be claimed before anything is served for it.
    #[must_use]
    pub fn claim(&self) -> PaymentClaim {
        self.payment.claim
    }

    /// The account that pays, proven by its signature.
    #[must_use]
    pub fn payer(&self) -> Address {
        self.payment.payer()
    }

    /// Price, or ceiling under `upto`.
    #[must_use]
    pub fn ceiling(&self) -> TokenAmount {
        self.payment.ceiling
    }

    /// How the money moves.
    #[must_use]
    pub fn method(&self) -> TransferMethod {
        self.payment.method
    }

    /// Token of the payment.
    #[must_use]
    pub fn token(&self) -> &PaymentToken {
        &self.payment.token
    }

    /// What the payer signed.
    pub(super) fn payload(&self) -> &SchemePayload {
        &self.payment.payload
    }

    /// Last second, in Unix time, at which a block can take the settlement. A claim must be kept for
    /// longer than that.
    #[must_use]
    pub fn ends_s(&self) -> u64 {
        self.payment.ends_s
    }

    /// Whether the settlement sends a permit first, so that it counts up the payer's permit nonce and
    /// sets its allowance to the ceiling.
    #[must_use]
    pub fn sends_permit(&self) -> bool {
        self.permit.is_some()
    }

    /// The call that settles this amount: at most the ceiling under `upto`, exactly the price under
    /// `exact`. `None` for any other amount, and for zero, which is settled by no call.
    #[must_use]
    pub fn settlement(&self, amount: TokenAmount) -> Option<SettlementCall> {
        let ceiling = self.ceiling();
        let fits = match self.method() {
            TransferMethod::Upto { .. } => amount <= ceiling,
            TransferMethod::Exact | TransferMethod::ExactPermit2 => amount == ceiling,
        };
        if !fits || amount == TokenAmount::ZERO {
            return None;
        }
        let (to, data) = match &self.payment.payload {
            SchemePayload::Transfer(signed) => {
                let authorization = &signed.authorization;
                let data = match &self.key {
                    Some(key) => calls::transfer_with_authorization(authorization, key),
                    None => {
                        calls::transfer_with_authorization_bytes(authorization, &signed.signature)
                    }
                };
                (self.token().address(), data)
            }
            SchemePayload::Permit2(signed) => {
                let permit = self.permit.as_ref();
                let data = calls::settle(
                    &signed.transfer,
                    amount.to_u256(),
                    signed.owner,
                    &signed.signature,
                    permit.map(|(permit, signature)| (permit, signature)),
                );
                let proxy = match self.method() {
                    TransferMethod::Upto { .. } => UPTO_PROXY,
                    TransferMethod::Exact | TransferMethod::ExactPermit2 => EXACT_PROXY,
                };
                (proxy, data)
            }
        };
        let from = self.method().facilitator();
        Some(SettlementCall { to, data, from })
    }
}
