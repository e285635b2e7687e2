//! The tools on this machine, and settings of theirs that lead them past the proxy.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;

use super::CheckList;
use crate::tools::REMOVED;

/// Tools that a session can start.
const TOOLS: [&str; 3] = ["claude", "codex", "aider"];
/// Members of `env` in the settings of Claude Code that replace the variables of a session.
const REPLACING: [&str; 3] = [
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_API_KEY",
];

pub(super) async fn check(list: &mut CheckList) {
    let mut found = false;
    for tool in TOOLS {
        let Some(path) = in_path(tool) else {
            continue;
        };
        found = true;
        let version = version(&path).await;
        let version = version.unwrap_or_else(|| "it does not say its version".into());
        list.ok("tool", format!("{tool} at {}: {version}", path.display()));
    }
    if !found {
        let text = "none of claude, codex, aider is in PATH";
        list.warn("tool", text, "install one, or name its path after `--`");
    }
    check_claude_settings(list);
}

/// The first line that a tool prints for `--version`. No secret of this program reaches it.
async fn version(path: &PathBuf) -> Option<String> {
    let mut command = Command::new(path);
    for name in REMOVED {
        command.env_remove(name);
    }
    let run = command
        .arg("--version")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(Duration::from_secs(20), run).await;
    let output = output.ok()?.ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().next().map(str::to_owned)
}

fn check_claude_settings(list: &mut CheckList) {
    let folder = std::env::var_os("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".claude"));
    let Some(file) = folder
        .or_else(home)
        .map(|folder| folder.join("settings.json"))
    else {
        return;
    };
    let text = std::fs::read(&file).ok();
    let Some(settings) = text.and_then(|text| serde_json::from_slice::<Value>(&text).ok()) else {
        return;
    };
    let set = REPLACING
        .iter()
        .find(|name| settings["env"].get(**name).is_some());
    if let Some(name) = set {
        let text = format!(
            "{} sets {name}; `run` replaces it for its session, `serve` cannot",
            file.display()
        );
        list.warn(
            "claude-settings",
            text,
            format!("remove {name} from `env` there"),
        );
    }
}

fn in_path(tool: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(tool))
        .find(|file| file.is_file())
}
