//! The settlement of claims: from what is owed to what is booked, one durable step after the other.

mod booking;
mod gaps;
mod paying;
mod remote;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bardo_ledger::claims::{
    AuthorizationKey, ChainHash, ClaimBook, ClaimOrder, ClaimRecord, ClaimStage, ClaimStep,
    ServiceStage, StepBy,
};
use bardo_ledger::{Charge, Holds, LedgerFuture, StoreError};
use bardo_types::ids::RequestId;
use bardo_types::money::MicroUsd;
use bardo_x402::verify::SettlementPlan;
use tokio::time::Instant;

use self::gaps::NonceGaps;
use crate::facilitator::SettlementSender;
use crate::reader::{ChainReader, ReadError};
use crate::rpc::RpcFuture;
use crate::sender::{ChainSender, TransactionError};

/// How claims are settled.
#[derive(Debug, Clone, Copy)]
pub struct SettlerTerms {
    /// Blocks after which a settlement is final and booked.
    pub confirmations: u64,
    /// Milliseconds after which a transaction that is in no block is replaced by a dearer one.
    pub bump_ms: u64,
    /// Milliseconds of a block.
    pub block_ms: u64,
    /// Claims that are worked on at a time.
    pub at_once: u32,
}

/// What the gateway knows of the requests that claims pay for.
pub trait RequestEnds: Send + Sync {
    /// What the answer of a request that says nothing any more came to, by its receipt; `None`
    /// where there is none.
    fn used<'a>(
        &'a self,
        claim: &'a ClaimRecord,
    ) -> LedgerFuture<'a, Result<Option<MicroUsd>, StoreError>>;

    /// The parts of the charge of an answer, which add up to this amount.
    fn charge<'a>(
        &'a self,
        claim: &'a ClaimRecord,
        total: MicroUsd,
    ) -> LedgerFuture<'a, Result<Charge, StoreError>>;
}

/// Settles claims on a chain. Several may work on one store: each claim is leased to one.
pub struct ClaimSettler {
    name: String,
    claims: ClaimBook,
    ledger: Arc<dyn Holds>,
    ends: Arc<dyn RequestEnds>,
    reader: ChainReader,
    sender: SettlementSender,
    terms: SettlerTerms,
    /// When a facilitator was asked for claims last.
    asked: Mutex<HashMap<ChainHash, Instant>>,
    /// Nonces that no transaction uses.
    gaps: Mutex<NonceGaps>,
    /// Transactions that are in no block, and since when this settler waits for them.
    pending: Mutex<HashMap<ChainHash, Instant>>,
}

/// What a round of work came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SettledCounts {
    /// Claims that were due.
    pub due: usize,
    /// Those of which a store or the chain said nothing.
    pub unknown: usize,
}

/// Why work on a claim stopped. It goes on when the claim is due again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stopped {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Another settler has the claim.
    #[error("another settler has the claim")]
    Lost,
}

/// Milliseconds for which a claim is leased.
const LEASE_MS: u64 = 10_000;
/// The pause before a claim is looked at again while somebody waits for it.
const PAUSE: Duration = Duration::from_millis(40);
/// How long a settler remembers since when it waits for a transaction.
const FORGOTTEN: Duration = Duration::from_hours(1);
/// Unused nonces that are filled in one round.
const FILLED_AT_ONCE: usize = 64;

impl ClaimSettler {
    /// A settler of this name, which is unlike those of other instances.
    #[must_use]
    pub fn new(
        name: String,
        (claims, ledger): (ClaimBook, Arc<dyn Holds>),
        ends: Arc<dyn RequestEnds>,
        reader: ChainReader,
        sender: SettlementSender,
        terms: SettlerTerms,
    ) -> Self {
        Self {
            name,
            claims,
            ledger,
            ends,
            reader,
            sender,
            terms,
            asked: Mutex::default(),
            gaps: Mutex::default(),
            pending: Mutex::default(),
        }
    }

    /// The reader of the chain.
    #[must_use]
    pub fn reader(&self) -> &ChainReader {
        &self.reader
    }

