//! Callers who sign each request: for which account they speak, and how much they may spend.

use bardo_access::DelegatedSpending;
use bardo_types::ids::{AccountId, KeyId};
use bardo_types::money::{BasisPoints, MicroUsd};
use bardo_x402::evm::{Address, B256};
use bardo_x402::identity::{DelegatedSpend, ProvenAgent};

use super::{IdentityRejection, ProvenRequest};
use crate::admit::Seller;

/// The state of a revoked delegation.
const REVOKED: &str = "revoked";
/// First part of the state of a delegation that was used; its account follows.
const OF_ACCOUNT: &str = "account:";

/// What a signed request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProofUse {
    /// Inference, which a delegation allows.
    Inference,
    /// Actions on the account itself, which only its owner may do.
    Account,
}

/// A caller who proved an agent, and the account that it speaks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCaller {
    /// The account that pays.
    pub account: AccountId,
    /// The key within whose limits the caller draws on the account; `None`: the account is the
    /// wallet's own.
    pub key: Option<KeyId>,
    /// Addition to the costs of providers by the reputation of the agent; `None`: the usual one.
    pub spread: Option<BasisPoints>,
    /// The limit of the delegation by which the caller speaks.
    pub delegated: Option<DelegatedSpending>,
}

impl Seller {
    /// The caller of a signed request, whose nonce is used up.
    ///
    /// # Errors
    /// When the proof is not for this request, its signer has no authority over the agent now, its
    /// delegation was revoked or is for something else, or it was used before; or when the
    /// chain or the store does not answer.
    pub async fn agent(
        &self,
        request: &ProvenRequest<'_>,
        purpose: ProofUse,
    ) -> Result<AgentCaller, IdentityRejection> {
        let proven = self.verified(request).await?;
        if proven.delegated.is_some() && purpose == ProofUse::Account {
            let reason = "a delegation is for inference alone; the owner signs other requests";
            return Err(IdentityRejection::Refused(reason.to_owned()));
        }
        let score = self.registered(proven.agent_id, proven.authority).await?;
        let score = score.ok_or(IdentityRejection::NoAuthority(proven.authority))?;
        let (account, key) = self.account_of(&proven).await?;
        let delegated = match &proven.delegated {
            None => None,
            Some(spend) => Some(self.delegated(proven.authority, spend, &account).await?),
        };
        self.use_up(&proven).await?;
        Ok(AgentCaller {
            account,
            key,
            spread: self.tier(score).map(|(_, spread)| spread),
            delegated,
        })
    }

    /// Revokes a delegation, for all gateways that share the store. A delegation that nobody has
    /// used yet can be revoked too.
    ///
    /// # Errors
    /// When the request was signed by a delegate, the registry gives its signer no authority over
    /// the agent, or the chain or the store does not answer.
    pub async fn revoke_delegation(
        &self,
        owner: &ProvenAgent,
        nonce: B256,
    ) -> Result<(), IdentityRejection> {
        if owner.delegated.is_some() {
            let reason = "the owner revokes a delegation, without a delegation";
            return Err(IdentityRejection::Refused(reason.to_owned()));
        }
        // A revocation stays in the store, so only owners of agents write one.
        let registered = self.registered(owner.agent_id, owner.authority).await?;
        registered.ok_or(IdentityRejection::NoAuthority(owner.authority))?;
        let name = state_name(&delegation_name(owner.wallet, nonce));
        let store = self.claims.store();
        loop {
            let before = store.chain_value(&name).await?;
            let is_revoked = before.as_deref() == Some(REVOKED);
            if is_revoked
                || store
                    .swap_chain_value(&name, before, REVOKED.to_owned())
                    .await?
            {
                return Ok(());
            }
        }
    }

    /// The account that the signer of a request, or of its delegation, speaks for: the account of
    /// the key that the agent is linked by, else that of the wallet. A link that cannot be checked
    /// is neither: it names an account that is not known to be right.
    async fn account_of(
        &self,
        proven: &ProvenAgent,
    ) -> Result<(AccountId, Option<KeyId>), IdentityRejection> {
        let wallet = self.wallet_at(proven.authority);
        let stored = self.stored_link(wallet).await?;
        let link = match stored.filter(|link| link.agent_id == proven.agent_id) {
            Some(link) => self.checked_link(wallet, link).await?,
            None => None,
        };
        let linked = link.and_then(|link| Some((link.account?, link.key?)));
        Ok(match linked {
            Some((account, key)) => (account, Some(key)),
            None => (wallet.account(), None),
        })
    }

    /// The limit of a delegation that was not revoked. Its spending is counted in the account that
    /// it was used for first, so a link with another account does not reset the count.
    async fn delegated(
        &self,
        owner: Address,
        spend: &DelegatedSpend,
        account: &AccountId,
    ) -> Result<DelegatedSpending, IdentityRejection> {
        let counted_as = delegation_name(owner, spend.nonce);
        let (name, wanted) = (state_name(&counted_as), format!("{OF_ACCOUNT}{account}"));
        let store = self.claims.store();
        loop {
            match store.chain_value(&name).await?.as_deref() {
                None => {
                    let _ = store.swap_chain_value(&name, None, wanted.clone()).await?;
                }
                Some(state) if state == wanted => break,
                Some(REVOKED) => return Err(IdentityRejection::Revoked),
                Some(_) => {
                    let reason = "the owner has another account since this delegation was used first; ask for another \
                                  delegation";
                    return Err(IdentityRejection::Refused(reason.to_owned()));
                }
            }
        }
        // Stores keep amounts as signed numbers of 64 bits.
        let most = u64::try_from(spend.max_spend).unwrap_or(u64::MAX);
        let most = MicroUsd::new(most.min(i64::MAX.unsigned_abs()));
        Ok(DelegatedSpending { counted_as, most })
    }
}

/// The name of a delegation: its owner with the nonce that the owner gave it.
fn delegation_name(owner: Address, nonce: B256) -> KeyId {
    KeyId::parse(&format!("{owner:#x}:{nonce:#x}")).expect("hexadecimal digits make an id")
}

/// The name under which the state of a delegation is stored.
fn state_name(delegation: &KeyId) -> String {
    format!("delegation:{delegation}")
}
