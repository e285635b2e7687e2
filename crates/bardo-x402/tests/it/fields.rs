//! Every field of a payment, wrong one at a time.

use bardo_x402::payer::Permit2Approval;
use bardo_x402::wire::{OfferedRequirement, TransferMethod, X402Version};
use serde_json::{Value, json};

use crate::fixed::{self, NOW_S};

const STRANGER: &str = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";
const ZERO: &str = "0x0000000000000000000000000000000000000000";
const EXACT_PROXY: &str = "0x402085c248EeA27D92E8b30b2C58ed07f9E20001";

/// Asserts the code of the refusal of a payment in which one member has another value.
#[track_caller]
fn check(
    payment: &Value,
    requirement: &OfferedRequirement,
    pointer: &str,
    value: Value,
    code: &str,
) {
    let mut changed = payment.clone();
    let member = changed.pointer_mut(pointer);
    *member.unwrap_or_else(|| panic!("the payment has no {pointer}")) = value;
    assert_ne!(changed, *payment, "{pointer} is as before");
    let refusal = fixed::verify(&changed, requirement).expect_err(pointer);
    assert_eq!(
        refusal.code(requirement.method),
        code,
        "{pointer}: {refusal}"
    );
    assert!(!refusal.to_string().is_empty());
}

#[test]
fn a_payment_as_signed_is_taken() {
    for (payment, method) in [
        (fixed::exact(), TransferMethod::Exact),
        (fixed::upto_with_permit(), fixed::upto()),
    ] {
        let verified = fixed::verify(&payment, &fixed::requirement(method)).unwrap();
        assert_eq!(verified.payer(), fixed::payer().address());
        assert_eq!(verified.method(), method);
    }
}

#[test]
fn each_field_of_what_was_accepted_counts() {
    for (payment, method) in [
        (fixed::exact(), TransferMethod::Exact),
        (fixed::upto_with_permit(), fixed::upto()),
    ] {
        let requirement = fixed::requirement(method);
        let other = if method == TransferMethod::Exact {
            "upto"
        } else {
            "exact"
        };
        for (pointer, value, code) in [
            ("/accepted/scheme", json!(other), "unsupported_scheme"),
            (
                "/accepted/scheme",
                json!("batch-settlement"),
                "unsupported_scheme",
            ),
            (
                "/accepted/network",
                json!("eip155:84532"),
                "invalid_network",
            ),
            ("/accepted/network", json!("base"), "invalid_network"),
            (
                "/accepted/amount",
                json!("499999"),
                "invalid_payment_requirements",
            ),
            (
                "/accepted/amount",
                json!("500001"),
                "invalid_payment_requirements",
            ),
            (
                "/accepted/asset",
                json!(STRANGER),
                "invalid_payment_requirements",
            ),
            (
                "/accepted/payTo",
                json!(STRANGER),
                "invalid_payment_requirements",
            ),
            (
                "/accepted/maxTimeoutSeconds",
                json!(301),
                "invalid_payment_requirements",
            ),
            (
                "/accepted/extra",
                Value::Null,
                "invalid_payment_requirements",
            ),
            (
                "/accepted/extra/name",
                json!("USDC"),
                "invalid_payment_requirements",
            ),
            (
                "/accepted/extra/version",
                json!("1"),
                "invalid_payment_requirements",
            ),
            (
                "/accepted/extra/quote",
                json!("another"),
                "invalid_payment_requirements",
            ),
            (
                "/accepted/extra/quote",
                Value::Null,
                "invalid_payment_requirements",
            ),
        ] {
            check(&payment, &requirement, pointer, value, code);
        }
    }
    let (payment, requirement) = (fixed::upto_with_permit(), fixed::requirement(fixed::upto()));
    for (pointer, value) in [
        ("/accepted/extra/assetTransferMethod", json!("eip3009")),
        ("/accepted/extra/facilitatorAddress", json!(STRANGER)),
        ("/accepted/extra/facilitatorAddress", Value::Null),
    ] {
        check(
            &payment,
            &requirement,
            pointer,
            value,
            "invalid_payment_requirements",
        );
    }
}

#[test]
fn each_field_of_a_transfer_counts() {
    let bad = "invalid_exact_evm_payload_signature";
    let amount = "invalid_exact_evm_payload_authorization_value_mismatch";
    let payee = "invalid_exact_evm_payload_recipient_mismatch";
    let before = "invalid_exact_evm_payload_authorization_valid_before";
    let after = "invalid_exact_evm_payload_authorization_valid_after";
    let soon = (NOW_S + fixed::window().least_s - 1).to_string();
    let late = (NOW_S + fixed::window().most_s + 1).to_string();
    let v1 = fixed::payment(
        X402Version::V1,
        TransferMethod::Exact,
        Permit2Approval::Standing,
    );
    for (payment, version) in [(fixed::exact(), X402Version::V2), (v1, X402Version::V1)] {
        let requirement = fixed::requirement_of(version, TransferMethod::Exact);
        for (member, value, code) in [
            ("from", json!(STRANGER), bad),
            ("from", json!(ZERO), "invalid_payload"),
            ("from", json!(fixed::payee().to_string()), "invalid_payload"),
            ("to", json!(STRANGER), payee),
            ("to", json!(ZERO), payee),
            ("value", json!("499999"), amount),
            ("value", json!("500001"), amount),
            ("value", json!("0"), amount),
            ("validAfter", json!((NOW_S + 1).to_string()), after),
            ("validAfter", json!("1"), bad),
            ("validBefore", json!(NOW_S.to_string()), before),
            ("validBefore", json!(soon), before),
            ("validBefore", json!(late), "authorization_too_long"),
            ("validBefore", json!((NOW_S + 299).to_string()), bad),
            ("nonce", json!(format!("0x{}", "22".repeat(32))), bad),
        ] {
            let pointer = format!("/payload/authorization/{member}");
            check(&payment, &requirement, &pointer, value, code);
        }
    }
}

