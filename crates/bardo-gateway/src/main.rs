//! The `bardo-gateway` binary: HTTP edge, configuration, wiring. Start at [`serve::run`].

mod account;
mod admin;
mod assemble;
mod auth;
mod bankr;
mod body;
mod cache_secret;
mod caches;
mod cli;
mod config;
mod control;
mod cors;
mod describe;
mod edge;
mod embedding;
mod error;
mod events;
mod explain;
mod home;
mod json_words;
mod last_lists;
mod models;
mod operator;
mod ops;
mod probe;
mod refresh;
mod repeat;
mod reply;
mod request_id;
mod route;
mod screens;
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
mod write_timeout;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run()
}
