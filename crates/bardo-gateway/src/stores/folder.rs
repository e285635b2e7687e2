//! The data folder: where it is, and whether it is temporary.

use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::cli::{CliFailure, ServeArgs};

/// The data folder of a server. A temporary one is deleted when the server ends.
pub(crate) struct DataFolder {
    path: PathBuf,
    is_temporary: bool,
}

impl DataFolder {
    /// The folder that the command line names; for a sandbox without one, a temporary folder.
    pub(super) fn open(args: &ServeArgs) -> Result<Self, CliFailure> {
        let named = args.common.data_dir.as_deref();
        if args.sandbox && named.is_none() {
            return Ok(Self::temporary("bardo-sandbox"));
        }
        Ok(Self {
            path: data_folder(named)?,
            is_temporary: false,
        })
    }

    pub(super) fn temporary(name: &str) -> Self {
        let name = format!("{name}-{}", crate::operator::fresh_name());
        Self {
            path: std::env::temp_dir().join(name),
            is_temporary: true,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for DataFolder {
    fn drop(&mut self) {
        if self.is_temporary {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// The folder that a flag or variable names, or `~/.bardo`.
pub(crate) fn data_folder(named: Option<&Path>) -> Result<PathBuf, CliFailure> {
    if let Some(folder) = named {
        return Ok(folder.to_owned());
    }
    std::env::var_os("HOME")
        .filter(|home| !home.is_empty())
        .map(|home| Path::new(&home).join(".bardo"))
        .ok_or_else(|| "HOME is not set; name the data folder: --data-dir FOLDER".into())
}

/// Creates the data folder, readable by its owner alone.
pub(super) fn make_folder(folder: &Path) -> Result<(), String> {
    let refuse =
        |error: std::io::Error| format!("cannot use the data folder {}: {error}", folder.display());
    if !folder.exists() {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(refuse)?;
    }
    let mode = std::fs::metadata(folder)
        .map_err(refuse)?
        .permissions()
        .mode();
    if mode & 0o007 != 0 {
        tracing::debug!(folder = %folder.display(), "other users of this machine can read the data folder");
    }
    Ok(())
}
