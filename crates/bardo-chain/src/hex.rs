//! Numbers and bytes as JSON-RPC writes them (<https://ethereum.org/en/developers/docs/apis/json-rpc>).

use std::fmt::Write as _;

use serde_json::Value;

/// Bytes as `0x` and two digits each.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 + 2 * bytes.len());
    out.push_str("0x");
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// A number as `0x` and digits without zeros in front.
pub(crate) fn of_number(number: u64) -> String {
    format!("{number:#x}")
}

/// The bytes of a text with `0x` in front.
pub(crate) fn bytes(value: &Value) -> Option<Vec<u8>> {
    let digits = value.as_str()?.strip_prefix("0x")?;
    if digits.len() % 2 != 0 {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = digits.as_bytes().chunks_exact(2);
    pairs
        .map(|pair| u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok())
        .collect()
}

/// A word of so many bytes.
pub(crate) fn word<const N: usize>(value: &Value) -> Option<[u8; N]> {
    bytes(value)?.try_into().ok()
}

/// A number of at most 64 bits.
pub(crate) fn number(value: &Value) -> Option<u64> {
    let digits = value.as_str()?.strip_prefix("0x")?;
    u64::from_str_radix(digits, 16).ok()
}

/// A number of at most 128 bits.
pub(crate) fn wide(value: &Value) -> Option<u128> {
    let digits = value.as_str()?.strip_prefix("0x")?;
    u128::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_and_bytes_are_read_strictly() {
        assert_eq!(of_bytes(&[0, 0xab]), "0x00ab");
        assert_eq!(of_number(0), "0x0");
        assert_eq!(bytes(&json!("0x00aB")), Some(vec![0, 0xab]));
        assert_eq!(word::<2>(&json!("0x00ab")), Some([0, 0xab]));
        assert_eq!(number(&json!("0x10")), Some(16));
        assert_eq!(wide(&json!("0x1f")), Some(31));
        for bad in [
            json!("00"),
            json!("0x0"),
            json!("0xzz"),
            json!(1),
            json!(null),
        ] {
            assert_eq!(bytes(&bad), None, "{bad}");
        }
        for bad in [
            json!("10"),
            json!("0x"),
            json!("0x1ffffffffffffffff"),
            json!(1),
        ] {
            assert_eq!(number(&bad), None, "{bad}");
        }
    }
}
