//! Ending a hold.

use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;

use super::counters::{CapCounter, HeldCap};
use super::ended::Ended;
use super::{Account, Book};
use crate::command::{Charge, End, HoldState, HoldView, Settle, Settled};

/// What a request came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Paid {
    /// What the backend's clearing account is credited.
    pub provider_cost: MicroUsd,
    /// What we are credited.
    pub spread: MicroUsd,
    /// What the account should have paid beyond both.
    pub shortfall: MicroUsd,
}

impl Paid {
    /// What the account paid.
    #[must_use]
    pub fn charged(&self) -> MicroUsd {
        self.provider_cost
            .checked_add(self.spread)
            .expect("both were taken from one account")
    }
}

/// What came of ending a hold, in full: all that a journal needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// What was really taken. Where it is less than what was asked for, the backend's part is
    /// credited first and ours gets what is left: the backend is owed, we are not.
    pub paid: Paid,
    /// What the account can still spend.
    pub available: MicroUsd,
    /// It had ended before. The figures are those of that end, and nothing has changed.
    pub repeated: bool,
    /// The hold that this ended, or left as unknown, as it was before; `None` where there was
    /// none any more.
    pub hold: Option<HoldView>,
    /// The counters in which it was spent, as they are now.
    pub counters: Vec<CapCounter>,
}

impl Settlement {
    /// The short form that callers get.
    #[must_use]
    pub fn settled(&self) -> Settled {
        Settled {
            charged: self.paid.charged(),
            shortfall: self.paid.shortfall,
            available: self.available,
            repeated: self.repeated,
        }
    }
}

impl Book {
    /// Ends a hold, or leaves it as unknown. The first end counts: a later one, of whatever kind,
    /// changes nothing and answers what the first came to.
    ///
    /// A capture above the hold takes the difference from what is available, as far as the hold's
    /// caps leave room; the rest is the shortfall. A capture without a hold, because it expired or
    /// was never seen, takes all from what is available in the same way. An end that is unknown
    /// without a hold changes nothing.
    pub fn settle(&mut self, command: &Settle) -> Settlement {
        let (account, request) = (&command.account, &command.request);
        let caps: Box<[HeldCap]> = match self.ended.get(account, request) {
            Some(Ended::Settled(paid)) => {
                let paid = *paid;
                return self.nothing(account, paid, true);
            }
            Some(Ended::Expired(caps)) => caps.clone(),
            None => Box::default(),
        };
        match &command.end {
            End::Unknown => self.leave(account, request),
            End::Release => self.end(command, caps, None),
            End::Capture(charge) => self.end(command, caps, Some(charge)),
        }
    }

    fn leave(&mut self, account: &AccountId, request: &RequestId) -> Settlement {
        let hold = self
            .accounts
            .get_mut(account)
            .and_then(|found| found.holds.get_mut(request));
        let Some(hold) = hold else {
            return self.nothing(account, Paid::default(), false);
        };
        let before = hold.view(account, request);
        let repeated = hold.state == HoldState::Unknown;
        hold.state = HoldState::Unknown;
        self.expiries
            .remove(&(before.expires_at_ms, account.clone(), request.clone()));
        Settlement {
            hold: (!repeated).then_some(before),
            ..self.nothing(account, Paid::default(), repeated)
        }
    }

    fn end(
        &mut self,
        command: &Settle,
        expired_caps: Box<[HeldCap]>,
        charge: Option<&Charge>,
    ) -> Settlement {
        let (id, request) = (&command.account, &command.request);
        let hold = self
            .accounts
            .get_mut(id)
            .and_then(|found| found.take(request));
        let view = hold.as_ref().map(|hold| hold.view(id, request));
        let (held, caps) = hold.map_or((MicroUsd::ZERO, expired_caps), |hold| {
            (hold.amount, hold.caps)
        });
        // The hold's own part is within its caps already; beyond it there is only what they leave.
        let room = self
            .counters
            .room(&caps)
            .map(|room| room.checked_add(held).unwrap_or(MicroUsd::MAX));
        if let Some(view) = &view {
            self.counters.release(&caps, held);
            self.expiries
                .remove(&(view.expires_at_ms, id.clone(), request.clone()));
        }
        let mut paid = Paid::default();
        let mut counters = Vec::new();
        if let Some(charge) = charge {
            let available = self
                .accounts
                .get(id)
                .map_or(MicroUsd::ZERO, Account::available);
            paid = take(charge, available.min(room.unwrap_or(available)));
            if paid.charged() > MicroUsd::ZERO {
                counters = self.counters.spend(&caps, paid.charged());
                self.accounts
                    .get_mut(id)
                    .expect("something was available")
                    .spend(paid.charged());
            }
        }
        self.ended.insert(
            id.clone(),
            request.clone(),
            Ended::Settled(paid),
            command.now_ms,
        );
        Settlement {
            hold: view,
            counters,
            ..self.nothing(id, paid, false)
        }
    }

    fn nothing(&self, account: &AccountId, paid: Paid, repeated: bool) -> Settlement {
        Settlement {
            paid,
            available: self
                .accounts
                .get(account)
                .map_or(MicroUsd::ZERO, Account::available),
            repeated,
            hold: None,
            counters: Vec::new(),
        }
    }
}

/// Takes a charge out of at most `reach`: the backend's part first.
fn take(charge: &Charge, reach: MicroUsd) -> Paid {
    let provider_cost = charge.provider_cost.min(reach);
    let spread = charge.spread.min(reach.saturating_sub(provider_cost));
    let missing = charge.provider_cost.saturating_sub(provider_cost);
    Paid {
        provider_cost,
        spread,
        shortfall: missing
            .checked_add(charge.spread.saturating_sub(spread))
            .unwrap_or(MicroUsd::MAX),
    }
}
