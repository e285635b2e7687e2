//! Each phase of a call has its own limit.

use std::sync::Mutex;
use std::sync::mpsc;

use serde_json::{Value, json};

use crate::http::Request;
use crate::rig::{Gateway, Sandbox, config, direct, with};
use crate::scripted::Scripted;
use crate::sse::{Caller, events};

/// Two backends with the same model, so that a second attempt would be seen.
fn limited(first: &Sandbox, second: &Sandbox, limits: Value) -> Gateway {
    let keys = config(&[
        direct("openai", &first.at("/openai/v1"), &["gpt-5.5"]),
        direct("openai", &second.at("/openai/v1"), &["gpt-5.5"]),
    ]);
    Gateway::start(&with(keys, "upstream", limits))
}

#[track_caller]
fn check_times_out(limits: Value, stream: bool, fault: &Value) {
    let (slow, other) = (Sandbox::start(), Sandbox::start());
    let gateway = limited(&slow, &other, limits);
    slow.fault("openai", fault);
    for caller in Caller::ALL {
        let body = caller.request("gpt-5.5", "Hello", stream);
        let answer = gateway.send(&Request::json(caller.path(), &body));
        assert_eq!(answer.status(), 504, "{caller:?} {}", answer.text());
        // The provider may have worked, and billed.
        assert_eq!(answer.header("x-should-retry"), Some("false"));
        caller.check_error(&answer.json());
        assert_eq!(answer.json()["error"]["bardo_code"], "upstream_timeout");
    }
    assert_eq!(slow.journal().len(), 3);
    assert_eq!(other.journal().len(), 0);
}

#[test]
fn a_head_that_does_not_come() {
    for stream in [false, true] {
        check_times_out(
            json!({ "header_timeout": "200ms" }),
            stream,
            &json!({ "kind": "delay_headers", "ms": 600_000 }),
        );
    }
}

#[test]
fn a_first_content_that_does_not_come() {
    check_times_out(
        json!({ "first_token_timeout": "200ms" }),
        true,
        &json!({ "kind": "stall_after", "events": 1 }),
    );
    // Keep-alives are no content.
    check_times_out(
        json!({ "first_token_timeout": "200ms" }),
        true,
        &json!({ "kind": "pings_only", "every_ms": 20 }),
    );
}

#[test]
fn a_body_that_does_not_come() {
    check_times_out(
        json!({ "total_timeout": "200ms" }),
        false,
        &json!({ "kind": "delay_body", "ms": 600_000 }),
    );
}

#[test]
fn a_body_that_stops_half_way() {
    let upstream = Scripted::start(|mut turn| {
        turn.write("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"id\":");
        turn.closed();
    });
    let gateway = Gateway::start(&with(
        config(&[direct("openai", &upstream.at("/v1"), &["m"])]),
        "upstream",
        json!({ "idle_timeout": "200ms" }),
    ));
    for caller in Caller::ALL {
        let body = caller.request("m", "Hello", false);
        let answer = gateway.send(&Request::json(caller.path(), &body));
        assert_eq!(answer.status(), 504, "{caller:?} {}", answer.text());
        caller.check_error(&answer.json());
    }
}

#[test]
fn vectors_and_counts_that_do_not_come() {
    let sandbox = Sandbox::start();
    let keys = config(&[
        direct("openai", &sandbox.at("/openai/v1"), &[]),
        direct("anthropic", &sandbox.at("/anthropic"), &[]),
        direct("google", &sandbox.at("/google"), &[]),
    ]);
    let gateway = Gateway::start(&with(keys, "upstream", json!({ "total_timeout": "200ms" })));
    for service in ["openai", "anthropic", "google"] {
        sandbox.fault(service, &json!({ "kind": "delay_body", "ms": 600_000 }));
    }
    for model in ["text-embedding-3-small", "gemini-embedding-001"] {
        let body = json!({ "model": model, "input": "Hello" });
        let answer = gateway.send(&Request::json("/v1/embeddings", &body));
        assert_eq!(answer.status(), 504, "{model} {}", answer.text());
        Caller::Chat.check_error(&answer.json());
    }
    // A count is worth an estimate of our own.
    for model in ["claude-sonnet-5-5", "gemini-3-flash", "gpt-5.5"] {
        let body = Caller::Anthropic.request(model, "Hello", false);
        let answer = gateway.send(&Request::json("/v1/messages/count_tokens", &body));
        assert_eq!(answer.status(), 200, "{model} {}", answer.text());
        assert!(answer.json()["input_tokens"].as_u64() > Some(0));
        assert_eq!(answer.header("x-bardo-degraded"), Some("token_count"));
    }
}

