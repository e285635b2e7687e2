//! The stable codes of the gateway's errors.

use crate::fault::FaultClass;

/// Declares [`ErrorCode`] from one row per code: name, text, HTTP status, class.
macro_rules! error_codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $status:literal, $class:ident;)+) => {
        /// The stable code of an error, as `error.bardo_code`, logs, metrics and explanations show
        /// it. Each code has one HTTP status and a page, `docs/errors/<code>.md`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)+
        }

        impl ErrorCode {
            /// All codes, in alphabetical order of their texts.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The text of the code. It never changes.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// The HTTP status of an answer with this code. 529 is for dialects that know it;
            /// others show 503.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$name => $status,)+ }
            }

            /// The class of the failure, which decides the error type that a dialect shows.
            #[must_use]
            pub const fn class(self) -> FaultClass {
                match self { $(Self::$name => FaultClass::$class,)+ }
            }
        }
    };
}

error_codes! {
    /// The request body is larger than `server.max_body`.
    BodyTooLarge = "body_too_large", 413, TooLarge;
    /// A spending cap has no room for the request.
    BudgetExceeded = "budget_exceeded", 429, RateLimit;
    /// Too many requests or request bodies are in progress.
    Busy = "busy", 503, Overloaded;
    /// The circuit breakers of all backends of the model are open.
    CircuitOpen = "circuit_open", 503, Overloaded;
    /// A screen of the operator refused the text of the request.
    ContentRefused = "content_refused", 400, BadRequest;
    /// The prompt does not fit the context of the model.
    ContextTooLong = "context_too_long", 400, ContextTooLong;
    /// The gateway is shutting down.
    Draining = "draining", 503, Overloaded;
    /// The chosen backend does not support a feature that the request requires.
    FeatureUnavailable = "feature_unavailable", 400, BadRequest;
    /// A web page of another origin, or a foreign host name, called a gateway without keys.
    ForeignPage = "foreign_page", 403, Permission;
    /// The request headers are larger than `server.max_header`.
    HeaderTooLarge = "header_too_large", 431, BadRequest;
    /// The first request with the `Idempotency-Key` is still in progress.
    IdempotencyInProgress = "idempotency_in_progress", 409, Conflict;
    /// The `Idempotency-Key` was used for another request.
    IdempotencyMismatch = "idempotency_mismatch", 422, Unprocessable;
    /// The outcome of the first request with the `Idempotency-Key` is unknown.
    IdempotencyUnknown = "idempotency_unknown", 409, Conflict;
    /// The proof of an agent is refused.
    IdentityRefused = "identity_refused", 401, Authentication;
    /// The account cannot pay for the request.
    InsufficientFunds = "insufficient_funds", 402, Payment;
    /// The request body is not JSON that the gateway accepts.
    InvalidJson = "invalid_json", 400, BadRequest;
    /// The key is unknown, expired or revoked.
    InvalidKey = "invalid_key", 401, Authentication;
    /// A field, a header or a parameter of the request is wrong.
    InvalidRequest = "invalid_request", 400, BadRequest;
    /// Too many keys are being verified.
    KeyCheckBusy = "key_check_busy", 503, Overloaded;
    /// The key may not do this.
    KeyScope = "key_scope", 403, Permission;
    /// The endpoint does not support the HTTP method.
    MethodNotAllowed = "method_not_allowed", 405, BadRequest;
    /// The request has no key.
    MissingKey = "missing_key", 401, Authentication;
    /// No configured backend serves the model.
    ModelNotFound = "model_not_found", 404, NotFound;
    /// The key may use no backend that serves the model.
    NoRoute = "no_route", 404, NotFound;
    /// The request takes a stored answer alone, and none is stored.
    NotCached = "not_cached", 412, BadRequest;
    /// The endpoint is about a provider that is not configured.
    NotConfigured = "not_configured", 503, Overloaded;
    /// No backend of the model supports the operation, such as embeddings.
    OperationUnavailable = "operation_unavailable", 400, BadRequest;
    /// An answer was served, and its payment could not be settled.
    PaymentDebt = "payment_debt", 402, Payment;
    /// The wallet has as many open payments as the gateway trusts it with.
    PaymentLimit = "payment_limit", 429, RateLimit;
    /// The gateway has no payment with this id.
    PaymentNotFound = "payment_not_found", 404, NotFound;
    /// The payment cannot be verified or settled at the moment.
    PaymentPending = "payment_pending", 503, Overloaded;
    /// The request has to be paid for, and the answer says how.
    PaymentRequired = "payment_required", 402, Payment;
    /// The payment was used for another request.
    PaymentUsed = "payment_used", 409, Conflict;
    /// No allowed backend has the privacy class that the request requires.
    PrivacyUnavailable = "privacy_unavailable", 400, BadRequest;
    /// The key has used its requests or tokens for now.
    RateLimited = "rate_limited", 429, RateLimit;
    /// The request body did not arrive in time.
    ReadTimeout = "read_timeout", 408, Timeout;
    /// The account has no receipt with this id.
    ReceiptNotFound = "receipt_not_found", 404, NotFound;
    /// No backend supports all requirements of the request.
    RequirementsUnsatisfiable = "requirements_unsatisfiable", 400, BadRequest;
    /// The response that the request continues is not stored.
    ResponseNotFound = "response_not_found", 400, BadRequest;
    /// The model's answer does not match the schema of the request.
    SchemaViolated = "schema_violated", 502, Malformed;
    /// The ledger or the key store is unavailable.
    StoreUnavailable = "store_unavailable", 503, Overloaded;
    /// The path names no endpoint.
    UnknownEndpoint = "unknown_endpoint", 404, NotFound;
    /// The model has no price, so requests to it cannot be billed.
    UnpricedModel = "unpriced_model", 400, BadRequest;
    /// The request body is compressed, or in another encoding that the gateway does not read.
    UnsupportedEncoding = "unsupported_encoding", 415, BadRequest;
    /// The provider reported a conflict with another request.
    UpstreamConflict = "upstream_conflict", 409, Conflict;
    /// The provider could not be reached, or the connection broke.
    UpstreamConnection = "upstream_connection", 502, Connection;
    /// The provider failed.
    UpstreamFailed = "upstream_failed", 502, Server;
    /// The provider's answer broke its protocol.
    UpstreamMalformed = "upstream_malformed", 502, Malformed;
    /// The provider does not know the model or resource.
    UpstreamNotFound = "upstream_not_found", 404, NotFound;
    /// The gateway's credit at the provider is used up.
    UpstreamOutOfFunds = "upstream_out_of_funds", 503, Overloaded;
    /// The provider has no capacity.
    UpstreamOverloaded = "upstream_overloaded", 529, Overloaded;
    /// The provider's rate limit is reached.
    UpstreamRateLimit = "upstream_rate_limit", 429, RateLimit;
    /// The provider refused the gateway's own key.
    UpstreamRefusedKey = "upstream_refused_key", 502, Server;
    /// The provider rejected the request.
    UpstreamRejected = "upstream_rejected", 400, BadRequest;
    /// The provider did not answer in time.
    UpstreamTimeout = "upstream_timeout", 504, Timeout;
    /// The request is too large for the provider.
    UpstreamTooLarge = "upstream_too_large", 413, TooLarge;
    /// The provider refused the request by a content rule or constraint.
    UpstreamUnprocessable = "upstream_unprocessable", 422, Unprocessable;
    /// No second model verified the decision that the request asks for.
    VerificationUnavailable = "verification_unavailable", 502, Server;
}

