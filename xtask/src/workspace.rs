//! Where things are: the workspace root, the target directory, the tools.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

/// A cargo profile that tasks build with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// What README's first command builds: quick to compile.
    Release,
    /// What packages ship and what is measured: quick to run.
    Dist,
}

impl Profile {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dist => "dist",
        }
    }
}

/// The workspace this task was started for.
pub(crate) struct Workspace {
    root: PathBuf,
    target: PathBuf,
}

impl Workspace {
    /// Finds the workspace above the current directory, falling back to the
    /// place this program was built from.
    pub(crate) fn find() -> Result<Self> {
        let here = env::current_dir().context("read the current directory")?;
        let built_from = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = here
            .ancestors()
            .chain(built_from.ancestors())
            .find(|dir| dir.join("Cargo.lock").is_file() && dir.join("xtask").is_dir())
            .context("find the workspace root (a directory with Cargo.lock and xtask/)")?
            .to_path_buf();
        let target = match env::var_os("CARGO_TARGET_DIR") {
            Some(dir) => root.join(dir),
            None => root.join("target"),
        };
        Ok(Self { root, target })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Where programs that the tests need are fetched to.
    pub(crate) fn tools(&self) -> PathBuf {
        self.target.join("tools")
    }

    /// A binary of this profile, whether or not it has been built yet.
    pub(crate) fn binary(&self, profile: Profile, name: &str) -> PathBuf {
        self.target
            .join(profile.name())
            .join(format!("{name}{}", env::consts::EXE_SUFFIX))
    }

    /// A cargo call in the workspace root that shares our target directory.
    pub(crate) fn cargo(&self) -> Command {
        self.command(cargo_program())
    }

    /// A program in the workspace root that calls cargo, with our target directory.
    ///
    /// Variables that describe the *xtask* package are removed: build scripts
    /// of other packages watch them and would be rebuilt for no reason.
    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target);
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&name);
            }
        }
        command
    }

    /// Builds these packages in one call in this profile and shows cargo's own progress.
    pub(crate) fn build(&self, profile: Profile, packages: &[&str]) -> Result<()> {
        let mut command = self.cargo();
        command.args(["build", "--profile", profile.name()]);
        for package in packages {
            command.args(["--package", package]);
        }
        let status = command.status().context("start cargo build")?;
        if !status.success() {
            bail!(
                "cargo build --profile {} of {} failed",
                profile.name(),
                packages.join(", ")
            );
        }
        Ok(())
    }

    /// Builds the gateway as packages ship it, and returns the binary.
    pub(crate) fn build_for_servers(&self) -> Result<PathBuf> {
        if cfg!(unix) {
            let status = self
                .command("sh")
                .arg("deploy/build.sh")
                .status()
                .context("start deploy/build.sh")?;
            if !status.success() {
                bail!("deploy/build.sh failed");
            }
        } else {
            self.build(Profile::Dist, &["bardo-gateway"])?;
        }
        Ok(self.binary(Profile::Dist, "bardo-gateway"))
    }

    /// Starts this same task again from a `dist` build when we are a debug build, and returns its
    /// outcome. A measuring program must not be the slow part. The baseline in it is compiled as
    /// the gateway is, but for the counts of `deploy/pgo`.
    pub(crate) fn rerun_in_dist(&self) -> Result<Option<bool>> {
        if !cfg!(debug_assertions) {
            return Ok(None);
        }
        self.build(Profile::Dist, &["xtask"])?;
        let status = Command::new(self.binary(Profile::Dist, "xtask"))
            .args(env::args_os().skip(1))
            .env("CARGO_TARGET_DIR", &self.target)
            .status()
            .context("start the dist build of xtask")?;
        Ok(Some(status.success()))
    }
}

/// The cargo that started this task.
pub(crate) fn cargo_program() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Whether a program answers when asked for its version.
pub(crate) fn answers(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .stdin(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
