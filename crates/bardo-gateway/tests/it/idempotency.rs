//! One `Idempotency-Key`, one request carried out (`docs/retries.md`).

use std::sync::Mutex;
use std::sync::mpsc::channel;

use serde_json::{Value, json};

use crate::http::{Answer, PATIENCE, Request};
use crate::rig::{Gateway, Sandbox, config, direct, eventually, makers};
use crate::scripted::Scripted;
use crate::sse::Caller;

const MODELS: [(Caller, &str); 3] = [
    (Caller::Chat, "gpt-5.5"),
    (Caller::Anthropic, "claude-sonnet-5-5"),
    // Translated on the way.
    (Caller::Responses, "gemini-3-flash"),
];

fn keyed(caller: Caller, body: &Value, key: &str) -> Request {
    Request::json(caller.path(), body).with("Idempotency-Key", key)
}

fn is_replayed(answer: &Answer) -> bool {
    answer.header("idempotent-replayed") == Some("true")
}

#[track_caller]
fn check_refused(caller: Caller, answer: &Answer, status: u16, code: &str) {
    assert_eq!(answer.status(), status, "{}", answer.text());
    caller.check_error(&answer.json());
    assert_eq!(answer.json()["error"]["bardo_code"], code);
}

#[test]
fn the_answer_is_replayed_byte_for_byte_and_nobody_is_called() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    for (caller, model) in MODELS {
        for stream in [false, true] {
            sandbox.forget();
            let key = format!("{model}-{stream}");
            let request = keyed(caller, &caller.request(model, "Hello", stream), &key);
            let first = gateway.send(&request);
            assert_eq!(first.status(), 200, "{}", first.text());
            assert!(!is_replayed(&first));
            for _ in 0..3 {
                let again = gateway.send(&request);
                assert_eq!(again.status(), 200);
                assert!(is_replayed(&again), "{caller:?} {stream}");
                assert_eq!(again.body, first.body);
                for name in ["content-type", "x-bardo-model", "x-bardo-provider"] {
                    assert_eq!(again.header(name), first.header(name), "{name}");
                }
                assert_ne!(again.header("x-request-id"), first.header("x-request-id"));
                // The receipt has the id of the first request.
                assert_eq!(
                    again.header("x-bardo-replayed-request-id"),
                    first.header("x-bardo-request-id")
                );
            }
            assert_eq!(sandbox.journal().len(), 1, "{caller:?} {stream}");
            // Without a key, or with another, it is another request.
            let plain = Request::json(caller.path(), &caller.request(model, "Hello", stream));
            assert!(!is_replayed(&gateway.send(&plain)));
            assert_eq!(sandbox.journal().len(), 2);
        }
    }
}

#[test]
fn vectors_and_counts_are_replayed_too() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    let wanted = json!({ "model": "text-embedding-3-small", "input": "Hello" });
    let counted = Caller::Anthropic.request("claude-sonnet-5-5", "Hello", false);
    for (path, body) in [
        ("/v1/embeddings", wanted),
        ("/v1/messages/count_tokens", counted),
    ] {
        sandbox.forget();
        let request = Request::json(path, &body).with("Idempotency-Key", path);
        let first = gateway.send(&request);
        assert_eq!(first.status(), 200, "{}", first.text());
        let again = gateway.send(&request);
        assert!(is_replayed(&again));
        assert_eq!(again.body, first.body);
        assert_eq!(sandbox.journal().len(), 1);
    }
}

#[test]
fn another_body_or_path_under_the_same_key_is_refused() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    let hello = Caller::Chat.request("gpt-5.5", "Hello", false);
    assert_eq!(
        gateway.send(&keyed(Caller::Chat, &hello, "k")).status(),
        200
    );
    for caller in Caller::ALL {
        let other = caller.request("gpt-5.5", "Something else", false);
        let answer = gateway.send(&keyed(caller, &other, "k"));
        check_refused(caller, &answer, 422, "idempotency_mismatch");
        assert_eq!(answer.header("x-should-retry"), Some("false"));
    }
    assert_eq!(sandbox.journal().len(), 1);
}

#[test]
fn keys_of_different_callers_have_nothing_to_do_with_each_other() {
    let sandbox = Sandbox::start();
    let mut settings = makers(&sandbox);
    settings["auth"] = json!({ "keys": [
        { "id": "alice", "key": "alice-0123456789abcdef" },
        { "id": "bob", "key": "bob-0123456789abcdef" },
    ]});
    let gateway = Gateway::start(&settings);
    let body = Caller::Chat.request("gpt-5.5", "Hello", false);
    let request = keyed(Caller::Chat, &body, "k");
    for who in ["alice", "bob"] {
        let request = request
            .clone()
            .with("x-api-key", &format!("{who}-0123456789abcdef"));
        assert!(!is_replayed(&gateway.send(&request)), "{who}");
        assert!(is_replayed(&gateway.send(&request)), "{who}");
    }
    assert_eq!(gateway.send(&request).status(), 401);
    assert_eq!(sandbox.journal().len(), 2);
}

