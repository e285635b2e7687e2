//! The tables and the resolver together: who answers which part of an agent, in the setups that the
//! example configurations describe.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod day;
mod golden;
mod protected;
mod setup;
