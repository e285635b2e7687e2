//! A running gateway, and simulated providers behind it.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bardo_sandbox::SandboxConfig;
use serde_json::{Value, json};

use crate::http::{Answer, Exchange, PATIENCE, Request};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_bardo-gateway");

/// A folder of its own for each test, removed with it.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!(
            "bardo-it-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        // Through a rename, so that nobody ever reads half a file.
        let (path, draft) = (self.0.join(name), self.0.join(format!("{name}.draft")));
        std::fs::write(&draft, text).expect("a file");
        std::fs::rename(&draft, &path).expect("a file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The gateway's command without anything of this process's environment.
pub(crate) fn command(folder: &Folder) -> Command {
    let mut command = Command::new(BINARY);
    command
        .env_clear()
        .env("HOME", &folder.0)
        .env("PATH", "/usr/bin:/bin")
        .current_dir(&folder.0)
        .stdin(Stdio::null());
    command
}

/// The gateway as a process of its own; killed when dropped.
pub(crate) struct Gateway {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) admin: SocketAddr,
    pub(crate) ready: Value,
    pub(crate) folder: Folder,
}

impl Gateway {
    pub(crate) fn start(config: &Value) -> Self {
        Self::start_with(config, &[])
    }

    /// Starts with a config file `config.yaml` and environment variables.
    pub(crate) fn start_with(config: &Value, environment: &[(&str, &str)]) -> Self {
        let folder = Folder::new();
        // JSON is YAML.
        let file = folder.write("config.yaml", &config.to_string());
        let mut command = command(&folder);
        command.arg("serve").arg("--config").arg(file);
        Self::run(folder, command, environment)
    }

    pub(crate) fn run(folder: Folder, command: Command, environment: &[(&str, &str)]) -> Self {
        let log = folder.0.join("log");
        Self::try_run(folder, command, environment).unwrap_or_else(|| {
            panic!(
                "it is not ready; what it said is above, and was in {}",
                log.display()
            )
        })
    }

    /// `None` when it ends before it is ready.
    pub(crate) fn try_run(
        folder: Folder,
        mut command: Command,
        environment: &[(&str, &str)],
    ) -> Option<Self> {
        let log = std::fs::File::create(folder.0.join("log")).expect("a file");
        let mut child = command
            .args(["--json", "--listen", "127.0.0.1:0"])
            .args(["--admin-listen", "127.0.0.1:0"])
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the gateway starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("standard output is readable");
        let Ok(ready) = serde_json::from_str::<Value>(&line) else {
            let log = std::fs::read_to_string(folder.0.join("log"));
            eprintln!("not ready: {line:?} {log:?}");
            let _ = child.wait();
            return None;
        };
        let address = |name: &str| {
            let text = ready[name].as_str().expect("an address");
            text.parse().expect("an address")
        };
        Some(Self {
            child,
            address: address("listen"),
            admin: address("admin_listen"),
            ready: ready.clone(),
            folder,
        })
    }

    /// What a start says that is refused.
    #[track_caller]
    pub(crate) fn refusal(folder: &Folder, mut command: Command) -> String {
        let path = folder.0.join("refusal");
        let mut child = command
            .args(["--json", "--listen", "127.0.0.1:0"])
            .args(["--admin-listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&path).expect("a file"))
            .spawn()
            .expect("the gateway starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("standard output is readable");
        if !line.is_empty() {
            let _ = child.kill();
        }
        let status = child.wait().expect("it is ours");
        assert_eq!((line.as_str(), status.code()), ("", Some(1)));
        std::fs::read_to_string(path).expect("a log")
    }

    #[track_caller]
    pub(crate) fn send(&self, request: &Request) -> Answer {
        request.send(self.address)
    }

    pub(crate) fn open(&self, request: &Request) -> Exchange {
        request.open(self.address)
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.0.join("log")).expect("a log")
    }

    pub(crate) fn status(&self) -> Value {
        Request::get("/status").send(self.admin).json()
    }

    pub(crate) fn configure(&self, config: &str) {
        self.folder.write("config.yaml", config);
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(self.child.id().to_string())
            .status()
            .expect("`kill` is everywhere");
        assert!(sent.success());
    }

    /// Waits for the process to end by itself.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> ExitStatus {
        eventually("the gateway ends", || {
            self.child.try_wait().expect("it is ours")
        })
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("it is ours").is_none()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let _ = std::io::copy(
                &mut self.log().as_bytes().take(20_000),
                &mut std::io::stderr(),
            );
        }
    }
}

