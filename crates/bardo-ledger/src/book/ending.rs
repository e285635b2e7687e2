//! Ending a hold in two steps, for stores that write the end down in between.
//!
//! Between [`Book::prepare`] and [`Book::finish`] the money stays out of reach: what the end frees
//! is free only once it is on record, and what it takes beyond the hold is held at once. So an end
//! that could not be written is taken back exactly ([`Book::abandon`]), whatever else happened in
//! the meantime.

#[cfg(test)]
mod tests;

use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;

use super::account::Hold;
use super::counters::HeldCap;
use super::ended::Ended;
use super::pair::RequestKeyRef;
use super::settle::{SettledCost, Settlement};
use super::{Account, Book};
use crate::caps::{Cap, CapScope, CapWindow};
use crate::command::{Charge, End, HoldState, HoldView, Settle};

/// The state of an end before it is finished.
#[derive(Debug)]
pub enum PreparedEnd {
    /// Nothing has to be written: it ended before, or there is nothing to leave as unknown.
    Ended(Settlement),
    /// Another command is ending this hold now; try again afterwards.
    Ending,
    /// To be written, and then finished or abandoned.
    Pending(PendingEnd),
}

/// An end that is decided and not yet on record.
#[derive(Debug)]
#[must_use = "money stays out of reach until it is finished or abandoned"]
pub struct PendingEnd {
    account: AccountId,
    request: RequestId,
    now_ms: u64,
    step: EndStep,
}

#[derive(Debug)]
enum EndStep {
    /// The hold stays, and nobody knows whether the provider bills.
    Leave {
        before: HoldView,
        caps: Box<[HeldCap]>,
    },
    End {
        before: Option<HoldView>,
        caps: Box<[HeldCap]>,
        paid: SettledCost,
        /// The amount above the hold that is taken too.
        growth: MicroUsd,
        /// The hold had expired, and is made anew for as long as this takes.
        is_late: bool,
    },
}

impl PendingEnd {
    /// The amounts that will be taken.
    #[must_use]
    pub fn paid(&self) -> SettledCost {
        match &self.step {
            EndStep::Leave { .. } => SettledCost::default(),
            EndStep::End { paid, .. } => *paid,
        }
    }

    /// The hold as it was; `None` where there was none any more.
    #[must_use]
    pub fn hold(&self) -> Option<&HoldView> {
        match &self.step {
            EndStep::Leave { before, .. } => Some(before),
            EndStep::End { before, .. } => before.as_ref(),
        }
    }

    /// Whether the hold stays, as one of unknown outcome.
    #[must_use]
    pub fn leaves_unknown(&self) -> bool {
        matches!(self.step, EndStep::Leave { .. })
    }

    /// The counters in which what is taken will be spent: scope, window and its beginning.
    pub fn counters(&self) -> impl Iterator<Item = (&CapScope, CapWindow, u64)> {
        self.held_caps().iter().map(|cap| cap.key.parts())
    }

    /// The caps that the hold was made under.
    #[must_use]
    pub fn caps(&self) -> Vec<Cap> {
        self.held_caps().iter().map(HeldCap::cap).collect()
    }

    fn held_caps(&self) -> &[HeldCap] {
        match &self.step {
            EndStep::Leave { caps, .. } | EndStep::End { caps, .. } => caps,
        }
    }
}

impl Book {
    /// Decides how a hold ends, by the rules of [`Self::settle`], and changes nothing that anybody
    /// could spend.
    #[must_use]
    pub fn prepare(&mut self, command: &Settle) -> PreparedEnd {
        let (account, request) = (&command.account, &command.request);
        if self.is_ending(account, request) {
            return PreparedEnd::Ending;
        }
        // A hold that there is has not ended.
        let ended = match self.hold_state(account, request) {
            Some(_) => None,
            None => self.ended.get(account, request),
        };
        let (caps, is_late) = match ended {
            Some(Ended::Settled(paid)) => {
                let paid = *paid;
                return PreparedEnd::Ended(self.nothing(account, paid, true));
            }
            Some(Ended::Expired(caps)) => (caps.clone(), true),
            None => (Box::default(), false),
        };
        let step = match &command.end {
            End::Unknown => {
                let hold = self
                    .accounts
                    .get(account)
                    .and_then(|found| found.holds.get(request));
                let is_unknown = hold.is_some_and(|hold| hold.state == HoldState::Unknown);
                match hold {
                    Some(hold) if !is_unknown => EndStep::Leave {
                        before: hold.view(account, request),
                        caps: hold.caps.clone(),
                    },
                    _ => {
                        let nothing = self.nothing(account, SettledCost::default(), is_unknown);
                        return PreparedEnd::Ended(nothing);
                    }
                }
            }
            End::Release => self.decide(command, caps, is_late, None),
            End::Capture(charge) => self.decide(command, caps, is_late, Some(charge)),
        };
        self.ending.insert((account.clone(), request.clone()));
        PreparedEnd::Pending(PendingEnd {
            account: account.clone(),
            request: request.clone(),
            now_ms: command.now_ms,
            step,
        })
    }

