//! Files are named for the thing inside.

use super::{Violation, tree::Tree};

const BANNED: &[&str] = &[
    "util", "utils", "helper", "helpers", "common", "misc", "manager", "managers",
];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    tree.files()
        .filter_map(|(path, _)| check_path(path))
        .collect()
}

fn check_path(path: &str) -> Option<Violation> {
    if path.starts_with("crates/") && path.ends_with("/mod.rs") {
        let fix = "write `foo.rs` beside `foo/`";
        return Some(Violation::of(path, "a module in `mod.rs`", fix));
    }
    let banned = path
        .split('/')
        .map(|part| part.split('.').next().unwrap_or(part))
        .find(|stem| BANNED.contains(&stem.to_ascii_lowercase().as_str()))?;
    let fix = "name the thing inside, or make it a method on that thing";
    Some(Violation::of(path, format!("`{banned}` says nothing"), fix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_names(paths: &[&str]) -> Vec<String> {
        let files: Vec<_> = paths.iter().map(|path| (*path, "")).collect();
        let found = check(&Tree::of(&files));
        found.into_iter().map(|violation| violation.path).collect()
    }

    #[test]
    fn empty_names_are_refused_as_file_and_as_folder() {
        let bad = [
            "crates/a/src/helpers/x.rs",
            "crates/a/src/utils.rs",
            "tests/Common.py",
        ];
        assert_eq!(check_names(&bad), bad);
    }

    #[test]
    fn telling_names_pass() {
        let good = [
            "crates/a/src/commonmark.rs",
            "crates/a/src/hold.rs",
            "docs/utility.md",
        ];
        assert_eq!(check_names(&good), [""; 0]);
    }

    #[test]
    fn a_module_lies_beside_its_folder() {
        assert_eq!(
            check_names(&["crates/a/src/x/mod.rs"]),
            ["crates/a/src/x/mod.rs"]
        );
    }
}
