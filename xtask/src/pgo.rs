//! `cargo xtask pgo`: new counts for the profile-guided optimization of the binary for servers.
//!
//! A binary with counters serves the requests of the benchmark and plays the workloads of
//! `simulate`. What it counted goes into `deploy/pgo`, where `deploy/build.sh` finds it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::{
    bench::training,
    workspace::{Profile, Workspace, answers},
};

/// Options of `cargo xtask pgo`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Program that merges counts [default: the one of rustup's component `llvm-tools`, else
    /// `llvm-profdata` of the compiler's LLVM version].
    #[arg(long, value_name = "FILE")]
    llvm_profdata: Option<PathBuf>,
}

/// Takes the counts.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let workspace = Workspace::find()?;
    let compiler = Compiler::ask()?;
    let merger = match &args.llvm_profdata {
        Some(program) => program.clone(),
        None => compiler.profdata()?,
    };
    if let Some(done) = workspace.rerun_in_dist()? {
        return Ok(done);
    }
    let target = workspace.target().join("pgo");
    let counts = target.join("counts");
    let gateway = build(&workspace, &target, &counts)?;
    // The compiler ran plugins that count too.
    fs::remove_dir_all(&counts).ok();
    training::serve(&gateway).context("serve the requests of the benchmark")?;
    simulate(&gateway)?;
    let kept = workspace.root().join("deploy/pgo");
    merge(&merger, &counts, &kept.join("counts.profdata"))?;
    fs::write(kept.join("compiler"), format!("{}\n", compiler.name()))
        .context("write the name of the compiler")?;
    fs::write(
        kept.join("version"),
        format!("{}\n", env!("CARGO_PKG_VERSION")),
    )
    .context("write the version of the workspace")?;
    let profiles = profiles(&workspace)?;
    fs::write(kept.join("profiles"), profiles).context("write the profiles of the counts")?;
    println!("deploy/pgo has the new counts; deploy/build.sh uses them");
    Ok(true)
}

/// What Cargo.toml says of the profiles `release` and `dist`, without comments. Cargo puts the
/// profile into the names of functions: after a change, the counts of a changed package and of all
/// that depend on it fit no function.
fn profiles(workspace: &Workspace) -> Result<String> {
    let manifest = fs::read_to_string(workspace.root().join("Cargo.toml"));
    Ok(profile_lines(&manifest.context("read Cargo.toml")?))
}

fn profile_lines(manifest: &str) -> String {
    let mut is_profile = false;
    let lines = manifest.lines().map(str::trim);
    let kept = lines.filter(|line| {
        if line.starts_with('[') {
            let profiles = ["[profile.release", "[profile.dist"];
            is_profile = profiles.iter().any(|start| line.starts_with(start));
        }
        is_profile && !line.is_empty() && !line.starts_with('#')
    });
    kept.map(|line| format!("{line}\n")).collect()
}

/// The compiler of this workspace, as far as counts depend on it.
struct Compiler {
    version: String,
    host: String,
    llvm: String,
    sysroot: PathBuf,
}

impl Compiler {
    fn ask() -> Result<Self> {
        let said = output(Command::new("rustc").arg("-vV"))?;
        let field = |name: &str| {
            let line = said.lines().find_map(|line| line.strip_prefix(name));
            line.map(|text| text.trim().to_owned())
                .with_context(|| format!("no `{name}` in what rustc says"))
        };
        let version = field("rustc ")?;
        let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
        Ok(Self {
            version: version.split(" (").next().unwrap_or_default().to_owned(),
            host: field("host:")?,
            llvm: field("LLVM version:")?,
            sysroot: sysroot.trim().into(),
        })
    }

    /// The name as `deploy/build.sh` compares it.
    fn name(&self) -> String {
        format!("rustc {} {}", self.version, self.host)
    }

    /// The merging program of this compiler's LLVM.
    fn profdata(&self) -> Result<PathBuf> {
        let major = self.llvm.split('.').next().unwrap_or_default();
        let component = self.sysroot.join("lib/rustlib").join(&self.host);
        let versioned = format!("llvm-profdata-{major}");
        let found = [component.join("bin/llvm-profdata"), versioned.into()]
            .into_iter()
            .find(|program| answers(Command::new(program).arg("--version")));
        found.with_context(|| {
            format!("llvm-profdata {major} is missing: `rustup component add llvm-tools`, or install the package llvm-{major}")
        })
    }
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output().context("start rustc")?;
    if !output.status.success() {
        bail!("rustc ended with {}", output.status);
    }
    String::from_utf8(output.stdout).context("read what rustc says")
}

/// Builds the gateway with counters. They are written to `counts` when it ends.
fn build(workspace: &Workspace, target: &Path, counts: &Path) -> Result<PathBuf> {
    println!("building the gateway with counters");
    let flag = format!("-Cprofile-generate={}", counts.display());
    let mut command = workspace.cargo();
    command
        .args(["build", "--locked", "--profile", "dist"])
        .args(["--package", "bardo-gateway"])
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_ENCODED_RUSTFLAGS", flag);
    if !command.status().context("start cargo build")?.success() {
        bail!("the build with counters failed");
    }
    Ok(target.join(Profile::Dist.name()).join("bardo-gateway"))
}

/// Plays part of the workloads of agents. The row `prefix` has all layers but the embedder: its
/// loops run so often that all else would count as rare.
fn simulate(gateway: &Path) -> Result<()> {
    for workload in ["golem-month", "coding-week"] {
        println!("playing {workload}");
        let status = Command::new(gateway)
            .args(["simulate", workload, "--row", "prefix"])
            .args(["--seeds", "1", "--calls", "400"])
            .stdout(Stdio::null())
            .status();
        if !status.context("start the simulation")?.success() {
            bail!("the simulation of {workload} failed");
        }
    }
    Ok(())
}

/// Writes the counts of all processes into one file. Functions that never ran have no entry, so
/// they are compiled as before.
fn merge(merger: &Path, counts: &Path, into: &Path) -> Result<()> {
    let status = Command::new(merger)
        .args(["merge", "-sparse", "-o"])
        .args([into, counts])
        .status();
    if !status.context("start llvm-profdata")?.success() {
        bail!("the counts in {} were not merged", counts.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{profile_lines, profiles};
    use crate::workspace::Workspace;

    #[test]
    fn the_counts_were_taken_with_the_profiles_of_the_workspace() {
        let workspace = Workspace::find().unwrap();
        let kept = fs::read_to_string(workspace.root().join("deploy/pgo/profiles")).unwrap();
        let now = profiles(&workspace).unwrap();
        assert_eq!(now, kept, "take new counts: cargo xtask pgo");
    }

    #[test]
    fn the_profiles_of_a_manifest_are_read_without_comments() {
        let manifest = "[profile.dev]\nopt-level = 1\n\n# Quick.\n[profile.release]\nlto = \"off\"\n\n\
            [profile.dist.package]\n  # Hot.\n  a.opt-level = 3\n\n[profile.bench]\ninherits = \"dist\"\n";
        let read = "[profile.release]\nlto = \"off\"\n[profile.dist.package]\na.opt-level = 3\n";
        assert_eq!(profile_lines(manifest), read);
    }
}
