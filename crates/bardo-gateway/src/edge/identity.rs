//! Signed requests of wallets: a key for a wallet, the link with its agent (ERC-8004), and the
//! revocation of a delegation.

use bardo_access::{KeyRecord, KeyState, Scopes};
use bardo_engine::{Payer, Principal};
use bardo_ledger::claims::WalletId;
use bardo_types::clock::{Clock as _, SystemClock};
use bardo_types::ids::{AccountId, KeyId};
use bardo_x402::evm::B256;
use bardo_x402::identity::ProvenAgent;
use bytes::Bytes;
use http::StatusCode;
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::signed::proven_request;
use super::{ApiReply, Caller, Edge, json_reply};
use crate::auth::{self, Access};
use crate::body;
use crate::error::Problem;
use crate::operator::{KeySpec, Unseen};
use crate::sale::Sale;

/// The largest body.
const BODY_MAX: usize = 4_096;
/// The most keys of a wallet's account.
const KEYS_MAX: usize = 20;

impl Edge {
    /// Makes a key for the account of the wallet that signed the request.
    pub(super) async fn wallet_key(
        &self,
        caller: &Caller,
        head: &http::request::Parts,
        body: Incoming,
    ) -> Result<ApiReply, Problem> {
        let (sale, agent, body) = self.proven(caller, head, body).await?;
        let wallet = sale.seller.wallet_of(&agent);
        let account = self.account_for_key(sale, wallet).await?;
        let keys = self.operator.keys.list(Some(&account)).await;
        let keys = keys.map_err(|error| Problem::store_unavailable(&error))?;
        if keys.len() >= KEYS_MAX {
            let message =
                format!("the account has {KEYS_MAX} keys; ask the operator to delete some");
            return Err(Problem::bad_identity(message));
        }
        let body: Value = match body.is_empty() {
            true => json!({}),
            false => serde_json::from_slice(&body)
                .map_err(|_| Problem::bad_identity("the body must be JSON or empty".to_owned()))?,
        };
        let name = body["name"].as_str().unwrap_or("wallet").to_owned();
        let made = self.operator.create_key(KeySpec {
            name,
            account: Some(account.as_str().to_owned()),
            unseen: Unseen::Make,
            ..KeySpec::default()
        });
        let made = made.await.map_err(|error| Problem::of_operator(&error))?;
        Ok(json_reply(StatusCode::OK, made))
    }

    /// The account for which a wallet makes keys: the one that it is linked with, if the key that
    /// proved it is good and without limits, as the new key has none; else its own.
    async fn account_for_key(&self, sale: &Sale, wallet: WalletId) -> Result<AccountId, Problem> {
        let link = sale.seller.link_of(wallet).await;
        let link = link.map_err(|rejection| Problem::identity(&rejection))?;
        let Some((account, key)) = link.and_then(|link| Some((link.account?, link.key?))) else {
            return Ok(wallet.account());
        };
        let found = self.operator.keys.find(&key).await;
        let found = found.map_err(|error| Problem::store_unavailable(&error))?;
        let now_ms = SystemClock.now_ms();
        let good = found
            .filter(|record| record.state(now_ms) == KeyState::Active && record.account == account);
        let record = good.ok_or_else(Problem::link_without_key)?;
        if !is_plain(&record) {
            let message = "the wallet is linked by a key with limits, a tier, a spread or an end, and this one would have \
                           none; ask the operator for a key";
            return Err(Problem::bad_identity(message.to_owned()));
        }
        Ok(account)
    }

    /// Takes back the delegation that the body names, as its owner, who signed the request.
    pub(super) async fn revoke_delegation(
        &self,
        caller: &Caller,
        head: &http::request::Parts,
        body: Incoming,
    ) -> Result<ApiReply, Problem> {
        let (sale, owner, body) = self.proven(caller, head, body).await?;
        let nonce = delegation_nonce(&body)?;
        let revoked = sale.seller.revoke_delegation(&owner, nonce).await;
        revoked.map_err(|rejection| Problem::identity(&rejection))?;
        let shown = json!({
            "object": "identity_delegation",
            "owner": owner.wallet.to_string(),
            "nonce": nonce.to_string(),
            "status": "revoked",
        });
        Ok(json_reply(StatusCode::OK, shown))
    }

