//! The offers of a 402, and the choice among them.

use alloy_primitives::Address;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::token::{PaymentToken, TokenAmount};
use crate::wire::{
    DecimalAmount, HexAddress, MalformedMessage, PaymentScheme, TransferMethod, X402Version,
    decode_header, read,
};

/// What a payer agrees to.
#[derive(Debug, Clone)]
pub struct PayerLimits {
    /// The tokens that may be paid. Their domains are used, whatever a seller says of them.
    pub tokens: Vec<PaymentToken>,
    /// The schemes that may be used, the preferred one first.
    pub schemes: Vec<PaymentScheme>,
    /// Most that one payment may be, and under `upto` its ceiling.
    pub most: TokenAmount,
    /// Longest time in seconds for which a payment is signed, whatever a seller asks for.
    pub most_timeout_s: u64,
}

/// The offers of a 402 as a seller sent them.
#[derive(Debug, Clone)]
pub struct PaymentOffers {
    version: X402Version,
    accepts: Vec<Box<RawValue>>,
    resource: Option<Box<RawValue>>,
    extensions: Option<Box<RawValue>>,
    sponsors_gas: bool,
}

/// An offer that a payer takes, within its limits.
#[derive(Debug, Clone)]
pub struct ChosenOffer {
    pub(super) version: X402Version,
    /// Name of the network as the seller writes it.
    pub(super) network: String,
    pub(super) method: TransferMethod,
    pub(super) token: PaymentToken,
    pub(super) amount: TokenAmount,
    pub(super) pay_to: Address,
    pub(super) timeout_s: u64,
    pub(super) sponsors_gas: bool,
    resource_url: Option<String>,
    /// The parts that are sent back as they came.
    pub(super) accepted: Box<RawValue>,
    pub(super) resource: Option<Box<RawValue>>,
    pub(super) extensions: Option<Box<RawValue>>,
}

/// Why no offer is taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OfferRefusal {
    /// The answer has no offers that can be read.
    #[error("the answer has no offers that can be read: {0}")]
    Malformed(#[from] MalformedMessage),
    /// An offer is fine but for its amount; the cheapest one is named.
    #[error("the offer is {amount} units and the limit is {most}")]
    TooDear {
        /// Amount of the cheapest offer.
        amount: TokenAmount,
        /// The payer's limit.
        most: TokenAmount,
    },
    /// No offer has a scheme, network and token that the payer uses.
    #[error("no offer has a scheme, network and token that this wallet pays with")]
    Unacceptable,
    /// The seller names another signing domain for a known token, so that one side is wrong.
    #[error("the offer names another signing domain for the token {token}")]
    Domain {
        /// Contract of the token.
        token: Address,
    },
}

impl PaymentOffers {
    /// Reads a 402: the header `PAYMENT-REQUIRED` of version 2, else a body of version 1.
    ///
    /// # Errors
    /// When neither can be read. A header that cannot be read is never made up for by a body.
    pub fn read(header: Option<&[u8]>, body: &[u8]) -> Result<Self, MalformedMessage> {
        let (wire, version): (WireOffers, _) = match header {
            Some(header) => (read(&decode_header(header)?)?, X402Version::V2),
            None => (read(body)?, X402Version::V1),
        };
        if wire.x402_version != u64::from(version.number()) {
            return Err(MalformedMessage::Version);
        }
        let extensions = wire.extensions;
        let named = extensions
            .as_deref()
            .and_then(|raw| serde_json::from_str::<WireExtensionNames>(raw.get()).ok());
        Ok(Self {
            version,
            accepts: wire.accepts,
            resource: wire.resource,
            sponsors_gas: named.is_some_and(|names| names.gas_sponsoring.is_some()),
            extensions,
        })
    }

    /// Version of the protocol that the seller spoke.
    #[must_use]
    pub fn version(&self) -> X402Version {
        self.version
    }

    /// Takes the first offer within the limits, in the order of the payer's schemes and then of the
    /// seller.
    ///
    /// # Errors
    /// When there is none.
    pub fn choose(&self, limits: &PayerLimits) -> Result<ChosenOffer, OfferRefusal> {
        let mut nearest: Option<OfferRefusal> = None;
        for scheme in &limits.schemes {
            for raw in &self.accepts {
                let Some(entry) = OfferEntry::of(raw, self.version) else {
                    continue;
                };
                if entry.method.scheme() != *scheme {
                    continue;
                }
                match self.take(raw, entry, limits) {
                    Ok(chosen) => return Ok(chosen),
                    Err(refusal) => nearest = Some(nearer(nearest, refusal)),
                }
            }
        }
        Err(nearest.unwrap_or(OfferRefusal::Unacceptable))
    }

    /// Address of what is sold, where version 2 has it.
    fn resource_url(&self) -> Option<String> {
        let raw = self.resource.as_deref()?;
        let resource: WireResource = serde_json::from_str(raw.get()).ok()?;
        Some(resource.url)
    }

