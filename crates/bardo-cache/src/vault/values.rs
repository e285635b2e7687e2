//! Short-lived values that processes share: names hidden, content encrypted.

use aes_gcm::Nonce;
use aes_gcm::aead::{Aead, Payload};

use super::{MAGIC, SALT_BYTES, Vault};
use crate::second::Loss;
use crate::shared::SharedName;

impl Vault {
    /// The name of a shared value: 64 hex digits.
    #[must_use]
    pub fn shared_name(&self, name: &SharedName) -> String {
        let mut parts: Vec<&[u8]> = vec![b"shared", name.kind.as_bytes()];
        parts.extend(name.parts.iter().map(|part| part.as_bytes()));
        self.digest(&parts)
    }

    /// A shared value, encrypted for its name. `salt` comes from the system's random source, new for
    /// each value.
    ///
    /// # Errors
    /// [`Loss::Withheld`] where it cannot be encrypted.
    pub fn close_shared(
        &self,
        name: &SharedName,
        plain: &[u8],
        salt: [u8; SALT_BYTES],
    ) -> Result<Vec<u8>, Loss> {
        let place = self.shared_name(name);
        let payload = Payload {
            msg: plain,
            aad: place.as_bytes(),
        };
        let sealed = self.cipher(&salt).encrypt(&Nonce::default(), payload);
        let sealed = sealed.map_err(|_| Loss::Withheld)?;
        Ok([MAGIC.as_slice(), &salt, &sealed].concat())
    }

    /// The content of a shared value.
    ///
    /// # Errors
    /// [`Loss::Foreign`] where it was not made with this key for this name.
    pub fn open_shared(&self, name: &SharedName, value: &[u8]) -> Result<Vec<u8>, Loss> {
        self.opened(value, self.shared_name(name).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vault(byte: u8) -> Vault {
        Vault::new(&[byte; 32]).expect("a key of 32 bytes")
    }

    #[test]
    fn a_value_opens_under_its_name_and_key_alone() {
        let name = SharedName::new("answer", &["acct_1", "key"]);
        let closed = vault(1).close_shared(&name, b"secret words", [7; SALT_BYTES]);
        let closed = closed.expect("it is encrypted");
        assert!(!closed.windows(6).any(|part| part == b"secret"));
        assert_eq!(
            vault(1).open_shared(&name, &closed),
            Ok(b"secret words".to_vec())
        );
        let others = [
            SharedName::new("thinking", &["acct_1", "key"]),
            SharedName::new("answer", &["acct_1k", "ey"]),
            SharedName::new("answer", &["acct_1", "key", ""]),
        ];
        for other in others {
            assert_ne!(vault(1).shared_name(&name), vault(1).shared_name(&other));
            assert_eq!(vault(1).open_shared(&other, &closed), Err(Loss::Foreign));
        }
        assert_eq!(vault(2).open_shared(&name, &closed), Err(Loss::Foreign));
        assert_eq!(
            vault(1).open_shared(&name, &closed[..20]),
            Err(Loss::Foreign)
        );
    }
}
