//! Claims on signed authorizations: one service, one settlement, and debts that block.

mod claiming;
mod history;
mod rig;
mod settling;
mod transfers;

use std::sync::Arc;

use self::claiming::*;
pub use self::history::ClaimHistory;
use self::rig::ClaimRig;
use self::settling::*;
use self::transfers::*;
use crate::claims::ClaimStore;
use crate::port::{Ledger, LedgerFuture};

macro_rules! claim_cases {
    ($($name:ident)*) => {
        /// All that a store of claims must do.
        pub const CLAIM_CASES: &[ClaimCase] = &[$(
            ClaimCase {
                name: stringify!($name),
                run: |store, ledger| Box::pin($name(ClaimRig::new(
                    store,
                    ledger,
                    stringify!($name),
                ))),
            },
        )*];
    };
}

/// One claim about a store of claims and its ledger.
#[derive(Clone, Copy)]
pub struct ClaimCase {
    /// The claim that is checked.
    pub name: &'static str,
    run: RunClaimCase,
}

type RunClaimCase = fn(Arc<dyn ClaimStore>, Arc<dyn Ledger>) -> LedgerFuture<'static, ()>;

impl ClaimCase {
    /// Panics where the store breaks the claim. Cases use wallets of their own and may share a
    /// store, one after the other.
    #[must_use]
    pub fn run(
        &self,
        store: Arc<dyn ClaimStore>,
        ledger: Arc<dyn Ledger>,
    ) -> LedgerFuture<'static, ()> {
        (self.run)(store, ledger)
    }
}

claim_cases! {
    an_authorization_is_claimed_once
    a_replay_finds_the_first
    a_hundred_at_once_are_one_claim
    a_claim_is_served_once
    exposure_is_capped_and_rises_with_payments
    a_released_claim_is_free_again
    only_what_is_over_is_pruned
    what_is_owed_is_settled_and_booked
    an_exact_payment_leaves_credit
    nothing_owed_is_void_until_pruned
    a_used_proof_is_forgotten_after_its_end
    settle_first_is_served_after_it
    a_failed_settlement_is_a_debt_that_blocks
    a_late_settlement_ends_the_debt
    a_reorganization_undoes_a_settlement
    due_claims_go_to_one_settler
    a_payment_sent_by_another_waits_for_the_answer
    a_row_comes_back_as_it_was
    a_change_of_rows_that_changed_is_refused
    claims_are_listed_in_pages
    transfers_are_credited_once
    a_settlement_is_no_transfer
    progress_and_gas_are_kept
}
