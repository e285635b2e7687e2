//! `cargo xtask bench`: what the gateway costs beside a bare forwarding proxy.
//!
//! Everything runs on loopback as its own process: a canned provider, the
//! floor (a hyper proxy that only forwards) and the gateway. Floor and gateway
//! take turns within one run, so a busy machine slows both, and the ratio of
//! their CPU time per request is the figure to watch.

mod caching;
mod canned;
mod cpu;
pub(crate) mod floor;
mod latency;
mod memory;
mod parts;
mod process;
mod report;
pub(crate) mod soak;
mod start;
mod subject;
mod telemetry;
mod throughput;
pub(crate) mod training;
pub(crate) mod upstream;
mod workload;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::ValueEnum;

use self::{
    report::{Goals, Report},
    subject::{Lab, Subject},
};
use crate::{
    load::{self, drive},
    workspace::Workspace,
};

/// Options of `cargo xtask bench`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run a short measurement with wider error bars.
    #[arg(long)]
    quick: bool,
    /// File for the figures as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Gateway binary [default: build one].
    #[arg(long, value_name = "FILE")]
    gateway: Option<PathBuf>,
    /// Gateway key, if the configuration under test needs one.
    #[arg(long)]
    key: Option<String>,
    /// Compare the floor with a second floor: ratios near 1 show that the
    /// method measures what it says.
    #[arg(long, conflicts_with = "gateway")]
    self_check: bool,
    /// Column of goals to compare with.
    #[arg(long, value_enum, default_value_t = Goals::Foundation)]
    goals: Goals,
    /// Rounds per comparison.
    #[arg(long)]
    rounds: Option<usize>,
    /// Connections during the measurement of CPU time.
    #[arg(long, default_value_t = 8)]
    connections: usize,
    /// Measure only this. Repeat for several.
    #[arg(long, value_name = "SECTION")]
    only: Vec<Section>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Section {
    Cpu,
    Throughput,
    Latency,
    Memory,
    Start,
    Size,
    /// The check of a known key, alone.
    Keys,
    /// Settling in the embedded store, alone.
    Store,
    /// Routing alone, without HTTP.
    Routing,
    /// Requests that the cache of answers misses, answers, or has no part in; and its parts alone.
    Cache,
    /// Requests while traces and metrics are exported, beside the same without.
    Telemetry,
    /// The scanner of bodies and the splice, beside `serde_json`.
    Json,
}

/// How long to measure.
#[derive(Clone, Copy)]
struct Effort {
    rounds: usize,
    /// While CPU time is measured: few enough that neither side gains much
    /// from serving several requests per wake-up, enough to keep both cores busy.
    connections: usize,
    quick: bool,
}

impl Effort {
    /// A full run's amount, or the part of it a quick run takes.
    fn scaled(self, full: u64) -> u64 {
        if self.quick { full.div_ceil(2) } else { full }
    }
}

/// Measures, prints the table and says whether every goal was met.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let workspace = Workspace::find()?;
    if let Some(done) = workspace.rerun_in_dist()? {
        return Ok(done);
    }
    process::allow_many_files()?;
    let binary = match (&args.gateway, args.self_check) {
        (Some(binary), _) => Some(binary.clone()),
        (None, true) => None,
        (None, false) => Some(workspace.build_for_servers()?),
    };
    let billed = args.goals == Goals::Full;
    let lab = Lab::open(binary, args.key.clone(), billed)?;
    let mut report = Report::new(if args.self_check {
        Goals::None
    } else {
        args.goals
    });
    load::runtime()?.block_on(drive::local(measure(args, &lab, &mut report)))?;
    // Beside the servers of the lab, which are idle by now.
    let wanted = |section| billed && args.only.is_empty() || args.only.contains(&section);
    if wanted(Section::Keys) {
        parts::keys(&workspace, &mut report);
    }
    if wanted(Section::Store) {
        parts::store(&workspace, &mut report);
    }
    if wanted(Section::Routing) {
        parts::routing(&workspace, &mut report);
    }
    if wanted(Section::Cache) {
        parts::caches(&workspace, &mut report);
    }
    if wanted(Section::Json) {
        parts::json(&workspace, &mut report);
    }
    report.print();
    if let Some(path) = &args.json {
        report.write(path)?;
    }
    Ok(report.all_met())
}

async fn measure(args: &Args, lab: &Lab, report: &mut Report) -> Result<()> {
    let effort = Effort {
        rounds: args
            .rounds
            .unwrap_or(if args.quick { 7 } else { 21 })
            .max(1),
        connections: args.connections.max(1),
        quick: args.quick,
    };
    let wanted = |section| args.only.is_empty() || args.only.contains(&section);
    let floor = lab.floor().context("start the floor")?;
    let candidate = lab.candidate().context("start the gateway")?;
    if wanted(Section::Cpu) {
        cpu::measure(&floor, &candidate, effort, report).await?;
    }
    if wanted(Section::Throughput) {
        throughput::measure(&floor, &candidate, effort, report).await?;
    }
    if wanted(Section::Latency) {
        let direct = lab.direct();
        latency::measure(&direct, &floor, &candidate, effort, report).await?;
    }
    // The rest looks at fresh processes.
    drop((floor, candidate));
    if wanted(Section::Cache) && !args.self_check {
        caching::measure(lab, effort, report).await?;
    }
    if wanted(Section::Telemetry) && !args.self_check {
        telemetry::measure(lab, effort, report).await?;
    }
    if wanted(Section::Memory) {
        memory::measure(lab, effort, report).await?;
    }
    if wanted(Section::Start) {
        start::measure(lab, effort, report).await?;
    }
    if wanted(Section::Size) {
        start::size(lab, report)?;
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

/// The two subjects in the order of a round: who goes first alternates, so
/// that neither always runs on the warmer machine.
fn turns(round: usize) -> [usize; 2] {
    if round.is_multiple_of(2) {
        [0, 1]
    } else {
        [1, 0]
    }
}

/// Says on stderr what is being measured, since a full run takes minutes.
fn progress(what: &str) {
    eprintln!("measuring {what}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_odd_and_even_counts() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((median(vec![4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
    }
}
