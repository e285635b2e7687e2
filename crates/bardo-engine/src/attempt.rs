//! One try at one backend: send, pay where asked to, read the head, classify.

use std::time::Duration;

use bardo_providers::payment::{PAYMENT_REQUIRED, PAYMENT_SIGNATURE, is_offer};
use bardo_providers::transport::{SendError, UpstreamBody};
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::model::{Dialect, Service};
use bardo_wire::{anthropic, table};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};

use crate::run::{Admitted, Engine};
use crate::scrub::scrub;
use crate::shape::Shaped;

/// Provider error bodies are read up to here (decisions §3).
const ERROR_BODY_MAX: usize = 64 << 10;
/// And for so long.
const ERROR_BODY_WAIT: Duration = Duration::from_secs(5);

/// Why a try failed, and what that allows.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) fault: Fault,
    pub(crate) next: Next,
}

/// What may follow a failed try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another backend may be asked.
    Other,
    /// It would fail everywhere.
    Never,
    /// The request may have been carried out; asking again could pay twice.
    Unknown,
}

impl Failure {
    /// The failure that a provider's own words amount to.
    pub(crate) fn told(fault: Fault) -> Self {
        let next = match fault.class {
            FaultClass::BadRequest
            | FaultClass::ContextTooLong
            | FaultClass::TooLarge
            | FaultClass::Conflict
            | FaultClass::Unprocessable => Next::Never,
            FaultClass::Authentication
            | FaultClass::Payment
            | FaultClass::Permission
            | FaultClass::NotFound
            | FaultClass::RateLimit
            | FaultClass::Server
            | FaultClass::Overloaded
            | FaultClass::Timeout => Next::Other,
            FaultClass::Connection | FaultClass::Malformed => Next::Unknown,
        };
        Self { fault, next }
    }

    pub(crate) fn unknown(class: FaultClass, message: &'static str) -> Self {
        Self {
            fault: Fault::new(class, message),
            next: Next::Unknown,
        }
    }
}

impl Engine {
    /// Sends and answers a successful head, its body still coming.
    pub(crate) async fn attempt(
        &self,
        admitted: &Admitted,
        shaped: &mut Shaped,
    ) -> Result<Response<UpstreamBody>, Failure> {
        let mut response = self.send(admitted, shaped, None).await?;
        if response.status() == StatusCode::PAYMENT_REQUIRED
            && is_offer(shaped.endpoint.service, &shaped.endpoint.key)
            && let Some(wallet) = &admitted.world.wallet
            && response.headers().contains_key(PAYMENT_REQUIRED)
        {
            match wallet.pay(response.headers()) {
                Ok(payment) => response = self.send(admitted, shaped, Some(payment)).await?,
                Err(error) => {
                    tracing::warn!(backend = shaped.endpoint.name, %error, "an offer was not paid")
                }
            }
        }
        match self.head(shaped, response).await {
            Err(Rejected::ForeignThinking) => {
                let stripped = anthropic::strip_thinking(&shaped.body);
                let Some(body) = stripped else {
                    return Err(Failure::told(Fault::new(
                        FaultClass::BadRequest,
                        "a thinking signature was refused",
                    )));
                };
                shaped.body = body.into();
                shaped.degraded.push(bardo_types::Degradation::new(
                    "thinking_state",
                    "the provider refused the signatures in the history, so earlier thinking was left out",
                ));
                let response = self.send(admitted, shaped, None).await?;
                self.head(shaped, response)
                    .await
                    .map_err(Rejected::into_failure)
            }
            other => other.map_err(Rejected::into_failure),
        }
    }

    async fn send(
        &self,
        admitted: &Admitted,
        shaped: &Shaped,
        payment: Option<http::HeaderValue>,
    ) -> Result<Response<UpstreamBody>, Failure> {
        let mut request = Request::new(Full::new(shaped.body.clone()));
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = shaped.target.clone();
        *request.headers_mut() = shaped.headers.clone();
        if let Some(payment) = payment {
            request.headers_mut().insert(PAYMENT_SIGNATURE, payment);
        }
        let deadlines = admitted.world.deadlines;
        let deadline = deadlines.header.min(deadlines.total);
        match tokio::time::timeout(
            deadline,
            self.transport.send(&shaped.endpoint.origin, request),
        )
        .await
        {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(SendError::NotSent(error))) => {
                tracing::debug!(backend = shaped.endpoint.name, %error, "not sent");
                let fault = Fault::new(
                    FaultClass::Connection,
                    format!("the provider could not be reached: {error}"),
                );
                Err(Failure {
                    fault,
                    next: Next::Other,
                })
            }
            Ok(Err(SendError::Unknown(error))) => {
                tracing::debug!(backend = shaped.endpoint.name, %error, "sent, no answer");
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
        shaped: &Shaped,
        response: Response<UpstreamBody>,
    ) -> Result<Response<UpstreamBody>, Rejected> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status.is_redirection() {
            let fault = Fault::new(
                FaultClass::Server,
                "the provider answered with a redirect, which is never followed",
            );
            return Err(Rejected::Failure(Failure::told(
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
            shaped.endpoint.service,
        );
        fault.status = Some(status.as_u16());
        fault.retry_after_ms = retry_after(&head.headers).or(fault.retry_after_ms);
        scrub(&mut fault, shaped.endpoint.key.expose());
        let mut failure = Failure::told(fault);
        // On BlockRun's account rail a call that ends in a server error may be billed all the same
        // (reference sheet `blockrun.md`); calls paid one by one never are.
        let account =
            shaped.endpoint.service == Service::BlockRun && !shaped.endpoint.key.is_empty();
        if account && status.is_server_error() && status != StatusCode::SERVICE_UNAVAILABLE {
            failure.next = Next::Unknown;
        }
        Err(Rejected::Failure(failure))
    }
}

enum Rejected {
    Failure(Failure),
    /// The provider refused signatures that belong to another conversation (translation §7, 34).
    ForeignThinking,
}

impl Rejected {
    fn into_failure(self) -> Failure {
        match self {
            Self::Failure(failure) => failure,
            Self::ForeignThinking => Failure::told(Fault::new(
                FaultClass::BadRequest,
                "the provider refused the thinking signatures twice",
            )),
        }
    }
}

/// What comes of a body within the bounds for errors.
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

/// `retry-after-ms`, or `retry-after` in seconds.
fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let number = |name: &str| {
        headers
            .get(name)?
            .to_str()
            .ok()?
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|n| *n >= 0.0)
    };
    let ms = number("retry-after-ms")
        .or_else(|| number("retry-after").map(|seconds| seconds * 1000.0))?;
    // A day is as good as never, and fits.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bounded just before"
    )]
    Some(ms.min(86_400_000.0) as u64)
}
