//! The crate as a seller and a payer use it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod calls;
mod fields;
mod fixed;
mod golden;
mod identity;
mod mutation;
mod payer;
mod proof;
mod quote;
mod state;
mod wire;
