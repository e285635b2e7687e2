//! The parts of an agent that think, as rows of a table (`data/subsystems.toml` of the router).

use crate::intent::Intent;
use crate::privacy::SecurityClass;

/// One part of an agent, and what its calls need when they do not say so themselves.
#[derive(Debug, Clone, PartialEq)]
pub struct Subsystem {
    /// Its name, e.g. `dream_rem`.
    pub name: String,
    /// The group that it belongs to, e.g. `dream`; the subsystem itself, where it stands alone.
    pub group: String,
    /// The requirements and preferences of its calls.
    pub intent: Intent,
    /// The row of the profile table that sets up its models; `None`: nothing is set.
    pub profile: Option<String>,
    /// The least protection of its requests.
    pub floor: SecurityClass,
    /// Nothing that degrades applies to it: neither mortality, nor budgets, nor sustainability.
    pub protected: bool,
    /// Neither its owner nor a caller changes its profile.
    pub locked: bool,
    /// Its temperature is its purpose, and mortality does not cool it.
    pub creative: bool,
    /// A person waits for its answers.
    pub interactive: bool,
    /// Its calls are gated by the tiers of the heartbeat.
    pub heartbeat: bool,
    /// Backends to ask, in order, whatever the general order is, where the owner says nothing else.
    pub route: Vec<String>,
}
