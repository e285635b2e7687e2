//! The record of one request for its whole life: its receipt, its funds and the quota that it took.
//! The states of `lifecycle.rs` hand it on, and end it once.

use std::borrow::Cow;
use std::sync::Arc;

use bardo_access::{Admission, LimitRequest};
use bardo_ledger::hold::Slices;
use bardo_ledger::{Holds, Reservation, Settle, Settled};
use bardo_profile::SchemaCheck;
use bardo_providers::Endpoint;
use bardo_types::Degradation;
use bardo_types::fault::Fault;
use bardo_types::model::Price;
use bardo_types::money::MicroUsd;
use bardo_types::receipt::{DecisionVerification, Outcome, PassedOver, Receipt};
use bardo_types::usage::Usage;
use bardo_wire::codec::Observed;
use bytes::Bytes;
use tokio::time::Instant;

use crate::answer_cache::AnswerCache;
use crate::call::Call;
use crate::decision::Decision;
use crate::failure::Failure;
use crate::funds::{Persisting, RequestFunds, ledger_record};
use crate::health::HealthRecords;
use crate::meter::Meter;
use crate::prompt_cache::LegCache;
use crate::quota::Quota;
use crate::receipt_builder::{Passed, ReceiptBuilder, Served};
use crate::recording::Recording;
use crate::scrub::for_logs;
use crate::searches::SearchFee;
use crate::seeds::SeedTaken;
use crate::services::Services;
use crate::shape::Shaped;
use crate::unseen::Work;

/// The state of one request: its receipt so far, its money, its quota, and all that has to be
/// settled.
pub(crate) struct RequestRecord {
    context: Arc<RecordContext>,
    receipt: ReceiptBuilder,
    funds: RequestFunds,
    quota: Quota,
    /// The decision in the answer, where a second model is asked for it too.
    decision: Option<Decision>,
    /// Notes the answer for the cache, where it may be stored or shared.
    recording: Option<Arc<Recording>>,
    /// The prompt cache of the last attempt's leg, and when that attempt began.
    prompt_cache: Option<(Arc<LegCache>, Instant)>,
}

/// What all records use.
pub(crate) struct RecordContext {
    pub(crate) services: Arc<Services>,
    pub(crate) health: Arc<HealthRecords>,
    /// Counts what the cache did for the requests.
    pub(crate) cache: Arc<AnswerCache>,
}

/// Read access for the stages.
impl RequestRecord {
    /// A request that was read. Nothing is held for it.
    pub(crate) fn new(context: Arc<RecordContext>, call: &Call) -> Self {
        let (funds, quota) = (RequestFunds::default(), Quota::default());
        Self {
            context,
            funds,
            quota,
            decision: None,
            recording: None,
            prompt_cache: None,
            // The largest one is made last: what may fail after it makes it be moved.
            receipt: ReceiptBuilder::new(call),
        }
    }

    /// The receipt as far as it is known.
    pub(crate) fn receipt(&self) -> &Receipt {
        self.receipt.receipt()
    }

    /// The decision in the answer, where a second model is asked for it too.
    pub(crate) fn decision(&self) -> Option<Decision> {
        self.decision
    }

    /// The ledger, limits, clock and sink that the request is settled with.
    pub(crate) fn services(&self) -> &Arc<Services> {
        &self.context.services
    }

    /// The backend of the last attempt.
    pub(crate) fn endpoint(&self) -> Option<&Arc<Endpoint>> {
        self.receipt.endpoint()
    }

    /// The state of the caller's limits, where any apply.
    pub(crate) fn admission(&self) -> Option<&Admission> {
        self.quota.admission()
    }

    /// The state of the caller's limits after a whole answer, where any apply.
    pub(crate) fn admission_after_answer(&self) -> Option<Admission> {
        let used = self.receipt.usage().map_or(0, Usage::total);
        self.quota.admission_after(used)
    }

    /// The expected cost, as far as it is known.
    pub(crate) fn estimate(&self) -> Option<MicroUsd> {
        self.funds.estimate()
    }

    /// The amount that is held.
    pub(crate) fn hold(&self) -> Option<MicroUsd> {
        self.funds.hold()
    }

    /// How the hold grows, where it has to.
    pub(crate) fn slices(&self) -> Option<Slices> {
        self.funds.slices()
    }

