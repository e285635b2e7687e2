//! A wallet that signs requests as an agent of ERC-8004, or by the delegation of its owner.

use std::sync::atomic::{AtomicU64, Ordering};

use bardo_x402::evm::{B256, Signer, U256, keccak256};
use bardo_x402::identity::{AgentDelegation, AgentRegistry, GatewayRequest, inference_scope};
use bardo_x402::wire::encode_header;
use serde_json::{Value, json};

use crate::http::Request;
use crate::payer::{self, now_s};

/// The public address that proofs name.
pub(crate) const AUDIENCE: &str = "https://gateway.example";
/// The agent that proofs are of.
pub(crate) const AGENT: u64 = 22;

/// The wallet that owns the agent.
pub(crate) fn owner() -> Signer {
    Signer::from_bytes(payer::KEY).expect("a key")
}

/// A wallet that gets delegations.
pub(crate) fn delegate() -> Signer {
    Signer::from_bytes([0x5a; 32]).expect("a key")
}

/// A nonce that was never used before.
pub(crate) fn fresh_nonce() -> B256 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    keccak256(format!("proof {} {number}", std::process::id()))
}

fn signature(signer: &Signer, digest: B256) -> String {
    let bytes = signer.sign(digest).to_bytes();
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}

/// What a wallet signs for a request, as it is before something is made wrong.
pub(crate) fn message(signer: &Signer, method: &str, path: &str, body: &[u8]) -> GatewayRequest {
    GatewayRequest {
        audience: AUDIENCE.to_owned(),
        agent_registry: AgentRegistry::BASE,
        agent_id: U256::from(AGENT),
        wallet: signer.address(),
        method: method.to_owned(),
        path: path.to_owned(),
        body_hash: keccak256(body),
        nonce: fresh_nonce(),
        issued_at: now_s(),
        expires_at: now_s() + 60,
    }
}

/// What an owner signs to let a wallet spend up to so many millionths of a dollar.
pub(crate) fn delegation(micro_usd: u64) -> AgentDelegation {
    AgentDelegation {
        audience: AUDIENCE.to_owned(),
        agent_registry: AgentRegistry::BASE,
        agent_id: U256::from(AGENT),
        owner: owner().address(),
        delegate: delegate().address(),
        scope: inference_scope(),
        max_spend: U256::from(micro_usd),
        nonce: fresh_nonce(),
        not_before: now_s() - 1,
        expires_at: now_s() + 3_600,
    }
}

/// The header of a signed request, with a delegation and who signed it.
pub(crate) fn header(
    signer: &Signer,
    message: &GatewayRequest,
    delegation: Option<(&AgentDelegation, &Signer)>,
) -> String {
    let mut proof = json!({
        "type": "request",
        "message": {
            "audience": message.audience,
            "agentRegistry": message.agent_registry.to_string(),
            "agentId": message.agent_id.to_string(),
            "wallet": message.wallet.to_string(),
            "method": message.method,
            "path": message.path,
            "bodyHash": message.body_hash.to_string(),
            "nonce": message.nonce.to_string(),
            "issuedAt": message.issued_at.to_string(),
            "expiresAt": message.expires_at.to_string(),
        },
        "signature": signature(signer, message.digest()),
    });
    if let Some((delegation, owner)) = delegation {
        proof["delegation"] = signed(delegation, owner);
    }
    encode_header(&proof.to_string())
}

fn signed(delegation: &AgentDelegation, owner: &Signer) -> Value {
    json!({
        "message": {
            "audience": delegation.audience,
            "agentRegistry": delegation.agent_registry.to_string(),
            "agentId": delegation.agent_id.to_string(),
            "owner": delegation.owner.to_string(),
            "delegate": delegation.delegate.to_string(),
            "scope": delegation.scope.to_string(),
            "maxSpend": delegation.max_spend.to_string(),
            "nonce": delegation.nonce.to_string(),
            "notBefore": delegation.not_before.to_string(),
            "expiresAt": delegation.expires_at.to_string(),
        },
        "signature": signature(owner, delegation.digest()),
    })
}

/// A request that the owner of the agent signs; `change` may make it wrong.
pub(crate) fn proven(path: &str, body: &str, change: impl FnOnce(&mut GatewayRequest)) -> Request {
    let mut message = message(&owner(), "POST", path, body.as_bytes());
    change(&mut message);
    let header = header(&owner(), &message, None);
    Request::post(path, body).with("x-bardo-agent-proof", &header)
}

/// A request that only reads, signed by the owner of the agent.
pub(crate) fn reading(path: &str) -> Request {
    let message = message(&owner(), "GET", path, &[]);
    let header = header(&owner(), &message, None);
    Request::get(path).with("x-bardo-agent-proof", &header)
}

/// A request of the delegate, with this delegation.
pub(crate) fn delegated(path: &str, body: &str, delegation: &AgentDelegation) -> Request {
    let message = message(&delegate(), "POST", path, body.as_bytes());
    let header = header(&delegate(), &message, Some((delegation, &owner())));
    Request::post(path, body).with("x-bardo-agent-proof", &header)
}
