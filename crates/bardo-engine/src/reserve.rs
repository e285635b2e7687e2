//! From received to reserved: limits first, then money. Nothing is sent before.

use std::sync::Arc;
use std::task::Poll;

use bardo_access::{KeyRecord, LimitRequest};
use bardo_ledger::{Cap, CapScope, Ledger, Refusal, Reservation, Reserve, StoreError, Window};
use bardo_types::Degradation;
use bardo_types::money::{BasisPoints, MicroUsd};
use bardo_wire::codec::BadRequest;

use crate::entitle::tier_row;
use crate::error::EngineError;
use crate::lifecycle::{Life, Received, Reserved};
use crate::quote::{Quote, Size};
use crate::received::{Payer, Task};
use crate::run::{Admitted, Engine};
use crate::tab::{Tab, Taken};

/// How often a smaller hold is tried after one was refused; others may spend meanwhile.
const TRIES: usize = 4;

impl Engine {
    /// Sets room aside to settle the request.
    pub(crate) fn open(&self, admitted: &Admitted) -> Result<Life<Received>, EngineError> {
        let permit = self.settler.room().ok_or(EngineError::Busy)?;
        Ok(Life::new(Tab::new(
            Arc::clone(&self.services),
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
        let (row, defaults) = (tier_row(key), &admitted.world.limits);
        let requests_per_minute = key
            .scopes
            .requests_per_minute
            .or(row.and_then(|row| row.requests_per_minute))
            .or(defaults.requests_per_minute);
        let tokens_per_minute = key
            .scopes
            .tokens_per_minute
            .or(row.and_then(|row| row.tokens_per_minute))
            .or(defaults.tokens_per_minute);
        let counts = requests_per_minute.is_some()
            || tokens_per_minute.is_some()
            || defaults.allowance.is_some();
        if !counts {
            return Ok(life);
        }
        let size = admitted.size();
        let tokens = match admitted.task {
            Task::Generate => size
                .output
                .unwrap_or(0)
                .saturating_mul(size.choices)
                .saturating_add(size.prompt),
            Task::Embeddings => size.prompt,
            Task::CountTokens => 0,
        };
        let request = LimitRequest {
            account: admitted.principal.account.clone(),
            key: Some(key.id.clone()),
            requests_per_minute,
            tokens_per_minute,
            allowance: defaults.allowance,
            // One request alone is never more than there can be.
            tokens: tokens_per_minute.map_or(tokens, |limit| tokens.min(limit)),
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
        let world = Arc::clone(&admitted.world);
        let billed = || {
            let billed = |candidate: &&_| !world.endpoint(candidate).direct;
            admitted.candidates.iter().filter(billed)
        };
        if billed().next().is_none() {
            return Ok(life.reserved());
        }
        let size = admitted.size();
        let prices = billed().filter_map(|candidate| world.price(candidate));
        let quote = Quote::dearest(prices, &size, admitted.rate());
        let longest = billed()
            .map(|candidate| candidate.entry.capabilities.max_output_tokens)
            .map(|most| if most == 0 { None } else { Some(most) })
            .try_fold(0, |longest: u64, most| most.map(|most| longest.max(most)));
        let plan = Plan::new(admitted, &size, longest);
        let tab = life.tab_mut();
        tab.quote = quote;
        tab.estimate = quote.and_then(|quote| quote.charge(plan.first));
        let Payer::Prepaid(key) = &admitted.principal.payer else {
            return Ok(life.reserved());
        };
        let quote = quote.ok_or_else(out_of_range)?;
        let ledger = self.services.ledger.as_ref().ok_or_else(|| {
            EngineError::Store(StoreError::Unavailable("no books are kept here".to_owned()))
        })?;
        let hold = self.hold(ledger, admitted, key, &quote, &plan).await?;
        if let Some((reservation, output)) = hold {
            let tab = life.tab_mut();
            tab.hold = Some(reservation.held);
            tab.available = Some(reservation.available);
            tab.estimate = Some(reservation.held);
            admitted.sliced = matches!(plan.bound, Bound::Slices);
            if matches!(plan.bound, Bound::Injected) && output < plan.most {
                admitted.output_cap = Some((output / size.choices).max(1));
            }
            if admitted.stream {
                self.persist_soon(ledger, life.tab_mut()).await;
            }
        }
        Ok(life.reserved())
    }

    /// Holds what the plan says, or less where that is still worth it; answers for how many tokens
    /// of output it is. `None` where nothing can cost anything.
    async fn hold(
        &self,
        ledger: &Arc<dyn Ledger>,
        admitted: &Admitted,
        key: &KeyRecord,
        quote: &Quote,
        plan: &Plan,
    ) -> Result<Option<(Reservation, u64)>, EngineError> {
        let charge = |tokens| quote.charge(tokens).ok_or_else(out_of_range);
        let least = plan.least;
        let mut tokens = plan.first;
        if matches!(plan.bound, Bound::Injected) {
            let account = &admitted.principal.account;
            let available = ledger
                .balance(account)
                .await?
                .map_or(MicroUsd::ZERO, |balance| balance.available);
            // One answer without a limit takes no more than a quarter of what there is.
            let quarter = quote.output_within(MicroUsd::new(available.get() / 4));
            tokens = plan.most.min(quarter.max(least.unwrap_or(0)));
        }
        let now_ms = self.services.clock.now_ms();
        let ttl = u64::try_from(admitted.world.billing.hold_ttl.as_millis()).unwrap_or(u64::MAX);
        let mut command = Reserve {
            request: admitted.request_id.clone(),
            account: admitted.principal.account.clone(),
            key: Some(key.id.clone()),
            amount: charge(tokens)?,
            caps: caps(key, admitted),
            expires_at_ms: now_ms.saturating_add(ttl),
            now_ms,
        };
        if command.amount == MicroUsd::ZERO {
            return Ok(None);
        }
        for _ in 0..TRIES {
            let refusal = match ledger.reserve(command.clone()).await? {
                Ok(reservation) => return Ok(Some((reservation, tokens))),
                Err(refusal) => refusal,
            };
            let fits = quote.output_within(room(&refusal));
            match least {
                Some(least) if fits >= least && fits < tokens => tokens = fits,
                _ => {
                    let needed = charge(least.unwrap_or(tokens))?;
                    return Err(refused(refusal, needed, fits, plan, now_ms));
                }
            }
            command.amount = charge(tokens)?;
        }
        Err(EngineError::Store(StoreError::Unavailable(
            "others spend the same money too fast".to_owned(),
        )))
    }

    /// Starts to bring the hold to the disk, and waits for nothing.
    async fn persist_soon(&self, ledger: &Arc<dyn Ledger>, tab: &mut Tab) {
        let ledger = Arc::clone(ledger);
        let account = tab.receipt.account.clone();
        let request = tab.receipt.request_id.clone();
        let mut persisting: crate::tab::Persisting =
            Box::pin(async move { ledger.persist(&account, &request).await });
        let polled = std::future::poll_fn(|cx| Poll::Ready(persisting.as_mut().poll(cx))).await;
        tab.persisting = match polled {
            Poll::Ready(Ok(())) => None,
            Poll::Ready(error) => Some(Box::pin(std::future::ready(error))),
            Poll::Pending => Some(persisting),
        };
    }
}

/// What keeps an answer within what is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    /// The caller's own limit.
    Caller,
    /// More is held as it flows.
    Slices,
    /// A limit that the request is given here.
    Injected,
}

/// How much output money is held for.
#[derive(Debug, Clone, Copy)]
struct Plan {
    /// Tokens of output to begin with, over all answers asked for.
    first: u64,
    /// The least worth beginning with; `None`: all or nothing.
    least: Option<u64>,
    /// The most that can come.
    most: u64,
    choices: u64,
    bound: Bound,
}

impl Plan {
    /// `longest` is what the models write at most, where all of them tell.
    fn new(admitted: &Admitted, size: &Size, longest: Option<u64>) -> Self {
        let billing = &admitted.world.billing;
        let choices = size.choices;
        let times = |tokens: u64| tokens.saturating_mul(choices);
        let unlimited = longest.unwrap_or(billing.unknown_output);
        let (first, least, most, bound) = match (admitted.task, size.output) {
            (Task::Embeddings | Task::CountTokens, _) => (0, None, 0, Bound::Caller),
            (Task::Generate, Some(output)) => {
                let most = longest.map_or(output, |longest| longest.min(output));
                (most, None, most, Bound::Caller)
            }
            (Task::Generate, None) if admitted.stream => {
                let first = billing.first_slice.min(unlimited);
                let least = billing.least_slice.min(first);
                (first, Some(least), unlimited, Bound::Slices)
            }
            (Task::Generate, None) => {
                let least = billing.least_slice.min(unlimited);
                (unlimited, Some(least), unlimited, Bound::Injected)
            }
        };
        Self {
            first: times(first),
            least: least.map(times),
            most: times(most),
            choices,
            bound,
        }
    }
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

fn refused(refusal: Refusal, needed: MicroUsd, fits: u64, plan: &Plan, now_ms: u64) -> EngineError {
    match refusal {
        Refusal::Insufficient { available, .. } => EngineError::Funds {
            needed,
            available,
            fits_max_tokens: Some(fits / plan.choices)
                .filter(|&fits| fits > 0 && plan.bound == Bound::Caller && plan.most > 0),
        },
        Refusal::NoAccount(_) => EngineError::Funds {
            needed,
            available: MicroUsd::ZERO,
            fits_max_tokens: None,
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
            used,
            needed,
            retry_after_ms: resets_at_ms.map(|at| at.saturating_sub(now_ms)),
        },
        Refusal::Overflow => out_of_range(),
        // Ids are made here and never used twice.
        Refusal::Duplicate(_) | Refusal::NoHold(_) => {
            EngineError::Store(StoreError::Damaged(refusal.to_string()))
        }
    }
}

fn out_of_range() -> EngineError {
    BadRequest::new(
        "",
        "what this request can cost is out of range; set a lower limit of output tokens",
    )
    .into()
}

fn caps(key: &KeyRecord, admitted: &Admitted) -> Vec<Cap> {
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
                scope: CapScope::Key(key.id.clone()),
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
    /// What is added to costs for this caller.
    pub(crate) fn rate(&self) -> BasisPoints {
        match &self.principal.payer {
            Payer::Owner => BasisPoints::ZERO,
            Payer::Prepaid(key) => key
                .spread
                .or_else(|| tier_row(key).and_then(|row| row.spread))
                .unwrap_or(self.world.billing.spread),
        }
    }

    /// The limit of output that the request is given here, and what is said of it.
    pub(crate) fn output_cap(&self, direct: bool) -> Option<(u64, Degradation)> {
        self.output_cap.filter(|_| !direct).map(|cap| {
            let detail =
                "the balance pays for so much output; set a limit yourself, or pay in more";
            (cap, Degradation::new("max_tokens", detail))
        })
    }
}
