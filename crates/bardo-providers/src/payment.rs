//! The port through which a service that answers "402 Payment Required" gets paid (x402).
//!
//! [`crate::wallet`] has the wallet that holds a key.

use std::pin::Pin;

use bardo_types::model::Service;
use bardo_types::money::MicroUsd;
use bardo_types::receipt::ProviderSettlement;
use bardo_types::secret::Secret;
use bardo_x402::payer::{ChosenOffer, OfferRefusal, PayerLimits, PaymentOffers};
use bardo_x402::token::{PaymentToken, TokenAmount};
use bardo_x402::wire::{PaymentScheme, SettlementReceipt, X402Version};
use http::header::{HeaderMap, HeaderName, HeaderValue};

use crate::provider::provider;

/// Header of an offer, v2.
pub const PAYMENT_REQUIRED: HeaderName = HeaderName::from_static("payment-required");
/// Header of a payment, v2.
pub const PAYMENT_SIGNATURE: HeaderName = HeaderName::from_static("payment-signature");

/// Header of the end of a payment, v2.
pub const PAYMENT_RESPONSE: HeaderName = HeaderName::from_static("payment-response");

/// BlockRun's header for a settlement that was late; the payment may still be taken.
const PAYMENT_SETTLED: HeaderName = HeaderName::from_static("x-payment-settled");

/// The longest time in seconds for which a payment is signed.
const LONGEST_S: u64 = 3_600;

/// Why the payment of an offer failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PaymentError {
    /// The answer has no offer that can be read.
    #[error("the payment offer is missing or malformed")]
    Malformed,
    /// No entry of the offer is acceptable: scheme, network or asset.
    #[error("no entry of the payment offer is acceptable: {0}")]
    Unacceptable(&'static str),
    /// The offer is above what the request can cost.
    #[error("the payment offer of {amount} USD is above the limit of {most} USD for this request")]
    TooDear {
        /// Amount of the offer.
        amount: MicroUsd,
        /// Largest amount that may be paid for the request.
        most: MicroUsd,
    },
    /// The wallet has paid as much today as it may.
    #[error(
        "the wallet may pay {cap} USD a day, {spent} USD are spent today, and the offer is {amount} USD"
    )]
    DayCap {
        /// Most that the wallet pays in a day (UTC).
        cap: MicroUsd,
        /// Amount that was signed today.
        spent: MicroUsd,
        /// Amount of the offer.
        amount: MicroUsd,
    },
    /// The wallet cannot keep its count, and so must not pay.
    #[error("the wallet cannot store what it spends: {0}")]
    Uncounted(String),
    /// The price of the model is unknown, so there is no limit to hold an offer to.
    #[error("the payment offer cannot be checked: the price of the model is unknown")]
    Unpriced,
    /// The wallet did not answer before the time of the attempt was over.
    #[error("the wallet did not answer in time")]
    Late,
}

impl From<OfferRefusal> for PaymentError {
    fn from(refusal: OfferRefusal) -> Self {
        match refusal {
            OfferRefusal::Malformed(_) => Self::Malformed,
            OfferRefusal::TooDear { amount, most } => Self::TooDear {
                amount: amount.to_usd(),
                most: most.to_usd(),
            },
            OfferRefusal::Unacceptable => {
                Self::Unacceptable("it is not in USDC on Base by a scheme that the wallet uses")
            }
            OfferRefusal::Domain { .. } => {
                Self::Unacceptable("the seller names another signing domain for USDC")
            }
        }
    }
}

/// A payment that a service asks for, in USDC on a known network.
#[derive(Debug, Clone)]
pub struct PaymentOffer {
    chosen: ChosenOffer,
    network: String,
}

