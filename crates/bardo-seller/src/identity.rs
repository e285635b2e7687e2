//! Agents that prove who they are: signed requests, links of wallets, reputation.

use bardo_ledger::StoreError;
use bardo_ledger::claims::{ChainAddress, WalletId};
use bardo_types::ids::AccountId;
use bardo_types::money::BasisPoints;
use bardo_x402::evm::{Address, SigningAccount, U256};
use bardo_x402::identity::registry::{self, FeedbackSummary};
use bardo_x402::identity::{AgentProof, AgentRequest, ProvenAgent};
use serde_json::{Value, json};

use crate::admit::Seller;
use crate::port::ChainUnknown;
use crate::terms::IdentityTerms;

/// Milliseconds after which a link is checked again.
const CHECK_MS: u64 = 3_600_000;
/// Milliseconds for which a link holds that cannot be checked.
const HOLDS_MS: u64 = 24 * 3_600_000;

/// The header of a proof.
pub const AGENT_PROOF: &str = "x-bardo-agent-proof";

/// An HTTP request as a proof has to name it.
pub struct ProvenRequest<'a> {
    /// Value of the header [`AGENT_PROOF`].
    pub proof: &'a [u8],
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
    /// The chain did not answer.
    #[error(transparent)]
    Unknown(#[from] ChainUnknown),
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A wallet that speaks for an agent, as the registry said when it was checked last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentLink {
    /// Number of the agent in the registry.
    pub agent_id: U256,
    /// The account with authority over the agent.
    pub authority: Address,
    /// Reputation of the agent.
    pub score: u64,
    /// The account on which payments of the wallet are booked; `None`: its own.
    pub account: Option<AccountId>,
    /// Unix milliseconds of the last check.
    pub checked_at_ms: u64,
}

impl AgentLink {
    fn encode(&self) -> String {
        json!({
            "agent_id": self.agent_id.to_string(),
            "authority": self.authority.to_string(),
            "score": self.score,
            "account": self.account.as_ref().map(AccountId::as_str),
            "checked_at_ms": self.checked_at_ms,
        })
        .to_string()
    }

    fn decode(text: &str) -> Option<Self> {
        let json: Value = serde_json::from_str(text).ok()?;
        Some(Self {
            agent_id: json["agent_id"].as_str()?.parse().ok()?,
            authority: json["authority"].as_str()?.parse().ok()?,
            score: json["score"].as_u64()?,
            account: match json["account"].as_str() {
                Some(account) => Some(AccountId::parse(account).ok()?),
                None => None,
            },
            checked_at_ms: json["checked_at_ms"].as_u64()?,
        })
    }
}

impl Seller {
    fn identity(&self) -> Result<&IdentityTerms, IdentityRejection> {
        self.terms
            .identity
            .as_ref()
            .ok_or(IdentityRejection::Closed)
    }

    /// Proves a signed request, and uses up its nonce.
    ///
    /// # Errors
    /// When the proof is not for this request, not signed by its wallet, or was used before.
    pub async fn prove(
        &self,
        request: &ProvenRequest<'_>,
    ) -> Result<ProvenAgent, IdentityRejection> {
        let terms = self.identity()?;
        let proof = AgentProof::from_header(request.proof)
            .map_err(|error| IdentityRejection::Malformed(error.to_string()))?;
        let signed = AgentRequest {
            audience: &terms.audience,
            registries: &[terms.registry],
            method: "POST",
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
        let proven = checked
            .verify(&wallet, &owner)
            .map_err(|error| refused(&error))?;
        let name = format!("proof:{:#x}:{:#x}", proven.claim.wallet, proven.claim.nonce);
        let until = proven.claim.expires_at.to_string();
        let store = self.claims.store();
        match store.swap_chain_value(&name, None, until).await? {
            true => Ok(proven),
            false => Err(IdentityRejection::Replayed),
        }
    }

    /// The wallet of a proven request.
    #[must_use]
    pub fn wallet_of(&self, agent: &ProvenAgent) -> WalletId {
        WalletId {
            chain_id: self.terms.token.network().chain_id(),
            address: ChainAddress(agent.wallet.0.0),
        }
    }

    /// Links a wallet with the agent that it speaks for by itself: its payments get the discount of
    /// the agent's reputation, and are booked on this account, if one is named.
    ///
    /// # Errors
    /// When the registry gives the wallet no authority, or nobody answers.
    pub async fn link(
        &self,
        agent: &ProvenAgent,
        account: Option<AccountId>,
    ) -> Result<AgentLink, IdentityRejection> {
        if agent.delegated.is_some() {
            let reason = "a link needs the agent's own wallet or owner, without a delegation";
            return Err(IdentityRejection::Refused(reason.to_owned()));
        }
        let (agent_id, authority) = (agent.agent_id, agent.authority);
        let score = self.registered(agent_id, authority).await?;
        let score = score.ok_or(IdentityRejection::NoAuthority(authority))?;
        let link = AgentLink {
            agent_id,
            authority,
            score,
            account,
            checked_at_ms: self.clock.now_ms(),
        };
        self.put_link(self.wallet_of(agent), Some(&link)).await?;
        Ok(link)
    }

    /// The link of a wallet, checked again from time to time; `None` where it has none any more.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn link_of(&self, wallet: WalletId) -> Result<Option<AgentLink>, StoreError> {
        let stored = self.claims.store().chain_value(&link_name(wallet)).await?;
        let Some(mut link) = stored.as_deref().and_then(AgentLink::decode) else {
            return Ok(None);
        };
        let now_ms = self.clock.now_ms();
        let age = now_ms.saturating_sub(link.checked_at_ms);
        if age < CHECK_MS {
            return Ok(Some(link));
        }
        match self.registered(link.agent_id, link.authority).await {
            Ok(Some(score)) => {
                link.score = score;
                link.checked_at_ms = now_ms;
                self.put_link(wallet, Some(&link)).await?;
                Ok(Some(link))
            }
            Ok(None) => {
                self.put_link(wallet, None).await?;
                Ok(None)
            }
            // A registry that does not answer takes nothing away, for a while.
            Err(_) => Ok((age < HOLDS_MS).then_some(link)),
        }
    }

    /// The spread of a link, and the name of its tier; `None`: the usual one.
    #[must_use]
    pub fn discount(&self, link: &AgentLink) -> Option<(&str, BasisPoints)> {
        let tiers = self.terms.identity.as_ref()?.tiers.iter();
        let reached = tiers.filter(|tier| link.score >= tier.score);
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
        // A registry of feedback reverts without reviewers.
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

    async fn put_link(&self, wallet: WalletId, link: Option<&AgentLink>) -> Result<(), StoreError> {
        let name = link_name(wallet);
        let text = link.map_or_else(String::new, AgentLink::encode);
        loop {
            let store = self.claims.store();
            let before = store.chain_value(&name).await?;
            if before.as_deref() == Some(&text)
                || store.swap_chain_value(&name, before, text.clone()).await?
            {
                return Ok(());
            }
        }
    }
}

fn link_name(wallet: WalletId) -> String {
    format!("link:{wallet}")
}
