//! A running sandbox and a client that sees every byte.

use std::net::SocketAddr;
use std::time::Duration;

use bardo_sandbox::{Sandbox, SandboxConfig};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// No test may wait longer than this for anything.
const PATIENCE: Duration = Duration::from_secs(10);

/// A sandbox on a free port, stopped when dropped.
pub(crate) struct World {
    pub(crate) addr: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<std::io::Result<()>>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    /// The body with its transfer coding removed.
    pub(crate) body: Vec<u8>,
    /// Whether the body ended as its framing promised.
    pub(crate) complete: bool,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }
}

impl World {
    pub(crate) async fn start() -> Self {
        let config = SandboxConfig {
            seed: 7,
            ..SandboxConfig::default()
        };
        let sandbox = Sandbox::bind(config).expect("a free port");
        let addr = sandbox.local_addr();
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(sandbox.run(async {
            let _ = stopped.await;
        }));
        Self {
            addr,
            stop: Some(stop),
            running,
        }
    }

    pub(crate) async fn stop(mut self) {
        self.stop
            .take()
            .expect("not stopped yet")
            .send(())
            .expect("still running");
        tokio::time::timeout(PATIENCE, self.running)
            .await
            .expect("in time")
            .expect("no panic")
            .expect("served");
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Some(body.to_string())).await
    }

    pub(crate) async fn connect(&self, method: &str, path: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.addr)
            .await
            .expect("the sandbox listens");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: sandbox\r\nauthorization: Bearer sk-test\r\n\
             x-api-key: sk-test\r\nanthropic-version: 2023-06-01\r\nx-goog-api-key: sk-test\r\n\
             content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len(),
        );
        stream
            .write_all(head.as_bytes())
            .await
            .expect("the head is sent");
        stream
            .write_all(body.as_bytes())
            .await
            .expect("the body is sent");
        stream
    }

    async fn send(&self, method: &str, path: &str, body: Option<String>) -> Answer {
        let mut stream = self.connect(method, path, &body.unwrap_or_default()).await;
        let mut raw = Vec::new();
        // A reset is an ending too: what was read before it counts.
        let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut raw))
            .await
            .expect("in time");
        parse(&raw)
    }

    pub(crate) async fn queue(&self, service: &str, fault: Value) {
        let queued = self
            .post(
                "/_sandbox/faults",
                &json!({ "service": service, "fault": fault }),
            )
            .await;
        assert_eq!(queued.status, 200, "{}", queued.text());
    }

    pub(crate) async fn entries(&self) -> Vec<Value> {
        let journal = self.get("/_sandbox/journal").await.json();
        journal["entries"].as_array().expect("entries").clone()
    }

    /// Waits until the newest entry of the journal has an outcome.
    pub(crate) async fn last_closed(&self) -> Value {
        let waiting = async {
            loop {
                let entry = self.entries().await.pop().expect("an entry");
                if !entry["outcome"].is_null() {
                    return entry;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting)
            .await
            .expect("closed in time")
    }
}

/// A chat request, streamed or not.
pub(crate) fn chat(stream: bool) -> Value {
    json!({ "model": "gpt-5.5", "stream": stream,
        "messages": [{ "role": "user", "content": "hello there" }] })
}

fn parse(raw: &[u8]) -> Answer {
    let Some(end) = raw.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Answer {
            status: 0,
            head: String::new(),
            body: raw.to_vec(),
            complete: false,
        };
    };
    let head = String::from_utf8_lossy(&raw[..end]).to_lowercase();
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .expect("a status");
    let body = &raw[end + 4..];
    let header = |name: &str| {
        let line = head
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.map(str::to_owned)
    };
    let (body, complete) = if head.contains("transfer-encoding: chunked") {
        dechunked(body)
    } else {
        let promised = header("content-length").and_then(|length| length.parse().ok());
        (body.to_vec(), promised.unwrap_or(0) == body.len())
    };
    Answer {
        status,
        head,
        body,
        complete,
    }
}

fn dechunked(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        let Some(end) = rest.windows(2).position(|two| two == b"\r\n") else {
            return (body, false);
        };
        let size = std::str::from_utf8(&rest[..end]).expect("hex");
        let size = usize::from_str_radix(size, 16).expect("a chunk size");
        rest = &rest[end + 2..];
        if size == 0 {
            return (body, rest == b"\r\n");
        }
        body.extend_from_slice(&rest[..size.min(rest.len())]);
        if rest.len() < size + 2 {
            return (body, false);
        }
        rest = &rest[size + 2..];
    }
}
