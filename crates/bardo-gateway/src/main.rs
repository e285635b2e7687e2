//! The `bardo-gateway` binary: HTTP edge, configuration, wiring. Start at [`serve::run`].

mod assemble;
mod auth;
mod cli;
mod config;
mod describe;
mod edge;
mod error;
mod models;
mod ops;
mod refresh;
mod reply;
mod request_id;
mod route;
mod serve;
mod server;
mod simulation;
mod sink;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run()
}
