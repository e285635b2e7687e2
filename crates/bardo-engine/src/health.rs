//! The health of the backends: one record for each backend and model, and the budget of retries.
//!
//! A record has one window of outcomes, the times that answers took, and one circuit. The circuit
//! breaker, the router and the operators' pages read the same record. A circuit is closed (the
//! backend is called), open (it is not called) or half open (one request probes it).
//!
//! Every try counts once, at its end: a success when the backend answers, a failure when it does
//! not or when its answer breaks off. The time that an answer took follows with its receipt. All
//! records fit a fixed amount of memory, and no lock is held across an `await`. `docs/health.md`
//! has the rules.

mod circuit;
mod hint;
mod observation;
mod open_circuit;
mod permit;
mod probes;
mod record;
mod window;

use std::hash::BuildHasher as _;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bardo_providers::Endpoint;
use bardo_types::fault::FaultClass;
use bardo_types::feature::Feature;
use bardo_types::model::ModelEntry;
use bardo_types::receipt::{Outcome, Receipt};
use hashbrown::{DefaultHashBuilder, HashMap};
use tokio::time::Instant;

use crate::failure::is_the_backends;
use crate::retry::RetryBudget;
use crate::unseen::Work;

use circuit::{Admittance, Circuit};
pub use circuit::{Breaker, CircuitHealth, CircuitState};
pub use hint::HealthHint;
pub use observation::{BackendHealth, BackendState, Observation, ProbeHealth, STREAK_DOWN};
pub(crate) use permit::{AnswerMonitor, CallPermit, CircuitCheck};
use probes::ProbeRecord;
use record::HealthRecord;
pub use window::{Percentiles, SAMPLES_MIN};

/// Number of records. Callers can make up names of models; the record with the oldest call is
/// removed first.
const RECORDS_MAX: usize = 512;

/// The health records of all backends, and the budget of retries.
pub struct HealthRecords {
    /// The ids are hashes already.
    records: Mutex<HashMap<u64, HealthRecord>>,
    probes: Mutex<HashMap<String, ProbeRecord>>,
    budget: Mutex<RetryBudget>,
    /// Random keys keep callers from choosing names that collide.
    hasher: DefaultHashBuilder,
}

/// One backend with one model, by one key.
#[derive(Clone)]
pub(crate) struct CircuitKey(Arc<CircuitParts>);

struct CircuitParts {
    endpoint: Arc<Endpoint>,
    entry: Arc<ModelEntry>,
    /// Where the record is, once it was looked for.
    place: OnceLock<RecordPlace>,
}

/// The id of a record, and the credential that its circuit has to belong to.
#[derive(Clone, Copy)]
struct RecordPlace {
    id: u64,
    credential: u64,
}

impl CircuitKey {
    pub(crate) fn new(endpoint: &Arc<Endpoint>, entry: &Arc<ModelEntry>) -> Self {
        Self(Arc::new(CircuitParts {
            endpoint: Arc::clone(endpoint),
            entry: Arc::clone(entry),
            place: OnceLock::new(),
        }))
    }
}

