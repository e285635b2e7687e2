//! The engine in front of simulated providers.

mod failures;
mod history;
mod refusals;
mod world;