#[test]
fn each_field_of_a_permit2_transfer_counts() {
    let (payment, requirement) = (fixed::upto_with_permit(), fixed::requirement(fixed::upto()));
    let bad = "invalid_permit2_signature";
    let owner = "eip2612_from_mismatch";
    let soon = (NOW_S + fixed::window().least_s - 1).to_string();
    let late = (NOW_S + fixed::window().most_s + 1).to_string();
    for (member, value, code) in [
        ("from", json!(STRANGER), owner),
        ("from", json!(ZERO), "invalid_payload"),
        ("permitted/token", json!(STRANGER), "permit2_token_mismatch"),
        (
            "permitted/amount",
            json!("499999"),
            "permit2_amount_mismatch",
        ),
        (
            "permitted/amount",
            json!("500001"),
            "permit2_amount_mismatch",
        ),
        ("spender", json!(STRANGER), "invalid_permit2_spender"),
        ("spender", json!(EXACT_PROXY), "invalid_permit2_spender"),
        ("nonce", json!("0x22"), bad),
        ("nonce", json!("22"), bad),
        ("deadline", json!(soon), "permit2_deadline_expired"),
        ("deadline", json!(late), "authorization_too_long"),
        ("deadline", json!((NOW_S + 299).to_string()), bad),
        (
            "witness/to",
            json!(STRANGER),
            "invalid_permit2_recipient_mismatch",
        ),
        (
            "witness/facilitator",
            json!(STRANGER),
            "upto_facilitator_mismatch",
        ),
        (
            "witness/facilitator",
            Value::Null,
            "upto_facilitator_mismatch",
        ),
        (
            "witness/validAfter",
            json!((NOW_S + 1).to_string()),
            "permit2_not_yet_valid",
        ),
        ("witness/validAfter", json!("1"), bad),
    ] {
        let pointer = format!("/payload/permit2Authorization/{member}");
        check(&payment, &requirement, &pointer, value, code);
    }
}

#[test]
fn each_field_of_a_permit_counts() {
    let (payment, requirement) = (fixed::upto_with_permit(), fixed::requirement(fixed::upto()));
    let signed = &payment["payload"]["signature"];
    for (member, value, code) in [
        ("from", json!(STRANGER), "eip2612_from_mismatch"),
        ("asset", json!(STRANGER), "eip2612_asset_mismatch"),
        ("spender", json!(STRANGER), "eip2612_spender_not_permit2"),
        ("amount", json!("499999"), "permit2_2612_amount_mismatch"),
        ("amount", json!("500001"), "permit2_2612_amount_mismatch"),
        ("nonce", json!("6"), "invalid_eip2612_permit"),
        ("nonce", json!("8"), "invalid_eip2612_permit"),
        (
            "deadline",
            json!((NOW_S + 5).to_string()),
            "eip2612_deadline_expired",
        ),
        (
            "deadline",
            json!((NOW_S + 299).to_string()),
            "invalid_eip2612_permit",
        ),
        ("signature", signed.clone(), "invalid_eip2612_permit"),
        ("signature", json!("0x"), "invalid_eip2612_permit"),
        ("signature", Value::Null, "permit2_allowance_required"),
    ] {
        let pointer = format!("/extensions/eip2612GasSponsoring/info/{member}");
        check(&payment, &requirement, &pointer, value, code);
    }
}

#[test]
fn a_payload_of_another_kind_is_refused() {
    let mut payment = fixed::exact();
    payment["payload"] = fixed::upto_with_permit()["payload"].clone();
    let refusal = fixed::verify(&payment, &fixed::requirement(TransferMethod::Exact)).unwrap_err();
    assert_eq!(
        refusal.code(TransferMethod::Exact),
        "unsupported_payload_type"
    );

    let mut payment = fixed::upto_with_permit();
    payment["payload"] = fixed::exact()["payload"].clone();
    let refusal = fixed::verify(&payment, &fixed::requirement(fixed::upto())).unwrap_err();
    assert_eq!(refusal.code(fixed::upto()), "unsupported_payload_type");
}

#[test]
fn version_one_pays_no_offer_that_it_does_not_have() {
    let v1 = fixed::payment(
        X402Version::V1,
        TransferMethod::Exact,
        Permit2Approval::Standing,
    );
    let refusal = fixed::verify(&v1, &fixed::requirement(fixed::upto())).unwrap_err();
    assert_eq!(refusal.code(fixed::upto()), "invalid_x402_version");
}
