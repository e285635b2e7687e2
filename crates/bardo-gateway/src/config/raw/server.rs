//! Listeners and limits, towards callers and towards providers.

use std::net::SocketAddr;

use bardo_types::secret::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use super::secret;
use crate::config::units::{Size, Span};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
    /// Where callers connect.
    pub(crate) listen: SocketAddr,
    /// Where operators connect.
    pub(crate) admin_listen: SocketAddr,
    /// What operators have to send as `Authorization: Bearer`; empty: nothing, on loopback alone.
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String")]
    pub(crate) admin_token: Secret,
    /// Worker threads; 0 means one per core.
    pub(crate) workers: usize,
    /// Silence on a stream before a comment is sent to the caller.
    pub(crate) heartbeat: Span,
    /// Largest request body.
    pub(crate) max_body: Size,
    /// Memory for all request bodies that are being received or answered.
    pub(crate) max_bodies: Size,
    /// Largest request head.
    pub(crate) max_header: Size,
    /// How long a caller may take to send its request.
    pub(crate) read_timeout: Span,
    /// How long a caller may leave what is sent to it unread.
    pub(crate) write_timeout: Span,
    /// How long streams under way may go on after a stop signal.
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
    /// Opening a connection to a provider.
    pub(crate) connect_timeout: Span,
    /// From sending a request to the head of the answer; of whole answers only where it is set.
    pub(crate) header_timeout: Span,
    /// Somebody set it.
    #[serde(skip)]
    pub(crate) header_timeout_is_set: bool,
    /// From the head to the first content of a stream.
    pub(crate) first_token_timeout: Span,
    /// Between data on a stream; comments and pings do not count.
    pub(crate) idle_timeout: Span,
    /// A whole request, with all its tries.
    pub(crate) total_timeout: Span,
    /// Tries for one request, over all backends.
    pub(crate) max_attempts: usize,
    /// Tries of a backend that has failed just now, as a share of the recent requests.
    pub(crate) retry_budget: f64,
    /// How often a backend that nobody asks is probed by its list of models; 0: never.
    pub(crate) probe_every: Span,
    /// When a backend is not asked for a while.
    pub(crate) breaker: BreakerConfig,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BreakerConfig {
    /// Whether there are such times.
    pub(crate) enabled: bool,
    /// Failures in a row that begin one.
    pub(crate) failures: u32,
    /// Connections in a row that do not come about and begin one.
    pub(crate) connect_failures: u32,
    /// The share of failures within five minutes that begins one.
    pub(crate) error_rate: f64,
    /// The answers that this share needs to mean something.
    pub(crate) min_samples: u32,
    /// How long the first one lasts.
    pub(crate) open_for: Span,
    /// How long one lasts at most.
    pub(crate) open_for_max: Span,
}
