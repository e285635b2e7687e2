//! Opaque tokens that only this sandbox can mint: signatures, encrypted reasoning.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

const MAC_BYTES: usize = 16;

/// Mints and opens seals under one seed.
///
/// A seal binds to data that the caller shows again later (`bound`), and carries data that only
/// the sandbox reads (`carried`). Changing one character of either makes it worthless.
#[derive(Debug)]
pub(crate) struct Seals {
    seed: u64,
}

impl Seals {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// A seal for `purpose`, as standard base64.
    pub(crate) fn mint(&self, purpose: &str, bound: &[&[u8]], carried: &[u8]) -> String {
        let mac = self.mac(purpose, bound, carried);
        let mut sealed = mac.to_vec();
        sealed.extend(self.masked(&mac, carried));
        STANDARD.encode(sealed)
    }

    /// The carried data of a genuine seal; `None` if it or `bound` was changed.
    pub(crate) fn open(&self, purpose: &str, bound: &[&[u8]], seal: &str) -> Option<Vec<u8>> {
        let sealed = STANDARD.decode(seal).ok()?;
        let (mac, masked) = sealed.split_at_checked(MAC_BYTES)?;
        let carried = self.masked(mac, masked);
        (self.mac(purpose, bound, &carried) == mac).then_some(carried)
    }

    fn mac(&self, purpose: &str, bound: &[&[u8]], carried: &[u8]) -> [u8; MAC_BYTES] {
        let mut hash = Sha256::new();
        hash.update(b"seal");
        hash.update(self.seed.to_be_bytes());
        for part in [purpose.as_bytes(), carried].iter().chain(bound) {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let digest = hash.finalize();
        let mut mac = [0; MAC_BYTES];
        mac.copy_from_slice(&digest[..MAC_BYTES]);
        mac
    }

    /// Hides or reveals carried data, so that nobody builds on reading it.
    fn masked(&self, mac: &[u8], data: &[u8]) -> Vec<u8> {
        let mut masked = Vec::with_capacity(data.len());
        for (block, chunk) in data.chunks(32).enumerate() {
            let mut hash = Sha256::new();
            hash.update(b"mask");
            hash.update(self.seed.to_be_bytes());
            hash.update(mac);
            hash.update((block as u64).to_be_bytes());
            masked.extend(
                chunk
                    .iter()
                    .zip(hash.finalize())
                    .map(|(byte, mask)| byte ^ mask),
            );
        }
        masked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_opens_only_with_what_it_was_bound_to() {
        let seals = Seals::new(7);
        let seal = seals.mint("thinking", &[b"text"], b"model-a");
        assert_eq!(
            seals.open("thinking", &[b"text"], &seal).as_deref(),
            Some(&b"model-a"[..])
        );
        assert_eq!(seals.open("thinking", &[b"texT"], &seal), None);
        assert_eq!(seals.open("other", &[b"text"], &seal), None);
        assert_eq!(Seals::new(8).open("thinking", &[b"text"], &seal), None);
        let mut tampered = seal.clone().into_bytes();
        tampered[5] = if tampered[5] == b'A' { b'B' } else { b'A' };
        let tampered = String::from_utf8(tampered).expect("still ASCII");
        assert_eq!(seals.open("thinking", &[b"text"], &tampered), None);
        assert!(!seal.contains("model"));
    }
}
