//! EIP-712: the domain that binds a signature to a contract on a chain.

use alloy_primitives::{Address, B256, U256, b256, keccak256};

use super::Words;

/// `EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)`.
const WITH_VERSION: B256 =
    b256!("0x8b73c3c69bb8fe3d512ecc4cf759cc79239f7b179b0ffacaa9a75d522b39400f");
/// `EIP712Domain(string name,uint256 chainId,address verifyingContract)`.
const WITHOUT_VERSION: B256 =
    b256!("0x8cad95687ba82c2ce50e74f7b754645e5117c3a5bec8151c0726d5857980a866");

/// The signing domain of one contract on one chain (EIP-712), hashed once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SigningDomain {
    separator: B256,
}

impl SigningDomain {
    /// The domain of a contract that has a name and a version, as tokens have.
    #[must_use]
    pub fn new(name: &str, version: &str, chain_id: u64, contract: Address) -> Self {
        let words = Words::of(WITH_VERSION)
            .word(keccak256(name))
            .word(keccak256(version));
        Self::of(words, chain_id, contract)
    }

    /// The domain of a contract that has a name alone, as Permit2 has.
    #[must_use]
    pub fn unversioned(name: &str, chain_id: u64, contract: Address) -> Self {
        let words = Words::of(WITHOUT_VERSION).word(keccak256(name));
        Self::of(words, chain_id, contract)
    }

    fn of(words: Words, chain_id: u64, contract: Address) -> Self {
        let words = words.uint(U256::from(chain_id)).address(contract);
        Self {
            separator: words.hash(),
        }
    }

    /// The hash of the domain, which contracts show as `DOMAIN_SEPARATOR()`.
    #[must_use]
    pub fn separator(&self) -> B256 {
        self.separator
    }

    /// What is signed for a struct with this hash in this domain.
    #[must_use]
    pub fn digest(&self, struct_hash: B256) -> B256 {
        let mut message = [0; 66];
        message[..2].copy_from_slice(&[0x19, 0x01]);
        message[2..34].copy_from_slice(self.separator.as_slice());
        message[34..].copy_from_slice(struct_hash.as_slice());
        keccak256(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_hashes_are_those_of_the_types() {
        let hash = keccak256(
            "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)",
        );
        assert_eq!(hash, WITH_VERSION);
        let hash = keccak256("EIP712Domain(string name,uint256 chainId,address verifyingContract)");
        assert_eq!(hash, WITHOUT_VERSION);
    }
}
