//! The one place where failures become HTTP. Each code has a page in `docs/errors/`.

mod budget;
mod denied;
mod limits;
mod lookup;
mod offer;
mod payment;
mod refusal;

use bardo_access::{Admission, Throttled};
use bardo_engine::{EngineError, PaymentRequirement, UpstreamFailure};
use bardo_router::NoRoute;
use bardo_types::error_code::ErrorCode;
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::model::Dialect;
use bardo_types::money::MicroUsd;
use bardo_wire::codec::ErrorView;
use bardo_wire::json::JsonError;
use bardo_wire::table;
use bytes::Bytes;
use http::StatusCode;

use self::budget::FullCap;

/// A failure as HTTP shows it.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) code: ErrorCode,
    pub(crate) fault: Box<Fault>,
    /// Whether SDKs are to try again, where their own rule may be wrong.
    pub(crate) should_retry: Option<bool>,
    /// Why a key was refused, for the log: callers are told less.
    pub(crate) reason: Option<&'static str>,
    /// The model that the request names, for the log.
    pub(crate) model: Option<String>,
    /// The rest of the caller's rate limits, where they were checked.
    pub(crate) limits: Option<Box<Admission>>,
    /// The balance of the account, where it was the reason.
    pub(crate) funds: Option<MicroUsd>,
    /// How the caller can pay for the request, where it can.
    pub(crate) requirement: Option<Box<PaymentRequirement>>,
}

