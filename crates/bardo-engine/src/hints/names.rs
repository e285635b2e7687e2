//! Names of a caller's agents, sessions and subjects, within a bound.

use std::sync::Arc;

/// The most bytes of a name; they are names, not places to keep things.
const NAME_MAX: usize = 128;
/// Hexadecimal digits that tell a shortened name from others with the same beginning.
const DIGITS: usize = 32;

/// A name as the gateway keeps it, without spaces around it. A name of more than 128 bytes is its
/// beginning, `~`, and a digest of all of it, so that two names never become one. `None` where there
/// is none.
#[must_use]
pub fn bounded_name(text: &str) -> Option<Arc<str>> {
    let text = text.trim();
    if text.len() <= NAME_MAX {
        return Some(text.into()).filter(|text: &Arc<str>| !text.is_empty());
    }
    let start = &text[..text.floor_char_boundary(NAME_MAX - DIGITS - 1)];
    let digest = blake3::hash(text.as_bytes()).to_hex();
    Some(format!("{start}~{}", &digest[..DIGITS]).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_with_one_beginning_stay_apart() {
        for letter in ["a", "ö", "€"] {
            let start = letter.repeat(NAME_MAX);
            let [one, other] = ["1", "2"].map(|end| bounded_name(&format!("{start}{end}")));
            let (one, other) = (one.unwrap(), other.unwrap());
            assert_ne!(one, other);
            assert!(one.len() <= NAME_MAX && one.starts_with(letter), "{one}");
            assert_eq!(bounded_name(&format!(" {start}1 ")), Some(one));
        }
        let whole = "a".repeat(NAME_MAX);
        assert_eq!(bounded_name(&whole).as_deref(), Some(whole.as_str()));
        assert_eq!(bounded_name("  "), None);
    }
}
