//! What requests experience of each backend with each model: how long it takes, and how often it
//! fails.
//!
//! Fed once per try, where a request's receipt is final, and read by whoever chooses a backend and
//! by operators. All of it fits a fixed amount of memory, and no lock is held across an `await`.
//! `docs/health.md` has the rules.

mod histogram;

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bardo_types::fault::FaultClass;
use bardo_types::feature::Feature;
use bardo_types::model::ModelEntry;
use bardo_types::receipt::{Attempt, Outcome, Receipt};
use tokio::time::Instant;

use crate::breaker::CircuitState;
use crate::unseen::{Pace, Work};

use histogram::Window;
pub use histogram::{Percentiles, SAMPLES_MIN};

/// Number of pairs of backend and model that are remembered; the longest unused are forgotten
/// first.
const PAIRS_MAX: usize = 512;
/// Number of failures in a row that make a backend down.
pub const STREAK_DOWN: u32 = 3;
/// After such a time without another failure it may be tried again.
const DOWN_FOR: Duration = Duration::from_secs(30);
/// A share of failures, in thousandths, above which a backend is degraded.
const DEGRADED_PERMILLE: u64 = 50;

/// How well a backend serves a model.
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
    /// Nothing is known of it.
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

    /// Whether it is not to be asked.
    #[must_use]
    pub const fn is_down(self) -> bool {
        matches!(self, Self::Down { .. })
    }
}

/// What is known of a backend with a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// How well it serves.
    pub state: BackendState,
    /// Until the first content of a stream.
    pub first_content: Percentiles,
    /// Until the end of a whole answer.
    pub whole: Percentiles,
    /// Failures among the tries of five minutes, in thousandths.
    pub error_permille: u32,
    /// Tries within five minutes that say something of the backend.
    pub samples: u32,
}

impl Observation {
    /// What is known before anybody asked.
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

    /// What a request waits for: the first content of a stream, else the whole answer.
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
    /// What is known.
    pub observation: Observation,
    /// How long ago a request or a probe last found out something.
    pub checked: Duration,
    /// Its circuit, where it has failed of late.
    pub circuit: Option<CircuitState>,
}

/// What the free probes of one backend have found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeHealth {
    /// The backend's name.
    pub backend: String,
    /// Probes in a row that it did not answer.
    pub failures_in_a_row: u32,
    /// How long ago it was last probed.
    pub checked: Duration,
    /// Why the last one failed.
    pub error: Option<String>,
}

/// See the module.
pub struct UpstreamStats {
    pairs: Mutex<HashMap<u64, Pair>>,
    probes: Mutex<HashMap<String, Probe>>,
    /// Keyed at random, so that nobody can choose names that collide.
    hasher: RandomState,
}

struct Pair {
    backend: Arc<str>,
    model: Arc<str>,
    window: Window,
    pace: Pace,
    /// Whether the model was billed for reasoning.
    reasons: bool,
    streak: u32,
    /// The first and the last failure of the streak.
    failing: Option<(Instant, Instant)>,
    seen: Instant,
}

struct Probe {
    at: Instant,
    failures: u32,
    since: Option<Instant>,
    error: Option<String>,
}

/// What a try says of the backend.
enum Evidence {
    /// The backend answered, after this time if it is known.
    Answered(Option<Duration>),
    /// The backend refused the caller's request, so it works.
    Refused,
    /// The attempt failed.
    Failed,
    /// Nothing: the caller left before there was anything.
    None,
}

impl Default for UpstreamStats {
    fn default() -> Self {
        Self {
            pairs: Mutex::default(),
            probes: Mutex::default(),
            hasher: RandomState::new(),
        }
    }
}

impl UpstreamStats {
    fn id(&self, backend: &str, model: &str) -> u64 {
        self.hasher.hash_one((backend, model))
    }

    fn pairs(&self) -> MutexGuard<'_, HashMap<u64, Pair>> {
        // Counters a panic may have left half done mislead for five minutes at most.
        self.pairs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn probes(&self) -> MutexGuard<'_, HashMap<String, Probe>> {
        self.probes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the tries of a request that is over. `broke` says how its answer broke off, where the
    /// provider ended it after its first content.
    pub(crate) fn settled(&self, receipt: &Receipt, broke: Option<FaultClass>, now: Instant) {
        for attempt in &receipt.attempts {
            match evidence(receipt, attempt, broke) {
                Evidence::None => {}
                evidence => self.keep(attempt, receipt.streamed, &evidence, now),
            }
        }
        self.keep_pace(receipt);
    }

