//! How well the backends serve, for operators: `/status`, readiness and metrics.

use std::time::Duration;

use bardo_engine::{
    BackendHealth, BackendState, CircuitState, Engine, Percentiles, ProbeHealth, STREAK_DOWN,
};
use bardo_telemetry::{BackendGauges, LatencyGauge};
use serde_json::{Value, json};
use tokio::time::Instant;

/// Everything that is known of every configured backend at one moment.
pub(crate) struct Backends(Vec<BackendReport>);

struct BackendReport {
    name: String,
    models: Vec<BackendHealth>,
    probe: Option<ProbeHealth>,
}

impl Backends {
    pub(crate) fn of(engine: &Engine) -> Self {
        let now = Instant::now();
        let models = engine.backend_health();
        let probes = engine.health().probe_health(now);
        let snapshot = engine.snapshot();
        let of = |name: &str| BackendReport {
            name: name.to_owned(),
            models: models
                .iter()
                .filter(|model| *model.backend == *name)
                .cloned()
                .collect(),
            probe: probes.iter().find(|probe| probe.backend == name).cloned(),
        };
        Self(snapshot.remote().map(|one| of(&one.name)).collect())
    }

    /// The backends as JSON, for `/status`.
    pub(crate) fn json(&self) -> Value {
        self.0.iter().map(BackendReport::json).collect()
    }

    /// `normal`, `degraded` where some backend is down and others serve, or `down` where none
    /// does, and the names of those that are down.
    pub(crate) fn mode(&self) -> (&'static str, Vec<&str>) {
        let down: Vec<&str> = self
            .0
            .iter()
            .filter(|backend| backend.state() == OverallState::Down)
            .map(|backend| backend.name.as_str())
            .collect();
        let mode = match down.len() {
            0 => "normal",
            count if count == self.0.len() => "down",
            _ => "degraded",
        };
        (mode, down)
    }

    /// The backends as gauges, for `/metrics`.
    pub(crate) fn gauges(&self) -> BackendGauges {
        let mut gauges = BackendGauges::default();
        for backend in &self.0 {
            let state = backend.state().as_str();
            gauges.states.push((backend.name.clone(), state));
            for model in &backend.models {
                for streamed in [true, false] {
                    let took = model.observation.latency(streamed);
                    let quantiles = [
                        ("0.5", took.p50_ms),
                        ("0.9", took.p90_ms),
                        ("0.95", took.p95_ms),
                    ];
                    for (quantile, ms) in quantiles {
                        gauges.latencies.extend(ms.map(|ms| LatencyGauge {
                            provider: backend.name.clone(),
                            model: model.model.to_string(),
                            streamed,
                            quantile,
                            took: Duration::from_millis(ms),
                        }));
                    }
                }
            }
        }
        gauges
    }
}

/// The state of a backend over all its models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OverallState {
    Unknown,
    Healthy,
    Degraded,
    Down,
}

impl OverallState {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Down => "down",
        }
    }
}

impl BackendReport {
    /// A backend is down if it cannot be reached or serves none of the models that were requested
    /// lately; it is degraded if it fails for some of them.
    fn state(&self) -> OverallState {
        let unreachable = self
            .probe
            .as_ref()
            .is_some_and(|probe| probe.failures_in_a_row >= STREAK_DOWN);
        if unreachable {
            return OverallState::Down;
        }
        let known = || {
            self.models
                .iter()
                .map(|model| model.observation.state)
                .filter(|state| *state != BackendState::Unknown)
        };
        let reached = self
            .probe
            .as_ref()
            .is_some_and(|probe| probe.failures_in_a_row == 0);
        match known().count() {
            0 if reached => OverallState::Healthy,
            0 => OverallState::Unknown,
            _ if known().all(BackendState::is_down) => OverallState::Down,
            _ if known().any(|state| state != BackendState::Healthy) => OverallState::Degraded,
            _ => OverallState::Healthy,
        }
    }

