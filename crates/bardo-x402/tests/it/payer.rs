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
}

#[test]
fn a_ceiling_that_nobody_or_a_fixed_transfer_would_settle_is_passed_over() {
    for (member, value) in [
        ("facilitatorAddress", Value::Null),
        ("facilitatorAddress", json!(Address::ZERO.to_string())),
        ("facilitatorAddress", json!("0x12")),
        ("assetTransferMethod", json!("eip3009")),
        ("assetTransferMethod", json!("erc7710")),
    ] {
        let mut hostile = offered(fixed::upto());
        hostile["extra"][member] = value.clone();
        let alone = choose(std::slice::from_ref(&hostile), &fixed::limits()).err();
        assert_eq!(alone, Some(OfferRefusal::Unacceptable), "{member} {value}");
        let beside = [hostile, offered(TransferMethod::Exact)];
        let chosen = choose(&beside, &fixed::limits()).unwrap();
        assert_eq!(chosen.method(), TransferMethod::Exact);
    }
}

#[test]
fn a_sellers_word_on_the_spender_or_the_permit_is_not_taken() {
    let stranger = Address::repeat_byte(9).to_string();
    let mut hostile = offered(fixed::upto());
    for member in ["spender", "permit2", "proxy", "x402Permit2Proxy"] {
        hostile["extra"][member] = json!(stranger);
    }
    let offer = json!({"x402Version": 2, "accepts": [hostile], "resource": {"url": "x"},
        "extensions": {"eip2612GasSponsoring": {"info": {"spender": stranger, "asset": stranger,
            "from": stranger, "amount": "999999999", "deadline": "9", "nonce": "5"}}}});
    let header = encode_header(&offer.to_string());
    let offers = PaymentOffers::read(Some(header.as_bytes()), b"").unwrap();
    let chosen = offers.choose(&fixed::limits()).unwrap();
    let approval = Permit2Approval::Permit {
        nonce: bardo_x402::evm::U256::from(3),
    };
    let signed = chosen.sign(&fixed::payer(), fixed::nonce(), approval, NOW_S);
    let json = bardo_x402::wire::decode_header(signed.value.as_bytes()).unwrap();
    let paid: Value = serde_json::from_slice(&json).unwrap();
    let authorization = &paid["payload"]["permit2Authorization"];
    let lower = |value: &Value| value.as_str().unwrap().to_lowercase();
    let upto = bardo_x402::authorization::UPTO_PROXY.to_string();
    assert_eq!(lower(&authorization["spender"]), upto.to_lowercase());
    let permit = &paid["extensions"]["eip2612GasSponsoring"]["info"];
    let permit2 = bardo_x402::authorization::PERMIT2.to_string();
    assert_eq!(lower(&permit["spender"]), permit2.to_lowercase());
    let usdc = PaymentToken::usdc_on_base().address().to_string();
    assert_eq!(lower(&permit["asset"]), usdc.to_lowercase());
    let payer = fixed::payer().address().to_string();
    assert_eq!(lower(&permit["from"]), payer.to_lowercase());
    assert_eq!(permit["amount"], authorization["permitted"]["amount"]);
    assert_eq!(permit["deadline"], authorization["deadline"]);
    assert_eq!(permit["nonce"], "3");
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
