//! Free probes of the backends, and what they change.

use hashbrown::HashMap;
use std::sync::{MutexGuard, PoisonError};

use tokio::time::Instant;

use super::HealthRecords;
use super::observation::{BackendState, Observation, ProbeHealth, STREAK_DOWN};

/// The last probes of one backend.
pub(super) struct ProbeRecord {
    at: Instant,
    failures: u32,
    since: Option<Instant>,
    error: Option<String>,
}

impl HealthRecords {
    fn probes(&self) -> MutexGuard<'_, HashMap<String, ProbeRecord>> {
        self.probes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the result of probes to an observation.
    pub(super) fn with_probe(&self, backend: &str, known: &mut Observation) {
        let probes = self.probes();
        let Some(probe) = probes.get(backend) else {
            return;
        };
        if let Some(since) = probe.since.filter(|_| probe.failures >= STREAK_DOWN) {
            // An open circuit stays the reason, with its own time.
            if !known.state.is_down() {
                known.state = BackendState::Down { since };
            }
        } else if known.state == BackendState::Unknown && probe.failures == 0 {
            known.state = BackendState::Healthy;
        }
    }

    /// Takes the result of a probe: `Ok` if the backend answered, else why it did not. If the
    /// backend did not answer before and does now, its circuits may be probed by a request at once.
    pub(crate) fn probed(&self, backend: &str, outcome: Result<(), String>, now: Instant) {
        if self.probe_result(backend, outcome, now) {
            self.reached(backend, now);
        }
    }

    /// Keeps the result; returns whether the backend is back.
    fn probe_result(&self, backend: &str, outcome: Result<(), String>, now: Instant) -> bool {
        let mut probes = self.probes();
        let probe = probes.entry(backend.to_owned()).or_insert(ProbeRecord {
            at: now,
            failures: 0,
            since: None,
            error: None,
        });
        probe.at = now;
        let is_back = outcome.is_ok() && probe.failures > 0;
        match outcome {
            Ok(()) => (probe.failures, probe.since, probe.error) = (0, None, None),
            Err(error) => {
                probe.failures = probe.failures.saturating_add(1);
                probe.since.get_or_insert(now);
                probe.error = Some(error);
            }
        }
        is_back
    }

    /// Ends the rows of failures of a backend that is back, and the waits of its open circuits. Its
    /// failures stay in the share of failures.
    pub(super) fn reached(&self, backend: &str, now: Instant) {
        for record in self.records().values_mut() {
            if *record.backend == *backend {
                record.circuit.reached(now);
            }
        }
    }

    /// Forgets the probes of backends that are no longer configured.
    pub fn keep_probes_of(&self, is_known: impl Fn(&str) -> bool) {
        self.probes().retain(|backend, _| is_known(backend));
    }

    /// The results of probes, by name of the backend.
    #[must_use]
    pub fn probe_health(&self, now: Instant) -> Vec<ProbeHealth> {
        let probes = self.probes();
        let shown = |(backend, probe): (&String, &ProbeRecord)| ProbeHealth {
            backend: backend.clone(),
            failures_in_a_row: probe.failures,
            checked: now.saturating_duration_since(probe.at),
            error: probe.error.clone(),
        };
        let mut all: Vec<ProbeHealth> = probes.iter().map(shown).collect();
        all.sort_by(|a, b| a.backend.cmp(&b.backend));
        all
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use bardo_types::fault::FaultClass;

    use super::super::tests::{BREAKER, backend, failure};
    use super::super::{CircuitCheck, CircuitKey};
    use super::*;

    fn passes(health: &Arc<HealthRecords>, key: &CircuitKey, now: Instant) -> bool {
        matches!(health.check(key, &BREAKER, now), CircuitCheck::Pass(_))
    }

    #[test]
    fn a_backend_that_is_back_is_tried_at_once_and_no_other() {
        let health = Arc::new(HealthRecords::default());
        let (one, other) = (backend("one", "k", "m"), backend("other", "k", "m"));
        let start = Instant::now();
        for key in [&one, &other] {
            assert_eq!(health.open_since(key, start), None);
            for _ in 0..BREAKER.failures {
                let CircuitCheck::Pass(permit) = health.check(key, &BREAKER, start) else {
                    panic!("it opened too early");
                };
                permit.failed(&failure(FaultClass::Server), start);
            }
            assert_eq!(health.open_since(key, start), Some(start));
        }
        let shown = health.backends(start);
        let down = BackendState::Down { since: start };
        assert_eq!(
            (&*shown[0].backend, shown[0].observation.state),
            ("one", down)
        );
        let now = start + Duration::from_secs(1);
        assert!(!passes(&health, &one, now));
        health.reached("one", now);
        assert_eq!(health.open_since(&one, now), None);
        assert!(passes(&health, &one, now));
        assert!(!passes(&health, &other, now));
        assert_eq!(health.open_since(&other, now), Some(start));
    }
}
