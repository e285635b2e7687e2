//! `cargo xtask test`: every check a change must pass, in one command.

mod failures;
mod installing;
mod variables;

use std::{
    io,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use clap::ValueEnum;

use self::installing::Installing;
use crate::{
    licenses, servers, tidy,
    workspace::{Profile, Workspace, answers},
};

/// The program that runs the clients.
const CLIENTS: &str = "tests/clients/run.py";

/// Options of `cargo xtask test`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only this stage. Repeat for several.
    #[arg(long, value_name = "STAGE", conflicts_with = "skip")]
    only: Vec<Stage>,
    /// Skip this stage. Repeat for several.
    #[arg(long, value_name = "STAGE")]
    skip: Vec<Stage>,
}

/// The stages, quick ones first so that a slip shows early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Stage {
    /// `cargo fmt --check`
    Fmt,
    /// `cargo xtask tidy`
    Tidy,
    /// `cargo clippy`, warnings are errors
    Clippy,
    /// `cargo test`: unit, integration, property tests and the fuzz corpus; a Postgres and a Redis
    /// are fetched for it where the machine has none
    Cargo,
    /// Licenses and sources of the dependencies, by `deny.toml`
    Deny,
    /// `cargo doc`, warnings are errors
    Doc,
    /// `cargo build --release` of the programs
    Build,
    /// The files below `deploy/`: schemas, linters, and the options of the built gateway
    Deploy,
    /// Real client programs against the built gateway
    Clients,
}

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed(String),
    /// The machine lacks a tool that checks style only.
    Skipped(String),
}

impl Args {
    fn stages(&self) -> Vec<Stage> {
        Stage::value_variants()
            .iter()
            .copied()
            .filter(|stage| self.only.is_empty() || self.only.contains(stage))
            .filter(|stage| !self.skip.contains(stage))
            .collect()
    }
}

/// Runs the stages; all of them, also after one has failed.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let workspace = Workspace::find()?;
    let mut finished = Vec::new();
    let stages = args.stages();
    let in_background = stages.len() > 1 && stages.contains(&Stage::Clients);
    let _installing = in_background.then(|| Installing::begin(&workspace));
    for stage in stages {
        println!("==> {}", stage.name());
        let started = Instant::now();
        let outcome = stage
            .run(&workspace)
            .unwrap_or_else(|error| Outcome::Failed(format!("{error:#}")));
        println!("{}\n", line(stage, &outcome, started.elapsed()));
        finished.push((stage, outcome, started.elapsed()));
    }
    println!("Stages");
    for (stage, outcome, took) in &finished {
        println!("  {}", line(*stage, outcome, *took));
    }
    let outcomes: Vec<&Outcome> = finished.iter().map(|(_, outcome, _)| outcome).collect();
    println!("{}", summary(&outcomes));
    Ok(!outcomes.iter().any(|o| matches!(o, Outcome::Failed(_))))
}

fn line(stage: Stage, outcome: &Outcome, took: Duration) -> String {
    let (word, note) = match outcome {
        Outcome::Passed => ("passed", String::new()),
        Outcome::Failed(why) => ("FAILED", format!("  {why}")),
        Outcome::Skipped(why) => ("skipped", format!("  {why}")),
    };
    format!(
        "{:<8} {word:<8} {:>7.1} s{note}",
        stage.name(),
        took.as_secs_f64()
    )
}

fn summary(outcomes: &[&Outcome]) -> String {
    let count = |wanted: fn(&Outcome) -> bool| outcomes.iter().filter(|o| wanted(o)).count();
    let passed = count(|o| matches!(o, Outcome::Passed));
    let failed = count(|o| matches!(o, Outcome::Failed(_)));
    let skipped = count(|o| matches!(o, Outcome::Skipped(_)));
    match skipped {
        0 => format!("{passed} passed, {failed} failed"),
        _ => format!("{passed} passed, {failed} failed, {skipped} skipped"),
    }
}

