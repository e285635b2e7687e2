//! The one place where failures become HTTP. Each code has a page in `docs/errors/`.

mod budget;
mod denied;
mod lookup;
mod refusal;

use bardo_access::{Admission, Throttled};
use bardo_engine::{EngineError, UpstreamFailure, code_of};
use bardo_router::NoRoute;
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::model::Dialect;
use bardo_types::money::MicroUsd;
use bardo_wire::codec::ErrorView;
use bardo_wire::json::JsonError;
use bardo_wire::table;
use bytes::Bytes;
use http::StatusCode;

use self::budget::FullCap;

/// Every code that `error.bardo_code` can show.
pub(crate) const CODES: &[&str] = &[
    "body_too_large",
    "budget_exceeded",
    "busy",
    "circuit_open",
    "content_refused",
    "context_too_long",
    "draining",
    "feature_unavailable",
    "foreign_page",
    "header_too_large",
    "idempotency_in_progress",
    "idempotency_mismatch",
    "idempotency_unknown",
    "insufficient_funds",
    "invalid_json",
    "invalid_key",
    "invalid_request",
    "key_check_busy",
    "key_scope",
    "method_not_allowed",
    "missing_key",
    "model_not_found",
    "no_route",
    "operation_unavailable",
    "privacy_unavailable",
    "rate_limited",
    "read_timeout",
    "receipt_not_found",
    "requirements_unsatisfiable",
    "response_not_found",
    "schema_violated",
    "store_unavailable",
    "unknown_endpoint",
    "unpriced_model",
    "upstream_conflict",
    "upstream_connection",
    "upstream_failed",
    "upstream_malformed",
    "upstream_not_found",
    "upstream_out_of_funds",
    "upstream_overloaded",
    "upstream_rate_limit",
    "upstream_refused_key",
    "upstream_rejected",
    "upstream_timeout",
    "upstream_too_large",
    "upstream_unprocessable",
];

/// Whether a request that ends with this status ends so each time. Some SDKs and agents repeat
/// any failure behind a gateway unless they are told not to.
const fn is_final(status: u16) -> bool {
    matches!(status, 400..=407 | 410..=422 | 424 | 426 | 428 | 431 | 451)
}

/// A failure as HTTP shows it.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: u16,
    pub(crate) code: &'static str,
    pub(crate) fault: Box<Fault>,
    /// Whether SDKs are to try again, where their own rule may be wrong.
    pub(crate) should_retry: Option<bool>,
    /// Why a key was refused, for the log: callers are told less.
    pub(crate) reason: Option<&'static str>,
    /// The model that the request names, for the log.
    pub(crate) model: Option<String>,
    /// What is left of the caller's limits, where they were asked.
    pub(crate) limits: Option<Box<Admission>>,
    /// What the account has, where that was the reason.
    pub(crate) funds: Option<MicroUsd>,
}

impl Problem {
    fn new(status: u16, code: &'static str, class: FaultClass, message: impl Into<String>) -> Self {
        debug_assert!(CODES.contains(&code), "{code} is not listed");
        Self {
            status,
            code,
            fault: Box::new(Fault::new(class, message.into())),
            should_retry: is_final(status).then_some(false),
            reason: None,
            model: None,
            limits: None,
            funds: None,
        }
    }

    /// Adds how long to wait before the next try.
    fn after(mut self, wait_ms: u64) -> Self {
        self.fault.retry_after_ms = Some(wait_ms);
        self
    }

    /// A retry does not help.
    fn for_good(mut self) -> Self {
        self.should_retry = Some(false);
        self
    }

    fn param(mut self, param: impl Into<String>) -> Self {
        self.fault.param = Some(param.into()).filter(|param| !param.is_empty());
        self
    }

    fn retry_after(mut self, milliseconds: u64) -> Self {
        self.fault.retry_after_ms = Some(milliseconds);
        self
    }

    /// Too many bytes of bodies are being received.
    pub(crate) fn too_many_bodies() -> Self {
        Self::new(
            503,
            "busy",
            FaultClass::Overloaded,
            "too many request bodies are being received (`server.max_bodies`); try again later",
        )
        .after(1_000)
    }

