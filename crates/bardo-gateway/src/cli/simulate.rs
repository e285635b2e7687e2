//! `bardo-gateway simulate`: what caches save on a workload.

#[cfg(feature = "sandbox")]
use std::path::Path;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[cfg(not(feature = "sandbox"))]
use super::CliFailure;
#[cfg(feature = "sandbox")]
use super::{CliFailure, note, say};

/// Options of `simulate`.
#[derive(Args)]
pub(crate) struct SimulateArgs {
    /// Workload to play.
    #[arg(value_enum, default_value_t = WorkloadName::GolemMonth, conflicts_with = "recorded")]
    workload: WorkloadName,
    /// Play calls from this file instead: JSON, one call per line (docs/caching.md has the format).
    #[arg(long, value_name = "FILE")]
    recorded: Option<PathBuf>,
    /// First seed. The same seed plays the same calls.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        allow_negative_numbers = true
    )]
    seed: u64,
    /// Number of seeds. More seeds make the confidence intervals narrower.
    #[arg(long, value_name = "N", default_value_t = 5, allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: u64,
    /// Play only the first N calls of each seed.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    calls: Option<u32>,
    /// Send all calls to this model of Anthropic or OpenAI.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Play only this row of the table, such as `prefix`. Repeat it for several.
    #[arg(long, value_name = "ROW")]
    row: Vec<String>,
    /// Write the results as an HTML page to this file, too.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print JSON, one object per line. Errors are JSON too, on standard error.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum WorkloadName {
    /// A month of one agent that watches a market.
    GolemMonth,
    /// A week of a programmer with a coding agent.
    CodingWeek,
    /// A day of a bot that answers questions of customers.
    FaqDay,
}

#[cfg(feature = "sandbox")]
pub(super) fn run(args: &SimulateArgs) -> Result<(), CliFailure> {
    use crate::simulate::{StudyPlan, WorkloadSource, check_rows, json, page, study, words};

    check_rows(&args.row).map_err(|error| CliFailure::new("usage", error))?;
    let source = match (&args.recorded, args.workload) {
        (Some(file), _) => WorkloadSource::recorded(file)?,
        (None, WorkloadName::GolemMonth) => WorkloadSource::GolemMonth,
        (None, WorkloadName::CodingWeek) => WorkloadSource::CodingWeek,
        (None, WorkloadName::FaqDay) => WorkloadSource::FaqDay,
    };
    let plan = StudyPlan {
        source,
        seed: args.seed,
        seeds: args.seeds,
        most_calls: args.calls.and_then(|calls| usize::try_from(calls).ok()),
        model: args.model.clone(),
        rows: args.row.clone(),
    };
    if let Some(file) = &args.html {
        // Before minutes of work.
        let opened = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(file);
        opened.map_err(|error| unwritable(file, &error))?;
    }
    let study = study(&plan, |step| {
        if !args.json {
            note(step);
        }
    })?;
    if let Some(file) = &args.html {
        std::fs::write(file, page(&study)).map_err(|error| unwritable(file, &error))?;
    }
    say(match args.json {
        true => json(&study).to_string(),
        false => words(&study),
    });
    Ok(())
}

#[cfg(feature = "sandbox")]
fn unwritable(file: &Path, error: &std::io::Error) -> String {
    format!("cannot write {}: {error}", file.display())
}

#[cfg(not(feature = "sandbox"))]
pub(super) fn run(_: &SimulateArgs) -> Result<(), CliFailure> {
    Err(crate::simulation::ABSENT.into())
}
