//! The reasons for which a request ends without an answer.

use bardo_access::{Admission, Throttled};
use bardo_ledger::{CapScope, CapWindow, StoreError};
use bardo_router::{NoRoute, Refusal};
use bardo_types::fault::Fault;
use bardo_types::money::MicroUsd;
use bardo_types::privacy::SecurityClass;
use bardo_wire::codec::BadRequest;
use bardo_wire::json::JsonError;
use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value};

/// A provider's failure, with what the caller and the operator need to see of it.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{backend}: {fault}")]
pub struct UpstreamFailure {
    /// The backend that failed last.
    pub backend: String,
    /// The provider's error, or the failure of the connection to it.
    pub fault: Fault,
    /// How many backends were tried.
    pub attempts: u32,
    /// Those that were tried before, each with what became of it.
    pub earlier: Vec<String>,
    /// The request may have been carried out and billed.
    pub unknown_outcome: bool,
    /// The connection was an idle one that the provider closed before a byte of the answer, so the
    /// request was most likely not carried out: its sender may decide to repeat it.
    pub may_repeat: bool,
}

/// How a single request can be paid for, as its caller is shown it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PaymentRequirement {
    /// Headers of the answer.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Members at the top of the answer's body. Members of the dialect win over them.
    pub members: Map<String, Value>,
}

