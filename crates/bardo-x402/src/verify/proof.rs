//! A payment that is proven, and the call that settles it.

use alloy_primitives::{Address, B256, U256, b256};

use super::{CheckedPayment, PaymentClaim};
use crate::authorization::{EXACT_PROXY, TokenPermit, UPTO_PROXY};
use crate::evm::{EvmSignature, calls};
use crate::refusal::PaymentRefusal;
use crate::token::{PaymentToken, TokenAmount};
use crate::wire::{SchemePayload, TransferMethod};

/// The end of a signature of a wallet that is not deployed (ERC-6492).
const UNDEPLOYED: B256 =
    b256!("0x6492649264926492649264926492649264926492649264926492649264926492");

/// What kind of account the payer is, as the chain says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PayerAccount {
    /// The account has no code: its key signs.
    Key,
    /// The account has code, and answered to [`CheckedPayment::signature_call`] with these bytes;
    /// with none where the call was reverted.
    Contract {
        /// What the call returned.
        answer: Vec<u8>,
    },
}

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

/// A payment that can be settled: it pays our requirement, its payer signed it, and the chain has the
/// money, as far as the state that was shown is true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedPayment {
    payment: CheckedPayment,
    signature: ProvenSignature,
    /// A permit that must be sent first.
    permit: Option<(TokenPermit, EvmSignature)>,
}

/// A signature by the kind of account that gave it, which decides the function that settles.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ProvenSignature {
    Key(EvmSignature),
    Contract,
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
    account: &PayerAccount,
    state: &PayerState,
) -> Result<VerifiedPayment, PaymentRefusal> {
    let signature = signature(&payment, account)?;
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
        signature,
        permit,
    })
}

/// Proves the signature of the payment. A key's signature never stands for a contract's: code decides.
fn signature(
    payment: &CheckedPayment,
    account: &PayerAccount,
) -> Result<ProvenSignature, PaymentRefusal> {
    let bytes = payment.signature();
    if bytes.ends_with(UNDEPLOYED.as_slice()) {
        return Err(PaymentRefusal::UndeployedWallet);
    }
    match account {
        PayerAccount::Key => {
            let signature = EvmSignature::parse(bytes).map_err(PaymentRefusal::SignatureForm)?;
            if signature.recover(payment.digest) != Ok(payment.payer()) {
                return Err(PaymentRefusal::Signature);
            }
            Ok(ProvenSignature::Key(signature))
        }
        PayerAccount::Contract { answer } if calls::affirms_signature(answer) => {
            Ok(ProvenSignature::Contract)
        }
        PayerAccount::Contract { .. } => Err(PaymentRefusal::ContractSignature),
    }
}

/// The permit that makes up for a missing allowance.
fn permit(
    payment: &CheckedPayment,
    account: &PayerAccount,
    state: &PayerState,
) -> Result<(TokenPermit, EvmSignature), PaymentRefusal> {
    let Some(checked) = &payment.permit else {
        return Err(PaymentRefusal::Allowance {
            allowance: state.permit2_allowance,
            needed: payment.ceiling.to_u256(),
        });
    };
    if *account != PayerAccount::Key {
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
                let data = match &self.signature {
                    ProvenSignature::Key(key) => {
                        calls::transfer_with_authorization(authorization, key)
                    }
                    ProvenSignature::Contract => {
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