impl PaymentOffer {
    /// Reads the first acceptable entry of the header `PAYMENT-REQUIRED`, of at most this amount, in
    /// the order of these schemes. The domain of a signature comes from a table of known tokens and
    /// never from an offer.
    ///
    /// # Errors
    /// When there is no offer, or no entry in USDC by these schemes on a known network, or each is
    /// above the amount.
    pub fn of(
        headers: &HeaderMap,
        schemes: &[PaymentScheme],
        most: MicroUsd,
    ) -> Result<Self, PaymentError> {
        let header = headers
            .get(PAYMENT_REQUIRED)
            .ok_or(PaymentError::Malformed)?;
        let offers = PaymentOffers::read(Some(header.as_bytes()), b"");
        let offers = offers.map_err(|_| PaymentError::Malformed)?;
        let chosen = offers.choose(&PayerLimits {
            tokens: vec![
                PaymentToken::usdc_on_base(),
                PaymentToken::usdc_on_base_sepolia(),
            ],
            schemes: schemes.to_vec(),
            most: TokenAmount::from_usd(most),
            most_timeout_s: LONGEST_S,
        })?;
        let network = chosen.token().network().to_string();
        Ok(Self { chosen, network })
    }

    /// Scheme of the payment: `exact` or `upto`.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        self.chosen.method().scheme().name()
    }

    /// Amount of the offer; under `upto` its ceiling.
    #[must_use]
    pub fn amount(&self) -> MicroUsd {
        // USDC has six decimals, so its smallest unit is one micro USD.
        self.chosen.amount().to_usd()
    }

    /// Network of the payment, by its CAIP-2 name.
    #[must_use]
    pub fn network(&self) -> &str {
        &self.network
    }

    /// The offer as the protocol has it, for wallets.
    #[must_use]
    pub fn chosen(&self) -> &ChosenOffer {
        &self.chosen
    }
}

/// A signed payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedPayment {
    /// Value of the header `PAYMENT-SIGNATURE`.
    pub header: HeaderValue,
    /// Nonce of the authorization, which makes it unique on its network.
    pub reference: String,
}

/// How the provider says that a payment of `signed` ended; `None` where it does not say, or not so
/// that it can be read. With a stream the header comes before the settlement: without a transaction
/// the payment is pending, and under `upto` it has no amount.
#[must_use]
pub fn settlement(headers: &HeaderMap, signed: &PaymentOffer) -> Option<ProviderSettlement> {
    let header = headers.get(PAYMENT_RESPONSE)?;
    let told = SettlementReceipt::from_header(X402Version::V2, header.as_bytes()).ok()?;
    let is_pending = told.is_pending();
    let (state, transaction, amount) = match told {
        SettlementReceipt::Settled {
            transaction,
            amount,
            ..
        } => {
            let is_fixed = signed.chosen.method().scheme() == PaymentScheme::Exact;
            let amount = amount.map(TokenAmount::to_usd);
            let amount = amount.or_else(|| is_fixed.then(|| signed.amount()));
            let is_late = headers
                .get(PAYMENT_SETTLED)
                .is_some_and(|told| told == "false");
            let is_free = amount == Some(MicroUsd::ZERO);
            match is_late || (transaction.is_none() && !is_free) {
                true => ("pending", transaction, None),
                false => ("settled", transaction, amount),
            }
        }
        SettlementReceipt::Failed { transaction, .. } => {
            let state = if is_pending { "pending" } else { "failed" };
            (state, transaction, None)
        }
    };
    Some(ProviderSettlement {
        state,
        transaction: transaction.map(|hash| hash.to_string().into()),
        // Nobody can take more than was signed.
        amount: amount.filter(|amount| *amount <= signed.amount()),
    })
}

/// The future that a wallet returns.
pub type PaymentFuture<'a> =
    Pin<Box<dyn Future<Output = Result<SignedPayment, PaymentError>> + Send + 'a>>;

/// Whether a 402 of `service` is an offer to pay. With an account's key it is a refusal for want of
/// credit, and nothing is to be signed, whatever the answer says.
#[must_use]
pub fn is_offer(service: Service, key: &Secret) -> bool {
    key.is_empty() && provider(service).sells_per_call()
}

