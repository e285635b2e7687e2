use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bardo_ledger::{Ledger, Refusal, Reservation, StoreError};
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::money::MicroUsd;

use crate::meter::Meter;
use crate::tab::Tab;
use crate::world::Billing;

/// Bytes of content that come to a token at least, over a whole answer.
const TOKEN_BYTES: u64 = 3;

/// Whether what is held pays for what was delivered.
pub(super) enum Cover {
    Enough,
    /// The books are being asked for more.
    Asking,
    /// There is no more; the answer has to end with this.
    Ended(Fault),
}

type Asked = Pin<Box<dyn Future<Output = Result<Result<Reservation, Refusal>, StoreError>> + Send>>;

/// Holds more money in slices while an answer without a limit flows.
pub(super) struct Slices {
    ledger: Arc<dyn Ledger>,
    /// Tokens of output that one slice pays for.
    slice: u64,
    asking: Option<Asked>,
    /// Why no more is to be had.
    refused: Option<Fault>,
    /// The tokens that were looked at last, and what they came to.
    looked: Option<u64>,
}

impl Slices {
    /// `None` where nothing is held.
    pub(super) fn of(tab: &Tab, billing: &Billing) -> Option<Self> {
        tab.hold?;
        Some(Self {
            ledger: tab.services.ledger.clone()?,
            slice: billing.first_slice.max(1),
            asking: None,
            refused: None,
            looked: None,
        })
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>, tab: &mut Tab) -> Cover {
        loop {
            if let Some(asking) = &mut self.asking
                && let Poll::Ready(answer) = asking.as_mut().poll(cx)
            {
                self.asking = None;
                self.looked = None;
                self.take(answer, tab);
                // What it asks next has to be polled before anybody waits for it.
                continue;
            }
            let delivered = delivered(tab);
            if self.looked == Some(delivered) {
                return Cover::Enough;
            }
            let held = tab.hold.unwrap_or_default();
            // Asked for before it is needed, so that the answer does not have to pause.
            let ahead = delivered.saturating_add(self.slice / 2);
            if tab.running(ahead).is_some_and(|ahead| ahead <= held) {
                self.looked = Some(delivered);
                return Cover::Enough;
            }
            if self.asking.is_none() && self.refused.is_none() {
                self.ask(tab, delivered.saturating_add(self.slice.saturating_mul(2)));
                continue;
            }
            let is_covered = tab.running(delivered).is_some_and(|due| due < held);
            return match (&self.refused, &self.asking) {
                _ if is_covered => Cover::Enough,
                (Some(fault), _) => Cover::Ended(fault.clone()),
                (None, Some(_)) => Cover::Asking,
                (None, None) => Cover::Enough,
            };
        }
    }

    /// Asks for as much as pays for so many tokens in all.
    fn ask(&mut self, tab: &Tab, tokens: u64) {
        let held = tab.hold.unwrap_or_default();
        let wanted = tab.running(tokens).unwrap_or(MicroUsd::MAX);
        self.extend(tab, wanted.saturating_sub(held));
    }

    fn extend(&mut self, tab: &Tab, by: MicroUsd) {
        let ledger = Arc::clone(&self.ledger);
        let (account, request) = (tab.receipt.account.clone(), tab.receipt.request_id.clone());
        let now_ms = tab.services.clock.now_ms();
        self.asking = Some(Box::pin(async move {
            ledger.extend(&account, &request, by, now_ms).await
        }));
    }

    fn take(&mut self, answer: Result<Result<Reservation, Refusal>, StoreError>, tab: &mut Tab) {
        let refusal = match answer {
            Ok(Ok(reservation)) => {
                tab.hold = Some(reservation.held);
                tab.available = Some(reservation.available);
                return;
            }
            Ok(Err(refusal)) => refusal,
            Err(error) => {
                tracing::warn!(%error, "a hold could not be extended");
                let message = "the answer ends here: the gateway's books do not answer";
                let fault = Fault::new(FaultClass::Overloaded, message);
                self.refused = Some(fault.with_code("store_unavailable").with_status(503));
                return;
            }
        };
        let (room, code, message) = match refusal {
            Refusal::Insufficient { available, .. } => (
                available,
                "insufficient_funds",
                "the answer ends here: the account's balance is used up",
            ),
            Refusal::Capped { limit, used, .. } => (
                limit.saturating_sub(used),
                "budget_exceeded",
                "the answer ends here: a cap of spending is reached",
            ),
            Refusal::NoAccount(_)
            | Refusal::Duplicate(_)
            | Refusal::NoHold(_)
            | Refusal::Overflow => (
                MicroUsd::ZERO,
                "insufficient_funds",
                "the answer ends here: no more money can be held for it",
            ),
        };
        if room > MicroUsd::ZERO {
            // The rest of what there is.
            self.extend(tab, room);
        } else {
            let fault = Fault::new(FaultClass::Payment, message);
            self.refused = Some(fault.with_code(code).with_status(402));
        }
    }
}

/// Tokens of output so far: what the provider reported, or what the bytes come to at most.
fn delivered(tab: &mut Tab) -> u64 {
    let seen = tab.meter.as_mut().map_or(0, |meter| {
        Meter::estimate_bytes(meter).div_ceil(TOKEN_BYTES)
    });
    let reported = tab.receipt.usage.as_ref().map_or(0, |usage| usage.output);
    seen.max(reported)
}
