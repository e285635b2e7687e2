//! What others than requests may know and do of circuits.

use tokio::time::Instant;

use super::super::{Health, Who};
use super::Circuit;

impl Circuit {
    fn open_since(&self, now: Instant) -> Option<Instant> {
        let trip = self.trip.as_ref().filter(|trip| trip.until > now)?;
        Some(trip.until.checked_sub(trip.period).unwrap_or(now))
    }
}

impl Health {
    /// Since when the circuit of a backend and model is open, if it is.
    pub(crate) fn open_since(&self, who: &Who, now: Instant) -> Option<Instant> {
        if self.has_none() {
            return None;
        }
        let id = self.id(who);
        self.circuits().get(&id)?.open_since(now)
    }

    /// The same by names, for operators: it looks at all circuits.
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
