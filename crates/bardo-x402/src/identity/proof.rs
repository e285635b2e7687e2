//! The header that carries a proof: base64 of strict JSON.

use alloy_primitives::{Address, B256, U256};
use serde::Deserialize;

use super::{AgentDelegation, AgentRegistry, GatewayRequest};
use crate::wire::{
    DecimalAmount, HexAddress, HexSignature, HexWord, MalformedMessage, decode_header, read,
};

/// Most characters of the header.
const MOST_CHARACTERS: usize = 8 * 1024;

/// A signed request, with the delegation that its wallet acts by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentProof {
    /// What the wallet signed.
    pub request: GatewayRequest,
    /// Signature of the wallet.
    pub signature: Vec<u8>,
    /// The permission of the agent's owner, where the wallet has no authority of its own.
    pub delegation: Option<SignedDelegation>,
}

/// A delegation with its signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedDelegation {
    /// What the owner signed.
    pub delegation: AgentDelegation,
    /// Signature of the owner.
    pub signature: Vec<u8>,
}

impl AgentProof {
    /// Reads the header of a proof: base64 of
    /// `{"type":"request","message":{…},"signature":"0x…","delegation":{"message":{…},"signature":"0x…"}}`,
    /// with numbers as decimal text. Unknown members are refused.
    ///
    /// # Errors
    /// When it is too long, or a member is missing, unknown, twice there or malformed.
    pub fn from_header(header: &[u8]) -> Result<Self, MalformedMessage> {
        if header.len() > MOST_CHARACTERS {
            return Err(MalformedMessage::TooLong);
        }
        let wire: WireProof = read(&decode_header(header)?)?;
        let WireProofType::Request = wire.kind;
        let delegation = wire.delegation.map(|signed| {
            Ok(SignedDelegation {
                delegation: signed.message.try_into()?,
                signature: signed.signature.0,
            })
        });
        Ok(Self {
            request: wire.message.try_into()?,
            signature: wire.signature.0,
            delegation: delegation.transpose()?,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireProof {
    #[serde(rename = "type")]
    kind: WireProofType,
    message: WireRequest,
    signature: HexSignature,
    delegation: Option<WireSignedDelegation>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum WireProofType {
    Request,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireSignedDelegation {
    message: WireDelegation,
    signature: HexSignature,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WireRequest {
    audience: String,
    agent_registry: String,
    agent_id: DecimalAmount,
    wallet: HexAddress,
    method: String,
    path: String,
    body_hash: HexWord,
    nonce: HexWord,
    issued_at: DecimalAmount,
    expires_at: DecimalAmount,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WireDelegation {
    audience: String,
    agent_registry: String,
    agent_id: DecimalAmount,
    owner: HexAddress,
    delegate: HexAddress,
    scope: HexWord,
    max_spend: DecimalAmount,
    nonce: HexWord,
    not_before: DecimalAmount,
    expires_at: DecimalAmount,
}

fn registry(text: &str) -> Result<AgentRegistry, MalformedMessage> {
    let problem = "must be `eip155:<chain id>:<address>` in lower case";
    AgentRegistry::parse(text).ok_or_else(|| MalformedMessage::member("agentRegistry", problem))
}

fn time(member: &str, seconds: DecimalAmount) -> Result<u64, MalformedMessage> {
    let problem = "must be a time in Unix seconds";
    u64::try_from(seconds.0).map_err(|_| MalformedMessage::member(member, problem))
}

impl TryFrom<WireRequest> for GatewayRequest {
    type Error = MalformedMessage;

    fn try_from(wire: WireRequest) -> Result<Self, MalformedMessage> {
        let wallet: Address = wire.wallet.0;
        let body_hash: B256 = wire.body_hash.0;
        Ok(Self {
            audience: wire.audience,
            agent_registry: registry(&wire.agent_registry)?,
            agent_id: wire.agent_id.0,
            wallet,
            method: wire.method,
            path: wire.path,
            body_hash,
            nonce: wire.nonce.0,
            issued_at: time("issuedAt", wire.issued_at)?,
            expires_at: time("expiresAt", wire.expires_at)?,
        })
    }
}

impl TryFrom<WireDelegation> for AgentDelegation {
    type Error = MalformedMessage;

    fn try_from(wire: WireDelegation) -> Result<Self, MalformedMessage> {
        let max_spend: U256 = wire.max_spend.0;
        Ok(Self {
            audience: wire.audience,
            agent_registry: registry(&wire.agent_registry)?,
            agent_id: wire.agent_id.0,
            owner: wire.owner.0,
            delegate: wire.delegate.0,
            scope: wire.scope.0,
            max_spend,
            nonce: wire.nonce.0,
            not_before: time("notBefore", wire.not_before)?,
            expires_at: time("expiresAt", wire.expires_at)?,
        })
    }
}
