//! Which backends may be asked right now: a circuit for each backend, model and key that has
//! failed, and the times that providers named.
//!
//! A circuit is closed (asked), open (not asked) or half open (asked by one request, which decides).
//! Nothing is kept of backends that never failed, so those cost a request one look at a counter.

mod circuit;
mod open_circuit;

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bardo_providers::Endpoint;
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::model::ModelEntry;
use tokio::time::Instant;

use crate::failure::{Attribution, Failure, RetryDecision, blame};
use crate::retry::Budget;

use circuit::{Admittance, Circuit};
pub use circuit::{Breaker, CircuitHealth, CircuitState};

/// Callers can make up names of models, so what is kept has a bound.
const CIRCUITS_MAX: usize = 10_000;

/// What is known of the backends' health, and how much may be retried.
pub(crate) struct Health {
    circuits: Mutex<HashMap<u64, Circuit>>,
    /// How many circuits there are, to be read without the lock.
    known: AtomicUsize,
    budget: Mutex<Budget>,
    /// Keyed at random, so that nobody can choose names that collide.
    hasher: RandomState,
}

/// One backend with one model, by one key.
#[derive(Clone)]
pub(crate) struct CircuitKey {
    endpoint: Arc<Endpoint>,
    entry: Arc<ModelEntry>,
}

impl CircuitKey {
    pub(crate) fn new(endpoint: &Arc<Endpoint>, entry: &Arc<ModelEntry>) -> Self {
        Self {
            endpoint: Arc::clone(endpoint),
            entry: Arc::clone(entry),
        }
    }
}

/// Whether a backend may be asked.
pub(crate) enum Gate {
    /// The backend may be called.
    Pass(Permit),
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

impl Default for Health {
    fn default() -> Self {
        Self {
            circuits: Mutex::default(),
            known: AtomicUsize::new(0),
            budget: Mutex::new(Budget::new(Instant::now())),
            hasher: RandomState::new(),
        }
    }
}

impl Health {
    /// The circuits that are kept, the worst first.
    pub(crate) fn shown(&self, now: Instant) -> Vec<CircuitHealth> {
        let mut all: Vec<CircuitHealth> = self
            .circuits()
            .values_mut()
            .map(|circuit| circuit.shown(now))
            .collect();
        all.sort_by(|a, b| {
            let rank = |one: &CircuitHealth| (one.state, std::cmp::Reverse(one.failures_in_a_row));
            (rank(a), &a.backend, &a.model).cmp(&(rank(b), &b.backend, &b.model))
        });
        all
    }

    /// What its circuit is found by, also after a reload.
    fn id(&self, who: &CircuitKey) -> u64 {
        let CircuitKey { endpoint, entry } = who;
        let base = &endpoint.base;
        let address = (base.https, &base.host, base.port, &base.path);
        let named = (&endpoint.name, endpoint.key.expose(), &entry.upstream_id);
        self.hasher.hash_one((address, named))
    }

    fn circuits(&self) -> MutexGuard<'_, HashMap<u64, Circuit>> {
        // Every change is a few assignments; a panic between them leaves nothing that misleads.
        self.circuits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn budget(&self) -> MutexGuard<'_, Budget> {
        self.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_none(&self) -> bool {
        self.known.load(Ordering::Acquire) == 0
    }

    /// A request has come; a share of those may be retried.
    pub(crate) fn count_request(&self, now: Instant) {
        self.budget().earn(now);
    }

    /// Takes one retry out of the budget.
    pub(crate) fn may_retry(&self, now: Instant, permille: u32, in_advance: bool) -> bool {
        self.budget().spend(now, permille, in_advance)
    }

    /// Notes tries that were not asked for and that came to nothing.
    pub(crate) fn note_retries(&self, now: Instant, retries: u32) {
        if retries > 0 {
            self.budget().note(now, retries);
        }
    }

    pub(crate) fn gate(
        self: &Arc<Self>,
        who: &CircuitKey,
        breaker: &Breaker,
        now: Instant,
    ) -> Gate {
        let mut way = Admittance::Closed;
        if !self.has_none()
            && let Some(circuit) = self.circuits().get_mut(&self.id(who))
        {
            if let Some((wait, class)) = circuit.paused(now) {
                return Gate::Paused(wait, class);
            }
            match circuit.pass(breaker, now) {
                Ok(passed) => way = passed,
                Err(wait) => {
                    let dead = circuit.is_dead(breaker);
                    return Gate::Open { wait, dead };
                }
            }
        }
        Gate::Pass(self.permit(who, breaker, way))
    }

