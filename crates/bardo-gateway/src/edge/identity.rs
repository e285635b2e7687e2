//! Signed requests of wallets: a key for a wallet, and the link with its agent (ERC-8004).

use bardo_seller::{AGENT_PROOF, ProvenRequest};
use bardo_types::ids::AccountId;
use bardo_x402::identity::ProvenAgent;
use bytes::Bytes;
use http::StatusCode;
use hyper::body::Incoming;
use serde_json::{Value, json};

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
        let link = sale.seller.link_of(wallet).await;
        let link = link.map_err(|error| Problem::store_unavailable(&error))?;
        let account = link.and_then(|link| link.account);
        let account = account.unwrap_or_else(|| wallet.account());
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

    /// Links the wallet that signed the request with the agent that it names.
    pub(super) async fn link_agent(
        &self,
        caller: &Caller,
        head: &http::request::Parts,
        body: Incoming,
    ) -> Result<ApiReply, Problem> {
        let own: Option<AccountId> = match auth::presents_own_key(&head.headers) {
            true => {
                let own = self.authenticate(caller, &head.headers, Access::Spend);
                Some(own.await?.account)
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
        self.engine.refuse_throttled(&sale.guest(caller.peer))?;
        let limits = self.policy.load().limits.clone();
        let mut room = self.bodies.room(limits.max_bodies);
        let body = body::read(&head.headers, body, BODY_MAX, &limits, &mut room).await?;
        let mut proofs = head.headers.get_all(AGENT_PROOF).into_iter();
        let (Some(proof), None) = (proofs.next(), proofs.next()) else {
            let message = format!("send one header `{AGENT_PROOF}` with a signed request");
            return Err(Problem::bad_identity(message));
        };
        let path = head.uri.path_and_query().map_or(path, |path| path.as_str());
        let request = ProvenRequest {
            proof: proof.as_bytes(),
            path,
            body: &body,
        };
        let proven = sale.seller.prove(&request).await;
        let proven = proven.map_err(|rejection| Problem::identity(&rejection))?;
        Ok((sale, proven, body))
    }
}
