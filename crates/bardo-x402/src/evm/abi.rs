//! Contract ABI encoding of calls whose arguments are words and byte strings, and of hashed structs.
//!
//! Source: <https://docs.soliditylang.org/en/latest/abi-spec.html>.

use alloy_primitives::{Address, B256, U256, keccak256};

/// Length of a word of the ABI in bytes.
pub(super) const WORD: usize = 32;

/// Words in order, as a struct is hashed (EIP-712) and as static arguments are laid out.
#[derive(Default)]
pub(crate) struct Words(Vec<u8>);

impl Words {
    /// Begins with one word, such as a type hash.
    pub(crate) fn of(first: B256) -> Self {
        Self(first.to_vec())
    }

    pub(crate) fn word(mut self, word: B256) -> Self {
        self.0.extend_from_slice(word.as_slice());
        self
    }

    pub(crate) fn address(self, address: Address) -> Self {
        self.word(address.into_word())
    }

    pub(crate) fn uint(self, value: U256) -> Self {
        self.word(B256::from(value))
    }

    /// Hash of the words: `hashStruct` of EIP-712 where the first word is a type hash.
    pub(crate) fn hash(&self) -> B256 {
        keccak256(&self.0)
    }
}

/// A call under construction: selector, static arguments, at most a few byte strings.
pub(crate) struct Calldata {
    selector: [u8; 4],
    head: Words,
    /// Byte strings and lists, encoded, with the index of the head word that holds their offset.
    tails: Vec<(usize, Vec<u8>)>,
}

impl Calldata {
    pub(crate) fn new(selector: [u8; 4]) -> Self {
        Self {
            selector,
            head: Words::default(),
            tails: Vec::new(),
        }
    }

    pub(crate) fn word(mut self, word: B256) -> Self {
        self.head = self.head.word(word);
        self
    }

    pub(crate) fn address(mut self, address: Address) -> Self {
        self.head = self.head.address(address);
        self
    }

    pub(crate) fn uint(mut self, value: U256) -> Self {
        self.head = self.head.uint(value);
        self
    }

    /// A byte string: its length, and its bytes up to a whole word.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        let mut tail = Words::default().uint(U256::from(bytes.len())).0;
        tail.extend_from_slice(bytes);
        tail.resize(tail.len().next_multiple_of(WORD), 0);
        self.tail(tail)
    }

    /// A list of addresses: their number, and a word for each.
    pub(crate) fn addresses(self, addresses: &[Address]) -> Self {
        let length = Words::default().uint(U256::from(addresses.len()));
        let tail = addresses.iter().copied().fold(length, Words::address);
        self.tail(tail.0)
    }

    fn tail(mut self, tail: Vec<u8>) -> Self {
        let index = self.head.0.len() / WORD;
        self.tails.push((index, tail));
        self.uint(U256::ZERO)
    }

    /// The whole calldata: selector, head, then each string and list.
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut arguments = self.head.0;
        for (index, tail) in self.tails {
            let offset = B256::from(U256::from(arguments.len()));
            arguments[index * WORD..(index + 1) * WORD].copy_from_slice(offset.as_slice());
            arguments.extend_from_slice(&tail);
        }
        [&self.selector[..], &arguments].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_follow_the_head_and_are_padded_to_words() {
        let data = Calldata::new([1, 2, 3, 4])
            .uint(U256::from(7))
            .bytes(&[0xaa; 33])
            .word(B256::repeat_byte(9))
            .finish();
        assert_eq!(data.len(), 4 + 3 * WORD + WORD + 2 * WORD);
        let word = |index: usize| U256::from_be_slice(&data[4 + index * WORD..][..WORD]);
        assert_eq!(word(0), U256::from(7));
        assert_eq!(
            word(1),
            U256::from(3 * WORD),
            "offset from the first argument"
        );
        assert_eq!(word(2), U256::from_be_bytes([9; WORD]));
        assert_eq!(word(3), U256::from(33));
        assert_eq!(&data[4 + 4 * WORD..][..33], &[0xaa; 33]);
        assert_eq!(&data[4 + 4 * WORD + 33..], &[0; 31]);
    }
}
