//! How a key is written: `bardo_sk_<id>_<secret>`, and how its secret is kept.

use bardo_types::ids::KeyId;
use bardo_types::secret::Secret;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// bcrypt's cost. A secret of ours has 256 random bits, so nobody finds it by trying and there is
/// nothing to stretch; the cost only bounds what a flood of wrong keys takes from this machine
/// (about a millisecond each, on a thread of its own).
const COST: u32 = 5;

/// Text that is stored for the secret `-`, at [`COST`]. A key without a record is compared with it, so an unknown id
/// takes as long as a wrong secret. Secrets are letters and digits, so it fits none of them. It is a
/// constant because making it takes two milliseconds of every start.
pub(crate) const STAND_IN: &str = concat!(
    "$2b$05$abcdefghijklmnopqrstuuSLSyUevfyNdEDFVS5Et/H8CvRFSPnyW",
    ";hmac-sha256=297c045f64c5dc4f8e51def6d54c316ab7768ec29c55c9bde02fbd4968b75eef",
);

/// bcrypt reads no more than 72 bytes; what is longer is no key of ours, rather than one of which
/// only the beginning counts.
const SECRET_MAX: usize = 64;

/// Length of 256 bits at 62 values per character.
const SECRET_LENGTH: usize = 43;

/// The use that a key is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// A secret key, `bardo_sk_`: can spend money.
    Spend,
    /// `bardo_pk_`: reads balance, usage, receipts and models, and nothing else.
    ReadOnly,
}

impl KeyKind {
    /// The prefix of its keys.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Spend => "bardo_sk_",
            Self::ReadOnly => "bardo_pk_",
        }
    }

    /// Name of the kind, as stores and listings write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Spend => "spend",
            Self::ReadOnly => "read_only",
        }
    }

    /// Kind of a stored name. An unknown name gives the kind that may do least.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name {
            "spend" => Self::Spend,
            _ => Self::ReadOnly,
        }
    }

    /// The kind of key that a text claims to be.
    #[must_use]
    pub fn claimed_by(text: &str) -> Option<Self> {
        [Self::Spend, Self::ReadOnly]
            .into_iter()
            .find(|kind| text.starts_with(kind.prefix()))
    }
}

/// A text that claims to be a key of ours and is not one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the format of a key is bardo_sk_<id>_<secret> or bardo_pk_<id>_<secret>")]
pub struct InvalidKey;

/// The machine gave no randomness, or a secret cannot be hashed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot create a key: {0}")]
pub struct KeyMakingError(String);

/// A key as a caller presents it.
#[derive(Debug, Clone)]
pub struct PresentedKey {
    /// The kind that the text claims.
    pub kind: KeyKind,
    /// Its public part, by which it is looked up.
    pub id: KeyId,
    /// Its secret part.
    pub secret: Secret,
}

impl PresentedKey {
    /// Makes a new key: an id of 80 random bits and a secret of 256.
    ///
    /// # Errors
    /// When the operating system gives no randomness.
    pub fn generate(kind: KeyKind) -> Result<Self, KeyMakingError> {
        const ID_ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
        let mut id = [0; 16];
        let mut secret = Zeroizing::new([0; 32]);
        getrandom::fill(&mut id)
            .and_then(|()| getrandom::fill(&mut *secret))
            .map_err(|error| KeyMakingError(error.to_string()))?;
        let id: String = id
            .iter()
            .map(|byte| char::from(ID_ALPHABET[usize::from(byte % 32)]))
            .collect();
        Ok(Self {
            kind,
            id: KeyId::parse(&id).expect("the alphabet of ids is one of letters and digits"),
            secret: Secret::new(base62(&secret)),
        })
    }

    /// Reads a key; `None` when it does not begin like one of ours.
    #[must_use]
    pub fn parse(text: &str) -> Option<Result<Self, InvalidKey>> {
        let kind = KeyKind::claimed_by(text)?;
        let rest = &text[kind.prefix().len()..];
        Some(Self::split(kind, rest))
    }

    /// The key as its holder keeps it. It is shown once, when it is made.
    #[must_use]
    pub fn text(&self) -> Secret {
        Secret::new(format!(
            "{}{}_{}",
            self.kind.prefix(),
            self.id,
            self.secret.expose()
        ))
    }

    fn split(kind: KeyKind, rest: &str) -> Result<Self, InvalidKey> {
        let (id, secret) = rest.split_once('_').ok_or(InvalidKey)?;
        if secret.is_empty()
            || secret.len() > SECRET_MAX
            || !secret.bytes().all(|b| b.is_ascii_alphanumeric())
        {
            return Err(InvalidKey);
        }
        Ok(Self {
            kind,
            id: KeyId::parse(id).map_err(|_| InvalidKey)?,
            secret: Secret::new(secret.to_owned()),
        })
    }
}

/// The number in base 62, always of the same length.
fn base62(bytes: &[u8; 32]) -> String {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut number = Zeroizing::new(*bytes);
    let mut digits = [b'0'; SECRET_LENGTH];
    for digit in digits.iter_mut().rev() {
        let mut rest = 0u16;
        for byte in number.iter_mut() {
            let value = rest << 8 | u16::from(*byte);
            *byte = u8::try_from(value / 62).expect("rest is below 62, so the quotient is a byte");
            rest = value % 62;
        }
        *digit = ALPHABET[usize::from(rest)];
    }
    digits.iter().map(|&digit| char::from(digit)).collect()
}

/// Stands between the bcrypt hash and the digest of a stored secret.
const DIGEST: &str = ";hmac-sha256=";

