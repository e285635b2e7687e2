//! The engine in front of simulated providers.

mod bound;
mod caching;
mod failures;
mod history;
mod invalidation;
mod keepalive;
mod keyless;
mod leaving;
mod money;
mod offers;
mod paying;
mod prompt_cache;
mod purse;
mod refusals;
mod routing;
mod settling_first;
mod sharing;
mod similar;
mod stages;
mod stored_deletions;
mod stored_prefixes;
mod unfunded;
mod world;
