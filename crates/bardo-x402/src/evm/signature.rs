//! Signatures of accounts that are a key: 65 bytes, r, s and v.

use std::fmt;

use alloy_primitives::{Address, B256, hex, keccak256};
use secp256k1::Message;
use secp256k1::ecdsa::{RecoverableSignature, RecoveryId};

/// Half of the order of the curve: an `s` above it is the twin of a valid one (EIP-2).
const HALF_ORDER: [u8; 32] =
    hex!("7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0");

/// A signature by ECDSA on secp256k1 with a low `s` and `v` of 27 or 28, as token contracts and
/// Permit2 take it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EvmSignature {
    r: B256,
    s: B256,
    y_is_odd: bool,
}

/// Why bytes are no signature of an account that is a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The number of bytes is not 65.
    #[error("the signature has {0} bytes; a signature of a key has 65")]
    Length(usize),
    /// The last byte is neither 27 nor 28.
    #[error("the last byte of the signature is {0}; it must be 27 or 28")]
    RecoveryByte(u8),
    /// The value `s` is in the upper half, so that the signature is the twin of another one.
    #[error("`s` of the signature is in the upper half of the curve's order; sign with a low `s`")]
    HighS,
    /// The numbers of the signature belong to no point of the curve.
    #[error("the signature belongs to no key")]
    NoPoint,
}

impl EvmSignature {
    /// Number of bytes of a signature.
    pub const LEN: usize = 65;

    /// Reads `r`, `s`, `v`.
    ///
    /// # Errors
    /// For another length, a `v` other than 27 and 28, and a high `s`.
    pub fn parse(bytes: &[u8]) -> Result<Self, SignatureError> {
        let bytes: &[u8; Self::LEN] = bytes
            .try_into()
            .map_err(|_| SignatureError::Length(bytes.len()))?;
        let y_is_odd = match bytes[64] {
            27 => false,
            28 => true,
            other => return Err(SignatureError::RecoveryByte(other)),
        };
        let s = B256::from_slice(&bytes[32..64]);
        if s.as_slice() > &HALF_ORDER[..] {
            return Err(SignatureError::HighS);
        }
        Ok(Self {
            r: B256::from_slice(&bytes[..32]),
            s,
            y_is_odd,
        })
    }

    pub(super) fn of(signature: &RecoverableSignature) -> Self {
        let (id, compact) = signature.serialize_compact();
        Self {
            r: B256::from_slice(&compact[..32]),
            s: B256::from_slice(&compact[32..]),
            y_is_odd: matches!(id, RecoveryId::One | RecoveryId::Three),
        }
    }

    /// The address whose key signed this digest.
    ///
    /// # Errors
    /// When the numbers belong to no key.
    pub fn recover(&self, digest: B256) -> Result<Address, SignatureError> {
        let mut compact = [0; 64];
        compact[..32].copy_from_slice(self.r.as_slice());
        compact[32..].copy_from_slice(self.s.as_slice());
        let id = if self.y_is_odd {
            RecoveryId::One
        } else {
            RecoveryId::Zero
        };
        let key = RecoverableSignature::from_compact(&compact, id)
            .and_then(|signature| signature.recover_ecdsa(Message::from_digest(digest.0)))
            .map_err(|_| SignatureError::NoPoint)?;
        Ok(address_of(&key))
    }

    /// The bytes `r`, `s`, `v`.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..32].copy_from_slice(self.r.as_slice());
        bytes[32..64].copy_from_slice(self.s.as_slice());
        bytes[64] = self.v();
        bytes
    }

    /// The first number of the signature.
    #[must_use]
    pub fn r(&self) -> B256 {
        self.r
    }

    /// The second number of the signature.
    #[must_use]
    pub fn s(&self) -> B256 {
        self.s
    }

    /// The recovery byte: 27 or 28.
    #[must_use]
    pub fn v(&self) -> u8 {
        27 + u8::from(self.y_is_odd)
    }

    /// Whether the y coordinate of the signature's point is odd, as typed transactions say it.
    #[must_use]
    pub fn y_is_odd(&self) -> bool {
        self.y_is_odd
    }
}

