//! Growth of a hold while a stream runs.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bardo_ledger::hold::Slices;
use bardo_ledger::{Holds, LedgerRefusal, Reservation, StoreError};
use bardo_types::error_code::ErrorCode;
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::money::MicroUsd;
use tokio::time::Instant;

use crate::record::RequestRecord;
use crate::unseen::Work;

/// Whether what is held pays for what was delivered.
pub(super) enum HoldCoverage {
    Enough,
    /// The books are being asked for more.
    Asking,
    /// There is no more; the answer has to end with this.
    Unsettled(Fault),
}

type PendingExtension =
    Pin<Box<dyn Future<Output = Result<Result<Reservation, LedgerRefusal>, StoreError>> + Send>>;

/// Holds more money in slices while an answer without a limit flows.
pub(super) struct HoldTopUp {
    ledger: Arc<dyn Holds>,
    policy: Slices,
    asking: Option<PendingExtension>,
    /// Why no more is to be had.
    refused: Option<Fault>,
    /// The tokens that were looked at last and were covered well.
    looked: Option<u64>,
    /// When everything that the provider had sent was last taken from it. A caller who reads
    /// slowly keeps it waiting, and it writes on meanwhile.
    caught_up: Instant,
    work: Work,
}

impl HoldTopUp {
    /// `None` where nothing is held, or what is held suffices.
    pub(super) fn of(record: &RequestRecord) -> Option<Self> {
        record.hold()?;
        Some(Self {
            ledger: record.services().ledger.clone()?,
            policy: record.slices()?,
            asking: None,
            refused: None,
            looked: None,
            caught_up: Instant::now(),
            work: record.work(Instant::now()).unwrap_or_default(),
        })
    }

    /// The provider has nothing more at hand.
    pub(super) fn caught_up(&mut self) {
        self.caught_up = Instant::now();
    }

    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        record: &mut RequestRecord,
    ) -> HoldCoverage {
        loop {
            if let Some(asking) = &mut self.asking
                && let Poll::Ready(answer) = asking.as_mut().poll(cx)
            {
                (self.asking, self.looked) = (None, None);
                self.take(answer, record);
                // What it asks next has to be polled before anybody waits for it.
                continue;
            }
            let behind = self.work.tokens_in(self.caught_up.elapsed());
            let delivered = record.output_so_far().saturating_add(behind);
            if self.looked == Some(delivered) {
                return HoldCoverage::Enough;
            }
            let held = record.hold().unwrap_or_default();
            let metered = record.metered(delivered).unwrap_or(MicroUsd::MAX);
            let more = self.policy.next(metered, held);
            match more {
                None => {
                    self.looked = Some(delivered);
                    return HoldCoverage::Enough;
                }
                Some(by) if self.asking.is_none() && self.refused.is_none() => {
                    self.extend(record, by);
                    continue;
                }
                Some(_) => {}
            }
            return match &self.refused {
                _ if !self.policy.is_spent(metered, held) => HoldCoverage::Enough,
                Some(fault) => HoldCoverage::Unsettled(fault.clone()),
                None => HoldCoverage::Asking,
            };
        }
    }

    fn extend(&mut self, record: &RequestRecord, by: MicroUsd) {
        let ledger = Arc::clone(&self.ledger);
        let receipt = record.receipt();
        let (account, request) = (receipt.account.clone(), receipt.request_id.clone());
        let now_ms = record.services().clock.now_ms();
        self.asking = Some(Box::pin(async move {
            ledger.extend(&account, &request, by, now_ms).await
        }));
    }

    fn take(
        &mut self,
        answer: Result<Result<Reservation, LedgerRefusal>, StoreError>,
        record: &mut RequestRecord,
    ) {
        let refusal = match answer {
            Ok(Ok(reservation)) => {
                record.held(&reservation);
                return;
            }
            Ok(Err(refusal)) => refusal,
            Err(error) => {
                tracing::warn!(%error, "cannot extend a hold");
                let message = "the answer ends here: the ledger is unavailable";
                let fault = Fault::new(FaultClass::Overloaded, message);
                self.refused = Some(
                    fault
                        .with_own_code(ErrorCode::StoreUnavailable)
                        .with_status(503),
                );
                return;
            }
        };
        let (room, code, message) = match refusal {
            LedgerRefusal::Insufficient { available, .. } => (
                available,
                ErrorCode::InsufficientFunds,
                "the answer ends here: the balance of the account is used up",
            ),
            LedgerRefusal::Capped { limit, used, .. } => (
                limit.saturating_sub(used),
                ErrorCode::BudgetExceeded,
                "the answer ends here: a spending cap is reached",
            ),
            LedgerRefusal::NoAccount(_)
            | LedgerRefusal::Duplicate(_)
            | LedgerRefusal::NoHold(_)
            | LedgerRefusal::Overflow => (
                MicroUsd::ZERO,
                ErrorCode::InsufficientFunds,
                "the answer ends here: no more money can be reserved for it",
            ),
        };
        match self.policy.last(room) {
            Some(rest) => self.extend(record, rest),
            None => {
                let fault = Fault::new(FaultClass::Payment, message);
                self.refused = Some(fault.with_own_code(code).with_status(402));
            }
        }
    }
}
