//! From received to reserved: limits first, then money. Nothing is sent before.

use std::sync::Arc;
use std::task::Poll;

use bardo_access::{KeyRecord, LimitRequest, Limits};
use bardo_ledger::budget;
use bardo_ledger::hold::{self, Ask, Bound, Plan, Sizing};
use bardo_ledger::{Cap, CapScope, Ledger, Refusal, Reservation, Reserve, StoreError, Window};
use bardo_router::Candidate;
use bardo_types::Degradation;
use bardo_types::model::Price;
use bardo_types::money::{BasisPoints, MicroUsd};
use bardo_types::usage::Usage;
use bardo_wire::codec::BadRequest;

use crate::admitted::Admitted;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::lifecycle::{Life, Received, Reserved};
use crate::received::{Payer, Task};
use crate::setup::{added_tokens, output_limit};
use crate::tab::{Persisting, Tab, Taken};
use crate::unseen;
use tokio::time::Instant;

/// How often a smaller hold is tried after one was refused; others may spend meanwhile.
const TRIES: usize = 4;

impl Engine {
    /// Sets room aside to settle the request.
    pub(crate) fn open(&self, admitted: &Admitted) -> Result<Life<Received>, EngineError> {
        let permit = self.settler.room().ok_or(EngineError::Busy)?;
        Ok(Life::new(Tab::new(
            Arc::clone(&self.services),
            Arc::clone(&self.observed),
            Arc::clone(&self.health),
            permit,
            admitted,
        )))
    }

    /// Asks the limits of a caller who pays.
    pub(crate) async fn limit(
        &self,
        mut life: Life<Received>,
        admitted: &Admitted,
    ) -> Result<Life<Received>, EngineError> {
        let Payer::Prepaid(key) = &admitted.principal.payer else {
            return Ok(life);
        };
        let limits = Limits::of(key, &admitted.world.limits);
        if limits.is_none() {
            return Ok(life);
        }
        let size = admitted.size();
        let tokens = match admitted.task {
            Task::Generate => size
                .output_of_all()
                .unwrap_or(0)
                .saturating_add(size.prompt),
            Task::Embeddings => size.prompt,
            Task::CountTokens => 0,
        };
        let request = LimitRequest {
            account: admitted.principal.account.clone(),
            // A rotation is no second allowance.
            key: Some(key.counted_as().clone()),
            requests_per_minute: limits.requests_per_minute,
            tokens_per_minute: limits.tokens_per_minute,
            allowance: limits.allowance,
            own_allowance: limits.own_allowance,
            // One request alone is never more than there can be.
            tokens: limits
                .tokens_per_minute
                .map_or(tokens, |limit| tokens.min(limit)),
            now_ms: self.services.clock.now_ms(),
        };
        let admission = self
            .services
            .limits
            .admit(request.clone())
            .await
            .map_err(|throttled| EngineError::Throttled(Box::new(throttled)))?;
        let tab = life.tab_mut();
        tab.taken = Some(Taken {
            request,
            tokens: admission.reserved_tokens,
            most: admitted.most_tokens(),
        });
        tab.admission = Some(admission);
        Ok(life)
    }

    /// Holds what the request can cost. The caller may be given fewer tokens of output than it
    /// could have had with more money; then the request carries that limit.
    pub(crate) async fn reserve(
        &self,
        mut life: Life<Received>,
        admitted: &mut Admitted,
    ) -> Result<Life<Reserved>, EngineError> {
        for _ in 0..TRIES {
            let candidates = self.billed(admitted);
            if candidates.is_empty() {
                return Ok(life.reserved());
            }
            let mut ask = admitted.ask(&candidates);
            let tab = life.tab_mut();
            tab.prompt_bound = ask.prompt_tokens;
            let Payer::Prepaid(key) = &admitted.principal.payer else {
                tab.estimate = self.expected(admitted);
                return Ok(life.reserved());
            };
            let ledger = self.ledger()?;
            if ask.max_tokens.is_none() {
                // How much of the account one answer without a limit may come to depends on what
                // it has.
                let balance = ledger.balance(&admitted.principal.account).await?;
                ask.available = balance.map_or(MicroUsd::ZERO, |balance| balance.available);
            }
            match self.hold(ledger, admitted, key, &mut ask).await {
                Ok(None) => return Ok(life.reserved()),
                Ok(Some((plan, reservation))) => {
                    admitted.held(&plan);
                    let tab = life.tab_mut();
                    tab.hold = Some(reservation.held);
                    tab.available = Some(reservation.available);
                    let expected = self.expected(admitted);
                    tab.estimate = Some(
                        expected
                            .map_or(reservation.held, |expected| expected.min(reservation.held)),
                    );
                    if admitted.stream {
                        persist_soon(ledger, tab).await;
                    }
                    return Ok(life.reserved());
                }
                Err(error) => {
                    let is_short = matches!(
                        error,
                        EngineError::Funds { .. } | EngineError::Budget { .. }
                    );
                    if is_short && (admitted.leave_out_billed() || self.downgrade(admitted, &error))
                    {
                        continue;
                    }
                    return Err(error.with_limits(life.tab().admission.as_ref()));
                }
            }
        }
        Err(too_fast())
    }