/// Looks again and again until there is something.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let since = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(since.elapsed() < PATIENCE, "not in {PATIENCE:?}: {what}");
        // Another process does not say when it is ready to be looked at.
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// Lets time pass. Threads that ended leave a wake-up, so that parking once may end at once.
pub(crate) fn pass(time: Duration) {
    let since = Instant::now();
    while let Some(left) = time.checked_sub(since.elapsed())
        && !left.is_zero()
    {
        std::thread::park_timeout(left);
    }
}

/// Simulated providers, for as long as the test process runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sandbox {
    pub(crate) address: SocketAddr,
}

impl Sandbox {
    pub(crate) fn start() -> Self {
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            let sandbox =
                bardo_sandbox::Sandbox::bind(SandboxConfig::default()).expect("a free port");
            sender.send(sandbox.local_addr()).expect("the test waits");
            runtime
                .block_on(sandbox.run(std::future::pending()))
                .expect("it serves");
        });
        Self {
            address: receiver.recv().expect("it is bound"),
        }
    }

    pub(crate) fn at(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// From now on requests to the service go wrong like this.
    #[track_caller]
    pub(crate) fn fault(&self, service: &str, fault: &Value) {
        let body = json!({ "service": service, "times": 0, "fault": fault });
        let queued = Request::json("/_sandbox/faults", &body).send(self.address);
        assert_eq!(queued.status(), 200, "{}", queued.text());
    }

    pub(crate) fn heal(&self) {
        Request::get("/_sandbox/faults")
            .method("DELETE")
            .send(self.address);
    }

    /// A new world: no journal, no faults, no prompt cache.
    pub(crate) fn reset(&self) {
        Request::json("/_sandbox/reset", &json!({})).send(self.address);
    }

    pub(crate) fn forget(&self) {
        Request::get("/_sandbox/journal")
            .method("DELETE")
            .send(self.address);
    }

    /// The requests since the journal was cleared, without lookups of credit and usage: these come
    /// when they like.
    pub(crate) fn journal(&self) -> Vec<Value> {
        let journal = Request::get("/_sandbox/journal").send(self.address).json();
        let mut entries = journal["entries"].as_array().expect("entries").clone();
        let is_lookup = |entry: &Value| {
            let path = entry["path"].as_str().unwrap_or_default();
            ["/bankr/v1/credits", "/bankr/v1/usage"]
                .iter()
                .any(|lookup| path.starts_with(lookup))
        };
        entries.retain(|entry| !is_lookup(entry));
        entries
    }

    /// The only request since the journal was cleared.
    #[track_caller]
    pub(crate) fn only_entry(&self) -> Value {
        let mut entries = self.journal();
        assert_eq!(entries.len(), 1, "{entries:#?}");
        entries.remove(0)
    }
}

/// A configuration with one direct key for `provider` at `url`.
pub(crate) fn direct(provider: &str, url: &str, models: &[&str]) -> Value {
    json!({ "provider": provider, "api_key": "up-key", "base_url": url, "models": models })
}

/// Keys in this order, and nothing that a test would not see. Every failure is met: no circuit
/// opens.
pub(crate) fn config(keys: &[Value]) -> Value {
    json!({
        "catalog": { "live": false },
        "upstream": { "breaker": { "enabled": false }, "probe_every": "0s" },
        "providers": { "direct": { "keys": keys } },
    })
}

/// Every service of the sandbox.
pub(crate) fn everything(sandbox: &Sandbox) -> Value {
    let service = |path: &str| json!({ "api_key": "up-key", "base_url": sandbox.at(path) });
    let mut config = config(&[
        direct("openai", &sandbox.at("/openai/v1"), &[]),
        direct("anthropic", &sandbox.at("/anthropic"), &[]),
        direct("google", &sandbox.at("/google"), &[]),
        direct("deepseek", &sandbox.at("/deepseek"), &[]),
    ]);
    config["providers"]["local"] =
        json!({ "base_url": sandbox.at("/local/v1"), "models": ["local-*", "llama*"] });
    config["providers"]["openrouter"] = service("/openrouter/api/v1");
    config["providers"]["venice"] = service("/venice/api/v1");
    config["providers"]["bankr"] = service("/bankr/v1");
    config
}

/// The makers' own services and a local server: whoever asks for something else gets nothing.
pub(crate) fn makers(sandbox: &Sandbox) -> Value {
    let mut config = everything(sandbox);
    let providers = config["providers"].as_object_mut().expect("an object");
    providers.retain(|name, _| matches!(name.as_str(), "direct" | "local"));
    config
}

/// A part of the configuration changed; members that `value` does not name stay.
pub(crate) fn with(mut config: Value, path: &str, value: Value) -> Value {
    let mut place = &mut config;
    for key in path.split('.') {
        place = &mut place[key];
    }
    match (place.as_object_mut(), value) {
        (Some(members), Value::Object(changed)) => members.extend(changed),
        (_, value) => *place = value,
    }
    config
}
