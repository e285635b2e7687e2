//! How a payment ended, as a seller and a facilitator say it.

use alloy_primitives::{Address, B256};
use serde::Deserialize;
use serde_json::{Value, json};

use super::X402Version;
use super::field::{DecimalAmount, HexWord, address};
use super::json::{MalformedMessage, decode_header, encode_header, read};
use crate::token::{EvmNetwork, TokenAmount};

/// The reason of a settlement that was sent and has no receipt yet. It may still happen: asking
/// once more with the same payment finds out, another payment would be a second charge.
pub const SETTLEMENT_PENDING: &str = "settlement_pending";

/// The end of a payment: the header of a paid answer, or what a facilitator says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettlementReceipt {
    /// The money moved, or there was none to move.
    Settled {
        /// The account that paid.
        payer: Option<Address>,
        /// The network of the payment.
        network: EvmNetwork,
        /// The transaction that moved it; `None` where the amount is zero.
        transaction: Option<B256>,
        /// What was charged, where the scheme is `upto`.
        amount: Option<TokenAmount>,
    },
    /// The money did not move, or that is not known yet.
    Failed {
        /// Code of the reason, such as [`SETTLEMENT_PENDING`]. Unknown codes are opaque.
        reason: String,
        /// The account that was to pay.
        payer: Option<Address>,
        /// The network of the payment, where the other side named one.
        network: Option<EvmNetwork>,
        /// A transaction that was sent, if one was.
        transaction: Option<B256>,
    },
}

impl SettlementReceipt {
    /// Whether the payment was sent to the chain and may still settle.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        matches!(self, Self::Failed { reason, .. } if reason == SETTLEMENT_PENDING)
    }

    /// Value of the receipt header of this version.
    #[must_use]
    pub fn header(&self, version: X402Version) -> String {
        encode_header(&self.json(version).to_string())
    }

    /// Reads the receipt header of this version.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn from_header(version: X402Version, header: &[u8]) -> Result<Self, MalformedMessage> {
        Self::from_json(version, &decode_header(header)?)
    }

    /// The receipt as JSON of this version.
    #[must_use]
    pub fn json(&self, version: X402Version) -> Value {
        let hash = |hash: &Option<B256>| hash.map(|hash| hash.to_string()).unwrap_or_default();
        match self {
            Self::Settled {
                payer,
                network,
                transaction,
                amount,
            } => {
                let mut json = json!({
                    "success": true,
                    "transaction": hash(transaction),
                    "network": version.network_name(*network),
                });
                if let Some(payer) = payer {
                    json["payer"] = json!(payer.to_string());
                }
                if let Some(amount) = amount {
                    json["amount"] = json!(amount.to_string());
                }
                json
            }
            Self::Failed {
                reason,
                payer,
                network,
                transaction,
            } => {
                let network = network.map(|network| version.network_name(network));
                let mut json = json!({
                    "success": false,
                    "errorReason": reason,
                    "transaction": hash(transaction),
                    "network": network.unwrap_or_default(),
                });
                if let Some(payer) = payer {
                    json["payer"] = json!(payer.to_string());
                }
                json
            }
        }
    }

    /// Reads a receipt, or a facilitator's answer to `/settle`, as JSON of this version.
    ///
    /// # Errors
    /// When it is no JSON, or a success without a known network, or an amount that no payment has.
    pub fn from_json(version: X402Version, json: &[u8]) -> Result<Self, MalformedMessage> {
        let wire: WireReceipt = read(json)?;
        let payer = wire.payer.and_then(|payer| address(&payer));
        let transaction = wire.transaction.and_then(|hash| hash.0);
        let network = wire.network.as_deref();
        let network = network.and_then(|name| version.network(name));
        if !wire.success {
            return Ok(Self::Failed {
                reason: wire.error_reason.unwrap_or_default(),
                payer,
                network,
                transaction,
            });
        }
        let amount = wire.amount.map(|amount| {
            let units = u64::try_from(amount.0).ok().map(TokenAmount::new);
            units.ok_or_else(|| MalformedMessage::member("amount", "is above every ceiling"))
        });
        Ok(Self::Settled {
            payer,
            network: network
                .ok_or_else(|| MalformedMessage::member("network", "is missing or unknown"))?,
            transaction,
            amount: amount.transpose()?,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireReceipt {
    success: bool,
    transaction: Option<WireHash>,
    network: Option<String>,
    payer: Option<String>,
    amount: Option<DecimalAmount>,
    error_reason: Option<String>,
}

/// The hash of a transaction, or the empty text that stands for none.
struct WireHash(Option<B256>);

impl<'de> Deserialize<'de> for WireHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::IntoDeserializer;
        let text = String::deserialize(deserializer)?;
        if text.is_empty() {
            return Ok(Self(None));
        }
        HexWord::deserialize(text.into_deserializer()).map(|hash| Self(Some(hash.0)))
    }
}
