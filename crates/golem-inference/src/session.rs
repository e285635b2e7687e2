//! Sums over the calls of a session, to compare with the ledger.

use bardo_types::money::MicroUsd;

use crate::client::ClientError;
use crate::reply::{Reply, TokenUsage};

/// Sums over the calls of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionTotals {
    /// Calls that were answered.
    pub answered: u64,
    /// Calls that were not answered.
    pub failed: u64,
    /// Calls that an extension held back.
    pub skipped: u64,
    /// Tokens of all answers.
    pub usage: TokenUsage,
    /// Cost of the answers whose cost is known.
    pub cost: MicroUsd,
    /// Ids of answers whose cost is not known here: their receipts have it.
    pub without_cost: Vec<String>,
}

/// Ids of answers without a cost that are stored at most.
const IDS_MAX: usize = 1_000;

impl SessionTotals {
    /// Counts the outcome of a call.
    pub(crate) fn count(&mut self, outcome: &Result<Reply, ClientError>) {
        let Ok(reply) = outcome else {
            self.failed += 1;
            return;
        };
        self.answered += 1;
        let usage = reply.usage.unwrap_or_default();
        self.usage.input += usage.input;
        self.usage.cache_read += usage.cache_read;
        self.usage.output += usage.output;
        self.usage.reasoning += usage.reasoning;
        match reply.origin.cost.usd() {
            Some(cost) => self.cost = self.cost.checked_add(cost).unwrap_or(MicroUsd::MAX),
            None if self.without_cost.len() < IDS_MAX => {
                self.without_cost.push(reply.origin.request_id.clone());
            }
            None => {}
        }
    }

    /// Difference to what the ledger charged for these calls, which is the sum over their receipts;
    /// `None` if both are equal.
    #[must_use]
    pub fn difference(&self, charged: MicroUsd) -> Option<MicroUsd> {
        let (more, less) = (self.cost.max(charged), self.cost.min(charged));
        Some(more.saturating_sub(less)).filter(|difference| *difference > MicroUsd::ZERO)
    }
}
