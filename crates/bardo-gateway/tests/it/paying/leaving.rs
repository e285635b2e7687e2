//! Callers who leave in the middle pay for what they had, and for what was done for them unseen.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::http::PATIENCE;
use crate::paying::maker;
use crate::paying::till::{Key, Till, header, micro_of};
use crate::rig::{Gateway, eventually};
use crate::scripted::{Scripted, Turn};
use crate::sse::Caller;

/// A maker of streams who says so when the gateway has hung up.
fn maker(act: impl Fn(&mut Turn) + Send + Sync + 'static) -> (Scripted, Receiver<()>) {
    let (tell, closed) = channel();
    let tell = Mutex::new(tell);
    let upstream = Scripted::start(move |mut turn| {
        act(&mut turn);
        turn.closed();
        let _ = tell.lock().expect("no panic").send(());
    });
    (upstream, closed)
}

fn said(text: &str, usage: Value) -> String {
    let chunk = json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m-chat",
        "choices": [{ "index": 0, "delta": { "content": text }, "finish_reason": null }],
        "usage": usage });
    format!("data: {chunk}\n\n")
}

#[track_caller]
fn receipt(gateway: &Gateway, key: &Key, id: &str) -> Value {
    eventually("it is settled", || {
        let found = gateway.send(&key.get(&format!("/v1/receipts/{id}")));
        (found.status() == 200).then(|| found.json())
    })
}

/// Leaves once so many words were read; answers the receipt.
#[track_caller]
fn leave(till: &Till, gateway: &Gateway, key: &Key, closed: &Receiver<()>, words: usize) -> Value {
    let before = till.stand(key);
    let body = Caller::Chat.request("m-chat", &words.to_string(), true);
    let mut exchange = gateway.open(&key.ask(Caller::Chat, &body));
    let head = exchange.head();
    assert_eq!(head.status, 200);
    let id = head.get("x-request-id").expect("an id").to_owned();
    exchange.until(&mut Vec::new(), WORDS[words - 1]);
    let held = till.stand(key);
    assert!(held.held > 0, "a stream under way holds money: {held:?}");
    drop(exchange);
    closed
        .recv_timeout(PATIENCE)
        .expect("the maker's connection is closed");
    let receipt = receipt(gateway, key, &id);
    assert_eq!(receipt["status"], "aborted", "{receipt}");
    let after = eventually("nothing is held any more", || {
        let stand = till.stand(key);
        (stand.held == 0).then_some(stand)
    });
    let charge = micro_of(&receipt["cost"]["charge"]);
    assert_eq!(after.spent - before.spent, charge);
    assert_eq!(till.charged(key, &id), charge);
    till.verify();
    receipt
}

const WORDS: [&str; 4] = ["One", " two", " three", " four"];

#[test]
fn what_was_delivered_is_counted_and_charged() {
    // Says as many words as it is asked for.
    let (upstream, closed) = maker(|turn| {
        let body: Value = serde_json::from_str(turn.got.text()).expect("JSON");
        let words = body["messages"][0]["content"].as_str().expect("text");
        turn.stream_head();
        for word in &WORDS[..words.parse().expect("a number")] {
            turn.chunk(said(word, Value::Null));
        }
    });
    let till = Till::new(maker::billed(&upstream));
    let key = till.rich("1");
    let gateway = till.open();
    for words in 1..=4 {
        let receipt = leave(&till, &gateway, &key, &closed, words);
        let usage = &receipt["usage"];
        assert_eq!(usage["estimated"], true, "{receipt}");
        assert_eq!(usage["output_tokens"], words, "{receipt}");
        let prompt = usage["input_tokens"].as_u64().expect("it is counted");
        assert!((1..30).contains(&prompt), "{receipt}");
        let cost = prompt * 1_370_000 + words as u64 * 7_770_000;
        let charge = (cost * 12).div_ceil(10 * 1_000_000);
        assert_eq!(micro_of(&receipt["cost"]["charge"]), charge, "{receipt}");
    }
}

