//! The seller, the payer and the time of all tests.

use bardo_x402::evm::{Address, B256, Signer, SigningAccount, U256};
use bardo_x402::payer::{PayerLimits, PaymentOffers, Permit2Approval};
use bardo_x402::refusal::PaymentRefusal;
use bardo_x402::token::{PaymentToken, TokenAmount};
use bardo_x402::verify::{CheckedPayment, PayerState, PaymentWindow, VerifiedPayment};
use bardo_x402::wire::{
    OfferedRequirement, PaymentPayload, PaymentRequired, PaymentResource, PaymentScheme,
    TransferMethod, X402Version, decode_header,
};
use serde_json::Value;

/// Unix time of the tests.
pub(crate) const NOW_S: u64 = 1_800_000_000;
/// Seconds that the seller wants payments to be good for.
pub(crate) const TIMEOUT_S: u64 = 300;
/// The next nonce of the payer's permits.
pub(crate) const PERMIT_NONCE: u64 = 7;
/// The quote that offers carry; what is in it is the business of other tests.
pub(crate) const QUOTE: &str = "a-quote";

pub(crate) const KEY: SigningAccount = SigningAccount::Key;

/// The second of the test keys that local chains come with.
pub(crate) fn payer() -> Signer {
    Signer::from_hex("0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d").unwrap()
}

pub(crate) fn payee() -> Address {
    "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
        .parse()
        .unwrap()
}

pub(crate) fn facilitator() -> Address {
    "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
        .parse()
        .unwrap()
}

pub(crate) fn upto() -> TransferMethod {
    let facilitator = facilitator();
    TransferMethod::Upto { facilitator }
}

pub(crate) fn nonce() -> B256 {
    B256::repeat_byte(0x11)
}

pub(crate) fn window() -> PaymentWindow {
    PaymentWindow {
        least_s: 120,
        most_s: 3_600,
    }
}

/// A payer with enough money, who approved nothing.
pub(crate) fn rich() -> PayerState {
    PayerState {
        nonce_used: false,
        balance: U256::from(1_000_000_000),
        permit2_allowance: U256::ZERO,
        permit_nonce: U256::from(PERMIT_NONCE),
    }
}

/// A payer with enough money, who approved Permit2.
pub(crate) fn approved() -> PayerState {
    PayerState {
        permit2_allowance: U256::MAX,
        ..rich()
    }
}

pub(crate) fn limits() -> PayerLimits {
    PayerLimits {
        tokens: vec![
            PaymentToken::usdc_on_base(),
            PaymentToken::usdc_on_base_sepolia(),
        ],
        schemes: vec![PaymentScheme::Upto, PaymentScheme::Exact],
        most: TokenAmount::new(999_999),
        most_timeout_s: 3_600,
    }
}

pub(crate) fn requirement(method: TransferMethod) -> OfferedRequirement {
    OfferedRequirement {
        method,
        token: PaymentToken::usdc_on_base(),
        amount: TokenAmount::new(500_000),
        pay_to: payee(),
        max_timeout_s: TIMEOUT_S,
        quote: Some(QUOTE.into()),
        details: serde_json::Map::from_iter([("expiry".to_owned(), (NOW_S + 60).into())]),
    }
}

pub(crate) fn offer(accepts: Vec<OfferedRequirement>) -> PaymentRequired {
    PaymentRequired {
        error: "Payment required".into(),
        resource: PaymentResource {
            url: "https://gateway.example/v1/chat/completions".into(),
            description: "a chat".into(),
            mime_type: "application/json".into(),
        },
        accepts,
        sponsors_gas: true,
    }
}

/// What the payer signs for the seller's offer of this method, as JSON.
pub(crate) fn payment(
    version: X402Version,
    method: TransferMethod,
    approval: Permit2Approval,
) -> Value {
    let offer = offer(vec![requirement_of(version, method)]);
    let header = offer.header();
    let header = (version == X402Version::V2).then_some(header.as_bytes());
    let offers = PaymentOffers::read(header, offer.body().to_string().as_bytes()).unwrap();
    let chosen = offers.choose(&limits()).unwrap();
    let signed = chosen.sign(&payer(), nonce(), approval, NOW_S);
    serde_json::from_slice(&decode_header(signed.value.as_bytes()).unwrap()).unwrap()
}

/// The requirement of a version: the first one repeats no quote.
pub(crate) fn requirement_of(version: X402Version, method: TransferMethod) -> OfferedRequirement {
    let mut requirement = requirement(method);
    if version == X402Version::V1 {
        requirement.quote = None;
    }
    requirement
}

pub(crate) fn exact() -> Value {
    payment(
        X402Version::V2,
        TransferMethod::Exact,
        Permit2Approval::Standing,
    )
}

pub(crate) fn upto_with_permit() -> Value {
    let nonce = U256::from(PERMIT_NONCE);
    payment(X402Version::V2, upto(), Permit2Approval::Permit { nonce })
}

/// Checks the fields of a payment against the requirement.
pub(crate) fn check(
    payment: &Value,
    requirement: &OfferedRequirement,
) -> Result<CheckedPayment, PaymentRefusal> {
    let payment = PaymentPayload::from_json(payment.to_string().as_bytes()).unwrap();
    CheckedPayment::check(payment, requirement, window(), NOW_S)
}

/// Checks and proves a payment of a key that approved nothing.
pub(crate) fn verify(
    payment: &Value,
    requirement: &OfferedRequirement,
) -> Result<VerifiedPayment, PaymentRefusal> {
    check(payment, requirement)?.verify(&KEY, &rich())
}

pub(crate) fn ceiling() -> TokenAmount {
    requirement(TransferMethod::Exact).amount
}