    /// The balance of the account with the hold, as the ledger last reported it, if the caller may
    /// see it.
    pub(crate) fn funds_known(&self) -> Option<MicroUsd> {
        let known = self.funds.known();
        known.filter(|_| !self.receipt.hides_balance())
    }

    /// Whether the price at the backend of the last attempt is unknown.
    pub(crate) fn is_unpriced(&self) -> bool {
        self.funds.is_unpriced()
    }

    /// Whether the provider reported any usage.
    pub(crate) fn has_usage(&self) -> bool {
        self.receipt.usage().is_some()
    }

    /// Whether the same backend may be asked once more on the same hold.
    pub(crate) fn pays_for_another(&self) -> bool {
        self.funds.pays_for_another(self.receipt())
    }

    /// The cost of the answer so far, with at least `output` tokens of output.
    pub(crate) fn metered(&self, output: u64) -> Option<MicroUsd> {
        self.funds.metered(self.receipt(), output)
    }

    /// Tokens of output so far: what the provider reported, or what the bytes come to at most.
    pub(crate) fn output_so_far(&mut self) -> u64 {
        self.receipt.output_so_far()
    }

    /// The usual pace of the backend of the last attempt.
    pub(crate) fn work(&self, now: Instant) -> Option<Work> {
        self.receipt.work(&self.context.health, now)
    }

    /// What notes the answer for the cache.
    pub(crate) fn recording(&self) -> Option<&Arc<Recording>> {
        self.recording.as_ref()
    }

    /// The meter of an answer that is being made.
    pub(crate) fn live_meter(&mut self) -> Option<&mut Meter> {
        self.receipt.live_meter()
    }
}

/// Reports of the stages.
impl RequestRecord {
    /// Notes what was taken from the limits of the caller.
    pub(crate) fn admitted(&mut self, request: LimitRequest, admission: Admission) {
        self.quota.admitted(request, admission);
    }

    /// Notes the largest number of tokens that the request can come to.
    pub(crate) fn bound_tokens(&mut self, most: u64) {
        self.quota.bound(most);
    }

    /// Notes what the request took of its agent's seed, and of the budget of searches.
    pub(crate) fn draw_on(&mut self, seed: Option<Arc<SeedTaken>>, search: Option<SearchFee>) {
        self.funds.draw_on(seed, search);
    }

    /// Notes an upper bound of the tokens of the prompt.
    pub(crate) fn bound_prompt(&mut self, tokens: u64) {
        self.funds.bound_prompt(tokens);
    }

    /// Notes the expected cost.
    pub(crate) fn expect(&mut self, estimate: Option<MicroUsd>) {
        self.funds.expect(estimate);
    }

    /// Notes the hold as the ledger confirmed it.
    pub(crate) fn held(&mut self, reservation: &Reservation) {
        self.funds.held(reservation);
    }

    /// Notes that the hold is on its way to the disk; `None` where it is there.
    pub(crate) fn persists(&mut self, persisting: Option<Persisting>) {
        self.funds.persists(persisting);
    }

    /// The way of the hold to the disk, for the stage that waits for it.
    pub(crate) fn take_persisting(&mut self) -> Option<Persisting> {
        self.funds.take_persisting()
    }

    /// Notes when a stage was passed.
    pub(crate) fn passed(&mut self, stage: Passed) {
        self.receipt.passed(stage);
    }

    /// Notes that a stage had nothing to do.
    pub(crate) fn skipped(&mut self, stage: Passed) {
        self.receipt.skipped(stage);
    }

    /// When the last stage was passed.
    pub(crate) fn last_passed(&self) -> Instant {
        self.receipt.last_passed()
    }

    /// When the present attempt began.
    pub(crate) fn asked(&self) -> Instant {
        self.receipt.asked()
    }

    /// Notes that the cache has a part in the request and no answer to it.
    pub(crate) fn cache_missed(&mut self) {
        self.receipt.cache_missed();
    }

    /// Notes why the request got no stored answer.
    pub(crate) fn cache_reason(&mut self, reason: Cow<'static, str>) {
        self.receipt.cache_reason(reason);
    }

    /// Notes nothing for the cache any more: a stored answer is served.
    pub(crate) fn stop_recording(&mut self) {
        self.recording = None;
    }

    /// Notes the answer for the cache from now on.
    pub(crate) fn record_with(&mut self, recording: Arc<Recording>) {
        self.recording = Some(recording);
    }

    /// Notes the usage of a found answer when a provider made it.
    pub(crate) fn saved(&mut self, usage: &Usage) {
        self.receipt.saved(usage);
    }

