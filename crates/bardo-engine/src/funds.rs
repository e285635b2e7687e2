//! The money of one request: what is held for it, at which prices it is billed, and the one command
//! that settles it.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bardo_ledger::hold::Slices;
use bardo_ledger::series::ReceiptDetails;
use bardo_ledger::{
    Bill, Charge, End, PromptCacheFigures, ReceiptRecord, Reservation, Settle, Settled, StoreError,
    bill,
};
use bardo_types::model::{Price, Service};
use bardo_types::money::{BasisPoints, MicroUsd, SignedMicroUsd};
use bardo_types::phase::Phase;
use bardo_types::receipt::{Amounts, Outcome, PaymentMode, Receipt};
use bardo_types::usage::Usage;

use crate::call::Call;
use crate::price::rate;
use crate::receipt_builder::{ReceiptBuilder, Served};
use crate::searches::SearchFee;
use crate::seeds::SeedTaken;
use crate::shape::Shaped;

/// A provider's figures are believed up to so many times what the request can come to.
const TIMES_BELIEVED: u64 = 4;
/// Largest number of tokens recorded for one answer: a provider may report any number, and sums
/// must stay within the range of a store.
const TOKENS_MAX: u64 = 1 << 32;

/// A hold on its way to the disk.
pub(crate) type Persisting = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// The money that is held for a request, and the prices by which it is billed.
#[derive(Default)]
pub(crate) struct RequestFunds {
    /// The price at the backend of the last attempt; `None` where none is known.
    price: Option<Price>,
    /// The price at the model's maker.
    list_price: Option<Price>,
    /// A profile let the provider search.
    searched: bool,
    /// Writes for an hour may be among those that the provider counts.
    untold_hour: bool,
    /// The least that an answer with content is charged.
    minimum: MicroUsd,
    /// How the hold grows, where it has to.
    slices: Option<Slices>,
    /// Tokens of the prompt, rather too many than too few.
    prompt_bound: u64,
    estimate: Option<MicroUsd>,
    hold: Option<MicroUsd>,
    /// The balance beside the hold, as the ledger last reported it.
    available: Option<MicroUsd>,
    persisting: Option<Persisting>,
    /// The answer was ended because the money was.
    cut_off: bool,
    /// The provider's figures were too large to be believed.
    disbelieved: bool,
    command: Option<Settle>,
    /// The charge for a stored answer; `None` where a provider is called.
    served: Option<MicroUsd>,
    /// What the stored answer cost when it was made, if anything.
    cost_when_made: Option<MicroUsd>,
    /// What an identical request, which makes the answer at the same time, is billed by, and the
    /// spread of the caller.
    price_when_made: Option<Box<(Price, BasisPoints)>>,
    /// The part of its agent's seed that the request has taken.
    seed_taken: Option<Arc<SeedTaken>>,
    /// The part of the seed that the backend of the last attempt draws on.
    seed: Option<Arc<SeedTaken>>,
    /// Goes back to the budget of its cycle where no provider was asked to search.
    search_fee: Option<Box<SearchFee>>,
}

impl RequestFunds {
    /// Notes an upper bound of the tokens of the prompt.
    pub(crate) fn bound_prompt(&mut self, tokens: u64) {
        self.prompt_bound = tokens;
    }

    /// Notes the expected cost.
    pub(crate) fn expect(&mut self, estimate: Option<MicroUsd>) {
        self.estimate = estimate;
    }

    /// The expected cost, as far as it is known.
    pub(crate) fn estimate(&self) -> Option<MicroUsd> {
        self.estimate
    }

    /// Notes the hold as the ledger confirmed it.
    pub(crate) fn held(&mut self, reservation: &Reservation) {
        self.hold = Some(reservation.held);
        self.available = Some(reservation.available);
    }

    /// The amount that is held.
    pub(crate) fn hold(&self) -> Option<MicroUsd> {
        self.hold
    }

    /// Forgets the hold, which is released.
    pub(crate) fn take_hold(&mut self) -> Option<MicroUsd> {
        self.hold.take()
    }

    /// How the hold grows, where it has to.
    pub(crate) fn slices(&self) -> Option<Slices> {
        self.slices
    }

    /// The balance of the account with the hold, as the ledger last reported it.
    pub(crate) fn known(&self) -> Option<MicroUsd> {
        match (self.available, self.hold) {
            (Some(available), Some(held)) => available.checked_add(held),
            (available, _) => available,
        }
    }