impl Default for HealthRecords {
    fn default() -> Self {
        Self {
            records: Mutex::default(),
            probes: Mutex::default(),
            budget: Mutex::new(RetryBudget::new(Instant::now())),
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl HealthRecords {
    /// The key of a record: the backend's name, and its name for the model.
    fn id(&self, backend: &str, model: &str) -> u64 {
        self.hasher.hash_one((backend, model))
    }

    /// The address and the key of a backend. A circuit belongs to one of them, also after a reload.
    fn credential(&self, endpoint: &Endpoint) -> u64 {
        let base = &endpoint.base;
        let address = (base.https, &base.host, base.port, &base.path);
        self.hasher.hash_one((address, endpoint.key.expose()))
    }

    fn place(&self, key: &CircuitKey) -> RecordPlace {
        *key.0.place.get_or_init(|| RecordPlace {
            id: self.id(&key.0.endpoint.name, &key.0.entry.upstream_id),
            credential: self.credential(&key.0.endpoint),
        })
    }

    fn records(&self) -> MutexGuard<'_, HashMap<u64, HealthRecord>> {
        // Counters that a panic left half done mislead for five minutes at most.
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn budget(&self) -> MutexGuard<'_, RetryBudget> {
        self.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request; a share of the requests may be retried.
    pub(crate) fn count_request(&self, now: Instant) {
        self.budget().earn(now);
    }

    /// Takes one retry out of the budget.
    pub(crate) fn may_retry(&self, now: Instant, permille: u32, in_advance: bool) -> bool {
        self.budget().spend(now, permille, in_advance)
    }

    /// Counts tries that took nothing out of the budget and came to nothing.
    pub(crate) fn note_retries(&self, now: Instant, retries: u32) {
        if retries > 0 {
            self.budget().note(now, retries);
        }
    }

    /// Reads the circuit of a backend and model, where this key has one.
    fn circuit<R>(
        &self,
        key: &CircuitKey,
        now: Instant,
        read: impl FnOnce(&mut Circuit) -> R,
    ) -> Option<R> {
        let RecordPlace { id, credential } = self.place(key);
        let mut records = self.records();
        let record = records.get_mut(&id)?;
        record.used = record.used.max(now);
        (record.credential == credential).then(|| read(&mut record.circuit))
    }

    /// Changes the record of a backend and model; a first outcome creates it.
    fn update<R>(
        &self,
        key: &CircuitKey,
        now: Instant,
        change: impl FnOnce(&mut HealthRecord) -> R,
    ) -> R {
        let names = (&*key.0.endpoint.name, &*key.0.entry.upstream_id);
        self.update_at(self.place(key), names, now, change)
    }

    /// Changes the record at a place, which is that of this backend and model.
    fn update_at<R>(
        &self,
        RecordPlace { id, credential }: RecordPlace,
        (backend, model): (&str, &str),
        now: Instant,
        change: impl FnOnce(&mut HealthRecord) -> R,
    ) -> R {
        let mut records = self.records();
        if records.len() >= RECORDS_MAX && !records.contains_key(&id) {
            let oldest = records.iter().min_by_key(|(_, record)| record.used);
            if let Some(oldest) = oldest.map(|(id, _)| *id) {
                records.remove(&oldest);
            }
        }
        let record = records
            .entry(id)
            .or_insert_with(|| HealthRecord::new(backend, model, credential, now));
        record.begin(credential, now);
        change(record)
    }

    /// Whether a backend may be called with a model.
    pub(crate) fn check(
        self: &Arc<Self>,
        key: &CircuitKey,
        breaker: &Breaker,
        now: Instant,
    ) -> CircuitCheck {
        let checked = self.circuit(key, now, |circuit| {
            if let Some((wait, class)) = circuit.paused(now) {
                return Err(CircuitCheck::Paused(wait, class));
            }
            circuit.pass(breaker, now).map_err(|wait| {
                let dead = circuit.is_dead(breaker);
                CircuitCheck::Open { wait, dead }
            })
        });
        match checked {
            Some(Err(refused)) => refused,
            Some(Ok(way)) => CircuitCheck::Pass(self.permit(key, breaker, way)),
            None => CircuitCheck::Pass(self.permit(key, breaker, Admittance::Closed)),
        }
    }

    /// Permits a call for a new request that has no other backend, or says how long to wait. A
    /// pause that the provider named was for earlier requests, and an error is better than no
    /// answer. Only a dead backend is refused.
    pub(crate) fn last_resort(
        self: &Arc<Self>,
        key: &CircuitKey,
        breaker: &Breaker,
        now: Instant,
    ) -> Result<CallPermit, Duration> {
        let way = self
            .circuit(key, now, |circuit| circuit.pass_anyway(breaker, now))
            .unwrap_or(Ok(Admittance::Closed))?;
        Ok(self.permit(key, breaker, way))
    }

    fn permit(
        self: &Arc<Self>,
        key: &CircuitKey,
        breaker: &Breaker,
        way: Admittance,
    ) -> CallPermit {
        CallPermit::new(Arc::clone(self), key.clone(), *breaker, way)
    }

    /// Whether a backend failed several times in a row within 30 seconds.
    pub(crate) fn is_unwell(&self, key: &CircuitKey, now: Instant) -> bool {
        self.circuit(key, now, |circuit| circuit.is_unwell(now)) == Some(true)
    }

    /// Time since which the circuit of a backend and model is open, if it is.
    pub(crate) fn open_since(&self, key: &CircuitKey, now: Instant) -> Option<Instant> {
        self.circuit(key, now, |circuit| circuit.open_since(now))?
    }

    /// Takes the time and the pace of the answer of a finished request. `broke` is the class of the
    /// failure where the provider broke the answer off after its first content.
    pub(crate) fn settled(&self, receipt: &Receipt, broke: Option<FaultClass>, now: Instant) {
        let Some(attempt) = receipt.attempts.last().filter(|one| one.failure.is_none()) else {
            return;
        };
        let id = self.id(&attempt.backend, &attempt.model);
        let mut records = self.records();
        let Some(record) = records.get_mut(&id) else {
            return;
        };
        let timings = &receipt.timings;
        let took = timings
            .first_content
            .and_then(|first| first.checked_sub(timings.sent?));
        let is_timed = match receipt.outcome {
            Outcome::Finished => true,
            Outcome::Failed if broke.is_some_and(is_the_backends) => false,
            Outcome::Failed | Outcome::Aborted | Outcome::Unknown => receipt.streamed,
        };
        if let Some(took) = took.filter(|_| is_timed) {
            record.took(receipt.streamed, took, now);
        }
        record.worked(receipt);
    }

    /// How a backend works on answers of a model, by the backend's name for it.
    pub(crate) fn work(&self, backend: &str, model: &str, streamed: bool, now: Instant) -> Work {
        let id = self.id(backend, model);
        let mut records = self.records();
        let record = records.get_mut(&id);
        record.map_or_else(Work::default, |record| record.work(streamed, now))
    }

    /// Whether a backend was seen to bill reasoning of a model that is not known to show it.
    pub(crate) fn reasons_unseen(&self, backend: &str, entry: &ModelEntry) -> bool {
        let id = self.id(backend, &entry.upstream_id);
        !entry.capabilities.features.has(Feature::VisibleThinking)
            && self.records().get(&id).is_some_and(|record| record.reasons)
    }

    /// The health of a backend with a model, its probes included.
    pub(crate) fn observe(&self, key: &CircuitKey, now: Instant) -> Observation {
        let (backend, model) = (&key.0.endpoint.name, &key.0.entry.upstream_id);
        let id = self.id(backend, model);
        let credential = self.credential(&key.0.endpoint);
        let mut known = match self.records().get_mut(&id) {
            Some(record) => record.observation(record.credential == credential, now),
            None => Observation::NOTHING,
        };
        self.with_probe(backend, &mut known);
        known
    }

    /// Time of the last outcome of a call to a backend, over all its models.
    #[must_use]
    pub fn last_traffic(&self, backend: &str) -> Option<Instant> {
        let records = self.records();
        let of = records
            .values()
            .filter(|record| *record.backend == *backend);
        of.map(|record| record.checked).max()
    }

    /// The circuits of backends that have failed, the worst first.
    pub(crate) fn circuits(&self, now: Instant) -> Vec<CircuitHealth> {
        let mut all: Vec<CircuitHealth> = self
            .records()
            .values_mut()
            .filter(|record| record.is_shown(now))
            .map(|record| record.circuit_health(now))
            .collect();
        all.sort_by(|a, b| {
            let rank = |one: &CircuitHealth| (one.state, std::cmp::Reverse(one.failures_in_a_row));
            (rank(a), &a.backend, &a.model).cmp(&(rank(b), &b.backend, &b.model))
        });
        all
    }

    /// Hints for other processes: what this one has seen the reason of.
    pub(crate) fn hints(&self, now: Instant) -> Vec<HealthHint> {
        let records = self.records();
        let hints = records.values().filter_map(|record| {
            let left = record.circuit.warned_for(now)?.min(hint::LONGEST);
            (!left.is_zero()).then(|| HealthHint {
                backend: record.backend.to_string(),
                model: record.model.to_string(),
                left,
            })
        });
        hints.collect()
    }

    /// Takes a hint of another process about this backend with a model.
    pub(crate) fn take_hint(&self, endpoint: &Endpoint, hint: &HealthHint, now: Instant) {
        let until = now + hint.left.min(hint::LONGEST);
        let place = RecordPlace {
            id: self.id(&endpoint.name, &hint.model),
            credential: self.credential(endpoint),
        };
        let names = (&*endpoint.name, &*hint.model);
        self.update_at(place, names, now, |record| {
            record.circuit.pause_by_hint(until);
        });
    }

    /// The health of every backend with every model that was called lately, by name.
    pub(crate) fn backends(&self, now: Instant) -> Vec<BackendHealth> {
        let mut all: Vec<BackendHealth> = self
            .records()
            .values_mut()
            .map(|record| record.backend_health(now))
            .collect();
        for one in &mut all {
            self.with_probe(&one.backend, &mut one.observation);
        }
        all.sort_by(|a, b| (&a.backend, &a.model).cmp(&(&b.backend, &b.model)));
        all
    }
}

#[cfg(test)]
pub(crate) mod tests;
