//! What is known of the meaning of stored answers: the index of their questions, the auditor of
//! hits, and what is counted about both. The answers themselves are in the store.

mod counts;
mod judge;
mod shared;

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bardo_cache::guard::Signature;
use bardo_cache::key::Key;
use bardo_cache::semantic::{
    AuditDecision, AuditOutcome, Domain, DomainChange, EmbeddedTurn, HitAuditor, Index, Nearest,
    SearchSpace, SharedQuestions,
};
use bardo_types::ids::{AccountId, RequestId};
use sha2::{Digest as _, Sha256};
use tokio::sync::Notify;

use crate::cache_policy::SemanticPolicy;
use crate::sentences::{SentenceVector, SentenceVectors};
use crate::services::EventSink;

use self::counts::MeaningTally;
pub use self::counts::{DomainCounts, MeaningCounts};
pub(crate) use self::judge::{AuditCase, LiveTwin, text_of};

/// Tokens of a question that the embedder reads.
pub(crate) const QUESTION_TOKENS: usize = 128;
/// Time beyond a deadline after which an embedder is no longer waited for.
const GRACE: Duration = Duration::from_millis(2);
/// Answers that audits disagreed with and that are remembered.
const REFUTED: usize = 1_024;
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// The last turn of a request, as the index has it.
#[derive(Clone)]
pub(crate) struct MeaningQuestion {
    /// Digest of everything but the turn.
    pub(crate) context: Key,
    pub(crate) domain: Domain,
    pub(crate) text: String,
    pub(crate) signature: Signature,
    /// Digest of the account.
    pub(crate) tenant: u64,
    /// The least cosine of a hit.
    pub(crate) threshold: f32,
}

impl MeaningQuestion {
    fn space(&self, namespace: &str) -> SearchSpace {
        SearchSpace {
            context: self.context,
            domain: self.domain,
            embedder: Sha256::digest(namespace.as_bytes()).into(),
        }
    }
}

/// The part of an [`crate::AnswerCache`] that compares questions by their meaning.
pub struct MeaningCache {
    index: Mutex<Index>,
    auditor: Mutex<HitAuditor>,
    tally: Mutex<MeaningTally>,
    vectors: OnceLock<Arc<dyn SentenceVectors>>,
    shared: OnceLock<Arc<dyn SharedQuestions>>,
    sink: OnceLock<Arc<dyn EventSink>>,
    /// Told when a domain begins or ceases to serve.
    changed: Notify,
    /// The last answers that audits disagreed with. Other processes may still know their questions.
    refuted: Mutex<VecDeque<Key>>,
    hasher: RandomState,
}

/// No code panics while it holds one of these locks, and their values are whole at each moment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Default for MeaningCache {
    fn default() -> Self {
        let policy = SemanticPolicy::default();
        Self {
            index: Mutex::new(Index::new(policy.entries)),
            auditor: Mutex::new(HitAuditor::new(policy.rules)),
            tally: Mutex::default(),
            vectors: OnceLock::new(),
            shared: OnceLock::new(),
            sink: OnceLock::new(),
            changed: Notify::new(),
            refuted: Mutex::default(),
            hasher: RandomState::new(),
        }
    }
}

/// What is set once, and what changes with the settings.
impl MeaningCache {
    /// Makes vectors with this embedder from now on; the first one stays.
    pub fn embed_with(&self, vectors: Arc<dyn SentenceVectors>) {
        let _ = self.vectors.set(vectors);
    }

    /// Tells this sink of audits, and of domains that cease or begin to serve.
    pub(crate) fn tell(&self, sink: Arc<dyn EventSink>) {
        let _ = self.sink.set(sink);
    }

    /// Takes other settings. The evidence of audits stays.
    pub(crate) fn obey(&self, policy: &SemanticPolicy) {
        lock(&self.index).limit(policy.entries);
        lock(&self.auditor).set_rules(policy.rules);
    }

    /// The evidence of all audits as text, for [`MeaningCache::restore`] after a restart.
    #[must_use]
    pub fn evidence(&self) -> String {
        lock(&self.auditor).saved()
    }