    /// An account without money sends a large body.
    pub(crate) fn body_without_funds(limit: usize) -> Self {
        let message = format!(
            "the account has no balance, so request bodies are limited to {limit} bytes; add money to the account or \
             send less"
        );
        let problem = Self::new(402, "insufficient_funds", FaultClass::Payment, message);
        Self {
            funds: Some(MicroUsd::ZERO),
            ..problem.for_good()
        }
    }

    /// The head of a request breaks the rules of HTTP/1.1 for `Host`.
    pub(crate) fn bad_host() -> Self {
        Self::new(
            400,
            "invalid_request",
            FaultClass::BadRequest,
            "the request must have exactly one `Host` header; send one",
        )
    }

    pub(crate) fn method_not_allowed(method: &http::Method, allowed: &str) -> Self {
        let message = format!("method `{method}` is not supported here; use {allowed}");
        Self::new(405, "method_not_allowed", FaultClass::BadRequest, message)
    }

    pub(crate) fn body_too_large(limit: usize) -> Self {
        let message = format!(
            "the request body is larger than {limit} bytes; send less or raise `server.max_body`"
        );
        Self::new(413, "body_too_large", FaultClass::TooLarge, message)
    }

    pub(crate) fn header_too_large(limit: usize) -> Self {
        let message = format!(
            "the request headers are larger than {limit} bytes in total; send less or raise `server.max_header`"
        );
        Self::new(431, "header_too_large", FaultClass::BadRequest, message)
    }

    pub(crate) fn read_timeout() -> Self {
        Self::new(
            408,
            "read_timeout",
            FaultClass::Timeout,
            "the request body did not arrive in time (`server.read_timeout`); send it again",
        )
    }

    pub(crate) fn broken_body() -> Self {
        Self::new(
            400,
            "invalid_request",
            FaultClass::BadRequest,
            "the connection ended before the whole request body arrived; send it again",
        )
    }

    /// What the books would have said is not known, which is no "no".
    pub(crate) fn store_unavailable(error: &impl std::fmt::Display) -> Self {
        tracing::warn!(%error, "the store does not answer");
        let message = "the ledger is unavailable; nothing was sent or charged; try again later";
        let mut problem = Self::new(503, "store_unavailable", FaultClass::Overloaded, message);
        problem.fault.retry_after_ms = Some(1_000);
        problem
    }

    pub(crate) fn bad_date(param: &'static str) -> Self {
        let message = format!(
            "`{param}` must be a date such as 2026-11-20; `from` must not be after `to`, nor more than 400 days before it"
        );
        Self::new(400, "invalid_request", FaultClass::BadRequest, message).param(param)
    }

    pub(crate) fn no_event(name: &str) -> Self {
        let message = format!("unknown event `{name}`; see the list in docs/operations.md");
        Self::new(400, "invalid_request", FaultClass::BadRequest, message).param("events")
    }

    /// Caps that the caller sent cannot be set.
    pub(crate) fn bad_caps(message: String) -> Self {
        Self::new(400, "invalid_request", FaultClass::BadRequest, message)
    }

    /// The caller has no caps that it may move.
    pub(crate) fn no_caps(message: &str) -> Self {
        Self::new(403, "key_scope", FaultClass::Permission, message)
    }

    pub(crate) fn caps_too_often(throttled: Throttled) -> Self {
        Self::throttled(throttled, "caps change once a minute".to_owned())
    }

    pub(crate) fn draining() -> Self {
        Self::new(
            503,
            "draining",
            FaultClass::Overloaded,
            "the gateway is shutting down; try again",
        )
        .after(1_000)
    }

    pub(crate) fn bad_idempotency_key() -> Self {
        Self::new(
            400,
            "invalid_request",
            FaultClass::BadRequest,
            "`Idempotency-Key` must be one header of 1 to 255 visible ASCII characters",
        )
    }

    pub(crate) fn idempotency_in_progress() -> Self {
        let mut problem = Self::new(
            409,
            "idempotency_in_progress",
            FaultClass::Conflict,
            "the first request with this `Idempotency-Key` is still in progress; try again to get its answer",
        );
        problem.fault.retry_after_ms = Some(1_000);
        problem
    }

