//! Permits for calls: every call to a backend has one, and reports its outcome through it.

use std::sync::Arc;
use std::time::Duration;

use bardo_types::fault::{Fault, FaultClass};
use tokio::time::Instant;

use super::circuit::{Admittance, Breaker, FailureReport};
use super::record::BegunAnswer;
use super::{CircuitKey, HealthRecords};
use crate::failure::{Attribution, Failure, RetryDecision, blame};

/// The result of asking whether a backend may be called.
pub(crate) enum CircuitCheck {
    /// The backend may be called.
    Pass(CallPermit),
    /// The backend named a time before which it must not be called, with this class of failure.
    Paused(Duration, FaultClass),
    /// The circuit of the backend is open.
    Open {
        /// Time until the next half-open probe.
        wait: Duration,
        /// Whether the backend gives no answers at all, not even errors.
        dead: bool,
    },
}

/// Permission to call a backend once. Dropped without an outcome, it leaves no evidence.
pub(crate) struct CallPermit {
    health: Arc<HealthRecords>,
    key: CircuitKey,
    breaker: Breaker,
    way: Admittance,
}

impl CallPermit {
    pub(super) fn new(
        health: Arc<HealthRecords>,
        key: CircuitKey,
        breaker: Breaker,
        way: Admittance,
    ) -> Self {
        Self {
            health,
            key,
            breaker,
            way,
        }
    }

    /// Whether the circuit is not closed, so that the request calls this backend once at most.
    pub(crate) fn is_for_once(&self) -> bool {
        self.way != Admittance::Closed
    }

    /// The backend answered. The monitor follows the answer to its end.
    pub(crate) fn succeeded(mut self, now: Instant) -> AnswerMonitor {
        let way = std::mem::replace(&mut self.way, Admittance::Closed);
        let begun = self
            .health
            .update(&self.key, now, |record| record.succeeded(way));
        AnswerMonitor {
            permit: self,
            begun,
        }
    }

    /// The backend failed. Returns whether that is the first failure after a quiet time.
    pub(crate) fn failed(mut self, failure: &Failure, now: Instant) -> bool {
        let way = std::mem::replace(&mut self.way, Admittance::Closed);
        // A reason why the request is wrong is an answer, and a refusal of the gateway's own says
        // nothing of the backend.
        if failure.retry == RetryDecision::Never || failure.fault.own_code.is_some() {
            self.health
                .update(&self.key, now, |record| record.refused(way));
            return false;
        }
        let report = FailureReport {
            blame: failure.blame(self.key.0.endpoint.service),
            way,
            pause: failure.fault.retry_after_ms.map(Duration::from_millis),
            class: failure.fault.class,
        };
        self.health.update(&self.key, now, |record| {
            record.failed(&self.breaker, &report, now)
        })
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        if self.way == Admittance::HalfOpenProbe {
            self.health
                .circuit(&self.key, Instant::now(), super::Circuit::give_up_probe);
        }
    }
}

/// Follows an answer that began.
pub(crate) struct AnswerMonitor {
    /// The permit of the call. Its outcome is recorded.
    permit: CallPermit,
    begun: BegunAnswer,
}

impl AnswerMonitor {
    /// The answer broke off.
    pub(crate) fn failed(self, fault: &Fault) {
        let CallPermit {
            health,
            key,
            breaker,
            ..
        } = &self.permit;
        let blame = blame(fault, key.0.endpoint.service);
        if blame == Attribution::Nobody {
            return;
        }
        let report = FailureReport {
            blame,
            way: Admittance::Closed,
            pause: None,
            class: fault.class,
        };
        let now = Instant::now();
        health.update(key, now, |record| {
            record.broke_off(self.begun, breaker, &report, now);
        });
    }
}
