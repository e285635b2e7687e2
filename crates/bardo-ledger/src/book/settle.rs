//! Ending a hold.

use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;

use super::counters::CapCounter;
use super::ending::PreparedEnd;
use super::{Account, Book};
use crate::command::{HoldView, Settle, Settled};
use crate::settled_receipt::FinalFigures;

/// The amounts that a request is settled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SettledCost {
    /// The amount credited to the backend's clearing account.
    pub provider_cost: MicroUsd,
    /// The amount credited to the operator.
    pub spread: MicroUsd,
    /// The amount that the account owed beyond both and did not have.
    pub shortfall: MicroUsd,
}

impl SettledCost {
    /// The amount that the account paid.
    #[must_use]
    pub fn charged(&self) -> MicroUsd {
        self.provider_cost
            .checked_add(self.spread)
            .expect("both were taken from one account")
    }

    /// The figures for the receipt, with the balance of the account afterwards.
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

/// The result of ending a hold, with all that a journal needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// The amounts that were taken. Where they are less than requested, the backend's part is
    /// credited first and the operator's gets the rest: the backend is owed, the operator is not.
    pub paid: SettledCost,
    /// The amount that the account can still spend.
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
    /// The figures for the receipt.
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
