//! Who owes what: the price of an answer, holds, postings and caps.
//!
//! Pure integers and state machines over [`bardo_types::money`]; no I/O, no clock (times are
//! arguments), no floats. Money moves in two phases: [`Reserve`] takes it out of reach, then
//! [`Settle`] captures at most what is held and gives the rest back, or releases it, or leaves it
//! held where nobody knows what the provider did. Each hold ends exactly once.
//!
//! [`Book`] is the state machine; [`Ledger`] is the port that stores implement. Start there.

mod bill;
mod book;
mod caps;
mod command;
mod port;

pub use bill::{Bill, bill};
pub use book::Book;
pub use caps::{Cap, CapScope, Window};
pub use command::{
    Balance, Charge, Deposit, End, HoldState, HoldView, Posting, PostingKind, Record, Refusal,
    Reservation, Reserve, Settle, Settled, Verification,
};
pub use port::{Future, Ledger, StoreError, UsageQuery, UsageRow};
