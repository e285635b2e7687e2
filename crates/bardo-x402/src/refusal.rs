//! Why a payment is not taken, in the codes of the protocol and in words.

use alloy_primitives::{Address, U256};

use crate::evm::{AccountSignatureError, Revert};
use crate::token::TokenAmount;
use crate::wire::{TransferMethod, X402Version};

/// Why a payment was refused. The text says what the payer must change.
///
/// Numbers and addresses in it are the payer's own or the seller's public ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PaymentRefusal {
    /// The version of the payment has no such offer.
    #[error("this offer cannot be paid with version {}; use version 2", .0.number())]
    Version(X402Version),
    /// The scheme is not the one that was offered.
    #[error("the payment is for the scheme `{0}`; take an offer of the last 402 as it is")]
    Scheme(String),
    /// The network is not the one that was offered.
    #[error("the payment is for the network `{0}`; take an offer of the last 402 as it is")]
    Network(String),
    /// A member of `accepted` differs from the offer.
    #[error("`accepted.{0}` differs from the offer; send an offer of the last 402 back as it is")]
    Accepted(&'static str),
    /// The payload is not the one of the offered transfer method.
    #[error("the payload must have `{0}` for this offer")]
    PayloadKind(&'static str),
    /// The token is not the one that was offered.
    #[error("the payment moves the token {signed}; it must move {wanted}")]
    Token {
        /// The signed contract.
        signed: Address,
        /// The offered contract.
        wanted: Address,
    },
    /// Another account than the seller's is paid.
    #[error("the payment goes to {signed}; it must go to {wanted}")]
    Payee {
        /// The signed payee.
        signed: Address,
        /// The offered payee.
        wanted: Address,
    },
    /// The amount is not the one that was offered.
    #[error("the payment is signed for {signed} units; sign exactly {wanted}")]
    Amount {
        /// The signed amount.
        signed: U256,
        /// The offered amount.
        wanted: TokenAmount,
    },
    /// The payment is valid from a later time on.
    #[error(
        "the payment is valid after {valid_after} and it is {now_s} now; sign an earlier start"
    )]
    NotYetValid {
        /// Signed start, in Unix seconds.
        valid_after: U256,
        /// Time of the check, in Unix seconds.
        now_s: u64,
    },
    /// The payment ends before it can be settled for certain.
    #[error("the payment ends at {ends}; sign one that is good until {needed} at least")]
    EndsTooSoon {
        /// Signed end, in Unix seconds.
        ends: U256,
        /// The earliest end that is taken, in Unix seconds.
        needed: u64,
    },
    /// The payment is good for longer than a seller remembers its nonce.
    #[error("the payment ends at {ends}; sign one that ends at {latest} at the latest")]
    EndsTooLate {
        /// Signed end, in Unix seconds.
        ends: U256,
        /// The latest end that is taken, in Unix seconds.
        latest: u64,
    },
    /// Permit2 is to be called by another contract than the proxy.
    #[error("the spender is {signed}; it must be the proxy {wanted}")]
    Spender {
        /// The signed spender.
        signed: Address,
        /// The proxy of the scheme.
        wanted: Address,
    },
    /// The witness names another facilitator, or none, or one where none may be.
    #[error("the facilitator of the payment is not the one of the offer")]
    Facilitator,
    /// The payer is the zero address, or the payee itself.
    #[error("{0} cannot be a payer")]
    Payer(Address),
    /// The signature is not the payer's.
    #[error("{0}")]
    Signature(AccountSignatureError),
    /// The nonce is used or canceled on the chain.
    #[error("the nonce of the payment is used or canceled; sign another payment")]
    NonceUsed,
    /// The payer has less than the amount.
    #[error("the payer has {balance} units; the payment needs {needed}")]
    Balance {
        /// The payer's balance.
        balance: U256,
        /// The amount of the payment.
        needed: U256,
    },
    /// Permit2 may take less than the amount, and there is no permit.
    #[error(
        "Permit2 may take {allowance} units; approve it for {needed}, or send a permit by the extension eip2612GasSponsoring"
    )]
    Allowance {
        /// What Permit2 may take.
        allowance: U256,
        /// The amount of the payment.
        needed: U256,
    },
    /// A member of the permit for Permit2 is not what the payment needs.
    #[error("`{member}` of eip2612GasSponsoring {problem}")]
    Permit {
        /// Name of the member.
        member: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A wallet that is a contract cannot send a permit, as the proxies take it from keys alone.
    #[error(
        "a payer that is a contract must approve Permit2 itself; a permit works for keys alone"
    )]
    PermitOfContract,
}

