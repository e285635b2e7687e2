//! The circuit of one backend with one model.

use std::sync::Arc;
use std::time::Duration;

use bardo_types::fault::FaultClass;
use tokio::time::Instant;

use super::open_circuit::OpenCircuit;
use super::window::WindowMark;
use crate::failure::Attribution;

/// Failures in a row from which on a backend is unwell, and how long that is remembered.
const UNWELL_FROM: u32 = 2;
const UNWELL_FOR: Duration = Duration::from_secs(30);
/// After such a time without failures the next one is the first.
const QUIET: Duration = Duration::from_secs(60);

/// A backend that refuses this gateway's own account so often in a row is left alone for a while.
const REFUSED_FROM: u32 = 2;
const REFUSED_FOR: Duration = Duration::from_secs(60);

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
    pub backend: Arc<str>,
    /// The model, by the backend's name for it.
    pub model: Arc<str>,
    /// Whether it is asked.
    pub state: CircuitState,
    /// Whether the backend is degraded with this model, as [`BackendState`](super::BackendState)
    /// defines it.
    pub degraded: bool,
    /// Failures since the last success.
    pub failures_in_a_row: u32,
    /// Successes within five minutes.
    pub successes: u32,
    /// Failures of the backend's own making within five minutes.
    pub failures: u32,
    /// When it is asked again, where it is open.
    pub retry_in: Option<Duration>,
    /// Requests that it was sent since it opened, because there was nobody else to ask.
    pub asked_anyway: u64,
    /// For how long the provider asked not to be asked.
    pub paused_for: Option<Duration>,
    /// The pause comes from another process, which has seen the reason.
    pub hinted: bool,
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

/// A failure as a record takes it.
pub(super) struct FailureReport {
    pub(super) blame: Attribution,
    pub(super) way: Admittance,
    /// Time before which the provider must not be called again.
    pub(super) pause: Option<Duration>,
    pub(super) class: FaultClass,
}

/// Failures of the backend's own making since its last success.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FailureRow {
    pub(super) count: u32,
    /// Time of the first failure.
    pub(super) since: Option<Instant>,
    /// Time of the last failure.
    pub(super) last: Option<Instant>,
}

#[derive(Debug)]
pub(super) struct Circuit {
    backend: Arc<str>,
    model: Arc<str>,
    trip: Option<OpenCircuit>,
    row: FailureRow,
    /// Failed connections in a row.
    unreachable: u32,
    /// Failures in a row without any answer: no connection, or no answer in time.
    silences: u32,
    /// Refusals and failures of any kind since the last success.
    refusals: u32,
    /// Refusals of the gateway's own key or account since the last success.
    account_refusals: u32,
    last_failure: Option<Instant>,
    /// The moment after which outcomes count for this circuit; all do if there is none.
    counted_from: Option<WindowMark>,
    pause: Option<Pause>,
}

/// A time without calls, as long as another backend can be called.
#[derive(Debug, Clone, Copy)]
struct Pause {
    until: Instant,
    class: FaultClass,
    /// Another process has seen the reason.
    hinted: bool,
}

impl Circuit {
    pub(super) fn new(backend: Arc<str>, model: Arc<str>) -> Self {
        Self {
            backend,
            model,
            trip: None,
            row: FailureRow::default(),
            unreachable: 0,
            silences: 0,
            refusals: 0,
            account_refusals: 0,
            last_failure: None,
            counted_from: None,
            pause: None,
        }
    }

    /// Failures in a row.
    pub(super) fn row(&self) -> FailureRow {
        self.row
    }

    /// Continues an earlier row: the success that ended it became a failure.
    pub(super) fn continue_row(&mut self, row: FailureRow) {
        if self.row.count < row.count {
            self.row = row;
        }
    }

    pub(super) fn count_from(&mut self, mark: WindowMark) {
        self.counted_from = Some(mark);
    }

