//! The port through which a service that answers "402 Payment Required" gets paid (x402).
//!
//! The sandbox's wallet is here; one that holds real money is behind the same trait, elsewhere.

use std::pin::Pin;

use bardo_types::model::Service;
use bardo_types::money::MicroUsd;
use bardo_types::secret::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::provider::provider;

/// Header of an offer, v2.
pub const PAYMENT_REQUIRED: HeaderName = HeaderName::from_static("payment-required");
/// Header of a payment, v2.
pub const PAYMENT_SIGNATURE: HeaderName = HeaderName::from_static("payment-signature");

/// Contracts of USDC by network. The domain of a signature comes from this table and never from an
/// offer, so an unknown network or asset is refused.
const USDC: [(&str, &str); 2] = [
    ("eip155:8453", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
    ("eip155:84532", "0x036CbD53842c5426634e7929541eC2318f3dCF7e"),
];

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
    /// The price of the model is unknown, so there is no limit to hold an offer to.
    #[error("the payment offer cannot be checked: the price of the model is unknown")]
    Unpriced,
    /// The wallet did not answer before the time of the attempt was over.
    #[error("the wallet did not answer in time")]
    Late,
}

/// A payment that a service asks for, in USDC on a known network.
#[derive(Debug, Clone)]
pub struct PaymentOffer {
    accepted: Box<RawValue>,
    resource: Option<Box<RawValue>>,
    requirement: Requirement,
    amount: MicroUsd,
}

impl PaymentOffer {
    /// Reads the first acceptable entry of the header `PAYMENT-REQUIRED`.
    ///
    /// # Errors
    /// When there is no offer, or no entry in USDC by the scheme `exact` on a known network.
    pub fn of(headers: &HeaderMap) -> Result<Self, PaymentError> {
        let header = headers
            .get(PAYMENT_REQUIRED)
            .ok_or(PaymentError::Malformed)?;
        let json = STANDARD
            .decode(header.as_bytes())
            .map_err(|_| PaymentError::Malformed)?;
        let offer: Entries = serde_json::from_slice(&json).map_err(|_| PaymentError::Malformed)?;
        let read = |raw: Box<RawValue>| {
            let requirement: Requirement = serde_json::from_str(raw.get()).ok()?;
            Some((raw, requirement))
        };
        let (accepted, requirement) = offer
            .accepts
            .into_iter()
            .filter_map(read)
            .find(|(_, requirement)| requirement.scheme == "exact" && requirement.is_usdc())
            .ok_or(PaymentError::Unacceptable(
                "only the scheme `exact` with USDC on Base is supported",
            ))?;
        // USDC has six decimals, so its smallest unit is one micro USD.
        let amount = requirement.amount.parse().map(MicroUsd::new);
        Ok(Self {
            amount: amount.map_err(|_| PaymentError::Malformed)?,
            accepted,
            resource: offer.resource,
            requirement,
        })
    }

    /// Amount of the offer.
    #[must_use]
    pub fn amount(&self) -> MicroUsd {
        self.amount
    }

