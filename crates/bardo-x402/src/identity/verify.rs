//! Whether a proof is for this request, in time, and signed by those whom it names.

use alloy_primitives::{Address, B256, U256, keccak256};

use super::{AgentDelegation, AgentProof, AgentRegistry, inference_scope};
use crate::evm::{AccountSignatureError, SigningAccount, calls};

/// Seconds by which the clock of a wallet may be ahead of ours.
const CLOCK_AHEAD_S: u64 = 30;
/// Longest life of a signed request in seconds.
const LONGEST_REQUEST_S: u64 = 300;
/// Longest life of a delegation in seconds: 30 days.
const LONGEST_DELEGATION_S: u64 = 30 * 24 * 3_600;

/// The request that a proof must be for, as the gateway received it.
#[derive(Debug, Clone, Copy)]
pub struct AgentRequest<'a> {
    /// Public origin of the gateway by its configuration, never by a header of the request.
    pub audience: &'a str,
    /// The registries whose agents are known here.
    pub registries: &'a [AgentRegistry],
    /// HTTP method in upper case.
    pub method: &'a str,
    /// Path and query as received.
    pub path: &'a str,
    /// The body as received.
    pub body: &'a [u8],
}

/// Why a proof is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProofRefusal {
    /// The proof is for another gateway.
    #[error("`audience` of the proof is not this gateway's public origin")]
    Audience,
    /// The agent's registry is not among those that count here.
    #[error("`agentRegistry` of the proof is none that this gateway knows")]
    Registry,
    /// The proof is for another method, path or body.
    #[error("`{0}` of the proof is not this request's; sign each request as it is sent")]
    OtherRequest(&'static str),
    /// The proof was signed in the future.
    #[error("`issuedAt` of the proof is in the future; set the clock")]
    Future,
    /// The proof or its delegation is not good any more.
    #[error("the {0} has expired; sign another")]
    Expired(&'static str),
    /// The proof or its delegation is good for too long.
    #[error("the {what} is good for too long; {most_s} seconds are the most")]
    TooLong {
        /// Which of the two it is.
        what: &'static str,
        /// The longest life in seconds.
        most_s: u64,
    },
    /// The delegation is not good yet.
    #[error("the delegation is not good yet")]
    NotYet,
    /// A member of the delegation is not the one of the request.
    #[error("`{0}` of the delegation does not fit the request")]
    Delegation(&'static str),
    /// The signature of the request is not the wallet's.
    #[error("signature of the request: {0}")]
    WalletSignature(AccountSignatureError),
    /// The signature of the delegation is not the owner's.
    #[error("signature of the delegation: {0}")]
    OwnerSignature(AccountSignatureError),
}

/// A proof whose every field fits the request, and whose signatures nobody has seen yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedProof(AgentProof);

/// The single use of a proof: to be claimed until it expires, before anything is served for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProofClaim {
    /// The wallet that signed.
    pub wallet: Address,
    /// The nonce that it chose.
    pub nonce: B256,
    /// The proof is refused from this second on, so the claim may go.
    pub expires_at: u64,
}

/// What a delegation allows in its whole life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelegatedSpend {
    /// Names the delegation, together with its owner.
    pub nonce: B256,
    /// Most that may be spent by it, in 10⁻⁶ USD.
    pub max_spend: U256,
    /// The delegation is refused from this second on.
    pub expires_at: u64,
}

/// An agent for which a wallet signed this request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProvenAgent {
    /// Registry of the agent.
    pub registry: AgentRegistry,
    /// Number of the agent.
    pub agent_id: U256,
    /// The wallet that asks.
    pub wallet: Address,
    /// The account that must have authority over the agent now, by the registry: the wallet, or the
    /// owner whose delegation it has.
    pub authority: Address,
    /// The single use of the proof.
    pub claim: ProofClaim,
    /// The limit of the delegation, if there is one.
    pub delegated: Option<DelegatedSpend>,
}

