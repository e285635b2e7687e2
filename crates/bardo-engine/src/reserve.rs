//! The stage that holds money: sized by the legs of the plan, before anything is sent.

use std::sync::Arc;
use std::task::Poll;

use bardo_access::PayerTerms;
use bardo_ledger::budget::{self, BudgetStanding};
use bardo_ledger::hold::{self, Bound, HoldQuery, Sizing};
use bardo_ledger::{
    Cap, CapScope, CapWindow, Holds, LedgerRefusal, Reservation, Reserve, StoreError,
};
use bardo_types::Degradation;
use bardo_types::money::MicroUsd;
use bardo_types::usage::Usage;
use bardo_wire::codec::BadRequest;

use crate::answer::BOOKS_WAIT;
use crate::call::Call;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::funds::Persisting;
use crate::leg::Grant;
use crate::lifecycle::{Admitted, Lifecycle, Reserved};
use crate::plan::{Plan, Planned};
use crate::quote::Priced;
use crate::received::{Payer, Task};
use crate::record::RequestRecord;

mod both;

/// How often a smaller hold is tried after one was refused; others may spend meanwhile.
const TRIES: usize = 4;

/// A request whose worst case is held, where it can cost anything. Nothing is sent yet.
pub(crate) struct Funded {
    call: Call,
    plan: Plan,
    grant: Grant,
    life: Lifecycle<Reserved>,
}

impl Funded {
    /// Notes what every answer lacks, whatever leg it comes from.
    pub(crate) fn degrade(&mut self, lost: Degradation) {
        self.plan.degrade(lost);
    }

    /// The request, its plan, how far its hold goes, and its state, for the stage that sends it.
    pub(crate) fn into_parts(self) -> (Call, Plan, Grant, Lifecycle<Reserved>) {
        (self.call, self.plan, self.grant, self.life)
    }
}

impl Engine {
    /// Holds what the dearest leg of the plan can cost. The caller may be given fewer tokens of
    /// output than it could have had with more money; then the request carries that limit. Where
    /// the money does not suffice, another plan may: free backends, or a cheaper model.
    ///
    /// # Errors
    /// When the account or a cap of the caller does not pay for any plan.
    pub(crate) async fn reserve(&self, planned: Planned) -> Result<Funded, EngineError> {
        let (limited, mut plan) = planned.into_parts();
        let (call, mut life) = limited.into_parts();
        let funded = |call, plan, grant, life: Lifecycle<Admitted>| Funded {
            call,
            plan,
            grant,
            life: life.reserved(),
        };
        // Of the plan as it was asked for: a request that is paid for gets that one.
        let mut priced = None;
        for _ in 0..TRIES {
            let billed = billed(&call, &plan);
            if billed.is_empty() {
                return Ok(funded(call, plan, Grant::default(), life));
            }
            let mut ask = ask(&call, &plan, &billed);
            let record = life.record_mut();
            record.bound_prompt(ask.prompt_tokens);
            let Payer::Prepaid(terms) = &call.principal().payer else {
                record.expect(self.expected(&call, &plan));
                return Ok(funded(call, plan, Grant::default(), life));
            };
            let ledger = self.ledger()?;
            priced = priced.or_else(|| Priced::of(&ask, &plan));
            if ask.max_tokens.is_none() {
                // How much of the account one answer without a limit may come to depends on what
                // it has.
                let balance = ledger.balance(&call.principal().account).await?;
                ask.available = balance.map_or(MicroUsd::ZERO, |balance| balance.available);
            }
            let caps = caps(terms, &call, &plan);
            match self.hold(ledger, &call, terms, &caps, &mut ask).await {
                Ok(None) => return Ok(funded(call, plan, Grant::default(), life)),
                Ok(Some((held, reservation))) => {
                    let grant = granted(&call, &held, &caps);
                    let record = life.record_mut();
                    record.held(&reservation);
                    let expected = self.expected(&call, &plan);
                    record
                        .expect(Some(expected.map_or(reservation.held, |expected| {
                            expected.min(reservation.held)
                        })));
                    persist(ledger, &call, record).await?;
                    return Ok(funded(call, plan, grant, life));
                }
                Err(error) => match self.cheaper(&call, &plan, &error) {
                    Some(cheaper) => plan = cheaper,
                    None => {
                        let error = self.offered(&call, priced, error).await;
                        return Err(error.with_limits(life.record().admission()));
                    }
                },
            }
        }
        Err(too_fast())
    }

