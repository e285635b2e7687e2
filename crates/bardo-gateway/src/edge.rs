//! One HTTP request: limits, route, credentials, then the engine, then headers.

mod deposit;
mod dry_run;
mod headers;
mod health;
mod identity;
mod replies;
mod sale;
mod signed;
mod venice;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use bardo_access::LimitStore;
use bardo_engine::{
    Call as EngineCall, Claimed, Engine, EngineError, EngineFuture, FlushCause, Payer, Principal,
    Received, RecordedAnswer, Task,
};
use bardo_telemetry::Metrics;
use bardo_types::clock::{Clock as _, SystemClock};
use bardo_types::error_code::ErrorCode;
use bardo_types::ids::RequestId;
use bardo_types::model::Dialect;
use bardo_types::money::MicroUsd;
use bardo_wire::headers as names;
use bytes::Bytes;
use http::header::{HOST, HeaderMap, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use hyper::body::{Body as _, Incoming};

use self::replies::{
    answered, awaited, event_stream, identify, json_reply, log_refusal, refuse, replayed, whole,
};
use self::signed::SignedUse;
use crate::account;
use crate::auth::{Access, Gatekeeper, UnverifiedCall, presented_id};
use crate::body::{self, BodyBudget, Room};
use crate::caches;
use crate::cors::Cors;
use crate::error::Problem;
use crate::events::{Bus, Filter};
use crate::export::Exports;
use crate::home;
use crate::models;
use crate::openapi;
use crate::operator::Operator;
use crate::repeat::{self, IdempotencyOutcome};
use crate::reply::{Behind, ReplyBody};
use crate::request_id;
use crate::route::{ApiRoute, ReadRoute, percent_decoded, route};
use crate::sale::Sale;
use crate::venice::VeniceFeed;
use crate::venice::tokens::StreamTokens;

/// Limits towards callers; replaced as a whole by a reload.
#[derive(Debug, Clone)]
pub(crate) struct EdgeLimits {
    pub(crate) max_body: usize,
    /// Most bytes of all bodies together.
    pub(crate) max_bodies: usize,
    pub(crate) max_header: usize,
    pub(crate) read_timeout: Duration,
    pub(crate) write_timeout: Duration,
    pub(crate) heartbeat: Duration,
}

/// The settings of the edge that a reload replaces.
pub(crate) struct EdgePolicy {
    pub(crate) limits: EdgeLimits,
    pub(crate) cors: Cors,
    pub(crate) gate: Gatekeeper,
    /// Send `traceparent` and `tracestate` of callers to providers.
    pub(crate) propagates: bool,
}

/// Handles requests on the data listener.
pub(crate) struct Edge {
    #[cfg(feature = "embedder")]
    pub(crate) embedder: Arc<bardo_embed::Embedder>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) policy: ArcSwap<EdgePolicy>,
    pub(crate) draining: AtomicBool,
    /// Told when an operator wants the lists of models to be read again.
    pub(crate) refresh_lists: tokio::sync::Notify,
    /// Whether the store has answered since the process started.
    pub(crate) store_reached: Arc<AtomicBool>,
    /// The stores of money, keys and receipts.
    pub(crate) operator: Operator,
    /// Counters of rates.
    pub(crate) counters: Arc<dyn LimitStore>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) bus: Bus,
    /// The latest calls of Venice.
    pub(crate) venice: Arc<VeniceFeed>,
    /// Tokens that open its stream.
    pub(crate) stream_tokens: StreamTokens,
    pub(crate) bodies: BodyBudget,
    /// The sale of single requests, where the operator opened it.
    pub(crate) sale: Option<Arc<Sale>>,
    /// Telemetry sinks, if there are any.
    pub(crate) exports: Option<Arc<Exports>>,
}

/// The largest body of an account without balance, where every backend is billed.
const BODY_WITHOUT_FUNDS: usize = 1 << 20;

type ApiReply = Response<ReplyBody>;

/// An answer of the engine that is still being worked on.
type Answering = EngineFuture<'static, Result<RecordedAnswer, EngineError>>;

