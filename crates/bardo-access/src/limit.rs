//! Requests and tokens per minute, and the hourly allowance.

mod bucket;
mod local;
mod terms;

pub use local::LocalLimits;
pub use terms::{DefaultLimits, KeyLimits};

use bardo_types::ids::{AccountId, KeyId};

/// Tokens per hour (UTC) that an account may use before more is billed or refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Prompt and completion tokens per hour (UTC).
    pub tokens: u64,
    /// Beyond it calls are billed; otherwise they are refused until the hour ends.
    pub overage: bool,
}

/// One request asks to be let in.
#[derive(Debug, Clone)]
pub struct LimitRequest {
    /// The account that is counted. Limits are per identity, not per connection.
    pub account: AccountId,
    /// Id of the key, if the caller has one.
    pub key: Option<KeyId>,
    /// Requests per minute; `None`: no limit.
    pub requests_per_minute: Option<u32>,
    /// Tokens per minute; `None`: no limit.
    pub tokens_per_minute: Option<u64>,
    /// Tokens per hour; `None`: no allowance.
    pub allowance: Option<Allowance>,
    /// The allowance is the key's own and its hour is counted by key; otherwise by account.
    pub own_allowance: bool,
    /// Tokens it will use at most, as far as is known; corrected by [`Admission`] later.
    pub tokens: u64,
    /// Unix milliseconds now.
    pub now_ms: u64,
}

impl LimitRequest {
    /// The identity whose hour the allowance counts.
    pub fn hour_of(&self) -> Option<&KeyId> {
        self.key.as_ref().filter(|_| self.own_allowance)
    }
}

/// The rest of one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Remaining {
    /// The configured limit.
    pub limit: u64,
    /// The requests or tokens that may still be used.
    pub remaining: u64,
    /// Milliseconds until it is full again.
    pub reset_ms: u64,
}

/// A request was let in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Admission {
    /// The limit of requests.
    pub requests: Option<Remaining>,
    /// The limit of tokens.
    pub tokens: Option<Remaining>,
    /// Tokens left of this hour's allowance.
    pub allowance: Option<u64>,
    /// Tokens that were taken on account and have to be corrected to the true number.
    pub reserved_tokens: u64,
}

/// A request was not let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Throttled {
    /// `requests`, `tokens` or `allowance`.
    pub limit: &'static str,
    /// Milliseconds until it can be.
    pub retry_after_ms: u64,
    /// The state of the limits.
    pub state: Admission,
}
