//! What callers tell the gateway about a request beside the request: the body object `bardo` and
//! the headers `X-Bardo-*`. Untrusted: hints move the caller's own routing, cache scope and money
//! alone.

use std::sync::Arc;

use crate::feature::Feature;
use crate::intent::Quality;
use crate::phase::Phase;
use crate::privacy::{SecurityClass, TaskClass};
use crate::profile::InferenceProfile;
use crate::unit::UnitInterval;

/// The hints that routing and profiles act on. What was malformed is absent here and named in
/// `warnings`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RouteHints {
    /// The part of the agent that asks, as written.
    pub subsystem: Option<Arc<str>>,
    /// The subject of the request.
    pub task_class: Option<TaskClass>,
    /// The least protection that will do.
    pub security_class: Option<SecurityClass>,
    /// The differences from the intent of the subsystem.
    pub intent: IntentHints,
    /// Parameters for the model.
    pub profile: Option<Box<InferenceProfile>>,
    /// The class of what the gateway remembers and this request goes on with: a stored response,
    /// remembered thinking. The caller cannot set it, and it does not yield.
    pub remembered_class: Option<SecurityClass>,
    /// How alive the agent is.
    pub vitality: Option<UnitInterval>,
    /// Phase of the agent's life.
    pub phase: Option<Phase>,
    /// The ratio of its revenue to its cost; not negative.
    pub sustainability: Option<f64>,
    /// Which call of its session or cycle this is, from 1.
    pub call_index: Option<u32>,
    /// How many calls the cycle has, for schedules.
    pub call_count: Option<u32>,
    /// Which cycle this is, from 0, for schedules.
    pub cycle: Option<u32>,
    /// The domain of the request: `defi`, `code`, …
    pub domain: Option<Arc<str>>,
    /// The number of the agent's tick.
    pub tick: Option<u64>,
    /// Id of the agent.
    pub golem_id: Option<Arc<str>>,
    /// The session of the caller that the request belongs to.
    pub session: Option<Arc<str>>,
    /// A cheaper model than the named one will do.
    pub allow_downgrade: Option<bool>,
    /// An answer without what is required will do.
    pub accept_degraded: Option<bool>,
    /// The most that the request may cost, in micro-USD.
    pub max_cost_micro_usd: Option<u64>,
    /// The value at stake, in micro-USD.
    pub stakes_micro_usd: Option<u64>,
    /// Hints that could not be read, in words.
    pub warnings: Vec<String>,
}

/// The part of an intent that a caller gives.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IntentHints {
    /// The model, beside the one of the request.
    pub model: Option<Arc<str>>,
    /// Replaces the subsystem's list.
    pub require: Option<Vec<Feature>>,
    /// Replaces the subsystem's list.
    pub prefer: Option<Vec<Feature>>,
    /// Replaces the subsystem's.
    pub quality: Option<Quality>,
    /// Replaces the subsystem's.
    pub max_latency_ms: Option<u64>,
    /// Replaces the subsystem's.
    pub cost_sensitivity: Option<UnitInterval>,
    /// Little thinking is wanted.
    pub low_effort: Option<bool>,
}

impl RouteHints {
    /// Whether anything was said that routing or profiles act on.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        *self == Self::default()
    }
}
