//! Payments that others send to the chain first, and blocks that the chain drops.

use bardo_store::servers::ChainNode;
use bardo_x402::authorization::TransferAuthorization;
use bardo_x402::evm::{Signer, U256, calls};
use bardo_x402::payer::PaymentHeader;
use bardo_x402::token::PaymentToken;
use bardo_x402::wire::{PaymentScheme, X402Version, decode_header};
use serde_json::{Value, json};

use crate::http::Answer;
use crate::payer::{self, micro, paid, receipt, refused, sign};
use crate::rig::eventually;
use crate::sale_on_chain::{PAY_TO, RICH, Shop};

/// An account of the node's own, which is neither the payer nor the seller.
const OTHER: &str = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";

/// What the payer of a payment by `exact` signed.
fn authorization(payment: &PaymentHeader) -> TransferAuthorization {
    let json = decode_header(payment.value.as_bytes()).expect("base64");
    let json: Value = serde_json::from_slice(&json).expect("JSON");
    let signed = &json["payload"]["authorization"];
    let text = |name: &str| signed[name].as_str().expect("a text");
    let number = |name: &str| text(name).parse::<U256>().expect("a number");
    TransferAuthorization {
        from: text("from").parse().expect("an address"),
        to: text("to").parse().expect("an address"),
        value: number("value"),
        valid_after: number("validAfter"),
        valid_before: number("validBefore"),
        nonce: text("nonce").parse().expect("a nonce"),
    }
}

/// Sends an authorization of the payer from another account, before all that waits.
fn send_first(node: &ChainNode, signed: &TransferAuthorization) -> String {
    let signer = Signer::from_bytes(payer::KEY).expect("a key");
    let signature = signer.sign(signed.digest(PaymentToken::usdc_on_base().domain()));
    let data = calls::transfer_with_authorization(signed, &signature);
    let data: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
    let call = json!([{
        "from": OTHER,
        "to": ChainNode::USDC,
        "data": format!("0x{data}"),
        "gas": "0x30d40",
        "maxFeePerGas": "0x174876e800",
        "maxPriorityFeePerGas": "0xba43b7400",
    }]);
    let hash = node.call("eth_sendTransaction", &call).expect("it is sent");
    hash.as_str().expect("a hash").to_owned()
}

/// An answer whose settlement is in no block yet, and what its payer signed. No block is made.
fn served_without_a_block(shop: &Shop) -> (TransferAuthorization, Answer) {
    let request = shop.chat();
    let offered = shop.gateway.send(&request);
    let payment = sign(&offered, X402Version::V2, PaymentScheme::Exact);
    shop.node.mines_by_itself(false).expect("it answers");
    let answer = shop.gateway.send(&paid(&request, &payment));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert!(receipt(&answer, X402Version::V2).is_pending());
    (authorization(&payment), answer)
}

#[test]
fn a_payment_that_somebody_else_sends_first_is_settled_by_that() {
    let shop = Shop::open(json!({ "settlement_wait": "100ms" }));
    let (signed, answer) = served_without_a_block(&shop);
    let first = send_first(&shop.node, &signed);
    shop.node.mine(1).expect("a block");
    shop.node.mines_by_itself(true).expect("it answers");
    let found = shop.settled(&answer);
    assert_eq!(found["transaction"], first, "{found}");
    assert_eq!(shop.revenue(), micro(&found["settled_usd"]));
    assert_eq!(
        shop.node.balance(&shop.payer).expect("a balance"),
        RICH - shop.revenue()
    );
}

#[test]
fn another_authorization_with_the_nonce_of_a_payment_settles_nothing() {
    let shop = Shop::open(json!({ "settlement_wait": "100ms" }));
    let (signed, answer) = served_without_a_block(&shop);
    let cheap = TransferAuthorization {
        value: U256::from(1),
        ..signed
    };
    send_first(&shop.node, &cheap);
    shop.node.mine(1).expect("a block");
    shop.node.mines_by_itself(true).expect("it answers");
    // One millionth of a dollar arrived, the answer is unpaid, and its payer owes it.
    eventually("the debt", || {
        let found = payer::payment_of(&shop.gateway, &answer);
        (found["status"] == "failed").then_some(())
    });
    assert_eq!(shop.revenue(), 1);
    let again = shop.buy(&shop.chat(), X402Version::V2, PaymentScheme::Exact);
    refused(&again, 402, "payment_debt");
}

#[test]
fn a_settlement_whose_block_is_dropped_is_made_again_once() {
    let shop = Shop::open(json!({ "confirmations": 4 }));
    let before = shop.node.snapshot().expect("a snapshot");
    let answer = shop.buy(&shop.chat(), X402Version::V2, PaymentScheme::Exact);
    let units = micro(&shop.settled(&answer)["settled_usd"]);
    assert_eq!(shop.revenue(), units);
    shop.node.revert(&before).expect("it goes back");
    assert_eq!(shop.node.balance(PAY_TO).expect("a balance"), 0);
    shop.node.mine(6).expect("other blocks");
    eventually("the second settlement", || {
        (shop.revenue() == units).then_some(())
    });
    shop.node.mine(6).expect("confirmations");
    let found = shop.settled(&answer);
    assert_eq!(micro(&found["settled_usd"]), units, "{found}");
    assert_eq!(
        shop.node.balance(&shop.payer).expect("a balance"),
        RICH - units
    );
}
