//! `cargo xtask fuzz`: discovery runs of the fuzz targets.
//!
//! Replaying seeds and regressions is part of `cargo test`; this task looks for
//! new inputs and needs a nightly toolchain with cargo-fuzz.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::workspace::{Workspace, answers};

/// No input may make a codec hold more than this.
const MEMORY_MIB: u32 = 512;
/// Longer inputs only make runs slower.
const INPUT_BYTES: u32 = 16 * 1_024;

/// Options of `cargo xtask fuzz`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Seconds per target.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Stop a target after this number of runs, or at the end of its time.
    #[arg(long)]
    runs: Option<u64>,
    /// Only these targets; all of them by default.
    targets: Vec<String>,
}

/// Fuzzes each chosen target in turn and stops at the first finding.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let workspace = Workspace::find()?;
    let manifest = workspace.root().join("fuzz/Cargo.toml");
    let all = targets(&fs::read_to_string(&manifest).context("read fuzz/Cargo.toml")?)?;
    let chosen = choose(&all, &args.targets)?;
    if !answers(Command::new("cargo").args(["+nightly", "fuzz", "--version"])) {
        bail!(
            "cargo-fuzz or a nightly toolchain is missing: `rustup toolchain install nightly` and `cargo install cargo-fuzz`"
        );
    }
    write_corpus(&workspace)?;
    let mut finished = Vec::new();
    for target in chosen {
        println!("==> {target}");
        let Some(stats) = fuzz(&workspace, target, args)? else {
            println!("{target}: a finding; the input is under fuzz/artifacts/{target}/");
            return Ok(false);
        };
        finished.push((target, stats));
    }
    println!("{:<22} {:>12} {:>10}", "target", "executions", "peak MiB");
    for (target, stats) in finished {
        println!(
            "{target:<22} {:>12} {:>10}",
            stats.executions, stats.peak_rss_mib
        );
    }
    Ok(true)
}

/// Adds the present seeds to what earlier runs have found.
fn write_corpus(workspace: &Workspace) -> Result<()> {
    let status = workspace
        .cargo()
        .args(["run", "--quiet", "--package", "bardo-fuzz"])
        .args(["--bin", "write-corpus", "--", "fuzz/corpus"])
        .status()
        .context("start cargo run")?;
    if !status.success() {
        bail!("the corpus could not be written");
    }
    Ok(())
}

/// The figures of a run.
#[derive(Debug, Default, PartialEq, Eq)]
struct Stats {
    executions: u64,
    peak_rss_mib: u64,
}

impl Stats {
    fn take(&mut self, line: &str) {
        let told = |name: &str| line.strip_prefix(name)?.trim().parse().ok();
        if let Some(executions) = told("stat::number_of_executed_units:") {
            self.executions = executions;
        }
        if let Some(mib) = told("stat::peak_rss_mb:") {
            self.peak_rss_mib = mib;
        }
    }
}

/// Fuzzes one target; `None` when something was found.
fn fuzz(workspace: &Workspace, target: &str, args: &Args) -> Result<Option<Stats>> {
    let mut command = Command::new("cargo");
    command
        // The codecs have no unsafe code, so a sanitizer would only slow them down.
        .args([
            "+nightly",
            "fuzz",
            "run",
            "--sanitizer",
            "none",
            target,
            "--",
        ])
        .args([
            "-dict=fuzz/corpus/dictionary",
            "-print_final_stats=1",
            "-timeout=20",
        ])
        .arg(format!("-max_len={INPUT_BYTES}"))
        .arg(format!("-rss_limit_mb={MEMORY_MIB}"))
        .arg(format!("-max_total_time={}", args.seconds));
    if let Some(runs) = args.runs {
        command.arg(format!("-runs={runs}"));
    }
    let mut child = command
        .current_dir(workspace.root())
        // Set by the pinned toolchain that runs us; it would win over `+nightly`.
        .env_remove("RUSTUP_TOOLCHAIN")
        .stderr(Stdio::piped())
        .spawn()
        .context("start cargo fuzz")?;
    let mut stats = Stats::default();
    let told = child.stderr.take().context("read what cargo fuzz tells")?;
    for line in BufReader::new(told).lines() {
        let line = line.context("read what cargo fuzz tells")?;
        stats.take(&line);
        eprintln!("{line}");
    }
    let status = child.wait().context("wait for cargo fuzz")?;
    Ok(status.success().then_some(stats))
}

fn targets(manifest: &str) -> Result<Vec<String>> {
    let table: toml::Table = toml::from_str(manifest).context("parse fuzz/Cargo.toml")?;
    let bins = table.get("bin").and_then(toml::Value::as_array);
    Ok(bins
        .into_iter()
        .flatten()
        .filter_map(|bin| bin.get("name")?.as_str().map(str::to_owned))
        .collect())
}

fn choose<'a>(all: &'a [String], wanted: &[String]) -> Result<Vec<&'a str>> {
    if wanted.is_empty() {
        return Ok(all.iter().map(String::as_str).collect());
    }
    let find = |name: &String| match all.iter().find(|known| *known == name) {
        Some(known) => Ok(known.as_str()),
        None => bail!("there is no target `{name}`; there are: {}", all.join(", ")),
    };
    wanted.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str =
        "[package]\nname = \"fuzz\"\n[[bin]]\nname = \"sse\"\n[[bin]]\nname = \"chat\"\n";

    #[test]
    fn targets_are_the_binaries_of_the_manifest() {
        assert_eq!(targets(MANIFEST).unwrap(), ["sse", "chat"]);
    }

    #[test]
    fn an_unknown_target_is_refused_with_the_known_ones() {
        let all = targets(MANIFEST).unwrap();
        assert_eq!(choose(&all, &[]).unwrap(), ["sse", "chat"]);
        assert_eq!(choose(&all, &["chat".into()]).unwrap(), ["chat"]);
        let refused = choose(&all, &["caht".into()]).unwrap_err().to_string();
        assert!(refused.contains("sse, chat"), "{refused}");
    }

    #[test]
    fn the_figures_of_a_run_are_read_from_its_last_lines() {
        let mut stats = Stats::default();
        for line in [
            "#1048576 pulse  cov: 810 exec/s: 52428 rss: 300Mb",
            "stat::number_of_executed_units: 1048576",
            "stat::average_exec_per_sec:     52428",
            "stat::peak_rss_mb:              301",
        ] {
            stats.take(line);
        }
        let expected = Stats {
            executions: 1_048_576,
            peak_rss_mib: 301,
        };
        assert_eq!(stats, expected);
    }

    #[test]
    fn this_workspace_has_targets() {
        let manifest = include_str!("../../fuzz/Cargo.toml");
        assert!(targets(manifest).unwrap().len() > 10);
    }
}
