//! Entries of class Private, encrypted with a key that lives as long as the process.

use std::sync::atomic::{AtomicU64, Ordering};

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use zeroize::Zeroizing;

use crate::key::Key;

/// Encrypts answers for the memory of one process.
pub struct Sealer {
    cipher: Aes256Gcm,
    /// Counts the answers: a nonce is never used twice under one key.
    sealed: AtomicU64,
}

impl Sealer {
    /// A sealer with this key. The key must come from the system's random source, be new for each
    /// process, and never be written anywhere.
    #[must_use]
    pub fn new(key: Zeroizing<[u8; 32]>) -> Self {
        Self {
            cipher: Aes256Gcm::new((&*key).into()),
            sealed: AtomicU64::new(0),
        }
    }

    /// The answer, encrypted and bound to `key`; `None` once the key is used up.
    pub(crate) fn seal(&self, key: &Key, plain: &[u8]) -> Option<Vec<u8>> {
        let count = self.sealed.fetch_add(1, Ordering::Relaxed);
        if count == u64::MAX {
            return None;
        }
        let nonce = nonce_of(count);
        let payload = Payload {
            msg: plain,
            aad: key.as_bytes(),
        };
        let mut sealed = count.to_le_bytes().to_vec();
        sealed.extend(self.cipher.encrypt(&nonce, payload).ok()?);
        Some(sealed)
    }

    /// The answer that was sealed for `key`; `None` where the bytes are anything else.
    pub(crate) fn open(&self, key: &Key, sealed: &[u8]) -> Option<Vec<u8>> {
        let (count, body) = sealed.split_at_checked(8)?;
        let count = u64::from_le_bytes(count.try_into().ok()?);
        let payload = Payload {
            msg: body,
            aad: key.as_bytes(),
        };
        self.cipher.decrypt(&nonce_of(count), payload).ok()
    }
}

fn nonce_of(count: u64) -> Nonce<aes_gcm::aead::consts::U12> {
    let mut nonce = [0; 12];
    nonce[..8].copy_from_slice(&count.to_le_bytes());
    nonce.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> Key {
        Key::from_bytes([byte; 32])
    }

    #[test]
    fn a_sealed_answer_opens_for_its_own_key_and_process_alone() {
        let sealer = Sealer::new([1; 32].into());
        let sealed = sealer.seal(&key(1), b"a private answer").unwrap();
        assert_eq!(sealer.open(&key(1), &sealed).unwrap(), b"a private answer");
        assert!(!sealed.windows(7).any(|part| part == b"private"));
        assert_eq!(sealer.open(&key(2), &sealed), None);
        assert_eq!(Sealer::new([2; 32].into()).open(&key(1), &sealed), None);
        for at in 0..sealed.len() {
            let mut broken = sealed.clone();
            broken[at] ^= 1;
            assert_eq!(sealer.open(&key(1), &broken), None, "{at}");
        }
        assert_eq!(sealer.open(&key(1), &sealed[..5]), None);
    }

    #[test]
    fn equal_answers_are_sealed_to_different_bytes() {
        let sealer = Sealer::new([1; 32].into());
        let sealed: Vec<_> = (0..3)
            .map(|_| sealer.seal(&key(1), b"a").unwrap())
            .collect();
        assert_ne!(sealed[0], sealed[1]);
        assert_ne!(sealed[1], sealed[2]);
    }
}
