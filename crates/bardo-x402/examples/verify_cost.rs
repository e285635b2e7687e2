//! Prints the CPU time of one verification: of `exact`, and of `upto` with a permit.
//!
//! `cargo run --release -p bardo-x402 --example verify_cost`; each figure is the best of several
//! rounds, from the bytes of the header to the proven payment.

#![expect(clippy::print_stdout, reason = "its purpose is to print")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use bardo_x402::evm::{Address, B256, Signer, SigningAccount, U256};
use bardo_x402::payer::{PayerLimits, PaymentOffers, Permit2Approval};
use bardo_x402::quote::{Quote, QuoteKey, RequestDigest};
use bardo_x402::token::{PaymentToken, TokenAmount};
use bardo_x402::verify::{CheckedPayment, PayerState, PaymentWindow};
use bardo_x402::wire::{
    PaymentPayload, PaymentRequired, PaymentResource, PaymentScheme, TransferMethod, X402Version,
};

const NOW_S: u64 = 1_800_000_000;
const ROUNDS: u32 = 20;
const CALLS_PER_ROUND: u32 = 500;
const BODY: &[u8] = &[b'x'; 4096];

fn main() {
    let facilitator = Address::repeat_byte(7);
    measure("exact", TransferMethod::Exact);
    measure("upto with a permit", TransferMethod::Upto { facilitator });
}

fn measure(name: &str, method: TransferMethod) {
    let key = QuoteKey::derive(b"a secret of the operator");
    let header = pay(&key, method);
    let best = (0..ROUNDS).map(|_| round(&key, &header)).min();
    let micros = best.unwrap_or_default().as_secs_f64() * 1e6;
    println!("{name}: {micros:.1} µs");
}

fn round(key: &QuoteKey, header: &str) -> Duration {
    let begin = Instant::now();
    for _ in 0..CALLS_PER_ROUND {
        black_box(verify(key, black_box(header)));
    }
    begin.elapsed() / CALLS_PER_ROUND
}

fn verify(key: &QuoteKey, header: &str) -> bool {
    let payment = PaymentPayload::from_header(X402Version::V2, header.as_bytes())
        .expect("the payer made the header");
    let text = payment.accepted.as_ref().and_then(|one| one.quote.clone());
    let text = text.expect("the offer had a quote");
    let quote = key
        .read(&text, request(), NOW_S)
        .expect("the quote is ours");
    let requirement = quote
        .requirement(&PaymentToken::usdc_on_base(), 300, Some(text))
        .expect("the quote is in USDC");
    let window = PaymentWindow {
        least_s: 60,
        most_s: 3_600,
    };
    let state = PayerState {
        nonce_used: false,
        balance: U256::MAX,
        permit2_allowance: U256::ZERO,
        permit_nonce: U256::ZERO,
    };
    CheckedPayment::check(payment, &requirement, window, NOW_S)
        .and_then(|checked| checked.verify(&SigningAccount::Key, &state))
        .is_ok_and(|verified| verified.settlement(TokenAmount::new(500_000)).is_some())
}

fn request() -> RequestDigest {
    RequestDigest::of("POST", "/v1/chat/completions", BODY)
}

/// A payment for an offer of this method.
fn pay(key: &QuoteKey, method: TransferMethod) -> String {
    let token = PaymentToken::usdc_on_base();
    let quote = Quote {
        request: request(),
        method,
        chain_id: token.network().chain_id(),
        token: token.address(),
        pay_to: Address::repeat_byte(3),
        amount: TokenAmount::new(500_000),
        price_version: 1,
        expires_s: NOW_S + 60,
    };
    let requirement = quote.requirement(&token, 300, Some(key.issue(&quote)));
    let offer = PaymentRequired {
        error: "Payment required".into(),
        resource: PaymentResource {
            url: "https://gateway.example/v1/chat/completions".into(),
            description: "a chat".into(),
            mime_type: "application/json".into(),
        },
        accepts: requirement.into_iter().collect(),
        sponsors_gas: true,
    };
    let limits = PayerLimits {
        tokens: vec![token],
        schemes: vec![PaymentScheme::Upto, PaymentScheme::Exact],
        most: TokenAmount::new(1_000_000),
        most_timeout_s: 3_600,
    };
    let signer = Signer::from_bytes([9; 32]).expect("it is a key");
    let approval = Permit2Approval::Permit { nonce: U256::ZERO };
    PaymentOffers::read(Some(offer.header().as_bytes()), b"")
        .expect("we made the offer")
        .choose(&limits)
        .expect("the offer is within the limits")
        .sign(&signer, B256::repeat_byte(5), approval, NOW_S)
        .value
}
