//! What each tool needs, so that it calls the proxy and nobody else.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;

use serde_json::{Map, Value, json};
use tempfile::NamedTempFile;

use crate::guard::ProxyGuard;
use crate::wallet::KEY_VARIABLE;

/// Variable in which Codex finds the token.
const TOKEN_VARIABLE: &str = "BARDO_INFERENCE_TOKEN";

/// Variables of this program that no tool may see, and keys of other services, which would send it
/// elsewhere.
pub(crate) const REMOVED: [&str; 7] = [
    KEY_VARIABLE,
    "BARDO_INFERENCE_PASSPHRASE_FILE",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "OPENAI_API_KEY",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
];

/// A command with what leads it to the proxy.
#[derive(Debug)]
pub(crate) struct ToolCommand {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) set: Vec<(&'static str, String)>,
    pub(crate) removed: &'static [&'static str],
    /// Settings of the tool that are there as long as this value.
    _settings: Option<NamedTempFile>,
}

impl ToolCommand {
    /// Prepares a command, by the name of its program. A tool that is not known gets all variables
    /// that SDKs read.
    ///
    /// # Errors
    /// When the settings of a tool cannot be written.
    pub(crate) fn new(
        command: &[String],
        model: Option<&str>,
        guard: &ProxyGuard,
        port: u16,
    ) -> std::io::Result<Self> {
        let root = format!("http://127.0.0.1:{port}");
        let token = guard.token().expose();
        let (program, given) = command
            .split_first()
            .map_or(("", &[][..]), |(program, given)| (program.as_str(), given));
        let name = Path::new(program)
            .file_name()
            .and_then(|name| name.to_str());
        let mut args: Vec<OsString> = Vec::new();
        let mut set = Vec::new();
        let mut settings = None;
        match name {
            Some("claude") => {
                set = messages(&root, token);
                set.extend(claude_models(model));
                // Two such options would be ambiguous; the caller's own counts.
                if !given.iter().any(|arg| arg.starts_with("--settings")) {
                    let file = claude_settings(&set)?;
                    args.extend(["--settings".into(), file.path().into()]);
                    settings = Some(file);
                }
            }
            Some("codex") => {
                args.extend(codex(&root, model).into_iter().map(OsString::from));
                set.push((TOKEN_VARIABLE, token.to_owned()));
            }
            Some("aider") => {
                if let Some(model) = model {
                    args.extend(["--model".into(), format!("openai/{model}").into()]);
                }
                set.extend(openai(&root, token));
                set.push(("ANTHROPIC_BASE_URL", root.clone()));
                set.push(("ANTHROPIC_API_KEY", token.to_owned()));
            }
            _ => {
                set.extend(openai(&root, token));
                set.extend(messages(&root, token));
            }
        }
        args.extend(given.iter().map(OsString::from));
        Ok(Self {
            program: program.into(),
            args,
            set,
            removed: &REMOVED,
            _settings: settings,
        })
    }
}

fn messages(root: &str, token: &str) -> Vec<(&'static str, String)> {
    vec![
        ("ANTHROPIC_BASE_URL", root.to_owned()),
        ("ANTHROPIC_AUTH_TOKEN", token.to_owned()),
    ]
}

fn openai(root: &str, token: &str) -> Vec<(&'static str, String)> {
    vec![
        ("OPENAI_BASE_URL", format!("{root}/v1")),
        ("OPENAI_API_BASE", format!("{root}/v1")),
        ("OPENAI_API_KEY", token.to_owned()),
    ]
}

/// Claude Code has a model for each kind of work.
fn claude_models(model: Option<&str>) -> Vec<(&'static str, String)> {
    const VARIABLES: [&str; 5] = [
        "ANTHROPIC_MODEL",
        "ANTHROPIC_SMALL_FAST_MODEL",
        "ANTHROPIC_DEFAULT_OPUS_MODEL",
        "ANTHROPIC_DEFAULT_SONNET_MODEL",
        "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    ];
    let set = |model: &str| VARIABLES.map(|variable| (variable, model.to_owned()));
    model.map(set).into_iter().flatten().collect()
}

/// Settings of a session of Claude Code, in a file that its owner alone can read. The variables in the
/// user's own settings win over those of the process, and these win over both.
fn claude_settings(set: &[(&'static str, String)]) -> std::io::Result<NamedTempFile> {
    let mut env: Map<String, Value> = Map::new();
    env.insert("ANTHROPIC_API_KEY".into(), json!(""));
    env.extend(
        set.iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value))),
    );
    let mut file = NamedTempFile::with_suffix(".json")?;
    file.write_all(json!({ "env": env }).to_string().as_bytes())?;
    Ok(file)
}

