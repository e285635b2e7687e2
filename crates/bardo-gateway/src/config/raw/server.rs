//! Listeners, and limits for clients and providers.

use std::net::SocketAddr;

use bardo_types::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use super::secret;
use crate::config::units::{ByteSize, Span};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawServer {
    /// Address for clients.
    pub(crate) listen: SocketAddr,
    /// Address for operators: health, status, metrics and the admin API.
    pub(crate) admin_listen: SocketAddr,
    /// Token for operators, sent as `Authorization: Bearer`. Empty: no token, and loopback only.
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub(crate) admin_token: Secret,
    /// Token that reads the admin API and the console and changes nothing. Empty: there is none.
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub(crate) admin_read_token: Secret,
    /// Number of worker threads; 0: one per core.
    pub(crate) workers: usize,
    /// Send a comment to the client after this time without data on a stream.
    pub(crate) heartbeat: Span,
    /// Largest request body.
    pub(crate) max_body: ByteSize,
    /// Memory for all request bodies in progress. Above it, requests get 503.
    pub(crate) max_bodies: ByteSize,
    /// Largest request head (request line and headers).
    pub(crate) max_header: ByteSize,
    /// Time limit for a client to send its request.
    pub(crate) read_timeout: Span,
    /// Close the connection of a client that reads nothing for this time.
    pub(crate) write_timeout: Span,
    /// Time limit for open streams after a stop signal.
    pub(crate) drain: Span,
    /// Web pages of other origins.
    pub(crate) cors: CorsConfig,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CorsConfig {
    /// Origins of web pages that may call the data listener, such as `https://app.example.com`, or
    /// `*` for all; empty: none.
    pub(crate) origins: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Upstream {
    /// Time limit to open a connection to a provider.
    pub(crate) connect_timeout: Span,
    /// Time limit from sending a request to the head of the answer. It applies to answers that are not
    /// streamed only if you set it.
    pub(crate) header_timeout: Span,
    /// Whether a file or variable sets `header_timeout`.
    #[serde(skip)]
    pub(crate) header_timeout_is_set: bool,
    /// Time limit from the head to the first content of a stream.
    pub(crate) first_token_timeout: Span,
    /// Time limit between two pieces of data on a stream; comments and pings do not count.
    pub(crate) idle_timeout: Span,
    /// Time limit for a request with all its attempts.
    pub(crate) total_timeout: Span,
    /// Attempts per request over all backends.
    pub(crate) max_attempts: usize,
    /// Retries of failing backends, as a share of the recent requests.
    pub(crate) retry_budget: f64,
    /// Probe idle backends this often by their list of models; 0: never.
    pub(crate) probe_every: Span,
    /// Circuit breaker of the backends.
    pub(crate) breaker: BreakerConfig,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BreakerConfig {
    /// Enable the circuit breaker.
    pub(crate) enabled: bool,
    /// Open after this many failures in a row.
    pub(crate) failures: u32,
    /// Open after this many failed connections in a row.
    pub(crate) connect_failures: u32,
    /// Open at this share of failures within five minutes.
    pub(crate) error_rate: f64,
    /// Answers that the share of failures needs at least.
    pub(crate) min_samples: u32,
    /// Skip the backend for this time at first.
    pub(crate) open_for: Span,
    /// Longest time to skip the backend.
    pub(crate) open_for_max: Span,
}
