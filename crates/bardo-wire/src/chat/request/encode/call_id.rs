//! Ids of calls that every service takes.

use std::borrow::Cow;

use crate::kit::tool_names::{digest, is_plain};

/// Longest id of a call that all services take.
const ID_LIMIT: usize = 40;

/// An id of a call in letters that every service takes; the same everywhere for the same id.
pub(super) fn call_id(id: &str) -> Cow<'_, str> {
    if (1..=ID_LIMIT).contains(&id.len()) && id.bytes().all(is_plain) {
        Cow::Borrowed(id)
    } else {
        Cow::Owned(format!("call_{}", digest(id, 12)))
    }
}
