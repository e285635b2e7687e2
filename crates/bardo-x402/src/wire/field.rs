//! Values of members: numbers as decimal text, bytes as hex.

use alloy_primitives::{Address, B256, U256, hex};
use serde::de::{Deserialize, Deserializer, Error};

/// Most bytes of a signature; those of wallets that are contracts have any length.
const MOST_SIGNATURE_BYTES: usize = 4096;
/// Digits of the largest number of 256 bits.
const MOST_DIGITS: usize = 78;

/// Decimal text without sign, exponent, point or leading zeros that fits 256 bits.
#[derive(Clone, Copy)]
pub(crate) struct DecimalAmount(pub(crate) U256);

/// A nonce of Permit2: decimal text, or hex with the prefix `0x`, as the specification prints it.
#[derive(Clone, Copy)]
pub(crate) struct Permit2Nonce(pub(crate) U256);

/// 20 bytes in hex with the prefix `0x`, in any case.
#[derive(Clone, Copy)]
pub(crate) struct HexAddress(pub(crate) Address);

/// 32 bytes in hex with the prefix `0x`.
#[derive(Clone, Copy)]
pub(crate) struct HexWord(pub(crate) B256);

/// The bytes of a signature in hex with the prefix `0x`.
pub(crate) struct HexSignature(pub(crate) Vec<u8>);

fn decimal(text: &str) -> Option<U256> {
    let digits = !text.is_empty()
        && text.len() <= MOST_DIGITS
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'));
    digits
        .then(|| U256::from_str_radix(text, 10).ok())
        .flatten()
}

fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.strip_prefix("0x")?;
    let mut bytes = [0; N];
    let plain = digits.len() == 2 * N && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain
        .then(|| hex::decode_to_slice(digits, &mut bytes).ok())
        .flatten()?;
    Some(bytes)
}

/// Reads an address where another text means that there is none.
pub(super) fn address(text: &str) -> Option<Address> {
    bytes::<20>(text).map(Address::from)
}

fn nonce(text: &str) -> Option<U256> {
    let Some(digits) = text.strip_prefix("0x") else {
        return decimal(text);
    };
    let hex = (1..=64).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    hex.then(|| U256::from_str_radix(digits, 16).ok()).flatten()
}

fn text<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    read: impl FnOnce(&str) -> Option<T>,
    expected: &str,
) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    read(&text).ok_or_else(|| D::Error::custom(expected))
}

impl<'de> Deserialize<'de> for DecimalAmount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "must be a whole number in decimal digits, as text, below 2^256";
        text(deserializer, decimal, expected).map(Self)
    }
}

impl<'de> Deserialize<'de> for Permit2Nonce {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "must be a number below 2^256 as text, in decimal or as 0x and hex";
        text(deserializer, nonce, expected).map(Self)
    }
}

impl<'de> Deserialize<'de> for HexAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "must be an address: 0x and 40 hex digits";
        text(deserializer, bytes::<20>, expected).map(|bytes| Self(bytes.into()))
    }
}

impl<'de> Deserialize<'de> for HexWord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "must be 32 bytes: 0x and 64 hex digits";
        text(deserializer, bytes::<32>, expected).map(|bytes| Self(bytes.into()))
    }
}

impl<'de> Deserialize<'de> for HexSignature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = |text: &str| {
            let digits = text.strip_prefix("0x")?;
            let fits = digits.len() <= 2 * MOST_SIGNATURE_BYTES;
            let plain = fits && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            plain.then(|| hex::decode(digits).ok()).flatten()
        };
        text(
            deserializer,
            read,
            "must be 0x and hex digits, at most 4096 bytes",
        )
        .map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_one_spelling() {
        let most = U256::MAX.to_string();
        assert_eq!(decimal("0"), Some(U256::ZERO));
        assert_eq!(decimal("1000000"), Some(U256::from(1_000_000)));
        assert_eq!(decimal(&most), Some(U256::MAX));
        let above = most.replace("935", "936");
        for text in [
            "",
            "-1",
            "+1",
            "01",
            "00",
            "1.0",
            "1e6",
            "0x1",
            " 1",
            "1 ",
            "1_000",
            "１",
            &above,
            &"9".repeat(78),
            &"1".repeat(79),
        ] {
            assert_eq!(decimal(text), None, "{text}");
        }
    }

    #[test]
    fn nonces_are_decimal_or_hex() {
        assert_eq!(nonce("17"), Some(U256::from(17)));
        assert_eq!(nonce("0x11"), Some(U256::from(17)));
        assert_eq!(nonce(&format!("0x{}", "f".repeat(64))), Some(U256::MAX));
        for text in [
            "0x",
            "11g",
            "0xg",
            &format!("0x{}", "0".repeat(65)),
            "-1",
            "0x_1",
        ] {
            assert_eq!(nonce(text), None, "{text}");
        }
    }

    #[test]
    fn bytes_have_a_prefix_and_one_length() {
        let address = format!("0x{}", "aB".repeat(20));
        assert_eq!(bytes::<20>(&address), Some([0xab; 20]));
        let bare = "ab".repeat(20);
        for text in [
            &bare[..],
            &address[..41],
            &format!("{address}0"),
            &format!("0X{bare}"),
            &format!("0x0x{}", &bare[4..]),
            &format!("0x0x{bare}"),
            "0x",
        ] {
            assert_eq!(bytes::<20>(text), None, "{text}");
        }
    }
}