    pub(super) fn counted_from(&self) -> Option<WindowMark> {
        self.counted_from
    }

    /// Whether the backend has failed or refused a request since the record began.
    pub(super) fn has_failed(&self) -> bool {
        self.last_failure.is_some()
    }

    /// Time since which the circuit is open, if it is.
    pub(super) fn open_since(&self, now: Instant) -> Option<Instant> {
        let trip = self.trip.as_ref().filter(|trip| trip.until > now)?;
        Some(trip.until.checked_sub(trip.period).unwrap_or(now))
    }

    /// The backend is back: its row of failures ends, and an open circuit becomes half open.
    pub(super) fn reached(&mut self, now: Instant) {
        self.row = FailureRow::default();
        if let Some(trip) = &mut self.trip {
            trip.until = trip.until.min(now);
        }
    }

    /// The rest of the pause that the provider named, and the class of the fault that it came with.
    pub(super) fn paused(&self, now: Instant) -> Option<(Duration, FaultClass)> {
        let pause = self.pause?;
        let left = pause.until.checked_duration_since(now)?;
        (!left.is_zero()).then_some((left, pause.class))
    }

    pub(super) fn pause(&mut self, until: Instant, class: FaultClass) {
        self.pause_as(until, class, false);
    }

    /// Pauses calls because another process has seen a reason for it, until a call is answered here.
    pub(super) fn pause_by_hint(&mut self, until: Instant) {
        self.pause_as(until, FaultClass::Overloaded, true);
    }

    fn pause_as(&mut self, until: Instant, class: FaultClass, hinted: bool) {
        if self.pause.is_none_or(|known| known.until < until) {
            self.pause = Some(Pause {
                until,
                class,
                hinted,
            });
        }
    }