/// Something that can pay an offer.
pub trait Wallet: Send + Sync {
    /// The schemes that it pays by, the preferred one first.
    fn schemes(&self) -> &[PaymentScheme] {
        &[PaymentScheme::Exact]
    }

    /// Signs a payment of exactly the amount of the offer. The caller has held it to its limit.
    ///
    /// # Errors
    /// When it cannot or must not be paid.
    fn pay<'a>(&'a self, offer: &'a PaymentOffer) -> PaymentFuture<'a>;
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    fn offer(accepts: &str) -> HeaderMap {
        let json = format!(
            r#"{{"x402Version":2,"resource":{{"url":"http://x/"}},"accepts":[{accepts}]}}"#
        );
        HeaderMap::from_iter([(
            PAYMENT_REQUIRED,
            HeaderValue::from_str(&STANDARD.encode(json)).unwrap(),
        )])
    }

    const EXACT: &str = r#"{"scheme":"exact","network":"eip155:8453","amount":"3660","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC","maxTimeoutSeconds":300,"extra":{"name":"USD Coin","version":"2"}}"#;

    #[test]
    fn a_settlement_is_what_the_provider_says_and_never_above_the_signed_amount() {
        let offer = PaymentOffer::of(&offer(EXACT), &[PaymentScheme::Exact], MicroUsd::MAX);
        let offer = offer.unwrap();
        let hash = format!("0x{}", "7b".repeat(32));
        let told = |json: serde_json::Value, late: bool| {
            let value = HeaderValue::from_str(&STANDARD.encode(json.to_string())).unwrap();
            let mut headers = HeaderMap::from_iter([(PAYMENT_RESPONSE, value)]);
            if late {
                headers.insert(PAYMENT_SETTLED, HeaderValue::from_static("false"));
            }
            settlement(&headers, &offer)
                .map(|end| (end.state, end.transaction.is_some(), end.amount))
        };
        let of = |success: bool, transaction: &str| {
            serde_json::json!({ "success": success, "transaction": transaction, "network": "eip155:8453",
                "errorReason": "insufficient_funds" })
        };
        let whole = Some(MicroUsd::new(3_660));
        assert_eq!(told(of(true, &hash), false), Some(("settled", true, whole)));
        assert_eq!(told(of(true, &hash), true), Some(("pending", true, None)));
        assert_eq!(told(of(true, ""), false), Some(("pending", false, None)));
        assert_eq!(told(of(false, ""), false), Some(("failed", false, None)));
        let mut more = of(true, &hash);
        more["amount"] = "3661".into();
        assert_eq!(told(more, false), Some(("settled", true, None)));
        assert_eq!(told(serde_json::json!({ "success": true }), false), None);
        assert!(settlement(&HeaderMap::new(), &offer).is_none());
    }

    #[test]
    fn only_a_seller_that_has_no_key_of_ours_is_paid_per_call() {
        let check = |service, key: &str| is_offer(service, &Secret::new(key.into()));
        assert!(check(Service::BlockRun, ""));
        assert!(!check(Service::BlockRun, "brk_live_1"));
        assert!(!check(Service::Local, ""));
        assert!(!check(Service::Bankr, "bk_1"));
    }

    #[test]
    fn an_offer_that_is_malformed_or_of_an_unknown_kind_is_no_offer() {
        let of =
            |headers: &HeaderMap| PaymentOffer::of(headers, &[PaymentScheme::Exact], MicroUsd::MAX);
        let read = |accepts: &str| of(&offer(accepts)).map(|offer| offer.amount());
        assert_eq!(of(&HeaderMap::new()).err(), Some(PaymentError::Malformed));
        for (from, to) in [
            // More than any amount can be.
            ("3660", "18446744073709551616"),
            ("exact", "upto"),
            ("eip155:8453", "eip155:1"),
            ("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "0x8335"),
        ] {
            let other = EXACT.replace(from, to);
            assert!(
                matches!(read(&other), Err(PaymentError::Unacceptable(_))),
                "{other}"
            );
        }
    }
}
