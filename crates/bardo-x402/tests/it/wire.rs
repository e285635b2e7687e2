//! Receipts, and the talk with a facilitator elsewhere.

use bardo_x402::evm::{Address, B256};
use bardo_x402::token::{EvmNetwork, TokenAmount};
use bardo_x402::wire::{
    FacilitatorRequest, PaymentPayload, SETTLEMENT_PENDING, SettleAnswer, SettlementReceipt,
    TransferMethod, VerifyAnswer, X402Version, supported_kinds,
};
use serde_json::{Value, json};

use crate::fixed;

#[test]
fn receipts_come_back_as_they_were_sent() {
    let settled = SettlementReceipt::Settled {
        payer: Some(fixed::payer().address()),
        network: EvmNetwork::BASE,
        transaction: Some(B256::repeat_byte(7)),
        amount: Some(TokenAmount::new(1_858)),
    };
    let free = SettlementReceipt::Settled {
        payer: None,
        network: EvmNetwork::new(31_337),
        transaction: None,
        amount: Some(TokenAmount::ZERO),
    };
    let pending = SettlementReceipt::Failed {
        reason: SETTLEMENT_PENDING.into(),
        payer: Some(fixed::payer().address()),
        network: Some(EvmNetwork::BASE),
        transaction: Some(B256::repeat_byte(7)),
    };
    for version in [X402Version::V1, X402Version::V2] {
        for receipt in [&settled, &free, &pending] {
            let header = receipt.header(version);
            let read = SettlementReceipt::from_header(version, header.as_bytes());
            assert_eq!(read.as_ref(), Ok(receipt));
        }
    }
    assert!(pending.is_pending());
    assert!(!settled.is_pending());
    assert_eq!(settled.json(X402Version::V1)["network"], "base");
    assert_eq!(free.json(X402Version::V2)["transaction"], "");
}

fn receipt(json: Value) -> Option<SettlementReceipt> {
    SettlementReceipt::from_json(X402Version::V2, json.to_string().as_bytes()).ok()
}

#[test]
fn what_others_answer_to_settle_is_read_with_its_nulls() {
    let failed = receipt(
        json!({"success": false, "errorReason": "insufficient_funds",
        "errorMessage": null, "transaction": "", "network": "eip155:8453", "payer": ""}),
    );
    let expected = SettlementReceipt::Failed {
        reason: "insufficient_funds".into(),
        payer: None,
        network: Some(EvmNetwork::BASE),
        transaction: None,
    };
    assert_eq!(failed, Some(expected));
    let settled = json!({"success": true, "transaction": format!("0x{}", "07".repeat(32)),
        "network": "eip155:8453", "payer": null, "amount": null});
    assert!(receipt(settled.clone()).is_some());
    for (member, value) in [
        ("success", json!("true")),
        ("success", Value::Null),
        ("network", json!("solana:x")),
        ("network", Value::Null),
        ("transaction", json!("0x07")),
        ("amount", json!("18446744073709551616")),
        ("amount", json!(1)),
    ] {
        let mut other = settled.clone();
        other[member] = value;
        assert_eq!(receipt(other), None, "{member}");
    }
}

#[test]
fn a_facilitator_is_asked_with_our_requirement_at_the_amount() {
    let json = fixed::upto_with_permit().to_string();
    let payment = PaymentPayload::from_json(json.as_bytes()).unwrap();
    let requirement = fixed::requirement(fixed::upto());
    let request = FacilitatorRequest {
        payment: &payment,
        requirement: &requirement,
        resource: &fixed::offer(Vec::new()).resource,
        amount: TokenAmount::new(1_858),
    };
    let body: Value = serde_json::from_str(&request.body()).unwrap();
    assert_eq!(body["x402Version"], 2);
    assert_eq!(body["paymentPayload"]["accepted"]["amount"], "500000");
    assert_eq!(body["paymentRequirements"]["amount"], "1858");
    assert_eq!(body["paymentRequirements"]["scheme"], "upto");
    assert_eq!(request.payment.json(), json);
}

#[test]
fn the_answer_to_verify_is_read() {
    let read = |json: Value| VerifyAnswer::from_json(json.to_string().as_bytes());
    let payer = Some(fixed::payer().address());
    let hex = fixed::payer().address().to_string();
    let valid = read(json!({"isValid": true, "invalidReason": null, "payer": hex}));
    assert_eq!(valid, Ok(VerifyAnswer::Valid { payer }));
    let invalid = read(json!({"isValid": false, "invalidReason": "x"}));
    let reason = "x".to_owned();
    let payer: Option<Address> = None;
    assert_eq!(invalid, Ok(VerifyAnswer::Invalid { reason, payer }));
    assert!(read(json!({"success": true})).is_err());
}

#[test]
fn supported_kinds_are_read_and_unknown_ones_passed_over() {
    let json = json!({"kinds": [
        {"x402Version": 1, "scheme": "exact", "network": "base"},
        {"x402Version": 2, "scheme": "upto", "network": "eip155:8453",
         "extra": {"facilitatorAddress": fixed::facilitator().to_string()}},
        {"x402Version": 3, "scheme": "exact", "network": "eip155:8453"},
        "nonsense",
    ], "extensions": [], "signers": {}});
    let kinds = supported_kinds(json.to_string().as_bytes()).unwrap();
    assert_eq!(kinds.len(), 2);
    assert_eq!(kinds[0].version, X402Version::V1);
    assert_eq!(kinds[1].facilitator, Some(fixed::facilitator()));
}