    pub(crate) fn idempotency_mismatch() -> Self {
        let mut problem = Self::new(
            422,
            "idempotency_mismatch",
            FaultClass::Unprocessable,
            "this `Idempotency-Key` was used for a request with another path or body; use a new key for each request",
        );
        problem.should_retry = Some(false);
        problem
    }

    pub(crate) fn idempotency_unknown() -> Self {
        let mut problem = Self::new(
            409,
            "idempotency_unknown",
            FaultClass::Conflict,
            "the first request with this `Idempotency-Key` may have been carried out, and its answer is not stored; use a new \
             key to send it again",
        );
        problem.should_retry = Some(false);
        problem
    }

    pub(crate) fn model_not_found(model: &str) -> Self {
        Self::from(EngineError::NoRoute(NoRoute::UnknownModel {
            model: model.to_owned(),
            target: None,
            nearest: None,
        }))
    }

    /// The body in the caller's dialect.
    pub(crate) fn body(&self, dialect: Dialect, request_id: &str) -> Bytes {
        let view = ErrorView {
            fault: &self.fault,
            status: self.shown_status(dialect),
            bardo_code: self.code,
            request_id,
        };
        table::encode_error(dialect, &view).into()
    }

    /// The last event of a stream that has begun.
    pub(crate) fn event(&self, dialect: Dialect, request_id: &str) -> Bytes {
        let view = ErrorView {
            fault: &self.fault,
            status: self.shown_status(dialect),
            bardo_code: self.code,
            request_id,
        };
        table::encode_stream_error(dialect, &view).into()
    }

    /// 529 is Anthropic's own; everybody else reads 503.
    fn shown_status(&self, dialect: Dialect) -> u16 {
        match (self.status, dialect) {
            (529, Dialect::Anthropic) | (..529, _) => self.status,
            _ => 503,
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
                let mut problem =
                    Self::new(400, "invalid_request", FaultClass::BadRequest, message);
                problem.fault.code = refusal.code.map(Into::into);
                problem.param(refusal.param)
            }
            EngineError::Screened { param, message } => {
                Self::new(400, "content_refused", FaultClass::BadRequest, message).param(param)
            }
            EngineError::NoRoute(no_route) => Self::no_route(no_route, &message),
            EngineError::Refused { model, refusal } => Self::refused(&model, &refusal),
            EngineError::Tier { .. } => Self::new(
                403,
                "key_scope",
                FaultClass::Permission,
                format!(
                    "{message}; keys of tier `pro` and `golem` may use private, tee and e2ee backends. Create one with `bardo-gateway keys create --tier pro`"
                ),
            )
            .for_good(),
            EngineError::NoOperation { .. } => Self::new(
                400,
                "operation_unavailable",
                FaultClass::BadRequest,
                message,
            )
            .param("model"),
            EngineError::Required { feature, .. } => {
                Self::new(400, "feature_unavailable", FaultClass::BadRequest, message)
                    .param(feature)
            }
            EngineError::CircuitOpen { retry_after_ms, .. } => {
                let mut problem = Self::new(503, "circuit_open", FaultClass::Overloaded, message);
                problem.fault.retry_after_ms = Some(retry_after_ms);
                problem
            }
            EngineError::UnknownResponse(_) => {
                let message = format!("{message}; send the whole conversation in `input` instead");
                let mut problem =
                    Self::new(400, "response_not_found", FaultClass::BadRequest, message);
                problem.fault.code = Some("previous_response_not_found".into());
                problem.param("previous_response_id")
            }
            EngineError::Upstream(failure) => Self::upstream(*failure),
            EngineError::Throttled(throttled) => Self::throttled(*throttled, message),
            EngineError::Scope { reads_only, .. } => Self::scope(reads_only, &message),
            EngineError::Unpriced { .. } => {
                let message = format!(
                    "{message}, so it cannot be billed; the operator can set one with `price` at the backend, \
                    under `providers`"
                );
                Self::new(400, "unpriced_model", FaultClass::BadRequest, message).param("model")
            }
            EngineError::Funds {
                available,
                fits_max_tokens,
                limits,
                ..
            } => Self::funds(&message, available, fits_max_tokens, limits),
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
                Self::new(503, "store_unavailable", FaultClass::Overloaded, message).after(1_000)
            }
            EngineError::SchemaViolated { .. } => {
                let message = format!(
                    "{message}. The answer is not delivered, and its cost is charged; send a clearer request, or use another model"
                );
                Self::new(502, "schema_violated", FaultClass::Malformed, message).for_good()
            }
            EngineError::Busy => {
                let message = format!("{message}; try again later");
                Self::new(503, "busy", FaultClass::Overloaded, message).after(1_000)
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
        Self::new(400, "invalid_json", FaultClass::BadRequest, message)
    }
}

