//! A caller who pays for single requests: reads offers, signs payments, reads receipts.

use std::sync::atomic::{AtomicU64, Ordering};

use bardo_x402::evm::{B256, Signer, keccak256};
use bardo_x402::payer::{PayerLimits, PaymentHeader, PaymentOffers, Permit2Approval};
use bardo_x402::token::{PaymentToken, TokenAmount};
use bardo_x402::wire::{PaymentScheme, SettlementReceipt, X402Version, decode_header};
use serde_json::Value;

use crate::http::{Answer, Request};
use crate::rig::Gateway;

/// A public test key.
pub(crate) const KEY: [u8; 32] = [0x59; 32];

/// A nonce that was never used before.
fn nonce() -> B256 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    keccak256(format!("{} {number}", std::process::id()))
}

pub(crate) fn now_s() -> u64 {
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH)
        .expect("it is after 1970")
        .as_secs()
}

fn limits(scheme: PaymentScheme, most: u64) -> PayerLimits {
    PayerLimits {
        tokens: vec![PaymentToken::usdc_on_base()],
        schemes: vec![scheme],
        most: TokenAmount::new(most),
        most_timeout_s: 3_600,
    }
}

/// A payment for the offer of a 402, below a dollar.
pub(crate) fn sign(offered: &Answer, version: X402Version, scheme: PaymentScheme) -> PaymentHeader {
    sign_up_to(offered, version, scheme, 999_999)
}

/// A payment for the offer of a 402, up to so many millionths of a dollar.
pub(crate) fn sign_up_to(
    offered: &Answer,
    version: X402Version,
    scheme: PaymentScheme,
    most: u64,
) -> PaymentHeader {
    let header = offered.header("payment-required");
    let header = header.filter(|_| version == X402Version::V2);
    let offers = PaymentOffers::read(header.map(str::as_bytes), offered.text().as_bytes());
    let chosen = offers.expect("an offer").choose(&limits(scheme, most));
    let signer = Signer::from_bytes(KEY).expect("a key");
    chosen.expect("it is within the limits").sign(
        &signer,
        nonce(),
        Permit2Approval::Standing,
        now_s(),
    )
}

pub(crate) fn paid(request: &Request, payment: &PaymentHeader) -> Request {
    request.clone().with(payment.name, &payment.value)
}

/// The receipt of an answer.
#[track_caller]
pub(crate) fn receipt(answer: &Answer, version: X402Version) -> SettlementReceipt {
    let header = answer.header(version.receipt_header()).expect("a receipt");
    SettlementReceipt::from_header(version, header.as_bytes()).expect("it can be read")
}

pub(crate) fn payment_of(gateway: &Gateway, answer: &Answer) -> Value {
    let id = answer.header("x-bardo-payment").expect("an id");
    gateway
        .send(&Request::get(&format!("/v1/payments/{id}")))
        .json()
}

#[track_caller]
pub(crate) fn refused(answer: &Answer, status: u16, code: &str) {
    let told = answer.text();
    assert_eq!(answer.status(), status, "{told}");
    assert_eq!(answer.json()["error"]["bardo_code"], code, "{told}");
}

/// The offer in the header of a 402.
pub(crate) fn offer(answer: &Answer) -> Value {
    let header = answer.header("payment-required").expect("an offer");
    let json = decode_header(header.as_bytes()).expect("base64");
    serde_json::from_slice(&json).expect("JSON")
}

/// USD with six digits, in millionths.
pub(crate) fn micro(usd: &Value) -> u64 {
    let usd = usd.as_str().expect("an amount");
    usd.replace('.', "").parse().expect("digits")
}
