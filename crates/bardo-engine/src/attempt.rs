//! One try at one backend: send, pay where asked to, read the head, classify.

use std::pin::pin;
use std::time::Duration;

use bardo_providers::payment::{
    PAYMENT_REQUIRED, PAYMENT_SIGNATURE, PaymentError, PaymentOffer, Wallet, settlement,
};
use bardo_providers::transport::{SendError, UpstreamBody};
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::model::Dialect;
use bardo_types::money::MicroUsd;
use bardo_types::receipt::AttemptPayment;
use bardo_wire::{anthropic, table};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Full};
use tokio::time::Instant;

use crate::arriving::{ANSWER_MAX, TOO_LARGE, is_page};
use crate::call::Call;
use crate::engine::Engine;
use crate::failure::{Failure, ProviderRefusal};
use crate::limit_names::as_the_caller_wrote;
use crate::payments::Payments;
use crate::received::{Payer, Task};
use crate::retry_after;
use crate::scrub::scrub;
use crate::shape::{Shaped, headers};

/// Provider error bodies are read up to here.
const ERROR_BODY_MAX: usize = 64 << 10;
/// Fees and smallest amounts that a seller adds to a payment per call, beside the price by tokens.
const FLAT_FEES: MicroUsd = MicroUsd::new(2_000);
/// Time limit to read the body of a provider's error.
const ERROR_BODY_WAIT: Duration = Duration::from_secs(5);

impl Engine {
    /// Sends and answers a successful head, its body still coming; within the time that is left.
    pub(crate) async fn attempt(
        &self,
        call: &Call,
        shaped: &mut Shaped,
        left: Duration,
    ) -> Result<Response<UpstreamBody>, Failure> {
        if shaped.leg.endpoint.is_built_in() {
            return Err(Failure::reported(Fault::new(
                FaultClass::BadRequest,
                "this model makes vectors only; send texts to POST /v1/embeddings",
            )));
        }
        let deadlines = &call.snapshot().deadlines;
        // A whole answer's head comes when the model is done; how many tokens there are comes at
        // once.
        let head = if call.stream() || call.task() == Task::CountTokens {
            deadlines.header
        } else {
            deadlines.whole_header
        };
        let until = Instant::now() + head.min(left);
        let mut response = pin!(self.send(call, shaped, None, until)).await?;
        if response.status() == StatusCode::PAYMENT_REQUIRED
            && let Some(payments) = &shaped.payments
            && let Some(wallet) = &call.snapshot().wallet
            && response.headers().contains_key(PAYMENT_REQUIRED)
        {
            let offers = response.headers();
            let paid = pay(&**wallet, call, shaped, payments, offers, until);
            match Box::pin(paid).await {
                Ok((payment, offer)) => {
                    // Boxed, as all that few requests need.
                    response = Box::pin(self.send(call, shaped, Some(payment), until)).await?;
                    payments.settled(settlement(response.headers(), &offer));
                }
                Err(error) => {
                    tracing::warn!(backend = shaped.leg.endpoint.name, %error, "the payment of an offer failed")
                }
            }
        }
        match self.head(call, shaped, response).await {
            Err(Rejected::ForeignThinking) => {
                let stripped = anthropic::strip_thinking(&shaped.body);
                let Some(body) = stripped else {
                    return Err(Failure::reported(Fault::new(
                        FaultClass::BadRequest,
                        "the provider refused a thinking signature",
                    )));
                };
                shaped.body = body.into();
                shaped.degraded.push(bardo_types::Degradation::new(
                    "thinking_state",
                    "the provider refused the signatures in the history, so earlier thinking was removed",
                ));
                let response = Box::pin(self.send(call, shaped, None, until)).await?;
                self.head(call, shaped, response)
                    .await
                    .map_err(Rejected::into_failure)
            }
            other => other.map_err(Rejected::into_failure),
        }
    }

