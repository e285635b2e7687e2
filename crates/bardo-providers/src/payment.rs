//! The port through which a service that answers "402 Payment Required" gets paid (x402).
//!
//! The sandbox's wallet is here; one that holds real money is behind the same trait, elsewhere.

use bardo_types::model::Service;
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

/// Why the payment of an offer failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PaymentError {
    /// The answer has no offer that can be read.
    #[error("the payment offer is missing or malformed")]
    Malformed,
    /// No entry of the offer is acceptable: scheme, network, asset or amount.
    #[error("no entry of the payment offer is acceptable: {0}")]
    Unacceptable(&'static str),
}

/// Whether a 402 of `service` is an offer to pay. With an account's key it is a refusal for want of
/// credit, and nothing is to be signed, whatever the answer says.
#[must_use]
pub fn is_offer(service: Service, key: &Secret) -> bool {
    key.is_empty() && provider(service).sells_per_call()
}

/// Something that can pay an offer.
pub trait Wallet: Send + Sync {
    /// Answers the value of the `PAYMENT-SIGNATURE` header for the offer in `headers`.
    ///
    /// # Errors
    /// When there is nothing to pay, or it must not be paid.
    fn pay(&self, headers: &HeaderMap) -> Result<HeaderValue, PaymentError>;
}

/// A wallet for simulated providers: its signatures have the right shape and move nothing.
///
/// It signs nothing that a chain would accept, so it can never spend against a real service.
#[derive(Debug)]
pub struct SandboxWallet;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Offer<'a> {
    #[serde(borrow)]
    accepts: Vec<&'a RawValue>,
    #[serde(borrow)]
    resource: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Requirement {
    scheme: String,
    network: String,
    amount: String,
    pay_to: String,
    max_timeout_seconds: u64,
}

/// The most that one simulated call may cost, in 10⁻⁶ USDC.
const SANDBOX_CAP: u64 = 100_000_000;

impl Wallet for SandboxWallet {
    fn pay(&self, headers: &HeaderMap) -> Result<HeaderValue, PaymentError> {
        let header = headers
            .get(PAYMENT_REQUIRED)
            .ok_or(PaymentError::Malformed)?;
        let json = STANDARD
            .decode(header.as_bytes())
            .map_err(|_| PaymentError::Malformed)?;
        let offer: Offer<'_> =
            serde_json::from_slice(&json).map_err(|_| PaymentError::Malformed)?;
        let read = |raw: &&RawValue| serde_json::from_str::<Requirement>(raw.get()).ok();
        let (accepted, requirement) = offer
            .accepts
            .iter()
            .filter_map(|raw| Some((raw, read(raw)?)))
            .find(|(_, requirement)| {
                requirement.scheme == "exact" && requirement.network.starts_with("eip155:")
            })
            .ok_or(PaymentError::Unacceptable(
                "only the scheme `exact` on an EVM network is supported",
            ))?;
        let amount: u64 = requirement
            .amount
            .parse()
            .map_err(|_| PaymentError::Malformed)?;
        if amount > SANDBOX_CAP {
            return Err(PaymentError::Unacceptable("the amount is above the cap"));
        }
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        let payment = json!({
            "x402Version": 2,
            "payload": {
                "authorization": {
                    "from": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
                    "to": requirement.pay_to,
                    "value": requirement.amount,
                    "validAfter": now.saturating_sub(600).to_string(),
                    "validBefore": (now + requirement.max_timeout_seconds).to_string(),
                    "nonce": format!("0x{}{}", nonce(), nonce()),
                },
                "signature": format!("0x{}1c", "5a".repeat(64)),
            },
            "resource": offer.resource,
            "accepted": accepted,
        });
        HeaderValue::from_str(&STANDARD.encode(payment.to_string()))
            .map_err(|_| PaymentError::Malformed)
    }
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

    const EXACT: &str = r#"{"scheme":"exact","network":"eip155:8453","amount":"3660","asset":"0x8335","payTo":"0x3C44","maxTimeoutSeconds":300,"extra":{"name":"USD Coin","version":"2"}}"#;

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
        let pay = || SandboxWallet.pay(&offer(EXACT)).unwrap();
        let json: serde_json::Value =
            serde_json::from_slice(&STANDARD.decode(pay().as_bytes()).unwrap()).unwrap();
        assert_eq!(json["payload"]["authorization"]["value"], "3660");
        assert_eq!(json["accepted"]["extra"]["name"], "USD Coin");
        assert_ne!(pay(), pay());
    }

    #[test]
    fn what_cannot_be_read_or_is_too_dear_is_not_paid() {
        assert_eq!(
            SandboxWallet.pay(&HeaderMap::new()),
            Err(PaymentError::Malformed)
        );
        let dear = EXACT.replace("3660", "100000001");
        assert!(matches!(
            SandboxWallet.pay(&offer(&dear)),
            Err(PaymentError::Unacceptable(_))
        ));
        let upto = EXACT.replace("exact", "upto");
        assert!(matches!(
            SandboxWallet.pay(&offer(&upto)),
            Err(PaymentError::Unacceptable(_))
        ));
    }
}
