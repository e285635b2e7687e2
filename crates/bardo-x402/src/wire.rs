//! What is in headers and bodies, of both versions of the protocol.
//!
//! Amounts, addresses, nonces and signatures are read strictly; members that nobody here knows are
//! passed over. A member twice in one object is refused: two readers could take different ones.

mod facilitator;
mod field;
mod json;
mod payment;
mod receipt;
mod required;

pub use facilitator::{
    FacilitatorRequest, SettleAnswer, SupportedKind, VerifyAnswer, supported_kinds,
};
pub use json::{MalformedMessage, decode_header, encode_header};
pub use payment::{
    AcceptedRequirement, GasPermit, PaymentPayload, SchemePayload, SignedPermit2, SignedTransfer,
};
pub use receipt::{SETTLEMENT_PENDING, SettlementReceipt};
pub use required::{
    OfferedRequirement, PaymentRequired, PaymentResource, PaymentScheme, TransferMethod,
};

pub(crate) use field::{DecimalAmount, HexAddress, HexSignature, HexWord};
pub(crate) use json::read;

/// Header of an offer in version 2.
pub const PAYMENT_REQUIRED: &str = "payment-required";
/// Header of a payment in version 2.
pub const PAYMENT_SIGNATURE: &str = "payment-signature";
/// Header of a receipt in version 2.
pub const PAYMENT_RESPONSE: &str = "payment-response";
/// Header of a payment in version 1.
pub const X_PAYMENT: &str = "x-payment";
/// Header of a receipt in version 1.
pub const X_PAYMENT_RESPONSE: &str = "x-payment-response";

/// A version of the protocol, which decides names of headers, networks and members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum X402Version {
    /// Offers in the body, networks by bare names.
    V1,
    /// Offers in a header, networks by CAIP-2.
    V2,
}

impl X402Version {
    /// The number on the wire.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }

    /// Header that carries a payment.
    #[must_use]
    pub fn payment_header(self) -> &'static str {
        match self {
            Self::V1 => X_PAYMENT,
            Self::V2 => PAYMENT_SIGNATURE,
        }
    }

    /// Header that carries a receipt.
    #[must_use]
    pub fn receipt_header(self) -> &'static str {
        match self {
            Self::V1 => X_PAYMENT_RESPONSE,
            Self::V2 => PAYMENT_RESPONSE,
        }
    }

    pub(crate) fn network(self, name: &str) -> Option<crate::token::EvmNetwork> {
        match self {
            Self::V1 => crate::token::EvmNetwork::from_v1(name),
            Self::V2 => crate::token::EvmNetwork::from_caip2(name),
        }
    }

    pub(crate) fn network_name(self, network: crate::token::EvmNetwork) -> String {
        match self {
            Self::V1 => network.v1_name(),
            Self::V2 => network.to_string(),
        }
    }
}
