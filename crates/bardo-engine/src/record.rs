//! What a request has run up so far: all that its receipt will say, and what has to be settled.

mod counted;
mod facts;
mod left;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bardo_access::{Admission, LimitRequest};
use bardo_ledger::hold::Slices;
use bardo_ledger::{Charge, End, Holds, Record, Settle, Settled, StoreError, bill};
use bardo_profile::SchemaCheck;
use bardo_providers::Endpoint;
use bardo_types::fault::FaultClass;
use bardo_types::model::{Dialect, Price, Service};
use bardo_types::money::{BasisPoints, MicroUsd};
use bardo_types::receipt::{
    Amounts, Attempt, AttemptFailure, Outcome, PaymentMode, Receipt, SchemaOutcome, Timings,
};
use bardo_types::usage::Usage;
use bytes::Bytes;
use tokio::sync::mpsc::OwnedPermit;
use tokio::time::Instant;

use crate::account::account;
use crate::breaker::{CircuitKey, Health};
use crate::call::Call;
use crate::failure::Failure;
use crate::meter::Meter;
use crate::observed::UpstreamStats;
use crate::price::rate;
use crate::received::{Payer, Task};
use crate::seeds::SeedTaken;
use crate::services::Services;
use crate::settlement::Message;
use crate::shape::Shaped;
use crate::tally;
use crate::unseen::Accepted;

/// A provider's figures are believed up to so many times what the request can come to.
const TIMES_BELIEVED: u64 = 4;
/// Largest number of tokens recorded for one answer: a provider may report any number, and sums
/// must stay within the range of a store.
const TOKENS_MAX: u64 = 1 << 32;

/// A hold on its way to the disk.
pub(crate) type Persisting = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// Tokens taken on account from the caller's limits.
pub(crate) struct QuotaReservation {
    pub(crate) request: LimitRequest,
    pub(crate) tokens: u64,
    /// Tokens that the request can come to.
    pub(crate) most: u64,
}

/// What is counted where the provider does not tell.
pub(crate) struct Source {
    pub(crate) task: Task,
    pub(crate) dialect: Dialect,
    pub(crate) body: Bytes,
    /// A whole answer as it came, in the upstream's dialect.
    pub(crate) answer: Option<Bytes>,
}

/// See the module.
pub(crate) struct RequestRecord {
    pub(crate) services: Arc<Services>,
    pub(crate) observed: Arc<UpstreamStats>,
    pub(crate) health: Arc<Health>,
    /// Room to settle this request, set aside when it was received.
    pub(crate) permit: Option<OwnedPermit<Message>>,
    pub(crate) receipt: Receipt,
    pub(crate) received: Instant,
    /// When the present try began.
    asked: Instant,
    price: Option<Price>,
    /// A profile let the provider search.
    searched: bool,
    list_price: Option<Price>,
    /// How its hold grows, where it has to.
    pub(crate) slices: Option<Slices>,
    /// Tokens of the prompt, rather too many than too few.
    pub(crate) prompt_bound: u64,
    pub(crate) estimate: Option<MicroUsd>,
    /// What is held for it.
    pub(crate) hold: Option<MicroUsd>,
    /// What the account could still spend besides, when that was last told.
    pub(crate) available: Option<MicroUsd>,
    pub(crate) persisting: Option<Persisting>,
    pub(crate) meter: Option<Meter>,
    pub(crate) source: Source,
    /// The provider has said its last word on the usage.
    pub(crate) counted: bool,
    /// The provider did all of its work before the caller gets any of it: all of it is owed, and
    /// what is handed over now counts nothing.
    is_complete: bool,
    /// Nothing of the answer is handed over before all of it is there.
    pub(crate) holds_back: bool,
    /// The caller was handed content.
    pub(crate) delivered: bool,
    /// The answer was ended because the money was.
    pub(crate) cut_off: bool,
    /// How the answer broke off after its first content.
    pub(crate) broke: Option<FaultClass>,
    /// Who was asked last, and when it took the request.
    pub(crate) asked_of: Option<(CircuitKey, Accepted)>,
    /// The backend that is asked.
    pub(crate) answered_at: Option<Arc<Endpoint>>,
    /// What the request took of its agent's seed.
    pub(crate) seed_taken: Option<Arc<SeedTaken>>,
    /// The part of the seed that the backend which is asked draws on.
    seed: Option<Arc<SeedTaken>>,
    /// The model thinks without showing it.
    pub(crate) reasons_unseen: bool,
    /// Tokens that the provider made for a caller who left, besides what was delivered; `None`: it
    /// is not known to have been at work.
    pub(crate) unseen: Option<u64>,
    /// The provider's figures were too large to be believed.
    disbelieved: bool,
    pub(crate) taken: Option<QuotaReservation>,
    pub(crate) admission: Option<Admission>,
    pub(crate) command: Option<Settle>,
}

