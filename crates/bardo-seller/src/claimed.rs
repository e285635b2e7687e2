//! The books of requests that are paid by a claim: the claim is their hold, and the chain their
//! account.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bardo_ledger::claims::{AuthorizationKey, ClaimBook, ClaimStep, StepBy, StepRefusal};
use bardo_ledger::{
    Balance, Deposit, End, Funds, Holds, LedgerFuture, LedgerRefusal, ReceiptRecord, Reservation,
    Reserve, Settle, Settled, StoreError,
};
use bardo_types::clock::Clock;
use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;
use bardo_types::receipt::Outcome;
use tokio::sync::Notify;

/// Holds and charges of all requests: those with a claim are held against it, all others go to the
/// ledger.
pub struct ClaimedHolds {
    ledger: Arc<dyn Holds>,
    claims: ClaimBook,
    clock: Arc<dyn Clock>,
    due: Notify,
    open: Mutex<HashMap<RequestId, OpenClaim>>,
}

/// A claim whose request is under way here.
#[derive(Clone, Copy)]
pub(crate) struct OpenClaim {
    pub(crate) key: AuthorizationKey,
    pub(crate) ceiling: MicroUsd,
    /// What the request holds of it; `None`: nothing yet.
    pub(crate) held: Option<MicroUsd>,
}

impl ClaimedHolds {
    /// Books of claims beside those of the ledger.
    #[must_use]
    pub fn new(ledger: Arc<dyn Holds>, claims: ClaimBook, clock: Arc<dyn Clock>) -> Self {
        Self {
            ledger,
            claims,
            clock,
            due: Notify::new(),
            open: Mutex::default(),
        }
    }

    /// Waits until a claim becomes due by the end of its request.
    pub async fn until_due(&self) {
        self.due.notified().await;
    }

    /// Lets a request draw on a claim.
    pub(crate) fn open(&self, request: RequestId, key: AuthorizationKey, ceiling: MicroUsd) {
        let claim = OpenClaim {
            key,
            ceiling,
            held: None,
        };
        self.locked().insert(request, claim);
    }

    /// Forgets a claim of which nothing is held; answers whether that was so.
    pub(crate) fn forget_unheld(&self, request: &RequestId) -> bool {
        let mut open = self.locked();
        let is_unheld = open.get(request).is_some_and(|claim| claim.held.is_none());
        if is_unheld {
            open.remove(request);
        }
        is_unheld
    }

    fn found(&self, request: &RequestId) -> Option<OpenClaim> {
        self.locked().get(request).copied()
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, HashMap<RequestId, OpenClaim>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds `amount` of the claim of a request in all; `None` where the request has none.
    fn hold(
        &self,
        request: &RequestId,
        amount: impl FnOnce(OpenClaim) -> Option<MicroUsd>,
    ) -> Option<Result<Reservation, LedgerRefusal>> {
        let mut open = self.locked();
        let claim = open.get_mut(request)?;
        let available = claim.ceiling;
        let amount = amount(*claim).unwrap_or(MicroUsd::MAX);
        if amount > available {
            let needed = amount;
            return Some(Err(LedgerRefusal::Insufficient { needed, available }));
        }
        claim.held = Some(amount);
        Some(Ok(Reservation {
            held: amount,
            available: available.saturating_sub(amount),
        }))
    }

    /// A step of the request that has the claim.
    pub(crate) async fn step(
        &self,
        key: &AuthorizationKey,
        request: &RequestId,
        step: ClaimStep,
    ) -> Result<Result<(), StepRefusal>, StoreError> {
        let by = StepBy::Request(request.clone());
        let taken = self.claims.step(key, &by, &step, self.clock.now_ms());
        Ok(taken.await?.map(|_| ()))
    }

    /// Gives a claim back of which nothing was used, without waiting. Where that fails, it is given
    /// back when its time is over.
    pub(crate) fn give_back(&self, key: AuthorizationKey, request: RequestId) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let (claims, now_ms) = (self.claims.clone(), self.clock.now_ms());
        runtime.spawn(async move {
            let by = StepBy::Request(request.clone());
            match claims.step(&key, &by, &ClaimStep::Release, now_ms).await {
                Ok(Ok(_) | Err(StepRefusal::NoClaim)) => {}
                Ok(Err(refusal)) => {
                    tracing::warn!(id = %request, %refusal, "an unused payment stays claimed");
                }
                Err(error) => {
                    tracing::warn!(id = %request, %error, "an unused payment is given back later");
                }
            }
        });
    }

