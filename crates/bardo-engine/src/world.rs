use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bardo_providers::Endpoint;
use bardo_providers::payment::Wallet;
use bardo_router::Roster;

use crate::breaker::Breaker;

/// How long each phase of a call may take (decisions §3, section `upstream`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// From sending to the response's head, of a stream.
    pub header: Duration,
    /// The same of a whole answer, whose head providers send when the model is done.
    pub whole_header: Duration,
    /// From the head to the first content of a stream.
    pub first_token: Duration,
    /// Between data; comments and pings do not count.
    pub idle: Duration,
    /// The whole call.
    pub total: Duration,
    /// Silence towards the caller before a comment is sent.
    pub heartbeat: Duration,
}

/// How failures of providers are borne (`docs/retries.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resilience {
    /// Retries of this process as a share of its requests, in thousandths.
    pub retry_budget_permille: u32,
    /// When a backend is not asked for a while.
    pub breaker: Breaker,
}

impl Resilience {
    /// Nothing is asked again and no circuit opens; what providers say of time is still obeyed.
    pub const NONE: Self = Self {
        retry_budget_permille: 0,
        breaker: Breaker {
            enabled: false,
            failures: u32::MAX,
            connect_failures: u32::MAX,
            error_permille: 1000,
            min_samples: u32::MAX,
            open_for: Duration::ZERO,
            open_for_max: Duration::ZERO,
        },
    };
}

/// Everything that configuration and catalogs decide. Immutable; a reload or a refresh swaps the
/// whole.
pub struct World {
    /// The models and who serves them.
    pub roster: Roster,
    /// The backends, in the order of the roster's.
    pub endpoints: Vec<Arc<Endpoint>>,
    /// Other models to try when no backend of the named one answers, by that name.
    pub fallbacks: HashMap<String, Vec<String>>,
    /// Phases and their limits.
    pub deadlines: Deadlines,
    /// How many tries a request has at most, over all backends.
    pub max_attempts: usize,
    /// Retries and circuits.
    pub resilience: Resilience,
    /// Pays services that answer 402.
    pub wallet: Option<Arc<dyn Wallet>>,
    /// Simulated providers answer.
    pub sandbox: bool,
}
