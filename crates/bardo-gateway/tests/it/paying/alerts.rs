//! Alerts at real receivers: one that answers, one that never does, and one that is not there.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::http::Request;
use crate::paying::maker;
use crate::paying::till::Till;
use crate::rig::Gateway;
use crate::scripted::nobody;
use crate::sse::Caller;

const SECRET: &str = "a secret that signs";
/// A message that does not come is a failure of the test.
const PATIENCE: Duration = Duration::from_secs(30);

/// A message as the receiver got it.
struct Message {
    signature: Option<String>,
    body: String,
}

impl Message {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }
}

/// Answers each POST with the next of these statuses, then with 200.
fn receiver(statuses: &'static [u16]) -> (String, Receiver<Message>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!(
        "http://{}/hook/canary",
        listener.local_addr().expect("bound")
    );
    let (sender, receiver) = channel();
    let mut statuses = statuses.iter().copied();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.expect("a connection"));
            let (mut length, mut signature) = (0, None);
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 {
                    break;
                }
                let line = line.trim_end();
                if let Some(value) = line.strip_prefix("content-length: ") {
                    length = value.parse().expect("a number");
                }
                if let Some(value) = line.strip_prefix("x-bardo-signature: ") {
                    signature = Some(value.to_owned());
                }
                if line.is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("a body");
            let status = statuses.next().unwrap_or(200);
            let reply =
                format!("HTTP/1.1 {status} Said\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = reader.get_mut().write_all(reply.as_bytes());
            let body = String::from_utf8(body).expect("text");
            if status == 200 && sender.send(Message { signature, body }).is_err() {
                return;
            }
        }
    });
    (url, receiver)
}

/// Accepts connections and never answers.
fn silent() -> (String, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!(
        "http://{}/silent/canary",
        listener.local_addr().expect("bound")
    );
    (url, listener)
}

fn next(messages: &Receiver<Message>) -> Message {
    messages.recv_timeout(PATIENCE).expect("a message comes")
}

fn alerts(gateway: &Gateway) -> Value {
    let answer = Request::get("/admin/alerts").send(gateway.admin);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()
}

fn settings(webhooks: &Value) -> Value {
    json!({
        "check_every": "100ms",
        "retry_for": "2s",
        "low_balance_usd": 5,
        "webhooks": webhooks,
    })
}

#[test]
fn an_alert_is_told_when_it_begins_and_when_it_ends_signed_and_after_retries() {
    let (url, messages) = receiver(&[503]);
    let mut config = maker::billed(&maker::maker());
    config["alerts"] = settings(&json!([
        { "url": url, "secret": SECRET, "events": ["account.balance_low"] }
    ]));
    let till = Till::new(config);
    let key = till.key(&["--deposit-usd", "1"]);
    let gateway = till.open();
    let body = Caller::Chat.request("m-chat", "Hello", false);
    let answer = gateway.send(&key.ask(Caller::Chat, &body));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let first = next(&messages);
    let told = first.json();
    assert_eq!(told["event"], "account.balance_low", "{told}");
    assert_eq!(told["status"], "firing");
    assert_eq!(told["subject"], *key.account);
    assert!(
        told["text"]
            .as_str()
            .is_some_and(|text| text.contains("USD left")),
        "{told}"
    );
    let signature = first.signature.expect("it is signed");
    let (time, code) = signature.split_once(",v1=").expect("two parts");
    let seconds = time.strip_prefix("t=").expect("a time");
    let key_of = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, SECRET.as_bytes());
    let tag = ring::hmac::sign(&key_of, format!("{seconds}.{}", first.body).as_bytes());
    let hex: String = tag
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(code, hex);
    let shown = alerts(&gateway);
    assert_eq!(
        shown["firing"][0]["event"], "account.balance_low",
        "{shown}"
    );
    assert!(
        shown["webhooks"][0]["retries"].as_u64() >= Some(1),
        "{shown}"
    );
    assert!(!shown.to_string().contains("canary"), "{shown}");
    till.told(&["balance", "deposit", "--key", &key.id, "--usd", "50"]);
    let second = next(&messages).json();
    assert_eq!(second["status"], "resolved", "{second}");
    assert_eq!(alerts(&gateway)["firing"], json!([]));
}

#[test]
fn receivers_that_are_dead_or_never_answer_hold_up_neither_requests_nor_other_receivers() {
    let (url, messages) = receiver(&[]);
    let (slow, _listener) = silent();
    let mut config = maker::billed(&maker::maker());
    config["alerts"] = settings(&json!([
        { "url": slow },
        { "url": format!("http://{}/dead/canary", nobody()) },
        { "url": url, "events": ["store.failing"] }
    ]));
    let till = Till::new(config);
    let key = till.key(&["--deposit-usd", "100"]);
    let gateway = till.open();
    let test = || {
        let posted = Request::json("/admin/alerts/test", &json!({})).send(gateway.admin);
        assert_eq!(posted.status(), 200, "{}", posted.text());
    };
    for _ in 0..100 {
        test();
    }
    for _ in 0..10 {
        assert_eq!(next(&messages).json()["event"], "test");
    }
    let body = Caller::Chat.request("m-chat", "Hello", false);
    let answer = gateway.send(&key.ask(Caller::Chat, &body));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let shown = alerts(&gateway);
    let slow = &shown["webhooks"][0];
    assert!(slow["dropped"].as_u64() >= Some(30), "{shown}");
    assert_eq!(slow["sent"], 0, "{shown}");
    // What a dead receiver does not take is given up in its time.
    let mut failed = Value::Null;
    for _ in 0..10_000 {
        failed = alerts(&gateway)["webhooks"][1]["failed"].clone();
        if failed.as_u64() >= Some(1) {
            break;
        }
    }
    assert!(failed.as_u64() >= Some(1), "{failed}");
}

#[test]
fn a_webhook_that_cannot_be_used_is_refused_without_its_address() {
    let mut config = maker::billed(&maker::maker());
    config["alerts"] = settings(&json!([{ "url": "ftp://canary.example/secret" }]));
    let till = Till::new(config);
    let (_folder, mut command) = till.server(&till.config());
    let output = command.output().expect("the binary starts");
    assert!(!output.status.success(), "{output:?}");
    let refused = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(refused.contains("alerts.webhooks[0].url"), "{refused}");
    assert!(!refused.contains("canary"), "{refused}");
}
