//! A local proxy between terminal tools and endpoints that sell by x402.

mod book;
mod chain;
mod cli;
mod doctor;
mod exchange;
mod guard;
mod payer;
mod pending;
mod permit2;
mod proxy;
mod refusal;
mod run;
mod seller;
mod seller_body;
mod settings;
mod settle_call;
mod settlement;
mod start;
mod status;
mod tools;
mod translate;
mod wallet;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::CommandLine;

fn main() -> ExitCode {
    let line = CommandLine::parse();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let done = match runtime {
        Ok(runtime) => {
            let tasks = tokio::task::LocalSet::new();
            let done = tasks.block_on(&runtime, start::start(line.verb));
            // A lock that another process holds must not keep this one from its end.
            runtime.shutdown_background();
            done
        }
        Err(error) => Err(error.into()),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "bardo-inference: {error:#}");
            ExitCode::from(2)
        }
    }
}
