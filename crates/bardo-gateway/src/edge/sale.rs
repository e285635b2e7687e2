//! Requests that pay for themselves: offered to callers without a key, and answered for a payment.

use std::sync::Arc;

use bardo_engine::{EngineError, Principal, Task};
use bardo_seller::{AdmittedPayment, PaidTicket, PaymentRejection, PresentedPayment, SaleRequest};
use bardo_types::error_code::ErrorCode;
use bardo_types::ids::RequestId;
use bardo_types::model::Dialect;
use bardo_wire::headers as names;
use bardo_x402::wire::{SettlementReceipt, X402Version};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::body::Incoming;

use super::signed::{self, SignedUse};
use super::{ApiReply, Caller, Edge, json_reply, received, replayed};
use crate::auth::{self, Access};
use crate::body;
use crate::error::Problem;
use crate::repeat::{self, IdempotencyOutcome};
use crate::reply::Behind;
use crate::sale::Sale;

/// The payment that a request carries; `None` without one.
pub(super) fn payment(headers: &HeaderMap) -> Result<Option<PresentedPayment>, Problem> {
    PresentedPayment::read(headers).map_err(|malformed| Problem::malformed_payment(&malformed))
}

/// Whether a caller without a good key may pay instead: it has none, or one that is not of the form
/// of our keys, as SDKs insist on sending something.
pub(super) fn is_guest(problem: &Problem, headers: &HeaderMap) -> bool {
    match problem.code {
        ErrorCode::MissingKey => true,
        ErrorCode::InvalidKey => !auth::presents_own_key(headers),
        _ => false,
    }
}

/// A request whose body is read and whose dialect is known.
struct Read<'a> {
    task: Task,
    headers: &'a HeaderMap,
    body: Bytes,
}

impl Edge {
    /// Offers the request of a caller who has not paid.
    pub(super) async fn offer(
        &self,
        sale: &Sale,
        caller: &mut Caller,
        work: (Task, bool),
        guest: Principal,
        head: &http::request::Parts,
        body: Incoming,
    ) -> Problem {
        let offered = async {
            let read = self.guest_body(caller, work, &guest, head, body).await?;
            Ok(self.quoted(sale, caller, &read, guest).await)
        };
        offered.await.unwrap_or_else(|problem| problem)
    }

    /// Reads the body of a caller who has no account.
    async fn guest_body<'a>(
        &self,
        caller: &mut Caller,
        (task, detect): (Task, bool),
        guest: &Principal,
        head: &'a http::request::Parts,
        body: Incoming,
    ) -> Result<Read<'a>, Problem> {
        let headers = &head.headers;
        if self.draining.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(Problem::draining());
        }
        self.engine.refuse_throttled(guest)?;
        let limits = self.policy.load().limits.clone();
        let mut room = self.bodies.room(limits.max_bodies);
        let body = body::read(headers, body, limits.max_body, &limits, &mut room).await?;
        if detect && let Ok(top) = bardo_wire::json::scan(&body) {
            let versioned = headers.contains_key("anthropic-version");
            caller.dialect = bardo_wire::chat::detect_completions_body(&top, versioned);
        }
        Ok(Read {
            task,
            headers,
            body,
        })
    }

    /// The offer of a request, or the reason why there is none.
    async fn quoted(
        &self,
        sale: &Sale,
        caller: &Caller,
        read: &Read<'_>,
        guest: Principal,
    ) -> Problem {
        let received = received(caller, read.task, read.headers, read.body.clone(), guest);
        let received = bardo_engine::Received {
            url: Some(url(sale, caller.dialect, read)),
            ..received
        };
        match self.engine.read(received) {
            Ok(call) => Problem::from(self.engine.quote(call).await),
            Err(refused) => Problem::from(refused),
        }
    }

    /// Answers a request that carries a payment.
    pub(super) async fn paid(
        &self,
        sale: &Sale,
        caller: &mut Caller,
        work: (Task, bool),
        payment: PresentedPayment,
        head: &http::request::Parts,
        body: Incoming,
    ) -> Result<ApiReply, Problem> {
        let guest = sale.guest(caller.peer);
        let key = repeat::key(&head.headers)?;
        // Who calls and how it is paid are two questions: with a key, the payment is the account's.
        let is_signed = signed::is_signed(&head.headers);
        let own = match !is_signed && auth::presents_own_key(&head.headers) {
            true => Some(
                self.authenticate(caller, &head.headers, Access::Spend)
                    .await?,
            ),
            false => None,
        };
        let read = self.guest_body(caller, work, &guest, head, body).await?;
        let own = match is_signed {
            true => Some(
                self.signed(caller, head, &read.body, SignedUse::WORK)
                    .await?,
            ),
            false => own,
        };
        let admitted = self.admit(sale, caller, &read, payment, guest).await?;
        let payer = sale.payer(&admitted, own).await;
        let principal = payer.map_err(|error| Problem::store_unavailable(&error))?;
        let account = principal.account.clone();
        self.engine.recall(&account, &read.body).await;
        let claimed = match key {
            None => None,
            Some(key) => {
                let (keys, path) = (self.engine.idempotency(), head.uri.path());
                match repeat::first(keys, &principal, &key, path, &read.body).await? {
                    IdempotencyOutcome::Fresh(claimed) => claimed,
                    IdempotencyOutcome::Replay(kept) => {
                        let answer = self.engine.replay(&kept);
                        return Ok(replayed(answer, caller.dialect, Behind::of(read.headers)));
                    }
                }
            }
        };
        let ticket = sale.seller.claim(&admitted, &caller.id, account).await;
        let ticket = ticket.map_err(|rejection| Problem::payment(&rejection, None))?;
        let settled = match sale.seller.settles_first() {
            true => Some(self.settled(sale, &ticket).await?),
            false => None,
        };
        let Read {
            task,
            headers,
            body,
        } = read;
        let call = self.read(caller, task, headers, body, principal)?;
        let is_stream = call.stream();
        let (heartbeat, behind) = (self.policy.load().limits.heartbeat, Behind::of(headers));
        let mut reply = self.reply(caller, call, claimed, heartbeat, behind).await?;
        if let Err(error) = ticket.answered().await {
            return Err(Problem::store_unavailable(&error));
        }
        let receipt = match settled {
            None if !is_stream => Some(self.settled(sale, &ticket).await?),
            settled => settled,
        };
        describe(&ticket, receipt.as_ref(), &mut reply);
        Ok(reply)
    }

    /// A payment that pays our offer of the request and is proven on its chain.
    async fn admit(
        &self,
        sale: &Sale,
        caller: &Caller,
        read: &Read<'_>,
        payment: PresentedPayment,
        guest: Principal,
    ) -> Result<AdmittedPayment, Problem> {
        let offer = || self.quoted(sale, caller, read, guest.clone());
        let received = received(
            caller,
            read.task,
            read.headers,
            read.body.clone(),
            guest.clone(),
        );
        let price = match payment.has_quote() {
            false => match self.engine.quote(self.engine.read(received)?).await {
                EngineError::Unpaid(unpaid) => Some(unpaid.price),
                refused => return Err(Problem::from(refused)),
            },
            true => {
                self.engine.check_replay(received).await?;
                None
            }
        };
        let request = SaleRequest {
            task: read.task,
            dialect: caller.dialect,
            body: &read.body,
            price,
        };
        let verified = match sale.seller.compare(payment, &request) {
            Ok(compared) => sale.seller.verify(compared).await,
            Err(rejection) => Err(rejection),
        };
        match verified {
            Ok(admitted) => Ok(admitted),
            Err(rejection) => {
                let is_refused = matches!(rejection, PaymentRejection::Refused { .. });
                let offer = match is_refused {
                    true => Some(offer().await),
                    false => None,
                };
                Err(Problem::payment(&rejection, offer))
            }
        }
    }

    /// The receipt of a payment that has settled, or that settles later by itself.
    async fn settled(
        &self,
        sale: &Sale,
        ticket: &PaidTicket,
    ) -> Result<SettlementReceipt, Problem> {
        let receipt = ticket.receipt(sale.wait).await;
        let is_settled = matches!(receipt, SettlementReceipt::Settled { .. });
        let is_enough = is_settled || receipt.is_pending() && !sale.seller.settles_first();
        match is_enough {
            true => Ok(receipt),
            false => Err(Problem::unsettled(&receipt, ticket.request().as_str())),
        }
    }

    /// The state of one payment. Its id is known to its payer alone.
    pub(super) async fn payment(&self, id: &str) -> Result<ApiReply, Problem> {
        let not_found = || Problem::payment_not_found(id);
        let sale = self.sale.as_ref().ok_or_else(not_found)?;
        let request = RequestId::parse(id).map_err(|_| not_found())?;
        let found = sale.seller.find(request).await;
        let found = found.map_err(|error| Problem::store_unavailable(&error))?;
        let claim = found.ok_or_else(not_found)?;
        let view = bardo_seller::payment_view(&claim);
        Ok(json_reply(http::StatusCode::OK, view))
    }
}