impl Problem {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::of_fault(code, Fault::new(code.class(), message.into()))
    }

    fn of_fault(code: ErrorCode, fault: Fault) -> Self {
        Self {
            code,
            fault: Box::new(fault),
            should_retry: code.is_final().then_some(false),
            reason: None,
            model: None,
            limits: None,
            funds: None,
            requirement: None,
        }
    }

    /// Adds that a retry does not help.
    fn for_good(mut self) -> Self {
        self.should_retry = Some(false);
        self
    }

    /// Adds the time until a retry can help.
    fn retry_after(mut self, wait_ms: u64) -> Self {
        self.fault.retry_after_ms = Some(wait_ms);
        self
    }

    /// Shows `code` also in the dialect's own member for codes.
    fn told_as(mut self, code: impl Into<String>) -> Self {
        self.fault.code = Some(code.into());
        self
    }

    fn param(mut self, param: impl Into<String>) -> Self {
        self.fault.param = Some(param.into()).filter(|param| !param.is_empty());
        self
    }

    /// Too many bytes of bodies are being received.
    pub(crate) fn too_many_bodies() -> Self {
        Self::new(
            ErrorCode::Busy,
            "too many request bodies are being received (`server.max_bodies`); try again later",
        )
        .retry_after(1_000)
    }

    /// An account without money sends a large body.
    pub(crate) fn body_without_funds(limit: usize) -> Self {
        let message = format!(
            "the account has no balance, so request bodies are limited to {limit} bytes; add money to the account or \
             send less"
        );
        let problem = Self::new(ErrorCode::InsufficientFunds, message);
        Self {
            funds: Some(MicroUsd::ZERO),
            ..problem.for_good()
        }
    }

    /// The head of a request breaks the rules of HTTP/1.1 for `Host`.
    pub(crate) fn bad_host() -> Self {
        Self::new(
            ErrorCode::InvalidRequest,
            "the request must have exactly one `Host` header; send one",
        )
    }

    pub(crate) fn method_not_allowed(method: &http::Method, allowed: &str) -> Self {
        let message = format!("method `{method}` is not supported here; use {allowed}");
        Self::new(ErrorCode::MethodNotAllowed, message)
    }

    pub(crate) fn body_too_large(limit: usize) -> Self {
        let message = format!(
            "the request body is larger than {limit} bytes; send less or raise `server.max_body`"
        );
        Self::new(ErrorCode::BodyTooLarge, message)
    }

    /// The body has a `content-encoding` that is not read.
    pub(crate) fn unsupported_encoding(encoding: &str) -> Self {
        let encoding: String = encoding.chars().take(32).collect();
        let message = format!(
            "compressed request bodies are not accepted (`content-encoding: {encoding}`); send the JSON text uncompressed, \
            without this header"
        );
        Self::new(ErrorCode::UnsupportedEncoding, message).for_good()
    }

    pub(crate) fn header_too_large(limit: usize) -> Self {
        let message = format!(
            "the request headers are larger than {limit} bytes in total; send less or raise `server.max_header`"
        );
        Self::new(ErrorCode::HeaderTooLarge, message)
    }

    pub(crate) fn read_timeout() -> Self {
        Self::new(
            ErrorCode::ReadTimeout,
            "the request body did not arrive in time (`server.read_timeout`); send it again",
        )
    }

    pub(crate) fn broken_body() -> Self {
        Self::new(
            ErrorCode::InvalidRequest,
            "the connection ended before the whole request body arrived; send it again",
        )
    }

    /// Reports that the ledger does not answer. Its answer is unknown, which is not a refusal.
    pub(crate) fn store_unavailable(error: &impl std::fmt::Display) -> Self {
        tracing::warn!(%error, "the store does not answer");
        let message = "the ledger is unavailable; nothing was sent or charged; try again later";
        Self::new(ErrorCode::StoreUnavailable, message).retry_after(1_000)
    }

    /// A parameter of a query cannot be taken.
    pub(crate) fn bad_parameter(error: &crate::usage::BadParameter) -> Self {
        Self::new(ErrorCode::InvalidRequest, error.to_string()).param(error.name.as_str())
    }

    pub(crate) fn no_event(name: &str) -> Self {
        let message = format!("unknown event `{name}`; see the list in docs/operations.md");
        Self::new(ErrorCode::InvalidRequest, message).param("events")
    }

    /// What the caller wants removed from the cache is not clear.
    pub(crate) fn bad_flush(message: String) -> Self {
        Self::new(ErrorCode::InvalidRequest, message)
    }

    /// Caps that the caller sent cannot be set.
    pub(crate) fn bad_caps(message: String) -> Self {
        Self::new(ErrorCode::InvalidRequest, message)
    }

    /// The caller has no caps that it may move.
    pub(crate) fn no_caps(message: &str) -> Self {
        Self::new(ErrorCode::KeyScope, message)
    }

    pub(crate) fn caps_too_often(throttled: Throttled) -> Self {
        Self::rate_limited(throttled, "caps change once a minute")
    }

    pub(crate) fn draining() -> Self {
        Self::new(
            ErrorCode::Draining,
            "the gateway is shutting down; try again",
        )
        .retry_after(1_000)
    }

    pub(crate) fn bad_idempotency_key() -> Self {
        Self::new(
            ErrorCode::InvalidRequest,
            "`Idempotency-Key` must be one header of 1 to 255 visible ASCII characters",
        )
    }

    pub(crate) fn idempotency_in_progress() -> Self {
        Self::new(
            ErrorCode::IdempotencyInProgress,
            "the first request with this `Idempotency-Key` is still in progress; try again to get its answer",
        ).retry_after(1_000)
    }

    pub(crate) fn idempotency_mismatch() -> Self {
        Self::new(
            ErrorCode::IdempotencyMismatch,
            "this `Idempotency-Key` was used for a request with another path or body; use a new key for each request",
        )
    }

    pub(crate) fn idempotency_unknown() -> Self {
        Self::new(
            ErrorCode::IdempotencyUnknown,
            "the first request with this `Idempotency-Key` may have been carried out, and its answer is not stored; use a new \
             key to send it again",
        ).for_good()
    }

    pub(crate) fn model_not_found(model: &str) -> Self {
        Self::from(EngineError::NoRoute(NoRoute::UnknownModel {
            model: model.to_owned(),
            target: None,
            nearest: None,
        }))
    }

    /// Names the caller's key in the advice to add money.
    pub(crate) fn naming_key(mut self, id: Option<&str>) -> Self {
        if let (ErrorCode::InsufficientFunds, Some(id)) = (self.code, id) {
            let named = self
                .fault
                .message
                .replace("--key ID", &format!("--key {id}"));
            self.fault.message = named.into();
        }
        self
    }

    /// The body in the caller's dialect.
    pub(crate) fn body(&self, dialect: Dialect, request_id: &str) -> Bytes {
        let view = ErrorView {
            fault: &self.fault,
            status: self.shown_status(dialect),
            bardo_code: self.code.as_str(),
            request_id,
        };
        let body = table::encode_error(dialect, &view);
        match &self.requirement {
            Some(requirement) => offer::with_members(body, requirement).into(),
            None => body.into(),
        }
    }

    /// The last event of a stream that has begun.
    pub(crate) fn event(&self, dialect: Dialect, request_id: &str) -> Bytes {
        let view = ErrorView {
            fault: &self.fault,
            status: self.shown_status(dialect),
            bardo_code: self.code.as_str(),
            request_id,
        };
        table::encode_stream_error(dialect, &view).into()
    }

    /// The status in a dialect. 529 is Anthropic's own; clients of other dialects read 503.
    fn shown_status(&self, dialect: Dialect) -> u16 {
        match self.code.status() {
            529 if dialect != Dialect::Anthropic => 503,
            status => status,
        }
    }

    pub(crate) fn status(&self, dialect: Dialect) -> StatusCode {
        StatusCode::from_u16(self.shown_status(dialect)).unwrap_or(StatusCode::BAD_GATEWAY)
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        let message = error.to_string();
        match error {
            EngineError::Json(error) => Self::invalid_json(error),
            EngineError::Invalid(refusal) => {
                let mut problem = Self::new(ErrorCode::InvalidRequest, message);
                problem.fault.code = refusal.code.map(Into::into);
                problem.param(refusal.param)
            }
            EngineError::Screened { param, message } => {
                Self::new(ErrorCode::ContentRefused, message).param(param)
            }
            EngineError::NoRoute(no_route) => Self::no_route(no_route, &message),
            EngineError::Refused { model, refusal } => Self::refused(&model, &refusal),
            EngineError::Tier { .. } => Self::class_beyond_tier(&message),
            EngineError::NoOperation { .. } => {
                Self::new(ErrorCode::OperationUnavailable, message).param("model")
            }
            EngineError::Required { feature, .. } => {
                Self::new(ErrorCode::FeatureUnavailable, message).param(feature)
            }
            EngineError::CircuitOpen { retry_after_ms, .. } => {
                Self::new(ErrorCode::CircuitOpen, message).retry_after(retry_after_ms)
            }
            EngineError::UnknownResponse(_) => {
                let message = format!("{message}; send the whole conversation in `input` instead");
                Self::new(ErrorCode::ResponseNotFound, message)
                    .told_as("previous_response_not_found")
                    .param("previous_response_id")
            }
            EngineError::Upstream(failure) => Self::upstream(*failure),
            EngineError::Throttled {
                throttled,
                allowance,
                at_ms,
            } => Self::beyond_limit(*throttled, allowance, at_ms, &message),
            EngineError::Scope {
                reads_only, tier, ..
            } => Self::scope(reads_only, tier, &message),
            EngineError::Unpriced { .. } => {
                let message = format!(
                    "{message}, so it cannot be billed; the operator can set one with `price` at the backend, \
                    under `providers`"
                );
                Self::new(ErrorCode::UnpricedModel, message).param("model")
            }
            EngineError::Funds {
                available,
                fits_max_tokens,
                limits,
                ..
            } => Self::funds(&message, available, fits_max_tokens, limits),
            EngineError::Unpaid(unpaid) => Self::unpaid(*unpaid, &message),
            EngineError::Budget {
                scope,
                window,
                limit,
                reserved,
                used,
                needed,
                fits_max_tokens,
                retry_after_ms,
                limits,
            } => {
                let cap = FullCap {
                    limit,
                    reserved,
                    used,
                    needed,
                    fits_max_tokens,
                };
                Self::budget(cap.message(&scope, window), retry_after_ms, limits)
            }
            EngineError::Store(error) => {
                tracing::error!(%error, "money cannot be moved");
                let message = "the ledger is unavailable; nothing was charged; try again later";
                Self::new(ErrorCode::StoreUnavailable, message).retry_after(1_000)
            }
            EngineError::SchemaViolated { .. } => {
                let message = format!(
                    "{message}. The answer is not delivered, and its cost is charged; send a clearer request, or use another model"
                );
                Self::new(ErrorCode::SchemaViolated, message).for_good()
            }
            EngineError::Unverified { is_sent, .. } => Self::unverified(&message, is_sent),
            EngineError::NotCached { .. } => Self::new(ErrorCode::NotCached, message),
            EngineError::Busy => {
                let message = format!("{message}; try again later");
                Self::new(ErrorCode::Busy, message).retry_after(1_000)
            }
        }
    }
}

