//! The stores against real servers.

// Clippy takes code for that of a test where it says so.
#![cfg(test)]

mod postgres;
mod redis;
mod redis_cache;
mod redis_shared;
mod wait;
