//! The record of one backend with one model.

use std::sync::Arc;
use std::time::Duration;

use bardo_types::receipt::{Outcome, Receipt};
use tokio::time::Instant;

use super::circuit::{Admittance, Breaker, Circuit, CircuitHealth, FailureReport, FailureRow};
use super::observation::{BackendHealth, BackendState, Observation, STREAK_DOWN};
use super::window::{OutcomeWindow, SAMPLES_MIN, SlotIndex};
use crate::failure::Attribution;
use crate::unseen::{Pace, Work};

/// Time without another failure after which a backend that is down may be called again.
const DOWN_FOR: Duration = Duration::from_secs(30);
/// A share of failures, in thousandths, above which a backend is degraded.
const DEGRADED_PERMILLE: u64 = 50;

/// Outcomes, times and circuit of one backend with one model.
pub(super) struct HealthRecord {
    pub(super) backend: Arc<str>,
    pub(super) model: Arc<str>,
    /// The address and the key that the circuit belongs to.
    pub(super) credential: u64,
    pub(super) circuit: Circuit,
    window: OutcomeWindow,
    pace: Pace,
    /// Whether the model was billed for reasoning.
    pub(super) reasons: bool,
    /// Number of answers that began; tells whether one came since another.
    answers: u64,
    /// Time of the last outcome.
    pub(super) checked: Instant,
    /// Time of the last use, for the choice of the record to remove.
    pub(super) used: Instant,
}

/// An answer that began, as far as its end may change what was counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct BegunAnswer {
    number: u64,
    slot: SlotIndex,
    /// The failures in a row before it.
    row: FailureRow,
}

impl HealthRecord {
    pub(super) fn new(backend: &str, model: &str, credential: u64, now: Instant) -> Self {
        let (backend, model): (Arc<str>, Arc<str>) = (backend.into(), model.into());
        Self {
            circuit: Circuit::new(Arc::clone(&backend), Arc::clone(&model)),
            backend,
            model,
            credential,
            window: OutcomeWindow::new(now),
            pace: Pace::default(),
            reasons: false,
            answers: 0,
            checked: now,
            used: now,
        }
    }

    /// Begins to take an outcome of this credential. Another credential gets a new circuit; the
    /// outcomes of before stay in the window, and do not count for that circuit.
    pub(super) fn begin(&mut self, credential: u64, now: Instant) {
        self.window.advance(now);
        self.checked = self.checked.max(now);
        self.used = self.used.max(now);
        if self.credential != credential {
            self.credential = credential;
            self.circuit = Circuit::new(Arc::clone(&self.backend), Arc::clone(&self.model));
            self.circuit.count_from(self.window.mark());
        }
    }

    /// The backend began to answer.
    pub(super) fn succeeded(&mut self, way: Admittance) -> BegunAnswer {
        let row = self.circuit.row();
        self.circuit.succeeded(way, self.window.mark());
        self.window.succeeded();
        self.answers += 1;
        BegunAnswer {
            number: self.answers,
            slot: self.window.slot_index(),
            row,
        }
    }

    /// The backend refused the request with a reason, so it works.
    pub(super) fn refused(&mut self, way: Admittance) {
        self.circuit.succeeded(way, self.window.mark());
    }

    /// The backend failed. Returns whether that is the first failure after a quiet time.
    pub(super) fn failed(
        &mut self,
        breaker: &Breaker,
        report: &FailureReport,
        now: Instant,
    ) -> bool {
        let first = self.circuit.is_quiet(now);
        if report.blame != Attribution::Nobody {
            self.window.failed();
        }
        let outcomes = self.window.since(self.circuit.counted_from());
        let mark = self.window.mark();
        self.circuit.failed(breaker, report, outcomes, mark, now);
        if let Some(wait) = report.pause {
            self.circuit.pause(now + wait, report.class);
        }
        self.circuit.refused_account(breaker, report.class, now);
        first
    }

    /// An answer that had begun broke off: its success becomes a failure, and continues the row of
    /// failures before it unless another answer came since.
    pub(super) fn broke_off(
        &mut self,
        begun: BegunAnswer,
        breaker: &Breaker,
        report: &FailureReport,
        now: Instant,
    ) {
        self.window.take_back_success(begun.slot);
        if self.answers == begun.number {
            self.circuit.continue_row(begun.row);
        }
        self.failed(breaker, report, now);
    }

