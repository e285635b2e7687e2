use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bardo_providers::Endpoint;
use bardo_providers::payment::Wallet;
use bardo_router::Roster;

/// How long each phase of a call may take (decisions §3, section `upstream`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// From sending to the response's head.
    pub header: Duration,
    /// From the head to the first content of a stream.
    pub first_token: Duration,
    /// Between data; comments and pings do not count.
    pub idle: Duration,
    /// The whole call.
    pub total: Duration,
    /// Silence towards the caller before a comment is sent.
    pub heartbeat: Duration,
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
    /// How many backends are tried at most.
    pub max_attempts: usize,
    /// Pays services that answer 402.
    pub wallet: Option<Arc<dyn Wallet>>,
    /// Simulated providers answer.
    pub sandbox: bool,
}
