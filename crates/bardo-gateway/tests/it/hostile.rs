//! Providers that send what no provider should: each is bounded, none is taken for an answer, and
//! the gateway goes on.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::http::{Answer, PATIENCE, Request};
use crate::rig::{Gateway, config, direct, with};
use crate::scripted::{Scripted, Turn};
use crate::sse::{Caller, events};

/// More than any limit, in bytes.
const ENDLESS: usize = 1 << 30;
const HELLO: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hel\"}}]}\n\n";

/// A hostile provider, a second one that must not be asked, and what the first has written.
struct Scene {
    hostile: Scripted,
    other: Scripted,
    gateway: Gateway,
    written: Receiver<usize>,
}

impl Scene {
    fn start(limits: Value, act: impl Fn(&mut Turn) -> usize + Send + Sync + 'static) -> Self {
        let (tell, written) = channel();
        let tell = Mutex::new(tell);
        let hostile = Scripted::start(move |mut turn| {
            let count = act(&mut turn);
            turn.closed();
            let _ = tell.lock().expect("no panic").send(count);
        });
        let other = Scripted::always("{}");
        let mut keys = config(&[
            direct("openai", &hostile.at("/v1"), &["m"]),
            direct("openai", &other.at("/v1"), &["m"]),
        ]);
        keys["providers"]["direct"]["keys"][0]["api"] = json!("chat");
        let gateway = Gateway::start(&with(keys, "upstream", limits));
        Self {
            hostile,
            other,
            gateway,
            written,
        }
    }

    fn ask(&self, caller: Caller, stream: bool) -> Answer {
        let body = caller.request("m", "Hello", stream);
        self.gateway.send(&Request::json(caller.path(), &body))
    }

    /// Each caller gets an error of this status, the provider is let go, and nobody else is asked.
    #[track_caller]
    fn check(&self, status: u16, most: usize) {
        for caller in Caller::ALL {
            for stream in [false, true] {
                let answer = self.ask(caller, stream);
                let what = format!("{caller:?} stream={stream}: {}", answer.text());
                assert_eq!(answer.status(), status, "{what}");
                caller.check_error(&answer.json());
                assert_eq!(answer.header("x-should-retry"), Some("false"), "{what}");
                let written = self.written.recv_timeout(PATIENCE).expect("it is closed");
                assert!(written <= most, "{what}: {written} bytes were taken");
            }
        }
        assert_eq!(self.hostile.got().len(), 6);
        assert_eq!(self.other.connections(), 0);
        let health = self.gateway.send(&Request::get("/health/ready"));
        assert_eq!(health.status(), 200);
    }
}

/// What it says once, in reply to anything.
#[track_caller]
fn check_bad(text: impl Into<Vec<u8>>) {
    let text = text.into();
    let scene = Scene::start(json!({}), move |turn| {
        turn.write(&text);
        0
    });
    scene.check(502, 0);
}

#[test]
fn a_huge_header() {
    let header = "x".repeat(1 << 20);
    check_bad(format!(
        "HTTP/1.1 200 OK\r\nx-huge: {header}\r\ncontent-length: 2\r\n\r\n{{}}"
    ));
}

#[test]
fn too_many_headers() {
    check_bad(format!(
        "HTTP/1.1 200 OK\r\n{}content-length: 2\r\n\r\n{{}}",
        "x-one-more: 1\r\n".repeat(1_000)
    ));
}

#[test]
fn headers_without_end() {
    let scene = Scene::start(json!({}), |turn| {
        turn.write("HTTP/1.1 200 OK\r\n");
        turn.flood("x-one-more: 1\r\n".repeat(1_000), ENDLESS)
    });
    scene.check(502, 64 << 20);
}

#[test]
fn interim_answers_without_end() {
    let scene = Scene::start(json!({}), |turn| {
        let interim = "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n";
        turn.flood(interim.repeat(100), ENDLESS)
    });
    scene.check(502, 64 << 20);
}

#[test]
fn something_that_is_no_http() {
    check_bad("SSH-2.0-OpenSSH_9.6\r\n");
    check_bad(vec![0_u8; 4096]);
    check_bad("HTTP/1.1 2000 OK\r\n\r\n");
    check_bad("HTTP/9.9 200 OK\r\n\r\n");
    check_bad("HTTP/1.1 200 OK\r\nx: a\0b\r\ncontent-length: 2\r\n\r\n{}");
}

