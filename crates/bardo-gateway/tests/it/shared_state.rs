//! State of requests that gateways share through a real Redis server, on the built binary.

use std::sync::atomic::{AtomicBool, Ordering};

use bardo_store::servers::RedisServer;
use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::rig::{Gateway, Sandbox, eventually, makers, with};
use crate::scripted::Scripted;
use crate::sse::Caller;

const SECRET: &str = "an operator's secret of more than thirty-two bytes";

/// A gateway that shares its state through this Redis, which it has reached.
fn gateway(sandbox: &Sandbox, redis: &RedisServer) -> Gateway {
    sharing(makers(sandbox), redis)
}

fn sharing(config: Value, redis: &RedisServer) -> Gateway {
    let shared = json!({ "redis_url": redis.url(), "redis_key": SECRET });
    let gateway = Gateway::start(&with(config, "shared", shared));
    eventually("Redis is reached", || {
        let status = Request::get("/status").send(gateway.admin).json();
        (status["shared"]["mode"] == "up").then_some(())
    });
    gateway
}

fn pair() -> (Sandbox, RedisServer, [Gateway; 2]) {
    let (sandbox, redis) = (Sandbox::start(), RedisServer::start().expect("Redis"));
    let gateways = [gateway(&sandbox, &redis), gateway(&sandbox, &redis)];
    (sandbox, redis, gateways)
}

fn scripted(caller: Caller, text: &str, stream: bool) -> Value {
    let script = json!({ "steps": [{ "text": text }] });
    caller.request("gpt-5.5", &format!("bardo-script: {script}"), stream)
}

fn keyed(caller: Caller, body: &Value, key: &str) -> Request {
    Request::json(caller.path(), body).with("idempotency-key", key)
}

/// Checks that both answers are equal, but for the headers that each delivery has of its own.
#[track_caller]
fn same(first: &Answer, second: &Answer) {
    assert_eq!(second.status(), first.status(), "{}", second.text());
    assert_eq!(second.text(), first.text());
    for name in [
        "content-type",
        "x-bardo-model",
        "x-bardo-cost",
        "x-bardo-provider",
    ] {
        assert_eq!(second.header(name), first.header(name), "{name}");
    }
    assert_eq!(second.header("idempotent-replayed"), Some("true"));
}

#[test]
fn a_repeat_at_another_gateway_gets_the_first_answer_and_calls_no_provider() {
    let (sandbox, _redis, [here, there]) = pair();
    for caller in Caller::ALL {
        for stream in [false, true] {
            let body = scripted(caller, "one answer for both", stream);
            let key = format!("{caller:?}-{stream}");
            let first = here.send(&keyed(caller, &body, &key));
            assert_eq!(first.status(), 200, "{key}: {}", first.text());
            sandbox.forget();
            let second = eventually("the answer is shared", || {
                let answer = there.send(&keyed(caller, &body, &key));
                (answer.status() != 409).then_some(answer)
            });
            same(&first, &second);
            assert!(sandbox.journal().is_empty(), "{key}: a provider was called");
            let other = scripted(caller, "another request", stream);
            let refused = there.send(&keyed(caller, &other, &key));
            assert_eq!(refused.status(), 422, "{key}: {}", refused.text());
        }
    }
}

#[test]
fn identical_requests_at_both_gateways_at_once_call_a_provider_once() {
    let (sandbox, _redis, gateways) = pair();
    let body = scripted(Caller::Chat, "slow answer", false);
    let body = &body;
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..8)
            .map(|number| {
                let gateway = &gateways[number % 2];
                scope.spawn(move || gateway.send(&keyed(Caller::Chat, body, "once")))
            })
            .collect();
        started
            .into_iter()
            .map(|one| one.join().expect("it answers"))
            .collect()
    });
    for answer in &answers {
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_eq!(answer.text(), answers[0].text());
    }
    assert_eq!(sandbox.journal().len(), 1);
}

#[test]
fn a_redis_that_is_gone_costs_no_request() {
    let (_sandbox, mut redis, [here, there]) = pair();
    redis.stop();
    let body = scripted(Caller::Chat, "without Redis", false);
    for (number, gateway) in [&here, &there].into_iter().enumerate() {
        let answer = gateway.send(&keyed(Caller::Chat, &body, "gone"));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let again = gateway.send(&keyed(Caller::Chat, &body, "gone"));
        assert_eq!(again.text(), answer.text(), "{number}");
        let metrics = Request::get("/metrics").send(gateway.admin).text();
        let none = "bardo_shared_losses_total{reason=\"down\"} 0";
        assert!(!metrics.contains(none), "{metrics}");
    }
}

/// What the last request to a provider had as its body.
fn last_sent(sandbox: &Sandbox) -> Value {
    let journal = sandbox.journal();
    let body = journal.last().expect("a request")["body"].as_str();
    serde_json::from_str(body.expect("UTF-8")).expect("JSON")
}

