//! Names of accounts, keys and requests. Parsed once; short, printable and safe in paths, logs and
//! SQL parameters.

use std::fmt;
use std::sync::Arc;

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an id must have 1 to 128 characters of A-Z a-z 0-9 _ - . :")]
pub struct InvalidId;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Reads an id.
            ///
            /// # Errors
            /// When it is empty, too long, or holds other characters than ids do.
            pub fn parse(text: &str) -> Result<Self, InvalidId> {
                let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte);
                if (1..=128).contains(&text.len()) && text.bytes().all(is_allowed) {
                    Ok(Self(text.into()))
                } else {
                    Err(InvalidId)
                }
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// A copy with a text of its own. Threads that clone one id at the same time wait for
            /// each other.
            #[must_use]
            pub fn unshared(&self) -> Self {
                Self(Arc::from(&*self.0))
            }

            /// The id as text that is kept without a copy.
            #[must_use]
            pub fn to_shared(&self) -> Arc<str> {
                Arc::clone(&self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

ids! {
    /// An account: what money belongs to, and what remembered state is partitioned by.
    AccountId
    /// The public part of a key. Several keys may draw on one account.
    KeyId
    /// A request. Made here and never used twice: callers may give the same `x-request-id` to
    /// several, so theirs is kept beside it.
    RequestId
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_short_and_plain() {
        assert_eq!(AccountId::parse("acct_1").unwrap().to_string(), "acct_1");
        for bad in ["", "a b", "a/b", "a'b", "ä", &"a".repeat(129)] {
            assert_eq!(KeyId::parse(bad), Err(InvalidId), "{bad}");
        }
    }
}
