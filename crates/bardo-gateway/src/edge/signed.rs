//! Callers without a key: each of their requests is signed by an agent of ERC-8004, or under a
//! delegation of its owner.

use std::sync::Arc;

use bardo_access::{KeyState, PayerTerms};
use bardo_engine::{Payer, Principal};
use bardo_seller::{AGENT_PROOF, AgentCaller, IdentityRejection, ProofUse, ProvenRequest};
use bardo_types::clock::{Clock as _, SystemClock};
use bardo_x402::identity::AgentProof;
use bytes::Bytes;
use http::header::{HeaderMap, HeaderValue};
use hyper::body::Incoming;

use super::sale::is_guest;
use super::{Caller, Edge};
use crate::account::caps;
use crate::auth::{Access, check_terms};
use crate::body::{self, Room};
use crate::error::Problem;
use crate::sale::{Sale, counted_as};

/// The use of a signed request.
#[derive(Debug, Clone, Copy)]
pub(super) struct SignedUse {
    pub(super) access: Access,
    pub(super) purpose: ProofUse,
}

impl SignedUse {
    /// Inference, which a delegate may ask for.
    pub(super) const WORK: Self = Self {
        access: Access::Spend,
        purpose: ProofUse::Inference,
    };
    /// Looking at what inference would do.
    pub(super) const DRY_RUN: Self = Self {
        access: Access::Read,
        purpose: ProofUse::Inference,
    };

    /// Actions on the account itself, which only its owner may do.
    pub(super) const fn account(access: Access) -> Self {
        Self {
            access,
            purpose: ProofUse::Account,
        }
    }
}

/// Whether a request carries the proof of an agent.
pub(super) fn is_signed(headers: &HeaderMap) -> bool {
    headers.contains_key(AGENT_PROOF)
}

/// The one proof of a request.
pub(super) fn proof(headers: &HeaderMap) -> Result<&HeaderValue, Problem> {
    let mut proofs = headers.get_all(AGENT_PROOF).into_iter();
    match (proofs.next(), proofs.next()) {
        (Some(proof), None) => Ok(proof),
        _ => {
            let message = format!("send one header `{AGENT_PROOF}` with a signed request");
            Err(Problem::bad_identity(message))
        }
    }
}

/// The parts of a request that its proof must match.
pub(super) fn proven_request<'a>(
    head: &'a http::request::Parts,
    body: &'a [u8],
) -> Result<ProvenRequest<'a>, Problem> {
    let path = head.uri.path_and_query();
    Ok(ProvenRequest {
        proof: proof(&head.headers)?.as_bytes(),
        method: head.method.as_str(),
        path: path.map_or(head.uri.path(), |path| path.as_str()),
        body,
    })
}

impl Edge {
    /// The caller of a request that has no body, by its key or by its signature.
    pub(super) async fn caller_of(
        &self,
        caller: &Caller,
        head: &http::request::Parts,
        how: SignedUse,
    ) -> Result<Principal, Problem> {
        match is_signed(&head.headers) {
            false => self.authenticate(caller, &head.headers, how.access).await,
            true => Box::pin(self.signed(caller, head, &[], how)).await,
        }
    }

    /// Reads the body of a signed request, and verifies its caller.
    pub(super) async fn signed_body(
        &self,
        caller: &Caller,
        head: &http::request::Parts,
        body: Incoming,
        room: &mut Room,
        how: SignedUse,
    ) -> Result<(Principal, Bytes), Problem> {
        // A throttled caller, and one whose proof cannot be read, is refused before its body is read.
        let sale = self.sale_of_proofs()?;
        self.engine.refuse_throttled(&sale.guest(caller.peer))?;
        AgentProof::from_header(proof(&head.headers)?.as_bytes())
            .map_err(|error| Problem::identity(&IdentityRejection::Malformed(error.to_string())))?;
        let limits = self.policy.load().limits.clone();
        let most = match how.purpose {
            ProofUse::Inference => limits.max_body,
            ProofUse::Account => caps::BODY_MAX,
        };
        let body = body::read(&head.headers, body, most, &limits, room).await?;
        let principal = self.signed(caller, head, &body, how).await?;
        Ok((principal, body))
    }

    /// Verifies the caller of a signed request, and uses up its nonce.
    pub(super) async fn signed(
        &self,
        caller: &Caller,
        head: &http::request::Parts,
        body: &[u8],
        how: SignedUse,
    ) -> Result<Principal, Problem> {
        let sale = self.sale_of_proofs()?;
        let request = proven_request(head, body)?;
        // The request is counted before the chain is read.
        let guest = sale.guest(caller.peer);
        self.engine.count_request(&guest).await?;
        // SDKs always send a key. A valid one names a second caller, so it is refused.
        match self.authenticate(caller, &head.headers, how.access).await {
            Ok(_) => return Err(Problem::two_callers()),
            Err(problem) if !is_guest(&problem, &head.headers) => return Err(problem),
            Err(_) => {}
        }
        let agent = sale.seller.agent(&request, how.purpose).await;
        let agent = agent.map_err(|rejection| Problem::identity(&rejection))?;
        self.principal_of(agent, caller, how.access).await
    }

    fn sale_of_proofs(&self) -> Result<&Sale, Problem> {
        let closed = || Problem::identity(&IdentityRejection::Closed);
        self.sale.as_deref().ok_or_else(closed)
    }

    /// The terms of a proven caller: those of the key that its account was linked by, else those of
    /// a wallet; within its delegation.
    async fn principal_of(
        &self,
        agent: AgentCaller,
        caller: &Caller,
        access: Access,
    ) -> Result<Principal, Problem> {
        let terms = match &agent.key {
            None => PayerTerms {
                only_billed: true,
                ..PayerTerms::without_key(counted_as(agent.account.as_str()))
            },
            Some(key) => {
                let found = self.operator.keys.find(key).await;
                let found = found.map_err(|error| Problem::store_unavailable(&error))?;
                let now_ms = SystemClock.now_ms();
                let good = found.filter(|record| {
                    record.state(now_ms) == KeyState::Active && record.account == agent.account
                });
                PayerTerms::of_key(&good.ok_or_else(Problem::link_without_key)?)
            }
        };
        check_terms(&terms, caller.peer, access)
            .map_err(|denied| Problem::denied(denied).called_from(denied, caller.peer))?;
        let terms = terms.with_reputation(agent.spread);
        let terms = PayerTerms {
            // The worst case of the cost is held before anything is sent.
            settles_first: terms.settles_first || agent.delegated.is_some(),
            delegated: agent.delegated,
            ..terms
        };
        Ok(Principal {
            account: agent.account,
            payer: Payer::Prepaid(Arc::new(terms)),
        })
    }
}
