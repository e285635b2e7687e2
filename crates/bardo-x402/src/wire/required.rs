//! What a seller asks for: the offers of a 402 in both versions.

use alloy_primitives::Address;
use serde_json::{Map, Value, json};

use super::X402Version;
use super::json::encode_header;
use crate::token::{PaymentToken, TokenAmount};

/// How money moves, by the names of schemes and transfer methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferMethod {
    /// `exact` by ERC-3009: the value as signed, settled by anyone.
    Exact,
    /// `exact` by Permit2: the amount as signed, settled by anyone.
    ExactPermit2,
    /// `upto` by Permit2: what the answer cost, up to the amount, settled by one account alone.
    Upto {
        /// The account that settles.
        facilitator: Address,
    },
}

/// A scheme of the protocol by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PaymentScheme {
    /// The amount is paid whole.
    Exact,
    /// The amount is a ceiling.
    Upto,
}

impl PaymentScheme {
    /// The name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Upto => "upto",
        }
    }

    /// Reads the name on the wire.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Exact, Self::Upto]
            .into_iter()
            .find(|scheme| scheme.name() == name)
    }
}

impl TransferMethod {
    /// The scheme that it is a method of.
    #[must_use]
    pub fn scheme(self) -> PaymentScheme {
        match self {
            Self::Exact | Self::ExactPermit2 => PaymentScheme::Exact,
            Self::Upto { .. } => PaymentScheme::Upto,
        }
    }

    /// The value of `extra.assetTransferMethod`; ERC-3009 is what is meant without one.
    #[must_use]
    pub fn wire_name(self) -> Option<&'static str> {
        match self {
            Self::Exact => None,
            Self::ExactPermit2 | Self::Upto { .. } => Some("permit2"),
        }
    }

    /// The account that settles, where only one can.
    #[must_use]
    pub fn facilitator(self) -> Option<Address> {
        match self {
            Self::Exact | Self::ExactPermit2 => None,
            Self::Upto { facilitator } => Some(facilitator),
        }
    }
}

/// One way to pay that a seller offers.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedRequirement {
    /// How the money moves.
    pub method: TransferMethod,
    /// The token on its network.
    pub token: PaymentToken,
    /// The price, or the ceiling under `upto`.
    pub amount: TokenAmount,
    /// The account that is paid.
    pub pay_to: Address,
    /// Seconds that a payment is to be good for, from its signature.
    pub max_timeout_s: u64,
    /// The quote that binds the offer to a request; a payer of version 2 repeats it.
    pub quote: Option<String>,
    /// More members of `extra`, for people to read; nothing compares them.
    pub details: Map<String, Value>,
}

/// What is sold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentResource {
    /// Address of the endpoint.
    pub url: String,
    /// What it does, in a few words.
    pub description: String,
    /// Type of its answers.
    pub mime_type: String,
}

/// The offer of a 402: ways to pay, in the order of preference. Clients take the first they know.
#[derive(Debug, Clone, PartialEq)]
pub struct PaymentRequired {
    /// Why the answer is a 402: a sentence, or the code of a refusal.
    pub error: String,
    /// What is sold.
    pub resource: PaymentResource,
    /// The ways to pay.
    pub accepts: Vec<OfferedRequirement>,
    /// Whether the facilitator sends a payer's permit for Permit2 (`eip2612GasSponsoring`).
    pub sponsors_gas: bool,
}

impl OfferedRequirement {
    /// The requirement as JSON of this version.
    #[must_use]
    pub fn json(&self, version: X402Version, resource: &PaymentResource) -> Value {
        let mut json = self.object(version, self.amount);
        if version == X402Version::V1 {
            // Without `outputSchema`: the first clients refuse a null there.
            json["resource"] = json!(resource.url);
            json["description"] = json!(resource.description);
            json["mimeType"] = json!(resource.mime_type);
        }
        json
    }

    /// The requirement at another amount, as a facilitator takes it: the ceiling to verify, the
    /// charge to settle.
    pub(super) fn object(&self, version: X402Version, amount: TokenAmount) -> Value {
        let amount_member = match version {
            X402Version::V1 => "maxAmountRequired",
            X402Version::V2 => "amount",
        };
        let mut extra = Map::new();
        extra.insert("name".into(), json!(self.token.name()));
        extra.insert("version".into(), json!(self.token.version()));
        if let Some(name) = self.method.wire_name() {
            extra.insert("assetTransferMethod".into(), json!(name));
        }
        if let Some(facilitator) = self.method.facilitator() {
            extra.insert("facilitatorAddress".into(), json!(facilitator.to_string()));
        }
        if let Some(quote) = &self.quote {
            extra.insert("quote".into(), json!(quote));
        }
        for (name, value) in &self.details {
            extra.entry(name.clone()).or_insert_with(|| value.clone());
        }
        json!({
            "scheme": self.method.scheme().name(),
            "network": version.network_name(self.token.network()),
            amount_member: amount.to_string(),
            "asset": self.token.address().to_string(),
            "payTo": self.pay_to.to_string(),
            "maxTimeoutSeconds": self.max_timeout_s,
            "extra": extra,
        })
    }
}

impl PaymentRequired {
    /// Value of the header `PAYMENT-REQUIRED`, for clients of version 2.
    #[must_use]
    pub fn header(&self) -> String {
        let PaymentResource {
            url,
            description,
            mime_type,
        } = &self.resource;
        let accepts = self.accepts.iter();
        let accepts: Vec<Value> = accepts
            .map(|one| one.json(X402Version::V2, &self.resource))
            .collect();
        let mut json = json!({
            "x402Version": 2,
            "error": self.error,
            "resource": {"url": url, "description": description, "mimeType": mime_type},
            "accepts": accepts,
        });
        if self.sponsors_gas {
            let info = json!({
                "description": "the seller sends the permit for Permit2 and pays its gas",
                "version": "1",
            });
            json["extensions"] = json!({"eip2612GasSponsoring": {"info": info, "schema": {}}});
        }
        encode_header(&json.to_string())
    }

    /// Body of the 402, for clients of version 1: the offers that this version has, which are those
    /// of `exact` by ERC-3009.
    #[must_use]
    pub fn body(&self) -> Value {
        let known = |one: &&OfferedRequirement| one.method == TransferMethod::Exact;
        let accepts = self.accepts.iter().filter(known);
        let accepts: Vec<Value> = accepts
            .map(|one| one.json(X402Version::V1, &self.resource))
            .collect();
        json!({"x402Version": 1, "error": self.error, "accepts": accepts})
    }
}
