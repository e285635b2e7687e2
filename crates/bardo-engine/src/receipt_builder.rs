//! The receipt of a request while it is written: what was observed of its attempts, its answer, its
//! usage and its times. The amounts are filled in by its funds (`funds.rs`).

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bardo_profile::SchemaCheck;
use bardo_providers::Endpoint;
use bardo_types::Degradation;
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::model::Price;
use bardo_types::money::{BasisPoints, MicroUsd};
use bardo_types::privacy::SecurityClass;
use bardo_types::receipt::{
    Amounts, Attempt, AttemptFailure, DecisionVerification, Outcome, PassedOver, PaymentMode,
    Receipt, SchemaOutcome,
};
use bardo_types::usage::Usage;
use bardo_wire::codec::Observed;
use bytes::Bytes;
use tokio::time::Instant;

use crate::account::{account, account_of_found};
use crate::call::Call;
use crate::consumption::Consumption;
use crate::empty_receipt::empty;
use crate::failure::Failure;
use crate::health::{CircuitKey, HealthRecords};
use crate::meter::Meter;
use crate::payments::Payments;
use crate::price::{for_an_hour, rate};
use crate::received::Task;
use crate::shape::Shaped;
use crate::unseen::{Accepted, Work};

/// A receipt with what is needed to finish it.
pub(crate) struct ReceiptBuilder {
    receipt: Receipt,
    consumption: Consumption,
    received: Instant,
    /// When the last stage was passed, from when the request was received.
    last_passed: Duration,
    /// When the present attempt began.
    asked: Instant,
    /// The circuit of the last attempt, and when its provider accepted the request; `None` where
    /// the attempt failed, or its work is in the provider's figures.
    at_work: Option<(CircuitKey, Accepted)>,
    /// The backend of the last attempt.
    endpoint: Option<Arc<Endpoint>>,
    /// The model thinks without showing it.
    reasons_unseen: bool,
    /// Nothing of the answer is handed over before all of it is there.
    holds_back: bool,
    /// How the answer broke off after its first content.
    broke: Option<FaultClass>,
    /// The payments for the attempts at the last leg alone, where its backend sells per call.
    payments: Option<Payments>,
    /// The first attempt at the last leg.
    first_attempt: usize,
    /// The caller spends another's money, and the balance is not its own.
    hides_balance: bool,
}

/// A stored answer that is served in place of a provider's.
pub(crate) struct Served {
    /// The look-up that found it: `hash` or `semantic`.
    pub(crate) layer: &'static str,
    /// The model that made it, by the catalog's name.
    pub(crate) model: Arc<str>,
    /// The backend that made it; `None` where that is not known.
    pub(crate) backend: Option<Arc<str>>,
    /// The usage when it was made.
    pub(crate) usage: Option<Usage>,
    /// The requested features that the answer lacks.
    pub(crate) degraded: Vec<Degradation>,
    /// How well the answer has to be kept.
    pub(crate) class: SecurityClass,
    /// The charge, where the caller is charged at all.
    pub(crate) charge: MicroUsd,
    /// What the answer cost when it was made; `None` where that is not known.
    pub(crate) cost: Option<MicroUsd>,
    /// The price that it is billed by, where an identical request makes it at the same time.
    pub(crate) price: Option<Box<Price>>,
    /// Time since it was made; `None` where that is not known, or it is being made.
    pub(crate) age: Option<Duration>,
    /// Likeness of both questions in thousandths, where they differ in words.
    pub(crate) similarity: Option<u16>,
    /// An identical request makes it at the same time.
    pub(crate) is_shared: bool,
}

/// A stage that the request has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passed {
    /// The limits of the caller let it in.
    Limits,
    /// There is no stored answer to the identical request, or there is one.
    HashLookup,
    /// The screens let it pass.
    Screens,
    /// The preparers are done.
    Preparers,
    /// The backends are chosen.
    Plan,
    /// There is no stored answer to a request of the same meaning, or there is one.
    SemanticLookup,
    /// The money is held, or none is needed.
    Reserve,
}