    /// Notes that the hold is on its way to the disk; `None` where it is there.
    pub(crate) fn persists(&mut self, persisting: Option<Persisting>) {
        self.persisting = persisting;
    }

    /// The way of the hold to the disk, for the stage that waits for it.
    pub(crate) fn take_persisting(&mut self) -> Option<Persisting> {
        self.persisting.take()
    }

    /// Notes that the answer ends because the money does.
    pub(crate) fn cut_off(&mut self) {
        self.cut_off = true;
    }

    /// Notes what the request took of its agent's seed, and of the budget of searches.
    pub(crate) fn draw_on(&mut self, seed: Option<Arc<SeedTaken>>, search: Option<SearchFee>) {
        self.seed_taken = seed;
        self.search_fee = search.map(Box::new);
    }

    /// Whether the price at the backend of the last attempt is unknown.
    pub(crate) fn is_unpriced(&self) -> bool {
        self.price.is_none() && self.served.is_none()
    }

    /// Prices a stored answer, which is served in place of a provider's.
    pub(crate) fn serve(&mut self, call: &Call, served: &Served) {
        self.list_price = call.snapshot().roster().list_price(call.model());
        self.served = Some(served.charge);
        self.cost_when_made = served.cost.filter(|cost| *cost > MicroUsd::ZERO);
        self.price_when_made = served.price.as_ref().map(|price| {
            let spread = rate(call.principal(), call.snapshot());
            Box::new((**price, spread))
        });
    }

    /// Prices the attempt that begins.
    pub(crate) fn ask(&mut self, call: &Call, shaped: &Shaped, mode: PaymentMode) {
        let leg = &shaped.leg;
        self.price = leg.price;
        self.minimum = call.principal().minimum_charge();
        let applied = leg.settings.applied();
        self.searched = applied.is_some_and(|applied| applied.searches);
        self.untold_hour = leg.untold_hour;
        if let Some(fee) = self.search_fee.as_mut().filter(|_| self.searched) {
            fee.spend();
        }
        self.list_price = call.snapshot().roster().list_price(call.model());
        let grows = mode != PaymentMode::Direct && shaped.grant.sliced;
        let reckoned = leg.reckoned(call).filter(|_| grows);
        self.slices = reckoned.and_then(|reckoned| Slices::of(&reckoned));
        let is_seeded = leg.endpoint.service == Service::Bankr;
        self.seed = self.seed_taken.clone().filter(|_| is_seeded);
    }

    /// Prices the attempt by another price than that of its leg.
    pub(crate) fn price_at(&mut self, price: Price) {
        self.price = Some(price);
    }

    /// Whether the same backend may be asked once more on the same hold. Not where prices are such
    /// that two calls cost something else than their tokens together.
    pub(crate) fn pays_for_another(&self, receipt: &Receipt) -> bool {
        let adds_up = self.price.is_some_and(|price| {
            let prompt = receipt.usage.as_ref().map_or(0, Usage::prompt);
            let is_short = |above: u64| prompt.saturating_mul(3) < above;
            price.request.is_none() && price.long_context.is_none_or(|long| is_short(long.above))
        });
        match self.hold {
            None => true,
            Some(hold) => {
                let so_far = self.metered(receipt, 0).filter(|_| adds_up);
                so_far
                    .and_then(|so_far| so_far.checked_add(so_far))
                    .is_some_and(|twice| twice <= hold)
            }
        }
    }

