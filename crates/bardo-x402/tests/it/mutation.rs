//! One changed member of a payment is refused, unless it is one of those that mean nothing here.

use bardo_x402::evm::{Revert, Signer, SigningAccount, U256};
use bardo_x402::identity::AgentProof;
use bardo_x402::payer::{PayerLimits, PaymentOffers, Permit2Approval};
use bardo_x402::quote::{QuoteKey, RequestDigest};
use bardo_x402::token::TokenAmount;
use bardo_x402::verify::CheckedPayment;
use bardo_x402::wire::{
    OfferedRequirement, PaymentPayload, SettlementReceipt, TransferMethod, VerifyAnswer,
    X402Version, encode_header, supported_kinds,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixed;

/// Members that a payer may change at will: what is sold, and what offers say for people to read.
const IRRELEVANT: &[&str] = &[
    "/resource",
    "/accepted/extra/expiry",
    "/extensions/eip2612GasSponsoring/schema",
    "/extensions/eip2612GasSponsoring/info/description",
    "/extensions/eip2612GasSponsoring/info/version",
];

/// Paths of all values below this one, without the value itself.
fn pointers(value: &Value, path: &str, found: &mut Vec<String>) {
    let Value::Object(members) = value else {
        return;
    };
    for (name, member) in members {
        let path = format!("{path}/{name}");
        pointers(member, &path, found);
        found.push(path);
    }
}

/// Extensions are for Permit2, so they mean nothing to a transfer by ERC-3009.
const EXTENSIONS: &str = "/extensions";

fn is_irrelevant(pointer: &str, method: TransferMethod) -> bool {
    let extensions = (method == TransferMethod::Exact).then_some(&EXTENSIONS);
    IRRELEVANT.iter().chain(extensions).any(|known| {
        let below = pointer.strip_prefix(known);
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

fn schemes() -> [(Value, OfferedRequirement); 2] {
    [
        (fixed::exact(), fixed::requirement(TransferMethod::Exact)),
        (fixed::upto_with_permit(), fixed::requirement(fixed::upto())),
    ]
}

fn is_taken(payment: &Value, requirement: &OfferedRequirement) -> bool {
    let read = PaymentPayload::from_json(payment.to_string().as_bytes()).is_ok();
    read && fixed::verify(payment, requirement).is_ok()
}

/// Values of another kind, or near to the one before.
fn changes(before: &Value) -> Vec<Value> {
    let mut changes = vec![
        Value::Null,
        json!(0),
        json!(""),
        json!({}),
        json!([]),
        json!(true),
    ];
    if let Value::String(text) = before {
        // Each character once; hex digits stay digits, so that lengths and forms are kept.
        changes.extend((0..text.len()).map(|at| {
            let other = if text[at..].starts_with('3') {
                "4"
            } else {
                "3"
            };
            json!(format!("{}{other}{}", &text[..at], &text[at + 1..]))
        }));
        changes.push(json!(format!("{text}0")));
        changes.push(json!(&text[..text.len() - 1]));
    }
    if let Some(number) = before.as_u64() {
        changes.extend([
            json!(number + 1),
            json!(number - 1),
            json!(number.to_string()),
        ]);
    }
    changes.retain(|change| change != before);
    changes
}

#[test]
fn every_member_is_relevant_or_named() {
    for (payment, requirement) in schemes() {
        assert!(is_taken(&payment, &requirement));
        let mut found = Vec::new();
        pointers(&payment, "", &mut found);
        assert!(found.len() > 20);
        for pointer in found {
            for change in changes(payment.pointer(&pointer).unwrap()) {
                let mut changed = payment.clone();
                *changed.pointer_mut(&pointer).unwrap() = change.clone();
                let taken = is_taken(&changed, &requirement);
                assert!(
                    !taken || is_irrelevant(&pointer, requirement.method),
                    "{pointer}: {change}"
                );
            }
        }
    }
}

#[test]
fn a_member_more_is_passed_over() {
    for (payment, requirement) in schemes() {
        for pointer in [
            "",
            "/payload",
            "/accepted",
            "/accepted/extra",
            "/extensions",
        ] {
            let mut more = payment.clone();
            more.pointer_mut(pointer).unwrap()["unheardOf"] = json!({"a": [1, null]});
            assert!(is_taken(&more, &requirement), "{pointer}");
        }
    }
}

#[test]
fn addresses_are_taken_in_any_case() {
    for (mut payment, requirement) in schemes() {
        let lower = |text: &Value| json!(text.as_str().unwrap().to_lowercase());
        for member in ["asset", "payTo"] {
            payment["accepted"][member] = lower(&payment["accepted"][member]);
        }
        assert!(is_taken(&payment, &requirement));
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = PaymentPayload::from_json(&bytes);
    }

    #[test]
    fn headers_of_any_bytes_are_read_without_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        json in "[\\[\\]{}:,\"a-z0-9 ]{0,200}",
    ) {
        for content in [&bytes[..], json.as_bytes()] {
            let text = String::from_utf8_lossy(content);
            let encoded = encode_header(&text);
            for header in [content, encoded.as_bytes()] {
                for version in [X402Version::V1, X402Version::V2] {
                    let _ = PaymentPayload::from_header(version, header);
                    let _ = SettlementReceipt::from_header(version, header);
                }
                let _ = PaymentOffers::read(Some(header), content);
                let _ = PaymentOffers::read(None, content);
                let _ = AgentProof::from_header(header);
            }
            let request = RequestDigest::of("POST", "/", content);
            let read = QuoteKey::derive(b"secret").read(&text, request, fixed::NOW_S);
            prop_assert!(read.is_err());
            let _ = VerifyAnswer::from_json(content);
            let _ = supported_kinds(content);
            let _ = Revert::decode(content);
        }
    }

    #[test]
    fn a_revert_with_any_lengths_is_decoded_without_a_panic(
        offset in any::<u64>(),
        length in any::<u64>(),
        text in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let word = |number: u64| U256::from(number).to_be_bytes::<32>();
        let selector = [0x08, 0xc3, 0x79, 0xa0];
        let near = [&selector[..], &word(32), &word(length), &text].concat();
        let far = [&selector[..], &word(offset), &word(length), &text].concat();
        let _ = (Revert::decode(&near), Revert::decode(&far));
    }

    #[test]
    fn what_a_payer_signs_is_verified_and_settles_up_to_its_amount(
        key in 1_u8..=254,
        nonce in any::<[u8; 32]>(),
        units in 1_u64..1_000_000,
        settled in 0_u64..1_100_000,
        timeout_s in 120_u64..3_600,
        kind in 0_usize..3,
        permit in any::<bool>(),
    ) {
        let method = [TransferMethod::Exact, TransferMethod::ExactPermit2, fixed::upto()][kind];
        let requirement = OfferedRequirement {
            amount: TokenAmount::new(units),
            max_timeout_s: timeout_s,
            ..fixed::requirement(method)
        };
        let header = fixed::offer(vec![requirement.clone()]).header();
        let limits = PayerLimits { most: requirement.amount, ..fixed::limits() };
        let offers = PaymentOffers::read(Some(header.as_bytes()), b"").unwrap();
        let approval = if permit {
            Permit2Approval::Permit { nonce: U256::from(fixed::PERMIT_NONCE) }
        } else {
            Permit2Approval::Standing
        };
        let signer = Signer::from_bytes([key; 32]).unwrap();
        let chosen = offers.choose(&limits).unwrap();
        let signed = chosen.sign(&signer, nonce.into(), approval, fixed::NOW_S);
        let payment = PaymentPayload::from_header(X402Version::V2, signed.value.as_bytes()).unwrap();
        let checked =
            CheckedPayment::check(payment, &requirement, fixed::window(), fixed::NOW_S).unwrap();
        let state = if permit { fixed::rich() } else { fixed::approved() };
        let verified = checked.verify(&SigningAccount::Key, &state).unwrap();
        prop_assert_eq!(verified.claim(), signed.claim);
        prop_assert_eq!(verified.ends_s(), signed.ends_s);
        let call = verified.settlement(TokenAmount::new(settled));
        let fits = match method {
            TransferMethod::Upto { .. } => (1..=units).contains(&settled),
            TransferMethod::Exact | TransferMethod::ExactPermit2 => settled == units,
        };
        prop_assert_eq!(call.is_some(), fits);
    }

    #[test]
    fn a_payment_with_bytes_changed_is_refused_or_as_good_as_before(
        scheme in 0_usize..2,
        at in any::<prop::sample::Index>(),
        length in 0_usize..4,
        with in "[ -~]{0,4}",
    ) {
        let (payment, requirement) = &schemes()[scheme];
        let text = payment.to_string();
        let at = at.index(text.len());
        let end = (at + length).min(text.len());
        let changed = format!("{}{with}{}", &text[..at], &text[end..]);
        if let Ok(changed) = serde_json::from_str::<Value>(&changed)
            && is_taken(&changed, requirement)
        {
            let claim = |payment| fixed::check(payment, requirement).unwrap().claim();
            prop_assert_eq!(claim(&changed), claim(payment));
        }
    }
}
