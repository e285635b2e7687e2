mod reach;

use std::time::Duration;

use bardo_types::fault::FaultClass;
use tokio::time::Instant;

use super::open_circuit::OpenCircuit;
use crate::failure::Attribution;
use crate::window::Window;

/// Successes and failures are looked at over ten of these: five minutes.
const SLOT: Duration = Duration::from_secs(30);
/// Failures in a row from which on a backend is unwell, and how long that is remembered.
const UNWELL_FROM: u32 = 2;
const UNWELL_FOR: Duration = Duration::from_secs(30);
/// After such a time without failures the next one is the first.
const QUIET: Duration = Duration::from_secs(60);
/// A share of failures, in thousandths, from which on a backend is called degraded.
const DEGRADED_PERMILLE: u64 = 50;

/// When circuits open, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Breaker {
    /// Whether they open at all.
    pub enabled: bool,
    /// Failures in a row that open one.
    pub failures: u32,
    /// Connections in a row that do not come about and open one.
    pub connect_failures: u32,
    /// Failures among the answers of five minutes that open one, in thousandths.
    pub error_permille: u32,
    /// Number of answers before the share of failures counts.
    pub min_samples: u32,
    /// How long one stays open at first.
    pub open_for: Duration,
    /// Each failed probe doubles that, up to this.
    pub open_for_max: Duration,
}

/// The state of a circuit, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CircuitState {
    /// The backend is not asked.
    Open,
    /// One request at a time finds out whether it is well again.
    HalfOpen,
    /// The backend is asked.
    Closed,
}

/// A circuit as operators see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CircuitHealth {
    /// The backend's name.
    pub backend: String,
    /// The model, by the backend's name for it.
    pub model: String,
    /// Whether it is asked.
    pub state: CircuitState,
    /// Whether more than one in twenty of at least 20 answers failed.
    pub degraded: bool,
    /// Failures since the last success.
    pub failures_in_a_row: u32,
    /// Successes within five minutes, from the first failure on.
    pub successes: u64,
    /// Failures of the backend's own making within five minutes.
    pub failures: u64,
    /// When it is asked again, where it is open.
    pub retry_in: Option<Duration>,
    /// Requests that it was sent since it opened, because there was nobody else to ask.
    pub asked_anyway: u64,
    /// For how long the provider asked not to be asked.
    pub paused_for: Option<Duration>,
}

/// How a request came past a circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admittance {
    /// The circuit was closed.
    Closed,
    /// To find out whether the backend is well again.
    HalfOpenProbe,
    /// The circuit was open, and no other backend was available.
    Forced,
}

#[derive(Debug)]
pub(super) struct Circuit {
    backend: String,
    model: String,
    trip: Option<OpenCircuit>,
    /// Failures of the backend's own making since the last success.
    streak: u32,
    /// Connections in a row that did not come about.
    unreachable: u32,
    /// Failures in a row without a word: no connection, or no answer in time.
    silences: u32,
    /// Refusals and failures of any kind since the last success.
    refusals: u32,
    last_failure: Option<Instant>,
    /// Successes and failures.
    window: Window,
    pause: Option<(Instant, FaultClass)>,
}

impl Circuit {
    pub(super) fn new(backend: String, model: String, now: Instant) -> Self {
        Self {
            backend,
            model,
            trip: None,
            streak: 0,
            unreachable: 0,
            silences: 0,
            refusals: 0,
            last_failure: None,
            window: Window::new(SLOT, now),
            pause: None,
        }
    }

    /// What is left of the time that the provider named.
    pub(super) fn paused(&self, now: Instant) -> Option<(Duration, FaultClass)> {
        let (until, class) = self.pause?;
        let left = until.checked_duration_since(now)?;
        (!left.is_zero()).then_some((left, class))
    }

    pub(super) fn pause(&mut self, until: Instant, class: FaultClass) {
        if self.pause.is_none_or(|(known, _)| known < until) {
            self.pause = Some((until, class));
        }
    }

    /// Whether a request may pass, and how; else how long that is not so.
    pub(super) fn pass(&mut self, breaker: &Breaker, now: Instant) -> Result<Admittance, Duration> {
        match self.trip.as_mut().filter(|_| breaker.enabled) {
            None => Ok(Admittance::Closed),
            Some(trip) => trip.probe(now).map(|()| Admittance::HalfOpenProbe),
        }
    }

    /// Admits a request that has no other backend. It passes, unless the backend is dead and so
    /// would make every caller wait: then one request at a time probes it, before the circuit's
    /// time is over.
    pub(super) fn pass_anyway(
        &mut self,
        breaker: &Breaker,
        now: Instant,
    ) -> Result<Admittance, Duration> {
        let dead = self.is_dead(breaker);
        let Some(trip) = self.trip.as_mut().filter(|_| breaker.enabled) else {
            return Ok(Admittance::Closed);
        };
        if dead {
            return trip.probe_early(now).map(|()| Admittance::HalfOpenProbe);
        }
        if trip.pass_anyway() {
            tracing::warn!(
                backend = self.backend,
                model = self.model,
                "circuit is open; the backend is called because no other backend is available"
            );
        }
        Ok(Admittance::Forced)
    }

