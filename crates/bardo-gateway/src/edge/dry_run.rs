//! Dry runs: where a request would go, and which stored answer it would get.

use bardo_engine::{Received, Task};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};
use hyper::body::Incoming;

use super::replies::{json_reply, whole};
use super::signed::{self, SignedUse};
use super::{ApiReply, Caller, Edge, received};
use crate::auth::Access;
use crate::caches;
use crate::error::Problem;
use crate::explain;

impl Edge {
    /// Explains where a request would go, without sending, holding or charging anything. JSON, or a
    /// page of text for clients that accept `text/plain`.
    pub(super) async fn explain(
        &self,
        caller: &mut Caller,
        head: &http::request::Parts,
        body: Incoming,
    ) -> Result<ApiReply, Problem> {
        let received = self.received_to_explain(caller, head, body, Access::Read);
        let received = received.await?;
        let row = explain::subsystem(&received);
        let explained = self.engine.explain(received).map_err(Problem::from)?;
        if explain::wants_text(&head.headers) {
            let page = explain::shown(explained, row.as_deref(), |view| {
                explain::words(view, explain::WIDTH)
            });
            return Ok(page_reply(page));
        }
        let body = explain::shown(explained, row.as_deref(), explain::body);
        Ok(json_reply(StatusCode::OK, body))
    }

    /// Explains which stored answer a request would get, in the same two forms.
    pub(super) async fn explain_cache(
        &self,
        caller: &mut Caller,
        head: &http::request::Parts,
        body: Incoming,
    ) -> Result<ApiReply, Problem> {
        // The answer has words of stored questions, which a key that only reads does not see.
        let received = self.received_to_explain(caller, head, body, Access::Spend);
        let received = received.await?;
        // Embedding a question takes CPU time that all callers share.
        self.engine.refuse_throttled(&received.principal)?;
        self.engine.count_request(&received.principal).await?;
        let explained = self.engine.explain_cache(received).await;
        let explained = explained.map_err(Problem::from)?;
        if explain::wants_text(&head.headers) {
            return Ok(page_reply(caches::explained_words(&explained)));
        }
        Ok(json_reply(StatusCode::OK, caches::explained(&explained)))
    }

    /// Reads a request that is explained and not carried out.
    async fn received_to_explain(
        &self,
        caller: &mut Caller,
        head: &http::request::Parts,
        body: Incoming,
        access: Access,
    ) -> Result<Received, Problem> {
        let headers = &head.headers;
        let limits = self.policy.load().limits.clone();
        let mut room = self.bodies.room(limits.max_bodies);
        let (principal, body) = match signed::is_signed(headers) {
            true => {
                let signed = self.signed_body(caller, head, body, &mut room, SignedUse::DRY_RUN);
                Box::pin(signed).await?
            }
            false => {
                let principal = self.authenticate(caller, headers, access).await?;
                let read = self.body(headers, body, &principal, &limits, &mut room);
                let body = read.await?;
                (principal, body)
            }
        };
        caller.dialect = explain::dialect(&body, headers.contains_key("anthropic-version"));
        Ok(received(caller, Task::Generate, headers, body, principal))
    }
}

/// A page of text.
fn page_reply(page: String) -> ApiReply {
    let mut reply = whole(page.into());
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    reply.headers_mut().insert(CONTENT_TYPE, text);
    reply
}
