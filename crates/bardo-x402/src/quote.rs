//! Quotes: an offer bound to one request by a MAC, so that a paid retry needs no memory.
//!
//! A payment's signature covers money alone. The quote in `accepted.extra.quote` adds what was asked
//! for: method, path and body. Version 1 repeats nothing, so there the seller derives the quote again
//! ([`Quote::matching`]), and a payment of the same price fits another body as well.

use alloy_primitives::Address;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use zeroize::Zeroizing;

use crate::token::{PaymentToken, TokenAmount};
use crate::wire::{OfferedRequirement, PaymentPayload, SchemePayload, TransferMethod};

/// The key of the seller's quotes. It has no `Debug`; all instances of a gateway share one.
pub struct QuoteKey(Zeroizing<[u8; 32]>);

/// What a request asks for: a hash over method, path and body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestDigest([u8; 32]);

/// A price for one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// The request that it is for.
    pub request: RequestDigest,
    /// How the money is to move.
    pub method: TransferMethod,
    /// Id of the chain.
    pub chain_id: u64,
    /// Contract of the token.
    pub token: Address,
    /// The account that is paid.
    pub pay_to: Address,
    /// The price, or the ceiling under `upto`.
    pub amount: TokenAmount,
    /// Version of the prices that it was made from.
    pub price_version: u64,
    /// Last second, in Unix time, at which it is honored.
    pub expires_s: u64,
}

/// Why a quote is not honored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuoteRefusal {
    /// The text is no quote of any gateway.
    #[error("`accepted.extra.quote` is malformed; send an offer of the last 402 back as it is")]
    Malformed,
    /// The quote was changed, or another seller made it.
    #[error("`accepted.extra.quote` was not made by this seller; ask for a new offer")]
    Forged,
    /// The quote is for another method, path or body.
    #[error("the quote is for another request; send the request that was quoted, byte for byte")]
    OtherRequest,
    /// The time of the quote is over.
    #[error("the quote expired at {expires_s}; ask for a new offer")]
    Expired {
        /// Its last second, in Unix time.
        expires_s: u64,
    },
}

/// Which ceilings a seller offers. The default suits official clients, which refuse a dollar or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CeilingBounds {
    /// The least that is worth a settlement; cheaper requests have this ceiling.
    pub least: TokenAmount,
    /// Every ceiling is below this.
    pub below: TokenAmount,
}

/// A request that can cost more than a seller takes in one payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the request can cost {worst_case} units, and one payment is below {below}; ask for fewer output tokens"
)]
pub struct AboveCeiling {
    /// The most that the request can cost.
    pub worst_case: TokenAmount,
    /// Every payment is below this.
    pub below: TokenAmount,
}

impl Default for CeilingBounds {
    /// From 0.001 to below 1 USD of a dollar token with six decimals.
    fn default() -> Self {
        Self {
            least: TokenAmount::new(1_000),
            below: TokenAmount::new(1_000_000),
        }
    }
}

impl CeilingBounds {
    /// The ceiling of a request that can cost this much.
    ///
    /// # Errors
    /// When one payment cannot cover it.
    pub fn ceiling(self, worst_case: TokenAmount) -> Result<TokenAmount, AboveCeiling> {
        let ceiling = worst_case.max(self.least);
        if ceiling >= self.below {
            let below = self.below;
            return Err(AboveCeiling { worst_case, below });
        }
        Ok(ceiling)
    }
}