/// The values that an answer to this caller needs beside its content.
struct Caller {
    peer: IpAddr,
    /// Ours; never used twice.
    id: RequestId,
    /// The caller's own, else ours.
    request_id: Arc<str>,
    dialect: Dialect,
    sandbox: bool,
    /// Providers get the caller's trace headers.
    propagates: bool,
}

impl Edge {
    /// Answers one request; never fails.
    pub(crate) async fn handle(
        self: Arc<Self>,
        request: Request<Incoming>,
        peer: SocketAddr,
    ) -> Result<ApiReply, Infallible> {
        let (head, body) = request.into_parts();
        let policy = self.policy.load();
        if let Some(mut reply) = policy.cors.preflight(&head.method, &head.headers) {
            let origin = policy.cors.origin(&head.headers);
            policy.cors.mark(origin.as_ref(), reply.headers_mut());
            return Ok(reply);
        }
        let origin = policy.cors.origin(&head.headers);
        let propagates = policy.propagates;
        drop(policy);
        let found = route(&head.method, head.uri.path());
        let dialect = match &found {
            ApiRoute::Work { dialect, .. } => *dialect,
            _ if head.uri.path().contains("/messages") => Dialect::Anthropic,
            _ if head.headers.contains_key("anthropic-version") => Dialect::Anthropic,
            _ => Dialect::Chat,
        };
        let sandbox = self.engine.is_sandbox();
        let id = request_id::fresh();
        let mut caller = Caller {
            peer: peer.ip(),
            request_id: request_id::of_caller(&head.headers)
                .map_or_else(|| id.to_shared(), Arc::from),
            id,
            dialect,
            sandbox,
            propagates,
        };
        let answered = self.answer(&mut caller, found, &head, body).await;
        let mut reply = answered.unwrap_or_else(|problem| {
            self.metrics.refused(problem.code);
            let problem = problem.naming_key(presented_id(&head.headers).as_deref());
            log_refusal(&caller, &head, &problem);
            refuse(&caller, &problem)
        });
        if head.method == Method::HEAD {
            *reply.body_mut() = ReplyBody::Whole(Bytes::new());
        }
        identify(&caller, reply.headers_mut());
        let policy = self.policy.load();
        policy.cors.mark(origin.as_ref(), reply.headers_mut());
        Ok(reply)
    }

    async fn answer(
        &self,
        caller: &mut Caller,
        found: ApiRoute,
        head: &http::request::Parts,
        body: Incoming,
    ) -> Result<ApiReply, Problem> {
        check_head(&head.headers, self.policy.load().limits.max_header)?;
        check_host(head)?;
        match found {
            ApiRoute::Work { task, detect, .. } => {
                self.work(caller, task, detect, head, body).await
            }
            ApiRoute::Explain => self.explain(caller, head, body).await,
            ApiRoute::ExplainCache => self.explain_cache(caller, head, body).await,
            ApiRoute::WalletKey => self.wallet_key(caller, head, body).await,
            ApiRoute::LinkAgent => self.link_agent(caller, head, body).await,
            ApiRoute::RevokeDelegation => self.revoke_delegation(caller, head, body).await,
            ApiRoute::Deposit => self.deposit(caller, head, body).await,
            ApiRoute::Payment(id) => self.payment(&id).await,
            ApiRoute::Venice(found) => self.venice(caller, found, head).await,
            ApiRoute::Health => Ok(self.health()),
            ApiRoute::OpenApi => Ok(whole(openapi::public().into())),
            ApiRoute::ChangeCaps => self.change_caps(caller, head, body).await,
            ApiRoute::FlushCache => self.flush_cache(caller, head, &body).await,
            ApiRoute::WrongMethod(allowed) => {
                let problem = Problem::method_not_allowed(&head.method, allowed);
                let mut reply = refuse(caller, &problem);
                reply
                    .headers_mut()
                    .insert(http::header::ALLOW, HeaderValue::from_static(allowed));
                Ok(reply)
            }
            ApiRoute::Unknown => home::page(&head.method, head.uri.path(), &head.headers)
                .ok_or_else(|| Problem::unknown_endpoint(&head.method, head.uri.path())),
            ApiRoute::Read(found) => {
                let is_open = matches!(found, ReadRoute::Models | ReadRoute::Model(_));
                let how = match is_open {
                    true => SignedUse::DRY_RUN,
                    false => SignedUse::account(Access::Read),
                };
                let admitted = self.caller_of(caller, head, how).await;
                let principal = match (admitted, &self.sale) {
                    (Err(problem), Some(sale))
                        if is_open && sale::is_guest(&problem, &head.headers) =>
                    {
                        sale.guest(caller.peer)
                    }
                    (admitted, _) => admitted?,
                };
                self.show(caller.dialect, principal, found, head).await
            }
        }
    }

