//! A tool behind the proxy: its signals, its exit code, and a summary at its end.

use std::io::{IsTerminal as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use anyhow::{Context as _, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

use crate::tools::ToolCommand;

/// Exit codes of shells for a command that is not there, and for one that cannot be started.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;

/// Runs a tool to its end; answers its exit code.
///
/// # Errors
/// When signals cannot be taken, or the tool cannot be waited for.
pub(crate) async fn run(tool: &ToolCommand) -> Result<u8> {
    let mut command = Command::new(&tool.program);
    command.args(&tool.args);
    for name in tool.removed {
        command.env_remove(name);
    }
    command.envs(tool.set.iter().map(|(name, value)| (name, value)));
    // Taken before the start, so that none falls between.
    let mut interrupt = signal(SignalKind::interrupt()).context("take signals")?;
    let mut quit = signal(SignalKind::quit()).context("take signals")?;
    let mut terminate = signal(SignalKind::terminate()).context("take signals")?;
    let mut hangup = signal(SignalKind::hangup()).context("take signals")?;
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let program = tool.program.to_string_lossy();
            let _ = writeln!(
                std::io::stderr(),
                "bardo-inference: cannot start {program}: {error}"
            );
            let is_missing = error.kind() == std::io::ErrorKind::NotFound;
            return Ok(if is_missing { NOT_FOUND } else { NOT_STARTED });
        }
    };
    let id = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .map(Pid::from_raw);
    // A terminal sends its signals to the tool too.
    let from_terminal = std::io::stdin().is_terminal();
    loop {
        let passed = tokio::select! {
            status = child.wait() => return Ok(exit_code(status.context("wait for the tool")?)),
            _ = interrupt.recv() => (!from_terminal).then_some(Signal::SIGINT),
            _ = quit.recv() => (!from_terminal).then_some(Signal::SIGQUIT),
            _ = terminate.recv() => Some(Signal::SIGTERM),
            _ = hangup.recv() => Some(Signal::SIGHUP),
        };
        if let (Some(id), Some(passed)) = (id, passed) {
            // It may have ended meanwhile; `wait` tells.
            let _ = kill(id, passed);
        }
    }
}

/// The code of a tool, or 128 and the signal that ended it, as shells have it.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
