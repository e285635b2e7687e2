//! For tests alone: what the engine needs around it, owned by the test.
//!
//! Time is paused and moves only when everybody waits; connections are pipes in memory; providers
//! follow scripts and write down what they would bill; callers read as strictly as an SDK and may
//! leave at any step. Every choice comes from a seed, so a failure is repeated with
//! `BARDO_SEED=<n>`. Start from [`world::Scene`].

pub mod answer;
pub mod client;
pub mod dice;
pub mod due;
pub mod fault;
pub mod flaky;
pub mod purse;
pub mod till;
pub mod upstream;
pub mod weather;
pub mod world;
