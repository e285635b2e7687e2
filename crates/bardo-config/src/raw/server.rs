//! Listeners, and limits for clients and providers.

use std::net::SocketAddr;

use bardo_types::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use super::secret;
use crate::units::{ByteSize, Span};

/// Listeners and limits for clients.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawServer {
    /// Address for clients.
    pub listen: SocketAddr,
    /// Address for operators: health, status, metrics and the admin API.
    pub admin_listen: SocketAddr,
    /// Token for operators, sent as `Authorization: Bearer`. Empty: no token, and loopback only.
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub admin_token: Secret,
    /// Token that reads the admin API and the console and changes nothing. Empty: there is none.
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub admin_read_token: Secret,
    /// Number of worker threads; 0: one per core.
    pub workers: usize,
    /// Send a comment to the client after this time without data on a stream.
    pub heartbeat: Span,
    /// Largest request body.
    pub max_body: ByteSize,
    /// Memory for all request bodies in progress. Above it, requests get 503.
    pub max_bodies: ByteSize,
    /// Largest request head (request line and headers).
    pub max_header: ByteSize,
    /// Time limit for a client to send its request.
    pub read_timeout: Span,
    /// Close the connection of a client that reads nothing for this time.
    pub write_timeout: Span,
    /// Time limit for open streams after a stop signal.
    pub drain: Span,
    /// Web pages of other origins.
    pub cors: CorsConfig,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CorsConfig {
    /// Origins of web pages that may call the data listener, such as `https://app.example.com`, or
    /// `*` for all; empty: none.
    pub origins: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Upstream {
    /// Time limit to open a connection to a provider.
    pub connect_timeout: Span,
    /// Time limit from sending a request to the head of the answer. It applies to answers that are not
    /// streamed only if you set it.
    pub header_timeout: Span,
    /// Whether a file or variable sets `header_timeout`.
    #[serde(skip)]
    pub header_timeout_is_set: bool,
    /// Time limit from the head to the first content of a stream.
    pub first_token_timeout: Span,
    /// Time limit between two pieces of data on a stream; comments and pings do not count.
    pub idle_timeout: Span,
    /// Time limit for a request with all its attempts.
    pub total_timeout: Span,
    /// Attempts per request over all backends.
    pub max_attempts: usize,
    /// Retries of failing backends, as a share of the recent requests.
    pub retry_budget: f64,
    /// Probe idle backends this often by their list of models; 0: never.
    pub probe_every: Span,
    /// Circuit breaker of the backends.
    pub breaker: BreakerConfig,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BreakerConfig {
    /// Enable the circuit breaker.
    pub enabled: bool,
    /// Open after this many failures in a row.
    pub failures: u32,
    /// Open after this many failed connections in a row.
    pub connect_failures: u32,
    /// Open at this share of failures within five minutes.
    pub error_rate: f64,
    /// Answers that the share of failures needs at least.
    pub min_samples: u32,
    /// Skip the backend for this time at first.
    pub open_for: Span,
    /// Longest time to skip the backend.
    pub open_for_max: Span,
}