#[test]
fn lengths_that_contradict_each_other_or_are_none() {
    for length in [
        "-1",
        "2x",
        "99999999999999999999999",
        "1\r\ncontent-length: 2",
    ] {
        check_bad(format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{{}}"
        ));
    }
}

#[test]
fn chunks_without_a_size() {
    for size in ["zz", "", "-5", "ffffffffffffffffff"] {
        check_bad(format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{size}\r\ndata: x\r\n"
        ));
    }
}

#[test]
fn a_chunk_without_a_size_in_the_middle_of_a_stream() {
    let scene = Scene::start(json!({}), |turn| {
        turn.stream_head();
        turn.chunk(HELLO);
        turn.write("zz\r\n");
        0
    });
    for caller in Caller::ALL {
        let answer = scene.ask(caller, true);
        assert_eq!(answer.status(), 200);
        let seen = events(&answer.body);
        assert_eq!(caller.streamed_text(&seen), "Hel");
        caller.check_error_event(seen.last().expect("an error"));
        assert!(!answer.text().contains(caller.terminal()));
    }
}

#[test]
fn chunk_extensions_without_end() {
    let scene = Scene::start(json!({}), |turn| {
        turn.write(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n5;",
        );
        turn.flood("x".repeat(10_000), ENDLESS)
    });
    scene.check(502, 64 << 20);
}

#[test]
fn a_coding_that_nobody_asked_for() {
    for coding in ["gzip", "br", "zstd", "x-unknown", "gzip, gzip"] {
        // A gzip bomb is not even opened.
        check_bad(format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: {coding}\r\ncontent-length: 4\r\n\r\n\u{1f}x\u{8}x"
        ));
    }
}

/// Not a byte of it is waited for.
#[test]
fn two_gigabytes_that_are_announced() {
    let scene = Scene::start(json!({}), |turn| {
        turn.write(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2147483648\r\n\r\n{",
        );
        turn.flood(" ".repeat(65_536), ENDLESS)
    });
    scene.check(502, 64 << 20);
}

#[test]
fn a_whole_answer_without_end() {
    let scene = Scene::start(json!({}), |turn| {
        turn.write(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
        );
        let piece = format!("10000\r\n{}\r\n", " ".repeat(65_536));
        turn.flood(piece, ENDLESS)
    });
    let answer = scene.ask(Caller::Chat, false);
    assert_eq!(answer.status(), 502, "{}", answer.text());
    let written = scene.written.recv_timeout(PATIENCE).expect("it is closed");
    assert!(written < 256 << 20, "{written}");
    assert_eq!(scene.other.connections(), 0);
}

#[test]
fn an_error_without_end() {
    let scene = Scene::start(json!({}), |turn| {
        turn.write(
            "HTTP/1.1 400 X\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
        );
        let piece = format!("10000\r\n{}\r\n", "x".repeat(65_536));
        turn.flood(piece, ENDLESS)
    });
    for caller in Caller::ALL {
        let answer = scene.ask(caller, false);
        assert_eq!(answer.status(), 400);
        caller.check_error(&answer.json());
        assert!(answer.body.len() < 16 << 10, "what is quoted is bounded");
        let written = scene.written.recv_timeout(PATIENCE).expect("it is closed");
        assert!(written < 64 << 20, "{written}");
    }
}

#[test]
fn a_single_event_without_end() {
    let flood = |turn: &mut Turn| {
        let piece = format!("10000\r\n{}\r\n", "x".repeat(65_536));
        turn.chunk("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"");
        turn.flood(piece, ENDLESS)
    };
    let scene = Scene::start(json!({}), move |turn| {
        turn.stream_head();
        flood(turn)
    });
    for caller in [Caller::Chat, Caller::Anthropic] {
        let answer = scene.ask(caller, true);
        assert_eq!(answer.status(), 502, "{}", answer.text());
        caller.check_error(&answer.json());
        let written = scene.written.recv_timeout(PATIENCE).expect("it is closed");
        assert!(written < 128 << 20, "{written}");
    }
    let scene = Scene::start(json!({}), move |turn| {
        turn.stream_head();
        turn.chunk(HELLO);
        flood(turn)
    });
    for caller in [Caller::Chat, Caller::Anthropic] {
        let answer = scene.ask(caller, true);
        assert_eq!(answer.status(), 200);
        let seen = events(&answer.body);
        assert_eq!(caller.streamed_text(&seen), "Hel");
        caller.check_error_event(seen.last().expect("an error"));
        let written = scene.written.recv_timeout(PATIENCE).expect("it is closed");
        assert!(written < 128 << 20, "{written}");
    }
}