/// Codex has its provider in its configuration. It repeats what was refused, unless told not to.
fn codex(root: &str, model: Option<&str>) -> Vec<String> {
    let provider = format!(
        "model_providers.bardo={{name=\"bardo\",base_url=\"{root}/v1\",env_key=\"{TOKEN_VARIABLE}\",wire_api=\"responses\",request_max_retries=0,stream_max_retries=0}}"
    );
    let mut args = vec![
        "-c".into(),
        "model_provider=\"bardo\"".into(),
        "-c".into(),
        provider,
    ];
    if let Some(model) = model {
        // A text in TOML and in JSON is written in one way.
        args.extend(["-c".into(), format!("model={}", json!(model))]);
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepare(command: &[&str], model: Option<&str>) -> (ToolCommand, String) {
        let guard = ProxyGuard::new(4711).unwrap();
        let command: Vec<String> = command.iter().map(|part| (*part).to_owned()).collect();
        let token = guard.token().expose().to_owned();
        let tool = ToolCommand::new(&command, model, &guard, 4711).unwrap();
        (tool, token)
    }

    #[test]
    fn claude_gets_its_address_and_its_models() {
        let (tool, token) = prepare(&["/usr/bin/claude", "-p", "Hello"], Some("m"));
        assert_eq!(tool.args[0], "--settings");
        assert_eq!(tool.args[2..], ["-p", "Hello"]);
        let settings = std::fs::read(&tool.args[1]).unwrap();
        let settings: Value = serde_json::from_slice(&settings).unwrap();
        assert_eq!(
            settings["env"]["ANTHROPIC_BASE_URL"],
            "http://127.0.0.1:4711"
        );
        assert_eq!(settings["env"]["ANTHROPIC_AUTH_TOKEN"], token);
        let file = std::path::PathBuf::from(&tool.args[1]);
        let (own, _) = prepare(&["claude", "--settings", "mine.json"], None);
        assert_eq!(own.args, ["--settings", "mine.json"]);
        assert!(
            tool.set
                .contains(&("ANTHROPIC_BASE_URL", "http://127.0.0.1:4711".into()))
        );
        assert!(tool.set.contains(&("ANTHROPIC_AUTH_TOKEN", token)));
        assert!(
            tool.set
                .contains(&("ANTHROPIC_DEFAULT_HAIKU_MODEL", "m".into()))
        );
        assert!(
            !tool
                .set
                .iter()
                .any(|(name, _)| *name == "ANTHROPIC_API_KEY")
        );
        assert!(tool.removed.contains(&"BARDO_INFERENCE_KEY"));
        drop(tool);
        assert!(!file.exists(), "the token is gone with the session");
    }

    #[test]
    fn codex_gets_a_provider_before_its_own_arguments_and_no_token_in_them() {
        let (tool, token) = prepare(&["codex", "exec", "Hello"], Some("m"));
        assert_eq!(tool.args[tool.args.len() - 2..], ["exec", "Hello"]);
        let args = format!("{:?}", tool.args);
        assert!(
            args.contains("http://127.0.0.1:4711/v1") && args.contains("responses"),
            "{args}"
        );
        assert!(
            !args.contains(&token),
            "arguments are visible to other users"
        );
        assert_eq!(tool.set, [(TOKEN_VARIABLE, token)]);
    }

    #[test]
    fn aider_and_unknown_tools_get_every_variable_that_sdks_read() {
        let (tool, token) = prepare(&["aider", "--message", "x"], Some("m"));
        assert_eq!(tool.args[..2], ["--model", "openai/m"]);
        for name in ["OPENAI_API_BASE", "OPENAI_BASE_URL"] {
            assert!(
                tool.set
                    .contains(&(name, "http://127.0.0.1:4711/v1".into()))
            );
        }
        assert!(tool.set.contains(&("OPENAI_API_KEY", token)));
        let (other, token) = prepare(&["python3", "agent.py"], None);
        assert_eq!(other.args, ["agent.py"]);
        assert!(other.set.contains(&("ANTHROPIC_AUTH_TOKEN", token.clone())));
        assert!(other.set.contains(&("OPENAI_API_KEY", token)));
    }
}