    /// Network of the payment, by its CAIP-2 name.
    #[must_use]
    pub fn network(&self) -> &str {
        &self.requirement.network
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
    /// Signs a payment of exactly the amount of the offer. The caller has held it to its limit.
    ///
    /// # Errors
    /// When it cannot or must not be paid.
    fn pay<'a>(&'a self, offer: &'a PaymentOffer) -> PaymentFuture<'a>;
}

/// A wallet for simulated providers: its signatures have the right shape and move nothing.
///
/// It signs nothing that a chain would accept, so it can never spend against a real service.
#[derive(Debug)]
pub struct SandboxWallet;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entries {
    accepts: Vec<Box<RawValue>>,
    resource: Option<Box<RawValue>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Requirement {
    scheme: String,
    network: String,
    asset: String,
    amount: String,
    pay_to: String,
    max_timeout_seconds: u64,
}

impl Requirement {
    fn is_usdc(&self) -> bool {
        USDC.iter().any(|(network, asset)| {
            *network == self.network && asset.eq_ignore_ascii_case(&self.asset)
        })
    }
}

/// The most that one simulated call may cost.
const SANDBOX_CAP: MicroUsd = MicroUsd::new(100_000_000);

impl Wallet for SandboxWallet {
    fn pay<'a>(&'a self, offer: &'a PaymentOffer) -> PaymentFuture<'a> {
        Box::pin(std::future::ready(sign(offer)))
    }
}

fn sign(offer: &PaymentOffer) -> Result<SignedPayment, PaymentError> {
    let (requirement, amount) = (&offer.requirement, offer.amount);
    if amount > SANDBOX_CAP {
        let most = SANDBOX_CAP;
        return Err(PaymentError::TooDear { amount, most });
    }
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let reference = format!("0x{}{}", nonce(), nonce());
    let payment = json!({
        "x402Version": 2,
        "payload": {
            "authorization": {
                "from": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
                "to": requirement.pay_to,
                "value": requirement.amount,
                "validAfter": now.saturating_sub(600).to_string(),
                "validBefore": (now + requirement.max_timeout_seconds).to_string(),
                "nonce": reference,
            },
            "signature": format!("0x{}1c", "5a".repeat(64)),
        },
        "resource": offer.resource,
        "accepted": offer.accepted,
    });
    let header = HeaderValue::from_str(&STANDARD.encode(payment.to_string()))
        .map_err(|_| PaymentError::Malformed)?;
    Ok(SignedPayment { header, reference })
}

/// 16 unpredictable bytes in hex, from the hasher keys that the standard library seeds randomly.
fn nonce() -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let word = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", word(), word())
}

#[cfg(test)]
mod tests {
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

    const EXACT: &str = r#"{"scheme":"exact","network":"eip155:8453","amount":"3660","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x3C44","maxTimeoutSeconds":300,"extra":{"name":"USD Coin","version":"2"}}"#;

    #[test]
    fn only_a_seller_that_has_no_key_of_ours_is_paid_per_call() {
        let check = |service, key: &str| is_offer(service, &Secret::new(key.into()));
        assert!(check(Service::BlockRun, ""));
        assert!(!check(Service::BlockRun, "brk_live_1"));
        assert!(!check(Service::Local, ""));
        assert!(!check(Service::Bankr, "bk_1"));
    }

    #[test]
    fn an_exact_offer_is_paid_with_a_fresh_nonce_each_time() {
        let offer = PaymentOffer::of(&offer(EXACT)).unwrap();
        assert_eq!(offer.amount(), MicroUsd::new(3_660));
        assert_eq!(offer.network(), "eip155:8453");
        let pay = || sign(&offer).unwrap();
        let paid = pay();
        let json: serde_json::Value =
            serde_json::from_slice(&STANDARD.decode(paid.header.as_bytes()).unwrap()).unwrap();
        let authorization = &json["payload"]["authorization"];
        assert_eq!(authorization["value"], "3660");
        assert_eq!(authorization["nonce"], paid.reference);
        assert_eq!(json["accepted"]["extra"]["name"], "USD Coin");
        assert_ne!(pay(), pay());
    }

    #[test]
    fn an_offer_that_is_malformed_or_of_an_unknown_kind_is_no_offer() {
        let read = |accepts: &str| PaymentOffer::of(&offer(accepts)).map(|offer| offer.amount());
        assert_eq!(
            PaymentOffer::of(&HeaderMap::new()).err(),
            Some(PaymentError::Malformed)
        );
        let many = EXACT.replace("3660", "18446744073709551616");
        assert_eq!(read(&many), Err(PaymentError::Malformed));
        for (from, to) in [
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

    #[test]
    fn the_sandbox_signs_nothing_above_its_cap() {
        let dear = EXACT.replace("3660", "100000001");
        let offer = PaymentOffer::of(&offer(&dear)).unwrap();
        assert!(matches!(sign(&offer), Err(PaymentError::TooDear { .. })));
    }
}
