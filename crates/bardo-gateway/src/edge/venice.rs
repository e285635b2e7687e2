//! The endpoints below `/venice`: what is known of Venice, and the caller's own calls there.

use std::sync::Arc;
use std::time::Instant;

use bardo_engine::Principal;
use http::header::CACHE_CONTROL;
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode};
use serde_json::{Value, json};

use super::replies::event_stream;
use super::signed::SignedUse;
use super::{ApiReply, Caller, Edge, json_reply};
use crate::account::parameter;
use crate::auth::Access;
use crate::error::Problem;
use crate::reply::ReplyBody;
use crate::route::VeniceRoute;
use crate::venice::{self, page, summary, tokens};

impl Edge {
    /// Answers an endpoint below `/venice`.
    pub(super) async fn venice(
        &self,
        caller: &Caller,
        found: VeniceRoute,
        head: &Parts,
    ) -> Result<ApiReply, Problem> {
        let query = head.uri.query();
        let shown = match found {
            VeniceRoute::Page(file) => {
                let missing = || Problem::unknown_endpoint(&head.method, head.uri.path());
                return page::file(&file).ok_or_else(missing);
            }
            VeniceRoute::Status => self.venice_status(&self.reader(caller, head).await?),
            VeniceRoute::Telemetry => {
                self.venice_telemetry(&self.reader(caller, head).await?, query)?
            }
            VeniceRoute::Attestations => {
                self.venice_attestations(&self.reader(caller, head).await?, query)?
            }
            VeniceRoute::StreamToken => {
                let account = self.reader(caller, head).await?.account;
                self.needs_venice()?;
                let issued = self.stream_tokens.issue(account, Instant::now());
                let token = issued.ok_or_else(Problem::too_many_stream_tokens)?;
                json!({ "token": token, "expires_in_s": tokens::LIFETIME.as_secs() })
            }
            VeniceRoute::Stream => return self.venice_stream(caller, head).await,
        };
        let mut reply = json_reply(StatusCode::OK, shown);
        let headers = reply.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(reply)
    }

    async fn reader(&self, caller: &Caller, head: &Parts) -> Result<Principal, Problem> {
        self.caller_of(caller, head, SignedUse::account(Access::Read))
            .await
    }

    fn needs_venice(&self) -> Result<(), Problem> {
        match venice::backends(self.engine.snapshot().roster()).is_empty() {
            true => Err(Problem::no_venice()),
            false => Ok(()),
        }
    }

    fn venice_status(&self, reader: &Principal) -> Value {
        let snapshot = self.engine.snapshot();
        let roster = snapshot.roster();
        let records = self.venice.latest(&reader.account);
        let mut shown = venice::status(roster);
        let is_configured = shown["configured"] == true;
        let is_refused = self.venice.is_key_refused();
        shown["keyStatus"] = match is_refused.filter(|_| is_configured) {
            None => Value::Null,
            Some(true) => json!("expired"),
            Some(false) => json!("active"),
        };
        if snapshot.sandbox {
            shown["synthetic"] = json!(true);
        }
        if let Value::Object(members) = &mut shown {
            members.extend(summary::status(&records, roster));
        }
        shown
    }

    fn venice_telemetry(&self, reader: &Principal, query: Option<&str>) -> Result<Value, Problem> {
        self.needs_venice()?;
        let limit = limit(query, 100)?;
        let snapshot = self.engine.snapshot();
        let latest = self.venice.latest(&reader.account);
        let shown = latest.iter().take(limit).map(|record| {
            let mut shown = record.shown(venice::tier_of(snapshot.roster(), &record.model));
            if snapshot.sandbox {
                shown["synthetic"] = json!(true);
            }
            shown
        });
        Ok(json!({ "object": "list", "data": shown.collect::<Vec<_>>() }))
    }

    fn venice_attestations(
        &self,
        reader: &Principal,
        query: Option<&str>,
    ) -> Result<Value, Problem> {
        self.needs_venice()?;
        let limit = limit(query, 50)?;
        let snapshot = self.engine.snapshot();
        let latest = self.venice.latest(&reader.account);
        let attested = latest.iter().filter(|record| record.is_answered());
        let shown = attested.filter_map(|record| {
            let tier = venice::tier_of(snapshot.roster(), &record.model)?;
            venice::is_attested(tier).then(|| record.attestation(tier))
        });
        let shown: Vec<Value> = shown.take(limit).collect();
        Ok(json!({ "object": "list", "data": shown, "note": venice::UNVERIFIED }))
    }

    async fn venice_stream(&self, caller: &Caller, head: &Parts) -> Result<ApiReply, Problem> {
        let account = match parameter(head.uri.query(), "token") {
            Some(token) => {
                let redeemed = self.stream_tokens.redeem(token, Instant::now());
                redeemed.ok_or_else(Problem::stream_token_refused)?
            }
            None => self.reader(caller, head).await?.account,
        };
        self.needs_venice()?;
        let last = head.headers.get("last-event-id");
        let last = last.and_then(|id| id.to_str().ok());
        let heartbeat = self.policy.load().limits.heartbeat;
        let engine = Arc::clone(&self.engine);
        let feed = self.venice.follow(engine, account, last, heartbeat);
        let mut reply = Response::new(ReplyBody::Feed(feed));
        event_stream(reply.headers_mut());
        Ok(reply)
    }
}

/// The number of records that a query asks for: `usual` without one, the remembered ones at most.
fn limit(query: Option<&str>, usual: usize) -> Result<usize, Problem> {
    let Some(text) = parameter(query, "limit") else {
        return Ok(usual);
    };
    match text.parse() {
        Ok(limit @ 1..) => Ok(Ord::min(limit, venice::RECORDS_MAX)),
        _ => Err(Problem::bad_limit()),
    }
}