    /// Answers a caller who reads and spends nothing.
    async fn show(
        &self,
        dialect: Dialect,
        principal: Principal,
        found: ReadRoute,
        head: &http::request::Parts,
    ) -> Result<ApiReply, Problem> {
        let is_anthropic = dialect == Dialect::Anthropic;
        let (now_ms, query) = (SystemClock.now_ms(), head.uri.query());
        let snapshot = self.engine.snapshot();
        let (keys, ledger) = (&*self.operator.keys, &*self.operator.ledger);
        let shown = match found {
            ReadRoute::Models => models::list(snapshot.roster(), is_anthropic),
            ReadRoute::Model(name) => models::one(snapshot.roster(), &name, is_anthropic)
                .ok_or_else(|| Problem::model_not_found(&name))?,
            ReadRoute::Balance => account::balance(ledger, &principal).await?,
            ReadRoute::Usage => {
                let asked = (query, replies::accepted(&head.headers));
                let report = account::usage(&self.operator, &principal, asked, &snapshot).await?;
                return Ok(replies::report(report));
            }
            ReadRoute::Caps => {
                account::caps::show(keys, ledger, &principal, now_ms, &snapshot.router).await?
            }
            ReadRoute::Cache => {
                let account = Some(&principal.account);
                caches::all_figures(&self.operator, self.engine.cache(), account).await
            }
            ReadRoute::Receipt(id) => {
                let receipt = account::receipt(ledger, &principal, &id).await?;
                return Ok(whole(receipt.into()));
            }
            ReadRoute::Events => {
                let heartbeat = self.policy.load().limits.heartbeat;
                let list = account::parameter(query, "events").map(percent_decoded);
                let filter =
                    Filter::parse(list.as_deref()).map_err(|name| Problem::no_event(&name))?;
                let feed = self.bus.follow(principal.account, filter, heartbeat);
                let mut reply = Response::new(ReplyBody::Feed(feed));
                event_stream(reply.headers_mut());
                return Ok(reply);
            }
        };
        Ok(json_reply(StatusCode::OK, shown))
    }

    async fn flush_cache(
        &self,
        caller: &Caller,
        head: &http::request::Parts,
        body: &Incoming,
    ) -> Result<ApiReply, Problem> {
        let how = SignedUse::account(Access::Spend);
        let principal = self.caller_of(caller, head, how).await?;
        // What a caller meant to narrow must not remove everything.
        if !body.is_end_stream() {
            return Err(Problem::bad_flush(account::NO_BODY.to_owned()));
        }
        let scope = self.engine.snapshot().cache.scope;
        let order = account::flush_order(head.uri.query(), &principal, scope)?;
        self.engine.count_request(&principal).await?;
        let flushed = caches::flush(&self.engine, &order, FlushCause::Account).await;
        Ok(json_reply(StatusCode::OK, flushed))
    }

    async fn change_caps(
        &self,
        caller: &Caller,
        head: &http::request::Parts,
        body: Incoming,
    ) -> Result<ApiReply, Problem> {
        let headers = &head.headers;
        let limits = self.policy.load().limits.clone();
        let mut room = self.bodies.room(limits.max_bodies);
        let (principal, body) = match signed::is_signed(headers) {
            true => {
                let how = SignedUse::account(Access::Spend);
                let signed = self.signed_body(caller, head, body, &mut room, how);
                Box::pin(signed).await?
            }
            false => {
                let principal = self.authenticate(caller, headers, Access::Spend).await?;
                let most = account::caps::BODY_MAX;
                let body = body::read(headers, body, most, &limits, &mut room).await?;
                (principal, body)
            }
        };
        let now_ms = SystemClock.now_ms();
        let (keys, counters) = (&*self.operator.keys, &*self.counters);
        let caps = account::caps::change(keys, counters, &principal, &body, now_ms).await?;
        Ok(json_reply(StatusCode::OK, caps))
    }

