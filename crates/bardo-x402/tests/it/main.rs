//! The crate as a seller and a payer use it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod fields;
mod fixed;
mod golden;
mod mutation;
mod payer;
mod proof;
mod state;
mod wire;