    /// Takes how fast an answer was written that its provider counted.
    fn keep_pace(&self, receipt: &Receipt) {
        let usage = receipt.usage.as_ref().filter(|_| !receipt.estimated);
        let (Some(usage), Some(attempt)) = (usage, receipt.attempts.last()) else {
            return;
        };
        let sent = receipt.timings.sent.unwrap_or_default();
        let took = receipt.timings.total.saturating_sub(sent);
        let id = self.id(&attempt.backend, &attempt.model);
        if let Some(pair) = self.pairs().get_mut(&id)
            && receipt.outcome == Outcome::Finished
            && usage.output > 0
        {
            pair.pace.add(usage.output, took);
            pair.reasons |= usage.reasoning.is_some_and(|tokens| tokens > 0);
        }
    }

    /// How a backend works on answers of a model, by the backend's name for it.
    pub(crate) fn work(&self, backend: &str, model: &str, streamed: bool, now: Instant) -> Work {
        let id = self.id(backend, model);
        let mut pairs = self.pairs();
        let Some(pair) = pairs.get_mut(&id) else {
            return Work::default();
        };
        pair.window.advance(now);
        Work {
            pace: pair.pace,
            p95_ms: pair.window.percentiles(streamed).p95_ms,
        }
    }

    /// Whether a backend was seen to bill reasoning of a model that is not known to show it.
    pub(crate) fn reasons_unseen(&self, backend: &str, entry: &ModelEntry) -> bool {
        let id = self.id(backend, &entry.upstream_id);
        !entry.capabilities.features.has(Feature::VisibleThinking)
            && self.pairs().get(&id).is_some_and(|pair| pair.reasons)
    }

    fn keep(&self, attempt: &Attempt, streamed: bool, evidence: &Evidence, now: Instant) {
        let id = self.id(&attempt.backend, &attempt.model);
        let mut pairs = self.pairs();
        if pairs.len() >= PAIRS_MAX && !pairs.contains_key(&id) {
            let oldest = pairs.iter().min_by_key(|(_, pair)| pair.seen);
            if let Some(oldest) = oldest.map(|(id, _)| *id) {
                pairs.remove(&oldest);
            }
        }
        let pair = pairs.entry(id).or_insert_with(|| Pair {
            backend: Arc::clone(&attempt.backend),
            model: Arc::clone(&attempt.model),
            window: Window::new(now),
            pace: Pace::default(),
            reasons: false,
            streak: 0,
            failing: None,
            seen: now,
        });
        pair.seen = pair.seen.max(now);
        pair.window.advance(now);
        match evidence {
            Evidence::Answered(took) => {
                pair.window.succeeded(streamed, *took);
                (pair.streak, pair.failing) = (0, None);
            }
            Evidence::Failed => {
                pair.window.failed();
                pair.streak = pair.streak.saturating_add(1);
                let first = pair.failing.map_or(now, |(first, _)| first);
                pair.failing = Some((first, now));
            }
            Evidence::Refused | Evidence::None => (pair.streak, pair.failing) = (0, None),
        }
    }

    /// What is known of a backend with a model, by the backend's name for it.
    #[must_use]
    pub fn observe(&self, backend: &str, model: &str, now: Instant) -> Observation {
        let id = self.id(backend, model);
        let mut known = match self.pairs().get_mut(&id) {
            Some(pair) => pair.observation(now),
            None => Observation::NOTHING,
        };
        self.with_probe(backend, &mut known);
        known
    }

    /// Puts in what probes have found.
    fn with_probe(&self, backend: &str, known: &mut Observation) {
        let probes = self.probes();
        let Some(probe) = probes.get(backend) else {
            return;
        };
        if let Some(since) = probe.since.filter(|_| probe.failures >= STREAK_DOWN) {
            known.state = BackendState::Down { since };
        } else if known.state == BackendState::Unknown && probe.failures == 0 {
            known.state = BackendState::Healthy;
        }
    }

    /// When a request last found out something of this backend, whatever the model.
    #[must_use]
    pub fn last_traffic(&self, backend: &str) -> Option<Instant> {
        let pairs = self.pairs();
        let of = pairs.values().filter(|pair| *pair.backend == *backend);
        of.map(|pair| pair.seen).max()
    }

