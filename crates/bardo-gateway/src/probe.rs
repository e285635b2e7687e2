//! Probes each idle backend now and then by its list of models, which is free.
//!
//! Only backends without recent requests are probed, nothing of any client is sent, and the list
//! itself is not read.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use bardo_engine::Engine;
use bardo_providers::Endpoint;
use bardo_providers::transport::Transport;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::refresh;

/// The time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Probes all backends every so often, until `every` is dropped; zero switches probing off.
pub(crate) async fn run(
    engine: Arc<Engine>,
    transport: Transport,
    mut every: watch::Receiver<Duration>,
) {
    let dice = RandomState::new();
    let mut round: u64 = 0;
    loop {
        let period = *every.borrow_and_update();
        let changed = every.changed();
        let elapsed = if period.is_zero() {
            changed.await.map(|()| false)
        } else {
            tokio::select! {
                changed = changed => changed.map(|()| false),
                () = tokio::time::sleep(period) => Ok(true),
            }
        };
        match elapsed {
            Err(_) => return,
            Ok(false) => continue,
            Ok(true) => {}
        }
        round += 1;
        let snapshot = engine.snapshot();
        engine
            .health()
            .keep_probes_of(|name| snapshot.remote().any(|known| known.name == *name));
        for endpoint in snapshot.remote() {
            let pause = jitter(period, dice.hash_one((round, &endpoint.name)));
            let probe = HealthProbe {
                engine: Arc::clone(&engine),
                transport: transport.clone(),
                endpoint: Arc::clone(endpoint),
                period,
            };
            tokio::spawn(async move {
                tokio::time::sleep(pause).await;
                probe.make().await;
            });
        }
    }
}

/// A part of the period, so that the probes of one gateway, or of many, do not come all at once.
fn jitter(period: Duration, random: u64) -> Duration {
    let span = u64::try_from(period.as_millis() / 4).unwrap_or(u64::MAX);
    Duration::from_millis(random % span.max(1))
}

struct HealthProbe {
    engine: Arc<Engine>,
    transport: Transport,
    endpoint: Arc<Endpoint>,
    period: Duration,
}

impl HealthProbe {
    async fn make(self) {
        let name = &self.endpoint.name;
        let is_busy = self
            .engine
            .health()
            .last_traffic(name)
            .is_some_and(|last| Instant::now().saturating_duration_since(last) < self.period);
        if is_busy {
            return;
        }
        let asked = refresh::ask(&self.transport, &self.endpoint);
        let outcome = match tokio::time::timeout(PATIENCE, asked).await {
            Err(_) => Err("no answer within 10 seconds".to_owned()),
            Ok(Err(reason)) => Err(reason.to_string()),
            // A backend that refuses is reachable; requests find out whether the key is valid.
            Ok(Ok(response)) if response.status().is_server_error() => {
                Err(format!("status {}", response.status().as_u16()))
            }
            Ok(Ok(_)) => Ok(()),
        };
        if let Err(reason) = &outcome {
            tracing::debug!(provider = name, reason, "probe failed");
        }
        self.engine.probed(name, outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_are_spread_over_a_quarter_of_the_period() {
        let period = Duration::from_secs(30);
        for random in [0, 1, 7_499, 7_500, u64::MAX] {
            assert!(jitter(period, random) < period / 4, "{random}");
        }
        assert_ne!(jitter(period, 1), jitter(period, 2));
        assert_eq!(jitter(Duration::from_millis(1), 5), Duration::ZERO);
    }
}