    /// The cost of the answer so far, with at least `output` tokens of output.
    pub(crate) fn metered(&self, receipt: &Receipt, output: u64) -> Option<MicroUsd> {
        let price = self.price?;
        let rate = receipt.amounts.spread_rate;
        match &receipt.usage {
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

    /// Whether the ledger has to answer before the request is over.
    pub(crate) fn moves_money(&self, receipt: &ReceiptBuilder) -> bool {
        let (mode, outcome) = (receipt.receipt().mode, receipt.receipt().outcome);
        self.hold.is_some()
            && mode == PaymentMode::Prepaid
            && (receipt.is_owed() || outcome == Outcome::Unknown)
    }

    /// Fills in the amounts, as far as they are known before the ledger was asked.
    pub(crate) fn price(&mut self, builder: &mut ReceiptBuilder) {
        let owed = builder.is_owed();
        if let Some(charge) = self.served {
            *builder.amounts_mut() = self.price_served(builder.receipt(), charge);
            return;
        }
        if self.searched {
            builder.searched();
        }
        if let Some(price) = self.price.filter(|_| self.untold_hour) {
            builder.kept_for_an_hour(&price);
        }
        let receipt = builder.receipt();
        let Some(usage) = receipt.usage.as_ref().filter(|_| owed) else {
            return;
        };
        let mut amounts = receipt.amounts;
        amounts.baseline = self
            .list_price
            // The maker's bill goes to the owner of the key, so the fee is no saving.
            .filter(|_| usage.byok_fee.is_none())
            .and_then(|price| usage.cost(&price)?.charge());
        if let Some(price) = self.price {
            amounts.cache_savings = usage.cache_savings(&price);
            let hold = self.hold.unwrap_or_default();
            let is_prepaid = receipt.mode == PaymentMode::Prepaid;
            match bill(usage, &price, amounts.spread_rate) {
                None => {
                    amounts.charge = hold;
                    amounts.provider_cost = Some(hold);
                    self.disbelieved = is_prepaid;
                }
                Some(bill) => {
                    let bill = bill.at_least(self.minimum);
                    amounts.provider_cost = Some(bill.provider_cost);
                    if is_prepaid {
                        let is_guess = receipt.outcome == Outcome::Aborted && receipt.estimated;
                        self.charge(&mut amounts, bill, is_guess);
                    }
                }
            }
        }
        if receipt.is_for_a_cache() {
            // No caller would have made it, and what it reads it reads to keep.
            amounts.baseline = None;
            amounts.cache_savings = amounts
                .provider_cost
                .map(|cost| SignedMicroUsd::difference(MicroUsd::ZERO, cost));
        }
        *builder.amounts_mut() = amounts;
    }

    /// A stored answer costs its charge, all of which is the gateway's, and saves the list price. A model
    /// without one saves what the answer cost when it was made.
    fn price_served(&self, receipt: &Receipt, charge: MicroUsd) -> Amounts {
        let saved = receipt.saved_usage.as_ref();
        let list = self
            .list_price
            .and_then(|price| saved?.cost(&price)?.charge());
        let charge = match receipt.mode {
            PaymentMode::Prepaid => charge.min(self.hold.unwrap_or_default()),
            PaymentMode::Owner | PaymentMode::Direct => MicroUsd::ZERO,
        };
        let made_now = || {
            let (price, spread) = &**self.price_when_made.as_ref()?;
            let bill = bill(saved?, price, *spread)?;
            let cost = match receipt.mode {
                PaymentMode::Prepaid => bill.charge,
                PaymentMode::Owner | PaymentMode::Direct => bill.provider_cost,
            };
            Some(cost).filter(|cost| *cost > MicroUsd::ZERO)
        };
        Amounts {
            provider_cost: Some(MicroUsd::ZERO),
            spread: charge,
            charge,
            baseline: list.or(self.cost_when_made).or_else(made_now),
            ..receipt.amounts
        }
    }

    /// Charges a bill within the bounds of the hold. What was only estimated for a caller that
    /// disconnected, a `guess`, is never more than what was held for it.
    fn charge(&mut self, amounts: &mut Amounts, mut bill: Bill, is_guess: bool) {
        let hold = self.hold.unwrap_or_default();
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

    /// Whether the ledger was asked to settle, or is about to be.
    pub(crate) fn is_commanded(&self) -> bool {
        self.command.is_some()
    }

    /// The command that settles the request. Made once, so that a repetition is the same command.
    pub(crate) fn command(&mut self, builder: &mut ReceiptBuilder, now_ms: u64) -> &Settle {
        if self.command.is_none() {
            self.price(builder);
            let receipt = builder.receipt();
            let amounts = &receipt.amounts;
            let end = match receipt.outcome {
                Outcome::Unknown => End::Unknown,
                Outcome::Finished | Outcome::Aborted | Outcome::Failed => End::Capture(Charge {
                    provider: Arc::clone(&receipt.backend),
                    provider_cost: amounts.charge.saturating_sub(amounts.spread),
                    spread: amounts.spread,
                }),
            };
            if self.disbelieved {
                disbelieve(builder);
            }
            self.command = Some(settle(builder.receipt(), end, now_ms));
        }
        self.command.as_ref().expect("it was made just now")
    }

    /// Waives the charge: the answer cannot be handed over.
    pub(crate) fn waive(&mut self, builder: &mut ReceiptBuilder, now_ms: u64) {
        builder.end_as(Outcome::Failed);
        let amounts = builder.amounts_mut();
        (amounts.charge, amounts.spread) = (MicroUsd::ZERO, MicroUsd::ZERO);
        self.command = Some(settle(builder.receipt(), End::Release, now_ms));
    }

    /// Takes in the ledger's answer.
    pub(crate) fn settled(builder: &mut ReceiptBuilder, settled: &Settled) {
        let shown = (!builder.hides_balance()).then_some(settled.available);
        let amounts = builder.amounts_mut();
        amounts.charge = settled.charged;
        amounts.shortfall = amounts
            .shortfall
            .checked_add(settled.shortfall)
            .unwrap_or(MicroUsd::MAX);
        amounts.balance = shown;
        if settled.shortfall > MicroUsd::ZERO {
            amounts.spread = settled
                .charged
                .saturating_sub(amounts.provider_cost.unwrap_or_default());
        }
        let shortfall = amounts.shortfall;
        if shortfall > MicroUsd::ZERO {
            tracing::warn!(id = %builder.receipt().request_id, %shortfall, "an answer cost more than the balance of \
                its account");
        }
    }

    /// Ends the use of an agent's seed: takes the cost of an answer that is owed, and gives the rest
    /// back.
    pub(crate) fn end_seed(&mut self, builder: &ReceiptBuilder) {
        if let Some(seed) = self.seed.take().filter(|_| builder.is_owed()) {
            seed.cost(builder.receipt().amounts.provider_cost);
        }
        self.seed_taken = None;
    }
}

/// The row that the ledger keeps of a receipt.
pub(crate) fn ledger_record(receipt: &Receipt) -> ReceiptRecord {
    let usage = receipt.usage.as_ref();
    ReceiptRecord {
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
        provider_cost: receipt.provider_bill(),
        charge: receipt.amounts.charge,
        savings: receipt.savings().unwrap_or_default(),
        subsystem: receipt.subsystem.clone(),
        session: receipt.session.clone(),
        prompt_cache: prompt_cache(receipt),
        json: bardo_wire::receipt::to_text(receipt),
        details: Some(Box::new(details(receipt))),
    }
}

/// The members of a receipt that series use, as its text has them.
fn details(receipt: &Receipt) -> ReceiptDetails {
    let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let routing = receipt.routing.as_deref();
    let (mut failed_attempts, mut class) = (0, None);
    for failure in receipt
        .attempts
        .iter()
        .filter_map(|one| one.failure.as_ref())
    {
        failed_attempts += 1;
        class = Some(failure.class.as_str());
    }
    let reasoning = receipt.usage.as_ref().and_then(|usage| usage.reasoning);
    ReceiptDetails {
        layer: receipt.cache.clone(),
        golem: routing.and_then(|routing| routing.golem_id.clone()),
        phase: routing.and_then(|routing| routing.phase).map(Phase::as_str),
        vitality: routing.and_then(|routing| routing.vitality),
        sustainability: routing.and_then(|routing| routing.sustainability),
        class,
        attempts: receipt.attempts.len() as u64,
        failed_attempts,
        reasoning_tokens: reasoning.unwrap_or(0),
        is_prepaid: receipt.mode == PaymentMode::Prepaid,
        spread: receipt.amounts.spread,
        shortfall: receipt.amounts.shortfall,
        total_ms: ms(receipt.timings.total),
        first_content_ms: receipt.timings.first_content.map(ms),
    }
}

fn prompt_cache(receipt: &Receipt) -> PromptCacheFigures {
    let usage = receipt.usage.as_ref();
    PromptCacheFigures {
        read_tokens: usage.map_or(0, |usage| usage.cache_read).min(TOKENS_MAX),
        written_tokens: usage.map_or(0, Usage::cache_write).min(TOKENS_MAX),
        saved: receipt.amounts.cache_savings.unwrap_or_default(),
    }
}

fn settle(receipt: &Receipt, end: End, now_ms: u64) -> Settle {
    Settle {
        account: receipt.account.clone(),
        request: receipt.request_id.clone(),
        end,
        record: Some(ledger_record(receipt)),
        now_ms,
    }
}

/// The provider reports far more than can be: what is held is charged, and an operator has to find
/// out what the answer really comes to.
fn disbelieve(builder: &mut ReceiptBuilder) {
    builder.end_as(Outcome::Unknown);
    let receipt = builder.receipt();
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

/// The largest charge that a provider's figures are believed up to, with so much held.
fn believed(hold: MicroUsd) -> MicroUsd {
    MicroUsd::new(hold.get().saturating_mul(TIMES_BELIEVED))
}