#[test]
fn keys_that_are_none_are_refused() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    for caller in Caller::ALL {
        let body = caller.request("gpt-5.5", "Hello", false);
        for key in ["", "two words", &"k".repeat(256)] {
            let answer = gateway.send(&keyed(caller, &body, key));
            check_refused(caller, &answer, 400, "invalid_request");
        }
        let twice = keyed(caller, &body, "a").with("Idempotency-Key", "b");
        check_refused(caller, &gateway.send(&twice), 400, "invalid_request");
    }
    assert_eq!(sandbox.journal().len(), 0);
}

/// A provider that answers when the test says so.
fn held(answer: &'static str) -> (Scripted, std::sync::mpsc::Sender<()>) {
    let (release, released) = channel();
    let released = Mutex::new(released);
    let upstream = Scripted::start(move |mut turn| {
        let _ = released.lock().expect("no panic").recv_timeout(PATIENCE);
        turn.json(answer);
    });
    (upstream, release)
}

#[test]
fn those_who_come_meanwhile_get_the_same_whole_answer() {
    let (upstream, release) = held(
        r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}"#,
    );
    let gateway = Gateway::start(&config(&[direct("openai", &upstream.at("/v1"), &["m"])]));
    let body = Caller::Chat.request("m", "Hello", false);
    let request = keyed(Caller::Chat, &body, "k");
    let mut open: Vec<_> = (0..8).map(|_| gateway.open(&request)).collect();
    eventually("one is asked", || (upstream.got().len() == 1).then_some(()));
    release.send(()).expect("it waits");
    let answers: Vec<Answer> = open.iter_mut().map(|one| one.answer()).collect();
    for answer in &answers {
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_eq!(answer.body, answers[0].body);
    }
    let replayed = answers.iter().filter(|answer| is_replayed(answer)).count();
    assert_eq!(replayed, 7);
    assert_eq!(upstream.got().len(), 1);
}

const BEGUN: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hel\"}}]}\n\n";
const ENDED: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

#[test]
fn a_stream_under_way_is_not_waited_for_and_one_that_is_left_is_not_repeated() {
    let (release, released) = channel::<()>();
    let released = Mutex::new(released);
    let upstream = Scripted::start(move |mut turn| {
        turn.stream_head();
        turn.chunk(BEGUN);
        let _ = released.lock().expect("no panic").recv_timeout(PATIENCE);
        turn.chunk(ENDED);
        turn.end();
    });
    let gateway = Gateway::start(&config(&[direct("openai", &upstream.at("/v1"), &["m"])]));
    let body = Caller::Chat.request("m", "Hello", true);
    let request = keyed(Caller::Chat, &body, "finished");
    let mut first = gateway.open(&request);
    let mut seen = Vec::new();
    first.until(&mut seen, "Hel");
    let second = gateway.send(&request);
    check_refused(Caller::Chat, &second, 409, "idempotency_in_progress");
    assert_eq!(second.header("retry-after"), Some("1"));
    release.send(()).expect("it waits");
    seen.extend(first.rest().0);
    let third = gateway.send(&request);
    assert!(is_replayed(&third));
    assert_eq!(third.body, seen);

    let request = keyed(Caller::Chat, &body, "left");
    let mut first = gateway.open(&request);
    first.until(&mut Vec::new(), "Hel");
    drop(first);
    let answer = eventually("it is noticed", || {
        let answer = gateway.send(&request);
        let code = answer.json()["error"]["bardo_code"].clone();
        (code != "idempotency_in_progress").then_some(answer)
    });
    check_refused(Caller::Chat, &answer, 409, "idempotency_unknown");
    assert_eq!(answer.header("x-should-retry"), Some("false"));
    assert_eq!(upstream.got().len(), 2);
}

#[test]
fn what_surely_did_nothing_may_be_tried_again_and_what_may_have_may_not() {
    let refuses = Mutex::new(true);
    let busy = Scripted::start(move |mut turn| {
        if std::mem::take(&mut *refuses.lock().expect("no panic")) {
            turn.answer(
                500,
                "application/json",
                r#"{"error":{"message":"no","type":"x"}}"#,
            );
        } else {
            turn.json(r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}"#);
        }
    });
    let silent = Scripted::start(drop);
    let gateway = Gateway::start(&config(&[
        direct("openai", &busy.at("/v1"), &["busy"]),
        direct("openai", &silent.at("/v1"), &["silent"]),
    ]));
    let body = Caller::Chat.request("busy", "Hello", false);
    let request = keyed(Caller::Chat, &body, "k1");
    assert_eq!(gateway.send(&request).status(), 502);
    let second = gateway.send(&request);
    assert_eq!(second.status(), 200, "{}", second.text());
    assert!(!is_replayed(&second));
    assert!(is_replayed(&gateway.send(&request)));
    assert_eq!(busy.got().len(), 2);

    for caller in Caller::ALL {
        let body = caller.request("silent", "Hello", false);
        let request = keyed(caller, &body, caller.path());
        assert_eq!(gateway.send(&request).status(), 502);
        for _ in 0..3 {
            let answer = gateway.send(&request);
            check_refused(caller, &answer, 409, "idempotency_unknown");
            assert_eq!(answer.header("x-should-retry"), Some("false"));
        }
    }
    assert_eq!(silent.got().len(), 3);

    // A request that is wrong does not use up its key.
    let wrong = Request::post(Caller::Chat.path(), "{").with("Idempotency-Key", "k2");
    for _ in 0..2 {
        check_refused(Caller::Chat, &gateway.send(&wrong), 400, "invalid_json");
    }
}