impl Problem {
    fn invalid_json(error: JsonError) -> Self {
        let message = match error {
            JsonError::TooDeep { .. } | JsonError::Duplicate { .. } | JsonError::NotAnObject => {
                format!("{error}; send a plain JSON object")
            }
            JsonError::Syntax { .. } | JsonError::Utf8 { .. } => {
                format!("the request body is not valid JSON: {error}; send a JSON object in UTF-8")
            }
        };
        Self::new(ErrorCode::InvalidJson, message)
    }
}

/// Milliseconds that clients wait before a retry if nothing names a time.
const USUAL_WAIT_MS: u64 = 1_000;

impl Problem {
    fn scope(reads_only: bool, tier: Option<&str>, message: &str) -> Self {
        let message = if reads_only {
            "this key can only read models, balance and usage; send a key that begins with `bardo_sk_`".to_owned()
        } else {
            let why = match tier {
                Some(tier) => format!("its tier `{tier}` excludes all backends of the model"),
                None => "its scopes exclude the model or all of its backends".to_owned(),
            };
            format!(
                "{message}: {why}; list the models of the gateway with `GET /v1/models`, or ask the operator for another key"
            )
        };
        Self::new(ErrorCode::KeyScope, message).param("model")
    }

    fn funds(
        message: &str,
        available: MicroUsd,
        fits_max_tokens: Option<u64>,
        limits: Option<Box<Admission>>,
    ) -> Self {
        let fits = fits_max_tokens.map_or_else(String::new, |fits| {
            format!("; `max_tokens` of at most {fits} would fit")
        });
        let message = format!(
            "{message}{fits}. The operator adds money with: bardo-gateway balance deposit --key ID --usd AMOUNT"
        );
        let problem = Self::new(ErrorCode::InsufficientFunds, message);
        Self {
            funds: Some(available),
            limits,
            ..problem.for_good()
        }
    }