    /// A refusal for want of money, or the way to pay for the request where the gateway sells it.
    async fn offered(
        &self,
        call: &Call,
        priced: Option<Priced>,
        refused: EngineError,
    ) -> EngineError {
        match (priced, &refused) {
            (Some(priced), EngineError::Funds { .. }) => {
                self.sold(call, priced).await.unwrap_or(refused)
            }
            _ => refused,
        }
    }

    /// Another plan where the money does not suffice for one; `None` where there is none.
    fn cheaper(&self, call: &Call, plan: &Plan, short: &EngineError) -> Option<Plan> {
        let is_short = matches!(
            short,
            EngineError::Funds { .. } | EngineError::Budget { .. }
        );
        let free = || plan.without_billed();
        let cheaper = || self.downgrade(call, plan, short);
        is_short.then(|| free().or_else(cheaper)).flatten()
    }

    /// The probable cost of the request at the first leg, from usual lengths; the hold covers the
    /// worst case instead.
    fn expected(&self, call: &Call, plan: &Plan) -> Option<MicroUsd> {
        const TOKEN_BYTES: u64 = 4;
        let leg = plan.legs().iter().find(|leg| !leg.endpoint.direct)?;
        let (name, model) = (&leg.endpoint.name, &leg.candidate.entry.upstream_id);
        let at = call.received_at();
        let work = self.health.work(name, model, call.stream(), at);
        let size = call.size();
        let usual = match call.task() {
            Task::Generate => work.pace.usual_answer().saturating_mul(size.choices),
            Task::Embeddings | Task::CountTokens => 0,
        };
        let usage = Usage {
            fresh_input: (call.body().len() as u64 / TOKEN_BYTES).min(size.prompt),
            output: size.output_of_all().map_or(usual, |most| usual.min(most)),
            ..Usage::default()
        };
        let reckoned = leg.reckoned(call)?;
        usage.cost(&reckoned.price)?.charge_with(reckoned.spread)
    }

    fn ledger(&self) -> Result<&Arc<dyn Holds>, EngineError> {
        self.services.ledger.as_ref().ok_or_else(|| {
            EngineError::Store(StoreError::Unavailable(
                "this gateway has no ledger".to_owned(),
            ))
        })
    }

    /// Holds what is right for what the account has; others may spend from it meanwhile. `None`
    /// where nothing can cost anything.
    async fn hold(
        &self,
        ledger: &Arc<dyn Holds>,
        call: &Call,
        terms: &PayerTerms,
        caps: &[Cap],
        ask: &mut HoldQuery<'_>,
    ) -> Result<Option<(hold::HoldPlan, Reservation)>, EngineError> {
        let now_ms = self.services.clock.now_ms();
        let mut refusal = None;
        for _ in 0..TRIES {
            let plan = match hold::size(ask) {
                Sizing::Hold(plan) => plan,
                Sizing::OutOfRange => return Err(out_of_range()),
                Sizing::Short {
                    needed,
                    available,
                    max_tokens,
                } => {
                    let fits = max_tokens.map(|fits| fits / call.size().choices);
                    let refusal =
                        refusal.unwrap_or(LedgerRefusal::Insufficient { needed, available });
                    return Err(refused(refusal, needed, fits, now_ms).of(terms, call));
                }
            };
            if plan.amount == MicroUsd::ZERO {
                return Ok(None);
            }
            let command = self.reserve_command(call, terms, caps, plan.amount, now_ms);
            match ledger.reserve(command).await? {
                Ok(reservation) => return Ok(Some((plan, reservation))),
                Err(told) => {
                    ask.available = room(&told);
                    if ask.available >= plan.amount {
                        return Err(refused(told, plan.amount, None, now_ms).of(terms, call));
                    }
                    refusal = Some(told);
                }
            }
        }
        Err(too_fast())
    }
}