impl RequestRecord {
    pub(crate) fn new(
        services: Arc<Services>,
        observed: Arc<UpstreamStats>,
        health: Arc<Health>,
        permit: OwnedPermit<Message>,
        call: &Call,
    ) -> Self {
        let key = match &call.principal().payer {
            Payer::Owner => None,
            Payer::Prepaid(key) => Some(key.id.clone()),
        };
        Self {
            services,
            observed,
            health,
            permit: Some(permit),
            receipt: Receipt {
                request_id: call.request_id().clone(),
                client_request_id: call.client_request_id().cloned(),
                received_at_ms: call.received_at_ms(),
                account: call.principal().account.clone(),
                key,
                session: call.hints().session.clone(),
                subsystem: call.hints().subsystem.clone(),
                dialect: call.dialect(),
                upstream_dialect: call.dialect(),
                model_requested: Arc::clone(call.model()),
                model: Arc::clone(call.model()),
                model_answered: None,
                backend: Arc::default(),
                upstream_request_id: None,
                attempts: Vec::new(),
                streamed: call.stream(),
                usage: None,
                estimated: false,
                mode: PaymentMode::Owner,
                provider_payment: None,
                amounts: Amounts {
                    provider_cost: None,
                    spread_rate: BasisPoints::ZERO,
                    spread: MicroUsd::ZERO,
                    charge: MicroUsd::ZERO,
                    shortfall: MicroUsd::ZERO,
                    baseline: None,
                    cache_savings: None,
                    balance: None,
                },
                // There is no response cache yet, so every answer bypasses it.
                cache: "bypass".into(),
                degraded: Vec::new(),
                optimizations: Vec::new(),
                routing: None,
                outcome: Outcome::Aborted,
                timings: Timings::default(),
            },
            received: call.received_at(),
            asked: call.received_at(),
            price: None,
            searched: false,
            list_price: None,
            slices: None,
            prompt_bound: 0,
            estimate: None,
            hold: None,
            available: None,
            persisting: None,
            meter: None,
            source: Source {
                task: call.task(),
                dialect: call.dialect(),
                body: call.body().clone(),
                answer: None,
            },
            counted: false,
            is_complete: false,
            holds_back: false,
            delivered: false,
            cut_off: false,
            broke: None,
            asked_of: None,
            answered_at: None,
            seed_taken: None,
            seed: None,
            reasons_unseen: false,
            unseen: None,
            disbelieved: false,
            taken: None,
            admission: None,
            command: None,
        }
    }

    /// Whether nobody knows what the model costs at the backend that is asked.
    pub(crate) fn is_unpriced(&self) -> bool {
        self.price.is_none()
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.received.elapsed()
    }