    fn take(
        &self,
        raw: &RawValue,
        entry: OfferEntry,
        limits: &PayerLimits,
    ) -> Result<ChosenOffer, OfferRefusal> {
        let network = self.version.network(&entry.network);
        let known = limits
            .tokens
            .iter()
            .find(|token| Some(token.network()) == network && token.address() == entry.asset);
        let token = known.ok_or(OfferRefusal::Unacceptable)?;
        let differs =
            |said: &Option<String>, ours: &str| said.as_deref().is_some_and(|s| s != ours);
        if differs(&entry.name, token.name()) || differs(&entry.domain_version, token.version()) {
            return Err(OfferRefusal::Domain { token: entry.asset });
        }
        if entry.pay_to == Address::ZERO {
            return Err(OfferRefusal::Unacceptable);
        }
        if entry.amount > limits.most {
            return Err(OfferRefusal::TooDear {
                amount: entry.amount,
                most: limits.most,
            });
        }
        Ok(ChosenOffer {
            version: self.version,
            network: entry.network,
            method: entry.method,
            token: token.clone(),
            amount: entry.amount,
            pay_to: entry.pay_to,
            timeout_s: entry.max_timeout_s.min(limits.most_timeout_s),
            sponsors_gas: self.sponsors_gas,
            resource_url: entry.resource.or_else(|| self.resource_url()),
            accepted: raw.to_owned(),
            resource: self.resource.clone(),
            extensions: self.extensions.clone(),
        })
    }
}

/// The refusal that says more: a price first, the lower one; then a domain; then nothing known.
fn nearer(before: Option<OfferRefusal>, now: OfferRefusal) -> OfferRefusal {
    let rank = |refusal: &OfferRefusal| match refusal {
        OfferRefusal::TooDear { amount, .. } => (0, amount.get()),
        OfferRefusal::Domain { .. } => (1, 0),
        OfferRefusal::Unacceptable | OfferRefusal::Malformed(_) => (2, 0),
    };
    match before {
        Some(before) if rank(&before) <= rank(&now) => before,
        _ => now,
    }
}

impl ChosenOffer {
    /// Version of the protocol that the payment will have.
    #[must_use]
    pub fn version(&self) -> X402Version {
        self.version
    }

    /// How the money will move. Under Permit2 the payer must have approved it, or sign a permit.
    #[must_use]
    pub fn method(&self) -> TransferMethod {
        self.method
    }

    /// Token that is paid with.
    #[must_use]
    pub fn token(&self) -> &PaymentToken {
        &self.token
    }

    /// The price, or the ceiling under `upto`.
    #[must_use]
    pub fn amount(&self) -> TokenAmount {
        self.amount
    }

    /// The account that is paid.
    #[must_use]
    pub fn pay_to(&self) -> Address {
        self.pay_to
    }

    /// Address of what is sold, as the seller says. A payer compares its host with the one that it
    /// asked, so that no offer of another seller is passed on to it.
    #[must_use]
    pub fn resource_url(&self) -> Option<&str> {
        self.resource_url.as_deref()
    }

    /// Whether the seller sends a permit for Permit2, so that the payer needs no gas.
    #[must_use]
    pub fn sponsors_gas(&self) -> bool {
        self.sponsors_gas
    }
}

/// One entry of `accepts` with a scheme and numbers that are known here.
struct OfferEntry {
    method: TransferMethod,
    network: String,
    asset: Address,
    amount: TokenAmount,
    pay_to: Address,
    max_timeout_s: u64,
    name: Option<String>,
    domain_version: Option<String>,
    /// Address of what is sold, where version 1 has it.
    resource: Option<String>,
}

impl OfferEntry {
    /// Reads an entry; `None` where it is malformed or of an unknown kind, so that others count.
    fn of(raw: &RawValue, version: X402Version) -> Option<Self> {
        let wire: WireEntry = serde_json::from_str(raw.get()).ok()?;
        let extra = wire.extra.unwrap_or_default();
        let by_permit2 = match extra.asset_transfer_method.as_deref() {
            None => None,
            Some("eip3009") => Some(false),
            Some("permit2") => Some(true),
            Some(_) => return None,
        };
        let method = match (PaymentScheme::from_name(&wire.scheme)?, version) {
            (PaymentScheme::Exact, X402Version::V1) => TransferMethod::Exact,
            (PaymentScheme::Exact, X402Version::V2) if by_permit2 == Some(true) => {
                TransferMethod::ExactPermit2
            }
            (PaymentScheme::Exact, X402Version::V2) => TransferMethod::Exact,
            // A transfer by EIP-3009 always moves the whole, so no ceiling can be paid by it.
            (PaymentScheme::Upto, X402Version::V2) if by_permit2 != Some(false) => {
                let named = extra.facilitator_address?.0;
                TransferMethod::Upto {
                    facilitator: Some(named).filter(|named| *named != Address::ZERO)?,
                }
            }
            (PaymentScheme::Upto, _) => return None,
        };
        let amount = match version {
            X402Version::V1 => wire.max_amount_required?,
            X402Version::V2 => wire.amount?,
        };
        Some(Self {
            method,
            network: wire.network,
            asset: wire.asset.0,
            amount: TokenAmount::new(u64::try_from(amount.0).ok()?),
            pay_to: wire.pay_to.0,
            max_timeout_s: wire.max_timeout_seconds,
            name: extra.name,
            domain_version: extra.version,
            resource: wire.resource,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireOffers {
    x402_version: u64,
    accepts: Vec<Box<RawValue>>,
    resource: Option<Box<RawValue>>,
    extensions: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct WireResource {
    url: String,
}

#[derive(Deserialize)]
struct WireExtensionNames {
    #[serde(rename = "eip2612GasSponsoring")]
    gas_sponsoring: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireEntry {
    scheme: String,
    network: String,
    amount: Option<DecimalAmount>,
    max_amount_required: Option<DecimalAmount>,
    asset: HexAddress,
    pay_to: HexAddress,
    max_timeout_seconds: u64,
    resource: Option<String>,
    extra: Option<WireEntryExtra>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct WireEntryExtra {
    name: Option<String>,
    version: Option<String>,
    asset_transfer_method: Option<String>,
    facilitator_address: Option<HexAddress>,
}