impl Stage {
    fn name(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn run(self, workspace: &Workspace) -> Result<Outcome> {
        match self {
            Self::Fmt => component(workspace, "rustfmt", "fmt", &["fmt", "--all", "--check"]),
            Self::Tidy => tidy_stage(workspace),
            Self::Clippy => component(
                workspace,
                "clippy",
                "clippy",
                &[
                    "clippy",
                    "--workspace",
                    "--all-targets",
                    "--",
                    "-D",
                    "warnings",
                ],
            ),
            Self::Cargo => cargo_tests(workspace),
            Self::Deny => deny(workspace),
            Self::Doc => check(
                workspace
                    .cargo()
                    .envs(variables::checked_by_clippy())
                    .env("RUSTDOCFLAGS", "-D warnings")
                    .args([
                        "doc",
                        "--workspace",
                        "--no-deps",
                        "--document-private-items",
                    ]),
            ),
            Self::Build => {
                programs(workspace)?;
                Ok(Outcome::Passed)
            }
            Self::Deploy => with_gateway(workspace, "tests/deploy/run.py", &[]),
            Self::Clients => with_gateway(workspace, CLIENTS, &["--stage", "all"]),
        }
    }
}

fn check(command: &mut Command) -> Result<Outcome> {
    let status = command.status().with_context(|| starting(command))?;
    Ok(if status.success() {
        Outcome::Passed
    } else {
        Outcome::Failed(status.to_string())
    })
}

/// Runs the tests of all programs and libraries, then those of the documentation. Clippy has
/// checked that the examples compile.
fn cargo_tests(workspace: &Workspace) -> Result<Outcome> {
    let of = |targets: &[&str]| {
        tests(
            workspace
                .cargo()
                .envs(servers::variables(workspace)?)
                .envs(variables::test_threads())
                .args(["test", "--workspace", "--no-fail-fast"])
                .args(targets),
        )
    };
    match of(&["--lib", "--bins", "--tests"])? {
        Outcome::Passed => of(&["--doc"]),
        failed => Ok(failed),
    }
}

/// Runs tests. Where some fail, the last lines of the whole run say which: thousands of lines of
/// other stages follow.
fn tests(command: &mut Command) -> Result<Outcome> {
    let (status, said) =
        failures::run(command, &mut io::stdout()).with_context(|| starting(command))?;
    Ok(if status.success() {
        Outcome::Passed
    } else {
        let said = said.iter().map(|line| format!("\n    {line}"));
        Outcome::Failed(format!("{status}{}", said.collect::<String>()))
    })
}

fn starting(command: &Command) -> String {
    format!("start {}", format!("{command:?}").replace('"', ""))
}

/// Runs a cargo subcommand that is a toolchain component. A machine that
/// cannot download components can still run every test that decides whether
/// the product works, so a missing one is said and not failed.
fn component(workspace: &Workspace, name: &str, verb: &str, args: &[&str]) -> Result<Outcome> {
    if !answers(workspace.cargo().args([verb, "--version"])) {
        return Ok(Outcome::Skipped(format!(
            "the toolchain has no {name}; `rustup component add {name}` installs it"
        )));
    }
    check(workspace.cargo().args(args))
}

fn tidy_stage(workspace: &Workspace) -> Result<Outcome> {
    let violations = tidy::check_workspace(workspace)?;
    for violation in &violations {
        println!("{violation}");
    }
    Ok(match violations.len() {
        0 => Outcome::Passed,
        count => Outcome::Failed(format!("{count} violations")),
    })
}

/// Checks the dependency tree, also with `cargo deny` where the machine has it.
fn deny(workspace: &Workspace) -> Result<Outcome> {
    let violations = licenses::check(workspace)?;
    for violation in &violations {
        println!("{violation}");
    }
    if !violations.is_empty() {
        return Ok(Outcome::Failed(format!("{} violations", violations.len())));
    }
    if answers(workspace.cargo().args(["deny", "--version"])) {
        return check(
            workspace
                .cargo()
                .args(["deny", "check", "bans", "licenses", "sources"]),
        );
    }
    Ok(Outcome::Passed)
}

/// Builds the gateway, and the proxy that agents pay behind: in one call, as cargo compiles half of
/// the dependencies again for a program that needs fewer of their features.
fn programs(workspace: &Workspace) -> Result<()> {
    workspace.build(Profile::Release, &["bardo-gateway", "bardo-inference"])
}

/// Builds the gateway and has a Python program check it. The program installs what it needs itself,
/// so here it only has to exist.
fn with_gateway(workspace: &Workspace, runner: &str, arguments: &[&str]) -> Result<Outcome> {
    if !workspace.root().join(runner).is_file() {
        return Ok(Outcome::Failed(format!(
            "{runner} is missing, so nothing was tried"
        )));
    }
    programs(workspace)?;
    let Some(python) = python() else {
        return Ok(Outcome::Failed("Python 3 is not installed".into()));
    };
    check(
        Command::new(python)
            .current_dir(workspace.root())
            .envs(servers::variables(workspace)?)
            .arg(runner)
            .arg("--gateway")
            .arg(workspace.binary(Profile::Release, "bardo-gateway"))
            .args(arguments),
    )
}

fn python() -> Option<&'static str> {
    ["python3", "python"]
        .into_iter()
        .find(|name| answers(Command::new(name).arg("--version")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(only: &[Stage], skip: &[Stage]) -> Args {
        Args {
            only: only.to_vec(),
            skip: skip.to_vec(),
        }
    }

    #[test]
    fn every_stage_runs_when_nothing_is_chosen() {
        assert_eq!(args(&[], &[]).stages(), Stage::value_variants());
    }

    #[test]
    fn only_and_skip_choose_stages() {
        assert_eq!(args(&[Stage::Tidy], &[]).stages(), [Stage::Tidy]);
        let rest = args(&[], &[Stage::Clients, Stage::Build]).stages();
        assert!(!rest.contains(&Stage::Clients) && rest.len() + 2 == Stage::value_variants().len());
    }

    #[test]
    fn the_summary_counts_stages_and_names_skips_only_when_there_are_some() {
        let failed = Outcome::Failed("x".into());
        let skipped = Outcome::Skipped("y".into());
        assert_eq!(
            summary(&[&Outcome::Passed, &Outcome::Passed, &failed]),
            "2 passed, 1 failed"
        );
        assert_eq!(
            summary(&[&Outcome::Passed, &skipped]),
            "1 passed, 0 failed, 1 skipped"
        );
    }

    #[test]
    fn a_failing_command_fails_its_stage() {
        assert_eq!(check(&mut Command::new("true")).unwrap(), Outcome::Passed);
        assert!(matches!(
            check(&mut Command::new("false")).unwrap(),
            Outcome::Failed(_)
        ));
        assert!(check(&mut Command::new("no-such-program-anywhere")).is_err());
    }
}