    /// Ends the request of a claim.
    async fn end(&self, claim: OpenClaim, command: Settle) -> Result<Settled, StoreError> {
        let charge = match &command.end {
            End::Capture(charge) => charge
                .provider_cost
                .checked_add(charge.spread)
                .unwrap_or(MicroUsd::MAX),
            End::Release => MicroUsd::ZERO,
            // The provider may still bill it. Who settles the claim finds out when its time is over.
            End::Unknown => {
                self.finish(&command);
                return Ok(self.settled(&command, MicroUsd::ZERO, MicroUsd::ZERO).await);
            }
        };
        let used = charge.min(claim.ceiling);
        let is_failed = command
            .record
            .as_ref()
            .is_none_or(|record| record.outcome == Outcome::Failed.as_str());
        let step = match used {
            MicroUsd::ZERO if is_failed => ClaimStep::Release,
            used => ClaimStep::Served { used },
        };
        if let Err(refusal) = self.step(&claim.key, &command.request, step).await? {
            tracing::error!(id = %command.request, %refusal, "the charge of a payment is not noted");
        }
        self.finish(&command);
        self.due.notify_one();
        let shortfall = charge.saturating_sub(used);
        Ok(self.settled(&command, used, shortfall).await)
    }

    fn finish(&self, command: &Settle) {
        self.locked().remove(&command.request);
        if let Some(record) = &command.record {
            self.ledger.record(record.clone());
        }
    }

    /// The answer of these books to a request that ended, with the credit of its wallet.
    async fn settled(&self, command: &Settle, charged: MicroUsd, shortfall: MicroUsd) -> Settled {
        // The credit is for display, so a store that does not answer is no failure.
        let credit = self.ledger.balance(&command.account).await;
        let credit = credit.ok().flatten().unwrap_or_default();
        Settled {
            charged,
            shortfall,
            available: credit.available,
            repeated: false,
        }
    }
}

impl Funds for ClaimedHolds {
    fn deposit(
        &self,
        command: Deposit,
    ) -> LedgerFuture<'_, Result<Result<Balance, LedgerRefusal>, StoreError>> {
        self.ledger.deposit(command)
    }

    fn balance<'a>(
        &'a self,
        account: &'a AccountId,
    ) -> LedgerFuture<'a, Result<Option<Balance>, StoreError>> {
        self.ledger.balance(account)
    }
}

impl Holds for ClaimedHolds {
    fn deposit_for<'a>(
        &'a self,
        command: Deposit,
        request: &'a RequestId,
    ) -> LedgerFuture<'a, Result<Result<Balance, LedgerRefusal>, StoreError>> {
        self.ledger.deposit_for(command, request)
    }

    fn reserve(
        &self,
        command: Reserve,
    ) -> LedgerFuture<'_, Result<Result<Reservation, LedgerRefusal>, StoreError>> {
        match self.hold(&command.request, |_| Some(command.amount)) {
            Some(answer) => Box::pin(std::future::ready(Ok(answer))),
            None => self.ledger.reserve(command),
        }
    }

    fn persist<'a>(
        &'a self,
        account: &'a AccountId,
        request: &'a RequestId,
    ) -> LedgerFuture<'a, Result<(), StoreError>> {
        let Some(claim) = self.found(request) else {
            return self.ledger.persist(account, request);
        };
        // Whoever has not heard that the answer may begin must not begin it.
        Box::pin(async move {
            let begun = self.step(&claim.key, request, ClaimStep::Serve).await?;
            begun.map_err(|refusal| StoreError::Unavailable(refusal.to_string()))
        })
    }

    fn extend<'a>(
        &'a self,
        account: &'a AccountId,
        request: &'a RequestId,
        by: MicroUsd,
        now_ms: u64,
    ) -> LedgerFuture<'a, Result<Result<Reservation, LedgerRefusal>, StoreError>> {
        match self.hold(request, |claim| {
            claim.held.unwrap_or_default().checked_add(by)
        }) {
            Some(answer) => Box::pin(std::future::ready(Ok(answer))),
            None => self.ledger.extend(account, request, by, now_ms),
        }
    }

    fn settle(&self, command: Settle) -> LedgerFuture<'_, Result<Settled, StoreError>> {
        match self.found(&command.request) {
            Some(claim) => Box::pin(self.end(claim, command)),
            None => self.ledger.settle(command),
        }
    }

    fn release(&self, account: &AccountId, request: &RequestId, now_ms: u64) {
        let found = self.locked().remove(request);
        match found {
            Some(claim) => self.give_back(claim.key, request.clone()),
            None => self.ledger.release(account, request, now_ms),
        }
    }

    fn record(&self, record: ReceiptRecord) {
        self.ledger.record(record);
    }
}