impl ReceiptBuilder {
    /// The receipt of a request that was read and not sent.
    pub(crate) fn new(call: &Call) -> Self {
        let consumption = Consumption::new(call);
        let hides_balance = call.principal().spends_of_another();
        Self {
            consumption,
            received: call.received_at(),
            last_passed: Duration::ZERO,
            asked: call.received_at(),
            at_work: None,
            endpoint: None,
            reasons_unseen: false,
            holds_back: false,
            broke: None,
            payments: None,
            first_attempt: 0,
            hides_balance,
            receipt: empty(call),
        }
    }

    /// Whether the caller may not see the balance of the account.
    pub(crate) fn hides_balance(&self) -> bool {
        self.hides_balance
    }

    /// The receipt as far as it is known.
    pub(crate) fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// The amounts, for the funds of the request.
    pub(crate) fn amounts_mut(&mut self) -> &mut Amounts {
        &mut self.receipt.amounts
    }

    /// The usage so far.
    pub(crate) fn usage(&self) -> Option<&Usage> {
        self.receipt.usage.as_ref()
    }

    /// The caller's bytes.
    pub(crate) fn body(&self) -> &Bytes {
        self.consumption.body()
    }

    /// The backend of the last attempt.
    pub(crate) fn endpoint(&self) -> Option<&Arc<Endpoint>> {
        self.endpoint.as_ref()
    }

    /// How the answer broke off after its first content.
    pub(crate) fn broke(&self) -> Option<FaultClass> {
        self.broke
    }

    /// Time since the request was received.
    pub(crate) fn elapsed(&self) -> Duration {
        self.received.elapsed()
    }

    /// Notes when a stage was passed.
    pub(crate) fn passed(&mut self, stage: Passed) {
        self.last_passed = self.elapsed();
        self.skipped(stage);
    }

    /// When the last stage was passed.
    pub(crate) fn last_passed(&self) -> Instant {
        self.received + self.last_passed
    }

    /// When the present attempt began.
    pub(crate) fn asked(&self) -> Instant {
        self.asked
    }

    /// When the request ended.
    pub(crate) fn ended(&self) -> Instant {
        self.received + self.receipt.timings.total
    }

    /// Notes that a stage had nothing to do. It was passed together with the one before it.
    pub(crate) fn skipped(&mut self, stage: Passed) {
        let now = Some(self.last_passed);
        let timings = &mut self.receipt.timings;
        match stage {
            Passed::Limits => timings.limited = now,
            Passed::HashLookup => timings.hash_lookup = now,
            Passed::Screens => timings.screened = now,
            Passed::Preparers => timings.prepared = now,
            Passed::Plan => timings.planned = now,
            Passed::SemanticLookup => timings.semantic_lookup = now,
            Passed::Reserve => timings.reserved = now,
        }
    }

    /// Notes that the figures are final and go to the ledger.
    pub(crate) fn figures_final(&mut self) {
        self.receipt
            .timings
            .settled
            .get_or_insert(self.received.elapsed());
    }

    /// Notes that a stored answer is served.
    pub(crate) fn serve(&mut self, call: &Call, served: &Served) {
        let receipt = &mut self.receipt;
        receipt.mode = call.principal().payment_mode(false);
        receipt.cache = served.layer.into();
        receipt.model = Arc::clone(&served.model);
        receipt.degraded.clone_from(&served.degraded);
        receipt.usage = Some(Usage::default());
        receipt.saved_usage.clone_from(&served.usage);
        receipt.cache_age = served.age;
        receipt.cache_similarity = served.similarity;
        receipt.cache_reason = None;
        receipt.routing = account_of_found(call, served.class);
        // Backends that were asked in vain may have left theirs.
        receipt.optimizations.clear();
        receipt.upstream_request_id = None;
        if served.is_shared {
            receipt.optimizations.push("single_flight".into());
        }
        // Where backends were asked in vain their names are in the attempts.
        receipt.backend = Arc::default();
        receipt.provider_payment = None;
        self.consumption.serve();
    }

    /// Notes the backends that cannot take the request and come before the next one.
    pub(crate) fn passed_over(&mut self, backends: Vec<PassedOver>) {
        self.receipt.passed_over = backends;
    }

    /// Notes that the cache has a part in the request and no answer to it.
    pub(crate) fn cache_missed(&mut self) {
        self.receipt.cache = "miss".into();
    }

