//! The built gateway over real sockets, in front of simulated and scripted providers.

#![expect(
    clippy::panic,
    reason = "a check that fails ends its test with what it saw"
)]

mod access;
mod agents;
mod backends;
mod bad_input;
mod caching;
mod command_line;
mod connections;
mod console;
mod delegations;
mod demo;
mod disconnect;
mod doctor;
mod endpoints;
mod explain;
mod failover;
mod figures;
mod generated;
mod grammar;
mod guard;
mod heartbeat;
mod hostile;
mod http;
mod hygiene;
mod idempotency;
mod invalidation;
mod lifecycle;
mod lists;
mod midstream;
mod money;
mod names;
mod operator_verbs;
mod operators;
mod passthrough;
mod payer;
mod paying;
mod plain_words;
mod proof;
mod reload;
mod retries;
mod rig;
mod routing;
mod sale;
mod sale_facilitated;
mod sale_front_run;
mod sale_kill;
mod sale_on_chain;
mod screening;
mod scripted;
mod service_manager;
mod shared_cache;
mod shared_questions;
mod shared_state;
mod similar;
mod sse;
mod stored_prefixes;
mod timeouts;
mod told;
mod unread;
mod unreadable;
mod vectors;
mod venice;