    async fn send(
        &self,
        call: &Call,
        shaped: &Shaped,
        payment: Option<http::HeaderValue>,
        until: Instant,
    ) -> Result<Response<UpstreamBody>, Failure> {
        let mut request = Request::new(Full::new(shaped.body.clone()));
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = shaped.target.clone();
        *request.headers_mut() = headers(call, &shaped.leg.endpoint, shaped.dialect);
        if let Some(payment) = payment {
            request.headers_mut().insert(PAYMENT_SIGNATURE, payment);
        }
        let accepted = &shaped.accepted;
        accepted.set(None);
        let handed_over = || accepted.set(Some(Instant::now()));
        let origin = &shaped.leg.endpoint.origin;
        let sent = pin!(self.transport.send_told(origin, request, handed_over));
        match tokio::time::timeout_at(until, sent).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(SendError::NotSent(error))) => {
                let address = shaped.leg.endpoint.origin.authority();
                tracing::info!(backend = shaped.leg.endpoint.name, address, %error, "cannot reach the provider");
                let is_owner = matches!(call.principal().payer, Payer::Owner);
                Err(Failure::unsent(&error, is_owner.then_some(&*address)))
            }
            Ok(Err(SendError::Stale(error))) => {
                tracing::debug!(backend = shaped.leg.endpoint.name, %error, "sent on a stale connection");
                Err(Failure::stale())
            }
            Ok(Err(SendError::Unknown(error))) => {
                tracing::debug!(backend = shaped.leg.endpoint.name, %error, "sent, no answer");
                Err(Failure::unknown(
                    FaultClass::Connection,
                    "the provider closed the connection without an answer",
                ))
            }
            Err(_) => Err(Failure::unknown(
                FaultClass::Timeout,
                "the provider did not answer in time",
            )),
        }
    }

    async fn head(
        &self,
        call: &Call,
        shaped: &Shaped,
        response: Response<UpstreamBody>,
    ) -> Result<Response<UpstreamBody>, Rejected> {
        let status = response.status();
        if !status.is_success() {
            shaped.accepted.set(None);
        }
        if status.is_success() {
            // Not a byte of what is too large anyway is waited for.
            if response.body().size_hint().lower() > ANSWER_MAX as u64 {
                let fault = Fault::new(FaultClass::Malformed, TOO_LARGE);
                return Err(Rejected::Failure(Failure::reported(fault)));
            }
            return Ok(response);
        }
        if status.is_redirection() {
            let fault = Fault::new(
                FaultClass::Server,
                "the provider answered with a redirect, which is never followed",
            );
            return Err(Rejected::Failure(Failure::reported(
                fault.with_status(status.as_u16()),
            )));
        }
        let (head, body) = response.into_parts();
        let body = read_some(body).await;
        if shaped.dialect == Dialect::Anthropic
            && anthropic::is_binding_error(status.as_u16(), &body)
        {
            return Err(Rejected::ForeignThinking);
        }
        let mut fault = table::decode_error(
            shaped.dialect,
            status.as_u16(),
            &body,
            shaped.leg.endpoint.service,
        );
        fault.status = Some(status.as_u16());
        if let Some(wait) = retry_after::read(&head.headers, status.as_u16()) {
            fault.retry_after_ms = u64::try_from(wait.as_millis()).ok();
        }
        scrub(&mut fault, shaped.leg.endpoint.key.expose());
        as_the_caller_wrote(&mut fault, &call.top());
        let refusal = ProviderRefusal {
            status: status.as_u16(),
            page: is_page(&head.headers),
            service: shaped.leg.endpoint.service,
            account: !shaped.leg.endpoint.key.is_empty(),
        };
        let failure = Failure::refused(fault, refusal);
        Err(Rejected::Failure(failure))
    }
}

enum Rejected {
    Failure(Failure),
    /// The provider refused signatures that belong to another conversation.
    ForeignThinking,
}

impl Rejected {
    fn into_failure(self) -> Failure {
        match self {
            Self::Failure(failure) => failure,
            Self::ForeignThinking => Failure::reported(Fault::new(
                FaultClass::BadRequest,
                "the provider refused the thinking signatures twice",
            )),
        }
    }
}

/// Pays an offer within what the request can cost at its leg, and notes the payment.
async fn pay(
    wallet: &dyn Wallet,
    call: &Call,
    shaped: &Shaped,
    payments: &Payments,
    headers: &HeaderMap,
    until: Instant,
) -> Result<(HeaderValue, PaymentOffer), PaymentError> {
    let most = shaped.leg.most(call).ok_or(PaymentError::Unpriced)?;
    let most = most.checked_add(FLAT_FEES).unwrap_or(most);
    let offer = PaymentOffer::of(headers, wallet.schemes(), most)?;
    let signed = tokio::time::timeout_at(until, wallet.pay(&offer)).await;
    let signed = signed.map_err(|_| PaymentError::Late)??;
    payments.push(AttemptPayment {
        amount: offer.amount(),
        network: offer.network().into(),
        reference: signed.reference.into(),
        scheme: offer.scheme(),
        settlement: None,
    });
    Ok((signed.header, offer))
}

/// Reads the body of a provider's error, up to the limits of size and time for errors.
async fn read_some(mut body: UpstreamBody) -> Bytes {
    let mut seen = BytesMut::new();
    let read = async {
        while let Some(Ok(frame)) = body.frame().await {
            if let Some(data) = frame.data_ref() {
                let room = ERROR_BODY_MAX - seen.len();
                seen.extend_from_slice(&data[..data.len().min(room)]);
                if seen.len() == ERROR_BODY_MAX {
                    break;
                }
            }
        }
    };
    let _ = tokio::time::timeout(ERROR_BODY_WAIT, read).await;
    seen.freeze()
}
