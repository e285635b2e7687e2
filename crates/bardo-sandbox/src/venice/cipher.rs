//! The end-to-end cipher: secp256k1 agreement, HKDF-SHA256, AES-256-GCM, hex framing.

use aes_gcm::aead::Aead as _;
use aes_gcm::{Aes256Gcm, KeyInit as _};
use bardo_x402::evm::{Address, EvmSignature, Signer, keccak256};
use hkdf::Hkdf;
use secp256k1::{PublicKey, SecretKey, ecdh};
use sha2::Sha256;

const INFO: &[u8] = b"ecdsa_encryption";
const PUBLIC_BYTES: usize = 65;
/// First byte of an uncompressed public key.
const UNCOMPRESSED: u8 = 4;
const NONCE_BYTES: usize = 12;
const TAG_BYTES: usize = 16;

/// A secret key from 32 bytes of digest.
pub(super) fn secret(seed: &[u8; 32]) -> SecretKey {
    SecretKey::from_secret_bytes(*seed)
        .expect("a digest is a valid scalar but for a chance of 2^-127")
}

/// The uncompressed public key.
pub(super) fn public_bytes(public: &PublicKey) -> [u8; PUBLIC_BYTES] {
    public.serialize_uncompressed()
}

/// A public key from its 65 uncompressed bytes. The C library also reads the hybrid form, which starts
/// with 06 or 07 and is no part of the protocol.
fn public_from_bytes(bytes: &[u8]) -> Option<PublicKey> {
    let bytes: [u8; PUBLIC_BYTES] = bytes.try_into().ok()?;
    if bytes[0] != UNCOMPRESSED {
        return None;
    }
    PublicKey::from_byte_array_uncompressed(bytes).ok()
}

/// A public key from the hex of a header: 130 digits that start with 04.
pub(super) fn public_from_hex(hex: &str) -> Option<PublicKey> {
    if hex.len() != 2 * PUBLIC_BYTES || !hex.starts_with("04") {
        return None;
    }
    public_from_bytes(&from_hex(hex)?)
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
    let public = public_from_bytes(public).ok_or(Unopened::Undecryptable)?;
    let nonce: [u8; NONCE_BYTES] = nonce.try_into().map_err(|_| Unopened::Undecryptable)?;
    cipher(secret, &public)
        .decrypt((&nonce).into(), sealed)
        .map_err(|_| Unopened::Undecryptable)
}

fn cipher(secret: &SecretKey, public: &PublicKey) -> Aes256Gcm {
    // `SharedSecret` would be a hash of the point; the protocol takes the x coordinate as it is.
    let point = ecdh::shared_secret_point(public, secret);
    let mut key = [0; 32];
    Hkdf::<Sha256>::new(None, &point[..32])
        .expand(INFO, &mut key)
        .expect("32 bytes are within the limit of HKDF");
    Aes256Gcm::new(&key.into())
}

/// The Ethereum address of a public key.
pub(super) fn address(public: &PublicKey) -> [u8; 20] {
    Address::from_raw_public_key(&public_bytes(public)[1..]).into_array()
}

/// Signs a text the way wallets sign messages; 65 bytes with the recovery id.
pub(super) fn sign(secret: &SecretKey, text: &str) -> [u8; EvmSignature::LEN] {
    let prefixed = format!("\x19Ethereum Signed Message:\n{}{text}", text.len());
    let signer = Signer::from_bytes(secret.to_secret_bytes())
        .expect("a secret key is neither zero nor above the order of the curve");
    signer.sign(keccak256(prefixed)).to_bytes()
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
    fn a_text_is_sealed_to_the_bytes_of_another_implementation() {
        let [server, ephemeral] = [[1; 32], [2; 32]].map(|seed| secret(&seed));
        let sealed = seal(&server.public_key(), &ephemeral, &[9; 12], b"hello");
        // By OpenSSL: its agreement is on the x coordinate.
        let expected = "d59d5dcdf3bda561f47a95e0389cb90eab41582ec9";
        assert_eq!(sealed[2 * (65 + 12)..], *expected);
    }

    #[test]
    fn a_text_is_signed_to_the_bytes_of_another_implementation() {
        // By `k256`, with the nonce of RFC 6979.
        let expected = "f186a035b50de31ac4d913b550ae6fe2fe9e7225c635f108c71e9135de228a2a\
            567dd55d0a4d2115d30c9226903b0feef967ae4d2daf2c07c7fb70676600c15d1b";
        assert_eq!(to_hex(&sign(&secret(&[1; 32]), "hello")), expected);
    }

    #[test]
    fn a_key_of_another_form_is_no_key() {
        let [server, ephemeral] = [[1; 32], [2; 32]].map(|seed| secret(&seed));
        let sealed = seal(&server.public_key(), &ephemeral, &[9; 12], b"hello");
        for form in ["00", "02", "03", "05", "06", "07"] {
            let other = format!("{form}{}", &sealed[2..]);
            assert_eq!(
                open(&server, &other),
                Err(Unopened::Undecryptable),
                "{form}"
            );
            assert_eq!(public_from_hex(&other[..2 * PUBLIC_BYTES]), None, "{form}");
        }
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