    /// A backend is asked.
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
        receipt.model = leg.candidate.entry.id.as_str().into();
        receipt.attempts.push(Attempt {
            backend: Arc::clone(&receipt.backend),
            model: leg.candidate.entry.upstream_id.as_str().into(),
            failure: None,
            duration: Duration::ZERO,
        });
        receipt.routing = account(call, leg);
        self.price = leg.price;
        let applied = leg.settings.applied();
        self.searched = applied.is_some_and(|applied| applied.searches);
        self.list_price = call.snapshot().roster().list_price(call.model());
        let grows = self.receipt.mode != PaymentMode::Direct && shaped.grant.sliced;
        let reckoned = leg.reckoned(call).filter(|_| grows);
        self.slices = reckoned.and_then(|reckoned| Slices::of(&reckoned));
        self.holds_back = leg.holds_back(call);
        let who = CircuitKey::new(&leg.endpoint, &leg.candidate.entry);
        self.asked_of = Some((who, shaped.accepted.clone()));
        self.answered_at = Some(Arc::clone(&leg.endpoint));
        let is_seeded = leg.endpoint.service == Service::Bankr;
        self.seed = self.seed_taken.clone().filter(|_| is_seeded);
        self.reasons_unseen = leg.reasons_unseen;
        self.asked = Instant::now();
        self.receipt.timings.sent = Some(self.asked - self.received);
        if self.receipt.attempts.len() == 1 {
            self.services.sink.started(&self.receipt);
        }
    }

    /// The backend answered with a head.
    pub(crate) fn head(&mut self) {
        self.receipt.timings.head = Some(self.elapsed());
        if let Some(attempt) = self.receipt.attempts.last_mut() {
            attempt.duration = self.asked.elapsed();
        }
    }

    /// The backend failed, and nothing of what it said counts.
    pub(crate) fn refused(&mut self, failure: &Failure) {
        let receipt = &mut self.receipt;
        if let Some(attempt) = receipt.attempts.last_mut() {
            attempt.duration = self.asked.elapsed();
            attempt.failure = Some(AttemptFailure {
                class: failure.fault.class,
                status: failure.fault.status,
                unknown_outcome: failure.next.is_unknown(),
            });
        }
        receipt.usage = None;
        receipt.model_answered = None;
        receipt.degraded.clear();
        receipt.timings.head = None;
        (self.meter, self.source.answer, self.counted) = (None, None, false);
        self.asked_of = None;
    }

    /// What became of the schema that the answer was held to.
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

    /// Whether the same backend may be asked once more on the same hold. Not where prices are such
    /// that two calls cost something else than their tokens together.
    pub(crate) fn pays_for_another(&self) -> bool {
        let adds_up = self.price.is_some_and(|price| {
            let prompt = self.receipt.usage.as_ref().map_or(0, Usage::prompt);
            let is_short = |above: u64| prompt.saturating_mul(3) < above;
            price.request.is_none() && price.long_context.is_none_or(|long| is_short(long.above))
        });
        match self.hold {
            None => true,
            Some(hold) => {
                let so_far = self.metered(0).filter(|_| adds_up);
                so_far
                    .and_then(|so_far| so_far.checked_add(so_far))
                    .is_some_and(|twice| twice <= hold)
            }
        }
    }

    /// What the answer comes to so far, with at least so many tokens of output.
    pub(crate) fn metered(&self, output: u64) -> Option<MicroUsd> {
        let price = self.price?;
        let rate = self.receipt.amounts.spread_rate;
        match &self.receipt.usage {
            Some(usage) if usage.prompt() > 0 => usage
                .cost(&price)?
                .plus(
                    price.for_prompt(usage.prompt()).output,
                    output.saturating_sub(usage.output),
                )?
                .charge_with(rate),
            _ => {
                let so_far = Usage {
                    fresh_input: self.prompt_bound,
                    output,
                    ..Usage::default()
                };
                so_far.cost(&price)?.charge_with(rate)
            }
        }
    }

    /// Whether what the provider bills for this is due.
    fn is_owed(&self) -> bool {
        match self.receipt.outcome {
            Outcome::Finished => true,
            // It left before anything was there, but the provider had told what it counts, or was
            // at work.
            Outcome::Aborted => {
                self.delivered
                    || self.is_complete
                    || self.receipt.usage.is_some()
                    || self.unseen.is_some()
            }
            Outcome::Failed => self.delivered || self.is_complete,
            Outcome::Unknown => false,
        }
    }

    /// Whether somebody has to count, because the provider did not.
    pub(crate) fn needs_count(&self) -> bool {
        let answered = self.delivered
            || self.is_complete
            || self.unseen.is_some()
            || self.receipt.outcome == Outcome::Finished;
        let is_whole = |usage: &Usage| {
            let has_output = usage.output > 0 || self.source.task != Task::Generate;
            self.counted && usage.prompt() > 0 && has_output
        };
        self.is_owed()
            && answered
            && !self.receipt.estimated
            && !self.receipt.usage.as_ref().is_some_and(is_whole)
    }

    /// Whether the books have to answer before it is over.
    pub(crate) fn moves_money(&self) -> bool {
        self.hold.is_some()
            && self.receipt.mode == PaymentMode::Prepaid
            && (self.is_owed() || self.receipt.outcome == Outcome::Unknown)
    }

    /// Fills in the amounts, as far as they are known before the books were asked.
    pub(crate) fn price(&mut self) {
        let owed = self.is_owed();
        if self.searched
            && let Some(usage) = &mut self.receipt.usage
        {
            usage.web_searches.get_or_insert(1);
        }
        let Some(usage) = self.receipt.usage.as_ref().filter(|_| owed) else {
            return;
        };
        let list = self
            .list_price
            // The maker's bill goes to the owner of the key, so the fee is no saving.
            .filter(|_| usage.byok_fee.is_none())
            .and_then(|price| usage.cost(&price)?.charge());
        let amounts = &mut self.receipt.amounts;
        amounts.baseline = list;
        let Some(price) = self.price else {
            return;
        };
        amounts.cache_savings = usage.cache_savings(&price);
        let hold = self.hold.unwrap_or_default();
        let Some(mut bill) = bill(usage, &price, amounts.spread_rate) else {
            amounts.charge = hold;
            amounts.provider_cost = Some(hold);
            self.disbelieved = self.receipt.mode == PaymentMode::Prepaid;
            return;
        };
        amounts.provider_cost = Some(bill.provider_cost);
        if self.receipt.mode != PaymentMode::Prepaid {
            return;
        }
        // What was only estimated for a caller who left is never more than what was held for it.
        let is_guess = self.receipt.outcome == Outcome::Aborted && self.receipt.estimated;
        let is_beyond_belief = bill.charge > believed(hold);
        if (self.cut_off || is_guess || is_beyond_belief) && bill.charge > hold {
            if self.cut_off {
                amounts.shortfall = bill.charge.saturating_sub(hold);
            }
            bill.provider_cost = bill.provider_cost.min(hold);
            bill.spread = hold.saturating_sub(bill.provider_cost);
            bill.charge = hold;
        }
        if is_beyond_belief && !self.cut_off && !is_guess {
            amounts.provider_cost = Some(bill.provider_cost);
            amounts.baseline = None;
            self.disbelieved = true;
        }
        (amounts.spread, amounts.charge) = (bill.spread, bill.charge);
    }

    /// What the books are asked to do. Made once, so that asking again is the same question.
    pub(crate) fn command(&mut self) -> &Settle {
        if self.command.is_none() {
            self.price();
            let amounts = &self.receipt.amounts;
            let end = match self.receipt.outcome {
                Outcome::Unknown => End::Unknown,
                Outcome::Finished | Outcome::Aborted | Outcome::Failed => End::Capture(Charge {
                    provider: Arc::clone(&self.receipt.backend),
                    provider_cost: amounts.charge.saturating_sub(amounts.spread),
                    spread: amounts.spread,
                }),
            };
            if self.disbelieved {
                self.disbelieve();
            }
            self.command = Some(self.settle_with(end));
        }
        self.command.as_ref().expect("it was made just now")
    }

    /// The provider counts far more than can be: what is held is charged, what it really comes to
    /// is for the operator to find out.
    fn disbelieve(&mut self) {
        let receipt = &mut self.receipt;
        receipt.outcome = Outcome::Unknown;
        tracing::error!(
            id = %receipt.request_id,
            backend = %receipt.backend,
            model = %receipt.model,
            input_tokens = receipt.usage.as_ref().map_or(0, Usage::prompt),
            output_tokens = receipt.usage.as_ref().map_or(0, |usage| usage.output),
            charged = %receipt.amounts.charge,
            "the provider reported more than four times the possible cost of the request; the hold is charged \
            and the outcome is unknown; compare the provider's bill"
        );
    }

    /// Nothing shall be charged after all.
    pub(crate) fn waive(&mut self) {
        self.receipt.outcome = Outcome::Failed;
        let amounts = &mut self.receipt.amounts;
        (amounts.charge, amounts.spread) = (MicroUsd::ZERO, MicroUsd::ZERO);
        self.command = Some(self.settle_with(End::Release));
    }

    fn settle_with(&self, end: End) -> Settle {
        Settle {
            account: self.receipt.account.clone(),
            request: self.receipt.request_id.clone(),
            end,
            record: Some(self.ledger_record()),
            now_ms: self.services.clock.now_ms(),
        }
    }

    fn ledger_record(&self) -> Record {
        let receipt = &self.receipt;
        let usage = receipt.usage.as_ref();
        Record {
            request: receipt.request_id.clone(),
            client_request_id: receipt.client_request_id.clone(),
            account: receipt.account.clone(),
            key: receipt.key.clone(),
            at_ms: receipt.received_at_ms,
            model: Arc::clone(&receipt.model),
            provider: Arc::clone(&receipt.backend),
            outcome: receipt.outcome.as_str(),
            input_tokens: usage.map_or(0, Usage::prompt).min(TOKENS_MAX),
            output_tokens: usage.map_or(0, |usage| usage.output).min(TOKENS_MAX),
            provider_cost: receipt.amounts.provider_cost.unwrap_or_default(),
            charge: receipt.amounts.charge,
            savings: receipt.savings().unwrap_or_default(),
            json: bardo_wire::receipt::to_json(receipt).into(),
        }
    }

    /// The books have answered.
    pub(crate) fn settled(&mut self, settled: Settled) {
        let amounts = &mut self.receipt.amounts;
        amounts.charge = settled.charged;
        amounts.shortfall = amounts
            .shortfall
            .checked_add(settled.shortfall)
            .unwrap_or(MicroUsd::MAX);
        amounts.balance = Some(settled.available);
        if settled.shortfall > MicroUsd::ZERO {
            amounts.spread = settled
                .charged
                .saturating_sub(amounts.provider_cost.unwrap_or_default());
        }
        if amounts.shortfall > MicroUsd::ZERO {
            tracing::warn!(id = %self.receipt.request_id, shortfall = %amounts.shortfall, "an answer cost more \
                than the balance of its account");
        }
        self.emit_receipt();
    }

    /// Ends what moves no money, without waiting for anybody.
    pub(crate) fn close(&mut self) {
        if self.needs_count() {
            tally::estimate_usage(self);
        }
        self.price();
        if let Some(ledger) = &self.services.ledger {
            if self.hold.is_some() {
                self.release(ledger);
            }
            ledger.record(self.ledger_record());
        }
        self.emit_receipt();
    }

    /// Gives back what was taken for a request that was never sent. It leaves no receipt.
    pub(crate) fn give_back(&mut self) {
        if self.hold.take().is_some()
            && let Some(ledger) = &self.services.ledger
        {
            self.release(ledger);
        }
        self.correct(0);
    }

    fn release(&self, ledger: &Arc<dyn Holds>) {
        let (receipt, now_ms) = (&self.receipt, self.services.clock.now_ms());
        ledger.release(&receipt.account, &receipt.request_id, now_ms);
    }

    fn emit_receipt(&mut self) {
        if let Some(seed) = self.seed.take().filter(|_| self.is_owed()) {
            seed.cost(self.receipt.amounts.provider_cost);
        }
        self.seed_taken = None;
        let used = self.receipt.usage.as_ref().map_or(0, Usage::total);
        self.correct(used);
        self.observed
            .settled(&self.receipt, self.broke, Instant::now());
        self.services.sink.settled(&self.receipt);
    }

    fn correct(&mut self, used: u64) {
        if let Some(taken) = self.taken.take() {
            let now_ms = self.services.clock.now_ms();
            let used = used.min(taken.most.saturating_mul(TIMES_BELIEVED));
            self.services
                .limits
                .correct(&taken.request, taken.tokens, used, now_ms);
        }
    }
}

/// The largest charge that a provider's figures are believed up to, with so much held.
fn believed(hold: MicroUsd) -> MicroUsd {
    MicroUsd::new(hold.get().saturating_mul(TIMES_BELIEVED))
}