    /// For a new request that has nobody else to ask: what a provider said of time, it said to the
    /// requests before, and errors are better than no answer. Only a backend that is dead is closed
    /// to it, for so long.
    pub(crate) fn last_resort(
        self: &Arc<Self>,
        who: &CircuitKey,
        breaker: &Breaker,
        now: Instant,
    ) -> Result<Permit, Duration> {
        let mut way = Admittance::Closed;
        if let Some(circuit) = self.circuits().get_mut(&self.id(who)) {
            way = circuit.pass_anyway(breaker, now)?;
        }
        Ok(self.permit(who, breaker, way))
    }

    fn permit(self: &Arc<Self>, who: &CircuitKey, breaker: &Breaker, way: Admittance) -> Permit {
        Permit {
            health: Arc::clone(self),
            who: who.clone(),
            breaker: *breaker,
            way,
        }
    }

    /// Whether it failed several times in a row, and lately.
    pub(crate) fn is_unwell(&self, who: &CircuitKey, now: Instant) -> bool {
        !self.has_none()
            && self
                .circuits()
                .get(&self.id(who))
                .is_some_and(|circuit| circuit.is_unwell(now))
    }

    /// Keeps a failure; answers whether it is the first after a quiet time.
    fn keep(&self, who: &CircuitKey, breaker: &Breaker, seen: &Seen, now: Instant) -> bool {
        let id = self.id(who);
        let mut circuits = self.circuits();
        if circuits.len() >= CIRCUITS_MAX && !circuits.contains_key(&id) {
            circuits.retain(|_, circuit| !circuit.is_forgettable(now));
            if circuits.len() >= CIRCUITS_MAX {
                return false;
            }
        }
        let circuit = circuits.entry(id).or_insert_with(|| {
            Circuit::new(
                who.endpoint.name.clone(),
                who.entry.upstream_id.clone(),
                now,
            )
        });
        let first = circuit.is_quiet(now);
        circuit.failed(breaker, seen.blame, seen.way, now);
        if let Some(wait) = seen.pause {
            circuit.pause(now + wait, seen.class);
        }
        let count = circuits.len();
        drop(circuits);
        self.known.store(count, Ordering::Release);
        first
    }
}

/// A failure as circuits see it.
struct Seen {
    blame: Attribution,
    way: Admittance,
    pause: Option<Duration>,
    class: FaultClass,
}

/// Leave to ask a backend once. Dropped without an outcome, it was no evidence of anything.
pub(crate) struct Permit {
    health: Arc<Health>,
    who: CircuitKey,
    breaker: Breaker,
    way: Admittance,
}

impl Permit {
    /// Whether the circuit is not closed, so that the request asks this backend once at most.
    pub(crate) fn is_for_once(&self) -> bool {
        self.way != Admittance::Closed
    }

    /// The backend answered. What is answered is for the watch to see, where it goes on.
    pub(crate) fn succeeded(mut self, now: Instant) -> Watch {
        let way = std::mem::replace(&mut self.way, Admittance::Closed);
        if !self.health.has_none()
            && let Some(circuit) = self.health.circuits().get_mut(&self.health.id(&self.who))
        {
            circuit.succeeded(way, now);
        }
        Watch {
            health: Arc::clone(&self.health),
            who: self.who.clone(),
            breaker: self.breaker,
        }
    }

    /// The backend failed; answers whether that is the first failure after a quiet time.
    pub(crate) fn failed(mut self, failure: &Failure, now: Instant) -> bool {
        let way = std::mem::replace(&mut self.way, Admittance::Closed);
        let blame = failure.blame(self.who.endpoint.service);
        if failure.next == RetryDecision::Never {
            // It took the trouble to say what is wrong with the request, so it is well.
            if let Some(circuit) = self.health.circuits().get_mut(&self.health.id(&self.who)) {
                circuit.succeeded(way, now);
            }
            return false;
        }
        let seen = Seen {
            blame,
            way,
            pause: failure.fault.retry_after_ms.map(Duration::from_millis),
            class: failure.fault.class,
        };
        self.health.keep(&self.who, &self.breaker, &seen, now)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.way == Admittance::HalfOpenProbe
            && let Some(circuit) = self.health.circuits().get_mut(&self.health.id(&self.who))
        {
            circuit.give_up_probe();
        }
    }
}

/// Sees how an answer that began goes on.
pub(crate) struct Watch {
    health: Arc<Health>,
    who: CircuitKey,
    breaker: Breaker,
}

impl Watch {
    /// The answer broke off.
    pub(crate) fn failed(self, fault: &Fault) {
        let blame = blame(fault, self.who.endpoint.service);
        if blame == Attribution::Nobody {
            return;
        }
        let seen = Seen {
            blame,
            way: Admittance::Closed,
            pause: None,
            class: fault.class,
        };
        self.health
            .keep(&self.who, &self.breaker, &seen, Instant::now());
    }
}

#[cfg(test)]
mod tests;
