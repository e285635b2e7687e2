//! The built binary between scripted clients and scripted sellers.

// Clippy takes code for that of a test where it says so.
#![cfg(test)]

mod blockrun;
mod caps;
mod ceilings;
mod guarding;
mod histories;
mod http;
mod paying;
mod refusing;
mod repeating;
mod rig;
mod running;
mod seller;
mod streaming;
mod translating;
mod wallets;