/// A request that its caller can pay for by itself. Nothing was held or sent for it.
#[derive(Debug, Clone)]
pub struct UnpaidRequest {
    /// The most that the request can cost, spread included.
    pub price: MicroUsd,
    /// How it can be paid.
    pub requirement: PaymentRequirement,
    /// The rest of the caller's rate limits.
    pub limits: Option<Box<Admission>>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The body is not JSON that we take.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// A field is wrong.
    #[error(transparent)]
    Invalid(#[from] BadRequest),
    /// A screen of the operator refuses what the request says.
    #[error("{message}")]
    Screened {
        /// The member at fault as a path; empty where it is none in particular.
        param: String,
        /// The reason, and what the caller can do.
        message: String,
    },
    /// Nobody serves the model.
    #[error(transparent)]
    NoRoute(#[from] NoRoute),
    /// Nobody offers what the request cannot go without.
    #[error("no backend can serve this request; missing: {}", .refusal.missing.join(", "))]
    Refused {
        /// As the caller named it.
        model: String,
        /// The missing right or feature, the party that lacks it, and the change that would mend
        /// it.
        refusal: Box<Refusal>,
    },
    /// The key's tier does not come with such protection.
    #[error("keys of tier `{tier}` may not use class `{}`", .class.as_str())]
    Tier {
        /// The class that the request requires.
        class: SecurityClass,
        /// The tier of the key.
        tier: &'static str,
    },
    /// The model's backends cannot do that at all.
    #[error("no backend of the model `{model}` supports {operation}{}", able_words(.able))]
    NoOperation {
        /// As the caller named it.
        model: String,
        /// The operation that was requested.
        operation: &'static str,
        /// Names of models that the caller may use for it; a few at most.
        able: Vec<String>,
    },
    /// A feature that the caller requires would be lost.
    #[error(
        "the request requires `{feature}`, which the chosen backend does not support: {detail}"
    )]
    Required {
        /// Name of the feature.
        feature: String,
        /// The damage that the setting would have caused.
        detail: String,
    },
    /// The provider failed, or all that were tried.
    #[error(transparent)]
    Upstream(#[from] Box<UpstreamFailure>),
    /// Nothing was heard of late of any backend of the model.
    #[error(
        "every backend of the model `{model}` is unavailable; the gateway will try `{backend}` again soon"
    )]
    CircuitOpen {
        /// As the caller named it.
        model: String,
        /// The backend that is tried next.
        backend: String,
        /// When that is.
        retry_after_ms: u64,
    },
    /// A response of the same caller that this request builds on is not known here.
    #[error("no response `{0}` is stored for this account")]
    UnknownResponse(String),
    /// Too many requests or tokens for now.
    #[error("rate limit reached: too many {}", .throttled.limit)]
    Throttled {
        /// The limit that is reached, and the time until it lets a request in.
        throttled: Box<Throttled>,
        /// Tokens per hour of the caller's allowance; `None` without one.
        allowance: Option<u64>,
        /// Milliseconds since 1970 at which the limits were checked.
        at_ms: u64,
    },
    /// The key is not for this.
    #[error("this key is not allowed to use the model `{model}`")]
    Scope {
        /// As the caller named it.
        model: String,
        /// The key reads and never spends.
        reads_only: bool,
        /// The tier that excludes all backends of the model; `None`: the scopes do.
        tier: Option<&'static str>,
    },
    /// Nobody said what the model costs, so it cannot be charged.
    #[error("the model `{model}` has no price")]
    Unpriced {
        /// As the caller named it.
        model: String,
    },
    /// The account has too little.
    #[error("the request can cost up to {needed} USD, but only {available} USD are available")]
    Funds {
        /// The amount to hold.
        needed: MicroUsd,
        /// The amount that is available.
        available: MicroUsd,
        /// The limit of output, in tokens of one answer, that could be paid; `None`: none could.
        fits_max_tokens: Option<u64>,
        /// The rest of the caller's rate limits.
        limits: Option<Box<Admission>>,
    },
    /// The account does not pay for the request, and the caller can.
    #[error("the request can cost up to {} USD and is not paid for", .0.price)]
    Unpaid(Box<UnpaidRequest>),
    /// A cap of spending has no room for the request.
    #[error(
        "a spending cap of {limit} USD has no room: {used} USD are spent or held, and the request can cost up to {needed} USD"
    )]
    Budget {
        /// The key, session or account that has the cap.
        scope: CapScope,
        /// Over which time.
        window: CapWindow,
        /// The cap, as far as this request may use it.
        limit: MicroUsd,
        /// The part of the cap beyond that, which is reserved for protected subsystems.
        reserved: MicroUsd,
        /// The part of the cap that is spent or held.
        used: MicroUsd,
        /// The amount to hold.
        needed: MicroUsd,
        /// The limit of output, in tokens of one answer, for which there is room; `None`: there is
        /// none for any.
        fits_max_tokens: Option<u64>,
        /// Milliseconds until the window ends; `None`: it does not.
        retry_after_ms: Option<u64>,
        /// The rest of the caller's rate limits.
        limits: Option<Box<Admission>>,
    },
    /// The books do not answer. That says nothing about the caller's money.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The answer does not match the schema that it is held to, and nothing else will do. It was
    /// made, and what the provider bills for it is charged.
    #[error(
        "the model's answer does not match the schema `{schema}`{}: {}",
        if *.tries > 1 { ", nor did a second one" } else { "" },
        .errors.join("; ")
    )]
    SchemaViolated {
        /// The schema's name.
        schema: String,
        /// How often the model was asked.
        tries: u8,
        /// The violations of the schema by the last answer, with their places; a few at most.
        errors: Vec<String>,
    },
    /// A second model has to verify the decision, and none did.
    #[error("no second model verified this decision: {reason}")]
    Unverified {
        /// The reason, without the words of a provider.
        reason: String,
        /// The first model was asked, and what its provider bills is charged.
        is_sent: bool,
    },
    /// The caller takes a stored answer alone, and there is none.
    #[error("no stored answer matches the request, and `cache` is `only-if-cached`: {why}")]
    NotCached {
        /// Why there is none, in words.
        why: &'static str,
    },
    /// As many requests are under way as can be settled.
    #[error("too many requests are in progress")]
    Busy,
}

fn able_words(able: &[String]) -> String {
    let names: Vec<String> = able.iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!("; models that do: {}", names.join(", ")),
    }
}

impl EngineError {
    /// Whether the request itself cannot be read, so that another backend does not help.
    pub(crate) const fn is_unreadable(&self) -> bool {
        matches!(self, Self::Invalid(refusal) if refusal.is_unreadable)
    }

    /// This error, with the remaining limits of the caller if the error shows them.
    pub(crate) fn with_limits(mut self, left: Option<&Admission>) -> Self {
        let limits = match &mut self {
            Self::Funds { limits, .. } | Self::Budget { limits, .. } => limits,
            Self::Unpaid(unpaid) => &mut unpaid.limits,
            _ => return self,
        };
        *limits = left.cloned().map(Box::new);
        self
    }
}