    /// Notes why the request got no stored answer.
    pub(crate) fn cache_reason(&mut self, reason: Cow<'static, str>) {
        self.receipt.cache_reason = Some(reason);
    }

    /// Notes the usage of the answer when a provider made it.
    pub(crate) fn saved(&mut self, usage: &Usage) {
        match &mut self.receipt.saved_usage {
            Some(known) => known.supersede(usage),
            empty => *empty = Some(usage.clone()),
        }
    }

    /// An attempt begins.
    pub(crate) fn ask(&mut self, call: &Call, shaped: &Shaped) {
        let leg = &shaped.leg;
        let receipt = &mut self.receipt;
        receipt.mode = call.principal().payment_mode(leg.endpoint.direct);
        receipt.provider_payment = Some(leg.endpoint.payment);
        receipt.amounts.spread_rate = match receipt.mode {
            PaymentMode::Prepaid => rate(call.principal(), call.snapshot()),
            PaymentMode::Owner | PaymentMode::Direct => BasisPoints::ZERO,
        };
        receipt.upstream_dialect = shaped.dialect;
        receipt.backend = leg.endpoint.name.as_str().into();
        receipt.model = shared(&leg.candidate.entry.id, &receipt.model_requested);
        receipt.attempts.reserve_exact(1);
        receipt.attempts.push(Attempt {
            backend: Arc::clone(&receipt.backend),
            model: shared(&leg.candidate.entry.upstream_id, &receipt.model),
            failure: None,
            duration: Duration::ZERO,
            payment: None,
        });
        receipt.routing = account(call, leg);
        let cache = leg.prompt_cache.as_ref();
        receipt.optimizations = cache
            .and_then(|cache| cache.optimization())
            .into_iter()
            .collect();
        self.holds_back = leg.holds_back(call);
        self.at_work = Some((leg.circuit().clone(), shaped.accepted.clone()));
        self.payments = shaped.payments.clone();
        self.first_attempt = self.receipt.attempts.len().saturating_sub(1);
        self.endpoint = Some(Arc::clone(&leg.endpoint));
        self.reasons_unseen = leg.reasons_unseen;
        self.asked = Instant::now();
        self.receipt.timings.sent = Some(self.asked - self.received);
    }

    /// The backend answered with a head.
    pub(crate) fn head(&mut self) {
        let now = Instant::now();
        self.receipt.timings.head = Some(now - self.received);
        if let Some(attempt) = self.receipt.attempts.last_mut() {
            attempt.duration = now - self.asked;
        }
    }

    /// Notes what the head of the answer tells.
    pub(crate) fn answered_as(&mut self, upstream_id: Option<&str>, degraded: &[Degradation]) {
        self.receipt.upstream_request_id = upstream_id.map(Arc::from);
        self.receipt.degraded = degraded.to_vec();
    }

    /// The backend failed, and nothing of its answer counts.
    pub(crate) fn refused(&mut self, failure: &Failure) {
        let receipt = &mut self.receipt;
        if let Some(attempt) = receipt.attempts.last_mut() {
            attempt.duration = self.asked.elapsed();
            attempt.failure = Some(AttemptFailure {
                class: failure.fault.class,
                status: failure.fault.status,
                unknown_outcome: failure.retry.is_unknown(),
            });
        }
        receipt.usage = None;
        receipt.model_answered = None;
        receipt.degraded.clear();
        receipt.timings.head = None;
        self.consumption.forget();
        self.at_work = None;
        self.note_payments();
    }

    /// The first content is there.
    pub(crate) fn first_content(&mut self) {
        self.receipt.timings.first_content = Some(self.elapsed());
    }

    /// Notes what a second model said of the answer, or that it is the second model's.
    pub(crate) fn verified(&mut self, verification: DecisionVerification) {
        self.receipt.verification = Some(Box::new(verification));
    }

    /// Notes one more loss of the answer.
    pub(crate) fn degrade(&mut self, lost: Degradation) {
        self.receipt.degraded.push(lost);
    }