/// Names the payment of an answer, with its receipt where there is one.
fn describe(ticket: &PaidTicket, receipt: Option<&SettlementReceipt>, reply: &mut ApiReply) {
    let headers = reply.headers_mut();
    // They speak of prepaid money.
    for name in [names::BALANCE, names::BALANCE_WARNING] {
        headers.remove(name);
    }
    match receipt {
        Some(receipt) => put_receipt(ticket.version(), ticket.request(), receipt, reply),
        None => put_payment(ticket.request(), reply),
    }
}

fn put_payment(id: &RequestId, reply: &mut ApiReply) {
    let headers = reply.headers_mut();
    let private = HeaderValue::from_static("private, no-store");
    headers.insert(CACHE_CONTROL, private);
    if let Ok(id) = HeaderValue::from_str(id.as_str()) {
        headers.insert(HeaderName::from_static(names::PAYMENT), id);
    }
}

/// Adds the receipt of a payment, in the header of the payer's version.
pub(super) fn put_receipt(
    version: X402Version,
    id: &RequestId,
    receipt: &SettlementReceipt,
    reply: &mut ApiReply,
) {
    put_payment(id, reply);
    if let Ok(value) = HeaderValue::from_str(&receipt.header(version)) {
        let name = HeaderName::from_static(version.receipt_header());
        reply.headers_mut().insert(name, value);
    }
}

/// The public address of the gateway: as configured, else as it was asked.
pub(super) fn base(sale: &Sale, headers: &HeaderMap) -> String {
    let own = sale.public_url.as_deref();
    let own = own.map(|url| url.trim_end_matches('/').trim_end_matches("/v1").to_owned());
    own.unwrap_or_else(|| {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        format!("http://{}", host.unwrap_or("localhost"))
    })
}

/// The address that the caller asked, as the gateway is known outside.
fn url(sale: &Sale, dialect: Dialect, read: &Read<'_>) -> Arc<str> {
    let path = match (read.task, dialect) {
        (Task::Embeddings, _) => "/v1/embeddings",
        (_, Dialect::Anthropic) => "/v1/messages",
        (_, Dialect::Responses) => "/v1/responses",
        (_, Dialect::Completions) => "/v1/completions",
        (_, Dialect::Chat | Dialect::Gemini) => "/v1/chat/completions",
    };
    format!("{}{path}", base(sale, read.headers)).into()
}