#[test]
fn what_the_maker_has_reported_by_then_counts() {
    // Anthropic tells the size of the prompt at the beginning.
    let (upstream, closed) = maker(|turn| {
        let usage = json!({ "input_tokens": 802, "cache_read_input_tokens": 201,
            "cache_creation_input_tokens": 0, "output_tokens": 1 });
        let message = json!({ "id": "msg_1", "type": "message", "role": "assistant",
            "model": "m-anthropic", "content": [], "stop_reason": null, "stop_sequence": null,
            "usage": usage });
        turn.stream_head();
        for event in [
            json!({ "type": "message_start", "message": message }),
            json!({ "type": "content_block_start", "index": 0,
                "content_block": { "type": "text", "text": "" } }),
            json!({ "type": "content_block_delta", "index": 0,
                "delta": { "type": "text_delta", "text": "One two three four" } }),
        ] {
            let name = event["type"].as_str().expect("a type");
            turn.chunk(format!("event: {name}\ndata: {event}\n\n"));
        }
    });
    let till = Till::new(maker::billed(&upstream));
    let key = till.rich("1");
    let gateway = till.open();
    for caller in Caller::ALL {
        let body = caller.request("m-anthropic", "Hello", true);
        let mut exchange = gateway.open(&key.ask(caller, &body));
        let head = exchange.head();
        let id = head.get("x-request-id").expect("an id").to_owned();
        exchange.until(&mut Vec::new(), "four");
        drop(exchange);
        closed.recv_timeout(PATIENCE).expect("it is closed");
        let receipt = receipt(&gateway, &key, &id);
        assert_eq!(receipt["status"], "aborted", "{receipt}");
        let usage = &receipt["usage"];
        assert_eq!(usage["input_tokens"], 1_003, "{receipt}");
        assert_eq!(usage["cache_read_tokens"], 201, "{receipt}");
        assert_eq!(usage["output_tokens"], 4, "{receipt}");
        assert_eq!(usage["estimated"], true, "{receipt}");
        let cost = 802 * 1_370_000 + 201 * 137_000 + 4 * 7_770_000u64;
        let charge = (cost * 12).div_ceil(10 * 1_000_000);
        assert_eq!(micro_of(&receipt["cost"]["charge"]), charge, "{receipt}");
        assert_eq!(till.charged(&key, &id), charge);
    }
    eventually("nothing is held any more", || {
        (till.stand(&key).held == 0).then_some(())
    });
    till.verify();
}

#[test]
fn who_leaves_before_any_content_is_charged_nothing() {
    let (upstream, closed) = maker(|turn| {
        turn.stream_head();
        turn.chunk(": keep-alive\n\n");
    });
    let till = Till::new(maker::billed(&upstream));
    let key = till.rich("1");
    let gateway = till.open();
    for caller in Caller::ALL {
        let body = caller.request("m-chat", "Hello", true);
        let exchange = gateway.open(&key.ask(caller, &body));
        eventually("money is held", || {
            (till.stand(&key).held > 0).then_some(())
        });
        drop(exchange);
        closed.recv_timeout(PATIENCE).expect("it is closed");
        let stand = eventually("nothing is held any more", || {
            let stand = till.stand(&key);
            (stand.held == 0).then_some(stand)
        });
        assert_eq!(stand.spent, 0);
    }
    till.verify();
}

#[test]
fn a_maker_who_fails_in_mid_stream_is_paid_for_what_arrived() {
    let upstream = Scripted::start(|mut turn| {
        turn.stream_head();
        turn.chunk(said("One two three four", Value::Null));
    });
    let till = Till::new(maker::billed(&upstream));
    let key = till.rich("1");
    let gateway = till.open();
    for caller in Caller::ALL {
        let body = caller.request("m-chat", "Hello", true);
        let answer = gateway.send(&key.ask(caller, &body));
        assert!(
            !answer.text().contains(caller.terminal()),
            "{}",
            answer.text()
        );
        let receipt = receipt(&gateway, &key, header(&answer, "x-request-id"));
        assert_eq!(receipt["status"], "failed", "{receipt}");
        assert_eq!(receipt["usage"]["output_tokens"], 4, "{receipt}");
        assert_eq!(receipt["usage"]["estimated"], true);
        assert!(micro_of(&receipt["cost"]["charge"]) > 0);
    }
    assert_eq!(till.stand(&key).held, 0);
    till.verify();
}