/// The text that is stored for a secret: its bcrypt hash, and a digest of it that is compared
/// first. A secret has 256 random bits, so a fast digest gives nothing away.
///
/// # Errors
/// When the secret is longer than bcrypt reads, or the operating system gives no randomness.
pub fn hash_secret(secret: &Secret) -> Result<String, KeyMakingError> {
    let hash = bcrypt::non_truncating_hash(secret.expose(), COST)
        .map_err(|error| KeyMakingError(error.to_string()))?;
    // The salted hash is the key of the digest, so equal secrets have different digests.
    let digest = digest(secret, &hash);
    Ok(format!("{hash}{DIGEST}{digest}"))
}

/// Whether `hash` was made of `secret`. Takes about a millisecond; a hash that is none fits nothing.
#[must_use]
pub fn verify_secret(secret: &Secret, hash: &str) -> bool {
    let hash = hash.split_once(DIGEST).map_or(hash, |(hash, _)| hash);
    bcrypt::non_truncating_verify(secret.expose(), hash).unwrap_or(false)
}

/// Whether the digest that is stored beside the hash fits the secret: within microseconds, and in
/// constant time. `None` for keys that were stored without one.
pub(crate) fn matches_digest(secret: &Secret, stored: &str) -> Option<bool> {
    let (hash, known) = stored.split_once(DIGEST)?;
    Some(
        digest(secret, hash)
            .as_bytes()
            .ct_eq(known.as_bytes())
            .into(),
    )
}

fn digest(secret: &Secret, hash: &str) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(hash.as_bytes()).expect("HMAC takes keys of any length");
    mac.update(secret.expose().as_bytes());
    let digest = mac.finalize().into_bytes();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Option<Result<(KeyKind, String, String), InvalidKey>> {
        PresentedKey::parse(text).map(|key| {
            key.map(|key| (key.kind, key.id.to_string(), key.secret.expose().to_owned()))
        })
    }

    #[test]
    fn a_made_key_reads_back_and_only_its_own_secret_fits_its_hash() {
        for kind in [KeyKind::Spend, KeyKind::ReadOnly] {
            let key = PresentedKey::generate(kind).unwrap();
            let text = key.text();
            let (read_kind, id, secret) = parse(text.expose()).unwrap().unwrap();
            assert_eq!((read_kind, id.as_str()), (kind, key.id.as_str()));
            assert_eq!(secret, key.secret.expose());
            assert_eq!(secret.len(), SECRET_LENGTH);
            let hash = hash_secret(&key.secret).unwrap();
            assert!(verify_secret(&key.secret, &hash));
            assert_eq!(matches_digest(&key.secret, &hash), Some(true));
            let other = PresentedKey::generate(kind).unwrap();
            assert!(!verify_secret(&other.secret, &hash));
            assert_eq!(matches_digest(&other.secret, &hash), Some(false));
            // Keys of earlier versions were stored without a digest.
            let (bare, _) = hash.split_once(DIGEST).unwrap();
            assert!(verify_secret(&key.secret, bare));
            assert_eq!(matches_digest(&key.secret, bare), None);
            assert!(!verify_secret(&key.secret, "no hash"));
        }
    }

    #[test]
    fn what_claims_to_be_a_key_is_one_or_is_refused() {
        for other in ["", "sk-1", "bardo_xk_a_b", "Bardo_sk_a_b", " bardo_sk_a_b"] {
            assert!(parse(other).is_none(), "{other}");
        }
        let long = format!("bardo_sk_a_{}", "x".repeat(SECRET_MAX + 1));
        for bad in [
            "bardo_sk_",
            "bardo_sk_a",
            "bardo_sk_a_",
            "bardo_sk__b",
            "bardo_sk_a_b_c",
            "bardo_sk_a_b c",
            "bardo_sk_a_\u{e9}",
            "bardo_sk_a/b_c",
            &long,
        ] {
            assert_eq!(parse(bad), Some(Err(InvalidKey)), "{bad}");
        }
    }

    #[test]
    fn a_secret_beyond_what_bcrypt_reads_is_refused_rather_than_cut() {
        assert!(hash_secret(&Secret::new("x".repeat(72))).is_err());
        assert!(hash_secret(&Secret::new("x".repeat(SECRET_MAX))).is_ok());
    }

    #[test]
    fn debug_shows_no_secret() {
        let key = PresentedKey::generate(KeyKind::Spend).unwrap();
        assert!(!format!("{key:?}").contains(key.secret.expose()));
    }

    proptest! {
        #[test]
        fn different_bits_are_different_secrets(a: [u8; 32], b: [u8; 32]) {
            prop_assert_eq!(a == b, base62(&a) == base62(&b));
            prop_assert_eq!(base62(&a).len(), SECRET_LENGTH);
        }
    }

    #[test]
    fn the_largest_number_fits_its_digits() {
        // 2^256 - 1, by an independent calculation below: the value reads back to the same bytes.
        let text = base62(&[0xff; 32]);
        let mut back = [0u8; 33];
        for character in text.bytes() {
            let digit = match character {
                b'0'..=b'9' => character - b'0',
                b'A'..=b'Z' => character - b'A' + 10,
                _ => character - b'a' + 36,
            };
            let mut carry = u16::from(digit);
            for byte in back.iter_mut().rev() {
                let value = u16::from(*byte) * 62 + carry;
                *byte = value.to_le_bytes()[0];
                carry = value >> 8;
            }
            assert_eq!(carry, 0);
        }
        assert_eq!((back[0], &back[1..]), (0, &[0xff; 32][..]));
    }
}