impl fmt::Display for EvmSignature {
    /// Hex with the prefix `0x`, as payments carry it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode_prefixed(self.to_bytes()))
    }
}

impl fmt::Debug for EvmSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EvmSignature({self})")
    }
}

/// The address of a public key: the last 20 bytes of the hash of its coordinates.
pub(super) fn address_of(key: &secp256k1::PublicKey) -> Address {
    let hash = keccak256(&key.serialize_uncompressed()[1..]);
    Address::from_slice(&hash[12..])
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{U256, uint};

    use super::*;
    use crate::evm::Signer;

    /// Order of the curve.
    const ORDER: U256 =
        uint!(0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141_U256);

    fn signed() -> (B256, Address, EvmSignature) {
        let signer = Signer::from_bytes([7; 32]).unwrap();
        let digest = keccak256("a message");
        (digest, signer.address(), signer.sign(digest))
    }

    #[test]
    fn a_signature_gives_back_its_signer_and_its_bytes() {
        let (digest, address, signature) = signed();
        let read = EvmSignature::parse(&signature.to_bytes()).unwrap();
        assert_eq!(read, signature);
        assert_eq!(read.recover(digest), Ok(address));
        assert_ne!(read.recover(keccak256("another")), Ok(address));
    }

    #[test]
    fn the_twin_of_a_signature_is_refused() {
        let (digest, address, signature) = signed();
        let mut twin = signature.to_bytes();
        let high = ORDER - U256::from_be_bytes(signature.s().0);
        twin[32..64].copy_from_slice(&high.to_be_bytes::<32>());
        twin[64] = 27 + 28 - twin[64];
        assert_eq!(EvmSignature::parse(&twin), Err(SignatureError::HighS));
        // Without the rule it would recover the signer.
        let twin = EvmSignature {
            r: signature.r,
            s: high.into(),
            y_is_odd: !signature.y_is_odd,
        };
        assert_eq!(twin.recover(digest), Ok(address));
    }

    #[test]
    fn the_largest_low_s_is_taken_and_the_next_is_refused() {
        let (_, _, signature) = signed();
        let mut bytes = signature.to_bytes();
        bytes[32..64].copy_from_slice(&HALF_ORDER);
        assert!(EvmSignature::parse(&bytes).is_ok());
        bytes[63] += 1;
        assert_eq!(EvmSignature::parse(&bytes), Err(SignatureError::HighS));
    }

    #[test]
    fn other_lengths_and_recovery_bytes_are_refused() {
        let (_, _, signature) = signed();
        let bytes = signature.to_bytes();
        for length in [0, 64] {
            let refused = EvmSignature::parse(&bytes[..length]);
            assert_eq!(refused, Err(SignatureError::Length(length)));
        }
        let long = [&bytes[..], &[0]].concat();
        assert_eq!(EvmSignature::parse(&long), Err(SignatureError::Length(66)));
        for v in [0, 1, 26, 29, 255] {
            let mut bytes = bytes;
            bytes[64] = v;
            let refused = EvmSignature::parse(&bytes);
            assert_eq!(refused, Err(SignatureError::RecoveryByte(v)));
        }
    }

    #[test]
    fn numbers_outside_of_the_curve_belong_to_no_key() {
        let (digest, _, signature) = signed();
        let with = |r: B256, s: B256| EvmSignature { r, s, ..signature }.recover(digest);
        let no_point = Err(SignatureError::NoPoint);
        assert_eq!(with(B256::ZERO, signature.s), no_point);
        assert_eq!(with(signature.r, B256::ZERO), no_point);
        assert_eq!(with(ORDER.into(), signature.s), no_point);
    }
}