    async fn authenticate(
        &self,
        caller: &Caller,
        headers: &HeaderMap,
        access: Access,
    ) -> Result<Principal, Problem> {
        let call = UnverifiedCall {
            headers,
            peer: caller.peer,
            access,
        };
        let verdict = self.policy.load().gate.admit(&call);
        verdict.outcome().await.map_err(|denied| {
            let problem = Problem::denied(denied).called_from(denied, caller.peer);
            match caller.sandbox {
                true => problem.in_sandbox(),
                false => problem,
            }
        })
    }

    async fn work(
        &self,
        caller: &mut Caller,
        task: Task,
        detect: bool,
        head: &http::request::Parts,
        body: Incoming,
    ) -> Result<ApiReply, Problem> {
        let headers = &head.headers;
        if let Some(sale) = &self.sale
            && let Some(payment) = sale::payment(headers)?
        {
            let paid = self.paid(sale, caller, (task, detect), payment, head, body);
            return Box::pin(paid).await;
        }
        let limits = self.policy.load().limits.clone();
        // It is held until the head of the answer is there.
        let mut room = self.bodies.room(limits.max_bodies);
        if signed::is_signed(headers) {
            let signed = self.signed_body(caller, head, body, &mut room, SignedUse::WORK);
            let (principal, body) = Box::pin(signed).await?;
            if self.draining.load(Ordering::Relaxed) {
                return Err(Problem::draining());
            }
            let work = (task, detect);
            return self.answer_body(caller, work, head, body, principal).await;
        }
        let admitted = self.authenticate(caller, headers, Access::Spend).await;
        let principal = match (admitted, &self.sale) {
            (Err(problem), Some(sale)) if sale::is_guest(&problem, headers) => {
                let guest = sale.guest(caller.peer);
                if task != Task::CountTokens {
                    let offer = self.offer(sale, caller, (task, detect), guest, head, body);
                    return Err(Box::pin(offer).await);
                }
                guest
            }
            (admitted, _) => admitted?,
        };
        if self.draining.load(Ordering::Relaxed) {
            return Err(Problem::draining());
        }
        self.engine.refuse_throttled(&principal)?;
        let body = self
            .body(headers, body, &principal, &limits, &mut room)
            .await?;
        let work = (task, detect);
        self.answer_body(caller, work, head, body, principal).await
    }

    /// Answers a caller whose body is read.
    async fn answer_body(
        &self,
        caller: &mut Caller,
        (task, detect): (Task, bool),
        head: &http::request::Parts,
        body: Bytes,
        principal: Principal,
    ) -> Result<ApiReply, Problem> {
        bardo_engine::others_first().await;
        let headers = &head.headers;
        let key = repeat::key(headers)?;
        if detect && let Ok(top) = bardo_wire::json::scan(&body) {
            let versioned = headers.contains_key("anthropic-version");
            caller.dialect = bardo_wire::chat::detect_completions_body(&top, versioned);
        }
        self.engine.recall(&principal.account, &body).await;
        let first = match key {
            None => IdempotencyOutcome::Fresh(None),
            Some(key) => {
                let keys = self.engine.idempotency();
                repeat::first(keys, &principal, &key, head.uri.path(), &body).await?
            }
        };
        let mut reply = match first {
            IdempotencyOutcome::Replay(kept) => {
                // Another key of the account may not be allowed what the first one was.
                let received = received(caller, task, headers, body, principal);
                let checked = self.engine.check_replay(received).await;
                checked.map_err(Problem::from)?;
                let answer = self.engine.replay(&kept);
                replayed(answer, caller.dialect, Behind::of(headers))
            }
            IdempotencyOutcome::Fresh(claimed) => {
                let call = self.read(caller, task, headers, body, principal)?;
                let (heartbeat, behind) =
                    (self.policy.load().limits.heartbeat, Behind::of(headers));
                self.reply(caller, call, claimed, heartbeat, behind).await?
            }
        };
        if detect {
            reply.headers_mut().insert(
                names::DIALECT,
                HeaderValue::from_static(caller.dialect.as_str()),
            );
        }
        Ok(reply)
    }