#[test]
fn a_conversation_that_goes_on_at_another_gateway_keeps_its_thinking() {
    let (sandbox, _redis, [here, there]) = pair();
    let script = json!({ "steps": [
        { "think": "It needs f.", "text": "A moment.", "tools": [{ "name": "f", "args": { "a": 1 } }] },
        { "text": "Done." },
    ] });
    for stream in [false, true] {
        let mut body = Caller::Chat.request(
            "claude-sonnet-5-5",
            &format!("bardo-script: {script}"),
            false,
        );
        body["tools"] = json!([{ "type": "function",
            "function": { "name": "f", "parameters": { "type": "object", "properties": {} } } }]);
        body["reasoning_effort"] = json!("high");
        let first = here.send(&Request::json(Caller::Chat.path(), &body));
        assert_eq!(first.status(), 200, "{}", first.text());
        let message = first.json()["choices"][0]["message"].clone();
        let call = message["tool_calls"][0]["id"].clone();
        // A client that drops the thinking.
        let turn = json!({ "role": "assistant", "content": message["content"],
            "tool_calls": message["tool_calls"] });
        let result = json!({ "role": "tool", "tool_call_id": call, "content": "2" });
        let messages = body["messages"].as_array_mut().expect("a list");
        messages.extend([turn, result]);
        body["stream"] = json!(stream);
        let kinds = eventually("the thinking is shared", || {
            sandbox.forget();
            let second = there.send(&Request::json(Caller::Chat.path(), &body));
            assert_eq!(second.status(), 200, "{}", second.text());
            let sent = last_sent(&sandbox);
            let blocks = sent["messages"][1]["content"].as_array().cloned();
            let blocks = blocks.unwrap_or_default();
            let kinds: Vec<Value> = blocks.iter().map(|block| block["type"].clone()).collect();
            kinds.contains(&json!("thinking")).then_some(kinds)
        });
        assert_eq!(kinds, ["thinking", "text", "tool_use"]);
    }
}

#[test]
fn a_stored_response_is_continued_at_another_gateway_by_its_own_caller_alone() {
    let (sandbox, redis) = (Sandbox::start(), RedisServer::start().expect("Redis"));
    let keys = ["alice", "bob"].map(|name| (name, format!("bardo_sk_{name}_0123456789abcdef")));
    let open = || {
        let keys = keys.iter().map(|(id, key)| json!({ "id": id, "key": key }));
        let auth = json!({ "keys": keys.collect::<Vec<_>>() });
        sharing(with(makers(&sandbox), "auth", auth), &redis)
    };
    let (here, there) = (open(), open());
    let ask = |gateway: &Gateway, who: usize, body: &Value| {
        let key = &keys[who].1;
        gateway.send(&Request::json("/v1/responses", body).with("x-api-key", key))
    };
    let first = json!({ "model": "claude-sonnet-5-5", "input": "The word is marmalade." });
    let first = ask(&here, 0, &first);
    assert_eq!(first.status(), 200, "{}", first.text());
    let next = json!({ "model": "claude-sonnet-5-5", "previous_response_id": first.json()["id"],
        "input": "Which word?" });
    let second = eventually("the response is shared", || {
        let answer = ask(&there, 0, &next);
        (answer.status() != 400).then_some(answer)
    });
    assert_eq!(second.status(), 200, "{}", second.text());
    assert!(last_sent(&sandbox).to_string().contains("marmalade"));
    let foreign = ask(&there, 1, &next);
    assert_eq!(foreign.status(), 400, "{}", foreign.text());
    assert_eq!(
        foreign.json()["error"]["code"],
        "previous_response_not_found"
    );
}

#[test]
fn a_backend_that_fails_at_one_gateway_is_called_last_at_another() {
    let (sandbox, redis) = (Sandbox::start(), RedisServer::start().expect("Redis"));
    let failing = Scripted::start(|mut turn| turn.answer(500, "application/json", "{}"));
    let first = json!({ "api_key": "k", "base_url": failing.at("/v1"), "models": ["gpt-5.5"] });
    let mut config = makers(&sandbox);
    config["providers"]["openrouter"] = first;
    config["upstream"]["breaker"]["enabled"] = json!(true);
    config["inference"]["provider_order"] = json!(["openrouter", "direct"]);
    let (here, there) = (sharing(config.clone(), &redis), sharing(config, &redis));
    let body = scripted(Caller::Chat, "from the second backend", false);
    let request = Request::json(Caller::Chat.path(), &body);
    let circuits =
        |gateway: &Gateway| Request::get("/status").send(gateway.admin).json()["circuits"].clone();
    let of = |circuits: &Value| {
        let rows = circuits.as_array().expect("rows").iter();
        rows.clone()
            .find(|row| row["provider"] == "openrouter")
            .cloned()
    };
    // The requests fail over to the second backend.
    for _ in 0..20 {
        let answer = here.send(&request);
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }
    let seen = failing.got().len();
    assert!(seen > 0 && seen < 20, "{seen} {}", circuits(&here));
    let row = eventually("the other gateway learns of it", || of(&circuits(&there)));
    assert_eq!(
        (&row["hinted"], &row["state"]),
        (&json!(true), &json!("closed")),
        "{row}"
    );
    let before = failing.got().len();
    let answer = there.send(&request);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert_eq!(failing.got().len(), before, "it was called first");
}

#[test]
fn a_reader_at_one_gateway_sees_the_events_of_another_once() {
    let (_sandbox, _redis, [here, there]) = pair();
    let mut feed = there.open(&Request::get("/v1/events?events=inference.end"));
    assert_eq!(feed.head().status, 200);
    let mut seen = Vec::new();
    feed.until(&mut seen, ": connected");
    let body = scripted(Caller::Chat, "an event for all", false);
    let ask = || {
        let answer = here.send(&Request::json(Caller::Chat.path(), &body));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let id = answer.header("x-bardo-request-id");
        id.expect("an id").to_owned()
    };
    // The first ones are told before this gateway knows of the reader at the other.
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                ask();
            }
        });
        feed.until(&mut seen, "event: inference.end\ndata: ");
        stop.store(true, Ordering::Relaxed);
    });
    let ids = [ask(), ask(), ask()];
    feed.until(&mut seen, &ids[2]);
    feed.until(&mut seen, "}\n\n");
    let text = String::from_utf8(seen).expect("UTF-8");
    let places = ids.each_ref().map(|id| {
        let data = format!("\"request_id\":\"{id}\"");
        assert_eq!(text.matches(&data).count(), 1, "{id} in {text}");
        text.find(&data)
    });
    assert!(places.is_sorted(), "{text}");
}
