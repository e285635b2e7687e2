//! Base64 and JSON with limits.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor,
};

/// Most bytes of a message after base64. Offers with schemas of their extensions are the longest.
const MOST_BYTES: usize = 64 * 1024;
/// Most members of one object.
const MOST_MEMBERS: usize = 64;

/// Why a message of the protocol cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MalformedMessage {
    /// The header is not base64 of the standard alphabet with padding.
    #[error("the header is not base64 of the standard alphabet with padding")]
    Base64,
    /// The message is longer than the limit.
    #[error("the message is longer than {MOST_BYTES} bytes")]
    TooLong,
    /// A member is missing, twice there, or has a value that it cannot have.
    #[error("`{member}`: {problem}")]
    Member {
        /// Path of the member, such as `payload.authorization.value`.
        member: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The number of the version is neither 1 nor 2.
    #[error("`x402Version` must be 1 or 2")]
    Version,
}

impl MalformedMessage {
    pub(crate) fn member(member: &str, problem: impl Into<String>) -> Self {
        Self::Member {
            member: member.to_owned(),
            problem: problem.into(),
        }
    }
}

/// Decodes the base64 of a header: standard alphabet, with padding.
///
/// # Errors
/// For other text, and for text above the limit.
pub fn decode_header(header: &[u8]) -> Result<Vec<u8>, MalformedMessage> {
    if header.len() > MOST_BYTES.div_ceil(3) * 4 {
        return Err(MalformedMessage::TooLong);
    }
    STANDARD
        .decode(header)
        .map_err(|_| MalformedMessage::Base64)
}

/// Encodes JSON for a header.
#[must_use]
pub fn encode_header(json: &str) -> String {
    STANDARD.encode(json)
}

/// Reads JSON without a member twice in one object.
pub(crate) fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, MalformedMessage> {
    if json.len() > MOST_BYTES {
        return Err(MalformedMessage::TooLong);
    }
    let mut reader = serde_json::Deserializer::from_slice(json);
    let whole = MembersOnce.deserialize(&mut reader);
    let whole = whole.and_then(|()| reader.end());
    whole.map_err(|error| MalformedMessage::member(".", error.to_string()))?;
    let mut reader = serde_json::Deserializer::from_slice(json);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let member = error.path().to_string();
        MalformedMessage::member(&member, error.into_inner().to_string())
    })
}

/// Walks any JSON and refuses an object with a member twice.
struct MembersOnce;

impl<'de> DeserializeSeed<'de> for MembersOnce {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for MembersOnce {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(MembersOnce)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut seen: Vec<String> = Vec::new();
        while let Some(name) = members.next_key::<String>()? {
            if seen.contains(&name) {
                return Err(A::Error::custom(format_args!(
                    "the member `{name}` is there twice"
                )));
            }
            if seen.len() == MOST_MEMBERS {
                let limit = format_args!("an object has more than {MOST_MEMBERS} members");
                return Err(A::Error::custom(limit));
            }
            seen.push(name);
            members.next_value_seed(MembersOnce)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn problem(json: &str) -> String {
        read::<Value>(json.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_member_twice_is_refused_at_any_depth() {
        assert!(problem(r#"{"a":1,"a":1}"#).contains("`a` is there twice"));
        assert!(problem(r#"{"x":[{"b":{"a":1,"\u0061":2}}]}"#).contains("`a` is there twice"));
        assert!(read::<Value>(br#"{"x":{"a":1},"y":{"a":1}}"#).is_ok());
    }

    #[test]
    fn long_wide_deep_and_trailing_json_is_refused() {
        let wide: Vec<String> = (0..=MOST_MEMBERS).map(|n| format!("\"{n}\":0")).collect();
        assert!(problem(&format!("{{{}}}", wide.join(","))).contains("more than 64 members"));
        assert!(problem(&"[".repeat(2_000)).contains("recursion limit"));
        assert!(problem("{} {}").contains("trailing"));
        let long = format!("\"{}\"", "x".repeat(MOST_BYTES));
        assert_eq!(
            read::<Value>(long.as_bytes()),
            Err(MalformedMessage::TooLong)
        );
    }

    #[test]
    fn a_header_is_base64_of_the_standard_alphabet_with_padding() {
        assert_eq!(decode_header(b"e30="), Ok(b"{}".to_vec()));
        for header in ["e30", "e3-_", "e30= ", "{}", "e30=="] {
            let refused = decode_header(header.as_bytes());
            assert_eq!(refused, Err(MalformedMessage::Base64), "{header}");
        }
        let long = "A".repeat(MOST_BYTES * 2);
        assert_eq!(
            decode_header(long.as_bytes()),
            Err(MalformedMessage::TooLong)
        );
        assert_eq!(encode_header("{}"), "e30=");
    }
}
