//! From start to stop: readiness, draining, a second signal.

use std::net::TcpStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::{Exchange, PATIENCE, Request};
use crate::rig::{Folder, Gateway, command, config, direct, eventually};
use crate::scripted::Scripted;
use crate::sse::{Caller, events};

const FIRST: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n";
const LAST: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"}}]}\n\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
    data: [DONE]\n\n";

/// A provider that ends its streams when told to.
fn held() -> (Scripted, Sender<()>) {
    let (go, wait): (Sender<()>, Receiver<()>) = channel();
    let wait = Arc::new(Mutex::new(wait));
    let upstream = Scripted::start(move |mut turn| {
        turn.stream_head();
        turn.chunk(FIRST);
        let _ = wait.lock().expect("no panic").recv_timeout(PATIENCE);
        turn.chunk(LAST);
        turn.end();
    });
    (upstream, go)
}

fn begin(gateway: &Gateway, caller: Caller) -> (Exchange, Vec<u8>) {
    let body = caller.request("m", "Hello", true);
    let mut exchange = gateway.open(&Request::json(caller.path(), &body));
    let mut seen = Vec::new();
    exchange.until(&mut seen, "Hel");
    (exchange, seen)
}

fn ready(gateway: &Gateway) -> u16 {
    Request::get("/health/ready").send(gateway.admin).status()
}

#[test]
fn a_stop_signal_lets_streams_finish_and_takes_nothing_new() {
    let (upstream, go) = held();
    let mut gateway = Gateway::start(&config(&[direct("openai", &upstream.at("/v1"), &["m"])]));
    assert_eq!(ready(&gateway), 200);
    let streams: Vec<_> = (0..40)
        .map(|n| {
            let caller = [Caller::Chat, Caller::Anthropic][n % 2];
            (caller, begin(&gateway, caller))
        })
        .collect();
    gateway.signal("TERM");
    eventually("readiness is withdrawn", || {
        (ready(&gateway) == 503).then_some(())
    });
    assert_eq!(
        Request::get("/health/live").send(gateway.admin).status(),
        200
    );
    eventually("new connections are refused", || {
        TcpStream::connect(gateway.address).is_err().then_some(())
    });
    assert!(gateway.is_running());
    for _ in &streams {
        go.send(()).expect("the provider waits");
    }
    for (caller, (mut exchange, mut seen)) in streams {
        let (rest, complete) = exchange.rest();
        seen.extend(rest);
        assert!(complete);
        assert_eq!(caller.streamed_text(&events(&seen)), "Hello");
        assert!(String::from_utf8_lossy(&seen).contains(caller.terminal()));
    }
    let since = Instant::now();
    assert_eq!(gateway.wait().code(), Some(0));
    assert!(
        since.elapsed() < Duration::from_secs(10),
        "nothing is left to wait for"
    );
}

#[test]
fn a_stop_signal_lets_whole_answers_finish() {
    let (arrived, there) = channel();
    let (go, wait): (Sender<()>, Receiver<()>) = channel();
    let (arrived, wait) = (Mutex::new(arrived), Mutex::new(wait));
    let upstream = Scripted::start(move |mut turn| {
        let _ = arrived.lock().expect("no panic").send(());
        let _ = wait.lock().expect("no panic").recv_timeout(PATIENCE);
        turn.json(r#"{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}]}"#);
    });
    let mut gateway = Gateway::start(&config(&[direct("openai", &upstream.at("/v1"), &["m"])]));
    let body = Caller::Anthropic.request("m", "Hello", false);
    let mut exchange = gateway.open(&Request::json("/v1/messages", &body));
    there.recv_timeout(PATIENCE).expect("it is asked");
    gateway.signal("TERM");
    eventually("readiness is withdrawn", || {
        (ready(&gateway) == 503).then_some(())
    });
    go.send(()).expect("the provider waits");
    let answer = exchange.answer();
    assert_eq!(answer.status(), 200);
    assert_eq!(Caller::Anthropic.text(&answer.json()), "hi");
    assert_eq!(gateway.wait().code(), Some(0));
}

#[test]
fn connections_that_wait_at_the_door_are_answered_when_the_stop_signal_comes() {
    let answer = r#"{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}]}"#;
    let upstream = Scripted::always(answer);
    let mut gateway = Gateway::start(&config(&[direct("openai", &upstream.at("/v1"), &["m"])]));
    let body = Caller::Chat.request("m", "Hello", false);
    // While the process stands still, the system takes connections and requests for it.
    gateway.signal("STOP");
    let mut waiting: Vec<_> = (0..300)
        .map(|_| gateway.open(&Request::json("/v1/chat/completions", &body)))
        .collect();
    gateway.signal("TERM");
    gateway.signal("CONT");
    for exchange in &mut waiting {
        let answer = exchange.answer();
        let turned_away = || answer.json()["error"]["bardo_code"] == "draining";
        assert!(
            answer.status() == 200 || answer.status() == 503 && turned_away(),
            "{} {}",
            answer.status(),
            answer.text()
        );
    }
    assert_eq!(gateway.wait().code(), Some(0));
}

#[test]
fn an_idle_gateway_ends_at_the_first_signal() {
    for signal in ["TERM", "INT"] {
        let upstream = Scripted::always("{}");
        let mut gateway = Gateway::start(&config(&[direct("openai", &upstream.at("/v1"), &["m"])]));
        // A connection that is open and idle must not hold it up.
        let idle = TcpStream::connect(gateway.address).expect("it listens");
        gateway.signal(signal);
        assert_eq!(gateway.wait().code(), Some(0), "{}", gateway.log());
        drop(idle);
    }
}

#[test]
fn a_second_signal_does_not_wait() {
    let (upstream, _go) = held();
    let mut gateway = Gateway::start(&config(&[direct("openai", &upstream.at("/v1"), &["m"])]));
    let (mut exchange, mut seen) = begin(&gateway, Caller::Chat);
    gateway.signal("TERM");
    eventually("readiness is withdrawn", || {
        (ready(&gateway) == 503).then_some(())
    });
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code(), Some(0));
    let (rest, complete) = exchange.rest();
    seen.extend(rest);
    assert!(!complete, "a cut stream does not look finished");
    assert!(!String::from_utf8_lossy(&seen).contains("[DONE]"));
}