    /// Carries a prepared end out.
    pub fn finish(&mut self, pending: PendingEnd) -> Settlement {
        let PendingEnd {
            account: id,
            request,
            now_ms,
            step,
        } = pending;
        self.ending.remove(&RequestKeyRef(&id, &request));
        match step {
            EndStep::Leave { before, .. } => {
                if let Some(hold) = self.hold_mut(&id, &request) {
                    hold.state = HoldState::Unknown;
                }
                self.expiries
                    .remove(&(before.expires_at_ms, id.clone(), request));
                Settlement {
                    hold: Some(before),
                    ..self.nothing(&id, SettledCost::default(), false)
                }
            }
            EndStep::End {
                before, caps, paid, ..
            } => {
                self.let_go(&id, &request);
                let mut counters = Vec::new();
                if paid.charged() > MicroUsd::ZERO {
                    counters = self.counters.spend(&caps, paid.charged());
                    self.accounts
                        .get_mut(&id)
                        .expect("what is paid was held")
                        .spend(paid.charged());
                }
                // The book's own id, so that the one of the request is freed with the request.
                let known = self.accounts.get_key_value(&id);
                let account = known.map_or(&id, |(known, _)| known).clone();
                self.ended
                    .insert(account, request, Ended::Settled(paid), now_ms);
                Settlement {
                    hold: before,
                    counters,
                    ..self.nothing(&id, paid, false)
                }
            }
        }
    }

    /// Takes a prepared end back: the hold is as it was.
    pub fn abandon(&mut self, pending: PendingEnd) {
        let PendingEnd {
            account: id,
            request,
            now_ms,
            step,
        } = pending;
        self.ending.remove(&RequestKeyRef(&id, &request));
        let EndStep::End {
            before,
            caps,
            growth,
            is_late,
            ..
        } = step
        else {
            return;
        };
        if before.is_none() {
            self.let_go(&id, &request);
            if is_late {
                self.ended.insert(id, request, Ended::Expired(caps), now_ms);
            }
        } else if growth > MicroUsd::ZERO {
            self.counters.release(&caps, growth);
            let account = self.accounts.get_mut(&id).expect("it has a hold");
            account.shrink(&request, growth);
        }
    }

    /// Whether the hold is between [`Self::prepare`] and its end.
    #[must_use]
    pub fn is_ending(&self, account: &AccountId, request: &RequestId) -> bool {
        !self.ending.is_empty() && self.ending.contains(&RequestKeyRef(account, request))
    }

    fn decide(
        &mut self,
        command: &Settle,
        expired_caps: Box<[HeldCap]>,
        is_late: bool,
        charge: Option<&Charge>,
    ) -> EndStep {
        let (id, request) = (&command.account, &command.request);
        let hold = self
            .accounts
            .get(id)
            .and_then(|found| found.holds.get(request));
        let before = hold.map(|hold| hold.view(id, request));
        let (held, caps) = hold.map_or((MicroUsd::ZERO, expired_caps), |hold| {
            (hold.amount, hold.caps.clone())
        });
        let paid = charge.map_or_else(SettledCost::default, |charge| {
            let available = self
                .accounts
                .get(id)
                .map_or(MicroUsd::ZERO, Account::available);
            // The hold's own part is within its caps already; beyond it there is only what they
            // leave.
            let beyond = self
                .counters
                .room(&caps)
                .map_or(available, |room| room.min(available));
            charge.within(held.checked_add(beyond).unwrap_or(MicroUsd::MAX))
        });
        let growth = paid.charged().saturating_sub(held);
        if growth > MicroUsd::ZERO {
            self.grow(command, &caps, growth);
        }
        EndStep::End {
            before,
            caps,
            paid,
            growth,
            is_late,
        }
    }

    /// Holds `growth` more, in the hold that there is or in one that lasts until the end is on
    /// record.
    fn grow(&mut self, command: &Settle, caps: &[HeldCap], growth: MicroUsd) {
        let (id, request) = (&command.account, &command.request);
        self.counters.hold(caps, growth);
        let account = self
            .accounts
            .get_mut(id)
            .expect("something was available in it");
        account
            .hold_more(growth)
            .expect("no more is taken than is available");
        if let Some(hold) = account.holds.get_mut(request) {
            hold.amount = hold.amount.checked_add(growth).unwrap_or(MicroUsd::MAX);
            return;
        }
        let hold = Hold {
            amount: growth,
            state: HoldState::Open,
            created_at_ms: command.now_ms,
            expires_at_ms: u64::MAX,
            caps: caps.into(),
        };
        account.holds.insert(request.clone(), hold);
        self.ended.remove(id, request);
        self.expiries
            .insert((u64::MAX, id.clone(), request.clone()));
    }

    /// Takes a hold out, if there is one; its money is available again.
    fn let_go(&mut self, id: &AccountId, request: &RequestId) {
        let hold = self
            .accounts
            .get_mut(id)
            .and_then(|found| found.take(request));
        if let Some(hold) = hold {
            self.counters.release(&hold.caps, hold.amount);
            self.expiries
                .remove(&(hold.expires_at_ms, id.clone(), request.clone()));
        }
    }

    fn hold_mut(&mut self, account: &AccountId, request: &RequestId) -> Option<&mut Hold> {
        self.accounts.get_mut(account)?.holds.get_mut(request)
    }
}
