//! What is known of the backends' health, as operators and the router are told it.

use std::sync::Arc;

use bardo_providers::Endpoint;
use bardo_types::model::ModelEntry;
use tokio::time::Instant;

use crate::breaker::{CircuitHealth, CircuitKey};
use crate::engine::Engine;
use crate::observed::{BackendHealth, BackendState, Observation, UpstreamStats};

impl Engine {
    /// The backends that have failed of late, the worst first.
    #[must_use]
    pub fn health(&self) -> Vec<CircuitHealth> {
        self.health.shown(Instant::now())
    }

    /// What requests and probes have found out, to be asked by backend and model.
    #[must_use]
    pub fn observed(&self) -> &Arc<UpstreamStats> {
        &self.observed
    }

    /// What is known of one backend with one model, its circuit included.
    #[must_use]
    pub fn observe(&self, endpoint: &Arc<Endpoint>, entry: &Arc<ModelEntry>) -> Observation {
        let now = Instant::now();
        let mut known = self
            .observed
            .observe(&endpoint.name, &entry.upstream_id, now);
        if let Some(since) = self
            .health
            .open_since(&CircuitKey::new(endpoint, entry), now)
        {
            known.state = BackendState::Down { since };
        }
        known
    }

    /// A probe of a backend came back: `Ok` where it answered, else why it did not. One that was
    /// away and answers again may be tried at once, whatever its circuits say; one that answers
    /// probes all the time and fails at requests keeps the times of its circuits.
    pub fn probed(&self, backend: &str, outcome: Result<(), String>) {
        let now = Instant::now();
        if self.observed.probed(backend, outcome, now) {
            self.health.reached(backend, now);
        }
    }

    /// How well every backend serves every model that was asked of it lately, by name.
    #[must_use]
    pub fn backend_health(&self) -> Vec<BackendHealth> {
        let now = Instant::now();
        let mut all = self.observed.all(now);
        let circuits = self.health();
        for one in &mut all {
            let circuit = circuits
                .iter()
                .find(|circuit| circuit.backend == *one.backend && circuit.model == *one.model);
            one.circuit = circuit.map(|circuit| circuit.state);
            if let Some(since) = self.health.named_open_since(&one.backend, &one.model, now) {
                one.observation.state = BackendState::Down { since };
            }
        }
        all
    }
}
