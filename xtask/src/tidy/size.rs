//! Files and functions stay small enough to read.
//!
//! A file over the limit fails. A function over the limit fails unless
//! `xtask/tidy.toml` records it, and a recorded length only goes down.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{
    Violation,
    source::{code_only, functions, test_modules},
    tree::Tree,
};

/// The file with the recorded lengths.
pub(super) const RATCHET: &str = "xtask/tidy.toml";
const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 100;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {
    /// Lines by `path::function`.
    #[serde(default)]
    long_functions: BTreeMap<String, usize>,
}

struct Long {
    path: String,
    name: String,
    line: usize,
    lines: usize,
}

impl Long {
    fn key(&self) -> String {
        format!("{}::{}", self.path, self.name)
    }
}

pub(super) fn check(tree: &Tree) -> Result<Vec<Violation>> {
    let mut found: Vec<Violation> = tree.rust_files().filter_map(check_file).collect();
    found.extend(check_functions(tree)?);
    Ok(found)
}

fn check_file((path, text): (&str, &str)) -> Option<Violation> {
    let tests: usize = test_modules(&code_only(text))
        .into_iter()
        .map(|range| text[range].lines().count())
        .sum();
    let lines = text.lines().count() - tests;
    (lines > FILE_LINES_MAX).then(|| {
        let problem = format!("{lines} lines, above {FILE_LINES_MAX}");
        Violation::of(path, problem, "look for the second subject and move it out")
    })
}

fn check_functions(tree: &Tree) -> Result<Vec<Violation>> {
    let recorded = recorded(tree)?;
    let mut unseen = recorded.clone();
    let mut found = Vec::new();
    for long in long_functions(tree) {
        let allowed = recorded
            .get(&long.key())
            .copied()
            .unwrap_or(FUNCTION_LINES_MAX);
        unseen.remove(&long.key());
        if long.lines > allowed {
            let problem = format!("`{}` has {} lines, above {allowed}", long.name, long.lines);
            found.push(Violation::at(
                &long.path,
                long.line,
                problem,
                "split it by subject",
            ));
        } else if long.lines < allowed {
            found.push(stale(&long.key()));
        }
    }
    found.extend(unseen.keys().map(|key| stale(key)));
    Ok(found)
}

fn stale(key: &str) -> Violation {
    let problem = format!("`{key}` is shorter than recorded or gone");
    Violation::of(
        RATCHET,
        problem,
        "lower it with `cargo xtask tidy --update`",
    )
}

fn recorded(tree: &Tree) -> Result<BTreeMap<String, usize>> {
    let text = tree.text(RATCHET).unwrap_or_default();
    let recorded: Recorded = toml::from_str(text).context("parse xtask/tidy.toml")?;
    Ok(recorded.long_functions)
}

/// Functions over the limit, tests left out: a long table of cases reads well.
/// Where a name occurs twice in a file the longest stands for it.
fn long_functions(tree: &Tree) -> Vec<Long> {
    let mut longest: BTreeMap<String, Long> = BTreeMap::new();
    for (path, text) in tree.rust_files() {
        if path.ends_with("/tests.rs") || path.contains("/tests/") {
            continue;
        }
        let code = code_only(text);
        for function in functions(&code, &test_modules(&code)) {
            if function.lines <= FUNCTION_LINES_MAX {
                continue;
            }
            let long = Long {
                path: path.to_owned(),
                name: function.name,
                line: function.line,
                lines: function.lines,
            };
            match longest.get(&long.key()) {
                Some(known) if known.lines >= long.lines => {}
                _ => {
                    longest.insert(long.key(), long);
                }
            }
        }
    }
    longest.into_values().collect()
}

/// The text of the ratchet with every recorded length lowered to what it is
/// now; nothing is added and nothing grows.
pub(super) fn lowered(tree: &Tree) -> Result<String> {
    let now: BTreeMap<String, usize> = long_functions(tree)
        .into_iter()
        .map(|long| (long.key(), long.lines))
        .collect();
    let mut text = String::from(
        "# Functions longer than the limit, with their length. Entries only go down:\n# `cargo xtask tidy --update` lowers them, and nothing adds one.\n[long_functions]\n",
    );
    for (key, was) in recorded(tree)? {
        if let Some(lines) = now.get(&key) {
            text.push_str(&format!("\"{key}\" = {}\n", was.min(*lines)));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    a();\n".repeat(lines - 2))
    }

    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        let found = check(&Tree::of(files)).unwrap();
        found
            .into_iter()
            .map(|violation| violation.problem)
            .collect()
    }

    #[test]
    fn a_file_may_have_600_lines_without_its_test_module() {
        let body = "//\n".repeat(600);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "//\n".repeat(300));
        assert_eq!(problems(&[("a.rs", &format!("{body}{tests}"))]), [""; 0]);
        assert_eq!(
            problems(&[("a.rs", &format!("//\n{body}{tests}"))]),
            ["601 lines, above 600"]
        );
    }

    #[test]
    fn a_function_may_have_100_lines() {
        assert_eq!(problems(&[("src/a.rs", &function(100))]), [""; 0]);
        assert_eq!(
            problems(&[("src/a.rs", &function(101))]),
            ["`long` has 101 lines, above 100"]
        );
    }

    #[test]
    fn a_long_test_is_a_table_and_passes() {
        let inline = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function(150));
        assert_eq!(problems(&[("src/a.rs", &inline)]), [""; 0]);
        assert_eq!(problems(&[("src/a/tests.rs", &function(150))]), [""; 0]);
    }

    #[test]
    fn a_recorded_length_holds_and_only_goes_down() {
        let recorded = "[long_functions]\n\"src/a.rs::long\" = 120\n";
        let at = |lines| problems(&[("src/a.rs", &function(lines)), (RATCHET, recorded)]);
        assert_eq!(at(120), [""; 0]);
        assert_eq!(at(121), ["`long` has 121 lines, above 120"]);
        assert_eq!(
            at(110),
            ["`src/a.rs::long` is shorter than recorded or gone"]
        );
        assert_eq!(
            at(20),
            ["`src/a.rs::long` is shorter than recorded or gone"]
        );
    }

    #[test]
    fn an_update_lowers_and_drops_but_never_raises() {
        let recorded = "[long_functions]\n\"src/a.rs::long\" = 120\n\"src/b.rs::long\" = 120\n\"src/c.rs::gone\" = 120\n";
        let tree = Tree::of(&[
            ("src/a.rs", &function(110)),
            ("src/b.rs", &function(130)),
            ("src/new.rs", &function(130)),
            (RATCHET, recorded),
        ]);
        let text = lowered(&tree).unwrap();
        let entries: Vec<&str> = text.lines().filter(|line| line.contains("::")).collect();
        assert_eq!(
            entries,
            ["\"src/a.rs::long\" = 110", "\"src/b.rs::long\" = 120"]
        );
    }
}
