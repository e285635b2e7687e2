//! The processes under measurement: starting them, and what the kernel says
//! about them.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

const READY_WITHIN: Duration = Duration::from_secs(30);

/// Prints the ready line with the address.
pub(super) fn announce(listen: SocketAddr) {
    println!(
        "{}",
        json!({"event": "ready", "listen": listen.to_string()})
    );
}

/// A server in its own process, killed when dropped.
pub(super) struct Process {
    child: Child,
    pub(super) listen: SocketAddr,
    /// The whole ready line.
    pub(super) ready: Value,
}

impl Process {
    /// Starts a server and waits for its ready line. Its log goes to `log`,
    /// and the end of it is quoted when the server does not come up.
    pub(super) fn start(command: &mut Command, log: &Path) -> Result<Self> {
        let stderr = File::create(log).with_context(|| format!("create {}", log.display()))?;
        let shown = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .with_context(|| format!("start {shown}"))?;
        let stdout = child.stdout.take().context("stdout is piped above")?;
        let (sender, ready) = mpsc::channel();
        thread::spawn(move || {
            // Reading on after the ready line keeps the server's stdout open.
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let Ok(value) = serde_json::from_str::<Value>(&line) else {
                    continue;
                };
                if value["event"] == "ready" {
                    // Nobody waits any more when the time is up.
                    let _ = sender.send(value);
                }
            }
        });
        let Ok(ready) = ready.recv_timeout(READY_WITHIN) else {
            // It may have ended by itself already.
            let _ = child.kill();
            let status = child.wait()?;
            bail!(
                "{shown} did not become ready ({status}); it said: {}",
                tail(log)
            );
        };
        let listen = ready["listen"].as_str().and_then(|text| text.parse().ok());
        Ok(Self {
            listen: listen.with_context(|| format!("no address in {ready}"))?,
            child,
            ready,
        })
    }

    /// Asks the process to end, and waits until it has.
    pub(super) fn end(mut self) -> Result<()> {
        terminate(self.child.id())?;
        let status = self.child.wait()?;
        if !status.success() {
            bail!("it ended with {status}");
        }
        Ok(())
    }

    /// CPU time of all threads so far, user and system, ended ones included.
    pub(super) fn cpu_time(&self) -> Result<Duration> {
        cpu_time(self.child.id())
    }

    /// How many entries a folder of the kernel's has for it: `fd` its open files, `task` its threads.
    pub(super) fn entries(&self, folder: &str) -> Result<usize> {
        let path = format!("/proc/{}/{folder}", self.child.id());
        Ok(fs::read_dir(&path)
            .with_context(|| format!("read {path}"))?
            .count())
    }

    /// Resident memory in bytes.
    pub(super) fn resident(&self) -> Result<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
        kibibytes(&status, "VmRSS:").with_context(|| format!("VmRSS in {path}"))
    }

    /// Resident memory of its own in bytes: all but pages of files, such as the program itself,
    /// which the kernel drops when memory is short.
    pub(super) fn private(&self) -> Result<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
        kibibytes(&status, "RssAnon:").with_context(|| format!("RssAnon in {path}"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A line of a process's status, in bytes.
fn kibibytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(5).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" | ")
}

#[cfg(target_os = "linux")]
fn cpu_time(pid: u32) -> Result<Duration> {
    use nix::{time::clock_getcpuclockid, unistd::Pid};

    let pid = Pid::from_raw(i32::try_from(pid)?);
    Ok(clock_getcpuclockid(pid)?.now()?.into())
}

#[cfg(target_os = "linux")]
fn terminate(pid: u32) -> Result<()> {
    use nix::{
        sys::signal::{Signal, kill},
        unistd::Pid,
    };

    Ok(kill(Pid::from_raw(i32::try_from(pid)?), Signal::SIGTERM)?)
}

#[cfg(not(target_os = "linux"))]
fn terminate(_: u32) -> Result<()> {
    bail!("a process gets a signal to end on Linux only")
}

#[cfg(not(target_os = "linux"))]
fn cpu_time(_: u32) -> Result<Duration> {
    bail!("CPU time of another process is read on Linux only")
}

/// Raises the limit on open files as far as allowed: 2,000 streams need
/// 2,000 sockets here and twice that in the gateway, which inherits the limit.
pub(super) fn allow_many_files() -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::resource::{Resource, getrlimit, setrlimit};

        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    Ok(())
}

/// A directory of our own that is removed with everything in it.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("bardo-bench-{}", std::process::id()));
        fs::create_dir_all(&path).with_context(|| format!("create {}", path.display()))?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Left behind at worst, in the place for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_read_in_bytes() {
        let status = "Name:\tx\nVmRSS:\t   12 kB\nRssAnon:\t  3 kB\nThreads: 1\n";
        assert_eq!(kibibytes(status, "VmRSS:"), Some(12_288));
        assert_eq!(kibibytes(status, "RssAnon:"), Some(3_072));
        assert_eq!(kibibytes("Name:\tx\n", "VmRSS:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn cpu_time_grows_with_work() {
        let own = || cpu_time(std::process::id()).unwrap();
        let before = own();
        let mut sum = 0_u64;
        while own() - before < Duration::from_millis(1) {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(sum > 0);
    }
}