/// The limit is for the call, not for each of its phases.
#[test]
fn a_late_head_leaves_less_for_the_rest() {
    let sandbox = Sandbox::start();
    let gateway = limited(&sandbox, &sandbox, json!({ "total_timeout": "900ms" }));
    sandbox.fault(
        "openai",
        &json!([{ "kind": "delay_headers", "ms": 500 }, { "kind": "delay_body", "ms": 500 }]),
    );
    for stream in [false, true] {
        let body = Caller::Chat.request("gpt-5.5", "Hello", stream);
        let answer = gateway.send(&Request::json("/v1/chat/completions", &body));
        assert_eq!(answer.status(), 504, "{}", answer.text());
    }
}

const BEGUN: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hel\"}}]}\n\n";

/// A provider that begins to answer and then repeats `again` for as long as somebody listens.
fn babbler(again: &'static str) -> Scripted {
    Scripted::start(move |mut turn| {
        turn.stream_head();
        turn.chunk(BEGUN);
        let (gone, listening) = mpsc::channel();
        let listening = Mutex::new(listening);
        std::thread::scope(|scope| {
            let mut reader = turn.twin();
            scope.spawn(move || {
                reader.closed();
                let _ = gone.send(());
            });
            let listening = listening.lock().expect("one thread");
            while listening
                .recv_timeout(std::time::Duration::from_millis(20))
                .is_err()
            {
                turn.chunk(again);
            }
        });
    })
}

#[track_caller]
fn check_ends_in_error(again: &'static str, limits: Value) {
    for caller in Caller::ALL {
        let upstream = babbler(again);
        let other = Scripted::always("{}");
        let mut keys = config(&[
            direct("openai", &upstream.at("/v1"), &["gpt-5.5"]),
            direct("openai", &other.at("/v1"), &["gpt-5.5"]),
        ]);
        // It speaks this alone, so two of the three callers are translated.
        keys["providers"]["direct"]["keys"][0]["api"] = json!("chat");
        let gateway = Gateway::start(&with(keys, "upstream", limits.clone()));
        let body = caller.request("gpt-5.5", "Hello", true);
        let answer = gateway.send(&Request::json(caller.path(), &body));
        assert_eq!(answer.status(), 200);
        let seen = events(&answer.body);
        caller.check_error_event(seen.last().expect("an error"));
        assert!(!answer.text().contains(caller.terminal()));
        assert!(caller.streamed_text(&seen).starts_with("Hel"));
        assert_eq!(upstream.got().len(), 1);
        assert_eq!(other.connections(), 0);
    }
}

#[test]
fn keep_alives_do_not_hide_a_silent_provider() {
    check_ends_in_error(": keep-alive\n\n", json!({ "idle_timeout": "1s" }));
}

#[test]
fn an_answer_without_end_is_ended() {
    check_ends_in_error(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"l\"}}]}\n\n",
        json!({ "total_timeout": "2s" }),
    );
}

#[test]
fn a_slow_but_steady_answer_is_not_ended() {
    let sandbox = Sandbox::start();
    let gateway = limited(
        &sandbox,
        &sandbox,
        json!({ "idle_timeout": "2s", "first_token_timeout": "2s" }),
    );
    // Longer than either limit as a whole, never silent for as long.
    let script = json!({ "steps": [{ "text": "abcdefgh", "chunk": 1, "delay_ms": 300 }] });
    let body = Caller::Chat.request("gpt-5.5", &format!("bardo-script: {script}"), true);
    let answer = gateway.send(&Request::json("/v1/chat/completions", &body));
    let seen = events(&answer.body);
    assert_eq!(Caller::Chat.streamed_text(&seen), "abcdefgh");
    assert_eq!(seen.last(), Some(&Value::from("[DONE]")));
}