/// Thinks as many tokens as the request allows; tells when it was left.
fn thinker() -> (Scripted, Receiver<()>) {
    let (tell, closed) = channel();
    let tell = Mutex::new(tell);
    let upstream = Scripted::start(move |mut turn| {
        let body: Value = serde_json::from_str(turn.got.text()).expect("JSON");
        let limit = body["max_completion_tokens"].as_u64().expect("a limit");
        if body["stream"] == true {
            turn.stream_head();
            turn.chunk(said("One two", Value::Null));
        }
        if turn.got.text().contains("Leave") {
            turn.closed();
            let _ = tell.lock().expect("no panic").send(());
            return;
        }
        let usage = json!({ "prompt_tokens": 10, "completion_tokens": limit,
            "total_tokens": limit + 10,
            "completion_tokens_details": { "reasoning_tokens": limit - 2 } });
        let end = json!({ "id": "c", "object": "chat.completion.chunk", "created": 1,
            "model": "gpt-5.5",
            "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }], "usage": usage });
        turn.chunk(format!("data: {end}\n\ndata: [DONE]\n\n"));
        turn.end();
    });
    (upstream, closed)
}

fn thinking(upstream: &Scripted) -> Value {
    crate::rig::config(&[json!({
        "provider": "openai", "api_key": "up-key", "base_url": upstream.at("/v1"),
        "models": ["gpt-5.5"], "api": "chat", "bill": true, "price": maker::price(),
    })])
}

fn asked(caller: Caller, text: &str, stream: bool) -> Value {
    let mut body = caller.request("gpt-5.5", text, stream);
    let limit = match caller {
        Caller::Chat => "max_completion_tokens",
        Caller::Anthropic => "max_tokens",
        Caller::Responses => "max_output_tokens",
    };
    body[limit] = json!(100_000);
    body
}

#[test]
fn thinking_that_nobody_saw_is_paid_for_by_who_leaves() {
    let (upstream, closed) = thinker();
    let till = Till::new(thinking(&upstream));
    let key = till.rich("100");
    let gateway = till.open();
    // One answer that is counted says how fast the model is.
    let answer = gateway.send(&key.ask(Caller::Chat, &asked(Caller::Chat, "Stay", true)));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    for caller in Caller::ALL {
        let before = till.stand(&key);
        let mut exchange = gateway.open(&key.ask(caller, &asked(caller, "Leave", true)));
        let id = exchange
            .head()
            .get("x-request-id")
            .expect("an id")
            .to_owned();
        exchange.until(&mut Vec::new(), "One");
        let held = till.stand(&key).held;
        drop(exchange);
        closed.recv_timeout(PATIENCE).expect("it is closed");
        let receipt = receipt(&gateway, &key, &id);
        assert_eq!(receipt["status"], "aborted", "{receipt}");
        let usage = &receipt["usage"];
        assert_eq!(usage["estimated"], true, "{receipt}");
        assert!(usage["reasoning_tokens"].as_u64() > Some(0), "{receipt}");
        let charge = micro_of(&receipt["cost"]["charge"]);
        assert!(charge > 0 && charge <= held, "{charge} of {held}");
        let after = eventually("nothing is held any more", || {
            let stand = till.stand(&key);
            (stand.held == 0).then_some(stand)
        });
        assert_eq!(after.spent - before.spent, charge);
    }
    till.verify();
}

#[test]
fn a_whole_answer_that_is_given_up_is_paid_for_from_when_the_maker_took_it() {
    let (upstream, closed) = thinker();
    let till = Till::new(thinking(&upstream));
    let key = till.rich("100");
    let gateway = till.open();
    for (number, caller) in Caller::ALL.into_iter().enumerate() {
        let before = till.stand(&key);
        let exchange = gateway.open(&key.ask(caller, &asked(caller, "Leave", false)));
        eventually("the maker has it", || {
            (upstream.got().len() > number).then_some(())
        });
        let held = eventually("its hold is kept", || {
            let held = till.stand(&key).held;
            (held > 0).then_some(held)
        });
        drop(exchange);
        closed.recv_timeout(PATIENCE).expect("it is closed");
        let after = eventually("it is settled", || {
            let stand = till.stand(&key);
            (stand.held == 0 && stand.spent > before.spent).then_some(stand)
        });
        assert!(after.spent - before.spent <= held, "{after:?}");
    }
    till.verify();
}
