//! The end-to-end cipher: secp256k1 agreement, HKDF-SHA256, AES-256-GCM, hex framing.

use aes_gcm::aead::Aead as _;
use aes_gcm::{Aes256Gcm, KeyInit as _};
use hkdf::Hkdf;
use k256::elliptic_curve::sec1::ToSec1Point as _;
use k256::{PublicKey, SecretKey};
use sha2::Sha256;
use sha3::{Digest as _, Keccak256};

const INFO: &[u8] = b"ecdsa_encryption";
const PUBLIC_BYTES: usize = 65;
const NONCE_BYTES: usize = 12;
const TAG_BYTES: usize = 16;

/// A secret key from 32 bytes of digest.
pub(super) fn secret(seed: &[u8; 32]) -> SecretKey {
    SecretKey::from_slice(seed).expect("a digest is a valid scalar but for a chance of 2^-127")
}

/// The uncompressed public key.
pub(super) fn public_bytes(public: &PublicKey) -> Vec<u8> {
    public.to_sec1_point(false).as_bytes().to_vec()
}

/// A public key from the hex of a header: 130 digits that start with 04.
pub(super) fn public_from_hex(hex: &str) -> Option<PublicKey> {
    if hex.len() != 2 * PUBLIC_BYTES || !hex.starts_with("04") {
        return None;
    }
    PublicKey::from_sec1_bytes(&from_hex(hex)?).ok()
}

/// Encrypts for `to` with an ephemeral key: hex of key, nonce, ciphertext and tag.
pub(super) fn seal(
    to: &PublicKey,
    ephemeral: &SecretKey,
    nonce: &[u8; NONCE_BYTES],
    plain: &[u8],
) -> String {
    let sealed = cipher(ephemeral, to)
        .encrypt(nonce.into(), plain)
        .expect("memory is the only thing that AES-GCM could lack");
    to_hex(&[&public_bytes(&ephemeral.public_key())[..], nonce, &sealed].concat())
}

/// Why a field could not be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unopened {
    NotHex,
    Undecryptable,
}

/// Decrypts a field with the key it was encrypted for.
pub(super) fn open(secret: &SecretKey, hex: &str) -> Result<Vec<u8>, Unopened> {
    let bytes = from_hex(hex).ok_or(Unopened::NotHex)?;
    if bytes.len() < PUBLIC_BYTES + NONCE_BYTES + TAG_BYTES {
        return Err(Unopened::Undecryptable);
    }
    let (public, rest) = bytes.split_at(PUBLIC_BYTES);
    let (nonce, sealed) = rest.split_at(NONCE_BYTES);
    let public = PublicKey::from_sec1_bytes(public).map_err(|_| Unopened::Undecryptable)?;
    let nonce: [u8; NONCE_BYTES] = nonce.try_into().map_err(|_| Unopened::Undecryptable)?;
    cipher(secret, &public)
        .decrypt((&nonce).into(), sealed)
        .map_err(|_| Unopened::Undecryptable)
}

fn cipher(secret: &SecretKey, public: &PublicKey) -> Aes256Gcm {
    let shared = k256::ecdh::diffie_hellman(secret.to_nonzero_scalar(), public.as_affine());
    let mut key = [0; 32];
    Hkdf::<Sha256>::new(None, shared.raw_secret_bytes())
        .expand(INFO, &mut key)
        .expect("32 bytes are within the limit of HKDF");
    Aes256Gcm::new(&key.into())
}

/// The Ethereum address of a public key.
pub(super) fn address(public: &PublicKey) -> [u8; 20] {
    let hash = Keccak256::digest(&public_bytes(public)[1..]);
    let mut address = [0; 20];
    address.copy_from_slice(&hash[12..]);
    address
}

/// Signs a text the way wallets sign messages; 65 bytes with the recovery id.
pub(super) fn sign(secret: &SecretKey, text: &str) -> Vec<u8> {
    let prefixed = format!("\x19Ethereum Signed Message:\n{}{text}", text.len());
    let digest = Keccak256::digest(prefixed.as_bytes());
    let key = k256::ecdsa::SigningKey::from(secret);
    let (signature, recovery) = key.sign_prehash_recoverable(&digest);
    let mut bytes = signature.to_bytes().to_vec();
    bytes.push(27 + recovery.to_byte());
    bytes
}

pub(super) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn from_hex(hex: &str) -> Option<Vec<u8>> {
    if !hex.len().is_multiple_of(2) || !hex.is_ascii() {
        return None;
    }
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_for_one_key_opens_with_it_alone() {
        let [server, ephemeral, stranger] = [[1; 32], [2; 32], [3; 32]].map(|seed| secret(&seed));
        let sealed = seal(
            &server.public_key(),
            &ephemeral,
            &[9; 12],
            "hello".as_bytes(),
        );
        assert_eq!(sealed.len(), 2 * (65 + 12 + 5 + 16));
        assert!(sealed.starts_with("04"));
        assert_eq!(open(&server, &sealed).as_deref(), Ok(&b"hello"[..]));
        assert_eq!(open(&stranger, &sealed), Err(Unopened::Undecryptable));
        assert_eq!(open(&server, "plain text"), Err(Unopened::NotHex));
    }

    #[test]
    fn addresses_are_those_of_ethereum() {
        // The second default account of the usual development chains.
        let seed = from_hex("59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d");
        let seed: [u8; 32] = seed.expect("hex").try_into().expect("32 bytes");
        let address = to_hex(&address(&secret(&seed).public_key()));
        assert_eq!(address, "70997970c51812dc3a010c7d01b50e0d17dc79c8");
    }
}
