//! A key that signs.

use alloy_primitives::{Address, B256, hex};
use secp256k1::ecdsa::RecoverableSignature;
use secp256k1::{Message, PublicKey, SecretKey};
use zeroize::{Zeroize, Zeroizing};

use super::signature::{EvmSignature, address_of};

/// A private key with its address. It is zeroed on drop, and has no `Debug`, `Clone` or `Display`.
pub struct Signer {
    key: Zeroizing<[u8; 32]>,
    address: Address,
}

/// Text or bytes that are no private key; the value is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a private key is 32 bytes as 64 hex digits, with or without 0x, not zero and below the order of secp256k1"
)]
pub struct InvalidSigningKey;

impl Signer {
    /// Takes a private key into custody.
    ///
    /// # Errors
    /// For zero and for a number at or above the order of the curve.
    pub fn from_bytes(mut key: [u8; 32]) -> Result<Self, InvalidSigningKey> {
        let kept = Zeroizing::new(key);
        key.zeroize();
        let mut secret = SecretKey::from_secret_bytes(*kept).map_err(|_| InvalidSigningKey)?;
        let address = address_of(&PublicKey::from_secret_key(&secret));
        secret.non_secure_erase();
        Ok(Self { key: kept, address })
    }

    /// Reads 64 hex digits, with or without the prefix `0x`.
    ///
    /// # Errors
    /// For any other text, and for numbers that are no key.
    pub fn from_hex(text: &str) -> Result<Self, InvalidSigningKey> {
        let mut key = Zeroizing::new([0; 32]);
        hex::decode_to_slice(text.trim(), key.as_mut()).map_err(|_| InvalidSigningKey)?;
        Self::from_bytes(*key)
    }

    /// The address of the key.
    #[must_use]
    pub fn address(&self) -> Address {
        self.address
    }

    /// Signs a digest of 32 bytes. The nonce is deterministic (RFC 6979) and `s` is low, so one
    /// digest has one signature.
    #[must_use]
    pub fn sign(&self, digest: B256) -> EvmSignature {
        let mut key =
            SecretKey::from_secret_bytes(*self.key).expect("the key was checked when it was read");
        let message = Message::from_digest(digest.0);
        let signature = RecoverableSignature::sign_ecdsa_recoverable(message, &key);
        key.non_secure_erase();
        EvmSignature::of(&signature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_the_address_that_other_wallets_show() {
        let text = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
        let signer = Signer::from_hex(text).unwrap();
        let shown = signer.address().to_string();
        assert_eq!(shown, "0x70997970C51812dc3A010C7d01b50e0d17dc79C8");
        let bare = Signer::from_hex(&text[2..]).unwrap();
        assert_eq!(bare.address(), signer.address());
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
        let zero = "0".repeat(64);
        for text in [
            "",
            "0x",
            "zz",
            &"1".repeat(63),
            &"1".repeat(65),
            order,
            &zero,
        ] {
            assert_eq!(
                Signer::from_hex(text).err(),
                Some(InvalidSigningKey),
                "{text}"
            );
        }
    }
}
