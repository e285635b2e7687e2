//! The `bardo-gateway` binary: HTTP edge, configuration, wiring. Start at [`run`].
//!
//! A library, so that cargo compiles it beside the crates that it uses; a program waits for them.

mod account;
mod admin;
mod alerts;
mod assemble;
mod auth;
mod bankr;
mod body;
mod cache_secret;
mod caches;
mod cli;
mod config;
mod console;
mod control;
mod cors;
mod describe;
mod doctor;
mod edge;
mod embedding;
mod error;
mod events;
mod explain;
mod export;
mod funds;
mod home;
mod import;
mod json_words;
mod last_lists;
mod models;
mod notify;
mod openapi;
mod operator;
mod ops;
mod peers;
mod probe;
mod refresh;
mod repeat;
mod reply;
mod request_id;
mod route;
mod sale;
mod screens;
mod series;
mod serve;
mod server;
#[cfg(feature = "sandbox")]
mod simulate;
mod simulation;
mod sink;
mod stores;
mod unbilled;
mod upkeep;
mod usage;
mod vector_store;
#[cfg(feature = "embedder")]
mod vectors;
mod venice;
mod wallet;
mod write_timeout;

use std::process::ExitCode;

/// Carries out the command line of this process, to its end.
pub fn run() -> ExitCode {
    std::hint::black_box(mimalloc::MiMalloc.version());
    cli::run()
}
