//! What every store must do, as one suite of cases.
//!
//! A store's test walks [`cases`] and drives each future as it likes, on a fresh store of its
//! own, or on a shared one: every case has accounts of its own name, and nothing but counts of
//! the whole store could tell the difference, which no case looks at.
//!
//! ```
//! use std::sync::Arc;
//!
//! use bardo_ledger::{MemoryLedger, contract};
//!
//! for case in contract::cases() {
//!     let ledger = Arc::new(MemoryLedger::new());
//!     contract::block_on(case.run(ledger)); // or a runtime's own
//! }
//! ```

/// Names async functions of this suite as cases.
macro_rules! cases {
    ($($name:ident)*) => {
        pub(super) const CASES: &[$crate::contract::Case] = &[$(
            $crate::contract::Case {
                name: stringify!($name),
                run: |ledger| Box::pin($name($crate::contract::rig::Rig::new(
                    ledger,
                    stringify!($name),
                ))),
            },
        )*];
    };
}

mod caps;
mod claims;
mod deposits;
mod holds;
mod receipts;
mod receipts_of_all;
mod rig;
mod series;
mod settling;

use std::sync::Arc;

use crate::port::{Ledger, LedgerFuture};

pub use self::claims::{CLAIM_CASES, ClaimCase, ClaimHistory};
pub use self::rig::{block_on, join_all};

/// One claim about a store.
#[derive(Clone, Copy)]
pub struct Case {
    /// The claim that is checked.
    pub name: &'static str,
    run: fn(Arc<dyn Ledger>) -> LedgerFuture<'static, ()>,
}

impl Case {
    /// Panics where the store breaks the claim.
    #[must_use]
    pub fn run(&self, ledger: Arc<dyn Ledger>) -> LedgerFuture<'static, ()> {
        (self.run)(ledger)
    }
}

/// All that a store must do.
#[must_use]
pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for part in [
        deposits::CASES,
        holds::CASES,
        settling::CASES,
        caps::CASES,
        receipts::CASES,
        receipts_of_all::CASES,
        series::CASES,
    ] {
        all.extend_from_slice(part);
    }
    all
}

/// Runs every case, each on a store of its own.
pub async fn run(mut make: impl FnMut() -> Arc<dyn Ledger>) {
    for case in cases() {
        case.run(make()).await;
    }
}
