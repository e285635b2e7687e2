//! What others than requests may know and do of circuits.

use tokio::time::Instant;

use super::super::{CircuitKey, Health};
use super::Circuit;

impl Circuit {
    fn open_since(&self, now: Instant) -> Option<Instant> {
        let trip = self.trip.as_ref().filter(|trip| trip.until > now)?;
        Some(trip.until.checked_sub(trip.period).unwrap_or(now))
    }
}

impl Health {
    /// Since when the circuit of a backend and model is open, if it is.
    pub(crate) fn open_since(&self, who: &CircuitKey, now: Instant) -> Option<Instant> {
        if self.has_none() {
            return None;
        }
        let id = self.id(who);
        self.circuits().get(&id)?.open_since(now)
    }

    /// Time since which the circuit of a backend and model is open, by their names, for operators.
    /// It reads all circuits.
    pub(crate) fn named_open_since(
        &self,
        backend: &str,
        model: &str,
        now: Instant,
    ) -> Option<Instant> {
        let circuits = self.circuits();
        let mut of = circuits
            .values()
            .filter(|circuit| circuit.backend == backend && circuit.model == model);
        of.find_map(|circuit| circuit.open_since(now))
    }

    /// A backend answers what it is asked for nothing: its circuits need not wait any longer for
    /// the one request that decides.
    pub(crate) fn reached(&self, backend: &str, now: Instant) {
        if self.has_none() {
            return;
        }
        for circuit in self.circuits().values_mut() {
            if circuit.backend == backend
                && let Some(trip) = &mut circuit.trip
            {
                trip.until = trip.until.min(now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use bardo_types::fault::FaultClass;

    use super::super::super::Gate;
    use super::super::super::tests::{BREAKER, backend, failure};
    use super::*;

    fn passes(health: &Arc<Health>, who: &CircuitKey, now: Instant) -> bool {
        matches!(health.gate(who, &BREAKER, now), Gate::Pass(_))
    }

    #[test]
    fn a_backend_that_is_back_is_tried_at_once_and_no_other() {
        let health = Arc::new(Health::default());
        let (one, other) = (backend("one", "k", "m"), backend("other", "k", "m"));
        let start = Instant::now();
        for who in [&one, &other] {
            assert_eq!(health.open_since(who, start), None);
            for _ in 0..BREAKER.failures {
                let Gate::Pass(permit) = health.gate(who, &BREAKER, start) else {
                    panic!("it opened too early");
                };
                permit.failed(&failure(FaultClass::Server), start);
            }
            assert_eq!(health.open_since(who, start), Some(start));
        }
        assert_eq!(health.named_open_since("one", "m", start), Some(start));
        assert_eq!(health.named_open_since("one", "n", start), None);
        let now = start + Duration::from_secs(1);
        assert!(!passes(&health, &one, now));
        health.reached("one", now);
        assert_eq!(health.open_since(&one, now), None);
        assert!(passes(&health, &one, now));
        assert!(!passes(&health, &other, now));
        assert_eq!(health.open_since(&other, now), Some(start));
    }
}
