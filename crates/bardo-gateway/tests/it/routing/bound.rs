//! Answers that are held to a schema, where one that misses it does harm: nobody gets any of it.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::{Value, json};

use crate::http::{Answer, Exchange, PATIENCE, Request};
use crate::rig::{Gateway, Sandbox, config, direct, makers, with};
use crate::routing::{receipt, trio};
use crate::scripted::Scripted;
use crate::sse::{Block, Caller, blocks, events};

const BROKEN: &str = "Swap all of it, and quickly.";

/// An answer that keeps the schema of `risk`.
pub(crate) fn assessment() -> String {
    let layer = json!({ "score": 0.2, "finding": "calm", "evidence": [] });
    let names = [
        "market",
        "protocol",
        "counterparty",
        "execution",
        "portfolio",
    ];
    let layers: serde_json::Map<String, Value> = names
        .iter()
        .map(|name| ((*name).to_owned(), layer.clone()))
        .collect();
    json!({
        "layers": layers, "overall": 0.2, "recommendation": "Defer", "size_factor": 0.5,
        "conditions": [], "rationale": "wait", "confidence": 0.9, "sources": [],
    })
    .to_string()
}

/// A question to a simulated model that answers with these texts, one after the other.
fn question(caller: Caller, model: &str, hints: &Value, texts: &[&str], stream: bool) -> Value {
    let steps: Vec<Value> = texts.iter().map(|text| json!({ "text": text })).collect();
    let script = format!("Please. bardo-script: {}", json!({ "steps": steps }));
    let mut body = caller.request(model, &script, stream);
    body["bardo"] = hints.clone();
    body
}

fn risk() -> Value {
    json!({ "subsystem": "risk" })
}

fn send(gateway: &Gateway, caller: Caller, body: &Value) -> Answer {
    gateway.send(&Request::json(caller.path(), body))
}

fn said(caller: Caller, answer: &Answer, stream: bool) -> String {
    if stream {
        caller.streamed_text(&events(&answer.body))
    } else {
        caller.text(&answer.json())
    }
}

/// Relayed for one caller each, and translated for the others.
const MODELS: [&str; 3] = ["gpt-5.5", "claude-sonnet-5-5", "gemini-3-flash"];

#[test]
fn a_checked_answer_is_a_proper_answer_of_the_callers_dialect() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    let good = assessment();
    for caller in Caller::ALL {
        for model in MODELS {
            for stream in [false, true] {
                for texts in [&[&*good][..], &[BROKEN, &good]] {
                    let place = format!("{caller:?} {model} {stream} {}", texts.len());
                    let body = question(caller, model, &risk(), texts, stream);
                    let answer = send(&gateway, caller, &body);
                    assert_eq!(answer.status(), 200, "{place}: {}", answer.text());
                    assert_eq!(said(caller, &answer, stream), good, "{place}");
                    assert!(!answer.text().contains("quickly"), "{place}");
                    if stream {
                        assert!(answer.text().contains(caller.terminal()), "{place}");
                        assert!(answer.text().contains(": bardo {"), "{place}");
                    }
                    let kept = receipt(&gateway, &answer);
                    let schema = &kept["routing"]["schema"];
                    assert_eq!(schema["valid"], true, "{place} {kept}");
                    assert_eq!(schema["repaired"], texts.len() > 1, "{place} {kept}");
                }
            }
        }
    }
}

#[test]
fn an_answer_that_misses_its_schema_twice_is_an_error_of_the_callers_dialect() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    for caller in Caller::ALL {
        for model in MODELS {
            for stream in [false, true] {
                let place = format!("{caller:?} {model} {stream}");
                let body = question(caller, model, &risk(), &[BROKEN, BROKEN], stream);
                let answer = send(&gateway, caller, &body);
                assert_eq!(answer.status(), 502, "{place}: {}", answer.text());
                caller.check_error(&answer.json());
                let error = &answer.json()["error"];
                assert_eq!(error["bardo_code"], "schema_violated", "{place} {error}");
                let message = error["message"].as_str().expect("a message");
                assert!(message.contains("`risk_assessment`"), "{message}");
                assert_eq!(answer.header("x-should-retry"), Some("false"), "{place}");
                assert!(!answer.text().contains("quickly"), "{place}");
                let id = crate::paying::till::header(&answer, "x-bardo-request-id");
                let kept = gateway.send(&Request::get(&format!("/v1/receipts/{id}")));
                assert_eq!(kept.json()["routing"]["schema"]["valid"], false, "{place}");
                assert_eq!(kept.json()["status"], "failed", "{place}");
            }
        }
    }
}

#[test]
fn trades_and_attested_classes_are_checked_like_locked_profiles() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&trio(&sandbox));
    let schema = json!({
        "type": "object", "properties": { "amount": { "type": "string" } },
        "required": ["amount"], "additionalProperties": false,
    });
    let profile = json!({ "response_schema": { "name": "swap", "schema": schema } });
    let good = r#"{"amount":"1"}"#;
    for protection in [
        json!({ "task_class": "trade" }),
        json!({ "security_class": "tee" }),
    ] {
        let mut hints = protection.clone();
        hints["profile"] = profile.clone();
        for stream in [false, true] {
            let place = format!("{protection} {stream}");
            let ask = |texts: &[&str]| {
                let body = question(Caller::Chat, "bardo/auto", &hints, texts, stream);
                send(&gateway, Caller::Chat, &body)
            };
            let answer = ask(&[good]);
            assert_eq!(answer.status(), 200, "{place}: {}", answer.text());
            assert_eq!(said(Caller::Chat, &answer, stream), good, "{place}");
            let refused = ask(&[BROKEN, BROKEN]);
            assert_eq!(refused.status(), 502, "{place}: {}", refused.text());
            let code = &refused.json()["error"]["bardo_code"];
            assert_eq!(code, "schema_violated", "{place}");
        }
    }
}

