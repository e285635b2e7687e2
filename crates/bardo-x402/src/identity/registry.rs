//! The registries of ERC-8004: their names, the calls that ask them, and what they answer.
//!
//! Source: <https://eips.ethereum.org/EIPS/eip-8004> and
//! <https://github.com/erc-8004/erc-8004-contracts>.

use std::fmt;

use alloy_primitives::{Address, I256, U256, address, hex};

use crate::evm::Calldata;
use crate::token::EvmNetwork;

/// An identity registry on its chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AgentRegistry {
    /// Chain of the registry.
    pub network: EvmNetwork,
    /// Contract of the registry.
    pub contract: Address,
}

impl AgentRegistry {
    /// The identity registry on Base.
    pub const BASE: Self = Self {
        network: EvmNetwork::BASE,
        contract: address!("0x8004A169FB4a3325136EB29fA0ceB6D2e539a432"),
    };

    /// Reads `eip155:<chain id>:<address>` in lower case, the one spelling that is signed.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (network, contract) = text.rsplit_once(':')?;
        let read = Self {
            network: EvmNetwork::from_caip2(network)?,
            contract: contract.parse().ok()?,
        };
        (read.to_string() == text).then_some(read)
    }
}

impl fmt::Display for AgentRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{:#x}", self.network, self.contract)
    }
}

/// Asks an identity registry who owns an agent. It reverts for an unknown one.
#[must_use]
pub fn owner_of(agent_id: U256) -> Vec<u8> {
    Calldata::new(hex!("6352211e")).uint(agent_id).finish()
}

/// Asks an identity registry for the wallet of an agent; the zero address stands for none.
#[must_use]
pub fn agent_wallet(agent_id: U256) -> Vec<u8> {
    Calldata::new(hex!("00339509")).uint(agent_id).finish()
}

/// Asks an identity registry whether an account is the owner of an agent, or approved by it.
#[must_use]
pub fn is_authorized_or_owner(account: Address, agent_id: U256) -> Vec<u8> {
    let call = Calldata::new(hex!("d95e72be"));
    call.address(account).uint(agent_id).finish()
}

/// Asks a reputation registry for the feedback that these reviewers gave to an agent, under these
/// tags; an empty tag stands for all. It reverts without reviewers.
#[must_use]
pub fn feedback_summary(agent_id: U256, reviewers: &[Address], tag1: &str, tag2: &str) -> Vec<u8> {
    let call = Calldata::new(hex!("81bbba58"));
    let call = call.uint(agent_id).addresses(reviewers);
    call.bytes(tag1.as_bytes()).bytes(tag2.as_bytes()).finish()
}

/// The address that a registry returned; `None` for any other answer, and for the zero address.
#[must_use]
pub fn account(returned: &[u8]) -> Option<Address> {
    let (zeros, address) = returned.split_first_chunk::<12>()?;
    let address = Address::from(<[u8; 20]>::try_from(address).ok()?);
    (*zeros == [0; 12] && address != Address::ZERO).then_some(address)
}

/// Feedback on an agent, as the reviewers gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedbackSummary {
    /// Number of reviews that were not revoked.
    pub count: u64,
    /// Average of the reviews, as a whole number of 10^-decimals.
    pub value: i128,
    /// Number of decimal places of the average, 18 at most.
    pub decimals: u8,
}

impl FeedbackSummary {
    /// Reads the answer to [`feedback_summary`]: three words. Contracts of version 1.1 return two,
    /// with another meaning, and are not understood.
    #[must_use]
    pub fn decode(returned: &[u8]) -> Option<Self> {
        let words: &[u8; 96] = returned.try_into().ok()?;
        let word = |index: usize| U256::from_be_slice(&words[index * 32..][..32]);
        let decimals = u8::try_from(word(2))
            .ok()
            .filter(|decimals| *decimals <= 18)?;
        Some(Self {
            count: u64::try_from(word(0)).ok()?,
            value: i128::try_from(I256::from_raw(word(1))).ok()?,
            decimals,
        })
    }

    /// The reputation that follows: count × average / 100, rounded down, where the average counts
    /// from 0 to 100.
    #[must_use]
    pub fn score(self) -> u64 {
        let one = 10_i128.pow(u32::from(self.decimals));
        let whole = 100 * one;
        let average = U256::from(self.value.clamp(0, whole).unsigned_abs());
        let score = U256::from(self.count) * average / U256::from(whole.unsigned_abs());
        u64::try_from(score).expect("a score is at most the count")
    }
}