    /// Whether nothing was heard of it lately, not even an error.
    pub(super) fn is_dead(&self, breaker: &Breaker) -> bool {
        self.silences >= breaker.connect_failures.max(1)
    }

    pub(super) fn give_up_probe(&mut self) {
        if let Some(trip) = &mut self.trip {
            trip.give_up_probe();
        }
    }

    pub(super) fn succeeded(&mut self, way: Admittance, now: Instant) {
        if self.trip.is_some() {
            // Who was asked before it opened is no evidence.
            if way == Admittance::Closed {
                return;
            }
            tracing::info!(backend = self.backend, model = self.model, "circuit closed");
            self.trip = None;
            self.window = Window::new(SLOT, now);
        }
        self.streak = 0;
        self.unreachable = 0;
        self.silences = 0;
        self.refusals = 0;
        let slot = self.window.now(now);
        slot.0 = slot.0.saturating_add(1);
    }

    pub(super) fn failed(
        &mut self,
        breaker: &Breaker,
        blame: Attribution,
        way: Admittance,
        now: Instant,
    ) {
        self.last_failure = Some(now);
        if blame == Attribution::Nobody {
            if self.trip.is_some() {
                // A refusal is an answer.
                self.succeeded(way, now);
            } else {
                self.streak = 0;
                self.unreachable = 0;
                self.silences = 0;
            }
            self.refusals = self.refusals.saturating_add(1);
            return;
        }
        self.count_failure(blame, now);
        let enough = breaker.enabled && self.has_enough(breaker, now);
        match &mut self.trip {
            Some(trip) => {
                if way == Admittance::HalfOpenProbe {
                    trip.probe_failed(breaker, now);
                }
                if blame == Attribution::Backend {
                    trip.shows_life();
                }
            }
            None if enough => {
                tracing::warn!(
                    backend = self.backend,
                    model = self.model,
                    failures_in_a_row = self.streak,
                    "circuit opened"
                );
                self.trip = Some(OpenCircuit::new(breaker, now));
            }
            None => {}
        }
    }

    fn count_failure(&mut self, blame: Attribution, now: Instant) {
        self.refusals = self.refusals.saturating_add(1);
        self.streak = self.streak.saturating_add(1);
        self.unreachable = match blame {
            Attribution::Unreachable => self.unreachable.saturating_add(1),
            Attribution::Silent | Attribution::Backend | Attribution::Nobody => 0,
        };
        self.silences = match blame {
            Attribution::Unreachable | Attribution::Silent => self.silences.saturating_add(1),
            Attribution::Backend | Attribution::Nobody => 0,
        };
        let slot = self.window.now(now);
        slot.1 = slot.1.saturating_add(1);
    }

    fn has_enough(&mut self, breaker: &Breaker, now: Instant) -> bool {
        let (successes, failures) = self.window.sums(now);
        let all = successes + failures;
        let share = failures * 1000 >= all * u64::from(breaker.error_permille);
        self.streak >= breaker.failures
            || self.unreachable >= breaker.connect_failures
            || all >= u64::from(breaker.min_samples) && share
    }

    /// Whether it failed several times in a row, and lately.
    pub(super) fn is_unwell(&self, now: Instant) -> bool {
        let lately = self
            .last_failure
            .is_some_and(|last| now.saturating_duration_since(last) < UNWELL_FOR);
        lately && self.refusals >= UNWELL_FROM
    }

    /// Whether no failure is remembered.
    pub(super) fn is_quiet(&self, now: Instant) -> bool {
        self.last_failure
            .is_none_or(|last| now.saturating_duration_since(last) >= QUIET)
    }

    /// Whether nothing would change if it were not known.
    pub(super) fn is_forgettable(&self, now: Instant) -> bool {
        self.trip.is_none()
            && self.paused(now).is_none()
            && self
                .last_failure
                .is_none_or(|last| now.saturating_duration_since(last) >= SLOT * 10)
    }

    pub(super) fn shown(&mut self, now: Instant) -> CircuitHealth {
        let (successes, failures) = self.window.sums(now);
        let all = successes + failures;
        let left = self.trip.as_ref().map(|trip| trip.left(now));
        CircuitHealth {
            backend: self.backend.clone(),
            model: self.model.clone(),
            state: match left {
                None => CircuitState::Closed,
                Some(Duration::ZERO) => CircuitState::HalfOpen,
                Some(_) => CircuitState::Open,
            },
            degraded: all >= 20 && failures * 1000 > all * DEGRADED_PERMILLE,
            failures_in_a_row: self.streak,
            successes,
            failures,
            retry_in: left,
            asked_anyway: self.trip.as_ref().map_or(0, OpenCircuit::anyway),
            paused_for: self.paused(now).map(|(left, _)| left),
        }
    }
}
