//! Parts of the gateway alone, each measured by an example of its crate: how long a known key
//! takes among 100,000, what a settled request costs the embedded store, and how long the choice of
//! who answers takes.

mod caches;
mod json;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::{
    progress,
    report::{Report, Row, Spread},
};
use crate::workspace::Workspace;

pub(super) use caches::caches;
pub(super) use json::json;

/// Times the check of keys that were verified before.
pub(super) fn keys(workspace: &Workspace, report: &mut Report) {
    progress("key check");
    let section = "Key check, 100,000 keys";
    let goal = report.goals().key_check_micros();
    match example(workspace, "bardo-access", "known_keys").and_then(|said| checks(&said)) {
        Ok(checks) => {
            for (what, p99) in checks {
                report.add(Row::value(section, format!("p99, {what}"), "µs", p99, goal));
            }
        }
        Err(error) => report.add(Row::failed(section, "p99".into(), goal, &error)),
    }
}

/// Adds up what all threads of the store spend on a settled request, beside a minimal ledger on
/// SQLite's own group commit: what the journal buys.
pub(super) fn store(workspace: &Workspace, report: &mut Report) {
    progress("the store alone");
    let section = "Settled request, CPU: SQLite's group commit and the journal";
    let measure = |name| example(workspace, "bardo-store", name).and_then(|said| settled(&said));
    match measure("group_commit_cost").and_then(|base| Ok((base, measure("settle_cost")?))) {
        Ok((base, journal)) => {
            for ((_, base), (load, micros)) in base.into_iter().zip(journal) {
                let ratio = Spread::of(vec![micros / base]);
                report.add(Row::ratio(section, load, "µs", base, micros, ratio, None));
            }
        }
        Err(error) => report.add(Row::failed(section, "all loads".into(), None, &error)),
    }
}

/// Times decisions among a few, many and very many candidates.
pub(super) fn routing(workspace: &Workspace, report: &mut Report) {
    progress("routing");
    let section = "Routing, one decision";
    let goal = report.goals().decision_micros();
    match example(workspace, "bardo-router", "decide").and_then(|said| decisions(&said)) {
        Ok(decisions) => {
            for (what, median) in decisions {
                let goal = goal.filter(|_| what.starts_with("50 candidates, chosen"));
                report.add(Row::value(section, what, "µs", median, goal));
            }
        }
        Err(error) => report.add(Row::failed(section, "all sizes".into(), goal, &error)),
    }
}

fn example(workspace: &Workspace, package: &str, name: &str) -> Result<String> {
    example_with(workspace, package, name, &[])
}

fn example_with(
    workspace: &Workspace,
    package: &str,
    name: &str,
    arguments: &[PathBuf],
) -> Result<String> {
    let output = workspace
        .cargo()
        .args(["run", "--profile", "dist", "--quiet"])
        .args(["--package", package])
        .args(["--example", name, "--"])
        .args(arguments)
        .output()
        .context("start cargo run")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("the example {name} of {package} failed: {}", said.trim());
    }
    String::from_utf8(output.stdout).context("read what the example printed")
}

/// From `100000 keys, each in turn: … p99 300ns, …`: what was checked and its p99 in microseconds.
fn checks(said: &str) -> Result<Vec<(String, f64)>> {
    let read = |line: &str| {
        let (what, figures) = line.split_once(": ")?;
        let (_, what) = what.split_once(", ")?;
        let (_, rest) = figures.split_once(" p99 ")?;
        Some((what.to_owned(), micros(rest.split(',').next()?)?))
    };
    let checks: Option<Vec<_>> = said.lines().map(read).collect();
    checks
        .filter(|checks| !checks.is_empty())
        .with_context(|| format!("no p99 in `{said}`"))
}

/// From `50 candidates, named: median 300ns, p99 1µs`: what was decided and the median in
/// microseconds.
fn decisions(said: &str) -> Result<Vec<(String, f64)>> {
    let read = |line: &str| {
        let (what, figures) = line.split_once(": median ")?;
        Some((what.to_owned(), micros(figures.split(',').next()?)?))
    };
    let decisions: Option<Vec<_>> = said.lines().map(read).collect();
    decisions
        .filter(|decisions| !decisions.is_empty())
        .with_context(|| format!("no median in `{said}`"))
}

/// A duration as Rust writes it, in microseconds.
fn micros(text: &str) -> Option<f64> {
    let (number, factor) = [("ns", 1e-3), ("µs", 1.0), ("ms", 1e3), ("s", 1e6)]
        .into_iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    Some(number.parse::<f64>().ok()? * factor)
}

/// From `8 callers: …` and a line per thread, `name 1.23 µs per request`: the load and the sum.
fn settled(said: &str) -> Result<Vec<(String, f64)>> {
    let mut loads: Vec<(String, f64)> = Vec::new();
    for line in said.lines() {
        match (line.strip_suffix(" µs per request"), loads.last_mut()) {
            (Some(thread), Some((_, sum))) => {
                let spent = thread.rsplit(' ').next().unwrap_or_default();
                *sum += spent
                    .parse::<f64>()
                    .with_context(|| format!("read `{line}`"))?;
            }
            _ => {
                let (load, _) = line
                    .split_once(": ")
                    .with_context(|| format!("read `{line}`"))?;
                loads.push((load.to_owned(), 0.0));
            }
        }
    }
    Ok(loads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_key_checks_are_read() {
        let said = "100000 keys, each in turn: 2 of 2 verified; mean 1µs, p50 310ns, p99 1.25µs, p99.9 2ms\n\
                    100000 keys, a hundred of them: 2 of 2 verified; mean 1µs, p50 310ns, p99 500ns, p99.9 2ms\n";
        let expected = [
            ("each in turn".to_owned(), 1.25),
            ("a hundred of them".to_owned(), 0.5),
        ];
        assert_eq!(checks(said).unwrap(), expected);
        assert!(checks("").is_err());
    }

    #[test]
    fn the_times_of_decisions_are_read() {
        let said = "5 candidates, chosen by wishes: median 1.5µs, p99 2µs\n\
                    5 candidates, named: median 250ns, p99 1µs\n";
        let expected = [
            ("5 candidates, chosen by wishes".to_owned(), 1.5),
            ("5 candidates, named".to_owned(), 0.25),
        ];
        assert_eq!(decisions(said).unwrap(), expected);
        assert!(decisions("").is_err());
    }

    #[test]
    fn what_the_threads_spend_is_added_up() {
        let said = "1 callers: 900 requests/s, 1500 bytes per request\n  \
                    ledger-write     20.50 µs per request\n  main   4.25 µs per request\n\
                    8 callers: 9000 requests/s, 1500 bytes per request\n  \
                    ledger-write     9.50 µs per request\n";
        let expected = [
            ("1 callers".to_owned(), 24.75),
            ("8 callers".to_owned(), 9.5),
        ];
        assert_eq!(settled(said).unwrap(), expected);
        assert!(settled("nothing").is_err());
    }
}
