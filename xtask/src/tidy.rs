//! `cargo xtask tidy`: the conventions a machine can check.
//!
//! Every check is a function from a [`Tree`] of texts to violations, so each
//! is tested on a tree of a few lines. A violation is one line that names the
//! file and the fix.

mod citations;
mod dialects;
mod doc_comments;
mod fixtures;
mod floors;
mod layers;
mod names;
mod pages;
mod plain;
mod size;
mod source;
mod tree;
mod type_names;
mod unused;
mod words;

use std::{fmt, fs};

use anyhow::{Context, Result};

use self::tree::Tree;
use crate::workspace::Workspace;

/// Options of `cargo xtask tidy`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Lower the recorded sizes in xtask/tidy.toml to what they are now.
    #[arg(long)]
    update: bool,
}

/// One broken convention.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    path: String,
    line: Option<usize>,
    problem: String,
    fix: String,
}

impl Violation {
    fn at(path: &str, line: usize, problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            ..Self::of(path, problem, fix)
        }
    }

    fn of(path: &str, problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line: None,
            problem: problem.into(),
            fix: fix.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            line,
            problem,
            fix,
        } = self;
        match line {
            Some(line) => write!(f, "{path}:{line}: {problem}; {fix}"),
            None => write!(f, "{path}: {problem}; {fix}"),
        }
    }
}

/// Checks the workspace and prints every violation.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let workspace = Workspace::find()?;
    if args.update {
        let tree = Tree::read(workspace.root())?;
        let path = workspace.root().join(size::RATCHET);
        fs::write(&path, size::lowered(&tree)?).context("write xtask/tidy.toml")?;
    }
    let violations = check_workspace(&workspace)?;
    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 => println!("tidy: nothing to fix"),
        count => println!("tidy: {count} to fix"),
    }
    Ok(violations.is_empty())
}

/// Runs every check over the files of the workspace.
pub(crate) fn check_workspace(workspace: &Workspace) -> Result<Vec<Violation>> {
    check(&Tree::read(workspace.root())?)
}

fn check(tree: &Tree) -> Result<Vec<Violation>> {
    let mut found = Vec::new();
    found.extend(layers::check(tree)?);
    found.extend(size::check(tree)?);
    found.extend(names::check(tree));
    found.extend(dialects::check(tree));
    found.extend(pages::check(tree));
    found.extend(fixtures::check(tree));
    found.extend(floors::check(tree));
    found.extend(words::check(tree));
    found.extend(plain::check(tree));
    found.extend(doc_comments::check(tree));
    found.extend(citations::check(tree));
    found.extend(type_names::check(tree));
    found.extend(unused::check(tree));
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_is_one_line_with_file_and_fix() {
        let violation = Violation::at("a.rs", 7, "too long", "split it");
        assert_eq!(violation.to_string(), "a.rs:7: too long; split it");
        let violation = Violation::of("a.rs", "misnamed", "rename it");
        assert_eq!(violation.to_string(), "a.rs: misnamed; rename it");
    }

    #[test]
    fn every_check_takes_part() {
        let tree = Tree::of(&[
            (
                "crates/bardo-types/Cargo.toml",
                "[package]\nname = \"bardo-types\"\n",
            ),
            ("crates/bardo-types/fixtures/lost.json", "{}"),
            ("crates/bardo-types/LAYERS", "vanished"),
            ("crates/bardo-types/src/utils.rs", &"//\n".repeat(700)),
            (
                "crates/bardo-types/src/lib.rs",
                concat!(
                    "#[ignore]\n/// Why.\nfn a() { b(\"nobody answers\") } // C",
                    "-001\n"
                ),
            ),
        ]);
        let found = check(&tree).unwrap();
        for part in [
            "lints",
            "lines",
            "utils",
            "ARCHITECTURE.md",
            "lost.json",
            "vanished",
            "ignore",
            "too short",
            "hard to read",
            "the repository lacks",
        ] {
            assert!(
                found.iter().any(|v| v.to_string().contains(part)),
                "no check reported {part}: {found:#?}"
            );
        }
    }
}
