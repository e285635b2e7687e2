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