    /// Notes what became of the schema that the answer had to match.
    pub(crate) fn schema(&mut self, check: &SchemaCheck, valid: Option<bool>, repaired: bool) {
        if let Some(routing) = &mut self.receipt.routing {
            routing.schema = Some(SchemaOutcome {
                name: check.schema.name.as_str().into(),
                mode: check.mode.as_str(),
                valid,
                repaired,
            });
        }
    }

    /// Notes that the answer broke off after its first content. The caller gets what was written
    /// so far together with the failure.
    pub(crate) fn broke_off(&mut self, fault: &Fault) {
        self.consumption.deliver();
        self.broke = Some(fault.class);
    }

    /// Notes that the caller was handed content.
    pub(crate) fn deliver(&mut self) {
        self.consumption.deliver();
    }

    /// Ends the request. A caller that disconnects is told from one that has its answer.
    pub(crate) fn end(&mut self, outcome: Outcome, health: &HealthRecords) {
        self.receipt.outcome = outcome;
        self.note_payments();
        if outcome == Outcome::Aborted {
            let unseen = self.unseen_work(health);
            self.consumption.left(unseen);
        }
        self.receipt.timings.total = self.elapsed();
    }

    /// Changes how the request ended, where that is known only when it is settled.
    pub(crate) fn end_as(&mut self, outcome: Outcome) {
        self.receipt.outcome = outcome;
    }

    /// Tokens that the provider made unseen for a caller that disconnects.
    fn unseen_work(&self, health: &HealthRecords) -> Option<u64> {
        let (key, accepted) = self.at_work.as_ref()?;
        let now = Instant::now();
        let timings = &self.receipt.timings;
        let time = if self.receipt.streamed && !self.holds_back {
            timings.head.filter(|_| self.reasons_unseen)?;
            let until = timings.first_content.unwrap_or_else(|| self.elapsed());
            until.saturating_sub(timings.sent?)
        } else {
            now.saturating_duration_since(accepted.get()?)
        };
        if health.open_since(key, now).is_some() {
            return None;
        }
        match self.consumption.task() {
            Task::CountTokens => None,
            Task::Embeddings => Some(0),
            Task::Generate => Some(self.work(health, now)?.tokens_in(time)),
        }
    }

    /// The usual pace of the backend of the last attempt.
    pub(crate) fn work(&self, health: &HealthRecords, now: Instant) -> Option<Work> {
        let attempt = self.receipt.attempts.last()?;
        let streamed = self.receipt.streamed;
        Some(health.work(&attempt.backend, &attempt.model, streamed, now))
    }
}

/// A name, kept once where it is the known one.
fn shared(name: &str, known: &Arc<str>) -> Arc<str> {
    if *name == **known {
        return Arc::clone(known);
    }
    name.into()
}

/// Counting of work and usage.
impl ReceiptBuilder {
    /// Counts the answer with this meter from now on.
    pub(crate) fn meter_with(&mut self, meter: Option<Meter>) {
        self.consumption.meter_with(meter);
    }

    /// The meter of an answer that is being made.
    pub(crate) fn live_meter(&mut self) -> Option<&mut Meter> {
        self.consumption.live_meter()
    }

    /// Keeps a whole answer to be counted, where the provider reported no output.
    pub(crate) fn keep_for_count(&mut self, answer: impl FnOnce() -> Bytes) {
        let usage = self.receipt.usage.as_ref();
        if usage.is_none_or(|usage| usage.output == 0) {
            self.consumption.keep(answer());
        }
    }

    /// Notes that the provider's work is done. Nothing of what is handed over from now on is
    /// counted again.
    pub(crate) fn complete(&mut self, meter: Option<Meter>) {
        self.consumption
            .complete(self.receipt.usage.is_some(), meter);
        // What it did unseen is in its figures.
        self.at_work = None;
    }

    /// Notes that the work is done with what was metered, and none of it is handed over.
    pub(crate) fn complete_as_metered(&mut self) {
        let meter = self.consumption.take_meter();
        self.complete(meter);
    }

    /// Notes that the answer ended as the provider meant it to.
    pub(crate) fn ended_well(&mut self) {
        self.consumption.ended(self.receipt.usage.is_some());
    }

