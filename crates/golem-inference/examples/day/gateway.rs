//! A gateway of this workspace, built and started in sandbox mode.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// A gateway as a process of its own; it ends, and what it stored is removed, when this is dropped.
pub(crate) struct Gateway {
    child: Child,
    folder: PathBuf,
    pub(crate) url: String,
    pub(crate) key: String,
}

impl Gateway {
    /// Starts the binary at `path`, or builds it first, like this program was built.
    pub(crate) fn start(path: Option<&str>) -> Result<Self, String> {
        let binary = match path {
            Some(path) => std::path::absolute(path).map_err(|error| error.to_string())?,
            None => build()?,
        };
        let folder = std::env::temp_dir().join(format!("golem-day-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let started = start(&binary, &folder);
        if started.is_err() {
            let _ = std::fs::remove_dir_all(&folder);
        }
        started
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn start(binary: &Path, folder: &Path) -> Result<Gateway, String> {
    let text = |error: std::io::Error| format!("cannot start {}: {error}", binary.display());
    let log = folder.join("log");
    let mut child = Command::new(binary)
        .args(["serve", "--sandbox", "--json", "--data-dir"])
        .arg(folder.join("data"))
        .args(["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(File::create(&log).map_err(text)?)
        .spawn()
        .map_err(text)?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line).map_err(text)?;
    }
    let ready: Value = serde_json::from_str(&line).unwrap_or_default();
    let member = |name: &str| ready.get(name).and_then(Value::as_str).map(str::to_owned);
    let (Some(listen), Some(key)) = (member("listen"), member("key")) else {
        let _ = child.kill();
        let _ = child.wait();
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        return Err(format!("the gateway did not start: {line}{said}"));
    };
    Ok(Gateway {
        child,
        folder: folder.to_owned(),
        url: format!("http://{listen}"),
        key,
    })
}

/// Builds the gateway with the profile of this program, beside it.
fn build() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    // target/<profile>/examples/day
    let folder = own.parent().and_then(Path::parent);
    let folder = folder.ok_or("this program is not where cargo puts examples; give --gateway")?;
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") => "dev",
        Some(name) => name,
        None => "release",
    };
    let target = folder.parent().unwrap_or(folder);
    let binary = folder.join(format!("bardo-gateway{}", std::env::consts::EXE_SUFFIX));
    let begin = "building the gateway; the first time this takes some minutes";
    if !binary.exists() {
        let _ = writeln!(std::io::stderr(), "{begin}");
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // What cargo told this program of itself would tell the build that its surroundings changed,
    // and it would begin from the start.
    for (name, _) in std::env::vars_os() {
        let own = [
            "CARGO_PKG_",
            "CARGO_MANIFEST_",
            "CARGO_CRATE_",
            "CARGO_BIN_",
            "CARGO_PRIMARY_",
        ];
        if name
            .to_str()
            .is_some_and(|name| own.iter().any(|own| name.starts_with(own)))
        {
            command.env_remove(name);
        }
    }
    let built = command
        .args([
            "build",
            "--quiet",
            "-p",
            "bardo-gateway",
            "--profile",
            profile,
        ])
        .arg("--target-dir")
        .arg(target)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .stdout(Stdio::null())
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if built.success() {
        Ok(binary)
    } else {
        Err("the gateway cannot be built".to_owned())
    }
}
