//! Tools in other dialects over a seller that speaks Chat Completions alone.

use serde_json::{Value, json};

use crate::http::HttpMessage;
use crate::rig::ServedProxy;
use crate::seller::{self, ScriptedSeller, SellerReply, at_once, entry, offer, payment};

/// A seller of Chat Completions alone, streamed where it is asked to.
fn chat_alone() -> ScriptedSeller {
    ScriptedSeller::new(|request: &HttpMessage| {
        if request.path() != "/v1/chat/completions" {
            return SellerReply::json(404, &json!({ "error": { "message": "no such path" } }));
        }
        if payment(request).is_none() {
            return offer(&[entry("exact", "3660")]);
        }
        if request.json()["model"] == "unknown" {
            return SellerReply::json(
                400,
                &json!({ "error": { "message": "no such model", "code": "X" } }),
            );
        }
        match request.json()["stream"].as_bool() {
            Some(true) => at_once(vec![
                chunk(
                    &json!({ "role": "assistant", "content": "Hel" }),
                    Value::Null,
                ),
                chunk(&json!({ "content": "lo!" }), Value::Null),
                chunk(&json!({}), json!("stop")),
                "data: [DONE]\n\n".into(),
            ]),
            _ => seller::answer(),
        }
    })
}

fn chunk(delta: &Value, finish: Value) -> String {
    let chunk = json!({ "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
    format!("data: {chunk}\n\n")
}

fn messages(stream: bool) -> Value {
    json!({ "model": "m", "max_tokens": 100, "stream": stream, "system": "Be brief.",
        "messages": [{ "role": "user", "content": "Hello" }] })
}

#[test]
fn messages_are_translated_whole_and_streamed() {
    for flags in [&[][..], &["--speaks", "chat"]] {
        let seller = chat_alone();
        let proxy = ServedProxy::new(&seller, flags);
        let whole = proxy.ask("/v1/messages?beta=true", &messages(false));
        assert_eq!(whole.status(), 200, "{}", whole.text());
        assert_eq!(whole.json()["type"], "message");
        assert_eq!(whole.json()["content"][0]["text"], "Hello!");
        let streamed = proxy.ask("/v1/messages?beta=true", &messages(true));
        assert_eq!(streamed.status(), 200);
        assert_eq!(streamed.header("content-type"), Some("text/event-stream"));
        let text = streamed.text();
        let places = [
            "event: message_start",
            "Hel",
            "lo!",
            "end_turn",
            "event: message_stop",
        ];
        let found: Vec<_> = places.iter().map(|place| text.find(place)).collect();
        assert!(
            found.iter().all(Option::is_some) && found.is_sorted(),
            "{text}"
        );
        let asked = seller.seen().last().unwrap().json();
        assert_eq!(asked["messages"][0]["content"], "Be brief.");
        // The seller is asked in the other dialect once, and is remembered.
        let foreign = seller
            .seen()
            .iter()
            .filter(|request| request.path().starts_with("/v1/messages"))
            .count();
        assert_eq!(foreign, usize::from(flags.is_empty()));
        assert_eq!(seller.payments().len(), 2);
    }
}

#[test]
fn responses_are_translated_whole_and_streamed() {
    let seller = chat_alone();
    let proxy = ServedProxy::new(&seller, &["--speaks", "chat"]);
    let ask =
        |stream: bool| json!({ "model": "m", "input": "Hello", "stream": stream, "store": false });
    let whole = proxy.ask("/v1/responses", &ask(false));
    assert_eq!(whole.status(), 200, "{}", whole.text());
    assert_eq!(whole.json()["object"], "response");
    assert!(whole.text().contains("Hello!"), "{}", whole.text());
    let streamed = proxy.ask("/v1/responses", &ask(true)).text();
    for part in [
        "response.created",
        "response.output_text.delta",
        "response.completed",
    ] {
        assert!(streamed.contains(part), "{part}: {streamed}");
    }
}

#[test]
fn failures_are_translated_too() {
    let seller = chat_alone();
    let proxy = ServedProxy::new(&seller, &["--speaks", "chat"]);
    let mut body = messages(false);
    body["model"] = json!("unknown");
    let failed = proxy.ask("/v1/messages", &body);
    assert_eq!(failed.status(), 400);
    assert_eq!(failed.json()["type"], "error");
    assert!(failed.text().contains("no such model"), "{}", failed.text());
    let wrong = proxy.ask(
        "/v1/messages",
        &json!({ "model": "m", "max_tokens": 1, "messages": "x" }),
    );
    assert_eq!(wrong.status(), 400);
    assert_eq!(wrong.json()["type"], "error");
    assert!(wrong.text().contains("messages"), "{}", wrong.text());
}

#[test]
fn a_stream_that_is_cut_ends_with_an_error_event() {
    let seller = ScriptedSeller::new(|request| match payment(request) {
        None => offer(&[entry("exact", "3660")]),
        Some(_) => at_once(vec![chunk(
            &json!({ "role": "assistant", "content": "Hel" }),
            Value::Null,
        )]),
    });
    let proxy = ServedProxy::new(&seller, &["--speaks", "chat"]);
    let text = proxy.ask("/v1/messages", &messages(true)).text();
    assert!(text.contains("event: error"), "{text}");
    assert!(!text.contains("event: message_stop"), "{text}");
}
