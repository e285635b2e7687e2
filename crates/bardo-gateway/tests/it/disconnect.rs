//! A caller who leaves takes the provider's work along, in every phase.

use std::io::Write as _;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::http::{Exchange, PATIENCE, Request, connect};
use crate::rig::{Gateway, config, direct};
use crate::scripted::{Scripted, Turn};
use crate::sse::Caller;

/// What a provider tells the test.
enum Word {
    /// The exchange has reached the tested phase.
    There,
    /// The gateway has closed.
    Closed(Instant),
}

fn scene(
    act: impl Fn(&mut Turn) + Send + Sync + 'static,
) -> (Scripted, Scripted, Gateway, Receiver<Word>) {
    let (tell, words) = channel();
    let tell = Mutex::new(tell);
    let upstream = Scripted::start(move |mut turn| {
        let tell = tell.lock().expect("no panic").clone();
        act(&mut turn);
        let _ = tell.send(Word::There);
        let _ = tell.send(Word::Closed(turn.closed()));
    });
    let other = Scripted::always("{}");
    let gateway = Gateway::start(&config(&[
        direct("openai", &upstream.at("/v1"), &["m"]),
        direct("openai", &other.at("/v1"), &["m"]),
    ]));
    (upstream, other, gateway, words)
}

const TRIES: usize = 5;

/// Leaves in a phase, several times, and looks how long the provider's connection outlives it.
#[track_caller]
fn check(stream: bool, act: impl Fn(&mut Turn) + Send + Sync + 'static, read: &str) {
    let (upstream, other, gateway, words) = scene(act);
    for caller in [Caller::Chat, Caller::Anthropic] {
        let mut waits = Vec::new();
        for _ in 0..TRIES {
            let body = caller.request("m", "Hello", stream);
            let mut exchange: Exchange = gateway.open(&Request::json(caller.path(), &body));
            assert!(matches!(words.recv_timeout(PATIENCE), Ok(Word::There)));
            if !read.is_empty() {
                exchange.until(&mut Vec::new(), read);
            }
            let left = Instant::now();
            drop(exchange);
            match words.recv_timeout(PATIENCE) {
                Ok(Word::Closed(at)) => waits.push(at.saturating_duration_since(left)),
                _ => panic!("the provider's connection stays open"),
            }
        }
        // The quickest of some tries, because the machine may be busy with other things.
        let best = waits.iter().min().expect("some tries");
        assert!(*best < Duration::from_millis(100), "{waits:?}");
    }
    assert_eq!(upstream.connections(), 2 * TRIES, "one attempt each");
    assert_eq!(other.connections(), 0, "nobody else is asked");
    crate::rig::eventually("each is settled as left", || {
        let log = gateway.log();
        let settled = log.matches("client disconnected").count();
        // Before a head there is nothing to settle.
        (settled == 2 * TRIES || read.is_empty()).then_some(())
    });
}

#[test]
fn while_waiting_for_the_head() {
    check(false, |_| {}, "");
    check(true, |_| {}, "");
}

#[test]
fn while_a_whole_body_comes() {
    check(
        false,
        |turn| {
            turn.write(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"id\":",
            );
        },
        "",
    );
}

#[test]
fn before_the_first_content() {
    check(
        true,
        |turn| {
            turn.stream_head();
            turn.chunk(": keep-alive\n\n");
        },
        "",
    );
}

#[test]
fn in_the_middle_of_a_stream() {
    check(
        true,
        |turn| {
            turn.stream_head();
            turn.chunk("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"}}]}\n\n");
        },
        "Hello",
    );
}

#[test]
fn while_still_uploading() {
    let (upstream, other, gateway, _words) = scene(|_| {});
    for framing in ["content-length: 1000000", "transfer-encoding: chunked"] {
        let mut stream = connect(gateway.address);
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{framing}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("it is read");
        stream
            .write_all(b"2710\r\n{\"model\":\"m\",\"messages\":[")
            .expect("it is read");
        drop(stream);
    }
    let health = gateway.send(&Request::get("/health/ready"));
    assert_eq!(health.json()["status"], Value::from("ok"));
    assert_eq!(upstream.connections() + other.connections(), 0);
}

/// A caller who leaves while its request waits to be tried again is not asked for any more.
#[test]
fn while_waiting_to_ask_again() {
    let upstream = Scripted::start(|mut turn| {
        let body = r#"{"error":{"message":"later","type":"x"}}"#;
        turn.write(format!(
            "HTTP/1.1 429 X\r\ncontent-type: application/json\r\nretry-after-ms: 3000\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
    });
    let gateway = Gateway::start(&config(&[direct("openai", &upstream.at("/v1"), &["m"])]));
    let body = Caller::Chat.request("m", "Hello", false);
    let exchange = gateway.open(&Request::json(Caller::Chat.path(), &body));
    crate::rig::eventually("it is refused", || {
        gateway.log().contains("provider failed").then_some(())
    });
    drop(exchange);
    // Others are refused on the spot until the time is over; whoever comes then is the second. Long
    // after that the first would have come as well.
    let left = Instant::now();
    let others = Request::json(Caller::Chat.path(), &body).with("x-stainless-retry-count", "1");
    let mut refused = 0;
    crate::rig::eventually("its time is long over", || {
        refused += usize::from(gateway.send(&others).header("retry-after-ms") == Some("3000"));
        (left.elapsed() > Duration::from_millis(7_800)).then_some(())
    });
    assert!(refused > 0, "the time was over");
    assert_eq!(upstream.got().len(), 1 + refused);
}
