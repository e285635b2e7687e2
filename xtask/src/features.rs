//! `cargo xtask features`: the gateway with each set of its features.
//!
//! The test command builds the default features alone. This one lints the others, and runs the
//! tests of models in ONNX files.

use anyhow::{Context, Result};

use crate::workspace::Workspace;

const CLIPPY: [&str; 4] = ["clippy", "--package", "bardo-gateway", "--all-targets"];
const DENY: [&str; 3] = ["--", "--deny", "warnings"];

/// The sets that no other command builds.
const SETS: [&[&str]; 4] = [
    &["--no-default-features"],
    &["--no-default-features", "--features", "sandbox"],
    &["--no-default-features", "--features", "embedder"],
    &["--features", "onnx"],
];

/// Tests of a feature that is not a default one.
const TESTS: [&[&str]; 2] = [
    &["test", "--package", "bardo-embed", "--features", "onnx"],
    &[
        "test",
        "--package",
        "bardo-gateway",
        "--features",
        "onnx",
        "--test",
        "it",
        "similar",
    ],
];

#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Result<bool> {
    let workspace = Workspace::find()?;
    let lints = SETS
        .iter()
        .map(|set| [CLIPPY.as_slice(), set, &DENY].concat());
    let tests = TESTS.iter().map(|test| test.to_vec());
    let mut holds = true;
    for arguments in lints.chain(tests) {
        println!("cargo {}", arguments.join(" "));
        let status = workspace.cargo().args(&arguments).status();
        holds &= status.context("start cargo")?.success();
    }
    Ok(holds)
}
