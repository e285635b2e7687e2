//! What the chain says of the payer, and the call that settles.

use bardo_x402::evm::{U256, calls};
use bardo_x402::refusal::PaymentRefusal;
use bardo_x402::token::TokenAmount;
use bardo_x402::verify::{PayerState, VerifiedPayment};
use bardo_x402::wire::TransferMethod;
use serde_json::json;

use crate::fixed::{self, NOW_S};

fn exact(state: PayerState) -> Result<VerifiedPayment, PaymentRefusal> {
    let requirement = fixed::requirement(TransferMethod::Exact);
    let checked = fixed::check(&fixed::exact(), &requirement).unwrap();
    checked.verify(&fixed::KEY, &state)
}

fn upto(state: PayerState) -> Result<VerifiedPayment, PaymentRefusal> {
    let requirement = fixed::requirement(fixed::upto());
    let checked = fixed::check(&fixed::upto_with_permit(), &requirement).unwrap();
    checked.verify(&fixed::KEY, &state)
}

#[test]
fn a_used_nonce_and_a_low_balance_are_refused() {
    let needed = fixed::ceiling().to_u256();
    for verify in [exact, upto] {
        let used = PayerState {
            nonce_used: true,
            ..fixed::approved()
        };
        assert_eq!(verify(used), Err(PaymentRefusal::NonceUsed));
        let balance = needed - U256::from(1);
        let poor = PayerState {
            balance,
            ..fixed::approved()
        };
        assert_eq!(
            verify(poor),
            Err(PaymentRefusal::Balance { balance, needed })
        );
        let just_enough = PayerState {
            balance: needed,
            ..fixed::approved()
        };
        assert!(verify(just_enough).is_ok());
    }
}

#[test]
fn a_permit_is_sent_only_where_the_allowance_is_too_low() {
    let needed = fixed::ceiling().to_u256();
    let with = |permit2_allowance| PayerState {
        permit2_allowance,
        ..fixed::rich()
    };
    assert!(upto(with(needed - U256::from(1))).unwrap().sends_permit());
    assert!(!upto(with(needed)).unwrap().sends_permit());
    // Where it is not sent, its nonce does not count.
    let moved_on = PayerState {
        permit_nonce: U256::from(fixed::PERMIT_NONCE + 1),
        ..with(needed)
    };
    assert!(upto(moved_on).is_ok());
    assert!(!exact(with(U256::ZERO)).unwrap().sends_permit());
}

#[test]
fn upto_settles_at_most_the_ceiling_and_nothing_for_zero() {
    let verified = upto(fixed::rich()).unwrap();
    let at = |units| verified.settlement(TokenAmount::new(units));
    assert_eq!(at(0), None);
    assert_eq!(at(500_001), None);
    let call = at(1_858).unwrap();
    assert_eq!(call.from, Some(fixed::facilitator()));
    assert_eq!(
        call.to.to_string(),
        "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002"
    );
    assert_eq!(call.data[..4], [0x01, 0x6c, 0x17, 0x48], "settleWithPermit");
    // Five words of the permit and four of the signed transfer come before the amount.
    let amount = calls::number(&call.data[4 + 9 * 32..][..32]);
    assert_eq!(amount, Some(U256::from(1_858)));
    let call = upto(fixed::approved())
        .unwrap()
        .settlement(TokenAmount::new(500_000));
    assert_eq!(call.unwrap().data[..4], [0xff, 0x11, 0xe7, 0xb4], "settle");
}

#[test]
fn exact_settles_the_price_and_no_other_amount() {
    let verified = exact(fixed::rich()).unwrap();
    for units in [0, 1, 499_999, 500_001] {
        assert_eq!(
            verified.settlement(TokenAmount::new(units)),
            None,
            "{units}"
        );
    }
    let call = verified.settlement(fixed::ceiling()).unwrap();
    assert_eq!(call.to, verified.token().address());
    assert_eq!(call.data[..4], [0xe3, 0xee, 0x16, 0x0e]);
    assert_eq!(call.from, None);
}

#[test]
fn one_authorization_has_one_claim_however_it_is_written() {
    let requirement = fixed::requirement(fixed::upto());
    let mut payment = fixed::upto_with_permit();
    let decimal = fixed::check(&payment, &requirement).unwrap().claim();
    let hex = format!("0x{}", "11".repeat(32));
    payment["payload"]["permit2Authorization"]["nonce"] = json!(hex);
    assert_eq!(
        fixed::check(&payment, &requirement).unwrap().claim(),
        decimal
    );

    // A transfer that was sent in version 2 is sent again in version 1.
    let version_two = fixed::exact();
    let requirement = fixed::requirement(TransferMethod::Exact);
    let first = fixed::check(&version_two, &requirement).unwrap().claim();
    for network in ["base", "eip155:8453"] {
        let payload = &version_two["payload"];
        let again = json!({"x402Version": 1, "scheme": "exact", "network": network,
            "payload": payload});
        assert_eq!(fixed::check(&again, &requirement).unwrap().claim(), first);
    }
}

#[test]
fn a_claim_names_chain_contract_payer_and_nonce() {
    let nonce = "11".repeat(32);
    let payer = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
    let usdc = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913";
    let permit2 = "0x000000000022d473030f116ddee9f6b43ac78ba3";
    let claim = |verified: VerifiedPayment| verified.claim().to_string();
    let exact = exact(fixed::rich()).unwrap();
    assert_eq!(exact.ends_s(), NOW_S + fixed::TIMEOUT_S - 1);
    assert_eq!(
        claim(exact),
        format!("eip155:8453:{usdc}:{payer}:0x{nonce}")
    );
    let upto = upto(fixed::rich()).unwrap();
    assert_eq!(upto.ends_s(), NOW_S + fixed::TIMEOUT_S);
    assert_eq!(
        claim(upto),
        format!("eip155:8453:{permit2}:{payer}:0x{nonce}")
    );
}
