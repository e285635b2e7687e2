//! Imports inside a crate point down.
//!
//! A crate with a file `LAYERS` lists its top-level modules there, a floor a
//! line, the lowest first. A module may import from lower floors only; modules
//! joined by `+` are one cluster and may import each other. Whatever the
//! floors, no more than [`CIRCLE_MAX`] files of such a crate may import each
//! other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{code_only, test_modules};
use super::{Violation, tree::Tree};

/// The largest number of files that may import each other in a circle.
const CIRCLE_MAX: usize = 3;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let tables = tree.files().filter_map(|(path, text)| {
        let dir = path.strip_suffix("/LAYERS")?;
        Some((dir, path, text))
    });
    tables
        .flat_map(|(dir, path, text)| check_crate(tree, dir, path, text))
        .collect()
}

/// Where a module stands: its floor, counted from the bottom, and its cluster on that floor.
type Place = (usize, usize);

fn check_crate(tree: &Tree, dir: &str, table: &str, text: &str) -> Vec<Violation> {
    let places = places(text);
    let files = modules(tree, &format!("{dir}/src/"));
    let mut found = Vec::new();
    for name in places.keys() {
        if !files.contains_key(*name) {
            let problem = format!("`{name}` is no module of this crate");
            found.push(Violation::of(table, problem, "take it out of the table"));
        }
    }
    let mut graph: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (module, (path, code)) in &files {
        let Some(own) = places.get(room(module)) else {
            let fix = format!("put `{}` on a floor of {table}", room(module));
            found.push(Violation::of(path, "this file has no floor", fix));
            continue;
        };
        for (at, imported) in imports(module, code) {
            let Some((target, _)) = nearest(&files, &imported) else {
                continue;
            };
            if target == module {
                continue;
            }
            graph.entry(module).or_default().insert(target);
            let is_below = places
                .get(room(target))
                .is_none_or(|other| other.0 < own.0 || other == own);
            if !is_below {
                let line = code[..at].matches('\n').count() + 1;
                let problem = format!("`{}` is not below `{}`", room(target), room(module));
                let fix = format!("move what both need to a lower floor of {table}");
                found.push(Violation::at(path, line, problem, fix));
            }
        }
    }
    found.extend(circles(&graph).into_iter().map(|circle| {
        let problem = format!(
            "{} files import each other: {}",
            circle.len(),
            circle.join(", ")
        );
        Violation::of(table, problem, "move what they share into a lower file")
    }));
    found
}

/// The table: each module with its place.
fn places(text: &str) -> BTreeMap<&str, Place> {
    let floors = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default())
        .filter(|line| !line.trim().is_empty());
    let mut places = BTreeMap::new();
    for (floor, line) in floors.enumerate() {
        for (cluster, names) in line.split_whitespace().enumerate() {
            for name in names.split('+') {
                places.insert(name, (floor, cluster));
            }
        }
    }
    places
}

/// The modules under `src`, without roots and tests: `a` for `a.rs`, `a::b` for `a/b.rs`, each with
/// its path and its code without the test modules.
fn modules<'a>(tree: &'a Tree, src: &str) -> BTreeMap<String, (&'a str, String)> {
    tree.rust_files()
        .filter_map(|(path, text)| {
            let module = path.strip_prefix(src)?.strip_suffix(".rs")?;
            let is_test = module.split('/').any(|part| part == "tests");
            if is_test || ["lib", "main"].contains(&module) {
                return None;
            }
            let mut code = code_only(text);
            for range in test_modules(&code).into_iter().rev() {
                code.replace_range(range, "");
            }
            Some((module.replace('/', "::"), (path, code)))
        })
        .collect()
}

fn room(module: &str) -> &str {
    module.split("::").next().unwrap_or(module)
}

/// The file that a path of modules and items lies in.
fn nearest<'a>(
    files: &'a BTreeMap<String, (&str, String)>,
    path: &str,
) -> Option<(&'a str, usize)> {
    let mut path = path;
    loop {
        if let Some((module, _)) = files.get_key_value(path) {
            return Some((module, path.len()));
        }
        path = path.rsplit_once("::")?.0;
    }
}

/// What the code of a module names of its crate, from the root, and where.
fn imports(module: &str, code: &str) -> Vec<(usize, String)> {
    let parent = module.rsplit_once("::").map_or("", |(parent, _)| parent);
    let mut found = Vec::new();
    for (root, base) in [("crate::", ""), ("super::", parent), ("self::", module)] {
        for (at, _) in code.match_indices(root) {
            if !follows_path(code, at) {
                for rest in paths(&code[at + root.len()..]) {
                    found.push((at, join(base, &rest)));
                }
            }
        }
    }
    // A child module is named without a root.
    for (at, _) in code.match_indices("mod ") {
        let name = word(&code[at + 4..]);
        let child = join(module, name);
        let used = format!("{name}::");
        found.extend(
            code.match_indices(&used)
                .filter(|(at, _)| !name.is_empty() && !follows_path(code, *at))
                .map(|(at, _)| (at, child.clone())),
        );
    }
    found
}

