//! What tells authorizations, wallets and transactions apart.

use std::fmt;
use std::str::FromStr;

use bardo_types::ids::AccountId;

/// A text is not the name of something on a chain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an address, hash or name on a chain")]
pub struct InvalidChainText(pub String);

macro_rules! chain_bytes {
    ($($(#[$doc:meta])* $name:ident $bytes:literal)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; $bytes]);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("0x")?;
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidChainText;

            /// Reads `0x` and hexadecimal digits of either case.
            fn from_str(text: &str) -> Result<Self, InvalidChainText> {
                let invalid = || InvalidChainText(text.to_owned());
                let digits = text.strip_prefix("0x").ok_or_else(invalid)?;
                let bytes = from_hex(digits).ok_or_else(invalid)?;
                bytes.try_into().map(Self).map_err(|_| invalid())
            }
        }
    )*};
}

chain_bytes! {
    /// An address on an EVM chain: 20 bytes. Its text is `0x` and 40 lower-case digits.
    ChainAddress 20
    /// A hash or nonce of 32 bytes: of a transaction, a block, a body or an authorization. Its text
    /// is `0x` and 64 lower-case digits.
    ChainHash 32
}

/// The bytes that pairs of hexadecimal digits stand for.
pub(super) fn from_hex(digits: &str) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let pairs = digits.as_bytes().chunks_exact(2);
    pairs
        .map(|pair| u8::try_from(digit(&pair[0])? << 4 | digit(&pair[1])?).ok())
        .collect()
}

/// A wallet: an address on one chain. An address with contract code may belong to another owner on
/// another chain, so the chain is part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WalletId {
    /// The chain's id (EIP-155).
    pub chain_id: u64,
    /// The address of the wallet.
    pub address: ChainAddress,
}

impl WalletId {
    /// The account of the wallet, where nothing else was linked to it.
    #[must_use]
    pub fn account(&self) -> AccountId {
        AccountId::parse(&format!("wallet:{self}")).expect("digits and colons make an id")
    }
}

impl fmt::Display for WalletId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.chain_id, self.address)
    }
}

impl FromStr for WalletId {
    type Err = InvalidChainText;

    /// Reads `<chain id>:<address>`.
    fn from_str(text: &str) -> Result<Self, InvalidChainText> {
        let invalid = || InvalidChainText(text.to_owned());
        let (chain_id, address) = text.split_once(':').ok_or_else(invalid)?;
        Ok(Self {
            chain_id: chain_id.parse().map_err(|_| invalid())?,
            address: address.parse()?,
        })
    }
}

/// What makes a signed authorization one of a kind: a contract accepts each nonce of a payer once
/// (EIP-3009 for tokens, Permit2 for its own nonces).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AuthorizationKey {
    /// The chain's id (EIP-155).
    pub chain_id: u64,
    /// The contract that verifies the signature: the token, or Permit2.
    pub contract: ChainAddress,
    /// The address that signed.
    pub payer: ChainAddress,
    /// The nonce of the authorization.
    pub nonce: ChainHash,
}

impl AuthorizationKey {
    /// The wallet that pays.
    #[must_use]
    pub fn wallet(&self) -> WalletId {
        WalletId {
            chain_id: self.chain_id,
            address: self.payer,
        }
    }

    /// The reference of the deposit that a settlement becomes in the ledger.
    #[must_use]
    pub fn deposit_reference(&self) -> String {
        format!("x402:{self}")
    }
}

impl fmt::Display for AuthorizationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (contract, payer, nonce) = (self.contract, self.payer, self.nonce);
        write!(f, "{}:{contract}:{payer}:{nonce}", self.chain_id)
    }
}

impl FromStr for AuthorizationKey {
    type Err = InvalidChainText;

    /// Reads `<chain id>:<contract>:<payer>:<nonce>`.
    fn from_str(text: &str) -> Result<Self, InvalidChainText> {
        let invalid = || InvalidChainText(text.to_owned());
        let parts: Vec<_> = text.split(':').collect();
        let [chain_id, contract, payer, nonce] = parts[..] else {
            return Err(invalid());
        };
        Ok(Self {
            chain_id: chain_id.parse().map_err(|_| invalid())?,
            contract: contract.parse()?,
            payer: payer.parse()?,
            nonce: nonce.parse()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_text_and_back() {
        let key = AuthorizationKey {
            chain_id: 8453,
            contract: ChainAddress([0xab; 20]),
            payer: ChainAddress([1; 20]),
            nonce: ChainHash([0xff; 32]),
        };
        assert_eq!(key.to_string().parse(), Ok(key));
        assert_eq!(key.wallet().to_string().parse(), Ok(key.wallet()));
        assert_eq!(
            key.wallet().account().as_str(),
            "wallet:8453:0x0101010101010101010101010101010101010101"
        );
        assert_eq!("0xABCDEF".parse::<ChainAddress>().ok(), None);
        let upper = format!("0x{}", "AB".repeat(20));
        assert_eq!(upper.parse(), Ok(ChainAddress([0xab; 20])));
        for bad in ["", "1", "1:2", "x:0x", "1:0x:0x:0x:0x", "0xé"] {
            assert!(bad.parse::<AuthorizationKey>().is_err(), "{bad}");
            assert!(bad.parse::<ChainHash>().is_err(), "{bad}");
        }
    }
}
