//! The health of the backends, for operators and the router.

use std::sync::Arc;

use bardo_providers::Endpoint;
use bardo_types::model::ModelEntry;
use tokio::time::Instant;

use crate::engine::Engine;
use crate::health::{
    BackendHealth, CircuitHealth, CircuitKey, HealthHint, HealthRecords, Observation,
};

impl Engine {
    /// The circuits of backends that have failed, the worst first.
    #[must_use]
    pub fn circuits(&self) -> Vec<CircuitHealth> {
        self.health.circuits(Instant::now())
    }

    /// Hints for other processes of the gateway about backends that this one has seen fail.
    #[must_use]
    pub fn health_hints(&self) -> Vec<HealthHint> {
        self.health.hints(Instant::now())
    }

    /// Takes a hint of another process: other backends are called first for the rest of its time,
    /// or until this one answers here. A hint about a backend that is not known is ignored, and all are where the circuit breaker is off.
    pub fn take_health_hint(&self, hint: &HealthHint) {
        let snapshot = self.snapshot();
        if !snapshot.resilience.breaker.enabled {
            return;
        }
        let mut endpoints = snapshot.endpoints.iter();
        if let Some(endpoint) = endpoints.find(|endpoint| *endpoint.name == *hint.backend) {
            self.health.take_hint(endpoint, hint, Instant::now());
        }
    }

    /// The health records of all backends.
    #[must_use]
    pub fn health(&self) -> &Arc<HealthRecords> {
        &self.health
    }

    /// The health of one backend with one model.
    #[must_use]
    pub fn observe(&self, endpoint: &Arc<Endpoint>, entry: &Arc<ModelEntry>) -> Observation {
        let key = CircuitKey::new(endpoint, entry);
        self.health.observe(&key, Instant::now())
    }

    /// Takes the result of a probe of a backend: `Ok` if it answered, else why it did not. A
    /// backend that was unavailable and answers may be called at once, whatever its circuits say. A
    /// backend that answers probes and fails at requests keeps the times of its circuits.
    pub fn probed(&self, backend: &str, outcome: Result<(), String>) {
        self.health.probed(backend, outcome, Instant::now());
    }

    /// The health of every backend with every model that was called lately, by name.
    #[must_use]
    pub fn backend_health(&self) -> Vec<BackendHealth> {
        self.health.backends(Instant::now())
    }
}
