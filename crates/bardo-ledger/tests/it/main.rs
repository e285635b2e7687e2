//! The books against references that share no code with them.

mod billing;
mod chance;
mod claims;
mod conservation;
mod month;
mod now;