    /// Whether another process has seen the reason of the pause.
    pub(super) fn is_hinted(&self, now: Instant) -> bool {
        self.pause
            .is_some_and(|pause| pause.hinted && pause.until > now)
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
                backend = &*self.backend,
                model = &*self.model,
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

    /// A call was answered. The outcomes after `mark` count for a circuit that this closes.
    pub(super) fn succeeded(&mut self, way: Admittance, mark: WindowMark) {
        if self.trip.is_some() {
            // An answer to a call from before it opened is no evidence.
            if way == Admittance::Closed {
                return;
            }
            tracing::info!(
                backend = &*self.backend,
                model = &*self.model,
                "circuit closed"
            );
            self.trip = None;
            self.counted_from = Some(mark);
        }
        self.row = FailureRow::default();
        self.unreachable = 0;
        self.silences = 0;
        self.refusals = 0;
        self.account_refusals = 0;
        let ends = |pause: &Pause| pause.hinted || is_of_account(pause.class);
        self.pause = self.pause.filter(|pause| !ends(pause));
    }

    /// Pauses calls after a refusal of the gateway's own key or account: other backends are called
    /// first for a while, and this one where there is no other.
    pub(super) fn refused_account(&mut self, breaker: &Breaker, class: FaultClass, now: Instant) {
        if !is_of_account(class) {
            self.account_refusals = 0;
            return;
        }
        self.account_refusals = self.account_refusals.saturating_add(1);
        if breaker.enabled && self.account_refusals >= REFUSED_FROM {
            self.pause(now + REFUSED_FOR, class);
        }
    }

    /// A call failed. `outcomes` are the successes and failures that count for this circuit, this
    /// one included.
    pub(super) fn failed(
        &mut self,
        breaker: &Breaker,
        report: &FailureReport,
        outcomes: (u32, u32),
        mark: WindowMark,
        now: Instant,
    ) {
        self.last_failure = Some(now);
        if report.blame == Attribution::Nobody {
            if self.trip.is_some() {
                // A refusal is an answer.
                self.succeeded(report.way, mark);
            } else {
                self.row = FailureRow::default();
                self.unreachable = 0;
                self.silences = 0;
            }
            self.refusals = self.refusals.saturating_add(1);
            return;
        }
        self.count_failure(report.blame, now);
        let enough = breaker.enabled && self.has_enough(breaker, outcomes);
        match &mut self.trip {
            Some(trip) => {
                if report.way == Admittance::HalfOpenProbe {
                    trip.probe_failed(breaker, now);
                }
                if report.blame == Attribution::Backend {
                    trip.shows_life();
                }
            }
            None if enough => {
                tracing::warn!(
                    backend = &*self.backend,
                    model = &*self.model,
                    failures_in_a_row = self.row.count,
                    "circuit opened"
                );
                self.trip = Some(OpenCircuit::new(breaker, now));
            }
            None => {}
        }
    }

    fn count_failure(&mut self, blame: Attribution, now: Instant) {
        self.refusals = self.refusals.saturating_add(1);
        self.row = FailureRow {
            count: self.row.count.saturating_add(1),
            since: self.row.since.or(Some(now)),
            last: Some(now),
        };
        self.unreachable = match blame {
            Attribution::Unreachable => self.unreachable.saturating_add(1),
            Attribution::Silent | Attribution::Backend | Attribution::Nobody => 0,
        };
        self.silences = match blame {
            Attribution::Unreachable | Attribution::Silent => self.silences.saturating_add(1),
            Attribution::Backend | Attribution::Nobody => 0,
        };
    }

    fn has_enough(&self, breaker: &Breaker, (successes, failures): (u32, u32)) -> bool {
        let (all, failures) = (
            u64::from(successes) + u64::from(failures),
            u64::from(failures),
        );
        let share = failures * 1000 >= all * u64::from(breaker.error_permille);
        self.row.count >= breaker.failures
            || self.unreachable >= breaker.connect_failures
            || all >= u64::from(breaker.min_samples) && share
    }

    /// Whether it failed several times in a row, and lately.
    pub(super) fn is_unwell(&self, now: Instant) -> bool {
        self.unwell_for(now).is_some()
    }

    /// Time until it is no longer taken for unwell.
    fn unwell_for(&self, now: Instant) -> Option<Duration> {
        let last = self.last_failure.filter(|_| self.refusals >= UNWELL_FROM)?;
        let left = UNWELL_FOR.checked_sub(now.saturating_duration_since(last))?;
        (!left.is_zero()).then_some(left)
    }

    /// Time for which this process has seen a reason to call other backends first: the circuit is
    /// open, calls pause, or the last ones failed.
    pub(super) fn warned_for(&self, now: Instant) -> Option<Duration> {
        let pause = self.pause.filter(|pause| !pause.hinted);
        let paused = pause.and_then(|pause| pause.until.checked_duration_since(now));
        self.retry_in(now).max(paused).max(self.unwell_for(now))
    }

    /// Whether no failure is remembered.
    pub(super) fn is_quiet(&self, now: Instant) -> bool {
        self.last_failure
            .is_none_or(|last| now.saturating_duration_since(last) >= QUIET)
    }

    pub(super) fn state(&self, now: Instant) -> CircuitState {
        match self.retry_in(now) {
            None => CircuitState::Closed,
            Some(Duration::ZERO) => CircuitState::HalfOpen,
            Some(_) => CircuitState::Open,
        }
    }

    /// Time until an open circuit is half open; zero once it is.
    pub(super) fn retry_in(&self, now: Instant) -> Option<Duration> {
        self.trip.as_ref().map(|trip| trip.left(now))
    }

    /// Requests that the backend got since the circuit opened, for want of another backend.
    pub(super) fn asked_anyway(&self) -> u64 {
        self.trip.as_ref().map_or(0, OpenCircuit::anyway)
    }
}

/// Whether a refusal is about the gateway's own key or account at the backend.
const fn is_of_account(class: FaultClass) -> bool {
    matches!(class, FaultClass::Authentication | FaultClass::Payment)
}
