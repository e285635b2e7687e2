//! Development tasks, run as `cargo xtask <task>`.
//!
//! Nothing here ships. A task prints what it does, and its exit code is 0 only
//! when everything it was asked to check holds.
#![expect(
    clippy::print_stdout,
    reason = "printing is what a terminal program is for; the ban protects the server's stdout contract"
)]

mod bench;
mod faults;
mod features;
mod fuzz;
mod latencies;
mod licenses;
mod load;
mod mutants;
mod pgo;
mod servers;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Development tasks for Bardo Inference")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Install what the tests need and run every test.
    Test(test::Args),
    /// Provide a Postgres and a Redis for the tests.
    Servers(servers::Args),
    /// Check the conventions that a machine can check.
    Tidy(tidy::Args),
    /// Measure the gateway against a bare forwarding proxy.
    Bench(bench::Args),
    /// Load an HTTP endpoint and print latencies.
    Load(load::Args),
    /// Run the fuzz targets under `fuzz/`.
    Fuzz(fuzz::Args),
    /// Run the fault tests at length.
    Faults(faults::Args),
    /// Lint and test the gateway with each set of its features.
    Features(features::Args),
    /// Load the gateway for a long time and watch its resources.
    Soak(bench::soak::Args),
    /// Take new counts for the optimization of the binary for servers.
    Pgo(pgo::Args),
    /// Break each promise on purpose and check that its test fails.
    Mutants(mutants::Args),
    /// Run the forwarding proxy of the benchmark.
    #[command(hide = true)]
    BenchFloor(bench::floor::Args),
    /// Run the canned provider of the benchmark.
    #[command(hide = true)]
    BenchUpstream(bench::upstream::Args),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().task {
        Task::Test(args) => test::run(&args),
        Task::Servers(args) => servers::run(&args),
        Task::Tidy(args) => tidy::run(&args),
        Task::Bench(args) => bench::run(&args),
        Task::Load(args) => load::run(&args),
        Task::Fuzz(args) => fuzz::run(&args),
        Task::Faults(args) => faults::run(&args),
        Task::Features(args) => features::run(&args),
        Task::Soak(args) => bench::soak::run(&args),
        Task::Mutants(args) => mutants::run(&args),
        Task::Pgo(args) => pgo::run(&args),
        Task::BenchFloor(args) => bench::floor::run(&args),
        Task::BenchUpstream(args) => bench::upstream::run(&args),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
