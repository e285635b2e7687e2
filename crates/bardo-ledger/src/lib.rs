//! Who owes what: the price of an answer, holds, postings and caps.
//!
//! Pure integers and state machines over [`bardo_types::money`]; no I/O, no clock (times are
//! arguments), no floats. Money moves in two phases: [`Reserve`] takes it out of reach, then
//! [`Settle`] captures what the answer came to and gives the rest back, or releases it, or leaves it
//! held where nobody knows what the provider did. Each hold ends exactly once.
//!
//! [`Book`] is the state machine. Stores implement the ports [`Funds`], [`Holds`], [`Accounts`],
//! [`Receipts`] and [`ReceiptSeries`], whose sum is [`Ledger`]; [`MemoryLedger`] is the plainest store, and
//! `contract` (a feature) the suite that all of them pass. [`claims`] keeps what callers pay on a chain.

#![deny(clippy::float_arithmetic)]

mod bill;
mod book;
pub mod budget;
mod caps;
pub mod claims;
mod command;
#[cfg(any(test, feature = "contract"))]
pub mod contract;
pub mod hold;
mod memory;
mod port;
mod prompt_cache;
mod receipts;
pub mod series;
mod settled_receipt;

pub use bill::{Bill, bill};
pub use book::{Book, CapCounter, PendingEnd, PreparedEnd, Sessions, SettledCost, Settlement};
pub use caps::{Cap, CapScope, CapWindow};
pub use command::{
    Balance, Charge, Deposit, End, HoldState, HoldView, LedgerRefusal, Posting, PostingKind,
    ReceiptRecord, Reservation, Reserve, Settle, Settled, Verification,
};
pub use memory::MemoryLedger;
pub use port::{Accounts, Funds, Holds, Ledger, LedgerFuture, Receipts, StoreError};
pub use prompt_cache::PromptCacheFigures;
pub use receipts::{Cursor, Dimension, Group, ListQuery, ReceiptFilter, SumQuery, SumRow, Sums};
pub use series::ReceiptSeries;
pub use settled_receipt::FinalFigures;
