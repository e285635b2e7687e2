//! Links of wallets with the agents that they speak for.

use bardo_ledger::StoreError;
use bardo_ledger::claims::WalletId;
use bardo_types::ids::{AccountId, KeyId};
use bardo_x402::evm::{Address, U256};
use bardo_x402::identity::ProvenAgent;
use serde_json::{Value, json};

use super::IdentityRejection;
use crate::admit::Seller;

/// Milliseconds after which a link is checked again.
const CHECK_MS: u64 = 3_600_000;
/// Milliseconds for which a link stays valid while the registry cannot be read.
const HOLDS_MS: u64 = 24 * 3_600_000;

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
    /// The key that proved the account. Requests that the wallet signs draw on the account within
    /// the limits of this key, as long as it is good. `None`: they
    /// draw on the account of the wallet.
    pub key: Option<KeyId>,
    /// Unix milliseconds of the last check.
    pub checked_at_ms: u64,
}

/// What a check of a link says.
#[derive(Debug, PartialEq, Eq)]
enum LinkCheck {
    /// The registry says so now.
    Checked(AgentLink),
    /// Nobody answered, and the last check is not long ago.
    Holds(AgentLink),
    /// The registry gives the wallet no authority any more.
    Ended,
}

impl AgentLink {
    /// The link after a check: with the score of the agent, if the registry gives the wallet
    /// authority. If the registry does not answer, the link stays valid for a day.
    fn after_check(
        mut self,
        registered: Result<Option<u64>, IdentityRejection>,
        now_ms: u64,
    ) -> Result<LinkCheck, IdentityRejection> {
        match registered {
            Ok(Some(score)) => {
                self.score = score;
                self.checked_at_ms = now_ms;
                Ok(LinkCheck::Checked(self))
            }
            Ok(None) => Ok(LinkCheck::Ended),
            Err(_) if now_ms.saturating_sub(self.checked_at_ms) < HOLDS_MS => {
                Ok(LinkCheck::Holds(self))
            }
            // What nobody answers is no end of the link.
            Err(error) => Err(error),
        }
    }

    fn encode(&self) -> String {
        json!({
            "agent_id": self.agent_id.to_string(),
            "authority": self.authority.to_string(),
            "score": self.score,
            "account": self.account.as_ref().map(AccountId::as_str),
            "key": self.key.as_ref().map(KeyId::as_str),
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
            key: match json["key"].as_str() {
                Some(key) => Some(KeyId::parse(key).ok()?),
                None => None,
            },
            checked_at_ms: json["checked_at_ms"].as_u64()?,
        })
    }
}

impl Seller {
    /// Links a wallet with its agent. Its payments get the discount of the agent's reputation. If
    /// `owner` is given, they are booked on that account; the key, if there is one, proved it.
    ///
    /// # Errors
    /// When the registry gives the wallet no authority, or nobody answers.
    pub async fn link(
        &self,
        agent: &ProvenAgent,
        owner: Option<(AccountId, Option<KeyId>)>,
    ) -> Result<AgentLink, IdentityRejection> {
        if agent.delegated.is_some() {
            let reason = "a link needs the agent's own wallet or owner, without a delegation";
            return Err(IdentityRejection::Refused(reason.to_owned()));
        }
        let (agent_id, authority) = (agent.agent_id, agent.authority);
        let score = self.registered(agent_id, authority).await?;
        let score = score.ok_or(IdentityRejection::NoAuthority(authority))?;
        let (account, key) = owner.map_or((None, None), |(account, key)| (Some(account), key));
        let link = AgentLink {
            agent_id,
            authority,
            score,
            account,
            key,
            checked_at_ms: self.clock.now_ms(),
        };
        self.put_link(self.wallet_of(agent), Some(&link)).await?;
        Ok(link)
    }

    /// The link of a wallet, checked again from time to time; `None` where it has none any more.
    ///
    /// # Errors
    /// When the store does not answer, or the chain has not answered for a day.
    pub async fn link_of(&self, wallet: WalletId) -> Result<Option<AgentLink>, IdentityRejection> {
        match self.stored_link(wallet).await? {
            Some(link) => self.checked_link(wallet, link).await,
            None => Ok(None),
        }
    }

    /// The link of a wallet as it was checked last.
    pub(super) async fn stored_link(
        &self,
        wallet: WalletId,
    ) -> Result<Option<AgentLink>, StoreError> {
        let stored = self.claims.store().chain_value(&link_name(wallet)).await?;
        Ok(stored.as_deref().and_then(AgentLink::decode))
    }

    /// A stored link, checked again if that is due; `None` where the registry ended it.
    pub(super) async fn checked_link(
        &self,
        wallet: WalletId,
        link: AgentLink,
    ) -> Result<Option<AgentLink>, IdentityRejection> {
        let now_ms = self.clock.now_ms();
        if now_ms.saturating_sub(link.checked_at_ms) < CHECK_MS {
            return Ok(Some(link));
        }
        let registered = self.registered(link.agent_id, link.authority).await;
        match link.after_check(registered, now_ms)? {
            LinkCheck::Holds(link) => Ok(Some(link)),
            LinkCheck::Checked(link) => {
                self.put_link(wallet, Some(&link)).await?;
                Ok(Some(link))
            }
            LinkCheck::Ended => {
                self.put_link(wallet, None).await?;
                Ok(None)
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::ChainUnknown;

    const HOUR_MS: u64 = 3_600_000;

    fn link() -> AgentLink {
        AgentLink {
            agent_id: U256::from(22),
            authority: Address::repeat_byte(1),
            score: 600,
            account: Some(AccountId::parse("acct_1").expect("an id")),
            key: Some(KeyId::parse("key").expect("an id")),
            checked_at_ms: HOUR_MS,
        }
    }

    fn unknown() -> Result<Option<u64>, IdentityRejection> {
        Err(ChainUnknown("limit exceeded".to_owned()).into())
    }

    #[test]
    fn a_link_ends_by_the_word_of_the_registry_alone() {
        let checked = link().after_check(Ok(Some(700)), 3 * HOUR_MS);
        let expected = AgentLink {
            score: 700,
            checked_at_ms: 3 * HOUR_MS,
            ..link()
        };
        let checked = checked.expect("the registry answers");
        assert_eq!(checked, LinkCheck::Checked(expected));
        let ended = link().after_check(Ok(None), 3 * HOUR_MS);
        assert_eq!(ended.expect("the registry answers"), LinkCheck::Ended);
    }

    #[test]
    fn a_link_that_cannot_be_checked_holds_for_a_day_and_is_unknown_then() {
        let holds = link().after_check(unknown(), 24 * HOUR_MS);
        assert_eq!(holds.expect("it holds"), LinkCheck::Holds(link()));
        let unknown = link().after_check(unknown(), 25 * HOUR_MS);
        assert!(matches!(unknown, Err(IdentityRejection::Unknown(_))));
    }
}
