//! One account and its holds.

use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;
use hashbrown::HashMap;

use super::counters::HeldCap;
use crate::command::{Balance, HoldState, HoldView, LedgerRefusal};

/// `spent` + `held` never exceeds `deposited`.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) deposited: MicroUsd,
    pub(super) spent: MicroUsd,
    /// The sum of `holds`.
    pub(super) held: MicroUsd,
    /// Deposits on their way, which belong to requests already: see [`super::Book::promise`].
    pub(super) promised: MicroUsd,
    pub(super) holds: HashMap<RequestId, Hold>,
}

#[derive(Debug)]
pub(super) struct Hold {
    pub(super) amount: MicroUsd,
    pub(super) state: HoldState,
    pub(super) created_at_ms: u64,
    pub(super) expires_at_ms: u64,
    pub(super) caps: Box<[HeldCap]>,
}

impl Account {
    pub(super) fn available(&self) -> MicroUsd {
        self.unheld().saturating_sub(self.promised)
    }

    /// What was deposited and is neither spent nor held. Less than what is promised where a deposit
    /// is on its way: its money is not among the deposits yet.
    fn unheld(&self) -> MicroUsd {
        self.deposited
            .saturating_sub(self.spent)
            .saturating_sub(self.held)
    }

    pub(super) fn balance(&self) -> Balance {
        Balance {
            deposited: self.deposited,
            spent: self.spent,
            held: self.held,
            available: self.available(),
        }
    }

    pub(super) fn check(&self, needed: MicroUsd) -> Result<(), LedgerRefusal> {
        let available = self.available();
        if needed > available {
            return Err(LedgerRefusal::Insufficient { needed, available });
        }
        Ok(())
    }

    pub(super) fn hold_more(&mut self, amount: MicroUsd) -> Result<(), LedgerRefusal> {
        self.check(amount)?;
        self.held = self
            .held
            .checked_add(amount)
            .ok_or(LedgerRefusal::Overflow)?;
        Ok(())
    }

    /// Takes a hold out; its amount is available again.
    pub(super) fn take(&mut self, request: &RequestId) -> Option<Hold> {
        let hold = self.holds.remove(request)?;
        self.held = self
            .held
            .checked_sub(hold.amount)
            .expect("what is held is the sum of the holds");
        Some(hold)
    }

    /// Holds less for a request, of what it was made to hold beyond.
    pub(super) fn shrink(&mut self, request: &RequestId, by: MicroUsd) {
        let hold = self.holds.get_mut(request).expect("it was grown");
        hold.amount = hold.amount.saturating_sub(by);
        self.held = self
            .held
            .checked_sub(by)
            .expect("what is held is the sum of the holds");
    }

    /// Spends what was held until now.
    pub(super) fn spend(&mut self, amount: MicroUsd) {
        assert!(amount <= self.unheld(), "nothing is spent twice");
        self.spent = self
            .spent
            .checked_add(amount)
            .expect("less than what was deposited");
    }
}

impl Hold {
    pub(super) fn view(&self, account: &AccountId, request: &RequestId) -> HoldView {
        HoldView {
            request: request.clone(),
            account: account.clone(),
            amount: self.amount,
            state: self.state,
            created_at_ms: self.created_at_ms,
            expires_at_ms: self.expires_at_ms,
        }
    }
}
