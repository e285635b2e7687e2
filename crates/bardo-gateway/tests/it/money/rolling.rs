//! A rolling restart: three gateways over one Postgres and one Redis, stopped and started one after
//! the other while requests come in.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, RwLock};
use std::time::Instant;

use bardo_store::servers::{PostgresServer, RedisServer};
use serde_json::{Value, json};

use crate::http::{Answer, Exchange, PATIENCE, Request};
use crate::money::shop::{CHARGE, Key, Shop, answer, billed};
use crate::rig::{Gateway, eventually};
use crate::scripted::{Scripted, Turn};

const GATEWAYS: usize = 3;
const CALLERS: usize = 4;
/// Streams that each gateway has open when its stop signal comes.
const STREAMS: usize = 5;
/// Requests that come in between two steps of a restart.
const BETWEEN: usize = 25;

/// A balancer that is not warned of a restart. It sends a request on where the connection is refused
/// or closed without a byte, or where the answer is `draining`: that gateway has not taken it.
struct Balancer {
    addresses: RwLock<Vec<SocketAddr>>,
    turn: AtomicUsize,
}

impl Balancer {
    fn send(&self, request: &Request) -> Answer {
        let since = Instant::now();
        loop {
            assert!(since.elapsed() < PATIENCE, "no gateway takes the request");
            let turn = self.turn.fetch_add(1, Ordering::Relaxed);
            let address = self.addresses.read().expect("no panic")[turn % GATEWAYS];
            let Some(mut exchange) = request.try_open(address) else {
                continue;
            };
            if exchange.try_head().is_none() {
                continue;
            }
            let answer = exchange.answer();
            let is_json = answer.header("content-type") == Some("application/json");
            if answer.status() == 503
                && is_json
                && answer.json()["error"]["bardo_code"] == "draining"
            {
                continue;
            }
            return answer;
        }
    }
}

/// Ends the load, however the test ends.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn question(key: &Key, text: &str, stream: bool) -> Request {
    let body = json!({ "model": "m", "max_tokens": 100, "stream": stream,
        "messages": [{ "role": "user", "content": text }] });
    key.sign(Request::json("/v1/chat/completions", &body))
}

/// A provider that answers at once, and ends a stream whose question says `Hold` when told to.
fn provider() -> (Scripted, Sender<()>) {
    let (go, wait): (Sender<()>, Receiver<()>) = channel();
    let wait = Mutex::new(wait);
    let upstream = Scripted::start(move |mut turn: Turn| {
        if !turn.got.text().contains("Hold") {
            return answer(&mut turn);
        }
        turn.stream_head();
        let chunk = |choices: Value, usage: Value| {
            let body = json!({ "id": "c", "object": "chat.completion.chunk", "created": 1,
                "model": "m", "choices": choices, "usage": usage });
            format!("data: {body}\n\n")
        };
        let text = json!([{ "index": 0, "delta": { "content": "Begin" }, "finish_reason": null }]);
        turn.chunk(chunk(text, Value::Null));
        let _ = wait.lock().expect("no panic").recv_timeout(PATIENCE);
        let end = json!([{ "index": 0, "delta": {}, "finish_reason": "stop" }]);
        turn.chunk(chunk(end, Value::Null));
        let usage = json!({ "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110 });
        turn.chunk(format!("{}data: [DONE]\n\n", chunk(json!([]), usage)));
        turn.end();
    });
    (upstream, go)
}

/// A stream that has begun.
fn begin(gateway: &Gateway, key: &Key, text: &str) -> (Exchange, Vec<u8>) {
    let mut exchange = gateway.open(&question(key, text, true));
    let mut seen = Vec::new();
    exchange.until(&mut seen, "Begin");
    (exchange, seen)
}

#[test]
fn a_rolling_restart_of_three_gateways_under_load_loses_no_request() {
    let database = PostgresServer::start().expect("a database server");
    let redis = RedisServer::start().expect("a server");
    let (upstream, go) = provider();
    let price = json!({ "input_per_million": 2, "output_per_million": 10 });
    let mut config = billed(&upstream.at("/v1"), &price);
    config["limits"] = json!({ "redis_url": redis.url(), "instances": GATEWAYS });
    config["cache"] =
        json!({ "redis_url": redis.url(), "redis_key": "a secret of more than thirty-two bytes" });
    let shop = Shop::with(config).sharing(database.database().expect("a database"));
    let key = shop.key("100");
    let mut gateways: Vec<Gateway> = (0..GATEWAYS).map(|_| shop.open(&[])).collect();
    let balancer = Balancer {
        addresses: RwLock::new(gateways.iter().map(|gateway| gateway.address).collect()),
        turn: AtomicUsize::new(0),
    };
    let (over, sent) = (AtomicBool::new(false), AtomicUsize::new(0));
    let more = || {
        let from = sent.load(Ordering::Relaxed);
        eventually("requests go on", || {
            (sent.load(Ordering::Relaxed) >= from + BETWEEN).then_some(())
        });
    };
    std::thread::scope(|scope| {
        let stop = Stop(&over);
        for _ in 0..CALLERS {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let number = sent.fetch_add(1, Ordering::Relaxed);
                    let text = format!("Question {number}.");
                    let is_stream = number % 2 == 0;
                    let answer = balancer.send(&question(&key, &text, is_stream));
                    let end = if is_stream { "[DONE]" } else { "Hello there." };
                    assert!(
                        answer.status() == 200 && answer.complete && answer.text().contains(end),
                        "{text} {} {}",
                        answer.status(),
                        answer.text()
                    );
                }
            });
        }
        for (place, gateway) in gateways.iter_mut().enumerate() {
            let streams: Vec<_> = (0..STREAMS)
                .map(|number| begin(gateway, &key, &format!("Hold {place}-{number}.")))
                .collect();
            more();
            gateway.signal("TERM");
            eventually("it takes no connection any more", || {
                TcpStream::connect(gateway.address).is_err().then_some(())
            });
            more();
            for _ in &streams {
                go.send(()).expect("the provider waits");
            }
            for (mut exchange, mut seen) in streams {
                let (rest, complete) = exchange.rest();
                seen.extend(rest);
                let text = String::from_utf8_lossy(&seen);
                assert!(complete && text.contains("[DONE]"), "{text}");
            }
            assert_eq!(gateway.wait().code(), Some(0), "{}", gateway.log());
            *gateway = shop.open(&[]);
            balancer.addresses.write().expect("no panic")[place] = gateway.address;
            more();
        }
        drop(stop);
    });
    let all = sent.into_inner() + GATEWAYS * STREAMS;
    let asked: BTreeSet<String> = upstream
        .got()
        .iter()
        .map(|got| got.text().to_owned())
        .collect();
    assert_eq!((asked.len(), upstream.got().len()), (all, all), "each once");
    let books = eventually("all is settled", || {
        let books = shop.books(&key);
        (books.held == 0).then_some(books)
    });
    books.check();
    assert_eq!(books.charges.len(), all, "each is charged");
    assert_eq!(books.spent, i64::try_from(all).expect("few") * CHARGE);
    shop.verify();
}
