//! Checks that each job of a dialect has one file name in all dialects of the wire.

use super::{Violation, tree::Tree};

const SRC: &str = "crates/bardo-wire/src/";
const TABLE: &str = "crates/bardo-wire/src/table.rs";

/// What every dialect does: providers speak each of them.
const JOBS: [&str; 7] = [
    "request/encode",
    "answer/decode",
    "stream/decode",
    "error",
    "usage",
    "tools",
    "shapes",
];

/// What a dialect does beside that if callers speak it.
const CALLERS_JOBS: [&str; 3] = ["request/decode", "answer/encode", "stream/encode"];

/// Every dialect of the table has a file for each of its jobs.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let Some(table) = tree.text(TABLE) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for dialect in dialects(table) {
        let is_spoken = table.contains(&format!("{dialect}::decode_request("));
        let callers = CALLERS_JOBS.iter().filter(|_| is_spoken);
        for job in JOBS.iter().chain(callers) {
            let path = format!("{SRC}{dialect}/{job}.rs");
            if tree.text(&path).is_none() {
                let problem = format!("the dialect `{dialect}` has no file for this job");
                let fix = "move what does this job here, as in the other dialects";
                found.push(Violation::of(&path, problem, fix));
            }
        }
    }
    found
}

/// The dialects that the table imports: `use crate::{anthropic, chat};`.
fn dialects(table: &str) -> impl Iterator<Item = &str> {
    let list = table
        .split_once("use crate::{")
        .and_then(|(_, rest)| rest.split_once("};"))
        .map_or("", |(list, _)| list);
    list.split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialect_without_a_file_for_a_job_is_found() {
        let path = |file: &str| format!("{SRC}{file}.rs");
        let table = "use crate::{heard,\n    spoken};\nfn f() { spoken::decode_request(body) }";
        let mut paths: Vec<String> = Vec::new();
        for job in JOBS {
            paths.push(path(&format!("heard/{job}")));
            paths.push(path(&format!("spoken/{job}")));
        }
        paths.push(path("spoken/request/decode"));
        paths.push(path("spoken/stream/encode"));
        paths.retain(|path| !path.ends_with("heard/usage.rs"));
        let mut files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        files.push((TABLE, table));
        let missing: Vec<String> = check(&Tree::of(&files))
            .into_iter()
            .map(|violation| violation.path)
            .collect();
        assert_eq!(missing, [path("heard/usage"), path("spoken/answer/encode")]);
        assert_eq!(check(&Tree::default()), []);
    }
}