impl Engine {
    /// Holds the charge for a stored answer, under the same caps as any request.
    ///
    /// # Errors
    /// When the account or a cap of the caller does not pay for it.
    pub(crate) async fn hold_charge(
        &self,
        call: &Call,
        life: &mut Lifecycle<Admitted>,
        charge: MicroUsd,
    ) -> Result<(), EngineError> {
        let Payer::Prepaid(terms) = &call.principal().payer else {
            return Ok(());
        };
        if charge == MicroUsd::ZERO {
            return Ok(());
        }
        let ledger = self.ledger()?;
        let now_ms = self.services.clock.now_ms();
        let caps = caps_of(terms, call);
        let caps = budget::caps_for(&caps, BudgetStanding::Strict, terms.reserved_share());
        let command = self.reserve_command(call, terms, &caps, charge, now_ms);
        let reservation = match ledger.reserve(command).await? {
            Ok(reservation) => reservation,
            Err(refusal) => {
                let refused = refused(refusal, charge, None, now_ms).of(terms, call);
                let priced = Priced::stored(charge);
                return Err(self.offered(call, Some(priced), refused).await);
            }
        };
        let record = life.record_mut();
        record.held(&reservation);
        record.expect(Some(charge));
        Ok(persist(ledger, call, record).await?)
    }

    fn reserve_command(
        &self,
        call: &Call,
        terms: &PayerTerms,
        caps: &[Cap],
        amount: MicroUsd,
        now_ms: u64,
    ) -> Reserve {
        let ttl = u64::try_from(call.snapshot().billing.hold_ttl.as_millis()).unwrap_or(u64::MAX);
        Reserve {
            request: call.request_id().clone(),
            account: call.principal().account.clone(),
            key: terms.key.clone(),
            amount,
            caps: caps.to_vec(),
            expires_at_ms: now_ms.saturating_add(ttl),
            now_ms,
        }
    }
}

fn too_fast() -> EngineError {
    let reason = "too many requests spend from this account at once";
    EngineError::Store(StoreError::Unavailable(reason.to_owned()))
}

/// Brings the hold to the disk as early as the request needs it there: a stream before its first
/// content, a caller that settles first before anything is sent.
///
/// # Errors
/// When the hold of a caller that settles first is not stored. Nothing was sent then.
async fn persist(
    ledger: &Arc<dyn Holds>,
    call: &Call,
    record: &mut RequestRecord,
) -> Result<(), StoreError> {
    if call.principal().settles_first() {
        let receipt = record.receipt();
        let stored = ledger.persist(&receipt.account, &receipt.request_id);
        let late = || StoreError::Unavailable("the hold was not stored in time".to_owned());
        return tokio::time::timeout(BOOKS_WAIT, stored)
            .await
            .unwrap_or_else(|_| Err(late()));
    }
    if call.stream() {
        persist_soon(ledger, record).await;
    }
    Ok(())
}

/// Starts to bring the hold to the disk, and waits for nothing.
pub(crate) async fn persist_soon(ledger: &Arc<dyn Holds>, record: &mut RequestRecord) {
    let ledger = Arc::clone(ledger);
    let receipt = record.receipt();
    let (account, request) = (receipt.account.clone(), receipt.request_id.clone());
    let mut persisting: Persisting =
        Box::pin(async move { ledger.persist(&account, &request).await });
    let polled = std::future::poll_fn(|cx| Poll::Ready(persisting.as_mut().poll(cx))).await;
    let rest: Option<Persisting> = match polled {
        Poll::Ready(Ok(())) => None,
        // A failure is met again where somebody waits for it.
        Poll::Ready(failed) => Some(Box::pin(std::future::ready(failed))),
        Poll::Pending => Some(persisting),
    };
    record.persists(rest);
}