impl RequestDigest {
    /// Hashes a request: the method as sent, path with query as sent, and the raw body.
    #[must_use]
    pub fn of(method: &str, path: &str, body: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("bardo x402 quoted request, version 1");
        for part in [method.as_bytes(), path.as_bytes(), body] {
            hasher.update(&(part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        Self(*hasher.finalize().as_bytes())
    }

    /// The hash as bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 32] {
        self.0
    }
}

/// First byte of a quote, which names its layout.
const LAYOUT: u8 = 1;
/// Bytes of a quote before its MAC.
const CONTENT: usize = 2 + 20 + 8 + 20 + 20 + 8 + 8 + 8 + 32;
/// Bytes of the MAC.
const MAC: usize = 32;
/// Characters of a quote: base64 without padding has four for three bytes.
const TEXT: usize = ((CONTENT + MAC) * 4).div_ceil(3);

impl QuoteKey {
    /// The key of quotes that follows from a secret of the operator.
    #[must_use]
    pub fn derive(secret: &[u8]) -> Self {
        let key = blake3::derive_key("bardo x402 quotes, version 1", secret);
        Self(Zeroizing::new(key))
    }

    /// The text of a quote, for `extra.quote` of an offer.
    #[must_use]
    pub fn issue(&self, quote: &Quote) -> String {
        let content = quote.content();
        let mac = blake3::keyed_hash(&self.0, &content);
        URL_SAFE_NO_PAD.encode([&content[..], mac.as_bytes()].concat())
    }

    /// Reads a quote that a payer sent back with this request, at this Unix time in seconds.
    ///
    /// # Errors
    /// When it is not ours, not for this request, or over.
    pub fn read(
        &self,
        text: &str,
        request: RequestDigest,
        now_s: u64,
    ) -> Result<Quote, QuoteRefusal> {
        if text.len() != TEXT {
            return Err(QuoteRefusal::Malformed);
        }
        let bytes = URL_SAFE_NO_PAD
            .decode(text)
            .map_err(|_| QuoteRefusal::Malformed)?;
        let (content, mac) = bytes
            .split_first_chunk::<CONTENT>()
            .ok_or(QuoteRefusal::Malformed)?;
        let mac: [u8; MAC] = mac.try_into().map_err(|_| QuoteRefusal::Malformed)?;
        // Compares in constant time.
        if blake3::keyed_hash(&self.0, content) != mac {
            return Err(QuoteRefusal::Forged);
        }
        let quote = Quote::of(content).ok_or(QuoteRefusal::Malformed)?;
        if quote.request != request {
            return Err(QuoteRefusal::OtherRequest);
        }
        if now_s > quote.expires_s {
            let expires_s = quote.expires_s;
            return Err(QuoteRefusal::Expired { expires_s });
        }
        Ok(quote)
    }
}

impl Quote {
    /// The requirement of an offer with this quote. `text` is what [`QuoteKey::issue`] gave, and
    /// `None` for version 1. `None` is returned where the quote is for another token.
    #[must_use]
    pub fn requirement(
        &self,
        token: &PaymentToken,
        max_timeout_s: u64,
        text: Option<String>,
    ) -> Option<OfferedRequirement> {
        let same = token.address() == self.token && token.network().chain_id() == self.chain_id;
        same.then(|| OfferedRequirement {
            method: self.method,
            token: token.clone(),
            amount: self.amount,
            pay_to: self.pay_to,
            max_timeout_s,
            quote: text,
            details: serde_json::Map::new(),
        })
    }

    /// The first of these quotes that a payment of version 1 pays by its amount and payee. They are
    /// derived from the request by the prices of today and those before them.
    #[must_use]
    pub fn matching<'a>(
        payment: &PaymentPayload,
        derived: impl IntoIterator<Item = &'a Self>,
        now_s: u64,
    ) -> Option<&'a Self> {
        let SchemePayload::Transfer(signed) = &payment.payload else {
            return None;
        };
        let signed = &signed.authorization;
        derived.into_iter().find(|quote| {
            quote.method == TransferMethod::Exact
                && now_s <= quote.expires_s
                && quote.pay_to == signed.to
                && quote.amount.to_u256() == signed.value
        })
    }

    fn content(&self) -> [u8; CONTENT] {
        let (kind, facilitator) = match self.method {
            TransferMethod::Exact => (0, Address::ZERO),
            TransferMethod::ExactPermit2 => (1, Address::ZERO),
            TransferMethod::Upto { facilitator } => (2, facilitator),
        };
        let parts: [&[u8]; 9] = [
            &[LAYOUT, kind],
            facilitator.as_slice(),
            &self.chain_id.to_be_bytes(),
            self.token.as_slice(),
            self.pay_to.as_slice(),
            &self.amount.get().to_be_bytes(),
            &self.price_version.to_be_bytes(),
            &self.expires_s.to_be_bytes(),
            &self.request.0,
        ];
        let content = parts.concat();
        content.try_into().expect("the parts have these lengths")
    }

    fn of(content: &[u8; CONTENT]) -> Option<Self> {
        let mut reader = QuoteBytes(content);
        let [layout, kind] = reader.take::<2>()?;
        let facilitator = Address::from(reader.take::<20>()?);
        let method = match (layout, kind) {
            (LAYOUT, 0) => TransferMethod::Exact,
            (LAYOUT, 1) => TransferMethod::ExactPermit2,
            (LAYOUT, 2) => TransferMethod::Upto { facilitator },
            _ => return None,
        };
        Some(Self {
            method,
            chain_id: u64::from_be_bytes(reader.take()?),
            token: reader.take::<20>()?.into(),
            pay_to: reader.take::<20>()?.into(),
            amount: TokenAmount::new(u64::from_be_bytes(reader.take()?)),
            price_version: u64::from_be_bytes(reader.take()?),
            expires_s: u64::from_be_bytes(reader.take()?),
            request: RequestDigest(reader.take()?),
        })
    }
}

/// What is left of a quote's bytes.
struct QuoteBytes<'a>(&'a [u8]);

impl QuoteBytes<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }
}
