//! `cargo xtask mutants`: each invariant with a deliberate fault that its test
//! is seen to catch.
//!
//! A test that never failed proves little. `tests/mutants.toml` lists small
//! changes that break one promise each; every one is made in a copy of the
//! workspace, and the named test has to fail there.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::workspace::Workspace;

const LIST: &str = "tests/mutants.toml";
/// A test that takes longer hangs, and so has failed.
const PATIENCE: Duration = Duration::from_secs(240);

/// Options of `cargo xtask mutants`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only mutants with this text in their name [default: all].
    names: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    mutant: Vec<Mutant>,
}

/// One deliberate fault.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutant {
    name: String,
    /// The promise that it breaks.
    breaks: String,
    file: String,
    /// Text that occurs once in the file.
    find: String,
    replace: String,
    caught_by: Catcher,
}

/// The test that has to fail.
#[derive(Clone, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields)]
struct Catcher {
    package: String,
    test: String,
    /// `lib` for unit tests, else the integration test's name.
    #[serde(default = "integration")]
    target: String,
}

fn integration() -> String {
    "it".to_owned()
}

enum Outcome {
    /// The test failed and said this.
    Caught(String),
    Missed,
    /// The mutant could not be tried, for this reason.
    Broken(String),
}

/// Makes each fault in turn and says which were caught.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let workspace = Workspace::find()?;
    let mutants: Vec<Mutant> = list(&workspace)?
        .into_iter()
        .filter(|mutant| {
            args.names.is_empty() || args.names.iter().any(|name| mutant.name.contains(name))
        })
        .collect();
    ensure!(!mutants.is_empty(), "no mutant has such a name");
    let copy = Copy::of(&workspace)?;
    let catchers: BTreeSet<&Catcher> = mutants.iter().map(|mutant| &mutant.caught_by).collect();
    for catcher in catchers {
        println!("==> {} without a fault", catcher.test);
        match copy.test(catcher)? {
            Ran::Passed => {}
            Ran::Failed(why) | Ran::DidNotRun(why) => {
                bail!("`{}` does not pass as it is: {why}", catcher.test)
            }
        }
    }
    let mut missed = 0;
    for mutant in &mutants {
        let started = Instant::now();
        println!("==> {}: {}", mutant.name, mutant.breaks);
        let outcome = copy.try_out(mutant)?;
        let word = match &outcome {
            Outcome::Caught(said) => format!("caught: {said}"),
            Outcome::Missed => format!("MISSED by {}", mutant.caught_by.test),
            Outcome::Broken(why) => format!("NOT TRIED: {why}"),
        };
        missed += usize::from(!matches!(outcome, Outcome::Caught(_)));
        println!("{} ({:.0?}) {word}\n", mutant.name, started.elapsed());
    }
    println!(
        "{} of {} faults were caught",
        mutants.len() - missed,
        mutants.len()
    );
    Ok(missed == 0)
}

fn list(workspace: &Workspace) -> Result<Vec<Mutant>> {
    let text =
        fs::read_to_string(workspace.root().join(LIST)).context("read tests/mutants.toml")?;
    let list: List = toml::from_str(&text).context("parse tests/mutants.toml")?;
    Ok(list.mutant)
}

/// How a test ended in the copy.
enum Ran {
    Passed,
    /// The first lines that it said about it.
    Failed(String),
    DidNotRun(String),
}

/// The workspace once more, always in the same place so that builds are incremental.
struct Copy {
    root: PathBuf,
    target: PathBuf,
}

impl Copy {
    fn of(workspace: &Workspace) -> Result<Self> {
        let base = workspace.target().join("mutants");
        let copy = Self {
            root: base.join("tree"),
            target: base.join("target"),
        };
        let listed = Command::new("git")
            .current_dir(workspace.root())
            .args([
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
            ])
            .output()
            .context("list the files of the workspace")?;
        ensure!(listed.status.success(), "git does not list the files");
        for name in String::from_utf8(listed.stdout)?.split_terminator('\0') {
            copy.take(workspace.root(), name)?;
        }
        Ok(copy)
    }

    /// Copies a file unless it is there already, so that its time stays and nothing is rebuilt.
    fn take(&self, root: &Path, name: &str) -> Result<()> {
        let (from, to) = (root.join(name), self.root.join(name));
        let Ok(bytes) = fs::read(&from) else {
            // Deleted and not yet committed, or a folder of another repository.
            let _ = fs::remove_file(&to);
            return Ok(());
        };
        if fs::read(&to).is_ok_and(|there| there == bytes) {
            return Ok(());
        }
        let folder = to.parent().context("a file is in a folder")?;
        fs::create_dir_all(folder)?;
        fs::write(&to, bytes).with_context(|| format!("copy {name}"))
    }

    fn try_out(&self, mutant: &Mutant) -> Result<Outcome> {
        let path = self.root.join(&mutant.file);
        let sound = fs::read_to_string(&path).with_context(|| format!("read {}", mutant.file))?;
        if let Err(why) = applicable(mutant, &sound) {
            return Ok(Outcome::Broken(why));
        }
        fs::write(&path, sound.replace(&mutant.find, &mutant.replace))?;
        let ran = self.test(&mutant.caught_by);
        fs::write(&path, sound)?;
        Ok(match ran? {
            Ran::Failed(said) => Outcome::Caught(said),
            Ran::Passed => Outcome::Missed,
            Ran::DidNotRun(why) => Outcome::Broken(why),
        })
    }