/// Milliseconds that clients wait before a retry if nothing names a time.
const USUAL_WAIT_MS: u64 = 1_000;
/// SDKs wait this long by themselves; longer waits are left to a person.
const PATIENCE_MS: u64 = 60_000;

impl Problem {
    fn scope(reads_only: bool, message: &str) -> Self {
        let message = if reads_only {
            "this key can only read models, balance and usage; send a key that begins with `bardo_sk_`".to_owned()
        } else {
            format!("{message}, or none of its backends; list its models with `GET /v1/models`")
        };
        Self::new(403, "key_scope", FaultClass::Permission, message).param("model")
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
        let problem = Self::new(402, "insufficient_funds", FaultClass::Payment, message);
        Self {
            funds: Some(available),
            limits,
            ..problem.for_good()
        }
    }

    fn throttled(throttled: Throttled, message: String) -> Self {
        let wait_ms = throttled.retry_after_ms;
        let message = format!(
            "{message}; try again in {} s",
            wait_ms.div_ceil(1_000).max(1)
        );
        let mut problem =
            Self::new(429, "rate_limited", FaultClass::RateLimit, message).after(wait_ms);
        problem.should_retry = (wait_ms > PATIENCE_MS).then_some(false);
        problem.limits = Some(Box::new(throttled.state));
        problem
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
        let status = match fault.class {
            FaultClass::BadRequest | FaultClass::ContextTooLong => 400,
            // The provider refused *our* key: not the caller's business beyond that.
            FaultClass::Authentication | FaultClass::Permission => 502,
            FaultClass::Payment => 503,
            FaultClass::NotFound => 404,
            FaultClass::Conflict => 409,
            FaultClass::TooLarge => 413,
            FaultClass::Unprocessable => 422,
            FaultClass::RateLimit => 429,
            FaultClass::Server | FaultClass::Connection | FaultClass::Malformed => 502,
            FaultClass::Overloaded => 529,
            FaultClass::Timeout => 504,
        };
        let code = code_of(fault.class);
        // A second try could be billed a second time, so a person decides on it; a retry does not
        // mend an account; and tries made here already are not to be multiplied.
        let account = matches!(
            fault.class,
            FaultClass::Authentication | FaultClass::Permission | FaultClass::Payment
        );
        let may_be_billed = unknown_outcome && !may_repeat;
        let should_retry =
            (may_be_billed || account || attempts > 1 || is_final(status)).then_some(false);
        if matches!(status, 429 | 503 | 529) && !may_be_billed && !account {
            fault.retry_after_ms.get_or_insert(USUAL_WAIT_MS);
        }
        match fault.class {
            FaultClass::Authentication | FaultClass::Permission => {
                fault.message = format!(
                    "{backend} refused the gateway's own key; its operator must replace it"
                )
                .into();
                fault.class = FaultClass::Server;
                fault.code = None;
            }
            FaultClass::Payment => {
                fault.message = format!(
                    "the gateway's credit at {backend} is used up; its operator must add credit"
                )
                .into();
                fault.class = FaultClass::Overloaded;
                fault.code = None;
            }
            _ => {}
        }
        if !earlier.is_empty() {
            let (message, earlier) = (&fault.message, earlier.join(", "));
            fault.message = format!("{backend}: {message}; tried before: {earlier}").into();
        }
        Self {
            status,
            code,
            fault: Box::new(fault),
            should_retry,
            reason: None,
            model: None,
            limits: None,
            funds: None,
        }
    }
}

#[cfg(test)]
mod tests;