    /// The candidates whose provider's bill the caller pays, as far as money goes.
    fn billed(&self, admitted: &Admitted) -> Vec<hold::Candidate> {
        let is_billed = |one: &&Candidate| !admitted.world.endpoint(one).direct;
        let billed = admitted.candidates.iter().filter(is_billed);
        let reckoned = |candidate: &Candidate| {
            let reckoned = admitted.reckoned(candidate)?;
            let name = &admitted.world.endpoint(candidate).name;
            let unseen = reckoned.unseen || self.observed.reasons_unseen(name, &candidate.entry);
            Some(hold::Candidate { unseen, ..reckoned })
        };
        billed.filter_map(reckoned).collect()
    }

    /// What the request probably costs at the backend that is asked first: what is usual there, not
    /// the worst case, which is what is held.
    fn expected(&self, admitted: &Admitted) -> Option<MicroUsd> {
        const TOKEN_BYTES: u64 = 4;
        let is_billed = |one: &&Candidate| !admitted.world.endpoint(one).direct;
        let candidate = admitted.candidates.iter().find(is_billed)?;
        let name = &admitted.world.endpoint(candidate).name;
        let model = &candidate.entry.upstream_id;
        let work = self
            .observed
            .work(name, model, admitted.stream, Instant::now());
        let size = admitted.size();
        let usual = match admitted.task {
            Task::Generate => work.pace.usual_answer().saturating_mul(size.choices),
            Task::Embeddings | Task::CountTokens => 0,
        };
        let usage = Usage {
            fresh_input: (admitted.body.len() as u64 / TOKEN_BYTES).min(size.prompt),
            output: size.output_of_all().map_or(usual, |most| usual.min(most)),
            ..Usage::default()
        };
        let reckoned = admitted.reckoned(candidate)?;
        usage.cost(&reckoned.price)?.charge_with(reckoned.spread)
    }

    fn ledger(&self) -> Result<&Arc<dyn Ledger>, EngineError> {
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
        ledger: &Arc<dyn Ledger>,
        admitted: &Admitted,
        key: &KeyRecord,
        ask: &mut Ask<'_>,
    ) -> Result<Option<(Plan, Reservation)>, EngineError> {
        let now_ms = self.services.clock.now_ms();
        let ttl = u64::try_from(admitted.world.billing.hold_ttl.as_millis()).unwrap_or(u64::MAX);
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
                    let fits = max_tokens.map(|fits| fits / admitted.size().choices);
                    let refusal = refusal.unwrap_or(Refusal::Insufficient { needed, available });
                    return Err(refused(refusal, needed, fits, now_ms).of(key, admitted));
                }
            };
            if plan.amount == MicroUsd::ZERO {
                return Ok(None);
            }
            let command = Reserve {
                request: admitted.request_id.clone(),
                account: admitted.principal.account.clone(),
                key: Some(key.id.clone()),
                amount: plan.amount,
                caps: caps(key, admitted),
                expires_at_ms: now_ms.saturating_add(ttl),
                now_ms,
            };
            match ledger.reserve(command).await? {
                Ok(reservation) => return Ok(Some((plan, reservation))),
                Err(told) => {
                    ask.available = room(&told);
                    if ask.available >= plan.amount {
                        return Err(refused(told, plan.amount, None, now_ms).of(key, admitted));
                    }
                    refusal = Some(told);
                }
            }
        }
        Err(too_fast())
    }
}

