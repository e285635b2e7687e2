//! The engine in front of simulated providers.

mod failures;
mod history;
mod leaving;
mod money;
mod purse;
mod refusals;
mod unfunded;
mod world;
