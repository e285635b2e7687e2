//! The bodies between a seller and a facilitator elsewhere: `/verify`, `/settle`, `/supported`.
//!
//! The answer to `/settle` is a [`SettlementReceipt`]. The status of the
//! HTTP answer says nothing: a refusal may come with 200.

use alloy_primitives::Address;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::field::{HexAddress, address};
use super::json::{MalformedMessage, read};
use super::{OfferedRequirement, PaymentPayload, PaymentResource, SettlementReceipt, X402Version};
use crate::token::TokenAmount;

/// What a facilitator is asked, to verify or to settle.
#[derive(Debug, Clone, Copy)]
pub struct FacilitatorRequest<'a> {
    /// The payment as it was sent.
    pub payment: &'a PaymentPayload,
    /// The seller's own requirement.
    pub requirement: &'a OfferedRequirement,
    /// What is sold.
    pub resource: &'a PaymentResource,
    /// The ceiling to verify, the charge to settle.
    pub amount: TokenAmount,
}

impl FacilitatorRequest<'_> {
    /// The body of `/verify` and of `/settle`.
    #[must_use]
    pub fn body(&self) -> String {
        let version = self.payment.version;
        let requirement = OfferedRequirement {
            amount: self.amount,
            ..self.requirement.clone()
        };
        let requirement: Value = requirement.json(version, self.resource);
        format!(
            r#"{{"x402Version":{},"paymentPayload":{},"paymentRequirements":{requirement}}}"#,
            version.number(),
            self.payment.json(),
        )
    }
}

/// A facilitator's answer to `/verify`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerifyAnswer {
    /// The payment is good for now.
    Valid {
        /// The account that pays.
        payer: Option<Address>,
    },
    /// The payment is refused.
    Invalid {
        /// Code of the reason. Unknown codes are opaque.
        reason: String,
        /// The account that was to pay.
        payer: Option<Address>,
    },
}

impl VerifyAnswer {
    /// Reads an answer with its status; `None` where it says nothing of the payment.
    #[must_use]
    pub fn read(status: u16, body: &[u8]) -> Option<Self> {
        let answer = Self::from_json(body).ok()?;
        let refuses = matches!(&answer, Self::Invalid { reason, .. } if !is_reason(reason));
        (!says_nothing(status) && !refuses).then_some(answer)
    }

    /// Reads the answer.
    ///
    /// # Errors
    /// When it is not an object with `isValid`.
    pub fn from_json(json: &[u8]) -> Result<Self, MalformedMessage> {
        let wire: WireVerify = read(json)?;
        let payer = wire.payer.and_then(|payer| address(&payer));
        Ok(if wire.is_valid {
            Self::Valid { payer }
        } else {
            let reason = wire.invalid_reason.unwrap_or_default();
            Self::Invalid { reason, payer }
        })
    }
}

/// What a facilitator's answer to `/settle` says of a payment. Only a refusal is a no: all else may
/// have moved the money, or may still do so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettleAnswer {
    /// The facilitator says that the money moved.
    Settled,
    /// A transaction was sent and has no receipt yet. The identical request finds out.
    Pending,
    /// The payment is refused.
    Refused {
        /// Code of the reason. Unknown codes are opaque.
        reason: String,
    },
    /// The answer says nothing.
    Unknown,
}

impl SettleAnswer {
    /// Reads an answer. A refusal may come with 200, and a status of its own says nothing.
    #[must_use]
    pub fn read(status: u16, body: &[u8]) -> Self {
        if says_nothing(status) {
            return Self::Unknown;
        }
        let read = |version| SettlementReceipt::from_json(version, body);
        match read(X402Version::V2).or_else(|_| read(X402Version::V1)) {
            Ok(SettlementReceipt::Settled { .. }) => Self::Settled,
            Ok(failed) if failed.is_pending() => Self::Pending,
            Ok(SettlementReceipt::Failed { reason, .. }) if is_reason(&reason) => {
                Self::Refused { reason }
            }
            _ => Self::Unknown,
        }
    }
}

/// Whether a status is about the facilitator or our access to it, and not about a payment.
fn says_nothing(status: u16) -> bool {
    status >= 500 || matches!(status, 401 | 403 | 404 | 405 | 408 | 429)
}

/// Whether a code refuses a payment. Facilitators report errors of their own as unexpected.
fn is_reason(code: &str) -> bool {
    !code.is_empty() && !code.starts_with("unexpected_")
}

/// A way to pay that a facilitator can settle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupportedKind {
    /// Version of the protocol.
    pub version: X402Version,
    /// Name of the scheme.
    pub scheme: String,
    /// Name of the network, as the version writes it.
    pub network: String,
    /// The account that settles `upto`; facilitators with several keys may name another each time.
    pub facilitator: Option<Address>,
}

/// Reads a facilitator's answer to `/supported`. Kinds of other versions are passed over.
///
/// # Errors
/// When it is not an object with `kinds`.
pub fn supported_kinds(json: &[u8]) -> Result<Vec<SupportedKind>, MalformedMessage> {
    let wire: WireSupported = read(json)?;
    let kinds = wire.kinds.iter();
    Ok(kinds.filter_map(|raw| SupportedKind::of(raw)).collect())
}

impl SupportedKind {
    fn of(raw: &RawValue) -> Option<Self> {
        let wire: WireKind = serde_json::from_str(raw.get()).ok()?;
        let version = match wire.x402_version {
            1 => X402Version::V1,
            2 => X402Version::V2,
            _ => return None,
        };
        let facilitator = wire.extra.and_then(|extra| extra.facilitator_address);
        Some(Self {
            version,
            scheme: wire.scheme,
            network: wire.network,
            facilitator: facilitator.map(|address| address.0),
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireVerify {
    is_valid: bool,
    invalid_reason: Option<String>,
    payer: Option<String>,
}

#[derive(Deserialize)]
struct WireSupported {
    kinds: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireKind {
    x402_version: u64,
    scheme: String,
    network: String,
    extra: Option<WireKindExtra>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireKindExtra {
    facilitator_address: Option<HexAddress>,
}
