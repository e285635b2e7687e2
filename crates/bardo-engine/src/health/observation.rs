//! Health as the router and operators read it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::circuit::CircuitState;
use super::window::Percentiles;

/// Number of failures in a row that make a backend down.
pub const STREAK_DOWN: u32 = 3;

/// The state of a backend with a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendState {
    /// The backend answers.
    Healthy,
    /// More than one try in twenty fails, of 20 tries or more, or it is far slower than usual.
    Degraded {
        /// Failures among the tries of five minutes, in thousandths.
        error_permille: u32,
    },
    /// Its circuit is open, it failed three times in a row just now, or it cannot be reached.
    Down {
        /// Time of the first failure.
        since: Instant,
    },
    /// There is no request within five minutes, and no answered probe.
    Unknown,
}

impl BackendState {
    /// The name in `/status`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Degraded { .. } => "degraded",
            Self::Down { .. } => "down",
            Self::Unknown => "unknown",
        }
    }

    /// Whether the backend must not be called.
    #[must_use]
    pub const fn is_down(self) -> bool {
        matches!(self, Self::Down { .. })
    }
}

/// The health of a backend with a model at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// State of the backend for this model.
    pub state: BackendState,
    /// Times until the first content of a stream.
    pub first_content: Percentiles,
    /// Times until the end of a whole answer.
    pub whole: Percentiles,
    /// Failures among the tries of five minutes, in thousandths.
    pub error_permille: u32,
    /// Tries within five minutes that say something of the backend.
    pub samples: u32,
}

impl Observation {
    /// The health of a backend that was never called.
    pub const NOTHING: Self = Self {
        state: BackendState::Unknown,
        first_content: Percentiles {
            samples: 0,
            p50_ms: None,
            p90_ms: None,
            p95_ms: None,
        },
        whole: Percentiles {
            samples: 0,
            p50_ms: None,
            p90_ms: None,
            p95_ms: None,
        },
        error_permille: 0,
        samples: 0,
    };

    /// The times that a request waits: until the first content of a stream, else until the end of
    /// the answer.
    #[must_use]
    pub const fn latency(&self, streamed: bool) -> &Percentiles {
        if streamed {
            &self.first_content
        } else {
            &self.whole
        }
    }
}

/// One line for operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendHealth {
    /// The backend's name.
    pub backend: Arc<str>,
    /// The model, by the backend's name for it.
    pub model: Arc<str>,
    /// Observed health of the backend.
    pub observation: Observation,
    /// Age of the last outcome of a call.
    pub checked: Duration,
    /// Its circuit, where it has failed of late.
    pub circuit: Option<CircuitState>,
}

/// The results of the free probes of one backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeHealth {
    /// The backend's name.
    pub backend: String,
    /// Probes in a row that it did not answer.
    pub failures_in_a_row: u32,
    /// Age of the last probe.
    pub checked: Duration,
    /// Reason why the last probe failed.
    pub error: Option<String>,
}
