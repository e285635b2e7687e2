//! What a payer sends: a signed payment of version 1 or 2.

use alloy_primitives::{Address, U256};
use serde::Deserialize;

use super::field::{DecimalAmount, HexAddress, HexSignature, HexWord, Permit2Nonce};
use super::json::{MalformedMessage, decode_header, read};
use super::{PAYMENT_SIGNATURE, X_PAYMENT, X402Version};
use crate::authorization::{Permit2Transfer, Permit2Witness, TransferAuthorization};

/// A payment as it was sent. Nothing in it is checked beyond its form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentPayload {
    /// Version of the protocol in which it was sent.
    pub version: X402Version,
    /// Name of the scheme.
    pub scheme: String,
    /// Name of the network, as the version writes it.
    pub network: String,
    /// What the payer signed.
    pub payload: SchemePayload,
    /// The requirement that the payer says it accepts; version 2 alone has it.
    pub accepted: Option<AcceptedRequirement>,
    /// A permit for Permit2, where the payer has not approved it before.
    pub gas_permit: Option<GasPermit>,
    /// The message as JSON, for a facilitator.
    json: String,
}

/// The signed part of a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemePayload {
    /// A transfer of an exact value.
    Transfer(SignedTransfer),
    /// A transfer by Permit2.
    Permit2(SignedPermit2),
}

/// A transfer of an exact value with its signature (ERC-3009).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedTransfer {
    /// What is signed.
    pub authorization: TransferAuthorization,
    /// Signature of the payer, of any length.
    pub signature: Vec<u8>,
}

/// A transfer by Permit2 with its owner and signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedPermit2 {
    /// The account that pays.
    pub owner: Address,
    /// What is signed.
    pub transfer: Permit2Transfer,
    /// Signature of the owner, of any length.
    pub signature: Vec<u8>,
}

/// The requirement that a payer of version 2 repeats. It is the payer's word and binds nobody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedRequirement {
    /// Name of the scheme.
    pub scheme: String,
    /// Name of the network.
    pub network: String,
    /// Amount in smallest units.
    pub amount: U256,
    /// Contract of the token.
    pub asset: Address,
    /// The account that is paid.
    pub pay_to: Address,
    /// Seconds that the payment is good for.
    pub max_timeout_s: u64,
    /// Name in the signing domain of the token.
    pub name: Option<String>,
    /// Version in the signing domain of the token.
    pub domain_version: Option<String>,
    /// How the token is moved: `eip3009` or `permit2`.
    pub transfer_method: Option<String>,
    /// The account that settles.
    pub facilitator: Option<Address>,
    /// The seller's quote.
    pub quote: Option<String>,
}

/// A permit that lets Permit2 take tokens, for the facilitator to send (the extension
/// `eip2612GasSponsoring`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GasPermit {
    /// The owner of the tokens.
    pub owner: Address,
    /// Contract of the token.
    pub asset: Address,
    /// Who may take them.
    pub spender: Address,
    /// The allowance that it gives, in smallest units.
    pub amount: U256,
    /// Number of permits of the owner that the token took before.
    pub nonce: U256,
    /// Last second, in Unix time, at which the token takes it.
    pub deadline: U256,
    /// Signature of the owner.
    pub signature: Vec<u8>,
}

impl PaymentPayload {
    /// Reads the header of a payment: `PAYMENT-SIGNATURE` for version 2, `X-PAYMENT` for version 1.
    ///
    /// # Errors
    /// When the header cannot be read, or its version is not that of the header's name.
    pub fn from_header(version: X402Version, header: &[u8]) -> Result<Self, MalformedMessage> {
        let payment = Self::from_json(&decode_header(header)?)?;
        if payment.version != version {
            let header = match version {
                X402Version::V1 => X_PAYMENT,
                X402Version::V2 => PAYMENT_SIGNATURE,
            };
            let problem = format!("the header `{header}` is for version {}", version.number());
            return Err(MalformedMessage::member("x402Version", problem));
        }
        Ok(payment)
    }

    /// Reads a payment as JSON of either version.
    ///
    /// # Errors
    /// When a member is missing, twice there or malformed.
    pub fn from_json(json: &[u8]) -> Result<Self, MalformedMessage> {
        let wire: WirePayment = read(json)?;
        let version = match wire.x402_version {
            1 => X402Version::V1,
            2 => X402Version::V2,
            _ => return Err(MalformedMessage::Version),
        };
        let missing = |member: &str| MalformedMessage::member(member, "is missing");
        let (scheme, network, accepted) = match version {
            X402Version::V1 => (
                wire.scheme.ok_or_else(|| missing("scheme"))?,
                wire.network.ok_or_else(|| missing("network"))?,
                None,
            ),
            X402Version::V2 => {
                let accepted = wire.accepted.ok_or_else(|| missing("accepted"))?;
                let accepted = AcceptedRequirement::from(accepted);
                (
                    accepted.scheme.clone(),
                    accepted.network.clone(),
                    Some(accepted),
                )
            }
        };
        Ok(Self {
            version,
            scheme,
            network,
            payload: wire.payload.try_into()?,
            accepted,
            gas_permit: gas_permit(wire.extensions)?,
            json: String::from_utf8_lossy(json).into_owned(),
        })
    }

