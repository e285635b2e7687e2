//! The contract over fresh files, and what only a file can do to it.

mod claims;
mod contract;
mod crash;
mod failures;
mod histories;
mod inserts;
pub(super) mod rig;
mod series;
mod two;