    /// Takes all claims that are due as far as they go now.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn settle_due(&self, now_ms: u64) -> RpcFuture<'_, Result<SettledCounts, StoreError>> {
        // Boxed, so that it is compiled in this crate.
        Box::pin(self.settle_all(now_ms))
    }

    async fn settle_all(&self, now_ms: u64) -> Result<SettledCounts, StoreError> {
        let until_ms = now_ms + LEASE_MS;
        let limit = self.terms.at_once;
        let due = self.claims.store();
        let due = due.lease_due(&self.name, now_ms, until_ms, limit).await?;
        let mut counts = SettledCounts {
            due: due.len(),
            unknown: 0,
        };
        let work = due.into_iter().map(|claim| self.work(claim, now_ms));
        for worked in futures_util::future::join_all(work).await {
            if let Err(stopped) = worked {
                counts.unknown += 1;
                tracing::debug!(%stopped, "a settlement goes on later");
            }
        }
        if let SettlementSender::Own(sender) = &self.sender
            && let Err(stopped) = self.fill_gaps(sender, now_ms).await
        {
            let needs_gas = matches!(
                stopped,
                TransactionError::TooDear { .. } | TransactionError::GasBudget(_)
            );
            match needs_gas {
                true => tracing::warn!(%stopped, "the gaps between nonces are not filled"),
                false => tracing::debug!(%stopped, "the gaps between nonces are not filled"),
            }
        }
        Ok(counts)
    }

    /// Settles one claim, and answers it as it is when the chain has decided or `wait` has passed.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn settle_now<'a>(
        &'a self,
        key: &'a AuthorizationKey,
        wait: Duration,
        clock: &'a (dyn Fn() -> u64 + Sync),
    ) -> RpcFuture<'a, Result<Option<ClaimRecord>, StoreError>> {
        Box::pin(self.settle_one(key, wait, clock))
    }

    async fn settle_one(
        &self,
        key: &AuthorizationKey,
        wait: Duration,
        clock: &(dyn Fn() -> u64 + Sync),
    ) -> Result<Option<ClaimRecord>, StoreError> {
        let until = Instant::now() + wait;
        loop {
            let now_ms = clock();
            let lease = ClaimStep::Lease {
                owner: self.name.clone(),
                until_ms: now_ms + LEASE_MS,
            };
            let leased = self.claims.step(key, &StepBy::Operator, &lease, now_ms);
            if let Ok(Some(claim)) = leased.await?
                && let Err(stopped) = self.work(claim, now_ms).await
            {
                tracing::debug!(%stopped, "a settlement goes on later");
            }
            let claim = self.claims.store().view(key).await?.claim;
            let is_open = claim.as_ref().is_some_and(ClaimRecord::is_open);
            if !is_open || Instant::now() >= until {
                return Ok(claim);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Takes a leased claim as far as it goes, and ends the lease.
    async fn work(&self, mut claim: ClaimRecord, now_ms: u64) -> Result<(), Stopped> {
        let (key, number) = (claim.key, claim.lease_no);
        let is_first = claim.stage != ClaimStage::Settling;
        let worked = async {
            while let Some(step) = self.next_step(&claim, is_first, now_ms).await? {
                let is_over = matches!(step, ClaimStep::Defer { .. } | ClaimStep::Fail { .. });
                let Some(after) = self.step(&claim, step, now_ms).await? else {
                    return Ok(());
                };
                claim = after;
                if is_over {
                    return Ok(());
                }
            }
            self.book_final(&claim, now_ms).await
        };
        let worked: Result<(), Stopped> = worked.await;
        if let Err(stopped @ (Stopped::Store(_) | Stopped::Read(_))) = &worked {
            // So that another settler need not wait for the end of the lease.
            let defer = ClaimStep::Defer {
                until_ms: now_ms + self.terms.block_ms,
                reason: stopped.to_string(),
            };
            let by = StepBy::Lease(number);
            let _ = self.claims.step(&key, &by, &defer, now_ms).await;
        }
        worked
    }

    /// A step under the lease; `None` where the claim is gone.
    async fn step(
        &self,
        claim: &ClaimRecord,
        step: ClaimStep,
        now_ms: u64,
    ) -> Result<Option<ClaimRecord>, Stopped> {
        let by = StepBy::Lease(claim.lease_no);
        let after = self.claims.step(&claim.key, &by, &step, now_ms).await?;
        match after {
            Ok(after) => {
                if let (ClaimStep::Send { transaction, .. }, Some(_)) = (&step, &after)
                    && let SettlementSender::Own(sender) = &self.sender
                {
                    // It is durable: whoever comes next sends it again.
                    sender.broadcast(transaction).await;
                }
                Ok(after)
            }
            Err(refusal) => {
                tracing::debug!(%refusal, claim = %claim.key, "a step of a settlement is refused");
                Err(Stopped::Lost)
            }
        }
    }

    /// What to do next with a claim; `None` where nothing is to be done on the chain now.
    async fn next_step(
        &self,
        claim: &ClaimRecord,
        is_first: bool,
        now_ms: u64,
    ) -> Result<Option<ClaimStep>, Stopped> {
        let is_stale = claim.stale_at_ms <= now_ms;
        match (claim.stage, claim.service) {
            (ClaimStage::Failed | ClaimStage::Void, _) => Ok(None),
            (ClaimStage::Settled, _) => self.confirm(claim, is_stale, now_ms).await,
            (ClaimStage::Claimed, ServiceStage::Pending) if is_stale => {
                // Anybody may have sent the payment meanwhile.
                let paid = self.paid_by_others(claim, now_ms).await?;
                Ok(Some(paid.unwrap_or(ClaimStep::Release)))
            }
            (ClaimStage::Claimed, ServiceStage::Pending)
                if claim.order == ClaimOrder::SettleFirst =>
            {
                Ok(Some(self.begin(claim, now_ms).await?))
            }
            (ClaimStage::Claimed, ServiceStage::Started) if is_stale => {
                Ok(Some(self.ended(claim).await?))
            }
            (ClaimStage::Claimed, _) => Ok(None),
            (ClaimStage::Owed, _) => Ok(Some(self.begin(claim, now_ms).await?)),
            (ClaimStage::Settling, _) => Ok(Some(match &self.sender {
                SettlementSender::Own(sender) => self.look(sender, claim, now_ms).await?,
                SettlementSender::Facilitator(facilitator) => {
                    self.ask(claim, facilitator, is_first, now_ms).await?
                }
            })),
        }
    }

    /// The first step on the chain.
    async fn begin(&self, claim: &ClaimRecord, now_ms: u64) -> Result<ClaimStep, Stopped> {
        match &self.sender {
            SettlementSender::Own(sender) => self.pay(sender, claim, now_ms).await,
            SettlementSender::Facilitator(_) => Ok(Self::submitted(claim, now_ms)),
        }
    }

    /// What a request came to that says nothing any more: what its receipt says, else nothing.
    async fn ended(&self, claim: &ClaimRecord) -> Result<ClaimStep, Stopped> {
        let used = self.ends.used(claim).await?.unwrap_or_default();
        let used = used.min(claim.ceiling);
        Ok(ClaimStep::Served { used })
    }

    fn plan(claim: &ClaimRecord) -> Result<SettlementPlan, Stopped> {
        let plan = SettlementPlan::decode(&claim.payload);
        let damaged = || StoreError::Damaged(format!("the payload of {} is not ours", claim.key));
        Ok(plan.ok_or_else(damaged)?)
    }

    /// For how long this settler has waited for a transaction. Claims do not say when it was sent.
    fn waited(&self, transaction: ChainHash) -> Duration {
        let pending = self.pending.lock();
        let mut pending = pending.unwrap_or_else(PoisonError::into_inner);
        pending.retain(|_, since| since.elapsed() < FORGOTTEN);
        let since = pending.entry(transaction).or_insert_with(Instant::now);
        since.elapsed()
    }

    /// Uses up the nonces that were given out and that no transaction has, since they hold up all
    /// later ones.
    async fn fill_gaps(&self, sender: &ChainSender, now_ms: u64) -> Result<(), TransactionError> {
        let Some(next) = sender.next_nonce().await? else {
            return Ok(());
        };
        let mined = sender.mined_nonce().await?;
        let used = match mined < next {
            true => self.used_nonces(sender).await?,
            false => HashSet::new(),
        };
        if mined >= next || used.contains(&mined) {
            self.gaps().clear();
            return Ok(());
        }
        let Some(overdue) = self.gaps().overdue(mined, next, Instant::now()) else {
            return Ok(());
        };
        let unused = overdue.nonces.filter(|nonce| !used.contains(nonce));
        for nonce in unused.take(FILLED_AT_ONCE) {
            let filler = sender.filler(nonce, overdue.tries, now_ms).await?;
            tracing::warn!(nonce, hash = %filler.hash, "a nonce without a transaction is filled");
            sender.broadcast(&filler).await;
        }
        Ok(())
    }

    fn gaps(&self) -> MutexGuard<'_, NonceGaps> {
        self.gaps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The id of a request, for whoever reads the log.
pub(crate) fn id(claim: &ClaimRecord) -> &RequestId {
    &claim.request
}
