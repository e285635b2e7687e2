//! Networks, tokens and amounts: what money a payment moves.

use std::fmt;

use alloy_primitives::{Address, U256, address};
use bardo_types::money::MicroUsd;

use crate::evm::SigningDomain;

/// An EVM chain by its id, such as 8453 for Base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EvmNetwork(u64);

/// Names that version 1 uses for chains.
const V1_NAMES: &[(&str, EvmNetwork)] = &[
    ("base", EvmNetwork::BASE),
    ("base-sepolia", EvmNetwork::BASE_SEPOLIA),
];

impl EvmNetwork {
    /// Base, chain 8453.
    pub const BASE: Self = Self(8453);
    /// The test network of Base, chain 84532.
    pub const BASE_SEPOLIA: Self = Self(84532);

    /// The chain with this id.
    #[must_use]
    pub const fn new(chain_id: u64) -> Self {
        Self(chain_id)
    }

    /// Id of the chain.
    #[must_use]
    pub const fn chain_id(self) -> u64 {
        self.0
    }

    /// Reads a name of version 2: `eip155:` and the id in decimal (CAIP-2).
    #[must_use]
    pub fn from_caip2(name: &str) -> Option<Self> {
        let digits = name.strip_prefix("eip155:")?;
        let id: u64 = digits.parse().ok()?;
        (id.to_string() == digits).then_some(Self(id))
    }

    /// Reads a name of version 1, such as `base`. Where a network has none, its name of version 2
    /// is taken.
    #[must_use]
    pub fn from_v1(name: &str) -> Option<Self> {
        let known = V1_NAMES.iter().find(|(known, _)| *known == name);
        known
            .map(|(_, network)| *network)
            .or_else(|| Self::from_caip2(name))
    }

    /// The name in version 1: `base`, `base-sepolia`, else the name of version 2.
    #[must_use]
    pub fn v1_name(self) -> String {
        let known = V1_NAMES.iter().find(|(_, network)| *network == self);
        known.map_or_else(|| self.to_string(), |(name, _)| (*name).to_owned())
    }
}

impl fmt::Display for EvmNetwork {
    /// The name of version 2, such as `eip155:8453` (CAIP-2).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "eip155:{}", self.0)
    }
}

/// An amount in the smallest units of a token; 10⁻⁶ USDC where the token is USDC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TokenAmount(u64);

impl TokenAmount {
    /// No tokens at all.
    pub const ZERO: Self = Self(0);

    /// This many smallest units.
    #[must_use]
    pub const fn new(units: u64) -> Self {
        Self(units)
    }

    /// The number of smallest units.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The amount of a dollar token with six decimals that stands for these USD: the peg, one to one.
    #[must_use]
    pub const fn from_usd(usd: MicroUsd) -> Self {
        Self(usd.get())
    }

    /// The USD for which this amount of a dollar token with six decimals stands: the peg, one to one.
    #[must_use]
    pub const fn to_usd(self) -> MicroUsd {
        MicroUsd::new(self.0)
    }

    /// The amount as contracts take it.
    #[must_use]
    pub fn to_u256(self) -> U256 {
        U256::from(self.0)
    }
}

impl fmt::Display for TokenAmount {
    /// Decimal smallest units, as the wire has amounts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A token on a network, with the domain in which its holders sign (EIP-712).
///
/// Whoever trusts the domain that the other side sends signs what the other side likes, so it comes
/// from here alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentToken {
    network: EvmNetwork,
    address: Address,
    name: String,
    version: String,
    domain: SigningDomain,
}

impl PaymentToken {
    /// A token by the name and version of its signing domain, which `eip712Domain()` or `name()` and
    /// `version()` of the contract show.
    #[must_use]
    pub fn new(network: EvmNetwork, address: Address, name: &str, version: &str) -> Self {
        Self {
            network,
            address,
            name: name.to_owned(),
            version: version.to_owned(),
            domain: SigningDomain::new(name, version, network.chain_id(), address),
        }
    }

    /// USDC on Base.
    #[must_use]
    pub fn usdc_on_base() -> Self {
        let contract = address!("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
        Self::new(EvmNetwork::BASE, contract, "USD Coin", "2")
    }

    /// USDC on the test network of Base. The name of its domain is another one than on Base.
    #[must_use]
    pub fn usdc_on_base_sepolia() -> Self {
        let contract = address!("0x036CbD53842c5426634e7929541eC2318f3dCF7e");
        Self::new(EvmNetwork::BASE_SEPOLIA, contract, "USDC", "2")
    }

    /// The network of the token.
    #[must_use]
    pub fn network(&self) -> EvmNetwork {
        self.network
    }

    /// The contract of the token.
    #[must_use]
    pub fn address(&self) -> Address {
        self.address
    }

    /// Name in the signing domain.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Version in the signing domain.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The signing domain of the token.
    #[must_use]
    pub fn domain(&self) -> &SigningDomain {
        &self.domain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_have_a_name_per_version() {
        assert_eq!(EvmNetwork::BASE.to_string(), "eip155:8453");
        assert_eq!(EvmNetwork::BASE.v1_name(), "base");
        assert_eq!(EvmNetwork::new(7).v1_name(), "eip155:7");
        assert_eq!(
            EvmNetwork::from_v1("base-sepolia"),
            Some(EvmNetwork::BASE_SEPOLIA)
        );
        assert_eq!(EvmNetwork::from_v1("eip155:7"), Some(EvmNetwork::new(7)));
        assert_eq!(
            EvmNetwork::from_caip2("eip155:8453"),
            Some(EvmNetwork::BASE)
        );
    }

    #[test]
    fn other_spellings_of_a_network_are_refused() {
        for name in [
            "base",
            "eip155:",
            "eip155:08453",
            "eip155:+8453",
            "EIP155:8453",
            "8453",
            "eip155:18446744073709551616",
            "solana:8453",
        ] {
            assert_eq!(EvmNetwork::from_caip2(name), None, "{name}");
        }
    }
}