impl PaymentRefusal {
    /// Whether the payment is proven to be its payer's, and only the state of the chain refuses it.
    #[must_use]
    pub fn is_of_state(&self) -> bool {
        matches!(
            self,
            Self::NonceUsed | Self::Balance { .. } | Self::Allowance { .. }
        )
    }

    /// The code of the protocol, for `error` of a 402 and `errorReason` of a receipt. Reasons for
    /// which the protocol has no code have one of ours.
    #[must_use]
    pub fn code(&self, method: TransferMethod) -> &'static str {
        let of = |exact, permit2| by_method(method, exact, permit2);
        match self {
            Self::Version(_) => "invalid_x402_version",
            Self::Scheme(_) => "unsupported_scheme",
            Self::Network(_) => "invalid_network",
            Self::Accepted(_) => "invalid_payment_requirements",
            Self::PayloadKind(_) => "unsupported_payload_type",
            Self::Payer(_) => "invalid_payload",
            Self::Token { .. } => "permit2_token_mismatch",
            Self::Payee { .. } => of(
                "invalid_exact_evm_payload_recipient_mismatch",
                "invalid_permit2_recipient_mismatch",
            ),
            Self::Amount { .. } => of(
                "invalid_exact_evm_payload_authorization_value_mismatch",
                "permit2_amount_mismatch",
            ),
            Self::NotYetValid { .. } => of(
                "invalid_exact_evm_payload_authorization_valid_after",
                "permit2_not_yet_valid",
            ),
            Self::EndsTooSoon { .. } => of(
                "invalid_exact_evm_payload_authorization_valid_before",
                "permit2_deadline_expired",
            ),
            Self::EndsTooLate { .. } => "authorization_too_long",
            Self::Spender { .. } => "invalid_permit2_spender",
            Self::Facilitator => "upto_facilitator_mismatch",
            Self::Signature(AccountSignatureError::Undeployed) => "eip6492_factory_not_allowed",
            Self::Signature(_) => of(
                "invalid_exact_evm_payload_signature",
                "invalid_permit2_signature",
            ),
            Self::NonceUsed => of(
                "invalid_exact_evm_nonce_already_used",
                "permit2_invalid_nonce",
            ),
            Self::Balance { .. } => of(
                "invalid_exact_evm_insufficient_balance",
                "permit2_insufficient_balance",
            ),
            Self::Allowance { .. } => "permit2_allowance_required",
            Self::Permit { member, .. } => match *member {
                "from" => "eip2612_from_mismatch",
                "asset" => "eip2612_asset_mismatch",
                "spender" => "eip2612_spender_not_permit2",
                "amount" => "permit2_2612_amount_mismatch",
                "deadline" => "eip2612_deadline_expired",
                _ => "invalid_eip2612_permit",
            },
            Self::PermitOfContract => "invalid_eip2612_permit",
        }
    }
}

impl Revert {
    /// The code of the protocol for a settlement that a contract refused, or would refuse.
    #[must_use]
    pub fn code(&self, method: TransferMethod) -> &'static str {
        let of = |exact, permit2| by_method(method, exact, permit2);
        match self {
            Self::UnauthorizedFacilitator => "upto_unauthorized_facilitator",
            Self::AmountExceedsPermitted => "upto_amount_exceeds_permitted",
            Self::InvalidAmount => "permit2_invalid_amount",
            Self::TooEarly => of(
                "invalid_exact_evm_payload_authorization_valid_after",
                "permit2_payment_too_early",
            ),
            Self::Expired => of(
                "invalid_exact_evm_payload_authorization_valid_before",
                "permit2_deadline_expired",
            ),
            Self::PermitAmountMismatch => "permit2_2612_amount_mismatch",
            Self::NonceUsed => of(
                "invalid_exact_evm_nonce_already_used",
                "permit2_invalid_nonce",
            ),
            Self::InvalidSignature => of(
                "invalid_exact_evm_payload_signature",
                "invalid_permit2_signature",
            ),
            Self::InsufficientBalance => of(
                "invalid_exact_evm_insufficient_balance",
                "permit2_insufficient_balance",
            ),
            Self::InsufficientAllowance => "permit2_allowance_required",
            Self::ZeroAddress
            | Self::TokenRefuses
            | Self::Message(_)
            | Self::Other(_)
            | Self::Empty => of(
                "invalid_exact_evm_transaction_simulation_failed",
                "permit2_simulation_failed",
            ),
        }
    }
}

/// The code of `exact` by ERC-3009, or the one of Permit2.
fn by_method(method: TransferMethod, exact: &'static str, permit2: &'static str) -> &'static str {
    match method {
        TransferMethod::Exact => exact,
        TransferMethod::ExactPermit2 | TransferMethod::Upto { .. } => permit2,
    }
}
