//! Words of providers' failures.

use std::borrow::Cow;

use bardo_types::fault::{Fault, FaultClass};

/// The failure of a provider whose answer cannot be read.
pub(crate) fn malformed(message: impl Into<Cow<'static, str>>) -> Fault {
    Fault::new(FaultClass::Malformed, message)
}

/// Longest message of a failure that is quoted, in bytes.
pub(crate) const MESSAGE_LIMIT: usize = 2048;

/// A message cut to what a failure may quote, with a sign that something is missing.
pub(crate) fn bounded(mut message: String) -> String {
    if message.len() > MESSAGE_LIMIT {
        message.truncate(message.floor_char_boundary(MESSAGE_LIMIT - '…'.len_utf8()));
        message.push('…');
    }
    message
}

/// A message cut to what a failure may quote, without a sign.
pub(crate) fn cut(mut message: String) -> String {
    message.truncate(message.floor_char_boundary(MESSAGE_LIMIT));
    message
}
