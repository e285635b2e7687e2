//! Silence towards the caller is broken by comments, on event boundaries alone.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::http::{Exchange, Request};
use crate::rig::{Gateway, config, direct, with};
use crate::scripted::{Scripted, Turn};
use crate::sse::{Block, Caller, blocks, events};

const STREAM: &str = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hello\"}}]}\n\n\
    data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" w\u{f6}rld\"}}]}\n\n\
    data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
    data: [DONE]\n\n";

/// A provider that takes each step only when told to.
fn stepwise(
    script: impl Fn(&mut Turn, &dyn Fn()) + Send + Sync + 'static,
) -> (Scripted, Sender<()>) {
    let (go, gone_on): (Sender<()>, Receiver<()>) = channel();
    let gone_on = Arc::new(Mutex::new(gone_on));
    let upstream = Scripted::start(move |mut turn| {
        let gone_on = gone_on.lock().expect("one request at a time");
        script(&mut turn, &|| {
            let _ = gone_on.recv_timeout(crate::http::PATIENCE);
        });
    });
    (upstream, go)
}

fn gateway(upstream: &Scripted) -> Gateway {
    let keys = config(&[direct("openai", &upstream.at("/v1"), &["m"])]);
    // Responses is translated too, so that every caller gets what a chat provider says.
    let keys = with(keys, "server", json!({ "heartbeat": "200ms" }));
    let mut config = keys;
    config["providers"]["direct"]["keys"][0]["api"] = json!("chat");
    Gateway::start(&config)
}

fn beats(seen: &[u8]) -> usize {
    String::from_utf8_lossy(seen)
        .matches(": heartbeat\n\n")
        .count()
}

/// Reads until `count` more heartbeats have come.
#[track_caller]
fn wait_for_beats(exchange: &mut Exchange, seen: &mut Vec<u8>, count: usize) {
    let wanted = beats(seen) + count;
    while beats(seen) < wanted {
        let piece = exchange.piece().expect("the stream goes on");
        seen.extend_from_slice(&piece);
    }
}

#[test]
fn comments_come_between_events_even_when_the_provider_cuts_them() {
    // Cut within the first event, within the two bytes of a letter, and within a blank line.
    let cuts = [
        25,
        STREAM.find('\u{f6}').expect("it is there") + 1,
        STREAM.len() - 1,
    ];
    for caller in Caller::ALL {
        let (upstream, go) = stepwise(move |turn, wait| {
            turn.stream_head();
            let mut from = 0;
            for cut in cuts {
                turn.chunk(&STREAM.as_bytes()[from..cut]);
                wait();
                from = cut;
            }
            turn.chunk(&STREAM.as_bytes()[from..]);
            turn.end();
        });
        let gateway = gateway(&upstream);
        let body = caller.request("m", "Hello", true);
        let mut exchange = gateway.open(&Request::json(caller.path(), &body));
        let mut seen = Vec::new();
        for _ in cuts {
            wait_for_beats(&mut exchange, &mut seen, 2);
            go.send(()).expect("the provider waits");
        }
        let (rest, complete) = exchange.rest();
        seen.extend(rest);
        assert!(complete);
        // Refuses a comment within an event.
        let shown = events(&seen);
        assert_eq!(
            caller.streamed_text(&shown),
            "Hello w\u{f6}rld",
            "{caller:?}"
        );
        assert!(String::from_utf8_lossy(&seen).contains(caller.terminal()));
        let comments = blocks(&seen)
            .iter()
            .filter(|block| matches!(block, Block::Comment(text) if text == "heartbeat"))
            .count();
        assert!(comments >= 6, "{comments}");
    }
}

#[test]
fn comments_come_before_a_late_head() {
    for caller in Caller::ALL {
        let (upstream, go) = stepwise(|turn, wait| {
            wait();
            turn.stream_head();
            turn.chunk(STREAM);
            turn.end();
        });
        let gateway = gateway(&upstream);
        let body = caller.request("m", "Hello", true);
        let mut exchange = gateway.open(&Request::json(caller.path(), &body));
        let head = exchange.head();
        assert_eq!(head.status, 200);
        assert_eq!(
            head.get("content-type"),
            Some("text/event-stream; charset=utf-8")
        );
        assert!(head.get("x-request-id").is_some());
        let mut seen = Vec::new();
        wait_for_beats(&mut exchange, &mut seen, 3);
        go.send(()).expect("the provider waits");
        seen.extend(exchange.rest().0);
        let shown = events(&seen);
        assert_eq!(caller.streamed_text(&shown), "Hello w\u{f6}rld");
        assert!(String::from_utf8_lossy(&seen).contains(caller.terminal()));
    }
}

#[test]
fn a_failure_after_a_late_head_is_an_error_event() {
    for caller in Caller::ALL {
        let (upstream, go) = stepwise(|turn, wait| {
            wait();
            turn.answer(
                400,
                "application/json",
                r#"{"error":{"message":"that is wrong","type":"invalid_request_error","param":"x","code":null}}"#,
            );
        });
        let gateway = gateway(&upstream);
        let body = caller.request("m", "Hello", true);
        let mut exchange = gateway.open(&Request::json(caller.path(), &body));
        let mut seen = Vec::new();
        wait_for_beats(&mut exchange, &mut seen, 1);
        go.send(()).expect("the provider waits");
        let (rest, complete) = exchange.rest();
        seen.extend(rest);
        assert!(complete);
        let shown = events(&seen);
        assert_eq!(shown.len(), 1);
        caller.check_error_event(&shown[0]);
        assert!(String::from_utf8_lossy(&seen).contains("that is wrong"));
    }
}
