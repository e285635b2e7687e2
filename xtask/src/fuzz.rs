//! `cargo xtask fuzz`: discovery runs of the fuzz targets.
//!
//! Replaying the committed corpus is part of `cargo test`; this task looks for
//! new inputs and needs a nightly toolchain with cargo-fuzz.

use std::{fs, process::Command};

use anyhow::{Context, Result, bail};

use crate::workspace::{Workspace, answers};

/// Options of `cargo xtask fuzz`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Seconds per target.
    #[arg(long, default_value_t = 60, conflicts_with = "runs")]
    seconds: u64,
    /// Runs per target, instead of a time.
    #[arg(long)]
    runs: Option<u64>,
    /// Only this target; all of them when left out.
    target: Option<String>,
}

/// Fuzzes each chosen target in turn and stops at the first finding.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let workspace = Workspace::find()?;
    let manifest = workspace.root().join("fuzz/Cargo.toml");
    if !manifest.is_file() {
        println!("there is no fuzz/Cargo.toml, so there are no fuzz targets to run");
        return Ok(true);
    }
    let all = targets(&fs::read_to_string(&manifest).context("read fuzz/Cargo.toml")?)?;
    let chosen = choose(&all, args.target.as_deref())?;
    if !answers(Command::new("cargo").args(["+nightly", "fuzz", "--version"])) {
        bail!(
            "cargo-fuzz or a nightly toolchain is missing: `rustup toolchain install nightly` and `cargo install cargo-fuzz`"
        );
    }
    let limit = match args.runs {
        Some(runs) => format!("-runs={runs}"),
        None => format!("-max_total_time={}", args.seconds),
    };
    for target in chosen {
        println!("==> {target}");
        let status = Command::new("cargo")
            .args(["+nightly", "fuzz", "run", target, "--", &limit])
            .current_dir(workspace.root())
            // Set by the pinned toolchain that runs us; it would win over `+nightly`.
            .env_remove("RUSTUP_TOOLCHAIN")
            .status()
            .context("start cargo fuzz")?;
        if !status.success() {
            println!("{target}: a finding; the input is under fuzz/artifacts/{target}/");
            return Ok(false);
        }
    }
    Ok(true)
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

fn choose<'a>(all: &'a [String], wanted: Option<&str>) -> Result<Vec<&'a str>> {
    let Some(wanted) = wanted else {
        return Ok(all.iter().map(String::as_str).collect());
    };
    match all.iter().find(|name| *name == wanted) {
        Some(name) => Ok(vec![name]),
        None => bail!(
            "there is no target `{wanted}`; there are: {}",
            all.join(", ")
        ),
    }
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
        assert_eq!(choose(&all, None).unwrap(), ["sse", "chat"]);
        assert_eq!(choose(&all, Some("chat")).unwrap(), ["chat"]);
        let refused = choose(&all, Some("caht")).unwrap_err().to_string();
        assert!(refused.contains("sse, chat"), "{refused}");
    }
}
