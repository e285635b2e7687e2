//! What an answer costs: its usage at its price, and what is added.

use bardo_types::model::Price;
use bardo_types::money::{BasisPoints, ExactCost, MicroUsd};
use bardo_types::usage::Usage;

/// The price of an answer. `charge` = `provider_cost` + `spread`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bill {
    /// The exact cost at the backend's price.
    pub exact: ExactCost,
    /// The part of the charge that covers the backend's cost, rounded up.
    pub provider_cost: MicroUsd,
    /// The rest of the charge.
    pub spread: MicroUsd,
    /// Cost and spread, rounded up once.
    pub charge: MicroUsd,
}

impl Bill {
    /// This bill with a charge of `minimum` at least; what is added is spread.
    #[must_use]
    pub fn at_least(mut self, minimum: MicroUsd) -> Self {
        self.charge = self.charge.max(minimum);
        self.spread = self.charge.saturating_sub(self.provider_cost);
        self
    }
}

/// Prices an answer; `None` on overflow.
#[must_use]
pub fn bill(usage: &Usage, price: &Price, rate: BasisPoints) -> Option<Bill> {
    let exact = usage.cost(price)?;
    let charge = exact.charge_with(rate)?;
    let provider_cost = exact.charge()?.min(charge);
    Some(Bill {
        exact,
        provider_cost,
        spread: charge.saturating_sub(provider_cost),
        charge,
    })
}
