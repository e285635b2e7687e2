//! The choice of an offer, and receipts.

use bardo_x402::evm::Address;
use bardo_x402::payer::{ChosenOffer, OfferRefusal, PayerLimits, PaymentOffers, Permit2Approval};
use bardo_x402::token::{PaymentToken, TokenAmount};
use bardo_x402::wire::{
    MalformedMessage, OfferedRequirement, PaymentScheme, TransferMethod, X402Version, encode_header,
};
use serde_json::{Value, json};

use crate::fixed::{self, NOW_S};

fn choose(accepts: &[Value], limits: &PayerLimits) -> Result<ChosenOffer, OfferRefusal> {
    let json = json!({"x402Version": 2, "accepts": accepts, "resource": {"url": "x"}});
    let header = encode_header(&json.to_string());
    PaymentOffers::read(Some(header.as_bytes()), b"")?.choose(limits)
}

fn offered(method: TransferMethod) -> Value {
    let offer = fixed::offer(Vec::new());
    fixed::requirement(method).json(X402Version::V2, &offer.resource)
}

fn both() -> [Value; 2] {
    [offered(TransferMethod::Exact), offered(fixed::upto())]
}

#[test]
fn the_payers_order_of_schemes_wins_over_the_sellers() {
    let method = |limits: &PayerLimits| choose(&both(), limits).unwrap().method();
    assert_eq!(method(&fixed::limits()), fixed::upto());
    let exact_alone = PayerLimits {
        schemes: vec![PaymentScheme::Exact],
        ..fixed::limits()
    };
    assert_eq!(method(&exact_alone), TransferMethod::Exact);
}

#[test]
fn an_offer_above_the_limit_is_refused_with_the_lowest_amount() {
    let limits = |most| PayerLimits {
        most: TokenAmount::new(most),
        ..fixed::limits()
    };
    assert!(choose(&both(), &limits(500_000)).is_ok());
    let [mut dear, upto] = both();
    dear["amount"] = json!("18446744073709551615");
    let refused = choose(&[dear.clone(), upto], &limits(499_999)).unwrap_err();
    let expected = OfferRefusal::TooDear {
        amount: TokenAmount::new(500_000),
        most: TokenAmount::new(499_999),
    };
    assert_eq!(refused, expected);
    dear["amount"] = json!("18446744073709551616");
    let refused = choose(&[dear], &limits(u64::MAX)).unwrap_err();
    assert_eq!(refused, OfferRefusal::Unacceptable);
}

#[test]
fn an_offer_in_an_unknown_form_is_passed_over() {
    let good = offered(TransferMethod::Exact);
    for (pointer, value) in [
        ("/scheme", json!("batch-settlement")),
        ("/network", json!("eip155:1")),
        ("/network", json!("base")),
        ("/asset", json!(Address::repeat_byte(9).to_string())),
        ("/payTo", json!(Address::ZERO.to_string())),
        ("/payTo", json!("0x3C44")),
        ("/amount", json!(500_000)),
        ("/amount", json!("-1")),
        ("/maxTimeoutSeconds", json!("300")),
        ("/extra/assetTransferMethod", json!("erc7710")),
    ] {
        let mut other = good.clone();
        match other.pointer_mut(pointer) {
            Some(member) => *member = value,
            None => other["extra"]["assetTransferMethod"] = value,
        }
        let alone = choose(std::slice::from_ref(&other), &fixed::limits());
        assert_eq!(alone.err(), Some(OfferRefusal::Unacceptable), "{pointer}");
        assert!(choose(&[other, good.clone()], &fixed::limits()).is_ok());
    }
    let mut nobody_settles = offered(fixed::upto());
    nobody_settles["extra"]["facilitatorAddress"] = Value::Null;
    let refused = choose(&[nobody_settles], &fixed::limits()).err();
    assert_eq!(refused, Some(OfferRefusal::Unacceptable));
}