    /// Takes back evidence of an earlier process.
    pub fn restore(&self, evidence: &str) {
        lock(&self.auditor).restore(evidence);
    }

    /// Stops all domains, because the evidence of an earlier process was lost.
    pub fn distrust(&self) {
        lock(&self.auditor).distrust();
    }

    /// Waits until a domain has begun or ceased to serve since the last call. For one caller.
    pub async fn domain_changed(&self) {
        self.changed.notified().await;
    }
}

/// Questions and vectors.
impl MeaningCache {
    /// The digest of an account, for this process alone.
    pub(crate) fn tenant(&self, account: &AccountId) -> u64 {
        self.hasher.hash_one(account)
    }

    /// The vector of a text.
    ///
    /// # Errors
    /// Why there is none, in one word.
    pub(crate) async fn vector(
        &self,
        text: &str,
        tokens_max: usize,
        at_most: Duration,
    ) -> Result<SentenceVector, &'static str> {
        let vectors = self.vectors.get().ok_or("no_embedder")?;
        let made = vectors.vector(text, tokens_max, at_most);
        // An embedder that keeps its deadline says itself why it has none.
        tokio::time::timeout(at_most + GRACE, made)
            .await
            .unwrap_or(Err("late"))
    }

    /// The nearest stored question that asks the same; `except` are passed over.
    pub(crate) fn search(
        &self,
        question: &MeaningQuestion,
        vector: &SentenceVector,
        except: &[Key],
    ) -> Nearest {
        let turn = turn(question, &vector.vector);
        let space = question.space(&vector.namespace);
        lock(&self.index).lookup(&space, &turn, question.threshold, except)
    }

    /// The cosine of the nearest question of the same context; `None` where there is none.
    pub(crate) fn closest(
        &self,
        question: &MeaningQuestion,
        vector: &SentenceVector,
    ) -> Option<f32> {
        let space = question.space(&vector.namespace);
        lock(&self.index).closest(&space, &vector.vector)
    }

    /// Adds the question of a stored answer.
    pub(crate) fn insert(&self, key: Key, question: &MeaningQuestion, vector: &SentenceVector) {
        let turn = turn(question, &vector.vector);
        let space = question.space(&vector.namespace);
        lock(&self.index).insert(space, question.tenant, key, &turn);
    }

    /// Forgets the question of an answer that the store lost.
    pub(crate) fn remove(&self, key: &Key) {
        lock(&self.index).remove(key);
    }

    /// Whether an audit disagreed with an answer.
    pub(crate) fn is_refuted(&self, key: &Key) -> bool {
        lock(&self.refuted).contains(key)
    }

    /// An answer was made anew, so what was known of the one before does not hold.
    pub(crate) fn renewed(&self, key: &Key) {
        lock(&self.refuted).retain(|refuted| refuted != key);
    }

    fn refute(&self, key: Key) {
        let mut refuted = lock(&self.refuted);
        refuted.push_back(key);
        if refuted.len() > REFUTED {
            refuted.pop_front();
        }
    }

    /// Forgets all questions.
    pub(crate) fn clear(&self) {
        lock(&self.index).clear();
    }
}

/// Audits and counts.
impl MeaningCache {
    /// Decides on a would-be hit of a request.
    pub(crate) fn decide(
        &self,
        question: &MeaningQuestion,
        request: &RequestId,
        now_ms: u64,
    ) -> AuditDecision {
        // The gateway made the id, so nobody can choose what is audited; equal ids draw alike.
        let bits = BuildHasherDefault::<DefaultHasher>::default().hash_one(request);
        let draw = |bits: u32| f64::from(bits) / (f64::from(u32::MAX) + 1.0);
        #[expect(clippy::cast_possible_truncation, reason = "one half of the bits each")]
        let (first, second) = (draw(bits as u32), draw((bits >> 32) as u32));
        let (domain, tenant) = (question.domain, question.tenant);
        let day = now_ms / DAY_MS;
        lock(&self.auditor).decide(domain, tenant, day, first, second)
    }

    /// Whether a domain serves hits to an account.
    pub(crate) fn serves(&self, question: &MeaningQuestion) -> bool {
        lock(&self.auditor).serves_to(question.domain, question.tenant)
    }

