//! A gateway that charges, its books, and a provider whose bills are known.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::{Answer, Exchange, PATIENCE, Request};
use crate::paying::till::Till;
use crate::rig::{Folder, Gateway};
use crate::scripted::{Scripted, Turn};

/// What the provider reports for every answer.
const PROMPT_TOKENS: u64 = 100;
const OUTPUT_TOKENS: u64 = 10;
/// 100 × 2 + 10 × 10 micro-USD, and 20 % of spread.
pub(super) const CHARGE: i64 = 360;

pub(super) use crate::paying::till::Key;

/// A folder of books, and what serves on it.
pub(super) struct Shop(Till);

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
        Self(Till::new(config))
    }

    /// This shop with the ledger at a URL, for several gateways.
    pub(super) fn sharing(self, url: String) -> Self {
        Self(self.0.sharing(url))
    }

    /// The folder of the books.
    pub(super) fn data(&self) -> &Folder {
        &self.0.data
    }

    /// The file in which the books are.
    pub(super) fn file(&self) -> PathBuf {
        self.0.data.0.join("bardo.db")
    }

    /// How the paths of all files begin in which books are: the database and the journal.
    pub(super) fn files(&self) -> PathBuf {
        self.0.data.0.join("bardo.")
    }

    /// A new key whose account has so much, without the usual limit of requests.
    #[track_caller]
    pub(super) fn key(&self, usd: &str) -> Key {
        self.0.rich(usd)
    }

    /// Starts to serve.
    pub(super) fn open(&self, environment: &[(&str, &str)]) -> Gateway {
        let (folder, command) = self.0.server(&self.0.config());
        Gateway::run(folder, command, environment)
    }

    /// Starts to serve, unless the store does not let it.
    pub(super) fn try_open(&self, environment: &[(&str, &str)]) -> Option<Gateway> {
        let (folder, command) = self.0.server(&self.0.config());
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
        let micro = |amount: u64| i64::try_from(amount).expect("an amount of the books");
        let stand = self.0.stand(key);
        let postings = self.0.told(&["balance", "ledger", "--key", &key.id]);
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
            deposited: micro(stand.deposited),
            spent: micro(stand.spent),
            held: micro(stand.held),
            available: micro(stand.available),
            charges,
        }
    }

    /// Everything adds up, says the binary itself.
    #[track_caller]
    pub(super) fn verify(&self) {
        self.0.verify();
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
    key.sign(Request::json("/v1/chat/completions", &body))
}

/// Sends a request to somebody who may be gone at any moment.
pub(crate) fn try_send(request: &Request, to: SocketAddr) -> Option<Answer> {
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
