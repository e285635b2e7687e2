//! Quotes: bound to a request, to a price and to a time.

use bardo_x402::evm::*;
use bardo_x402::quote::*;
use bardo_x402::token::*;
use bardo_x402::wire::*;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

const NOW: u64 = 1_800_000_000;

fn key() -> QuoteKey {
    QuoteKey::derive(b"a secret of the operator")
}

fn request() -> RequestDigest {
    RequestDigest::of("POST", "/v1/messages", b"{}")
}

fn quote(method: TransferMethod) -> Quote {
    Quote {
        request: request(),
        method,
        chain_id: 8453,
        token: PaymentToken::usdc_on_base().address(),
        pay_to: Address::repeat_byte(3),
        amount: TokenAmount::new(500_000),
        price_version: 7,
        expires_s: NOW,
    }
}

fn upto() -> Quote {
    quote(TransferMethod::Upto {
        facilitator: Address::repeat_byte(4),
    })
}

#[test]
fn a_quote_comes_back_until_its_last_second() {
    for quote in [
        upto(),
        quote(TransferMethod::Exact),
        quote(TransferMethod::ExactPermit2),
    ] {
        let text = key().issue(&quote);
        assert_eq!(key().read(&text, request(), NOW), Ok(quote));
        let late = QuoteRefusal::Expired { expires_s: NOW };
        assert_eq!(key().read(&text, request(), NOW + 1), Err(late));
    }
}

#[test]
fn a_quote_is_for_one_method_path_and_body() {
    let text = key().issue(&upto());
    for other in [
        RequestDigest::of("GET", "/v1/messages", b"{}"),
        RequestDigest::of("POST", "/v1/messages?a", b"{}"),
        RequestDigest::of("POST", "/v1/messages", b"{ }"),
        RequestDigest::of("POST", "/v1/message", b"s{}"),
    ] {
        let refused = key().read(&text, other, NOW);
        assert_eq!(refused, Err(QuoteRefusal::OtherRequest));
    }
}

#[test]
fn no_byte_of_a_quote_can_be_changed() {
    let text = key().issue(&upto());
    let bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let changed = URL_SAFE_NO_PAD.encode(changed);
        let refused = key().read(&changed, request(), NOW);
        assert_eq!(refused, Err(QuoteRefusal::Forged), "byte {at}");
    }
    let other = QuoteKey::derive(b"another secret").issue(&upto());
    assert_eq!(
        key().read(&other, request(), NOW),
        Err(QuoteRefusal::Forged)
    );
}

#[test]
fn other_text_is_no_quote() {
    let text = key().issue(&upto());
    for text in [
        "",
        "x",
        &text[1..],
        &format!("{text}A"),
        &format!("{text}="),
        &"*".repeat(text.len()),
    ] {
        let refused = key().read(text, request(), NOW);
        assert_eq!(refused, Err(QuoteRefusal::Malformed), "{text}");
    }
}

#[test]
fn a_quote_is_offered_in_its_own_token_alone() {
    let base = upto().requirement(&PaymentToken::usdc_on_base(), 300, Some("q".into()));
    let base = base.unwrap();
    assert_eq!(base.amount, TokenAmount::new(500_000));
    assert_eq!(base.quote.as_deref(), Some("q"));
    let test_network = PaymentToken::usdc_on_base_sepolia();
    assert_eq!(upto().requirement(&test_network, 300, None), None);
}

/// A payment of version 1 of this many units to this account.
fn v1_payment(pay_to: Address, units: u64) -> PaymentPayload {
    let nobody = Address::repeat_byte(9);
    let nonce = B256::ZERO;
    let json = serde_json::json!({
        "x402Version": 1, "scheme": "exact", "network": "base",
        "payload": {"signature": "0x", "authorization": {
            "from": nobody.to_string(), "to": pay_to.to_string(), "value": units.to_string(),
            "validAfter": "0", "validBefore": "1", "nonce": nonce.to_string(),
        }},
    });
    PaymentPayload::from_json(json.to_string().as_bytes()).unwrap()
}

#[test]
fn a_payment_of_version_one_finds_the_quote_that_it_pays() {
    let today = quote(TransferMethod::Exact);
    let before = Quote {
        amount: TokenAmount::new(400_000),
        price_version: 6,
        ..today.clone()
    };
    let derived = [today.clone(), before.clone()];
    let found = |pay_to, units, now_s| {
        let payment = v1_payment(pay_to, units);
        Quote::matching(&payment, &derived, now_s).cloned()
    };
    assert_eq!(found(today.pay_to, 500_000, NOW), Some(today.clone()));
    assert_eq!(found(today.pay_to, 400_000, NOW), Some(before));
    assert_eq!(found(today.pay_to, 400_001, NOW), None);
    assert_eq!(found(Address::repeat_byte(8), 500_000, NOW), None);
    assert_eq!(found(today.pay_to, 500_000, NOW + 1), None);
    let payment = v1_payment(today.pay_to, 500_000);
    assert_eq!(Quote::matching(&payment, &[upto()], NOW), None);
}

#[test]
fn ceilings_are_from_a_tenth_of_a_cent_to_below_a_dollar() {
    let ceiling = |units| CeilingBounds::default().ceiling(TokenAmount::new(units));
    assert_eq!(ceiling(0), Ok(TokenAmount::new(1_000)));
    assert_eq!(ceiling(1_001), Ok(TokenAmount::new(1_001)));
    assert_eq!(ceiling(999_999), Ok(TokenAmount::new(999_999)));
    let above = AboveCeiling {
        worst_case: TokenAmount::new(1_000_000),
        below: TokenAmount::new(1_000_000),
    };
    assert_eq!(ceiling(1_000_000), Err(above));
}
