//! Questions in a store of vectors: names of their places, and their content encrypted.

use aes_gcm::Nonce;
use aes_gcm::aead::{Aead, Payload};

use super::{MAGIC, SALT_BYTES, Vault};
use crate::key::Key;
use crate::second::Loss;
use crate::semantic::{SearchSpace, SharedQuestion};

impl Vault {
    /// The name of a place where questions are compared: 64 hex digits. It hides account, model and
    /// context.
    #[must_use]
    pub fn space(&self, space: &SearchSpace) -> String {
        let domain = space.domain.as_str().as_bytes();
        let context = space.context.as_bytes();
        self.digest(&[b"space", context, domain, &space.embedder])
    }

    /// The id of the question of an answer, as a UUID.
    #[must_use]
    pub fn question_id(&self, key: &Key) -> String {
        let digest = self.digest(&[b"question", key.as_bytes()]);
        let part = |from: usize, to: usize| &digest[from..to];
        format!(
            "{}-{}-{}-{}-{}",
            part(0, 8),
            part(8, 12),
            part(12, 16),
            part(16, 20),
            part(20, 32)
        )
    }

    /// A question as a value for one place. `salt` comes from the system's random source, new for
    /// each value.
    ///
    /// # Errors
    /// [`Loss::Withheld`] where it cannot be encrypted.
    pub fn close_question(
        &self,
        space: &SearchSpace,
        question: &SharedQuestion,
        salt: [u8; SALT_BYTES],
    ) -> Result<Vec<u8>, Loss> {
        let count = u16::try_from(question.vector.len()).map_err(|_| Loss::Withheld)?;
        let mut plain = question.key.as_bytes().to_vec();
        plain.extend(count.to_le_bytes());
        plain.extend(question.vector.iter().map(|one| one.cast_unsigned()));
        plain.extend(question.text.as_bytes());
        let place = self.space(space);
        let payload = Payload {
            msg: &plain,
            aad: place.as_bytes(),
        };
        let sealed = self.cipher(&salt).encrypt(&Nonce::default(), payload);
        let sealed = sealed.map_err(|_| Loss::Withheld)?;
        Ok([MAGIC.as_slice(), &salt, &sealed].concat())
    }

    /// The question that a value of a place holds.
    ///
    /// # Errors
    /// [`Loss::Foreign`] where the value was not made with this key for this place, and
    /// [`Loss::Corrupt`] where it was and holds no question.
    pub fn open_question(&self, space: &SearchSpace, value: &[u8]) -> Result<SharedQuestion, Loss> {
        let plain = self.opened(value, self.space(space).as_bytes())?;
        read(&plain).ok_or(Loss::Corrupt)
    }
}

fn read(plain: &[u8]) -> Option<SharedQuestion> {
    let (key, rest) = plain.split_first_chunk::<32>()?;
    let (count, rest) = rest.split_first_chunk::<2>()?;
    let (vector, text) = rest.split_at_checked(usize::from(u16::from_le_bytes(*count)))?;
    Some(SharedQuestion {
        key: Key::from_bytes(*key),
        vector: vector.iter().map(|one| one.cast_signed()).collect(),
        text: std::str::from_utf8(text).ok()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::Domain;

    #[test]
    fn a_question_opens_in_its_own_place_with_the_same_key_alone() {
        let vault = |byte| Vault::new(&[byte; 32]).unwrap();
        let space = |byte| SearchSpace {
            context: Key::from_bytes([byte; 32]),
            domain: Domain::Reference,
            embedder: [7; 32],
        };
        let question = SharedQuestion {
            key: Key::from_bytes([3; 32]),
            vector: vec![127, -1, 0].into(),
            text: "How do I turn on night mode?".into(),
        };
        let value = vault(1).close_question(&space(1), &question, [9; SALT_BYTES]);
        let value = value.unwrap();
        assert!(!value.windows(5).any(|part| part == b"night"));
        assert_eq!(
            vault(1).open_question(&space(1), &value),
            Ok(question.clone())
        );
        assert_eq!(
            vault(1).open_question(&space(2), &value),
            Err(Loss::Foreign)
        );
        assert_eq!(
            vault(2).open_question(&space(1), &value),
            Err(Loss::Foreign)
        );
        for at in 0..value.len() {
            let mut broken = value.clone();
            broken[at] ^= 1;
            assert_eq!(
                vault(1).open_question(&space(1), &broken),
                Err(Loss::Foreign)
            );
        }
        assert_ne!(vault(1).space(&space(1)), vault(1).space(&space(2)));
        assert_ne!(vault(1).space(&space(1)), vault(2).space(&space(1)));
        let id = vault(1).question_id(&question.key);
        assert_eq!(
            id.split('-').map(str::len).collect::<Vec<_>>(),
            [8, 4, 4, 4, 12]
        );
        assert_eq!(question.similarity(&[127, -1, 0]), 1.0 + 1.0 / 16_129.0);
        assert_eq!(question.similarity(&[127, -1]), 0.0);
    }
}