    fn upstream(failure: UpstreamFailure) -> Self {
        let UpstreamFailure {
            backend,
            mut fault,
            attempts,
            earlier,
            unknown_outcome,
            may_repeat,
        } = failure;
        let code = fault.error_code();
        if fault.own_code.is_some() {
            fault.class = code.class();
        }
        // A second try could be billed a second time, so a person decides on it; a retry does not
        // mend an account; and tries made here already are not to be multiplied.
        let account = matches!(
            fault.class,
            FaultClass::Authentication | FaultClass::Permission | FaultClass::Payment
        );
        let may_be_billed = unknown_outcome && !may_repeat;
        let ends_here = may_be_billed || account || attempts > 1;
        if matches!(code.status(), 429 | 503 | 529) && !may_be_billed && !account {
            fault.retry_after_ms.get_or_insert(USUAL_WAIT_MS);
        }
        match fault.class {
            FaultClass::Authentication | FaultClass::Permission => {
                fault.message = format!(
                    "{backend} refused the gateway's own key; its operator must replace it"
                )
                .into();
                fault.code = None;
            }
            FaultClass::Payment => {
                fault.message = format!(
                    "the gateway's credit at {backend} is used up; its operator must add credit"
                )
                .into();
                fault.code = None;
            }
            _ => {}
        }
        if !earlier.is_empty() {
            let (message, earlier) = (&fault.message, earlier.join(", "));
            fault.message = format!("{backend}: {message}; tried before: {earlier}").into();
        }
        // The gateway's account at a provider is not the caller's to mend.
        fault.class = match fault.class {
            FaultClass::Authentication | FaultClass::Permission | FaultClass::Payment => {
                code.class()
            }
            class => class,
        };
        let problem = Self::of_fault(code, fault);
        if ends_here {
            problem.for_good()
        } else {
            problem
        }
    }
}

#[cfg(test)]
mod tests;
