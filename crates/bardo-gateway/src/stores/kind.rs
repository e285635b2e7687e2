//! Whether a data folder holds real money or the sandbox's play money: a marker file in the folder.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use crate::cli::CliFailure;

/// The marker, in the data folder.
const FILE: &str = "bardo.kind";
/// The files that a server of an earlier version leaves in its folder, which has no marker.
const DATABASE: [&str; 2] = ["bardo.db", "bardo.journal"];

/// The kind of a data folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DataFolderKind {
    /// Keys and money of a real server.
    Real,
    /// Play money of `serve --sandbox`.
    Sandbox,
}

impl DataFolderKind {
    /// The kind of `folder`; `None` if it has neither a marker nor a database. A database without a
    /// marker is real.
    pub(crate) fn of(folder: &Path) -> Result<Option<Self>, CliFailure> {
        if let Some(marked) = marker(folder)? {
            return Ok(Some(marked));
        }
        for name in DATABASE {
            let path = folder.join(name);
            let exists = path
                .try_exists()
                .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            if exists {
                return Ok(Some(Self::Real));
            }
        }
        Ok(None)
    }

    /// Whether the folder has a database and no marker: a server of an earlier version used it.
    pub(super) fn is_unmarked(folder: &Path) -> Result<bool, CliFailure> {
        Ok(marker(folder)?.is_none() && Self::of(folder)?.is_some())
    }

    /// Refuses a folder of the other kind.
    pub(crate) fn check(self, folder: &Path) -> Result<(), CliFailure> {
        match Self::of(folder)? {
            Some(found) if found != self => Err(self.refuse(folder)),
            _ => Ok(()),
        }
    }

    /// Marks an existing folder with this kind, unless it is of the other.
    pub(crate) fn claim(self, folder: &Path) -> Result<(), CliFailure> {
        self.check(folder)?;
        if marker(folder)?.is_none() {
            write(folder, self).map_err(|error| {
                format!("cannot write {}: {error}", folder.join(FILE).display())
            })?;
        }
        // Another process may have been first.
        self.check(folder)
    }

    fn refuse(self, folder: &Path) -> CliFailure {
        let folder = folder.display();
        match self {
            Self::Real => CliFailure::new(
                "sandbox_folder",
                format!(
                    "{folder} is a sandbox folder: `serve --sandbox` created it, and its keys spend play \
                     money. A real server does not use it. Name another folder: --data-dir FOLDER"
                ),
            ),
            Self::Sandbox => CliFailure::new(
                "real_folder",
                format!(
                    "{folder} is the data folder of a real server. `serve --sandbox` would add play money \
                     to it. Omit --data-dir and BARDO_DATA_DIR to use a temporary folder, or name a new \
                     one: --data-dir FOLDER"
                ),
            ),
        }
    }
}

/// The kind that the marker names. A marker that names neither is an error: guessing could mix play
/// money with real money.
fn marker(folder: &Path) -> Result<Option<DataFolderKind>, CliFailure> {
    let path = folder.join(FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot read {}: {error}", path.display()).into()),
    };
    match text.lines().next().unwrap_or_default().trim() {
        "real" => Ok(Some(DataFolderKind::Real)),
        "sandbox" => Ok(Some(DataFolderKind::Sandbox)),
        other => Err(CliFailure::new(
            "unknown_folder",
            format!(
                "{} begins with `{}`, and only `real` and `sandbox` are known. Restore the file, or name \
                 another folder: --data-dir FOLDER",
                path.display(),
                other.chars().take(40).collect::<String>()
            ),
        )),
    }
}

/// Writes the marker whole and only if there is none: of two processes the first one decides.
fn write(folder: &Path, kind: DataFolderKind) -> std::io::Result<()> {
    let text = match kind {
        DataFolderKind::Real => {
            "real\nKeys and money of a real server. `serve --sandbox` refuses this folder.\n"
        }
        DataFolderKind::Sandbox => {
            "sandbox\nPlay money of `serve --sandbox`. A real server refuses this folder.\n"
        }
    };
    let draft = folder.join(format!("{FILE}.{}", crate::operator::fresh_name()));
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&draft)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::hard_link(&draft, folder.join(FILE)));
    let _ = fs::remove_file(&draft);
    match written {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        written => written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(std::path::PathBuf);

    impl Scratch {
        fn new() -> Self {
            let name = format!("bardo-kind-{}", crate::operator::fresh_name());
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_first_claim_decides_and_the_other_kind_is_refused() {
        for (first, second) in [
            (DataFolderKind::Real, DataFolderKind::Sandbox),
            (DataFolderKind::Sandbox, DataFolderKind::Real),
        ] {
            let folder = Scratch::new();
            assert_eq!(DataFolderKind::of(&folder.0).unwrap(), None);
            first.claim(&folder.0).unwrap();
            assert_eq!(DataFolderKind::of(&folder.0).unwrap(), Some(first));
            first.claim(&folder.0).unwrap();
            assert!(second.claim(&folder.0).is_err());
            assert_eq!(DataFolderKind::of(&folder.0).unwrap(), Some(first));
            // The marker alone: no draft stays behind.
            assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
        }
    }

    #[test]
    fn a_marker_that_was_there_first_is_never_replaced() {
        let folder = Scratch::new();
        write(&folder.0, DataFolderKind::Sandbox).unwrap();
        write(&folder.0, DataFolderKind::Real).unwrap();
        assert_eq!(
            DataFolderKind::of(&folder.0).unwrap(),
            Some(DataFolderKind::Sandbox)
        );
    }

    #[test]
    fn a_database_without_a_marker_is_real() {
        for name in DATABASE {
            let folder = Scratch::new();
            fs::write(folder.0.join(name), "").unwrap();
            assert_eq!(
                DataFolderKind::of(&folder.0).unwrap(),
                Some(DataFolderKind::Real)
            );
            assert!(DataFolderKind::Sandbox.claim(&folder.0).is_err());
            DataFolderKind::Real.claim(&folder.0).unwrap();
            assert!(folder.0.join(FILE).is_file());
        }
    }

    #[test]
    fn a_marker_that_names_neither_kind_is_refused_by_both() {
        for text in ["", "play\n", "realsandbox"] {
            let folder = Scratch::new();
            fs::write(folder.0.join(FILE), text).unwrap();
            for kind in [DataFolderKind::Real, DataFolderKind::Sandbox] {
                assert!(kind.claim(&folder.0).is_err(), "{text:?}");
            }
        }
    }
}
