//! How an agent of ERC-8004 proves a request: typed data `GatewayRequest`, and `AgentDelegation` by
//! which the agent's owner lets another wallet ask in its name.
//!
//! The standard has registries and no way to sign a request; these two messages are this gateway's
//! own. A proof authenticates and pays nothing. Start from [`AgentProof::from_header`], go on with
//! [`AgentProof::check`] and end with [`CheckedProof::verify`]; then the registry says whether the
//! [`ProvenAgent::authority`] may speak for the agent, and the nonce is claimed.

mod proof;
pub mod registry;
mod verify;

use alloy_primitives::{Address, B256, U256, b256, keccak256};

pub use proof::{AgentProof, SignedDelegation};
pub use registry::AgentRegistry;
pub use verify::{
    AgentRequest, CheckedProof, DelegatedSpend, ProofClaim, ProofRefusal, ProvenAgent,
};

use crate::evm::{SigningDomain, Words};

/// Name of the signing domain; its version is `1`, and its contract is the identity registry.
const DOMAIN_NAME: &str = "Bardo Inference";
/// Hash of the type of [`GatewayRequest`]; a test computes it again.
const GATEWAY_REQUEST: B256 =
    b256!("0x7923ab046a37c6656569f7804907c1405adb56e545f89a3e3822ae6b86495f1b");
/// Hash of the type of [`AgentDelegation`]; a test computes it again.
const AGENT_DELEGATION: B256 =
    b256!("0x0058ca4f728e6208bb4ebfe682c8a96103ae77d6a08bea2b1929f4813482efde");

/// One HTTP request as an agent's wallet signs it. Times are Unix seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayRequest {
    /// Public origin of the gateway, without a slash at the end.
    pub audience: String,
    /// The registry that the agent's number is from.
    pub agent_registry: AgentRegistry,
    /// Number of the agent in its registry; 0 is a number like others.
    pub agent_id: U256,
    /// The wallet that signs.
    pub wallet: Address,
    /// HTTP method in upper case.
    pub method: String,
    /// Path and query as sent.
    pub path: String,
    /// Keccak-256 of the body as sent.
    pub body_hash: B256,
    /// Random; used once per wallet.
    pub nonce: B256,
    /// When it was signed.
    pub issued_at: u64,
    /// The proof is good before this second.
    pub expires_at: u64,
}

/// Permission for a wallet to ask in the name of an agent, up to an amount. Times are Unix seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDelegation {
    /// Public origin of the gateway, without a slash at the end.
    pub audience: String,
    /// The registry that the agent's number is from.
    pub agent_registry: AgentRegistry,
    /// Number of the agent in its registry.
    pub agent_id: U256,
    /// The account that gives the permission, and must have authority over the agent.
    pub owner: Address,
    /// The wallet that gets it.
    pub delegate: Address,
    /// Keccak-256 of the name of what is allowed; see [`inference_scope`].
    pub scope: B256,
    /// Most that is spent in the life of the delegation, in 10⁻⁶ USD.
    pub max_spend: U256,
    /// Names the delegation: spending and revocation are counted by it.
    pub nonce: B256,
    /// First second at which it is good.
    pub not_before: u64,
    /// The delegation is good before this second.
    pub expires_at: u64,
}

/// The one scope that there is: to ask for inference and pay for it.
#[must_use]
pub fn inference_scope() -> B256 {
    keccak256("inference")
}

impl AgentRegistry {
    /// The signing domain of proofs for agents of this registry.
    #[must_use]
    pub fn domain(&self) -> SigningDomain {
        let chain_id = self.network.chain_id();
        SigningDomain::new(DOMAIN_NAME, "1", chain_id, self.contract)
    }
}

impl GatewayRequest {
    /// What the wallet signs.
    #[must_use]
    pub fn digest(&self) -> B256 {
        let words = Words::of(GATEWAY_REQUEST)
            .word(keccak256(&self.audience))
            .word(keccak256(self.agent_registry.to_string()))
            .uint(self.agent_id)
            .address(self.wallet)
            .word(keccak256(&self.method))
            .word(keccak256(&self.path))
            .word(self.body_hash)
            .word(self.nonce)
            .uint(U256::from(self.issued_at))
            .uint(U256::from(self.expires_at));
        self.agent_registry.domain().digest(words.hash())
    }
}

impl AgentDelegation {
    /// What the owner signs.
    #[must_use]
    pub fn digest(&self) -> B256 {
        let words = Words::of(AGENT_DELEGATION)
            .word(keccak256(&self.audience))
            .word(keccak256(self.agent_registry.to_string()))
            .uint(self.agent_id)
            .address(self.owner)
            .address(self.delegate)
            .word(self.scope)
            .uint(self.max_spend)
            .word(self.nonce)
            .uint(U256::from(self.not_before))
            .uint(U256::from(self.expires_at));
        self.agent_registry.domain().digest(words.hash())
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::*;

    #[test]
    fn the_type_hashes_are_those_of_the_types() {
        for (hash, text) in [
            (
                GATEWAY_REQUEST,
                "GatewayRequest(string audience,string agentRegistry,uint256 agentId,address wallet,string method,string path,bytes32 bodyHash,bytes32 nonce,uint256 issuedAt,uint256 expiresAt)",
            ),
            (
                AGENT_DELEGATION,
                "AgentDelegation(string audience,string agentRegistry,uint256 agentId,address owner,address delegate,bytes32 scope,uint256 maxSpend,bytes32 nonce,uint256 notBefore,uint256 expiresAt)",
            ),
        ] {
            assert_eq!(hash, keccak256(text));
        }
    }
}
