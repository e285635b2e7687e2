//! Calldata of the contracts, against selectors and layouts that other tools compute.

use alloy_primitives::{hex, keccak256};
use bardo_x402::authorization::{
    EXACT_PROXY, PERMIT2, Permit2Transfer, Permit2Witness, TokenPermit, TransferAuthorization,
    UPTO_PROXY,
};
use bardo_x402::evm::calls::*;
use bardo_x402::evm::{Address, B256, EvmSignature, Signer, U256};

/// Bytes of a word of the ABI.
const WORD: usize = 32;
/// What a contract answers that takes a signature (ERC-1271).
const IS_VALID_SIGNATURE: [u8; 4] = [0x16, 0x26, 0xba, 0x7e];

fn selector(signature: &str) -> [u8; 4] {
    keccak256(signature)[..4].try_into().unwrap()
}

fn account(byte: u8) -> Address {
    Address::repeat_byte(byte)
}

fn signed() -> EvmSignature {
    Signer::from_bytes([7; 32]).unwrap().sign(keccak256("x"))
}

fn permit2_transfer(facilitator: Option<Address>) -> Permit2Transfer {
    Permit2Transfer {
        token: account(1),
        amount: U256::from(2),
        spender: facilitator.map_or(EXACT_PROXY, |_| UPTO_PROXY),
        nonce: U256::from(3),
        deadline: U256::from(4),
        witness: Permit2Witness {
            to: account(5),
            facilitator,
            valid_after: U256::from(6),
        },
    }
}

/// Asserts the selector and the words of a call, each word by its last bytes.
#[track_caller]
fn check(data: &[u8], function: &str, words: &[&[u8]]) {
    assert_eq!(data[..4], selector(function), "{function}");
    let found: Vec<&[u8]> = data[4..].chunks(WORD).collect();
    assert_eq!(found.len(), words.len(), "{function}");
    for (index, (found, tail)) in found.iter().zip(words).enumerate() {
        let (zeros, last) = found.split_at(WORD - tail.len());
        assert_eq!(last, *tail, "{function}, word {index}");
        assert!(
            zeros.iter().all(|byte| *byte == 0),
            "{function}, word {index}"
        );
    }
}

#[test]
fn transfers_are_settled_by_both_overloads() {
    let authorization = TransferAuthorization {
        from: account(1),
        to: account(2),
        value: U256::from(3),
        valid_after: U256::from(4),
        valid_before: U256::from(5),
        nonce: B256::repeat_byte(6),
    };
    let signature = signed();
    let arguments: [&[u8]; 6] = [&[1; 20], &[2; 20], &[3], &[4], &[5], &[6; 32]];
    let (r, s) = (signature.r(), signature.s());
    check(
        &transfer_with_authorization(&authorization, &signature),
        "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)",
        &[
            &arguments[..],
            &[&[signature.v()], r.as_slice(), s.as_slice()],
        ]
        .concat(),
    );
    check(
        &transfer_with_authorization_bytes(&authorization, &[9; 32]),
        "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)",
        &[&arguments[..], &[&[0xe0], &[32], &[9; 32]]].concat(),
    );
}

#[test]
fn upto_is_settled_at_the_amount_with_and_without_a_permit() {
    let transfer = permit2_transfer(Some(account(7)));
    let permit = TokenPermit {
        owner: account(8),
        spender: PERMIT2,
        value: U256::from(2),
        nonce: U256::ZERO,
        deadline: U256::from(10),
    };
    let signature = signed();
    let (r, s) = (signature.r(), signature.s());
    let before: [&[u8]; 5] = [&[2], &[10], r.as_slice(), s.as_slice(), &[signature.v()]];
    let payment: [&[u8]; 9] = [
        &[1; 20],
        &[2],
        &[3],
        &[4],
        &[1],
        &[8; 20],
        &[5; 20],
        &[7; 20],
        &[6],
    ];
    let settled = |permit| settle(&transfer, U256::from(1), account(8), &[9; 32], permit);
    check(
        &settled(None),
        "settle(((address,uint256),uint256,uint256),uint256,address,(address,address,uint256),bytes)",
        &[&payment[..], &[&hex!("0140")[..], &[32], &[9; 32]]].concat(),
    );
    check(
        &settled(Some((&permit, &signature))),
        "settleWithPermit((uint256,uint256,bytes32,bytes32,uint8),((address,uint256),uint256,uint256),uint256,address,(address,address,uint256),bytes)",
        &[
            &before[..],
            &payment[..],
            &[&hex!("01e0")[..], &[32], &[9; 32]],
        ]
        .concat(),
    );
}

#[test]
fn exact_by_permit2_has_no_amount_of_its_own() {
    let transfer = permit2_transfer(None);
    check(
        &settle(&transfer, U256::from(2), account(8), &[9; 32], None),
        "settle(((address,uint256),uint256,uint256),address,(address,uint256),bytes)",
        &[
            &[1; 20],
            &[2],
            &[3],
            &[4],
            &[8; 20],
            &[5; 20],
            &[6],
            &hex!("0100"),
            &[32],
            &[9; 32],
        ],
    );
}

#[test]
fn views_are_called_by_their_selectors() {
    let one: &[u8] = &[1; 20];
    let two: &[u8] = &[2; 20];
    check(&domain_separator(), "DOMAIN_SEPARATOR()", &[]);
    let nonce = U256::from(0x0001_0203);
    check(&balance_of(account(1)), "balanceOf(address)", &[one]);
    check(&permit_nonce(account(1)), "nonces(address)", &[one]);
    check(
        &allowance(account(1), account(2)),
        "allowance(address,address)",
        &[one, two],
    );
    check(
        &approve(account(1), U256::from(7)),
        "approve(address,uint256)",
        &[one, &[7]],
    );
    check(
        &transfer(account(1), U256::from(7)),
        "transfer(address,uint256)",
        &[one, &[7]],
    );
    check(
        &nonce_bitmap(account(1), nonce),
        "nonceBitmap(address,uint256)",
        &[one, &[1, 2]],
    );
    check(
        &authorization_state(account(1), B256::repeat_byte(3)),
        "authorizationState(address,bytes32)",
        &[one, &[3; 32]],
    );
    check(
        &is_valid_signature(B256::repeat_byte(3), &[4; 32]),
        "isValidSignature(bytes32,bytes)",
        &[&[3; 32], &[64], &[32], &[4; 32]],
    );
}

#[test]
fn the_bit_of_a_nonce_is_its_last_byte() {
    let nonce = U256::from(0x01ff);
    let bitmap = U256::from(1) << 255;
    assert!(nonce_is_used(bitmap, nonce));
    assert!(!nonce_is_used(!bitmap, nonce));
    assert!(nonce_is_used(U256::from(1), U256::ZERO));
}

#[test]
fn only_the_whole_word_affirms_a_signature() {
    let mut word = [0; 32];
    word[..4].copy_from_slice(&IS_VALID_SIGNATURE);
    assert!(affirms_signature(&word));
    assert!(affirms_signature(&[&word[..], &[0; 32]].concat()));
    assert!(!affirms_signature(&word[..31]));
    assert!(!affirms_signature(&[]));
    assert!(!affirms_signature(&[0xff; 32]));
    word[31] = 1;
    assert!(!affirms_signature(&word));
}

#[test]
fn the_topics_are_those_of_the_logs() {
    assert_eq!(TRANSFER_LOG, keccak256("Transfer(address,address,uint256)"));
    assert_eq!(
        AUTHORIZATION_USED_LOG,
        keccak256("AuthorizationUsed(address,bytes32)")
    );
}
