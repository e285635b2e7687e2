//! Signatures: of keys, of contracts, of others, and their twins.

use bardo_x402::evm::{AccountSignatureError, SigningAccount, U256};
use bardo_x402::refusal::PaymentRefusal;
use bardo_x402::wire::TransferMethod;
use serde_json::{Value, json};

use crate::fixed;

/// Order of the curve.
const ORDER: &str = "0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";

fn signature_of(payment: &Value) -> Vec<u8> {
    let text = payment["payload"]["signature"].as_str().unwrap();
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (2..text.len()).step_by(2).map(digit).collect()
}

/// What becomes of the payments of both schemes with this signature.
fn refusal_with(change: impl Fn(Vec<u8>) -> Vec<u8>, account: &SigningAccount) -> PaymentRefusal {
    let both = [
        (fixed::exact(), TransferMethod::Exact),
        (fixed::upto_with_permit(), fixed::upto()),
    ];
    let [first, second] = both.map(|(mut payment, method)| {
        let signature = change(signature_of(&payment));
        let hex: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
        payment["payload"]["signature"] = json!(format!("0x{hex}"));
        let checked = fixed::check(&payment, &fixed::requirement(method)).unwrap();
        checked.verify(account, &fixed::approved()).unwrap_err()
    });
    assert_eq!(first, second);
    first
}

fn with_v(v: u8) -> impl Fn(Vec<u8>) -> Vec<u8> {
    move |mut signature| {
        signature[64] = v;
        signature
    }
}

#[test]
fn the_twin_of_a_signature_is_refused() {
    let refusal = refusal_with(
        |mut signature| {
            let order: U256 = ORDER.parse().unwrap();
            let high = order - U256::from_be_slice(&signature[32..64]);
            signature[32..64].copy_from_slice(&high.to_be_bytes::<32>());
            signature[64] = 55 - signature[64];
            signature
        },
        &fixed::KEY,
    );
    assert!(refusal.to_string().contains("low `s`"), "{refusal}");
}

#[test]
fn another_recovery_byte_is_refused() {
    for v in [0, 1, 26, 29] {
        let refusal = refusal_with(with_v(v), &fixed::KEY);
        assert!(refusal.to_string().contains("27 or 28"), "{refusal}");
    }
    let flipped = refusal_with(
        |mut signature| {
            signature[64] = 55 - signature[64];
            signature
        },
        &fixed::KEY,
    );
    assert_eq!(
        flipped,
        PaymentRefusal::Signature(AccountSignatureError::Signer)
    );
}

#[test]
fn another_length_is_refused() {
    for length in [0, 64, 66] {
        let refusal = refusal_with(
            |mut signature| {
                signature.resize(length, 0);
                signature
            },
            &fixed::KEY,
        );
        assert!(refusal.to_string().contains("has 65"), "{refusal}");
    }
}

#[test]
fn a_wallet_that_is_not_deployed_is_refused_with_its_own_reason() {
    let undeployed = |signature: Vec<u8>| [signature, [0x64, 0x92].repeat(16)].concat();
    for account in [fixed::KEY, SigningAccount::Contract { answer: Vec::new() }] {
        let refusal = refusal_with(undeployed, &account);
        assert_eq!(
            refusal,
            PaymentRefusal::Signature(AccountSignatureError::Undeployed)
        );
    }
}

#[test]
fn a_contract_answers_for_itself_and_no_key_stands_for_it() {
    let mut yes = vec![0; 32];
    yes[..4].copy_from_slice(&[0x16, 0x26, 0xba, 0x7e]);
    let short = yes[..4].to_vec();
    for answer in [Vec::new(), vec![0xff; 32], vec![0; 32], short] {
        // The signature is the right one of the key at this address.
        let refusal = refusal_with(|signature| signature, &SigningAccount::Contract { answer });
        assert_eq!(
            refusal,
            PaymentRefusal::Signature(AccountSignatureError::Contract)
        );
    }
    let checked = fixed::check(&fixed::exact(), &fixed::requirement(TransferMethod::Exact));
    let checked = checked.unwrap();
    let call = checked.signature_call();
    assert_eq!(call[..4], [0x16, 0x26, 0xba, 0x7e]);
    let verified = checked.verify(&SigningAccount::Contract { answer: yes }, &fixed::rich());
    let settlement = verified.unwrap().settlement(fixed::ceiling()).unwrap();
    // The overload with a signature of any length.
    assert_eq!(settlement.data[..4], [0xcf, 0x09, 0x29, 0x95]);
}

#[test]
fn a_contract_cannot_send_a_permit() {
    let mut yes = vec![0; 32];
    yes[..4].copy_from_slice(&[0x16, 0x26, 0xba, 0x7e]);
    let account = SigningAccount::Contract { answer: yes };
    let checked = || {
        fixed::check(
            &fixed::upto_with_permit(),
            &fixed::requirement(fixed::upto()),
        )
    };
    let refused = checked().unwrap().verify(&account, &fixed::rich());
    assert_eq!(refused, Err(PaymentRefusal::PermitOfContract));
    let taken = checked().unwrap().verify(&account, &fixed::approved());
    assert!(!taken.unwrap().sends_permit());
}