    /// A stored answer is served. No provider is called for the request.
    pub(crate) fn serve(&mut self, call: &Call, served: &Served) {
        self.receipt.serve(call, served);
        self.funds.serve(call, served);
        if served.charge == MicroUsd::ZERO {
            // Nothing changes any more.
            self.funds.price(&mut self.receipt);
        }
    }

    /// Notes the backends that cannot take the request and come before the next one.
    pub(crate) fn passed_over(&mut self, backends: Vec<PassedOver>) {
        self.receipt.passed_over(backends);
    }

    /// An attempt begins. The first one is told to the sink.
    pub(crate) fn ask(&mut self, call: &Call, shaped: &Shaped) {
        self.receipt.ask(call, shaped);
        self.funds.ask(call, shaped, self.receipt.receipt().mode);
        let cache = shaped.leg.prompt_cache.clone();
        self.prompt_cache = cache.map(|cache| (cache, self.asked()));
        if self.receipt().attempts.len() == 1 {
            self.context.services.sink.started(self.receipt());
        }
    }

    /// Takes in the exact usage of a call that generates nothing, and the price that it goes by.
    pub(crate) fn ordered(&mut self, usage: Usage, price: Price) {
        self.receipt.ordered(usage);
        self.funds.price_at(price);
    }

    /// The backend answered with a head.
    pub(crate) fn head(&mut self) {
        self.receipt.head();
    }

    /// Notes what the head of the answer tells.
    pub(crate) fn answered_as(&mut self, upstream_id: Option<&str>, degraded: &[Degradation]) {
        self.receipt.answered_as(upstream_id, degraded);
    }

    /// The backend failed, and nothing of its answer counts.
    pub(crate) fn refused(&mut self, failure: &Failure) {
        self.receipt.refused(failure);
        if let Some((cache, _)) = self.prompt_cache.take() {
            cache.failed();
        }
    }

    /// The first content is there.
    pub(crate) fn first_content(&mut self) {
        self.receipt.first_content();
    }

    /// Notes the decision in the answer.
    pub(crate) fn decide(&mut self, decision: Decision) {
        self.decision = Some(decision);
    }

    /// Notes what a second model said of the answer, or that it is the second model's.
    pub(crate) fn verified(&mut self, verification: DecisionVerification) {
        self.receipt.verified(verification);
    }

    /// Notes one more loss of the answer.
    pub(crate) fn degrade(&mut self, lost: Degradation) {
        self.receipt.degrade(lost);
    }

    /// Notes what became of the schema that the answer had to match.
    pub(crate) fn schema(&mut self, check: &SchemaCheck, valid: Option<bool>, repaired: bool) {
        self.receipt.schema(check, valid, repaired);
    }

    /// Counts the answer with this meter from now on.
    pub(crate) fn meter_with(&mut self, meter: Option<Meter>) {
        self.receipt.meter_with(meter);
    }

    /// Keeps a whole answer to be counted, where the provider reported no usage.
    pub(crate) fn keep_for_count(&mut self, answer: impl FnOnce() -> Bytes) {
        self.receipt.keep_for_count(answer);
    }

    /// Notes that the provider's work is done. Nothing of what is handed over from now on is
    /// counted again.
    pub(crate) fn complete(&mut self, meter: Option<Meter>) {
        self.receipt.complete(meter);
    }

    /// Notes that the work is done as far as it was metered, and none of it is handed over.
    pub(crate) fn complete_as_metered(&mut self) {
        self.receipt.complete_as_metered();
    }

    /// Notes that the answer ended as the provider meant it to.
    pub(crate) fn ended_well(&mut self) {
        self.receipt.ended_well();
    }

    /// Notes whether the provider has said its last word on the usage so far.
    pub(crate) fn note_counted(&mut self, is_counted: bool) {
        self.receipt.note_counted(is_counted);
    }

    /// Takes in what an event or a body of the provider reports.
    pub(crate) fn observe(&mut self, seen: &Observed) {
        self.receipt.observe(seen);
    }

    /// Takes in usage that the provider reported.
    pub(crate) fn count(&mut self, usage: &Usage) {
        self.receipt.count(usage);
    }

    /// Adds the usage of another attempt at the same backend.
    pub(crate) fn add(&mut self, usage: &Usage) {
        self.receipt.add(usage);
    }

