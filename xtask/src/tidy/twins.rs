//! A type has a name of its own within its crate.
//!
//! Two types of one name make a reader ask which one is meant. Tests are free, and so is a shape of
//! a dialect that keeps the word that its provider uses.

use std::collections::BTreeMap;

use super::source::{code_only, test_modules};
use super::{Violation, tree::Tree};

/// Crates whose types have names of their own.
const CRATES: [&str; 7] = [
    "bardo-access",
    "bardo-ledger",
    "bardo-profile",
    "bardo-providers",
    "bardo-telemetry",
    "bardo-types",
    "bardo-wire",
];

/// Words of providers, which several dialects have.
const SHARED: [&str; 2] = ["Annotation", "Content"];

/// Finds the second and later declarations of a name.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    CRATES
        .iter()
        .flat_map(|name| twins(tree, &format!("crates/{name}/src/")))
        .collect()
}

fn twins(tree: &Tree, folder: &str) -> Vec<Violation> {
    let mut known: BTreeMap<String, &str> = BTreeMap::new();
    let mut found = Vec::new();
    let is_test = |path: &str| path.ends_with("tests.rs") || path.contains("/tests/");
    let files = tree
        .rust_files()
        .filter(|(path, _)| path.starts_with(folder) && !is_test(path));
    for (path, text) in files {
        for (line, name) in types(text) {
            if SHARED.contains(&name.as_str()) {
                continue;
            }
            match known.get(&name) {
                Some(first) => {
                    let problem = format!("`{name}` is also a type of {first}");
                    let fix = "give it a name that says what it is";
                    found.push(Violation::at(path, line, problem, fix));
                }
                None => {
                    known.insert(name, path);
                }
            }
        }
    }
    found
}

/// The types that a file declares outside of its tests, with their lines.
fn types(text: &str) -> Vec<(usize, String)> {
    let code = code_only(text);
    let tests = test_modules(&code);
    let mut at = 0;
    let mut found = Vec::new();
    for (number, line) in code.split_inclusive('\n').enumerate() {
        let is_tested = tests.iter().any(|range| range.contains(&at));
        at += line.len();
        let mut words = line.split([' ', '<', '(', '{', ';', ':', '\n']);
        let mut before = words.by_ref().filter(|word| !word.is_empty());
        let declares = |word: &str| matches!(word, "struct" | "enum" | "trait" | "union");
        let starts = line.trim_start();
        let is_item = starts.starts_with("pub") || declares(starts.split(' ').next().unwrap_or(""));
        if is_tested || !is_item || !before.any(declares) {
            continue;
        }
        found.extend(before.next().map(|name| (number + 1, name.to_owned())));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_two_types_is_found_outside_of_tests() {
        let one = "pub(super) struct Open<'a> {\n}\nenum Shut {}\n// struct Shut\n";
        let two = "struct Content;\n    struct Open {\n    }\n\n#[cfg(test)]\nmod tests {\n    struct Shut;\n}\n";
        let three = "trait Content {}\nfn f() { let text = \"struct Open\"; }\n";
        let found = check(&Tree::of(&[
            ("crates/bardo-wire/src/a.rs", one),
            ("crates/bardo-wire/src/b.rs", two),
            ("crates/bardo-wire/src/c.rs", three),
            ("crates/bardo-wire/src/c/tests.rs", "struct Open;"),
            ("crates/bardo-engine/src/a.rs", "struct Open;\nstruct Open;"),
        ]));
        let [twin] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!(
            (twin.path.as_str(), twin.line),
            ("crates/bardo-wire/src/b.rs", Some(2))
        );
        assert_eq!(
            twin.problem,
            "`Open` is also a type of crates/bardo-wire/src/a.rs"
        );
    }
}
