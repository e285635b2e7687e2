//! Ids and keys within the API's limit.

use std::borrow::Cow;

use crate::kit::tool_names::digest;

/// Longest call id, cache key and user id that the API takes.
const LONGEST: usize = 64;

/// A call id that the API takes; the same id always gives the same text, so pairs stay pairs.
pub(super) fn call_id(id: &str) -> Cow<'_, str> {
    if id.len() <= LONGEST && !id.is_empty() {
        Cow::Borrowed(id)
    } else {
        Cow::Owned(format!("call_{}", digest(id, 16)))
    }
}

/// An opaque key within the API's limit: itself, or its digest.
pub(super) fn key(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(digest(text, 32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_keys_keep_to_the_limit() {
        assert_eq!(call_id("toolu_1"), "toolu_1");
        assert!(call_id(&"a".repeat(100)).len() <= 64);
        assert_eq!(key(&"u".repeat(200)).len(), 64);
    }
}
