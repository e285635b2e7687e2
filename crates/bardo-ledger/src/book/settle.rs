//! Ending a hold.

use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;

use super::counters::CapCounter;
use super::ending::PreparedEnd;
use super::{Account, Book};
use crate::command::{HoldView, Settle, Settled};
use crate::final_figures::FinalFigures;

/// What a request came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SettledCost {
    /// What the backend's clearing account is credited.
    pub provider_cost: MicroUsd,
    /// What we are credited.
    pub spread: MicroUsd,
    /// What the account should have paid beyond both.
    pub shortfall: MicroUsd,
}

impl SettledCost {
    /// What the account paid.
    #[must_use]
    pub fn charged(&self) -> MicroUsd {
        self.provider_cost
            .checked_add(self.spread)
            .expect("both were taken from one account")
    }

    /// What the receipt shows of it, with what the account has afterwards.
    #[must_use]
    pub fn final_figures(&self, balance: Option<MicroUsd>) -> FinalFigures {
        FinalFigures {
            spread: self.spread,
            charge: self.charged(),
            shortfall: self.shortfall,
            balance,
        }
    }
}

/// What came of ending a hold, in full: all that a journal needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// What was really taken. Where it is less than what was asked for, the backend's part is
    /// credited first and ours gets what is left: the backend is owed, we are not.
    pub paid: SettledCost,
    /// What the account can still spend.
    pub available: MicroUsd,
    /// The hold had ended before; the figures are from that end, and nothing has changed.
    pub repeated: bool,
    /// The hold that this ended, or left as unknown, as it was before; `None` where there was
    /// none any more.
    pub hold: Option<HoldView>,
    /// The counters in which it was spent, as they are now.
    pub counters: Vec<CapCounter>,
}

impl Settlement {
    /// What the receipt shows of it.
    #[must_use]
    pub fn final_figures(&self) -> FinalFigures {
        self.paid.final_figures(Some(self.available))
    }

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
        match self.prepare(command) {
            PreparedEnd::Ended(settlement) => settlement,
            PreparedEnd::Pending(pending) => self.finish(pending),
            // Whoever prepared that end answers for it.
            PreparedEnd::Ending => self.nothing(&command.account, SettledCost::default(), true),
        }
    }

    pub(super) fn nothing(
        &self,
        account: &AccountId,
        paid: SettledCost,
        repeated: bool,
    ) -> Settlement {
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
