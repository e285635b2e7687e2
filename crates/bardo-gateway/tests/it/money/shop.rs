//! A gateway that charges, its books, and a provider whose bills are known.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::{Answer, Exchange, PATIENCE, Request};
use crate::rig::{Folder, Gateway, command};
use crate::scripted::{Scripted, Turn};

/// What the provider reports for every answer.
const PROMPT_TOKENS: u64 = 100;
const OUTPUT_TOKENS: u64 = 10;
/// 100 × 2 + 10 × 10 micro-USD, and 20 % of spread.
pub(super) const CHARGE: i64 = 360;

/// A folder of books, and what serves on it.
pub(super) struct Shop {
    pub(super) data: Folder,
    config: Value,
    /// Where the books are, when not in the folder.
    store: Option<String>,
}

/// A key, and its account's public name.
#[derive(Debug, Clone)]
pub(super) struct Key {
    pub(super) id: String,
    pub(super) key: String,
}

/// A configuration in which callers are charged for the model `m` at `url`.
pub(super) fn billed(url: &str, price: &Value) -> Value {
    json!({
        "catalog": { "live": false },
        "upstream": { "total_timeout": "10s" },
        "providers": { "direct": { "keys": [{
            "provider": "openai", "api_key": "up-key", "base_url": url, "models": ["m"],
            "bill": true, "price": price,
        }] } },
    })
}

impl Shop {
    /// A shop that sells what `upstream` makes, for 2 USD per million tokens in and 10 USD out.
    pub(super) fn selling(upstream: &Scripted) -> Self {
        let price = json!({ "input_per_million": 2, "output_per_million": 10 });
        Self::with(billed(&upstream.at("/v1"), &price))
    }

    pub(super) fn with(config: Value) -> Self {
        Self {
            data: Folder::new(),
            config,
            store: None,
        }
    }

    /// This shop with the ledger at a URL, for several gateways.
    pub(super) fn sharing(mut self, url: String) -> Self {
        self.store = Some(url);
        self
    }

    fn folder(&self) -> String {
        self.data.0.display().to_string()
    }

    /// The file in which the books are.
    pub(super) fn file(&self) -> PathBuf {
        self.data.0.join("bardo.db")
    }

    /// How the paths of all files begin in which books are: the database and the journal.
    pub(super) fn files(&self) -> PathBuf {
        self.data.0.join("bardo.")
    }

