//! A public item of a library crate is named somewhere else.
//!
//! No lint sees a public item that nothing uses, and its tests and documentation make it look
//! alive. A use is a name in the code of another crate, or in another file of the same crate. Tests
//! inside `src`, comments and `use` lines are no use. A type is also used where its own file names
//! it again, because a public function may return it.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{code_only, test_modules};
use super::{Violation, tree::Tree};

/// Crates whose public items are for programs outside of the workspace.
const PUBLISHED: &[&str] = &["golem-inference"];

/// Public items that stay although nothing names them, with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[(
    "with_param",
    "the tests of the dialects and of scrubbing build faults with it",
)];

/// An item with the place where it is declared.
struct Item<'a> {
    path: &'a str,
    line: usize,
    name: String,
    is_type: bool,
}

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let libraries: BTreeSet<&str> = tree
        .files()
        .filter_map(|(path, _)| path.strip_prefix("crates/")?.strip_suffix("/src/lib.rs"))
        .filter(|name| !PUBLISHED.contains(name))
        .collect();
    let sources: Vec<(&str, String)> = tree
        .rust_files()
        .filter(|(path, _)| !is_own_test(path))
        .map(|(path, text)| (path, code_of(text)))
        .collect();
    // How often each word is in each file.
    let mut uses: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for (path, code) in &sources {
        for word in words(code) {
            *uses.entry(word).or_default().entry(path).or_default() += 1;
        }
    }
    let items = sources.iter().flat_map(|(path, code)| {
        let is_library = crate_of(path).is_some_and(|name| libraries.contains(name));
        items(path, code).filter(move |_| is_library)
    });
    items
        .filter(|item| !is_used(item, &uses[item.name.as_str()]))
        .filter(|item| !EXCEPTIONS.iter().any(|(name, _)| *name == item.name))
        .map(|item| {
            let problem = format!(
                "nothing outside of this file uses the public `{}`",
                item.name
            );
            Violation::at(
                item.path,
                item.line,
                problem,
                "delete it, or make it private",
            )
        })
        .collect()
}

fn is_used(item: &Item<'_>, uses: &BTreeMap<&str, usize>) -> bool {
    let elsewhere = uses.keys().any(|path| *path != item.path);
    let here = uses.get(item.path).copied().unwrap_or(0);
    elsewhere || item.is_type && here > 1
}

/// The directory below `crates/` of a source file of a library.
fn crate_of(path: &str) -> Option<&str> {
    let (name, inside) = path.strip_prefix("crates/")?.split_once('/')?;
    inside.starts_with("src/").then_some(name)
}

/// Whether a file has tests that lie inside the sources of a crate.
fn is_own_test(path: &str) -> bool {
    crate_of(path).is_some() && (path.ends_with("/tests.rs") || path.contains("/tests/"))
}

/// The code of a file, without its test modules and `use` declarations, in the same lines.
fn code_of(text: &str) -> String {
    let plain = code_only(text);
    let mut code = plain.clone().into_bytes();
    let blank = |code: &mut Vec<u8>, range: std::ops::Range<usize>| {
        for byte in &mut code[range] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    };
    for range in test_modules(&plain) {
        blank(&mut code, range);
    }
    let text = String::from_utf8_lossy(&code).into_owned();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = line.trim_start();
        let declares = ["use ", "pub use ", "pub(crate) use ", "pub(super) use "];
        if declares.iter().any(|declared| start.starts_with(declared)) {
            let end = text[at..].find(';').map_or(text.len(), |end| at + end + 1);
            blank(&mut code, at..end);
        }
        at += line.len();
    }
    String::from_utf8_lossy(&code).into_owned()
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

/// The public items that a file declares.
fn items<'a>(path: &'a str, code: &str) -> impl Iterator<Item = Item<'a>> {
    let found: Vec<Item<'a>> = (1..)
        .zip(code.lines())
        .filter_map(|(line, text)| {
            let mut rest = text.trim_start().strip_prefix("pub ")?;
            loop {
                let modifier = ["const fn ", "async fn ", "unsafe fn "];
                if let Some(after) = modifier.iter().find_map(|word| rest.strip_prefix(word)) {
                    return item(path, line, after, false);
                }
                let types = ["struct ", "enum ", "trait ", "type "];
                if let Some(after) = types.iter().find_map(|word| rest.strip_prefix(word)) {
                    return item(path, line, after, true);
                }
                let values = ["fn ", "const ", "static "];
                if let Some(after) = values.iter().find_map(|word| rest.strip_prefix(word)) {
                    return item(path, line, after, false);
                }
                rest = rest.strip_prefix("unsafe ")?;
            }
        })
        .collect();
    found.into_iter()
}

fn item<'a>(path: &'a str, line: usize, rest: &str, is_type: bool) -> Option<Item<'a>> {
    Some(Item {
        path,
        line,
        name: words(rest).next()?.to_owned(),
        is_type,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![("crates/a/src/lib.rs", "mod item;\n")];
        all.extend(files);
        let mut names: Vec<String> = check(&Tree::of(&all))
            .into_iter()
            .map(|violation| violation.problem)
            .collect();
        names.sort();
        names
    }

    fn unused(name: &str) -> String {
        format!("nothing outside of this file uses the public `{name}`")
    }

    #[test]
    fn an_item_that_only_its_own_file_and_its_tests_name_is_found() {
        let code = "pub use x::dead;\n/// [`dead`]\npub const fn dead() {}\nfn f() { dead() }\n\
            #[cfg(test)]\nmod tests {\n    fn t() { dead() }\n}\n";
        let files = [
            ("crates/a/src/item.rs", code),
            ("crates/a/src/item/tests.rs", "fn t() { dead() }"),
        ];
        assert_eq!(found(&files), [unused("dead")]);
    }

    #[test]
    fn a_use_in_another_file_or_in_a_test_of_another_crate_is_one() {
        let item = ("crates/a/src/item.rs", "    pub fn alive(&self) {}\n");
        for other in ["crates/a/src/lib2.rs", "crates/b/tests/it/x.rs"] {
            assert_eq!(found(&[item, (other, "fn f() { a.alive() }")]), [""; 0]);
        }
        assert_eq!(found(&[item]), [unused("alive")]);
    }

    #[test]
    fn a_type_is_used_where_its_own_file_returns_it() {
        let returned = "pub struct Shown;\nfn f() -> Shown { g() }\n";
        assert_eq!(found(&[("crates/a/src/item.rs", returned)]), [""; 0]);
        let alone = "pub struct Hidden;\n";
        assert_eq!(
            found(&[("crates/a/src/item.rs", alone)]),
            [unused("Hidden")]
        );
    }

    #[test]
    fn a_published_crate_is_left_alone() {
        let files = [
            ("crates/golem-inference/src/lib.rs", "pub fn one() {}"),
            ("crates/bin/src/main.rs", "pub fn two() {}"),
        ];
        assert_eq!(found(&files), [""; 0]);
    }
}