fn too_fast() -> EngineError {
    let reason = "too many requests spend from this account at once";
    EngineError::Store(StoreError::Unavailable(reason.to_owned()))
}

/// Starts to bring the hold to the disk, and waits for nothing.
async fn persist_soon(ledger: &Arc<dyn Ledger>, tab: &mut Tab) {
    let ledger = Arc::clone(ledger);
    let account = tab.receipt.account.clone();
    let request = tab.receipt.request_id.clone();
    let mut persisting: Persisting =
        Box::pin(async move { ledger.persist(&account, &request).await });
    let polled = std::future::poll_fn(|cx| Poll::Ready(persisting.as_mut().poll(cx))).await;
    tab.persisting = match polled {
        Poll::Ready(Ok(())) => None,
        // A failure is met again where somebody waits for it.
        Poll::Ready(failed) => Some(Box::pin(std::future::ready(failed))),
        Poll::Pending => Some(persisting),
    };
}

/// What could be held instead.
fn room(refusal: &Refusal) -> MicroUsd {
    match refusal {
        Refusal::Insufficient { available, .. } => *available,
        Refusal::Capped { limit, used, .. } => limit.saturating_sub(*used),
        Refusal::NoAccount(_) | Refusal::Duplicate(_) | Refusal::NoHold(_) | Refusal::Overflow => {
            MicroUsd::ZERO
        }
    }
}