/// A chat provider that streams each text in two halves, and waits between them to be told to go on.
fn halting(texts: &[&str]) -> (Scripted, Sender<()>) {
    let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
    let (go, gone_on): (Sender<()>, Receiver<()>) = channel();
    let turns = Mutex::new((texts.into_iter(), gone_on));
    let upstream = Scripted::start(move |mut turn| {
        let mut turns = turns.lock().expect("one request at a time");
        let text = turns.0.next().expect("no more requests than texts");
        let piece = |text: &str, finish: Value| {
            let delta = json!({ "role": "assistant", "content": text });
            let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
            let chunk = json!({
                "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                "choices": [choice],
            });
            format!("data: {chunk}\n\n")
        };
        let (one, other) = text.split_at(text.len() / 2);
        // A connection that is kept could be found closed by the second request.
        turn.write(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        );
        turn.chunk(piece(one, Value::Null));
        let _ = turns.1.recv_timeout(PATIENCE);
        turn.chunk(piece(other, json!("stop")));
        turn.chunk("data: [DONE]\n\n");
        turn.end();
    });
    (upstream, go)
}

fn gateway_before(upstream: &Scripted) -> Gateway {
    let keys = config(&[direct("openai", &upstream.at("/v1"), &["m"])]);
    let mut config = with(keys, "server", json!({ "heartbeat": "200ms" }));
    config["providers"]["direct"]["keys"][0]["api"] = json!("chat");
    Gateway::start(&config)
}

/// Reads until two more heartbeats have come.
#[track_caller]
fn wait_for_beats(exchange: &mut Exchange, seen: &mut Vec<u8>) {
    let count = |seen: &[u8]| {
        let text = String::from_utf8_lossy(seen).into_owned();
        text.matches(": heartbeat\n\n").count()
    };
    let wanted = count(seen) + 2;
    while count(seen) < wanted {
        seen.extend_from_slice(&exchange.piece().expect("the stream goes on"));
    }
}

#[test]
fn a_caller_gets_heartbeats_and_no_content_until_the_answer_was_checked() {
    let good = assessment();
    for caller in Caller::ALL {
        let (upstream, go) = halting(&[BROKEN, &good]);
        let gateway = gateway_before(&upstream);
        let mut body = caller.request("m", "Hello", true);
        body["bardo"] = risk();
        let mut exchange = gateway.open(&Request::json(caller.path(), &body));
        let mut seen = Vec::new();
        for _ in 0..2 {
            wait_for_beats(&mut exchange, &mut seen);
            let comments = blocks(&seen);
            let beat = Block::Comment("heartbeat".to_owned());
            assert!(comments.iter().all(|block| *block == beat), "{comments:?}");
            go.send(()).expect("the provider waits");
        }
        let (rest, complete) = exchange.rest();
        seen.extend(rest);
        assert!(complete);
        assert_eq!(caller.streamed_text(&events(&seen)), good, "{caller:?}");
        let text = String::from_utf8_lossy(&seen);
        assert!(text.contains(caller.terminal()), "{caller:?} {text}");
        assert_eq!(upstream.got().len(), 2);
    }
}

#[test]
fn an_answer_that_is_withheld_after_heartbeats_is_an_error_event() {
    for caller in Caller::ALL {
        let (upstream, go) = halting(&[BROKEN, BROKEN]);
        let gateway = gateway_before(&upstream);
        let mut body = caller.request("m", "Hello", true);
        body["bardo"] = risk();
        let mut exchange = gateway.open(&Request::json(caller.path(), &body));
        let mut seen = Vec::new();
        for _ in 0..2 {
            wait_for_beats(&mut exchange, &mut seen);
            go.send(()).expect("the provider waits");
        }
        let (rest, complete) = exchange.rest();
        seen.extend(rest);
        assert!(complete);
        let shown = events(&seen);
        assert_eq!(shown.len(), 1, "{shown:?}");
        caller.check_error_event(&shown[0]);
        let text = String::from_utf8_lossy(&seen);
        assert!(text.contains("schema_violated"), "{text}");
        assert!(!text.contains("quickly"), "{text}");
    }
}

#[test]
fn a_withheld_answer_is_not_asked_for_again_under_the_same_key() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    for stream in [false, true] {
        let body = question(Caller::Chat, "gpt-5.5", &risk(), &[BROKEN, BROKEN], stream);
        let key = format!("k-{stream}");
        let request = Request::json(Caller::Chat.path(), &body).with("Idempotency-Key", &key);
        assert_eq!(gateway.send(&request).status(), 502);
        sandbox.forget();
        let again = gateway.send(&request);
        assert_eq!(again.status(), 409, "{}", again.text());
        let code = &again.json()["error"]["bardo_code"];
        assert_eq!(code, "idempotency_unknown");
        assert_eq!(sandbox.journal().len(), 0);
    }
}
