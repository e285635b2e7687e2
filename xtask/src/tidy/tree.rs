//! The files under check, as texts by path.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use anyhow::{Context, Result};

/// The texts of a workspace by their path from its root, with `/` between parts.
///
/// A file that is not text is present with an empty text, so that its name is
/// still checked.
#[derive(Default)]
pub(super) struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Reads what version control tracks or would track; where there is no
    /// version control (an unpacked archive), everything but build output.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let paths = match tracked(root) {
            Some(paths) => paths,
            None => walked(root)?,
        };
        let mut files = BTreeMap::new();
        for path in paths {
            // A tracked file that was just deleted is no longer part of the tree.
            let Ok(bytes) = fs::read(root.join(&path)) else {
                continue;
            };
            files.insert(path, String::from_utf8(bytes).unwrap_or_default());
        }
        Ok(Self { files })
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, text)| ((*path).into(), (*text).into()));
        Self {
            files: files.collect(),
        }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    pub(super) fn rust_files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter(|(path, _)| path.ends_with(".rs"))
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// The manifests of the workspace's crates with the directory of each.
    pub(super) fn manifests(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.files().filter_map(|(path, text)| {
            let dir = path.strip_suffix("/Cargo.toml")?;
            let member = dir == "xtask"
                || dir
                    .strip_prefix("crates/")
                    .is_some_and(|d| !d.contains('/'));
            member.then_some((dir, path, text))
        })
    }
}

fn tracked(root: &Path) -> Option<Vec<String>> {
    let output = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root)
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    let listed = String::from_utf8_lossy(&output.stdout);
    let paths: Vec<String> = listed.split_terminator('\0').map(str::to_owned).collect();
    (!paths.is_empty()).then_some(paths)
}

fn walked(root: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).with_context(|| format!("list {}", dir.display()))? {
            let entry = entry?;
            let name = entry.file_name();
            let kind = entry.file_type()?;
            if kind.is_dir() && !is_output(&name.to_string_lossy()) {
                open.push(entry.path());
            } else if kind.is_file() {
                let path = entry.path();
                let inside = path.strip_prefix(root).unwrap_or(&path);
                let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
                paths.push(parts.join("/"));
            }
        }
    }
    Ok(paths)
}

fn is_output(dir: &str) -> bool {
    matches!(
        dir,
        "target" | ".git" | "node_modules" | ".venv" | "__pycache__"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_workspace_is_read_with_and_without_version_control() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let tree = Tree::read(root).unwrap();
        assert!(
            tree.text("xtask/src/tidy/tree.rs")
                .unwrap()
                .contains("fn walked")
        );
        let walked = walked(root).unwrap();
        assert!(walked.iter().any(|path| path == "xtask/src/tidy/tree.rs"));
        assert!(!walked.iter().any(|path| path.starts_with("target/")));
    }

    #[test]
    fn manifests_are_those_of_members_only() {
        let tree = Tree::of(&[
            ("Cargo.toml", ""),
            ("fuzz/Cargo.toml", ""),
            ("xtask/Cargo.toml", ""),
            ("crates/a/Cargo.toml", ""),
            ("crates/a/fixtures/Cargo.toml", ""),
        ]);
        let dirs: Vec<_> = tree.manifests().map(|(dir, _, _)| dir).collect();
        assert_eq!(dirs, ["crates/a", "xtask"]);
    }
}
