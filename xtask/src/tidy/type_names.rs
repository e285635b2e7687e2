//! A type's name means one thing in the whole workspace.
//!
//! A name that several crates use for different things makes a search return all of them, and a
//! reader has to look at the imports to know which one is meant. Types of tests and types inside of
//! functions are not counted, nor are those of the simulated providers and of the folders of
//! dialects, whose names are the names of their formats.

use std::collections::BTreeMap;

use super::source::{code_only, test_modules};
use super::{Violation, tree::Tree};

/// Crates and folders whose types have names of their own.
const APART: &[&str] = &[
    "crates/bardo-fuzz/",
    "crates/bardo-sandbox/",
    "crates/bardo-steps/",
    "crates/bardo-testkit/",
    "crates/bardo-wire/src/anthropic",
    "crates/bardo-wire/src/chat",
    "crates/bardo-wire/src/gemini",
    "crates/bardo-wire/src/responses",
    "crates/bardo-wire/src/textual",
];

/// Names with several definitions, each with the meaning that they share.
const SHARED: &[(&str, &str)] = &[
    (
        "Balance",
        "the balance of an account, and an agent's reading of it",
    ),
    (
        "Hints",
        "the hints of a request, and an agent's way to send them",
    ),
    (
        "IntentHints",
        "the hints of an intent, and an agent's way to send them",
    ),
    (
        "EventSink",
        "a receiver of events, of the gateway and of an agent",
    ),
    (
        "Message",
        "a message of a conversation, and an agent's way to write one",
    ),
    (
        "ReplyStream",
        "the stream of an answer, and an agent's reading of it",
    ),
    (
        "Receipt",
        "the receipt of a request, and an agent's reading of it",
    ),
    (
        "Routing",
        "the routing of a receipt, and an agent's reading of it",
    ),
    ("UsageRow", "a row of usage, and an agent's reading of it"),
];

/// Names that two types still have. A name leaves this list with its second type.
const LEFT: &[&str] = &[];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut defined: BTreeMap<String, Vec<(&str, usize)>> = BTreeMap::new();
    for (path, text) in tree.rust_files().filter(|(path, _)| is_product(path)) {
        for (line, name) in definitions(text) {
            defined.entry(name).or_default().push((path, line));
        }
    }
    defined
        .iter()
        .filter(|(name, _)| !LEFT.contains(&name.as_str()))
        .filter(|(name, _)| !SHARED.iter().any(|(shared, _)| shared == name))
        .flat_map(|(name, places)| {
            let (first, _) = places[0];
            places[1..].iter().map(move |(path, line)| {
                let problem = format!("`{name}` is also the name of a type in {first}");
                let fix = "give each the term that says what it is";
                Violation::at(path, *line, problem, fix)
            })
        })
        .collect()
}

fn is_product(path: &str) -> bool {
    let is_source = path
        .strip_prefix("crates/")
        .and_then(|path| path.split_once('/'))
        .is_some_and(|(_, inside)| inside.starts_with("src/"));
    let is_test = path.ends_with("/tests.rs") || path.contains("/tests/");
    is_source && !is_test && !APART.iter().any(|apart| path.starts_with(apart))
}

/// The types that a file defines outside of functions, tests and macros, with their lines.
fn definitions(text: &str) -> Vec<(usize, String)> {
    let code = code_only(text);
    let tests = test_modules(&code);
    let mut at = 0;
    let mut found = Vec::new();
    for (number, line) in (1..).zip(code.split_inclusive('\n')) {
        let is_tested = tests.iter().any(|range| range.contains(&at));
        at += line.len();
        if let Some(name) = defined(line).filter(|_| !is_tested) {
            found.push((number, name.to_owned()));
        }
    }
    found
}

/// The name of the type that a line at the margin defines.
fn defined(line: &str) -> Option<&str> {
    let mut words = line
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty());
    if line.starts_with(char::is_whitespace) {
        return None;
    }
    let modifiers = ["pub", "crate", "super", "self", "in", "unsafe"];
    let kind = words.find(|word| !modifiers.contains(word))?;
    let is_type = ["struct", "enum", "trait", "union", "type"].contains(&kind);
    words.next().filter(|_| is_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let found = check(&Tree::of(files));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_name_of_two_types_is_found_at_the_second() {
        let found = found(&[
            ("crates/a/src/lib.rs", "pub struct Shelf {\n}\n"),
            ("crates/b/src/x.rs", "\npub(crate) enum Shelf {\n}\n"),
            (
                "crates/c/src/x.rs",
                "pub(in crate::x) type Column<'a> = &'a str;\n",
            ),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("crates/b/src/x.rs:2: `Shelf` is also"),
            "{found:?}"
        );
    }

    #[test]
    fn shared_meanings_tests_and_types_of_functions_are_no_second_meaning() {
        let files = [
            (
                "crates/a/src/lib.rs",
                "pub struct Shelf;\npub struct Receipt;\n",
            ),
            (
                "crates/b/src/lib.rs",
                "fn f() {\n    struct Shelf;\n}\npub struct Receipt;\n",
            ),
            ("crates/c/src/x/tests.rs", "struct Shelf;\n"),
            (
                "crates/d/src/x.rs",
                "#[cfg(test)]\nmod tests {\nstruct Shelf;\n}\n",
            ),
            ("crates/e/tests/it/main.rs", "struct Shelf;\n"),
            (
                "crates/f/src/x.rs",
                "// struct Shelf;\nfn row() -> Shelf {}\n",
            ),
            ("crates/bardo-sandbox/src/x.rs", "struct Shelf;\n"),
        ];
        assert_eq!(found(&files), [""; 0]);
    }
}