    /// Notes whether the provider has said its last word on the usage so far.
    pub(crate) fn note_counted(&mut self, is_counted: bool) {
        self.consumption.note_counted(is_counted);
    }

    /// Takes in what an event or a body of the provider reports.
    pub(crate) fn observe(&mut self, seen: &Observed) {
        if self.consumption.is_complete() {
            return;
        }
        if let Some(usage) = &seen.usage {
            if self.receipt.usage.as_ref() != Some(usage) {
                self.receipt.usage = Some(usage.clone());
            }
            self.note_counted(seen.finished || seen.terminal);
        }
        if let Some(model) = &seen.model {
            self.answered_by(model);
        }
    }

    /// Takes in the exact usage of a call that generates nothing.
    pub(crate) fn ordered(&mut self, usage: Usage) {
        self.receipt.usage = Some(usage);
        self.consumption.is_exact_without_answer();
    }

    /// Takes in usage that the provider reported; later figures supersede earlier ones.
    pub(crate) fn count(&mut self, usage: &Usage) {
        if self.consumption.is_complete() {
            return;
        }
        match &mut self.receipt.usage {
            Some(known) => known.supersede(usage),
            empty => *empty = Some(usage.clone()),
        }
    }

    /// Adds the usage of another attempt at the same backend.
    pub(crate) fn add(&mut self, usage: &Usage) {
        match &mut self.receipt.usage {
            Some(known) => known.add(usage),
            empty => *empty = Some(usage.clone()),
        }
        self.repeat_attempt();
    }

    /// Notes that the same backend was called once more.
    fn repeat_attempt(&mut self) {
        let again = self.receipt.attempts.last().cloned();
        self.receipt.attempts.extend(again);
    }

    /// Says of each attempt at the last leg what was paid for it.
    fn note_payments(&mut self) {
        let Some(payments) = self.payments.as_ref().map(Payments::take) else {
            return;
        };
        while self.receipt.attempts.len() < self.first_attempt + payments.len() {
            self.repeat_attempt();
        }
        let attempts = self.receipt.attempts.iter_mut().skip(self.first_attempt);
        for (attempt, payment) in attempts.zip(payments) {
            attempt.payment = Some(payment);
        }
    }

    /// Notes the model as the provider names it.
    pub(crate) fn answered_by(&mut self, model: &str) {
        if self.receipt.model_answered.as_deref() != Some(model) {
            self.receipt.model_answered = Some(model.into());
        }
    }

    /// Tokens of output so far: what the provider reported, or what the bytes come to at most.
    pub(crate) fn output_so_far(&mut self) -> u64 {
        self.consumption.output_so_far(self.receipt.usage.as_ref())
    }

    /// Whether what the provider bills for this is due.
    pub(crate) fn is_owed(&self) -> bool {
        self.consumption.is_owed(self.receipt.outcome, self.usage())
    }

    /// Whether somebody has to count, because the provider did not.
    pub(crate) fn needs_count(&self) -> bool {
        let receipt = &self.receipt;
        !receipt.estimated && self.consumption.needs_count(receipt.outcome, self.usage())
    }

    /// Counts by length, without waiting.
    pub(crate) fn estimate_usage(&mut self) {
        let receipt = &mut self.receipt;
        self.consumption
            .estimate(receipt.upstream_dialect, &mut receipt.usage);
        receipt.estimated = true;
    }

    /// Counts by the tokenizer, which takes time in proportion to the length.
    pub(crate) fn count_usage(&mut self) {
        let receipt = &mut self.receipt;
        self.consumption
            .count(receipt.upstream_dialect, &mut receipt.usage);
        receipt.estimated = true;
    }

    /// Counts writes into the provider's cache as writes for an hour, unless the provider's own charge
    /// is nearer to that of writes for five minutes.
    pub(crate) fn kept_for_an_hour(&mut self, price: &Price) {
        let usage = &mut self.receipt.usage;
        let kept = usage.as_ref().and_then(|usage| for_an_hour(usage, price));
        *usage = kept.or(usage.take());
    }

    /// Counts at least one search, where the settings let the provider search.
    pub(crate) fn searched(&mut self) {
        if let Some(usage) = &mut self.receipt.usage {
            usage.web_searches.get_or_insert(1);
        }
    }
}
