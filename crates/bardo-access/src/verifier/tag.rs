//! What the caches know a presented key by.

use std::hash::{BuildHasherDefault, Hasher};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

/// HMAC-SHA256 of a whole presented key, under a key that lives and dies with this process. It tells
/// nothing of what was presented, and nobody outside can choose where it falls.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tag([u8; 32]);

impl Tag {
    /// Where it falls in a table.
    pub(super) const fn slot(self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}

impl PartialEq for Tag {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Tag {}

impl std::hash::Hash for Tag {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.slot());
    }
}

/// Tags are uniform and secret already, so a table of them needs no further hash.
#[derive(Debug, Default)]
pub(super) struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("a tag hashes itself as one number")
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

pub(super) type TagMap<V> = std::collections::HashMap<Tag, V, BuildHasherDefault<AsIs>>;

/// Computes the tags of keys.
pub(super) struct Tagger(Hmac<Sha256>);

impl Tagger {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        Self(Hmac::new_from_slice(key).expect("HMAC takes keys of any length"))
    }

    pub(super) fn tag(&self, text: &str) -> Tag {
        let mut mac = self.0.clone();
        mac.update(text.as_bytes());
        Tag(mac.finalize().into_bytes().into())
    }
}
