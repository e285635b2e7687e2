//! The end of the process: what is under way is finished, and all of it is in the books.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::{Exchange, PATIENCE, Request};
use crate::paying::maker;
use crate::paying::till::{Key, Till, micro_of};
use crate::rig::{Gateway, eventually, with};
use crate::scripted::Scripted;
use crate::sse::{Caller, without_figures};

const STREAMS: usize = 20;

fn chunk(choices: Value, usage: Value) -> String {
    let chunk = json!({ "id": "c", "object": "chat.completion.chunk", "created": 1,
        "model": "m-chat", "choices": choices, "usage": usage });
    format!("data: {chunk}\n\n")
}

/// A maker whose streams end when they are told to.
fn held() -> (Scripted, Sender<()>) {
    let (go, wait): (Sender<()>, Receiver<()>) = channel();
    let wait = Arc::new(Mutex::new(wait));
    let upstream = Scripted::start(move |mut turn| {
        turn.stream_head();
        let said = json!([{ "index": 0, "delta": { "content": "Hel" }, "finish_reason": null }]);
        turn.chunk(chunk(said, Value::Null));
        let _ = wait.lock().expect("no panic").recv_timeout(PATIENCE);
        let end = json!([{ "index": 0, "delta": { "content": "lo" }, "finish_reason": "stop" }]);
        turn.chunk(chunk(end, Value::Null));
        let usage = json!({ "prompt_tokens": 100, "completion_tokens": 2, "total_tokens": 102 });
        turn.chunk(chunk(json!([]), usage) + "data: [DONE]\n\n");
        turn.end();
    });
    (upstream, go)
}

fn begin(gateway: &Gateway, key: &Key, count: usize) -> Vec<(Caller, Exchange, Vec<u8>)> {
    (0..count)
        .map(|number| {
            let caller = Caller::ALL[number % 3];
            let body = caller.request("m-chat", "Hello", true);
            let mut exchange = gateway.open(&key.ask(caller, &body));
            let mut seen = Vec::new();
            exchange.until(&mut seen, "Hel");
            (caller, exchange, seen)
        })
        .collect()
}

#[test]
fn streams_under_way_are_finished_and_settled() {
    let (upstream, go) = held();
    let till = Till::new(maker::billed(&upstream));
    let key = till.rich("5");
    let mut gateway = till.open();
    let streams = begin(&gateway, &key, STREAMS);
    assert!(till.stand(&key).held > 0);
    gateway.signal("TERM");
    eventually("readiness is withdrawn", || {
        let ready = Request::get("/health/ready").send(gateway.admin);
        (ready.status() == 503).then_some(())
    });
    for _ in &streams {
        go.send(()).expect("the maker waits");
    }
    let mut told = 0;
    for (caller, mut exchange, mut seen) in streams {
        seen.extend(exchange.rest().0);
        let (_, figures) = without_figures(&seen, caller.terminal());
        let charge = micro_of(&figures["cost"]);
        assert_eq!(charge, 184, "(100 * 1.37 + 2 * 7.77) * 1.2, rounded up");
        assert_eq!(figures.get("pending"), None, "{figures}");
        told += charge;
    }
    assert_eq!(gateway.wait().code(), Some(0));
    let stand = till.stand(&key);
    assert_eq!((stand.spent, stand.held), (told, 0));
    till.verify();
}

#[test]
fn readers_of_events_do_not_hold_it_up() {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let key = till.rich("5");
    let mut gateway = till.open();
    let mut feed = gateway.open(&key.get("/v1/events"));
    feed.until(&mut Vec::new(), ": connected");
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code(), Some(0));
    assert!(feed.rest().1, "it ends as it should");
}

/// Whoever was cut off has paid for what it had, and nothing stays held.
#[track_caller]
fn check_cut(till: &Till, key: &Key, log: &str) {
    let stand = till.stand(key);
    assert_eq!(stand.held, 0, "{log}");
    assert!(stand.spent > 0 && stand.spent < 100_000, "{stand:?}");
    till.verify();
}

#[test]
fn a_second_signal_does_not_wait_for_streams() {
    let (upstream, _go) = held();
    let till = Till::new(maker::billed(&upstream));
    let key = till.rich("5");
    let mut gateway = till.open();
    let streams = begin(&gateway, &key, STREAMS);
    gateway.signal("TERM");
    eventually("readiness is withdrawn", || {
        let ready = Request::get("/health/ready").send(gateway.admin);
        (ready.status() == 503).then_some(())
    });
    assert!(gateway.is_running());
    gateway.signal("TERM");
    let since = Instant::now();
    assert_eq!(gateway.wait().code(), Some(0));
    let took = since.elapsed();
    // A second, and what a busy machine adds to it.
    assert!(took < Duration::from_secs(5), "{took:?}");
    drop(streams);
    // What could not be counted by then is held until it expires.
    let (stand, log) = (till.stand(&key), gateway.log());
    assert!(
        stand.held == 0 || log.contains("their holds stay"),
        "{stand:?} {log}"
    );
    till.verify();
}

#[test]
fn the_drain_limit_ends_streams_and_settles_them() {
    let (upstream, _go) = held();
    let config = with(
        maker::billed(&upstream),
        "server",
        json!({ "drain": "100ms" }),
    );
    let till = Till::new(config);
    let key = till.rich("5");
    let mut gateway = till.open();
    let streams = begin(&gateway, &key, STREAMS);
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code(), Some(0));
    drop(streams);
    check_cut(&till, &key, &gateway.log());
}

/// A process that is killed leaves holds behind; the next one finds them, and verifies.
#[test]
fn after_the_next_start_everything_adds_up() {
    let (upstream, _go) = held();
    let till = Till::new(maker::billed(&upstream));
    let key = till.rich("5");
    let mut gateway = till.open();
    let streams = begin(&gateway, &key, 3);
    gateway.signal("KILL");
    gateway.wait();
    drop((streams, gateway));
    let gateway = till.open();
    till.verify();
    let stand = till.stand(&key);
    assert_eq!(stand.spent, 0, "{stand:?}");
    let told = gateway.send(&key.get("/v1/balance")).json();
    assert_eq!(told["micro"]["held"], stand.held, "{told}");
}