/// The largest amount that could be held instead, read from a refusal.
fn room(refusal: &LedgerRefusal) -> MicroUsd {
    match refusal {
        LedgerRefusal::Insufficient { available, .. } => *available,
        LedgerRefusal::Capped { limit, used, .. } => limit.saturating_sub(*used),
        LedgerRefusal::NoAccount(_)
        | LedgerRefusal::Duplicate(_)
        | LedgerRefusal::NoHold(_)
        | LedgerRefusal::Overflow => MicroUsd::ZERO,
    }
}

fn refused(
    refusal: LedgerRefusal,
    needed: MicroUsd,
    fits_max_tokens: Option<u64>,
    now_ms: u64,
) -> EngineError {
    match refusal {
        LedgerRefusal::Insufficient { available, .. } => EngineError::Funds {
            needed,
            available,
            fits_max_tokens: fits_max_tokens.filter(|&fits| fits > 0),
            limits: None,
        },
        LedgerRefusal::NoAccount(_) => EngineError::Funds {
            needed,
            available: MicroUsd::ZERO,
            fits_max_tokens: None,
            limits: None,
        },
        LedgerRefusal::Capped {
            scope,
            window,
            limit,
            used,
            resets_at_ms,
            ..
        } => EngineError::Budget {
            scope,
            window,
            limit,
            reserved: MicroUsd::ZERO,
            used,
            needed,
            fits_max_tokens: fits_max_tokens.filter(|&fits| fits > 0),
            retry_after_ms: resets_at_ms.map(|at| at.saturating_sub(now_ms)),
            limits: None,
        },
        LedgerRefusal::Overflow => out_of_range(),
        // Ids are made here and never used twice.
        LedgerRefusal::Duplicate(_) | LedgerRefusal::NoHold(_) => {
            EngineError::Store(StoreError::Damaged(refusal.to_string()))
        }
    }
}

impl EngineError {
    /// This error, with the reserved part of a cap that has no room for the request. A delegate
    /// sees nothing of the balance that it spends from.
    fn of(mut self, terms: &PayerTerms, call: &Call) -> Self {
        if let (Self::Funds { available, .. }, Some(_)) = (&mut self, &terms.delegated) {
            *available = MicroUsd::ZERO;
        }
        if let Self::Budget {
            scope,
            window,
            limit,
            reserved,
            ..
        } = &mut self
        {
            let whole = caps_of(terms, call);
            let whole = whole
                .iter()
                .find(|cap| cap.scope == *scope && cap.window == *window);
            *reserved = whole.map_or(MicroUsd::ZERO, |cap| cap.limit.saturating_sub(*limit));
        }
        self
    }
}

fn out_of_range() -> EngineError {
    BadRequest::new(
        "",
        "the possible cost of this request is out of range; set a lower limit of output tokens",
    )
    .into()
}

/// The caps of a caller, as far as this request may go: of a day, the tier may keep a share for
/// protected subsystems.
fn caps(terms: &PayerTerms, call: &Call, plan: &Plan) -> Vec<Cap> {
    let caps = caps_of(terms, call);
    budget::caps_for(&caps, plan.standing(call), terms.reserved_share())
}

fn caps_of(terms: &PayerTerms, call: &Call) -> Vec<Cap> {
    let spend = &terms.scopes.spend;
    let mut caps = Vec::new();
    let windows = [
        (CapWindow::Day, spend.day),
        (CapWindow::Month, spend.month),
        (CapWindow::Total, spend.total),
    ];
    for (window, limit) in windows {
        if let Some(limit) = limit {
            caps.push(Cap {
                scope: CapScope::Key(terms.counted_as.clone()),
                window,
                limit,
            });
        }
    }
    caps.extend(subsystem_caps(terms, call));
    if let Some(delegated) = &terms.delegated {
        caps.push(Cap {
            scope: CapScope::Delegation(delegated.counted_as.clone()),
            window: CapWindow::Total,
            limit: delegated.most,
        });
    }
    if let Some(limit) = spend.session {
        // Requests without a session are one session: leaving the name out is no way around.
        let session = call.hints().session.clone().unwrap_or_default();
        caps.push(Cap {
            scope: CapScope::Session(call.principal().account.clone(), session),
            window: CapWindow::Total,
            limit,
        });
    }
    caps
}