    /// The message as it was sent, for a facilitator.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePayment {
    x402_version: u64,
    scheme: Option<String>,
    network: Option<String>,
    payload: WirePayload,
    accepted: Option<WireAccepted>,
    extensions: Option<WireExtensions>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePayload {
    signature: HexSignature,
    authorization: Option<WireAuthorization>,
    permit2_authorization: Option<WirePermit2>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireAuthorization {
    from: HexAddress,
    to: HexAddress,
    value: DecimalAmount,
    valid_after: DecimalAmount,
    valid_before: DecimalAmount,
    nonce: HexWord,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePermit2 {
    from: HexAddress,
    permitted: WirePermitted,
    spender: HexAddress,
    nonce: Permit2Nonce,
    deadline: DecimalAmount,
    witness: WireWitness,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePermitted {
    token: HexAddress,
    amount: DecimalAmount,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireWitness {
    to: HexAddress,
    facilitator: Option<HexAddress>,
    valid_after: DecimalAmount,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireAccepted {
    scheme: String,
    network: String,
    amount: DecimalAmount,
    asset: HexAddress,
    pay_to: HexAddress,
    max_timeout_seconds: u64,
    #[serde(default)]
    extra: Option<WireExtra>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct WireExtra {
    name: Option<String>,
    version: Option<String>,
    asset_transfer_method: Option<String>,
    facilitator_address: Option<HexAddress>,
    quote: Option<String>,
}

#[derive(Deserialize)]
struct WireExtensions {
    #[serde(rename = "eip2612GasSponsoring")]
    gas_sponsoring: Option<WireGasSponsoring>,
}

#[derive(Deserialize)]
struct WireGasSponsoring {
    info: Option<WireGasPermit>,
}

/// What the seller declared, with the payer's additions where it signed.
#[derive(Deserialize)]
struct WireGasPermit {
    from: Option<HexAddress>,
    asset: Option<HexAddress>,
    spender: Option<HexAddress>,
    amount: Option<DecimalAmount>,
    nonce: Option<DecimalAmount>,
    deadline: Option<DecimalAmount>,
    signature: Option<HexSignature>,
}

impl TryFrom<WirePayload> for SchemePayload {
    type Error = MalformedMessage;

    fn try_from(wire: WirePayload) -> Result<Self, MalformedMessage> {
        let signature = wire.signature.0;
        match (wire.authorization, wire.permit2_authorization) {
            (Some(signed), None) => Ok(Self::Transfer(SignedTransfer {
                authorization: signed.into(),
                signature,
            })),
            (None, Some(signed)) => Ok(Self::Permit2(SignedPermit2 {
                owner: signed.from.0,
                transfer: signed.into(),
                signature,
            })),
            _ => {
                let problem = "must have one of `authorization` and `permit2Authorization`";
                Err(MalformedMessage::member("payload", problem))
            }
        }
    }
}

impl From<WireAuthorization> for TransferAuthorization {
    fn from(wire: WireAuthorization) -> Self {
        Self {
            from: wire.from.0,
            to: wire.to.0,
            value: wire.value.0,
            valid_after: wire.valid_after.0,
            valid_before: wire.valid_before.0,
            nonce: wire.nonce.0,
        }
    }
}

impl From<WirePermit2> for Permit2Transfer {
    fn from(wire: WirePermit2) -> Self {
        Self {
            token: wire.permitted.token.0,
            amount: wire.permitted.amount.0,
            spender: wire.spender.0,
            nonce: wire.nonce.0,
            deadline: wire.deadline.0,
            witness: Permit2Witness {
                to: wire.witness.to.0,
                facilitator: wire.witness.facilitator.map(|address| address.0),
                valid_after: wire.witness.valid_after.0,
            },
        }
    }
}

impl From<WireAccepted> for AcceptedRequirement {
    fn from(wire: WireAccepted) -> Self {
        let extra = wire.extra.unwrap_or_default();
        Self {
            scheme: wire.scheme,
            network: wire.network,
            amount: wire.amount.0,
            asset: wire.asset.0,
            pay_to: wire.pay_to.0,
            max_timeout_s: wire.max_timeout_seconds,
            name: extra.name,
            domain_version: extra.version,
            transfer_method: extra.asset_transfer_method,
            facilitator: extra.facilitator_address.map(|address| address.0),
            quote: extra.quote,
        }
    }
}

/// The permit among the extensions. What a payer repeats without a signature is none.
fn gas_permit(extensions: Option<WireExtensions>) -> Result<Option<GasPermit>, MalformedMessage> {
    let info = extensions.and_then(|all| all.gas_sponsoring?.info);
    let Some(info) = info.filter(|info| info.signature.is_some()) else {
        return Ok(None);
    };
    let whole = || {
        Some(GasPermit {
            owner: info.from?.0,
            asset: info.asset?.0,
            spender: info.spender?.0,
            amount: info.amount?.0,
            nonce: info.nonce?.0,
            deadline: info.deadline?.0,
            signature: info.signature?.0,
        })
    };
    let problem = "must have from, asset, spender, amount, nonce and deadline";
    let member = "extensions.eip2612GasSponsoring.info";
    whole()
        .map(Some)
        .ok_or_else(|| MalformedMessage::member(member, problem))
}