fn refused(
    refusal: Refusal,
    needed: MicroUsd,
    fits_max_tokens: Option<u64>,
    now_ms: u64,
) -> EngineError {
    match refusal {
        Refusal::Insufficient { available, .. } => EngineError::Funds {
            needed,
            available,
            fits_max_tokens: fits_max_tokens.filter(|&fits| fits > 0),
            limits: None,
        },
        Refusal::NoAccount(_) => EngineError::Funds {
            needed,
            available: MicroUsd::ZERO,
            fits_max_tokens: None,
            limits: None,
        },
        Refusal::Capped {
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
        Refusal::Overflow => out_of_range(),
        // Ids are made here and never used twice.
        Refusal::Duplicate(_) | Refusal::NoHold(_) => {
            EngineError::Store(StoreError::Damaged(refusal.to_string()))
        }
    }
}

impl EngineError {
    /// The same, with what is kept of a cap that leaves this request no room.
    fn of(mut self, key: &KeyRecord, admitted: &Admitted) -> Self {
        if let Self::Budget {
            scope,
            window,
            limit,
            reserved,
            ..
        } = &mut self
        {
            let whole = caps_of(key, admitted);
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

/// The caps of a key, as far as this request may go: of a day, the tier may keep a share for
/// protected subsystems.
fn caps(key: &KeyRecord, admitted: &Admitted) -> Vec<Cap> {
    let caps = caps_of(key, admitted);
    budget::caps_for(&caps, admitted.standing(), key.reserved_share())
}

fn caps_of(key: &KeyRecord, admitted: &Admitted) -> Vec<Cap> {
    let spend = &key.scopes.spend;
    let mut caps = Vec::new();
    let windows = [
        (Window::Day, spend.day),
        (Window::Month, spend.month),
        (Window::Total, spend.total),
    ];
    for (window, limit) in windows {
        if let Some(limit) = limit {
            caps.push(Cap {
                scope: CapScope::Key(key.counted_as().clone()),
                window,
                limit,
            });
        }
    }
    if let Some(limit) = spend.session {
        // Requests without a session are one session: leaving the name out is no way around.
        let session = admitted.hints.session.clone().unwrap_or_default();
        caps.push(Cap {
            scope: CapScope::Session(admitted.principal.account.clone(), session),
            window: Window::Total,
            limit,
        });
    }
    caps
}

impl Admitted {
    /// What has to be known to size a hold for it.
    fn ask<'a>(&self, candidates: &'a [hold::Candidate]) -> Ask<'a> {
        let size = self.size();
        let set_up = output_limit(self).map(|limit| limit.saturating_mul(size.choices));
        Ask {
            // A profile may bring words of its own.
            prompt_tokens: size.prompt.saturating_add(added_tokens(self)),
            max_tokens: match self.task {
                // A profile may allow more than the caller did, where it is locked.
                Task::Generate => size.output_of_all().max(set_up),
                Task::Embeddings | Task::CountTokens => Some(0),
            },
            // A limit of a profile must not make an agent's most important requests fail first.
            lowers: size.output.is_none() && set_up.is_some(),
            searches: size.searches.max(u64::from(self.searches())),
            // What is read to its end first is paid for as a whole answer is.
            streamed: self.stream && !self.holds_back(),
            candidates,
            available: MicroUsd::MAX,
        }
    }

    /// The tokens that it can come to at all, whatever the limit says.
    fn most_tokens(&self) -> u64 {
        let size = self.size();
        let longest = |one: &Candidate| match one.entry.capabilities.max_output_tokens {
            0 => self.world.billing.unknown_output,
            known => known,
        };
        let longest = self.candidates.iter().map(longest).max().unwrap_or(0);
        longest
            .max(size.output.unwrap_or(0))
            .saturating_mul(size.choices)
            .saturating_add(size.prompt)
    }

    /// Takes note of how its hold came about.
    fn held(&mut self, plan: &Plan) {
        self.sliced = plan.bound == Bound::Growing;
        let choices = self.size().choices;
        self.output_cap = plan.limit.map(|limit| (limit / choices).max(1));
    }

    /// What is added to costs for this caller.
    pub(crate) fn rate(&self) -> BasisPoints {
        match &self.principal.payer {
            Payer::Owner => BasisPoints::ZERO,
            Payer::Prepaid(key) => key.spread_or(self.world.billing.spread),
        }
    }

    /// A candidate as far as money goes; `None` where nobody priced it.
    pub(crate) fn reckoned(&self, candidate: &Candidate) -> Option<hold::Candidate> {
        let (size, capabilities) = (self.size(), &candidate.entry.capabilities);
        let max_output = match capabilities.max_output_tokens {
            0 => size.output.unwrap_or(self.world.billing.unknown_output),
            known => known,
        };
        Some(hold::Candidate {
            price: self.price(candidate)?.for_prompt(size.prompt),
            spread: self.rate(),
            max_output: max_output.saturating_mul(size.choices),
            context_window: Some(capabilities.context_tokens).filter(|&tokens| tokens > 0),
            unseen: self.reasons_unseen(candidate),
        })
    }

    /// Whether the model is known to think about this request without showing it.
    pub(crate) fn reasons_unseen(&self, candidate: &Candidate) -> bool {
        let wanted = self
            .routed
            .as_ref()
            .and_then(|routed| routed.wanted.as_ref());
        let capabilities = &candidate.entry.capabilities;
        self.task == Task::Generate
            && unseen::reasons_unseen(capabilities, &self.top(), wanted.is_some())
    }

    /// Goes on with the candidates that cost the caller nothing, where there are any.
    fn leave_out_billed(&mut self) -> bool {
        let free = |candidate: &Candidate| {
            let price = self.world.price(candidate);
            self.world.endpoint(candidate).direct || price == Some(Price::default())
        };
        if !self.candidates.iter().any(free) || self.candidates.iter().all(free) {
            return false;
        }
        // A floor does not yield for a price.
        let keeps = |one: &&Candidate| self.meets_floor(one);
        if self.candidates.iter().any(|one| keeps(&one))
            && !self.candidates.iter().filter(keeps).any(free)
        {
            return false;
        }
        let kept = self.candidates.iter().filter(|one| free(one)).cloned();
        self.candidates = kept.collect();
        let detail = "the balance or a cap is too small for the other backends of this model";
        self.unfunded
            .push(Degradation::new("fallback_backends", detail));
        true
    }

    /// The limit of output that the request is given here, and what is said of it.
    pub(crate) fn output_cap(&self, candidate: &Candidate) -> Option<(u64, Degradation)> {
        if self.world.endpoint(candidate).direct {
            return None;
        }
        // A limit beyond what the model can do is refused by some.
        let longest = candidate.entry.capabilities.max_output_tokens;
        let is_below = |cap: &u64| longest == 0 || *cap < longest;
        self.output_cap.filter(is_below).map(|cap| {
            let detail =
                "the balance is enough for this many output tokens; set a lower limit, or add money";
            (cap, Degradation::new("max_tokens", detail))
        })
    }
}