    /// The evidence of a domain.
    pub(crate) fn report(&self, domain: Domain) -> bardo_cache::semantic::AuditReport {
        lock(&self.auditor).report(domain)
    }

    /// Takes the result of an audit: `None` where the comparison could not tell.
    fn judged(&self, case: &AuditCase, agrees: Option<bool>, live_agree: Option<bool>) {
        lock(&self.tally).judged(case.domain, agrees);
        let Some(agrees) = agrees else {
            let change = lock(&self.auditor).undecided(case.domain, case.tenant);
            return self.report_change(case, change);
        };
        if !agrees {
            // It answers something else, so it serves no other question either.
            self.refute(case.key);
            self.remove(&case.key);
            self.unshare(case.key);
        }
        let outcome = AuditOutcome { agrees, live_agree };
        let change = lock(&self.auditor).record(case.domain, case.tenant, outcome);
        if let Some(sink) = self.sink.get() {
            let report = self.report(case.domain);
            sink.audited(&case.account, case.domain.as_str(), agrees, &report);
        }
        self.report_change(case, change);
    }

    /// Reports that a domain began or ceased to serve.
    fn report_change(&self, case: &AuditCase, change: Option<DomainChange>) {
        let Some(change) = change else { return };
        self.changed.notify_one();
        if let Some(sink) = self.sink.get() {
            let report = self.report(case.domain);
            let serves = change == DomainChange::Started;
            sink.domain_changed(&case.account, case.domain.as_str(), serves, &report);
        }
    }

    /// Takes an audit whose live answer failed or was cut off: nothing was compared.
    fn failed(&self, case: &AuditCase) {
        lock(&self.tally).judged(case.domain, None);
        lock(&self.auditor).unjudged(case.domain, case.tenant);
    }

    /// Takes back an audit whose request ended before a provider was asked.
    pub(crate) fn withdrawn(&self, case: &AuditCase) {
        lock(&self.tally).judged(case.domain, None);
        lock(&self.auditor).withdrawn(case.domain, case.tenant);
    }

    /// Counts a hit that is served.
    pub(crate) fn hit(&self, domain: Domain) {
        lock(&self.tally).hit(domain);
    }

    /// Counts a request whose question no stored one was near enough to.
    pub(crate) fn miss(&self) {
        lock(&self.tally).misses += 1;
    }

    /// Counts a would-be hit of a domain that does not serve, above the cap of audits.
    pub(crate) fn stopped(&self, domain: Domain) {
        lock(&self.tally).stopped(domain);
    }

    /// Counts a request that was not compared, by its reason.
    pub(crate) fn skip(&self, reason: &'static str) {
        lock(&self.tally).skip(reason);
    }

    /// Counts a refusal of the guard, by the kind of the difference.
    pub(crate) fn guarded(&self, class: &'static str) {
        lock(&self.tally).guard(class);
    }

    /// What was counted so far, and the evidence of each domain.
    #[must_use]
    pub fn counts(&self) -> MeaningCounts {
        let entries = lock(&self.index).len() as u64;
        let reports = Domain::ALL.map(|domain| (domain, self.report(domain)));
        lock(&self.tally).counts(entries, reports)
    }
}

fn turn<'a>(question: &'a MeaningQuestion, vector: &'a [i8]) -> EmbeddedTurn<'a> {
    EmbeddedTurn {
        vector,
        signature: &question.signature,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_domain_that_stops_is_noticed() {
        let cache = MeaningCache::default();
        let case = AuditCase {
            domain: Domain::Reference,
            account: AccountId::parse("a").unwrap(),
            tenant: 1,
            key: Key::from_bytes([1; 32]),
            stored: String::new(),
            twin: None,
        };
        let noticed = || tokio::time::timeout(Duration::from_millis(20), cache.domain_changed());
        cache.judged(&case, Some(true), None);
        assert!(noticed().await.is_err());
        while cache.report(case.domain).serves {
            cache.judged(&case, Some(false), None);
        }
        assert!(noticed().await.is_ok());
        assert!(noticed().await.is_err());
    }
}