    /// Runs a verb beside the server; its lines of JSON, and whether it succeeded.
    pub(super) fn verb(&self, verb: &[&str]) -> (Vec<Value>, bool) {
        let output = self
            .binary(&self.data)
            .args(verb)
            .args(["--json", "--data-dir", &self.folder()])
            .output()
            .expect("the binary starts");
        let text = String::from_utf8(output.stdout).expect("JSON is text");
        let lines = text.lines().map(|line| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
        });
        let lines: Vec<Value> = lines.collect();
        if lines.is_empty() && !output.status.success() {
            eprintln!("{verb:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        (lines, output.status.success())
    }

    /// A new key whose account has so much.
    #[track_caller]
    pub(super) fn key(&self, usd: &str) -> Key {
        // Without the usual limit of requests, which is not the subject here.
        let create = [
            "keys",
            "create",
            "--scope",
            "rpm=1000000",
            "--deposit-usd",
            usd,
        ];
        let (mut lines, ok) = self.verb(&create);
        assert!(ok && lines.len() == 1, "{lines:?}");
        let made = lines.remove(0);
        let text = |name: &str| made[name].as_str().expect("it is shown").to_owned();
        Key {
            id: text("id"),
            key: text("key"),
        }
    }

    /// Starts to serve.
    pub(super) fn open(&self, environment: &[(&str, &str)]) -> Gateway {
        let (folder, command) = self.command();
        Gateway::run(folder, command, environment)
    }

    fn binary(&self, folder: &Folder) -> std::process::Command {
        let mut command = command(folder);
        if let Some(url) = &self.store {
            command.env("BARDO_STORE__URL", url);
        }
        command
    }

    fn command(&self) -> (Folder, std::process::Command) {
        let folder = Folder::new();
        let file = folder.write("config.yaml", &self.config.to_string());
        let mut command = self.binary(&folder);
        command.arg("serve").arg("--config").arg(file);
        command.args(["--data-dir", &self.folder()]);
        (folder, command)
    }

    /// Starts to serve, unless the store does not let it.
    pub(super) fn try_open(&self, environment: &[(&str, &str)]) -> Option<Gateway> {
        let (folder, command) = self.command();
        Gateway::try_run(folder, command, environment)
    }

    /// Starts to serve, and how long that took.
    pub(super) fn reopen(&self) -> (Gateway, Duration) {
        let since = Instant::now();
        let gateway = self.open(&[]);
        (gateway, since.elapsed())
    }

    /// The books of one account.
    #[track_caller]
    pub(super) fn books(&self, key: &Key) -> Books {
        let (balance, ok) = self.verb(&["balance", "show", "--key", &key.id]);
        assert!(ok, "{balance:?}");
        let (postings, ok) = self.verb(&["balance", "ledger", "--key", &key.id]);
        assert!(ok, "{postings:?}");
        let micro = |name: &str| balance[0]["micro"][name].as_i64().expect("an amount");
        let mut charges: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        for posting in &postings {
            let customers = posting["book"]
                .as_str()
                .expect("a book")
                .starts_with("customer:");
            if posting["kind"] == "charge" && customers {
                let reference = posting["reference"].as_str().expect("a reference");
                let amount = posting["amount_micro"].as_i64().expect("an amount");
                charges
                    .entry(reference.to_owned())
                    .or_default()
                    .push(-amount);
            }
        }
        Books {
            deposited: micro("deposited"),
            spent: micro("spent"),
            held: micro("held"),
            available: micro("available"),
            charges,
        }
    }

    /// Everything adds up, says the binary itself.
    #[track_caller]
    pub(super) fn verify(&self) {
        let (lines, ok) = self.verb(&["balance", "verify"]);
        assert!(ok && lines[0]["ok"] == true, "{lines:?}");
    }
}

/// Where an account stands, and what it was charged, by request.
#[derive(Debug)]
pub(super) struct Books {
    pub(super) deposited: i64,
    pub(super) spent: i64,
    pub(super) held: i64,
    pub(super) available: i64,
    pub(super) charges: BTreeMap<String, Vec<i64>>,
}

impl Books {
    /// What is true of any account at any time.
    #[track_caller]
    pub(super) fn check(&self) {
        assert_eq!(
            self.deposited,
            self.spent + self.held + self.available,
            "{self:?}"
        );
        for amount in [self.spent, self.held, self.available] {
            assert!(amount >= 0, "{self:?}");
        }
        let doubled = self.charges.iter().find(|(_, amounts)| amounts.len() > 1);
        assert_eq!(doubled, None, "a request was charged twice");
        let charged: i64 = self.charges.values().flatten().sum();
        assert_eq!(charged, self.spent, "{self:?}");
    }
}

/// A provider of small answers, whole or streamed as asked.
pub(super) fn provider() -> Scripted {
    Scripted::start(|mut turn| answer(&mut turn))
}

/// A small answer with usage.
pub(super) fn answer(turn: &mut Turn) {
    let usage = json!({
        "prompt_tokens": PROMPT_TOKENS, "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": PROMPT_TOKENS + OUTPUT_TOKENS,
    });
    if !turn.got.text().contains("\"stream\":true") {
        let body = json!({
            "id": "c", "object": "chat.completion", "created": 1, "model": "m", "usage": usage,
            "choices": [{ "index": 0, "finish_reason": "stop",
                "message": { "role": "assistant", "content": "Hello there." } }],
        });
        turn.json(&body.to_string());
        return;
    }
    let chunk = |choices: Value| {
        let body = json!({
            "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": choices,
        });
        format!("data: {body}\n\n")
    };
    turn.stream_head();
    for piece in ["Hello", " there", "."] {
        turn.chunk(chunk(
            json!([{ "index": 0, "delta": { "content": piece }, "finish_reason": null }]),
        ));
    }
    turn.chunk(chunk(
        json!([{ "index": 0, "delta": {}, "finish_reason": "stop" }]),
    ));
    let last = json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [], "usage": usage });
    turn.chunk(format!("data: {last}\n\ndata: [DONE]\n\n"));
    turn.end();
}

/// A request for a small answer.
pub(super) fn question(key: &Key, stream: bool) -> Request {
    let body = json!({
        "model": "m", "stream": stream, "max_tokens": 50,
        "messages": [{ "role": "user", "content": "Hello" }],
    });
    Request::json("/v1/chat/completions", &body)
        .with("authorization", &format!("Bearer {}", key.key))
}

/// Sends a request to somebody who may be gone at any moment.
pub(super) fn try_send(request: &Request, to: SocketAddr) -> Option<Answer> {
    use std::io::Write as _;

    let mut stream = TcpStream::connect(to).ok()?;
    stream.set_nodelay(true).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.write_all(request.head(to).as_bytes()).ok()?;
    stream.write_all(&request.body).ok()?;
    let mut exchange = Exchange::new(stream);
    let head = exchange.try_head()?;
    let (body, complete) = exchange.rest();
    Some(Answer {
        head,
        body,
        complete,
    })
}

/// The request's id, where its caller has seen the answer complete.
pub(super) fn completed(answer: &Answer) -> Option<String> {
    let text = answer.text();
    let streamed = answer
        .header("content-type")
        .is_some_and(|kind| kind.starts_with("text/event-stream"));
    let whole = answer.complete && (!streamed || text.contains("data: [DONE]"));
    (answer.status() == 200 && whole)
        .then(|| answer.header("x-request-id").expect("an id").to_owned())
}
