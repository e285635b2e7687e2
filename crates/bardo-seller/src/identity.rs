//! Agents that prove who they are: signed requests, links of wallets, delegations, reputation.

mod caller;
mod link;

use bardo_ledger::StoreError;
use bardo_ledger::claims::{ChainAddress, PROOF_MARKS, WalletId};
use bardo_types::money::BasisPoints;
use bardo_x402::evm::{Address, SigningAccount, U256};
use bardo_x402::identity::registry::{self, FeedbackSummary};
use bardo_x402::identity::{AgentProof, AgentRequest, ProvenAgent};

pub use self::caller::{AgentCaller, ProofUse};
pub use self::link::AgentLink;

use crate::admit::Seller;
use crate::port::ChainUnknown;
use crate::terms::IdentityTerms;

/// The header of a proof.
pub const AGENT_PROOF: &str = "x-bardo-agent-proof";

/// The parts of an HTTP request that a proof must match.
pub struct ProvenRequest<'a> {
    /// Value of the header [`AGENT_PROOF`].
    pub proof: &'a [u8],
    /// HTTP method in upper case.
    pub method: &'a str,
    /// Path and query as received.
    pub path: &'a str,
    /// The body as received.
    pub body: &'a [u8],
}

/// Why a proof is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum IdentityRejection {
    /// The gateway accepts no proofs.
    #[error("this gateway accepts no agent proofs; the operator sets `payments.public_url`")]
    Closed,
    /// The header cannot be read.
    #[error("`x-bardo-agent-proof`: {0}")]
    Malformed(String),
    /// The proof does not fit the request, or its signature is wrong.
    #[error("the agent proof is refused: {0}")]
    Refused(String),
    /// The nonce of the proof was used.
    #[error("the agent proof was used before; sign another nonce")]
    Replayed,
    /// The registry does not say that the wallet may speak for the agent.
    #[error("the registry gives {0} no authority over this agent")]
    NoAuthority(Address),
    /// The owner revoked the delegation.
    #[error("the owner has revoked this delegation; ask for another")]
    Revoked,
    /// The chain did not answer.
    #[error(transparent)]
    Unknown(#[from] ChainUnknown),
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Seller {
    fn identity(&self) -> Result<&IdentityTerms, IdentityRejection> {
        self.terms
            .identity
            .as_ref()
            .ok_or(IdentityRejection::Closed)
    }

    /// Verifies a signed request, and uses up its nonce.
    ///
    /// # Errors
    /// When the proof is not for this request, not signed by its wallet, or was used before.
    pub async fn prove(
        &self,
        request: &ProvenRequest<'_>,
    ) -> Result<ProvenAgent, IdentityRejection> {
        let proven = self.verified(request).await?;
        self.use_up(&proven).await?;
        Ok(proven)
    }

    /// Verifies a signed request. Its nonce is not used up yet.
    async fn verified(
        &self,
        request: &ProvenRequest<'_>,
    ) -> Result<ProvenAgent, IdentityRejection> {
        let terms = self.identity()?;
        let proof = AgentProof::from_header(request.proof)
            .map_err(|error| IdentityRejection::Malformed(error.to_string()))?;
        let signed = AgentRequest {
            audience: &terms.audience,
            registries: &[terms.registry],
            method: request.method,
            path: request.path,
            body: request.body,
        };
        let refused = |error: &dyn std::fmt::Display| IdentityRejection::Refused(error.to_string());
        let now_s = self.clock.now_ms() / 1_000;
        let checked = proof
            .check(&signed, now_s)
            .map_err(|error| refused(&error))?;
        let wallet = self.chain.account(checked.wallet(), checked.wallet_call());
        let wallet = wallet.await?;
        let owner = match checked.owner_call() {
            Some((owner, call)) => self.chain.account(owner, call).await?,
            None => SigningAccount::Key,
        };
        checked
            .verify(&wallet, &owner)
            .map_err(|error| refused(&error))
    }

    /// Uses up the nonce of a proof, for all gateways that share the store.
    async fn use_up(&self, proven: &ProvenAgent) -> Result<(), IdentityRejection> {
        let name = format!(
            "{PROOF_MARKS}{:#x}:{:#x}",
            proven.claim.wallet, proven.claim.nonce
        );
        let until = proven.claim.expires_at.to_string();
        let store = self.claims.store();
        match store.swap_chain_value(&name, None, until).await? {
            true => Ok(()),
            false => Err(IdentityRejection::Replayed),
        }
    }

    /// The wallet of a proven request.
    #[must_use]
    pub fn wallet_of(&self, agent: &ProvenAgent) -> WalletId {
        self.wallet_at(agent.wallet)
    }

    fn wallet_at(&self, address: Address) -> WalletId {
        WalletId {
            chain_id: self.terms.token.network().chain_id(),
            address: ChainAddress(address.0.0),
        }
    }

    /// Name of the tier and spread of a link; `None`: the usual spread.
    #[must_use]
    pub fn discount(&self, link: &AgentLink) -> Option<(&str, BasisPoints)> {
        self.tier(link.score)
    }

    /// Name of the tier and spread of a score; `None`: the usual spread.
    fn tier(&self, score: u64) -> Option<(&str, BasisPoints)> {
        let tiers = self.terms.identity.as_ref()?.tiers.iter();
        let reached = tiers.filter(|tier| score >= tier.score);
        let best = reached.max_by_key(|tier| tier.score)?;
        Some((&best.name, best.spread))
    }

    /// The score of an agent, if the registry gives an account authority over it.
    async fn registered(
        &self,
        agent_id: U256,
        authority: Address,
    ) -> Result<Option<u64>, IdentityRejection> {
        let terms = self.identity()?;
        let identity = terms.registry.contract;
        let mut calls = vec![
            (identity, registry::owner_of(agent_id)),
            (identity, registry::agent_wallet(agent_id)),
            (
                identity,
                registry::is_authorized_or_owner(authority, agent_id),
            ),
        ];
        // The call reverts if the list of reviewers is empty.
        let reviewed = terms.reputation.filter(|_| !terms.reviewers.is_empty());
        if let Some(reputation) = reviewed {
            let call = registry::feedback_summary(agent_id, &terms.reviewers, "", "");
            calls.push((reputation, call));
        }
        let returned = self.chain.views(calls).await?;
        let at = |place: usize| returned.get(place).and_then(Option::as_deref);
        let is = |place: usize| at(place).and_then(registry::account) == Some(authority);
        let one = U256::from(1);
        let is_authorized = at(2).and_then(bardo_x402::evm::calls::number) == Some(one);
        if !is(0) && !is(1) && !is_authorized {
            return Ok(None);
        }
        let summary = at(3).and_then(FeedbackSummary::decode);
        Ok(Some(summary.map_or(0, FeedbackSummary::score)))
    }
}