impl ErrorCode {
    /// The code of a provider's failure.
    #[must_use]
    pub const fn of_upstream(class: FaultClass) -> Self {
        match class {
            FaultClass::BadRequest => Self::UpstreamRejected,
            FaultClass::ContextTooLong => Self::ContextTooLong,
            FaultClass::Authentication | FaultClass::Permission => Self::UpstreamRefusedKey,
            FaultClass::Payment => Self::UpstreamOutOfFunds,
            FaultClass::NotFound => Self::UpstreamNotFound,
            FaultClass::Conflict => Self::UpstreamConflict,
            FaultClass::TooLarge => Self::UpstreamTooLarge,
            FaultClass::Unprocessable => Self::UpstreamUnprocessable,
            FaultClass::RateLimit => Self::UpstreamRateLimit,
            FaultClass::Server => Self::UpstreamFailed,
            FaultClass::Overloaded => Self::UpstreamOverloaded,
            FaultClass::Timeout => Self::UpstreamTimeout,
            FaultClass::Connection => Self::UpstreamConnection,
            FaultClass::Malformed => Self::UpstreamMalformed,
        }
    }

    /// Whether a request that ends with this code ends so each time. Some SDKs and agents repeat
    /// any failure behind a gateway unless they are told not to.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(
            self.status(),
            400..=407 | 410..=422 | 424 | 426 | 428 | 431 | 451
        )
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_and_distinct() {
        let texts: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        assert!(texts.is_sorted_by(|one, next| one < next), "{texts:?}");
    }

    #[test]
    fn every_code_is_an_error_status() {
        for code in ErrorCode::ALL {
            assert!((400..600).contains(&code.status()), "{code}");
        }
    }

    #[test]
    fn codes_of_providers_tell_the_class_unless_the_gateways_own_account_is_at_fault() {
        for class in [
            FaultClass::BadRequest,
            FaultClass::ContextTooLong,
            FaultClass::NotFound,
            FaultClass::Conflict,
            FaultClass::TooLarge,
            FaultClass::Unprocessable,
            FaultClass::RateLimit,
            FaultClass::Server,
            FaultClass::Overloaded,
            FaultClass::Timeout,
            FaultClass::Connection,
            FaultClass::Malformed,
        ] {
            assert_eq!(ErrorCode::of_upstream(class).class(), class);
        }
        for class in [
            FaultClass::Authentication,
            FaultClass::Permission,
            FaultClass::Payment,
        ] {
            assert!(ErrorCode::of_upstream(class).status() >= 502, "{class:?}");
        }
    }
}