fn join(base: &str, rest: &str) -> String {
    match base {
        "" => rest.to_owned(),
        base => format!("{base}::{rest}"),
    }
}

fn follows_path(code: &str, at: usize) -> bool {
    let before = code[..at].chars().next_back();
    before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// The path that `text` begins with; of a group in braces, the path of each member.
fn paths(text: &str) -> Vec<String> {
    if let Some(group) = text.strip_prefix('{') {
        let mut depth = 0_usize;
        let end = group.find(|c| {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => return true,
                '}' => depth -= 1,
                _ => {}
            }
            false
        });
        let group = &group[..end.unwrap_or(group.len())];
        // Members of inner groups are read as if they stood alone, which at worst finds nothing.
        let members = group.split(',').map(str::trim);
        return members
            .filter(|one| !one.is_empty())
            .flat_map(paths)
            .collect();
    }
    let name = word(text);
    if name.is_empty() {
        return Vec::new();
    }
    match text[name.len()..].strip_prefix("::") {
        Some(rest) => {
            let rest = paths(rest);
            if rest.is_empty() {
                return vec![name.to_owned()];
            }
            rest.iter().map(|rest| format!("{name}::{rest}")).collect()
        }
        None => vec![name.to_owned()],
    }
}

/// The groups of more than [`CIRCLE_MAX`] files that all reach each other.
fn circles<'a>(graph: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<Vec<&'a str>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> = graph
        .keys()
        .map(|&from| (from, reached(graph, from)))
        .collect();
    let mut known = BTreeSet::new();
    let mut found = Vec::new();
    for (&from, all) in &reach {
        if known.contains(from) {
            continue;
        }
        let circle: Vec<&str> = all
            .iter()
            .copied()
            .filter(|other| reach.get(other).is_some_and(|back| back.contains(from)))
            .collect();
        known.extend(circle.iter().copied());
        if circle.len() > CIRCLE_MAX {
            found.push(circle);
        }
    }
    found
}

fn reached<'a>(graph: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &'a str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(next) = open.pop() {
        for &other in graph.get(next).into_iter().flatten() {
            if seen.insert(other) {
                open.push(other);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(table: &str, files: &[(&str, &str)]) -> Vec<String> {
        let paths: Vec<String> = files
            .iter()
            .map(|(name, _)| format!("crates/c/src/{name}.rs"))
            .collect();
        let mut all = vec![("crates/c/LAYERS", table)];
        all.extend(
            paths
                .iter()
                .zip(files)
                .map(|(path, (_, text))| (path.as_str(), *text)),
        );
        let found = check(&Tree::of(&all));
        found.into_iter().map(|found| found.problem).collect()
    }

    #[test]
    fn an_import_of_a_lower_floor_passes_and_one_of_a_higher_or_the_same_does_not() {
        let table = "# the lowest first\nbase\nleft right\ntop";
        let uses = |what: &str| {
            problems(
                table,
                &[("base", ""), ("left", what), ("right", ""), ("top", "")],
            )
        };
        assert_eq!(uses("use crate::base::Thing;"), [""; 0]);
        assert_eq!(
            uses("use crate::top::Thing;"),
            ["`top` is not below `left`"]
        );
        assert_eq!(
            uses("fn f() { crate::right::g(); }"),
            ["`right` is not below `left`"]
        );
        assert_eq!(
            uses("use crate::{base::A, top::B};"),
            ["`top` is not below `left`"]
        );
    }

    #[test]
    fn words_tests_and_strings_are_no_imports() {
        let left = "// crate::top\nconst A: &str = \"crate::top::B\";\n#[cfg(test)]\nmod tests {\n    use crate::top::B;\n}\n";
        let files = [
            ("left", left),
            ("left/tests", "use crate::top::B;"),
            ("top", ""),
        ];
        assert_eq!(problems("left\ntop", &files), [""; 0]);
    }

    #[test]
    fn a_cluster_may_import_itself() {
        let files = [("a", "use crate::b::B;"), ("b", "use crate::a::A;")];
        assert_eq!(problems("a+b", &files), [""; 0]);
        assert_eq!(problems("a b", &files).len(), 2);
    }

    #[test]
    fn every_module_has_its_floor_and_every_floor_its_module() {
        assert_eq!(
            problems("a", &[("a", ""), ("a/b", ""), ("c", "")]),
            ["this file has no floor"]
        );
        assert_eq!(
            problems("a\ngone", &[("a", "")]),
            ["`gone` is no module of this crate"]
        );
    }

    #[test]
    fn four_files_in_a_circle_are_refused_and_three_are_not() {
        let three = [
            ("a", "mod b;\nuse b::B;"),
            ("a/b", "use super::c::C;"),
            ("a/c", "use super::A;"),
        ];
        assert_eq!(problems("a", &three), [""; 0]);
        let four = [
            ("a", "mod b;\nuse b::B;"),
            ("a/b", "use super::c::C;"),
            ("a/c", "use crate::a::d::D;"),
            ("a/d", "use super::A;"),
        ];
        assert_eq!(
            problems("a", &four),
            ["4 files import each other: a, a::b, a::c, a::d"]
        );
    }
}