    /// An answer took so long: until its first content if it was streamed, else until its end.
    pub(super) fn took(&mut self, streamed: bool, took: Duration, now: Instant) {
        self.window.advance(now);
        self.window.took(streamed, took);
    }

    /// Takes the pace of an answer, if its provider counted the tokens.
    pub(super) fn worked(&mut self, receipt: &Receipt) {
        let usage = receipt.usage.as_ref().filter(|_| !receipt.estimated);
        let Some(usage) = usage.filter(|usage| usage.output > 0) else {
            return;
        };
        if receipt.outcome == Outcome::Finished {
            let sent = receipt.timings.sent.unwrap_or_default();
            let took = receipt.timings.total.saturating_sub(sent);
            self.pace.add(usage.output, took);
            self.reasons |= usage.reasoning.is_some_and(|tokens| tokens > 0);
        }
    }

    pub(super) fn work(&mut self, streamed: bool, now: Instant) -> Work {
        self.window.advance(now);
        Work {
            pace: self.pace,
            p95_ms: self.window.percentiles(streamed).p95_ms,
        }
    }

    /// Whether more than one try in twenty fails, of 20 tries or more, or answers take far longer
    /// than usual.
    fn is_degraded(&self) -> bool {
        let (successes, failures) = self.window.totals();
        let samples = successes.saturating_add(failures);
        let is_failing = samples >= SAMPLES_MIN
            && u64::from(failures) * 1000 > u64::from(samples) * DEGRADED_PERMILLE;
        is_failing || self.window.is_slow()
    }

    /// The health at this moment. `owns_circuit` says whether the circuit is of the key that asks.
    pub(super) fn observation(&mut self, owns_circuit: bool, now: Instant) -> Observation {
        self.window.advance(now);
        let (successes, failures) = self.window.totals();
        let samples = successes.saturating_add(failures);
        let error_permille = share(failures, samples);
        let open = self.circuit.open_since(now).filter(|_| owns_circuit);
        let row = self.circuit.row();
        let failing = row
            .last
            .is_some_and(|last| now.saturating_duration_since(last) < DOWN_FOR);
        let down = row
            .since
            .filter(|_| failing && row.count >= STREAK_DOWN)
            .filter(|_| owns_circuit);
        let state = match open.or(down) {
            Some(since) => BackendState::Down { since },
            None if samples == 0 => BackendState::Unknown,
            None if self.is_degraded() => BackendState::Degraded { error_permille },
            None => BackendState::Healthy,
        };
        Observation {
            state,
            first_content: self.window.percentiles(true),
            whole: self.window.percentiles(false),
            error_permille,
            samples,
        }
    }

    /// One line for operators, without what probes found.
    pub(super) fn backend_health(&mut self, now: Instant) -> BackendHealth {
        BackendHealth {
            backend: Arc::clone(&self.backend),
            model: Arc::clone(&self.model),
            observation: self.observation(true, now),
            checked: now.saturating_duration_since(self.checked),
            circuit: self.circuit.has_failed().then(|| self.circuit.state(now)),
        }
    }

    /// The circuit as operators see it.
    pub(super) fn circuit_health(&mut self, now: Instant) -> CircuitHealth {
        self.window.advance(now);
        let (successes, failures) = self.window.totals();
        CircuitHealth {
            backend: Arc::clone(&self.backend),
            model: Arc::clone(&self.model),
            state: self.circuit.state(now),
            degraded: self.is_degraded(),
            failures_in_a_row: self.circuit.row().count,
            successes,
            failures,
            retry_in: self.circuit.retry_in(now),
            asked_anyway: self.circuit.asked_anyway(),
            paused_for: self.circuit.paused(now).map(|(left, _)| left),
            hinted: self.circuit.is_hinted(now),
        }
    }

    /// Whether operators have to see the circuit.
    pub(super) fn is_shown(&self, now: Instant) -> bool {
        self.circuit.has_failed() || self.circuit.is_hinted(now)
    }
}

fn share(failures: u32, samples: u32) -> u32 {
    let permille = u64::from(failures) * 1000 / u64::from(samples.max(1));
    u32::try_from(permille).unwrap_or(1000)
}