    /// Links the wallet that signed the request with the agent that it names.
    pub(super) async fn link_agent(
        &self,
        caller: &Caller,
        head: &http::request::Parts,
        body: Incoming,
    ) -> Result<ApiReply, Problem> {
        let own: Option<(AccountId, Option<KeyId>)> = match auth::presents_own_key(&head.headers) {
            true => {
                let own = self.authenticate(caller, &head.headers, Access::Spend);
                Some(proven_by(own.await?))
            }
            false => None,
        };
        let (sale, agent, _) = self.proven(caller, head, body).await?;
        let wallet = sale.seller.wallet_of(&agent);
        let link = sale.seller.link(&agent, own).await;
        let link = link.map_err(|rejection| Problem::identity(&rejection))?;
        let tier = sale.seller.discount(&link);
        let account = link.account.clone().unwrap_or_else(|| wallet.account());
        let shown = json!({
            "object": "identity_link",
            "wallet": wallet.to_string(),
            "agent_id": link.agent_id.to_string(),
            "account": account.as_str(),
            "reputation": link.score,
            "tier": tier.map(|(name, _)| name),
            "spread_pct": tier.map(|(_, spread)| f64::from(spread.get()) / 100.0),
        });
        Ok(json_reply(StatusCode::OK, shown))
    }

    /// The sale, the agent that signed the request, and its body.
    async fn proven(
        &self,
        caller: &Caller,
        head: &http::request::Parts,
        body: Incoming,
    ) -> Result<(&Sale, ProvenAgent, Bytes), Problem> {
        let path = head.uri.path();
        let closed = || Problem::unknown_endpoint(&head.method, path);
        let sale = self.sale.as_ref().ok_or_else(closed)?;
        let guest = sale.guest(caller.peer);
        self.engine.refuse_throttled(&guest)?;
        let limits = self.policy.load().limits.clone();
        let mut room = self.bodies.room(limits.max_bodies);
        let body = body::read(&head.headers, body, BODY_MAX, &limits, &mut room).await?;
        let request = proven_request(head, &body)?;
        self.engine.count_request(&guest).await?;
        let proven = sale.seller.prove(&request).await;
        let proven = proven.map_err(|rejection| Problem::identity(&rejection))?;
        Ok((sale, proven, body))
    }
}

/// Whether a key has nothing that a key without terms would lack.
fn is_plain(record: &KeyRecord) -> bool {
    let KeyRecord {
        scopes,
        tier,
        spread,
        expires_at_ms,
        ..
    } = record;
    *scopes == Scopes::default() && tier.is_none() && spread.is_none() && expires_at_ms.is_none()
}

/// The account of a caller, with the key that proved it.
fn proven_by(own: Principal) -> (AccountId, Option<KeyId>) {
    let key = match &own.payer {
        Payer::Owner => None,
        Payer::Prepaid(terms) => terms.key.clone(),
    };
    (own.account, key)
}

/// The nonce of the delegation that a body names.
fn delegation_nonce(body: &[u8]) -> Result<B256, Problem> {
    let json: Option<Value> = serde_json::from_slice(body).ok();
    let text = json.as_ref().and_then(|json| json["nonce"].as_str());
    let digits = text.and_then(|text| text.strip_prefix("0x"));
    let nonce = digits.filter(|digits| digits.len() == 64);
    nonce.and_then(|nonce| nonce.parse().ok()).ok_or_else(|| {
        let message =
            "`nonce` must be the one of the delegation: {\"nonce\": \"0x…\"}, 64 hex digits";
        Problem::bad_delegation(message.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use bardo_access::{KeyKind, KeyTier};
    use bardo_types::money::BasisPoints;

    use super::*;

    /// A change of a key.
    type Change = fn(&mut KeyRecord);

    #[test]
    fn a_key_with_any_term_of_its_own_is_not_plain() {
        let plain = KeyRecord {
            id: KeyId::parse("k").expect("an id"),
            account: AccountId::parse("a").expect("an id"),
            kind: KeyKind::Spend,
            name: String::new(),
            hash: String::new(),
            scopes: Scopes::default(),
            tier: None,
            spread: None,
            created_at_ms: 0,
            expires_at_ms: None,
            revoked_at_ms: None,
            replaces: None,
        };
        assert!(is_plain(&plain));
        let changes: [Change; 4] = [
            |key| key.scopes.requests_per_minute = Some(1),
            |key| key.tier = KeyTier::named("free"),
            |key| key.spread = BasisPoints::new(0),
            |key| key.expires_at_ms = Some(u64::MAX),
        ];
        for (number, change) in changes.iter().enumerate() {
            let mut key = plain.clone();
            change(&mut key);
            assert!(!is_plain(&key), "{number}");
        }
    }
}
