//! An open circuit: who may look at the backend again, and when.

use std::time::Duration;

use tokio::time::Instant;

use super::circuit::Breaker;

/// A probe without an outcome for so long no longer keeps the next one back.
const PROBE_PATIENCE: Duration = Duration::from_secs(10);
/// Where nobody else can be asked, a dead backend is looked at after this for the first time.
const EARLY_GAP: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(super) struct OpenCircuit {
    pub(super) until: Instant,
    pub(super) period: Duration,
    /// Since when a request is finding out.
    probe: Option<Instant>,
    /// When one did so last; the moment of opening counts.
    looked: Instant,
    /// Time after `looked` when a request without another backend may probe early.
    gap: Duration,
    /// How many requests passed all the same, for want of another backend.
    anyway: u64,
}

impl OpenCircuit {
    pub(super) fn new(breaker: &Breaker, now: Instant) -> Self {
        Self {
            until: now + breaker.open_for,
            period: breaker.open_for,
            probe: None,
            looked: now,
            gap: EARLY_GAP,
            anyway: 0,
        }
    }

    /// The time until the next half-open probe.
    pub(super) fn left(&self, now: Instant) -> Duration {
        self.until.saturating_duration_since(now)
    }

    pub(super) fn anyway(&self) -> u64 {
        self.anyway
    }

    /// Lets a probe through once the time is over, unless one is under way.
    pub(super) fn probe(&mut self, now: Instant) -> Result<(), Duration> {
        let left = self.left(now);
        if !left.is_zero() {
            return Err(left);
        }
        self.begin_probe(now)
    }

    /// Begins a half-open probe before the circuit's time is over.
    pub(super) fn probe_early(&mut self, now: Instant) -> Result<(), Duration> {
        let next = self.until.min(self.looked + self.gap);
        let left = next.saturating_duration_since(now);
        if !left.is_zero() {
            return Err(left);
        }
        self.begin_probe(now)
    }

    fn begin_probe(&mut self, now: Instant) -> Result<(), Duration> {
        if let Some(since) = self.probe {
            let left = (since + PROBE_PATIENCE).saturating_duration_since(now);
            if !left.is_zero() {
                return Err(left.min(EARLY_GAP));
            }
        }
        self.probe = Some(now);
        self.looked = now;
        Ok(())
    }

    pub(super) fn give_up_probe(&mut self) {
        self.probe = None;
    }

    pub(super) fn probe_failed(&mut self, breaker: &Breaker, now: Instant) {
        let longest = breaker.open_for_max.max(breaker.open_for);
        self.probe = None;
        self.looked = now;
        self.gap = (self.gap * 2).min(longest.max(EARLY_GAP));
        // One that looked before the time changes nothing of when all may come back.
        if now >= self.until {
            self.period = (self.period * 2).min(longest);
            self.until = now + self.period;
        }
    }

    /// The backend has answered at last, though badly.
    pub(super) fn shows_life(&mut self) {
        self.gap = EARLY_GAP;
    }

    /// A request without another backend passes; answers whether it is the first.
    pub(super) fn pass_anyway(&mut self) -> bool {
        self.anyway = self.anyway.saturating_add(1);
        self.anyway == 1
    }
}
