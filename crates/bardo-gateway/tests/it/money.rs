//! Money on the real binary: what survives the end of the process, a failing store and a rush.
//!
//! `BARDO_LONG=1` runs the long versions, `BARDO_SEED=<n>` one seed alone.

mod canary;
mod kill;
mod rolling;
mod rush;
mod shim;
pub(crate) mod shop;
mod store_faults;
