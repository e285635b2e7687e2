//! The proxy as a process, with a folder and a wallet of its own.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::{self, HttpMessage};
use crate::seller::ScriptedSeller;

/// A well-known test key; its account has no money anywhere.
pub(crate) const KEY: &str = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
pub(crate) const ADDRESS: &str = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

/// The binary with nothing of this machine's user.
pub(crate) fn command(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bardo-inference"));
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("BARDO_INFERENCE_KEY", KEY)
        // Nobody answers there, so a test that reads a chain names its own.
        .env("BARDO_INFERENCE_RPC", "http://127.0.0.1:9")
        .stdin(Stdio::null());
    command
}

/// A running proxy; it ends with this value.
pub(crate) struct ServedProxy {
    child: Child,
    pub(crate) port: u16,
    pub(crate) token: String,
    _home: TempDir,
}

impl ServedProxy {
    /// Starts a proxy before this seller, with more flags.
    pub(crate) fn new(seller: &ScriptedSeller, flags: &[&str]) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        Self::start(home, &format!("http://127.0.0.1:{}", seller.port), flags)
    }

    pub(crate) fn start(home: TempDir, endpoint: &str, flags: &[&str]) -> Self {
        let mut child = command(home.path())
            .args(["serve", "--port", "0", "--endpoint", endpoint])
            .args(flags)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output"));
        let mut line = String::new();
        lines.read_line(&mut line).expect("a line");
        let value = |name: &str| {
            let found = line
                .split_whitespace()
                .find_map(|word| word.strip_prefix(name));
            found
                .unwrap_or_else(|| panic!("no {name} in {line:?}"))
                .to_owned()
        };
        let root = value("ANTHROPIC_BASE_URL=");
        let port = root.rsplit(':').next().expect("a port");
        Self {
            child,
            port: port.parse().expect("a number"),
            token: value("ANTHROPIC_AUTH_TOKEN="),
            _home: home,
        }
    }

    /// Sends a request of its own tools, and reads the answer.
    pub(crate) fn ask(&self, path: &str, body: &Value) -> HttpMessage {
        http::read_message(&mut self.begin(path, body)).expect("an answer")
    }

    /// Sends a request; the answer is still on its way.
    pub(crate) fn begin(&self, path: &str, body: &Value) -> BufReader<std::net::TcpStream> {
        let bearer = format!("Bearer {}", self.token);
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
        ];
        http::send(self.port, path, &headers, &body.to_string())
    }

    /// Asks for a small chat.
    pub(crate) fn chat(&self) -> HttpMessage {
        self.ask("/v1/chat/completions", &chat("Hello"))
    }

    /// What the proxy counts.
    pub(crate) fn spend(&self) -> Value {
        self.ask("/bardo/spend", &json!({})).json()
    }
}

impl Drop for ServedProxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A request in Chat Completions.
pub(crate) fn chat(text: &str) -> Value {
    json!({ "model": "m", "messages": [{ "role": "user", "content": text }] })
}
