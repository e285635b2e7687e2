//! `cargo xtask faults`: everything that goes wrong on purpose, at length.
//!
//! The same tests run short within `cargo test`; here they run one suite after
//! the other, long when asked to, and say how each is repeated.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::{servers, workspace::Workspace};

/// A suite: its name, the package and the tests, and what it is about.
struct Suite {
    name: &'static str,
    package: &'static str,
    filter: &'static str,
    about: &'static str,
}

const SUITES: &[Suite] = &[
    Suite {
        name: "histories",
        package: "bardo-ledger",
        filter: "",
        about: "random histories of the books against their invariants",
    },
    Suite {
        name: "stores",
        package: "bardo-store",
        filter: "",
        about: "the contract of the books, on every store",
    },
    Suite {
        name: "matrix",
        package: "bardo-testkit",
        filter: "matrix",
        about: "every provider fault in every pair of dialects",
    },
    Suite {
        name: "simulation",
        package: "bardo-testkit",
        filter: "simulation",
        about: "minutes of changing weather, with the books beside them",
    },
    Suite {
        name: "storm",
        package: "bardo-testkit",
        filter: "storm",
        about: "a provider that refuses every request for a minute",
    },
    Suite {
        name: "leaving",
        package: "bardo-gateway",
        filter: "disconnect",
        about: "callers that disconnect, in each phase",
    },
    Suite {
        name: "kill",
        package: "bardo-gateway",
        filter: "money::kill",
        about: "the process killed at random moments under load",
    },
    Suite {
        name: "payments",
        package: "bardo-gateway",
        filter: "sale_kill",
        about: "payments on a chain while gateways die, on one store and on a shared one",
    },
    Suite {
        name: "store-faults",
        package: "bardo-gateway",
        filter: "money::store_faults",
        about: "a store that fails, fills up, is locked, slow or gone",
    },
    Suite {
        name: "rush",
        package: "bardo-gateway",
        filter: "money::rush",
        about: "many at once on a small balance",
    },
    Suite {
        name: "canary",
        package: "bardo-gateway",
        filter: "money::canary",
        about: "keys and prompts in nothing that is written",
    },
];

/// Options of `cargo xtask faults`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run the long versions: under an hour on two cores.
    #[arg(long)]
    long: bool,
    /// Run only this suite. Repeat for several.
    #[arg(long, value_name = "SUITE")]
    only: Vec<String>,
    /// Run only this seed of a suite with seeds.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
}

/// How a suite ended.
struct Finished {
    suite: &'static Suite,
    passed: bool,
    took: Duration,
    /// What its tests printed of themselves.
    said: Vec<String>,
}

/// Runs the long versions of these suites.
pub(crate) fn run_long(suites: &[&str]) -> Result<bool> {
    run(&Args {
        long: true,
        only: suites.iter().map(|&name| name.to_owned()).collect(),
        seed: None,
    })
}

/// Runs the chosen suites; all of them, also after one has failed.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let workspace = Workspace::find()?;
    let mut finished = Vec::new();
    for suite in choose(&args.only)? {
        println!("==> {}: {}", suite.name, suite.about);
        let done = play(&workspace, suite, args)?;
        println!("{}\n", line(&done));
        finished.push(done);
    }
    println!("Suites");
    for done in &finished {
        println!("  {}", line(done));
        for said in &done.said {
            println!("      {said}");
        }
    }
    println!("A failed seed is repeated with `cargo xtask faults --only SUITE --seed NUMBER`.");
    Ok(finished.iter().all(|done| done.passed))
}

fn choose(only: &[String]) -> Result<Vec<&'static Suite>> {
    if only.is_empty() {
        return Ok(SUITES.iter().collect());
    }
    let find = |name: &String| match SUITES.iter().find(|suite| suite.name == name) {
        Some(suite) => Ok(suite),
        None => {
            let names: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
            bail!(
                "there is no suite `{name}`; there are: {}",
                names.join(", ")
            )
        }
    };
    only.iter().map(find).collect()
}

fn line(done: &Finished) -> String {
    let word = if done.passed { "passed" } else { "FAILED" };
    format!(
        "{:<14} {word:<8} {:>7.1} s",
        done.suite.name,
        done.took.as_secs_f64()
    )
}

fn command(workspace: &Workspace, suite: &Suite, args: &Args) -> Command {
    let mut command = workspace.cargo();
    command.args(["test", "--package", suite.package, "--no-fail-fast"]);
    // Of packages with one subject, all tests are the suite.
    if !suite.filter.is_empty() {
        command.args(["--test", "it", suite.filter]);
    }
    command.args(["--", "--nocapture"]);
    if args.long {
        command.env("BARDO_LONG", "1");
    }
    if let Some(seed) = args.seed {
        command.env("BARDO_SEED", seed.to_string());
    }
    command
}

fn play(workspace: &Workspace, suite: &'static Suite, args: &Args) -> Result<Finished> {
    let started = Instant::now();
    let mut child = command(workspace, suite, args)
        .envs(servers::variables(workspace)?)
        .stdout(Stdio::piped())
        .spawn()
        .context("start cargo test")?;
    let mut ran = 0;
    let mut said = Vec::new();
    let stdout = child.stdout.take().context("read what cargo test says")?;
    for line in BufReader::new(stdout).lines() {
        let line = line.context("read what cargo test says")?;
        println!("{line}");
        match line.strip_prefix("test result: ") {
            Some(result) => ran += passed_in(result),
            None if is_figure(&line) => said.push(line),
            None => {}
        }
    }
    let status = child.wait().context("wait for cargo test")?;
    if ran == 0 {
        said.push("no test ran".to_owned());
    }
    Ok(Finished {
        suite,
        passed: status.success() && ran > 0,
        took: started.elapsed(),
        said,
    })
}

/// How many tests passed, of a line that sums a binary up.
fn passed_in(result: &str) -> u64 {
    let passed = result
        .split(['.', ';'])
        .find_map(|part| part.trim().strip_suffix(" passed"));
    passed.and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// Whether a line is a figure that a test prints: it begins with a number.
fn is_figure(line: &str) -> bool {
    line.starts_with(|first: char| first.is_ascii_digit()) && line.contains(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_are_chosen_by_name() {
        assert_eq!(choose(&[]).unwrap().len(), SUITES.len());
        assert_eq!(choose(&["kill".into()]).unwrap()[0].filter, "money::kill");
        let refused = choose(&["kil".into()]).err().unwrap().to_string();
        assert!(refused.contains("simulation"), "{refused}");
    }

    #[test]
    fn a_suite_without_tests_is_seen() {
        let none = "ok. 0 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out";
        assert_eq!(passed_in(none), 0);
        assert_eq!(passed_in("FAILED. 12 passed; 1 failed; 0 ignored"), 12);
    }

    #[test]
    fn figures_are_told_from_other_lines() {
        assert!(is_figure("8000 visits: 6076 clean"));
        assert!(!is_figure("test matrix::x ... ok"));
        assert!(!is_figure(""));
    }
}