#[test]
fn a_sellers_word_on_the_signing_domain_is_not_taken() {
    let mut other = offered(TransferMethod::Exact);
    other["extra"]["name"] = json!("USDC");
    let token = PaymentToken::usdc_on_base().address();
    let refused = choose(&[other.clone()], &fixed::limits()).err();
    assert_eq!(refused, Some(OfferRefusal::Domain { token }));
    // Without a word the payer's own table counts.
    other["extra"] = Value::Null;
    assert!(choose(&[other], &fixed::limits()).is_ok());
}

#[test]
fn an_offer_says_what_is_sold_in_both_versions() {
    let offer = fixed::offer(vec![fixed::requirement(TransferMethod::Exact)]);
    let (header, body) = (offer.header(), offer.body().to_string());
    for header in [Some(header.as_bytes()), None] {
        let offers = PaymentOffers::read(header, body.as_bytes()).unwrap();
        let chosen = offers.choose(&fixed::limits()).unwrap();
        assert_eq!(chosen.resource_url(), Some(offer.resource.url.as_str()));
    }
    let silent = json!({"x402Version": 2, "accepts": [offered(TransferMethod::Exact)]});
    let header = encode_header(&silent.to_string());
    let offers = PaymentOffers::read(Some(header.as_bytes()), b"").unwrap();
    assert_eq!(
        offers.choose(&fixed::limits()).unwrap().resource_url(),
        None
    );
}

#[test]
fn a_payment_is_never_good_for_longer_than_the_payer_likes() {
    let mut long = offered(TransferMethod::Exact);
    long["maxTimeoutSeconds"] = json!(u64::MAX);
    let chosen = choose(&[long], &fixed::limits()).unwrap();
    let signed = chosen.sign(
        &fixed::payer(),
        fixed::nonce(),
        Permit2Approval::Standing,
        NOW_S,
    );
    assert_eq!(signed.ends_s, NOW_S + fixed::limits().most_timeout_s - 1);
}

#[test]
fn a_signed_payment_has_the_claim_that_the_seller_finds() {
    for method in [
        TransferMethod::Exact,
        TransferMethod::ExactPermit2,
        fixed::upto(),
    ] {
        let chosen = choose(&[offered(method)], &fixed::limits()).unwrap();
        let signed = chosen.sign(
            &fixed::payer(),
            fixed::nonce(),
            Permit2Approval::Standing,
            NOW_S,
        );
        assert_eq!(signed.name, "payment-signature");
        let payment = fixed::payment(X402Version::V2, method, Permit2Approval::Standing);
        let requirement: OfferedRequirement = fixed::requirement(method);
        let checked = fixed::check(&payment, &requirement).unwrap();
        assert_eq!(signed.claim, checked.claim());
        let verified = checked.verify(&fixed::KEY, &fixed::approved()).unwrap();
        assert_eq!(signed.ends_s, verified.ends_s());
        assert_eq!(signed.amount, verified.ceiling());
    }
}

#[test]
fn a_header_that_cannot_be_read_is_not_made_up_for_by_a_body() {
    let offer = fixed::offer(vec![fixed::requirement(TransferMethod::Exact)]);
    let body = offer.body().to_string();
    let read = |header: Option<&[u8]>, body: &str| PaymentOffers::read(header, body.as_bytes());
    assert_eq!(read(None, &body).unwrap().version(), X402Version::V1);
    let header = offer.header();
    let both = read(Some(header.as_bytes()), &body).unwrap();
    assert_eq!(both.version(), X402Version::V2);
    assert_eq!(
        read(Some(b"%"), &body).err(),
        Some(MalformedMessage::Base64)
    );
    let wrong_version = encode_header(&body);
    let refused = read(Some(wrong_version.as_bytes()), &body).err();
    assert_eq!(refused, Some(MalformedMessage::Version));
    assert!(read(None, "{}").is_err());
    assert!(read(None, r#"{"error":"no credit"}"#).is_err());
}