#[test]
fn the_body_for_version_one_has_the_offers_of_version_one() {
    let methods = [
        fixed::upto(),
        TransferMethod::ExactPermit2,
        TransferMethod::Exact,
    ];
    let offer = fixed::offer(methods.map(fixed::requirement).to_vec());
    let accepts = offer.body()["accepts"].as_array().unwrap().clone();
    assert_eq!(accepts.len(), 1);
    assert_eq!(accepts[0]["maxAmountRequired"], "500000");
    assert_eq!(accepts[0]["network"], "base");
    assert_eq!(accepts[0]["extra"]["expiry"], 1_800_000_060);
}

#[test]
fn a_payment_in_the_header_of_the_other_version_is_refused() {
    let header = bardo_x402::wire::encode_header(&fixed::exact().to_string());
    assert!(PaymentPayload::from_header(X402Version::V2, header.as_bytes()).is_ok());
    let refused = PaymentPayload::from_header(X402Version::V1, header.as_bytes());
    assert!(refused.unwrap_err().to_string().contains("x-payment"));
}

#[test]
fn a_malformed_member_is_named() {
    let refusal = |pointer: &str, value: Value| {
        let mut payment = fixed::exact();
        *payment.pointer_mut(pointer).unwrap() = value;
        PaymentPayload::from_json(payment.to_string().as_bytes())
            .unwrap_err()
            .to_string()
    };
    let value = refusal("/payload/authorization/value", json!("1e6"));
    assert!(
        value.starts_with("`payload.authorization.value`"),
        "{value}"
    );
    let nonce = refusal("/payload/authorization/nonce", json!("17"));
    assert!(nonce.contains("32 bytes"), "{nonce}");
    assert_eq!(
        refusal("/x402Version", json!(3)),
        "`x402Version` must be 1 or 2"
    );
    assert!(refusal("/accepted", Value::Null).contains("`accepted`: is missing"));
}

#[test]
fn each_version_has_its_headers() {
    use bardo_x402::wire::{
        PAYMENT_RESPONSE, PAYMENT_SIGNATURE, X_PAYMENT, X_PAYMENT_RESPONSE, X402Version,
    };
    let headers = |version: X402Version| (version.payment_header(), version.receipt_header());
    assert_eq!(headers(X402Version::V1), (X_PAYMENT, X_PAYMENT_RESPONSE));
    assert_eq!(
        headers(X402Version::V2),
        (PAYMENT_SIGNATURE, PAYMENT_RESPONSE)
    );
}

#[test]
fn only_a_refusal_of_a_facilitator_is_a_no() {
    let settled = r#"{"success":true,"transaction":"","network":"eip155:8453","payer":null}"#;
    let settled_v1 = r#"{"success":true,"transaction":"","network":"base"}"#;
    let failed =
        |reason: &str| format!(r#"{{"success":false,"errorReason":"{reason}","transaction":""}}"#);
    let refused = |reason: &str| SettleAnswer::Refused {
        reason: reason.to_owned(),
    };
    for (status, body, expected) in [
        (200, settled.to_owned(), SettleAnswer::Settled),
        (200, settled_v1.to_owned(), SettleAnswer::Settled),
        (
            200,
            failed("insufficient_funds"),
            refused("insufficient_funds"),
        ),
        (400, failed("made_up"), refused("made_up")),
        (200, failed("settlement_pending"), SettleAnswer::Pending),
        (
            200,
            failed("unexpected_settle_error"),
            SettleAnswer::Unknown,
        ),
        (200, failed(""), SettleAnswer::Unknown),
        (500, failed("insufficient_funds"), SettleAnswer::Unknown),
        (401, failed("insufficient_funds"), SettleAnswer::Unknown),
        (429, failed("insufficient_funds"), SettleAnswer::Unknown),
        (200, r#"{"success":true}"#.to_owned(), SettleAnswer::Unknown),
        (200, "<html>".to_owned(), SettleAnswer::Unknown),
        (200, String::new(), SettleAnswer::Unknown),
    ] {
        let read = SettleAnswer::read(status, body.as_bytes());
        assert_eq!(read, expected, "{status} {body}");
    }
    let invalid = |reason: &str| format!(r#"{{"isValid":false,"invalidReason":"{reason}"}}"#);
    let verdict = |status, body: &str| VerifyAnswer::read(status, body.as_bytes());
    assert!(verdict(200, r#"{"isValid":true}"#).is_some());
    assert!(verdict(400, &invalid("made_up")).is_some());
    for (status, body) in [
        (500, invalid("made_up")),
        (200, invalid("unexpected_verify_error")),
        (200, invalid("")),
        (200, "[]".to_owned()),
    ] {
        assert_eq!(verdict(status, &body), None, "{status} {body}");
    }
}
