//! Calldata of the contracts that take part in a payment, and what their views return.
//!
//! The contracts: a token with ERC-3009 and ERC-2612, Permit2, the proxies of x402
//! <https://github.com/x402-foundation/x402/tree/main/contracts/evm>, and wallets with ERC-1271.

use alloy_primitives::{Address, B256, U256, b256};

use super::EvmSignature;
use super::abi::{Calldata, WORD};
use crate::authorization::{Permit2Transfer, TokenPermit, TransferAuthorization};

/// First topic of the log `Transfer(address indexed from,address indexed to,uint256 value)`.
pub const TRANSFER_LOG: B256 =
    b256!("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
/// First topic of the log `AuthorizationUsed(address indexed authorizer,bytes32 indexed nonce)`.
pub const AUTHORIZATION_USED_LOG: B256 =
    b256!("0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5");

/// Settles a transfer of an account that is a key, with the overload that every version of USDC has.
#[must_use]
pub fn transfer_with_authorization(
    authorization: &TransferAuthorization,
    signature: &EvmSignature,
) -> Vec<u8> {
    transfer_arguments(Calldata::new([0xe3, 0xee, 0x16, 0x0e]), authorization)
        .uint(U256::from(signature.v()))
        .word(signature.r())
        .word(signature.s())
        .finish()
}

/// Settles a transfer of any account, with the overload that asks contracts for their signature.
#[must_use]
pub fn transfer_with_authorization_bytes(
    authorization: &TransferAuthorization,
    signature: &[u8],
) -> Vec<u8> {
    transfer_arguments(Calldata::new([0xcf, 0x09, 0x29, 0x95]), authorization)
        .bytes(signature)
        .finish()
}

fn transfer_arguments(call: Calldata, authorization: &TransferAuthorization) -> Calldata {
    call.address(authorization.from)
        .address(authorization.to)
        .uint(authorization.value)
        .uint(authorization.valid_after)
        .uint(authorization.valid_before)
        .word(authorization.nonce)
}

/// Settles a payment by Permit2: `settle` of the proxy of `upto` at this amount where the witness
/// names a facilitator, else `settle` of the proxy of `exact`, which moves the whole.
///
/// A `permit` is given to the token first (`settleWithPermit`); its value must be the ceiling.
#[must_use]
pub fn settle(
    transfer: &Permit2Transfer,
    amount: U256,
    owner: Address,
    signature: &[u8],
    permit: Option<(&TokenPermit, &EvmSignature)>,
) -> Vec<u8> {
    let selector = match (transfer.witness.facilitator, permit) {
        (Some(_), None) => [0xff, 0x11, 0xe7, 0xb4],
        (Some(_), Some(_)) => [0x01, 0x6c, 0x17, 0x48],
        (None, None) => [0x13, 0xcd, 0x3b, 0x53],
        (None, Some(_)) => [0xfa, 0x34, 0x03, 0x78],
    };
    let mut call = Calldata::new(selector);
    if let Some((permit, signature)) = permit {
        call = call
            .uint(permit.value)
            .uint(permit.deadline)
            .word(signature.r())
            .word(signature.s())
            .uint(U256::from(signature.v()));
    }
    call = call
        .address(transfer.token)
        .uint(transfer.amount)
        .uint(transfer.nonce)
        .uint(transfer.deadline);
    let witness = transfer.witness;
    call = match witness.facilitator {
        Some(facilitator) => call
            .uint(amount)
            .address(owner)
            .address(witness.to)
            .address(facilitator),
        None => call.address(owner).address(witness.to),
    };
    call.uint(witness.valid_after).bytes(signature).finish()
}

/// Asks a token whether the nonce of an authorization is used or canceled (ERC-3009).
#[must_use]
pub fn authorization_state(payer: Address, nonce: B256) -> Vec<u8> {
    let call = Calldata::new([0xe9, 0x4a, 0x01, 0x02]);
    call.address(payer).word(nonce).finish()
}

/// Asks Permit2 for the 256 nonces among which this one is; read the answer with [`nonce_is_used`].
#[must_use]
pub fn nonce_bitmap(payer: Address, nonce: U256) -> Vec<u8> {
    let call = Calldata::new([0x4f, 0xe0, 0x2b, 0x44]);
    call.address(payer).uint(nonce >> 8).finish()
}

/// Whether the bit of this nonce is set in the answer of Permit2 to [`nonce_bitmap`].
#[must_use]
pub fn nonce_is_used(bitmap: U256, nonce: U256) -> bool {
    bitmap.bit(usize::from(nonce.byte(0)))
}

/// Asks a token for the balance of an account.
#[must_use]
pub fn balance_of(account: Address) -> Vec<u8> {
    Calldata::new([0x70, 0xa0, 0x82, 0x31])
        .address(account)
        .finish()
}

/// Asks a token how much of the owner's balance the spender may take.
#[must_use]
pub fn allowance(owner: Address, spender: Address) -> Vec<u8> {
    let call = Calldata::new([0xdd, 0x62, 0xed, 0x3e]);
    call.address(owner).address(spender).finish()
}

/// Asks a token for the nonce of the owner's next permit (ERC-2612).
#[must_use]
pub fn permit_nonce(owner: Address) -> Vec<u8> {
    Calldata::new([0x7e, 0xce, 0xbe, 0x00])
        .address(owner)
        .finish()
}

/// Asks a token for the hash of its signing domain, to compare with [`super::SigningDomain::separator`]
/// before any payment in it is taken. Tokens with ERC-3009 have this view.
#[must_use]
pub fn domain_separator() -> Vec<u8> {
    Calldata::new([0x36, 0x44, 0xe5, 0x15]).finish()
}

/// Lets a spender take up to this value of the caller's tokens (`approve`).
#[must_use]
pub fn approve(spender: Address, value: U256) -> Vec<u8> {
    let call = Calldata::new([0x09, 0x5e, 0xa7, 0xb3]);
    call.address(spender).uint(value).finish()
}

/// Moves tokens of the caller (`transfer`).
#[must_use]
pub fn transfer(to: Address, value: U256) -> Vec<u8> {
    let call = Calldata::new([0xa9, 0x05, 0x9c, 0xbb]);
    call.address(to).uint(value).finish()
}

/// Selector of `isValidSignature(bytes32,bytes)`, which is its affirmative answer too (ERC-1271).
const IS_VALID_SIGNATURE: [u8; 4] = [0x16, 0x26, 0xba, 0x7e];

/// Asks a wallet that is a contract whether this is its signature of the digest (ERC-1271).
#[must_use]
pub fn is_valid_signature(digest: B256, signature: &[u8]) -> Vec<u8> {
    let call = Calldata::new(IS_VALID_SIGNATURE);
    call.word(digest).bytes(signature).finish()
}

/// Whether a wallet answered that the signature is its own. Short and other answers mean no.
#[must_use]
pub fn affirms_signature(returned: &[u8]) -> bool {
    let Some(word) = returned.first_chunk::<WORD>() else {
        return false;
    };
    word[..4] == IS_VALID_SIGNATURE && word[4..].iter().all(|byte| *byte == 0)
}

/// The one number that a view returned; `None` for any other length.
#[must_use]
pub fn number(returned: &[u8]) -> Option<U256> {
    let word: &[u8; WORD] = returned.try_into().ok()?;
    Some(U256::from_be_bytes(*word))
}