/// The caps of the subsystem that the caller names, and of the group that it belongs to.
fn subsystem_caps(terms: &PayerTerms, call: &Call) -> Vec<Cap> {
    let caps = &terms.scopes.subsystem_caps;
    let hints = call.hints().route.as_deref();
    let name = hints.and_then(|hints| hints.subsystem.as_deref());
    let row = name.and_then(|name| call.snapshot().router.subsystem(name));
    let Some(row) = row.filter(|_| !caps.is_empty()) else {
        return Vec::new();
    };
    let names = [&row.name, &row.group];
    let is_one = row.name == row.group;
    names
        .into_iter()
        .skip(usize::from(is_one))
        .filter_map(|name| {
            Some(Cap {
                scope: CapScope::Subsystem(terms.counted_as.clone(), name.as_str().into()),
                window: CapWindow::Day,
                limit: *caps.get(name)?,
            })
        })
        .collect()
}

/// The legs whose provider's bill the caller pays, as far as money goes.
pub(crate) fn billed(call: &Call, plan: &Plan) -> Vec<hold::HoldCandidate> {
    let billed = plan.legs().iter().filter(|leg| !leg.endpoint.direct);
    billed.filter_map(|leg| leg.reckoned(call)).collect()
}

/// The values by which the hold for a plan is sized.
pub(crate) fn ask<'a>(
    call: &Call,
    plan: &Plan,
    candidates: &'a [hold::HoldCandidate],
) -> HoldQuery<'a> {
    let size = call.size();
    let billed = || plan.legs().iter().filter(|leg| !leg.endpoint.direct);
    // One leg without a limit leaves the answer without one.
    let output = billed().try_fold(0, |most, leg| Some(leg.output_bound?.max(most)));
    // What is settled first cannot grow, so an answer without a limit is held up to its longest.
    let settles_first = call.principal().settles_first();
    let longest = || candidates.iter().map(|one| one.max_output).max();
    HoldQuery {
        prompt_tokens: billed().map(|leg| leg.prompt_bound).max().unwrap_or(0),
        max_tokens: match call.task() {
            Task::Generate => output
                .map(|output| output.saturating_mul(size.choices))
                .or_else(|| longest().filter(|_| settles_first)),
            Task::Embeddings | Task::CountTokens => Some(0),
        },
        // A limit of a profile must not make an agent's most important requests fail first.
        lowers: size.output.is_none() && (output.is_some() || settles_first),
        searches: size.searches.max(u64::from(plan.searches())),
        // What is read to its end first is paid for as a whole answer is.
        streamed: call.stream() && !settles_first && !plan.first().holds_back(call),
        candidates,
        available: MicroUsd::MAX,
        one_request: call.principal().pays_per_request(),
    }
}

/// The most that a request can cost, whatever its account has; `None` where that is out of range.
pub(crate) fn worst_case(ask: &HoldQuery<'_>) -> Option<MicroUsd> {
    let whole = HoldQuery {
        lowers: false,
        streamed: false,
        available: MicroUsd::MAX,
        ..*ask
    };
    match hold::size(&whole) {
        Sizing::Hold(plan) => Some(plan.amount),
        Sizing::Short { .. } | Sizing::OutOfRange => None,
    }
}

/// The most that the caller's balance has to hold for a plan; `None` where nothing is held.
pub(crate) fn whole_hold(call: &Call, plan: &Plan) -> Option<MicroUsd> {
    let Payer::Prepaid(_) = &call.principal().payer else {
        return None;
    };
    worst_case(&ask(call, plan, &billed(call, plan)))
}

/// How far a hold lets the answer go.
fn granted(call: &Call, held: &hold::HoldPlan, caps: &[Cap]) -> Grant {
    let choices = call.size().choices;
    let sliced = held.bound == Bound::Growing;
    Grant {
        sliced,
        is_capped: sliced && !caps.is_empty(),
        output_cap: held.limit.map(|limit| (limit / choices).max(1)),
    }
}