    /// A probe came back: `Ok` where the backend answered, else why it did not. Answers whether the
    /// backend was away before and is back.
    pub(crate) fn probed(&self, backend: &str, outcome: Result<(), String>, now: Instant) -> bool {
        let is_up = outcome.is_ok();
        let mut probes = self.probes();
        let probe = probes.entry(backend.to_owned()).or_insert(Probe {
            at: now,
            failures: 0,
            since: None,
            error: None,
        });
        probe.at = now;
        let is_back = is_up && probe.failures > 0;
        match outcome {
            Ok(()) => (probe.failures, probe.since, probe.error) = (0, None, None),
            Err(error) => {
                probe.failures = probe.failures.saturating_add(1);
                probe.since.get_or_insert(now);
                probe.error = Some(error);
            }
        }
        drop(probes);
        if is_back {
            for pair in self.pairs().values_mut() {
                if *pair.backend == *backend {
                    // It may be tried again; what it failed at stays in the share of failures.
                    (pair.streak, pair.failing) = (0, None);
                }
            }
        }
        is_back
    }

    /// Forgets the probes of backends that are not configured any more.
    pub fn keep_probes_of(&self, is_known: impl Fn(&str) -> bool) {
        self.probes().retain(|backend, _| is_known(backend));
    }

    /// What probes have found, by name.
    #[must_use]
    pub fn probe_health(&self, now: Instant) -> Vec<ProbeHealth> {
        let probes = self.probes();
        let shown = |(backend, probe): (&String, &Probe)| ProbeHealth {
            backend: backend.clone(),
            failures_in_a_row: probe.failures,
            checked: now.saturating_duration_since(probe.at),
            error: probe.error.clone(),
        };
        let mut all: Vec<ProbeHealth> = probes.iter().map(shown).collect();
        all.sort_by(|a, b| a.backend.cmp(&b.backend));
        all
    }

    /// Everything that requests have found out, by name.
    pub(crate) fn all(&self, now: Instant) -> Vec<BackendHealth> {
        let shown = |pair: &mut Pair| BackendHealth {
            backend: Arc::clone(&pair.backend),
            model: Arc::clone(&pair.model),
            observation: pair.observation(now),
            checked: now.saturating_duration_since(pair.seen),
            circuit: None,
        };
        let mut all: Vec<BackendHealth> = self.pairs().values_mut().map(shown).collect();
        for one in &mut all {
            self.with_probe(&one.backend, &mut one.observation);
        }
        all.sort_by(|a, b| (&a.backend, &a.model).cmp(&(&b.backend, &b.model)));
        all
    }
}

impl Pair {
    fn observation(&mut self, now: Instant) -> Observation {
        self.window.advance(now);
        let (successes, failures) = self.window.totals();
        let samples = successes.saturating_add(failures);
        let error_permille = share(failures, samples);
        let is_failing = samples >= SAMPLES_MIN
            && u64::from(failures) * 1000 > u64::from(samples) * DEGRADED_PERMILLE;
        let state = match self.failing {
            Some((since, last))
                if self.streak >= STREAK_DOWN && now.saturating_duration_since(last) < DOWN_FOR =>
            {
                BackendState::Down { since }
            }
            _ if samples == 0 => BackendState::Unknown,
            _ if is_failing || self.window.is_slow() => BackendState::Degraded { error_permille },
            _ => BackendState::Healthy,
        };
        Observation {
            state,
            first_content: self.window.percentiles(true),
            whole: self.window.percentiles(false),
            error_permille,
            samples,
        }
    }
}

fn share(failures: u32, samples: u32) -> u32 {
    let permille = u64::from(failures) * 1000 / u64::from(samples.max(1));
    u32::try_from(permille).unwrap_or(1000)
}

/// What one try of a request says of its backend.
fn evidence(receipt: &Receipt, attempt: &Attempt, broke: Option<FaultClass>) -> Evidence {
    if let Some(failure) = &attempt.failure {
        return if is_the_backends(failure.class) {
            Evidence::Failed
        } else {
            Evidence::Refused
        };
    }
    let timings = &receipt.timings;
    let took = timings
        .first_content
        .and_then(|first| first.checked_sub(timings.sent?));
    match receipt.outcome {
        Outcome::Failed if broke.is_some_and(is_the_backends) => Evidence::Failed,
        Outcome::Finished => Evidence::Answered(took),
        // Its caller or its money ended it, and not the backend.
        _ if took.is_some() && receipt.streamed => Evidence::Answered(took),
        Outcome::Failed | Outcome::Aborted | Outcome::Unknown => Evidence::None,
    }
}

/// Whether a failure is of the backend's own making. What a caller, a key or a limit brings about
/// says nothing of its health.
const fn is_the_backends(class: FaultClass) -> bool {
    matches!(
        class,
        FaultClass::Server
            | FaultClass::Overloaded
            | FaultClass::Timeout
            | FaultClass::Connection
            | FaultClass::Malformed
    )
}

#[cfg(test)]
mod tests;