impl AgentProof {
    /// Compares every field with the request, at this Unix time in seconds.
    ///
    /// # Errors
    /// For the first field that does not fit.
    pub fn check(
        self,
        request: &AgentRequest<'_>,
        now_s: u64,
    ) -> Result<CheckedProof, ProofRefusal> {
        let signed = &self.request;
        if signed.audience != request.audience {
            return Err(ProofRefusal::Audience);
        }
        if !request.registries.contains(&signed.agent_registry) {
            return Err(ProofRefusal::Registry);
        }
        let differs = [
            ("method", signed.method != request.method),
            ("path", signed.path != request.path),
            ("bodyHash", signed.body_hash != keccak256(request.body)),
        ];
        if let Some((member, _)) = differs.into_iter().find(|(_, differs)| *differs) {
            return Err(ProofRefusal::OtherRequest(member));
        }
        if signed.issued_at > now_s.saturating_add(CLOCK_AHEAD_S) {
            return Err(ProofRefusal::Future);
        }
        let life = (signed.issued_at, signed.expires_at);
        check_life("request", life, LONGEST_REQUEST_S, now_s)?;
        if let Some(signed) = &self.delegation {
            check_delegation(&signed.delegation, &self, now_s)?;
        }
        Ok(CheckedProof(self))
    }
}

/// A life has a length, is not too long and not over.
fn check_life(
    what: &'static str,
    (begins, ends): (u64, u64),
    most_s: u64,
    now_s: u64,
) -> Result<(), ProofRefusal> {
    if now_s >= ends {
        return Err(ProofRefusal::Expired(what));
    }
    if ends.saturating_sub(begins) > most_s {
        return Err(ProofRefusal::TooLong { what, most_s });
    }
    Ok(())
}

fn check_delegation(
    delegation: &AgentDelegation,
    proof: &AgentProof,
    now_s: u64,
) -> Result<(), ProofRefusal> {
    let signed = &proof.request;
    let differs = [
        ("audience", delegation.audience != signed.audience),
        (
            "agentRegistry",
            delegation.agent_registry != signed.agent_registry,
        ),
        ("agentId", delegation.agent_id != signed.agent_id),
        ("delegate", delegation.delegate != signed.wallet),
        ("scope", delegation.scope != inference_scope()),
    ];
    if let Some((member, _)) = differs.into_iter().find(|(_, differs)| *differs) {
        return Err(ProofRefusal::Delegation(member));
    }
    if now_s < delegation.not_before {
        return Err(ProofRefusal::NotYet);
    }
    let life = (delegation.not_before, delegation.expires_at);
    check_life("delegation", life, LONGEST_DELEGATION_S, now_s)
}

impl CheckedProof {
    /// The wallet that is said to have signed the request.
    #[must_use]
    pub fn wallet(&self) -> Address {
        self.0.request.wallet
    }

    /// Calldata that asks the wallet for its signature, where it has code (ERC-1271).
    #[must_use]
    pub fn wallet_call(&self) -> Vec<u8> {
        calls::is_valid_signature(self.0.request.digest(), &self.0.signature)
    }

    /// The account that is said to have signed the delegation, and the calldata that asks it for its
    /// signature, where it has code (ERC-1271).
    #[must_use]
    pub fn owner_call(&self) -> Option<(Address, Vec<u8>)> {
        let signed = self.0.delegation.as_ref()?;
        let digest = signed.delegation.digest();
        let call = calls::is_valid_signature(digest, &signed.signature);
        Some((signed.delegation.owner, call))
    }

    /// Proves the signatures. `owner` counts where there is a delegation.
    ///
    /// # Errors
    /// When one of them is not the account's that the proof names.
    pub fn verify(
        self,
        wallet: &SigningAccount,
        owner: &SigningAccount,
    ) -> Result<ProvenAgent, ProofRefusal> {
        let signed = &self.0.request;
        wallet
            .prove(signed.wallet, signed.digest(), &self.0.signature)
            .map_err(ProofRefusal::WalletSignature)?;
        let mut authority = signed.wallet;
        let mut delegated = None;
        if let Some(by_owner) = &self.0.delegation {
            let delegation = &by_owner.delegation;
            owner
                .prove(delegation.owner, delegation.digest(), &by_owner.signature)
                .map_err(ProofRefusal::OwnerSignature)?;
            authority = delegation.owner;
            delegated = Some(DelegatedSpend {
                nonce: delegation.nonce,
                max_spend: delegation.max_spend,
                expires_at: delegation.expires_at,
            });
        }
        Ok(ProvenAgent {
            registry: signed.agent_registry,
            agent_id: signed.agent_id,
            wallet: signed.wallet,
            authority,
            claim: ProofClaim {
                wallet: signed.wallet,
                nonce: signed.nonce,
                expires_at: signed.expires_at,
            },
            delegated,
        })
    }
}