#[test]
fn the_drain_limit_ends_what_does_not_end() {
    let (upstream, _go) = held();
    let mut settings = config(&[direct("openai", &upstream.at("/v1"), &["m"])]);
    settings["server"] = json!({ "drain": "300ms" });
    let mut gateway = Gateway::start(&settings);
    let (_exchange, _) = begin(&gateway, Caller::Chat);
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code(), Some(0));
}

/// A list of models is fetched in the background, from a provider that never answers.
#[test]
fn a_provider_that_does_not_answer_holds_up_neither_start_nor_stop() {
    let (tell, asked) = channel();
    let tell = Mutex::new(tell);
    let upstream = Scripted::start(move |mut turn| {
        let _ = tell.lock().expect("no panic").send(turn.got.line.clone());
        turn.closed();
    });
    let mut settings = config(&[direct("openai", &upstream.at("/v1"), &[])]);
    settings["catalog"]["live"] = json!(true);
    let mut gateway = Gateway::start(&settings);
    let line = asked.recv_timeout(PATIENCE).expect("the list is asked for");
    assert!(line.starts_with("GET /v1/models"), "{line}");
    assert_eq!(ready(&gateway), 200);
    let since = Instant::now();
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code(), Some(0));
    assert!(since.elapsed() < Duration::from_secs(10));
}

#[test]
fn the_ready_line_says_where_and_in_which_mode() {
    let upstream = Scripted::always("{}");
    let gateway = Gateway::start(&config(&[direct("openai", &upstream.at("/v1"), &["m"])]));
    assert_eq!(
        gateway.ready,
        json!({
            "event": "ready",
            "listen": gateway.address.to_string(),
            "admin_listen": gateway.admin.to_string(),
            "sandbox": false,
            "data_dir": gateway.folder.0.join(".bardo").display().to_string(),
        })
    );
    let folder = Folder::new();
    let mut sandboxed = command(&folder);
    sandboxed.args(["serve", "--sandbox"]);
    let gateway = Gateway::run(folder, sandboxed, &[]);
    assert_eq!(gateway.ready["sandbox"], true);
    let key = gateway.ready["key"].as_str().expect("a key");
    assert!(key.starts_with("bardo_sk_"));
    let body = Caller::Chat.request("claude-sonnet-5-5", "Hello", false);
    let request = Request::json("/v1/chat/completions", &body);
    assert_eq!(gateway.send(&request).status(), 401);
    let answer = gateway.send(&request.with("authorization", &format!("Bearer {key}")));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert_eq!(answer.header("x-bardo-sandbox"), Some("true"));
    assert!(
        answer.json()["choices"][0]["message"]["content"]
            .as_str()
            .is_some_and(|text| text.contains("Hello"))
    );
    assert_eq!(gateway.status()["sandbox"], Value::from(true));
}

/// Gateways of somebody's own need no folder to themselves, until there is money in it.
#[test]
fn two_share_a_home_until_one_of_them_keeps_keys() {
    let upstream = Scripted::always("{}");
    let settings = config(&[direct("openai", &upstream.at("/v1"), &["m"])]);
    let home = Folder::new();
    let path = home.0.display().to_string();
    let environment = [("HOME", path.as_str())];
    let first = Gateway::start_with(&settings, &environment);
    let second = Gateway::start_with(&settings, &environment);
    assert_eq!((ready(&first), ready(&second)), (200, 200));
    assert_ne!(first.ready["data_dir"], second.ready["data_dir"]);
    drop(second);
    let made = command(&home)
        .args(["keys", "create", "--json"])
        .output()
        .expect("the binary starts");
    assert!(made.status.success());
    let folder = Folder::new();
    let file = folder.write("config.yaml", &settings.to_string());
    let mut third = command(&folder);
    third.arg("serve").arg("--config").arg(file);
    assert!(Gateway::try_run(folder, third, &environment).is_none());
}
