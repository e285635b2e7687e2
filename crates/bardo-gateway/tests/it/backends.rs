//! How well backends serve, as operators see it, and the probes that find out.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::Request;
use crate::rig::{Gateway, config, direct, eventually};
use crate::scripted::Scripted;
use crate::sse::Caller;

const ANSWER: &str = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;

/// A provider that answers requests and probes while it is well, and refuses both otherwise.
struct Provider {
    well: Arc<AtomicBool>,
    upstream: Scripted,
}

impl Provider {
    fn start() -> Self {
        let well = Arc::new(AtomicBool::new(true));
        let state = Arc::clone(&well);
        let upstream = Scripted::start(move |mut turn| {
            if !state.load(Ordering::Relaxed) {
                turn.answer(503, "application/json", r#"{"error":{"message":"down"}}"#);
            } else if turn.got.line.starts_with("GET") {
                turn.json(r#"{"object":"list","data":[]}"#);
            } else {
                turn.json(ANSWER);
            }
        });
        Self { well, upstream }
    }

    fn probes(&self) -> usize {
        let got = self.upstream.got();
        got.iter().filter(|got| got.line.starts_with("GET")).count()
    }
}

fn probing(keys: &[Value], every: &str) -> Gateway {
    let mut config = config(keys);
    config["upstream"]["probe_every"] = json!(every);
    Gateway::start(&config)
}

/// What `/status` says of a backend.
fn backend(gateway: &Gateway, name: &str) -> Value {
    let status = gateway.status();
    let all = status["backends"].as_array().expect("a list").clone();
    all.into_iter()
        .find(|one| one["provider"] == name)
        .expect("every configured backend is shown")
}

fn eventually_is(gateway: &Gateway, name: &str, state: &str) -> Value {
    eventually(&format!("{name} is {state}"), || {
        let seen = backend(gateway, name);
        (seen["state"] == state).then_some(seen)
    })
}

fn mode(gateway: &Gateway) -> Value {
    Request::get("/health/ready").send(gateway.admin).json()
}

fn metrics(gateway: &Gateway) -> String {
    Request::get("/metrics")
        .send(gateway.admin)
        .text()
        .to_owned()
}

fn ask(gateway: &Gateway) -> u16 {
    let body = Caller::Chat.request("m", "Hello", false);
    gateway
        .send(&Request::json(Caller::Chat.path(), &body))
        .status()
}

#[test]
fn a_backend_that_cannot_be_reached_is_down_until_a_probe_reaches_it() {
    let first = Provider::start();
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = nobody.local_addr().expect("it is bound");
    drop(nobody);
    let gateway = probing(
        &[
            direct("openai", &first.upstream.at("/v1"), &["m"]),
            direct("deepseek", &format!("http://{address}"), &["other"]),
        ],
        "40ms",
    );
    eventually_is(&gateway, "direct/openai", "healthy");
    let down = eventually_is(&gateway, "direct/deepseek", "down");
    assert!(
        down["probe"]["failures_in_a_row"].as_u64() >= Some(3),
        "{down}"
    );
    assert!(down["probe"]["error"].is_string(), "{down}");
    let ready = mode(&gateway);
    assert_eq!(ready["status"], "ok");
    assert_eq!(ready["mode"], "degraded");
    assert_eq!(ready["down"], json!(["direct/deepseek"]));
    let text = metrics(&gateway);
    for line in [
        "bardo_backend_state{provider=\"direct/deepseek\",state=\"down\"} 1",
        "bardo_backend_state{provider=\"direct/openai\",state=\"healthy\"} 1",
        "bardo_backend_state{provider=\"direct/openai\",state=\"down\"} 0",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    // What is probed is the list, which is free, and nothing of anybody is sent.
    for got in first.upstream.got() {
        assert!(got.line.starts_with("GET /v1/models "), "{}", got.line);
        assert!(got.body.is_empty());
    }
    let back = TcpListener::bind(address).expect("the port is free again");
    std::thread::spawn(move || {
        for stream in back.incoming().flatten() {
            use std::io::{Read as _, Write as _};
            let mut stream = stream;
            let _ = stream.read(&mut [0; 4096]);
            // Whoever refuses is there.
            let _ = stream
                .write_all(b"HTTP/1.1 401 X\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
        }
    });
    eventually_is(&gateway, "direct/deepseek", "healthy");
    assert_eq!(mode(&gateway)["mode"], "normal");
}

#[test]
fn what_requests_experience_is_shown_and_failures_make_a_backend_down() {
    let provider = Provider::start();
    let gateway = probing(
        &[direct("openai", &provider.upstream.at("/v1"), &["m"])],
        "0s",
    );
    assert_eq!(backend(&gateway, "direct/openai")["state"], "unknown");
    for _ in 0..20 {
        assert_eq!(ask(&gateway), 200);
    }
    let seen = backend(&gateway, "direct/openai");
    assert_eq!(seen["state"], "healthy");
    assert_eq!(seen["probe"], Value::Null);
    let model = &seen["models"][0];
    assert_eq!(model["model"], "m");
    assert_eq!(model["samples"], 20);
    assert_eq!(model["whole_answer"]["samples"], 20);
    assert!(model["whole_answer"]["p95_ms"].is_u64(), "{model}");
    assert_eq!(model["first_token"]["p50_ms"], Value::Null);
    assert!(metrics(&gateway).contains(
        "bardo_backend_latency_seconds{provider=\"direct/openai\",model=\"m\",stream=\"false\",quantile=\"0.9\"}"
    ));
    provider.well.store(false, Ordering::Relaxed);
    while backend(&gateway, "direct/openai")["models"][0]["state"] != "down" {
        assert_eq!(ask(&gateway), 503);
    }
    assert_eq!(mode(&gateway)["mode"], "down");
    let model = &backend(&gateway, "direct/openai")["models"][0];
    assert!(model["error_rate"].as_f64() > Some(0.0), "{model}");
    assert!(model["down_for_ms"].is_u64(), "{model}");
    assert_eq!(provider.probes(), 0, "probing is off");
}

#[test]
fn who_is_asked_anyway_is_not_probed() {
    let provider = Provider::start();
    let gateway = probing(
        &[direct("openai", &provider.upstream.at("/v1"), &["m"])],
        "1s",
    );
    let (since, mut last) = (Instant::now(), Instant::now());
    let mut longest = Duration::ZERO;
    while since.elapsed() < Duration::from_millis(2_600) {
        assert_eq!(ask(&gateway), 200);
        longest = longest.max(last.elapsed());
        last = Instant::now();
    }
    // A machine that stood still for a period has not asked, and says nothing.
    if longest < Duration::from_millis(900) {
        assert_eq!(provider.probes(), 0);
    }
    eventually("and then it is", || (provider.probes() > 0).then_some(()));
}
