//! The engine on a paused clock, between rude providers and impatient callers.

#![expect(
    clippy::panic,
    reason = "a check that fails ends its test with what it saw, and suites print their figures"
)]

mod matrix;
mod simulation;
mod slices;
mod steps;
mod stored;
mod storm;