    fn cargo_test(&self, catcher: &Catcher) -> Command {
        let mut command = Command::new("cargo");
        command
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("RUST_BACKTRACE", "0")
            .args(["test", "--quiet", "--package", &catcher.package]);
        match catcher.target.as_str() {
            "lib" => command.arg("--lib"),
            name => command.args(["--test", name]),
        };
        command
    }

    fn test(&self, catcher: &Catcher) -> Result<Ran> {
        let built = self.cargo_test(catcher).arg("--no-run").output();
        let built = built.context("start cargo test")?;
        if !built.status.success() {
            let errors = String::from_utf8_lossy(&built.stderr).into_owned();
            let first = errors.lines().find(|line| line.starts_with("error"));
            let why = first.unwrap_or("it does not build");
            return Ok(Ran::DidNotRun(why.to_owned()));
        }
        let said = self.target.join("said");
        let mut child = self
            .cargo_test(catcher)
            .args([catcher.test.as_str(), "--", "--exact"])
            .stdout(fs::File::create(&said)?)
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("start cargo test")?;
        let started = Instant::now();
        while child.try_wait()?.is_none() {
            if started.elapsed() > PATIENCE {
                // With the test that cargo has started.
                let group = format!("-{}", child.id());
                Command::new("kill")
                    .args(["-KILL", "--", &group])
                    .status()?;
                child.wait()?;
                // A promise of an end is broken by none.
                return Ok(Ran::Failed("it did not end".to_owned()));
            }
            thread::park_timeout(Duration::from_millis(50));
        }
        let said = fs::read_to_string(said)?;
        Ok(if said.contains("test result: ok. 1 passed") {
            Ran::Passed
        } else if said.contains("test result: FAILED") {
            Ran::Failed(panic_of(&said))
        } else {
            Ran::DidNotRun("the test did not run".to_owned())
        })
    }
}

/// The place and the first line of a test's panic, so that a reader sees whether the failure is about
/// the fault.
fn panic_of(said: &str) -> String {
    let mut lines = said
        .lines()
        .skip_while(|line| !line.contains("panicked at "))
        .map(|line| {
            line.split_once("panicked at ")
                .map_or(line, |(_, place)| place)
        });
    let place = lines.next().unwrap_or("no panic");
    let message: String = lines.next().unwrap_or_default().chars().take(160).collect();
    format!("{place} {message}")
}

fn applicable(mutant: &Mutant, text: &str) -> Result<(), String> {
    match text.matches(&mutant.find).count() {
        1 => Ok(()),
        times => Err(format!("its text occurs {times} times in {}", mutant.file)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_and_the_message_of_a_panic_are_shown() {
        let said = "running 1 test\n\nthread 'a::b' (7) panicked at crates/x/tests/it.rs:3:5:\n\
                    assertion failed: paid\nnote: run with `RUST_BACKTRACE=1`\n";
        let shown = "crates/x/tests/it.rs:3:5: assertion failed: paid";
        assert_eq!(panic_of(said), shown);
        assert_eq!(panic_of("signal: 9"), "no panic ");
    }

    /// A fault that no longer applies would be forgotten until somebody runs the long checks.
    #[test]
    fn every_fault_of_this_workspace_still_applies() {
        let workspace = Workspace::find().unwrap();
        let mutants = list(&workspace).unwrap();
        assert!(mutants.len() >= 10);
        for mutant in &mutants {
            let text = fs::read_to_string(workspace.root().join(&mutant.file)).unwrap();
            assert_eq!(applicable(mutant, &text), Ok(()), "{}", mutant.name);
            assert_ne!(mutant.find, mutant.replace, "{}", mutant.name);
        }
        let names: BTreeSet<&str> = mutants.iter().map(|mutant| mutant.name.as_str()).collect();
        assert_eq!(names.len(), mutants.len());
    }

    /// A test that moved would be missed only by the long checks, too.
    #[test]
    fn every_test_that_catches_a_fault_is_in_its_module() {
        let workspace = Workspace::find().unwrap();
        for mutant in list(&workspace).unwrap() {
            let Catcher { package, test, .. } = &mutant.caught_by;
            let parent = |folder: &str| workspace.root().join(folder).join(package);
            let folder = ["crates", ""]
                .map(parent)
                .into_iter()
                .find(|one| one.is_dir());
            let (modules, name) = test.rsplit_once("::").unwrap_or(("", test));
            let module = modules.rsplit("::").next().unwrap_or_default();
            let is_there = sources(&folder.unwrap()).into_iter().any(|(file, text)| {
                let stands = file.file_stem().is_some_and(|stem| stem == module);
                let inside = text.contains(&format!("mod {module} {{"));
                text.contains(&format!("fn {name}(")) && (stands || inside || module.is_empty())
            });
            assert!(is_there, "{}: no `{test}` in {package}", mutant.name);
        }
    }

    fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(sources(&path));
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
        found
    }
}