    /// The body, within what this caller may send.
    async fn body(
        &self,
        headers: &HeaderMap,
        body: Incoming,
        principal: &Principal,
        limits: &EdgeLimits,
        room: &mut Room,
    ) -> Result<Bytes, Problem> {
        let is_small = body::announced(headers).is_some_and(|length| length <= BODY_WITHOUT_FUNDS);
        let mut limit = limits.max_body;
        let is_billed = || {
            let snapshot = self.engine.snapshot();
            matches!(principal.payer, Payer::Prepaid(_))
                && snapshot.endpoints.iter().all(|endpoint| !endpoint.direct)
        };
        if !is_small && limit > BODY_WITHOUT_FUNDS && is_billed() {
            let balance = self.operator.ledger.balance(&principal.account).await;
            let balance = balance.map_err(|error| Problem::store_unavailable(&error))?;
            if balance.unwrap_or_default().available == MicroUsd::ZERO {
                limit = BODY_WITHOUT_FUNDS;
            }
        }
        let read = body::read(headers, body, limit, limits, room).await;
        read.map_err(|problem| match problem.code {
            ErrorCode::BodyTooLarge if limit < limits.max_body => {
                Problem::body_without_funds(limit)
            }
            _ => problem,
        })
    }

    fn read(
        &self,
        caller: &Caller,
        task: Task,
        headers: &HeaderMap,
        body: Bytes,
        principal: Principal,
    ) -> Result<EngineCall, Problem> {
        let sent = body.clone();
        let received = received(caller, task, headers, body, principal);
        self.engine.read(received).map_err(|error| Problem {
            model: bardo_wire::json::scan(&sent)
                .ok()
                .and_then(|top| top.string("model")),
            ..Problem::from(error)
        })
    }

    /// Waits for a provider to begin. After a heartbeat's time the head of a stream is sent all the
    /// same, so that nobody between here and the caller takes the silence for a dead connection.
    async fn reply(
        &self,
        caller: &Caller,
        call: EngineCall,
        claimed: Option<Claimed>,
        heartbeat: Duration,
        behind: Behind,
    ) -> Result<ApiReply, Problem> {
        let streams = call.stream();
        let model = Arc::clone(call.model());
        let refused = |error| Problem {
            model: Some(model.to_string()),
            ..Problem::from(error)
        };
        let mut working = Arc::clone(&self.engine).answer_once(call, claimed);
        if !streams {
            let (answer, _) = working.await.map_err(refused)?;
            bardo_engine::others_first().await;
            return Ok(answered(answer, None, caller.dialect, behind));
        }
        match tokio::time::timeout(heartbeat, &mut working).await {
            Ok(done) => {
                let (answer, recorder) = done.map_err(refused)?;
                Ok(answered(answer, recorder, caller.dialect, behind))
            }
            Err(_) => Ok(awaited(working, heartbeat, caller, behind)),
        }
    }
}

/// A request for the engine.
fn received(
    caller: &Caller,
    task: Task,
    headers: &HeaderMap,
    body: Bytes,
    principal: Principal,
) -> Received {
    let (forward, hints) = headers::sort(headers, caller.propagates);
    Received {
        request_id: caller.id.clone(),
        client_request_id: (*caller.request_id != *caller.id.as_str())
            .then(|| Arc::clone(&caller.request_id)),
        task,
        dialect: caller.dialect,
        body,
        forward,
        hints,
        principal,
        url: None,
    }
}

fn check_head(headers: &HeaderMap, limit: usize) -> Result<(), Problem> {
    let size: usize = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum();
    if size > limit {
        Err(Problem::header_too_large(limit))
    } else {
        Ok(())
    }
}

/// One `Host`, as HTTP/1.1 has it: peers in front of the gateway must not read another one.
fn check_host(head: &http::request::Parts) -> Result<(), Problem> {
    let hosts = head.headers.get_all(HOST).iter().count();
    if hosts == 1 || hosts == 0 && head.version < http::Version::HTTP_11 {
        Ok(())
    } else {
        Err(Problem::bad_host())
    }
}