    fn json(&self) -> Value {
        let probe = self.probe.as_ref().map(|probe| {
            json!({
                "failures_in_a_row": probe.failures_in_a_row,
                "checked_ms_ago": ms(probe.checked),
                "error": probe.error,
            })
        });
        json!({
            "provider": self.name,
            "state": self.state().as_str(),
            "probe": probe,
            "models": self.models.iter().map(model).collect::<Vec<_>>(),
        })
    }
}

fn model(health: &BackendHealth) -> Value {
    let seen = &health.observation;
    let since = match seen.state {
        BackendState::Down { since } => Some(ms(Instant::now().saturating_duration_since(since))),
        _ => None,
    };
    json!({
        "model": &*health.model,
        "state": seen.state.as_str(),
        "down_for_ms": since,
        "first_token": percentiles(&seen.first_content),
        "whole_answer": percentiles(&seen.whole),
        "error_rate": f64::from(seen.error_permille) / 1000.0,
        "samples": seen.samples,
        "checked_ms_ago": ms(health.checked),
        "circuit": health.circuit.map(circuit_state),
    })
}

fn percentiles(took: &Percentiles) -> Value {
    json!({
        "samples": took.samples,
        "p50_ms": took.p50_ms,
        "p90_ms": took.p90_ms,
        "p95_ms": took.p95_ms,
    })
}

pub(crate) const fn circuit_state(state: CircuitState) -> &'static str {
    match state {
        CircuitState::Closed => "closed",
        CircuitState::HalfOpen => "half_open",
        CircuitState::Open => "open",
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use bardo_engine::Observation;

    use super::*;

    fn backend(name: &str, states: &[BackendState], probe: Option<u32>) -> BackendReport {
        let observed = |state: &BackendState| BackendHealth {
            backend: name.into(),
            model: "m".into(),
            observation: Observation {
                state: *state,
                ..Observation::NOTHING
            },
            checked: Duration::ZERO,
            circuit: None,
        };
        BackendReport {
            name: name.to_owned(),
            models: states.iter().map(observed).collect(),
            probe: probe.map(|failures_in_a_row| ProbeHealth {
                backend: name.to_owned(),
                failures_in_a_row,
                checked: Duration::ZERO,
                error: None,
            }),
        }
    }

    #[test]
    fn a_backend_is_as_well_as_its_models_and_down_where_nothing_reaches_it() {
        let down = BackendState::Down {
            since: Instant::now(),
        };
        let ill = BackendState::Degraded { error_permille: 80 };
        let (well, unknown) = (BackendState::Healthy, BackendState::Unknown);
        let rows: [(&[BackendState], Option<u32>, OverallState); 10] = [
            (&[], None, OverallState::Unknown),
            (&[], Some(0), OverallState::Healthy),
            (&[], Some(2), OverallState::Unknown),
            (&[well], Some(3), OverallState::Down),
            (&[well, unknown], None, OverallState::Healthy),
            (&[unknown], None, OverallState::Unknown),
            (&[well, down], Some(0), OverallState::Degraded),
            (&[well, ill], None, OverallState::Degraded),
            (&[down, unknown], Some(0), OverallState::Down),
            (&[down, down], None, OverallState::Down),
        ];
        for (states, probe, expected) in rows {
            assert_eq!(
                backend("a", states, probe).state(),
                expected,
                "{states:?} {probe:?}"
            );
        }
    }

    #[test]
    fn the_mode_is_degraded_only_while_others_serve() {
        let up = || backend("up", &[], Some(0));
        let away = || backend("away", &[], Some(3));
        assert_eq!(Backends(vec![up(), up()]).mode(), ("normal", vec![]));
        assert_eq!(
            Backends(vec![up(), away()]).mode(),
            ("degraded", vec!["away"])
        );
        assert_eq!(Backends(vec![away()]).mode(), ("down", vec!["away"]));
        assert_eq!(Backends(vec![]).mode(), ("normal", vec![]));
    }
}
