//! A fixture nobody reads proves nothing.

use super::{Violation, tree::Tree};

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    tree.files()
        .filter_map(|(path, _)| Some((path, Fixture::at(path)?)))
        .filter(|(_, fixture)| !fixture.is_read(tree))
        .map(|(path, _)| {
            let fix = "use it in a test of its crate, or remove it";
            Violation::of(path, "no test reads this fixture", fix)
        })
        .collect()
}

struct Fixture<'a> {
    /// The folder of the crate, `crates/<name>/`.
    owner: &'a str,
    /// The path below `fixtures/`.
    inside: &'a str,
}

impl<'a> Fixture<'a> {
    fn at(path: &'a str) -> Option<Self> {
        let name = path.strip_prefix("crates/")?;
        let owner = &path[.."crates/".len() + name.find('/')? + 1];
        let inside = path[owner.len()..].strip_prefix("fixtures/")?;
        Some(Self { owner, inside })
    }

    fn is_read(&self, tree: &Tree) -> bool {
        let spellings = self.spellings();
        tree.rust_files()
            .filter(|(path, _)| path.starts_with(self.owner))
            .any(|(_, text)| spellings.iter().any(|spelling| text.contains(spelling)))
    }

    /// How a test may name it: the file with or without its ending, or one of
    /// the folders it is in, as a literal or under `fixtures/`. A bare folder
    /// name would match any code that speaks of the same provider.
    fn spellings(&self) -> Vec<String> {
        let file = self.inside.rsplit('/').next().unwrap_or(self.inside);
        let stem = file.split('.').next().unwrap_or(file);
        let mut spellings = vec![file.to_owned(), format!("\"{stem}\""), format!("/{stem}\"")];
        for (at, _) in self.inside.match_indices('/') {
            let folder = &self.inside[..at];
            spellings.push(format!("fixtures/{folder}\""));
            spellings.push(format!("fixtures/{folder}/"));
            spellings.push(format!("\"{folder}\""));
        }
        spellings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orphans(fixture: &str, test: &str) -> usize {
        check(&Tree::of(&[(fixture, "{}"), ("crates/a/src/lib.rs", test)])).len()
    }

    #[test]
    fn a_fixture_is_read_by_its_name_or_its_folder() {
        let cut = "crates/a/fixtures/venice/cut.sse";
        for test in [
            "check(\"venice/cut.sse\")",
            "check(\"venice/cut\")",
            "check(\"cut\")",
            "read_dir(\"fixtures/venice\")",
            "include_bytes!(concat!(\"../fixtures/venice/\", $name))",
            "dir().join(\"venice\")",
        ] {
            assert_eq!(orphans(cut, test), 0, "{test}");
        }
    }

    #[test]
    fn an_unread_fixture_is_an_orphan() {
        let cut = "crates/a/fixtures/venice/cut.sse";
        for test in [
            "",
            "join(\"fixtures\")",
            "mod venice;",
            "check(\"haircut\")",
        ] {
            assert_eq!(orphans(cut, test), 1, "{test}");
        }
    }

    #[test]
    fn another_crate_reading_it_does_not_count() {
        assert_eq!(
            orphans("crates/b/fixtures/cut.sse", "check(\"cut.sse\")"),
            1
        );
    }

    #[test]
    fn other_files_are_not_fixtures() {
        assert_eq!(orphans("crates/a/data/cut.sse", ""), 0);
    }
}
