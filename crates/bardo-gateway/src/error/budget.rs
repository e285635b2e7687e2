//! Refusals for want of room under a spending cap, as HTTP.

use std::borrow::Cow;

use bardo_access::Admission;
use bardo_ledger::{CapScope, CapWindow};
use bardo_types::error_code::ErrorCode;
use bardo_types::money::MicroUsd;

use super::Problem;

/// A cap without room for a request.
pub(super) struct FullCap {
    /// The part of the cap that the request may use.
    pub(super) limit: MicroUsd,
    /// The part of the cap that is reserved for protected subsystems.
    pub(super) reserved: MicroUsd,
    /// Spent or held under the cap.
    pub(super) used: MicroUsd,
    /// The most that the request can cost.
    pub(super) needed: MicroUsd,
    /// A limit of output tokens with which the request would fit.
    pub(super) fits_max_tokens: Option<u64>,
}

impl FullCap {
    /// The text of the error, with the name of the cap and the time of its reset.
    pub(super) fn message(&self, scope: &CapScope, window: CapWindow) -> String {
        let (name, resets) = cap_words(scope, window);
        let Self {
            limit,
            reserved,
            used,
            needed,
            fits_max_tokens,
        } = self;
        let whole = MicroUsd::new(limit.get().saturating_add(reserved.get()));
        let share = if *reserved == MicroUsd::ZERO {
            String::new()
        } else {
            format!(" (of which {reserved} are reserved for protected subsystems)")
        };
        let fits = fits_max_tokens.map_or_else(String::new, |fits| {
            format!("`max_tokens` of at most {fits} would fit. ")
        });
        format!(
            "the cap `{name}` of {whole} USD{share} has no room: {used} USD are spent or held, and this request can cost up to {needed} USD. {fits}The cap {resets}"
        )
    }
}

/// The name of a cap as scopes write it, and the time of its reset.
fn cap_words(scope: &CapScope, window: CapWindow) -> (Cow<'static, str>, &'static str) {
    let (name, resets) = match (scope, window) {
        (CapScope::Subsystem(_, name), _) => {
            let name = format!("spend-day:{name}");
            return (name.into(), "resets at midnight UTC");
        }
        (CapScope::Delegation(_), _) => ("maxSpend of the delegation", "never resets"),
        (CapScope::Session(..), _) => ("spend-session", "never resets"),
        (_, CapWindow::Day) => ("spend-day", "resets at midnight UTC"),
        (_, CapWindow::Month) => ("spend-month", "resets on the first of next month, UTC"),
        (_, CapWindow::Total) => ("spend-total", "never resets"),
    };
    (name.into(), resets)
}

impl Problem {
    /// A cap has no room for the request.
    pub(super) fn budget(
        message: String,
        retry_after_ms: Option<u64>,
        limits: Option<Box<Admission>>,
    ) -> Self {
        let mut problem = Self::new(ErrorCode::BudgetExceeded, message).for_good();
        problem.fault.retry_after_ms = retry_after_ms;
        problem.limits = limits;
        problem
    }
}