    /// Notes the model as the provider names it.
    pub(crate) fn answered_by(&mut self, model: &str) {
        self.receipt.answered_by(model);
    }

    /// Notes that the caller was handed content.
    pub(crate) fn deliver(&mut self) {
        self.receipt.deliver();
    }

    /// Notes that the answer ends because the money does.
    pub(crate) fn cut_off(&mut self) {
        self.funds.cut_off();
    }

    /// Notes that the answer broke off after its first content, and tells the sink. The caller gets
    /// what was written so far together with the failure.
    pub(crate) fn broke_off(&mut self, fault: &Fault) {
        self.receipt.broke_off(fault);
        let receipt = self.receipt.receipt();
        self.context.services.sink.attempt_failed(
            receipt.request_id.as_str(),
            &receipt.backend,
            &for_logs(fault, self.receipt.body()),
        );
    }
}

/// How a request ends.
impl RequestRecord {
    /// Ends it. What is still on its way to the disk is not waited for any more.
    pub(crate) fn end(&mut self, outcome: Outcome) {
        self.receipt.end(outcome, &self.context.health);
        self.funds.persists(None);
    }

    /// Whether somebody has to count, because the provider did not.
    pub(crate) fn needs_count(&self) -> bool {
        self.receipt.needs_count()
    }

    /// Counts by the tokenizer, which takes time in proportion to the length.
    pub(crate) fn count_usage(&mut self) {
        self.receipt.count_usage();
    }

    /// Whether the ledger has to answer before the request is over.
    pub(crate) fn moves_money(&self) -> bool {
        self.funds.moves_money(&self.receipt)
    }

    /// Whether the ledger was asked to settle, or is about to be.
    pub(crate) fn is_commanded(&self) -> bool {
        self.funds.is_commanded()
    }

    /// The command that settles the request. Made once, so that a repetition is the same command.
    pub(crate) fn command(&mut self) -> &Settle {
        self.receipt.figures_final();
        let now_ms = self.context.services.clock.now_ms();
        self.funds.command(&mut self.receipt, now_ms)
    }

    /// Waives the charge: the answer cannot be handed over.
    pub(crate) fn waive(&mut self) {
        let now_ms = self.context.services.clock.now_ms();
        self.funds.waive(&mut self.receipt, now_ms);
    }

    /// Takes in the ledger's answer, and ends the request.
    pub(crate) fn settled(&mut self, settled: &Settled) {
        RequestFunds::settled(&mut self.receipt, settled);
        self.emit_receipt();
    }

    /// Ends what moves no money, without waiting for anybody.
    pub(crate) fn close(&mut self) {
        if self.needs_count() {
            self.receipt.estimate_usage();
        }
        self.receipt.figures_final();
        self.funds.price(&mut self.receipt);
        if let Some(ledger) = &self.context.services.ledger {
            if self.funds.hold().is_some() {
                self.release(ledger);
            }
            ledger.record(ledger_record(self.receipt()));
        }
        self.emit_receipt();
    }

    /// Gives back what was taken for a request that was never sent. It leaves no receipt.
    pub(crate) fn give_back(&mut self) {
        if self.funds.take_hold().is_some()
            && let Some(ledger) = &self.context.services.ledger
        {
            self.release(ledger);
        }
        self.correct(0, self.context.services.clock.now_ms());
    }

    fn release(&self, ledger: &Arc<dyn Holds>) {
        let (receipt, now_ms) = (self.receipt(), self.context.services.clock.now_ms());
        ledger.release(&receipt.account, &receipt.request_id, now_ms);
    }

    fn emit_receipt(&mut self) {
        self.funds.end_seed(&self.receipt);
        let now_ms = self.context.services.clock.now_ms();
        self.correct(self.receipt.usage().map_or(0, Usage::total), now_ms);
        let receipt = self.receipt.receipt();
        if let Some(recording) = self.recording.take()
            && let Some(ttl_ms) = recording.store(receipt, now_ms)
        {
            self.context.services.sink.stored(receipt, ttl_ms, now_ms);
        }
        self.context.cache.count(receipt);
        self.context
            .health
            .settled(receipt, self.receipt.broke(), self.receipt.ended());
        if let Some((cache, asked)) = self.prompt_cache.take() {
            cache.settled(receipt, asked);
        }
        self.context.services.sink.settled(receipt);
    }

    fn correct(&mut self, used: u64, now_ms: u64) {
        self.quota
            .correct(&*self.context.services.limits, used, now_ms);
    }
}
