//! State of requests that gateways share through a real Redis server, on the built binary.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bardo_store::servers::RedisServer;
use serde_json::{Value, json};

use crate::http::{Answer, Exchange, PATIENCE, Request, contains};
use crate::rig::{Gateway, Sandbox, eventually, makers, with};
use crate::scripted::Scripted;
use crate::sse::Caller;

const SECRET: &str = "an operator's secret of more than thirty-two bytes";
/// Rounds at most until there is one without a loss.
const ROUNDS: u32 = 20;

/// A gateway that shares its state through this Redis, which it has reached.
fn gateway(sandbox: &Sandbox, redis: &RedisServer) -> Gateway {
    sharing(makers(sandbox), redis)
}

fn sharing(config: Value, redis: &RedisServer) -> Gateway {
    let shared = json!({ "redis_url": redis.url(), "redis_key": SECRET });
    let gateway = Gateway::start(&with(config, "shared", shared));
    until_up(&gateway);
    gateway
}

#[track_caller]
fn until_up(gateway: &Gateway) {
    eventually("Redis is reached", || {
        (gateway.status()["shared"]["mode"] == "up").then_some(())
    });
}

fn pair() -> (Sandbox, RedisServer, [Gateway; 2]) {
    let (sandbox, redis) = (Sandbox::start(), RedisServer::start().expect("Redis"));
    let gateways = [gateway(&sandbox, &redis), gateway(&sandbox, &redis)];
    (sandbox, redis, gateways)
}

/// Reads and writes that a gateway has lost because Redis was away or late.
fn lost(gateway: &Gateway) -> u64 {
    let metrics = Request::get("/metrics").send(gateway.admin).text();
    let of = |reason: &str| -> u64 {
        let name = format!("bardo_shared_losses_total{{reason=\"{reason}\"}} ");
        let count = metrics.lines().find_map(|line| line.strip_prefix(&name));
        count.map_or(0, |count| count.parse().expect("a number"))
    };
    of("down") + of("slow")
}

/// Plays rounds until neither gateway has lost a read or a write in one, and answers what that
/// round shows. After a loss a gateway goes by its own memory, so such a round shows nothing; it may
/// ask whether it is one, and end early with `None`.
#[track_caller]
fn without_loss<T>(
    gateways: &[Gateway; 2],
    mut round: impl FnMut(u32, &dyn Fn() -> bool) -> Option<T>,
) -> T {
    let shown = (0..ROUNDS).find_map(|number| {
        gateways.iter().for_each(until_up);
        let before = gateways.each_ref().map(lost);
        let is_lost = || gateways.each_ref().map(lost) != before;
        round(number, &is_lost).filter(|_| !is_lost())
    });
    shown.expect("a round without a loss")
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
    let (sandbox, _redis, gateways) = pair();
    let [here, there] = &gateways;
    for caller in Caller::ALL {
        for stream in [false, true] {
            let body = scripted(caller, "one answer for both", stream);
            let other = scripted(caller, "another request", stream);
            let (first, second, called, refused) = without_loss(&gateways, |round, is_lost| {
                let key = format!("{caller:?}-{stream}-{round}");
                let first = here.send(&keyed(caller, &body, &key));
                assert_eq!(first.status(), 200, "{key}: {}", first.text());
                // The other gateway would wait for an answer that is not stored.
                if is_lost() {
                    return None;
                }
                sandbox.forget();
                let second = eventually("the answer is shared", || {
                    let answer = there.send(&keyed(caller, &body, &key));
                    (answer.status() != 409 || is_lost()).then_some(answer)
                });
                let called = sandbox.journal();
                let refused = there.send(&keyed(caller, &other, &key));
                Some((first, second, called, refused))
            });
            same(&first, &second);
            assert!(called.is_empty(), "{caller:?} {stream}: {called:?}");
            let what = format!("{caller:?} {stream}: {}", refused.text());
            assert_eq!(refused.status(), 422, "{what}");
        }
    }
}

#[test]
fn identical_requests_at_both_gateways_at_once_call_a_provider_once() {
    let (sandbox, _redis, gateways) = pair();
    let body = scripted(Caller::Chat, "slow answer", false);
    let (answers, called) = without_loss(&gateways, |round, _| {
        let request = &keyed(Caller::Chat, &body, &format!("once-{round}"));
        sandbox.forget();
        let answers: Vec<Answer> = std::thread::scope(|scope| {
            let started: Vec<_> = (0..8)
                .map(|number| {
                    let gateway = &gateways[number % 2];
                    scope.spawn(move || gateway.send(request))
                })
                .collect();
            started
                .into_iter()
                .map(|one| one.join().expect("it answers"))
                .collect()
        });
        Some((answers, sandbox.journal()))
    });
    for answer in &answers {
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_eq!(answer.text(), answers[0].text());
    }
    assert_eq!(called.len(), 1);
}

#[test]
fn a_redis_that_is_gone_costs_no_request() {
    let (_sandbox, mut redis, [here, there]) = pair();
    redis.stop();
    let before = [lost(&here), lost(&there)];
    let body = scripted(Caller::Chat, "without Redis", false);
    for (number, gateway) in [&here, &there].into_iter().enumerate() {
        let answer = gateway.send(&keyed(Caller::Chat, &body, "gone"));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let again = gateway.send(&keyed(Caller::Chat, &body, "gone"));
        assert_eq!(again.text(), answer.text(), "{number}");
        assert!(
            lost(gateway) > before[number],
            "{number}: no loss is counted"
        );
    }
}

/// What the last request to a provider had as its body.
fn last_sent(sandbox: &Sandbox) -> Value {
    let journal = sandbox.journal();
    let body = journal.last().expect("a request")["body"].as_str();
    serde_json::from_str(body.expect("UTF-8")).expect("JSON")
}

/// The second request of a conversation, by a client that drops the thinking of the first answer.
fn next_turn(gateway: &Gateway, opening: &Value) -> Value {
    let first = gateway.send(&Request::json(Caller::Chat.path(), opening));
    assert_eq!(first.status(), 200, "{}", first.text());
    let message = first.json()["choices"][0]["message"].clone();
    let turn = json!({ "role": "assistant", "content": message["content"],
        "tool_calls": message["tool_calls"] });
    let call = &message["tool_calls"][0]["id"];
    let result = json!({ "role": "tool", "tool_call_id": call, "content": "2" });
    let mut body = opening.clone();
    let messages = body["messages"].as_array_mut().expect("a list");
    messages.extend([turn, result]);
    body
}

/// The kinds of a message's blocks.
fn kinds(message: &Value) -> Vec<Value> {
    let blocks = message["content"].as_array().into_iter().flatten();
    blocks.map(|block| block["type"].clone()).collect()
}

#[test]
fn a_conversation_that_goes_on_at_another_gateway_keeps_its_thinking() {
    let (sandbox, _redis, gateways) = pair();
    let [here, there] = &gateways;
    let script = json!({ "steps": [
        { "think": "It needs f.", "text": "A moment.", "tools": [{ "name": "f", "args": { "a": 1 } }] },
        { "text": "Done." },
    ] });
    let mut opening = Caller::Chat.request(
        "claude-sonnet-5-5",
        &format!("bardo-script: {script}"),
        false,
    );
    opening["tools"] = json!([{ "type": "function",
        "function": { "name": "f", "parameters": { "type": "object", "properties": {} } } }]);
    opening["reasoning_effort"] = json!("high");
    for stream in [false, true] {
        let kinds = without_loss(&gateways, |_, is_lost| {
            let mut body = next_turn(here, &opening);
            body["stream"] = json!(stream);
            eventually("the thinking is shared", || {
                sandbox.forget();
                let second = there.send(&Request::json(Caller::Chat.path(), &body));
                assert_eq!(second.status(), 200, "{}", second.text());
                let kinds = kinds(&last_sent(&sandbox)["messages"][1]);
                let is_shared = kinds.contains(&json!("thinking"));
                (is_shared || is_lost()).then(|| is_shared.then_some(kinds))
            })
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
    let gateways = [open(), open()];
    let [here, there] = &gateways;
    let ask = |gateway: &Gateway, who: usize, body: &Value| {
        let key = &keys[who].1;
        gateway.send(&Request::json("/v1/responses", body).with("x-api-key", key))
    };
    let first = json!({ "model": "claude-sonnet-5-5", "input": "The word is marmalade." });
    let (second, sent, foreign) = without_loss(&gateways, |_, is_lost| {
        let first = ask(here, 0, &first);
        assert_eq!(first.status(), 200, "{}", first.text());
        let next = json!({ "model": "claude-sonnet-5-5",
            "previous_response_id": first.json()["id"], "input": "Which word?" });
        let second = eventually("the response is shared", || {
            let answer = ask(there, 0, &next);
            (answer.status() != 400 || is_lost()).then_some(answer)
        });
        Some((second, last_sent(&sandbox), ask(there, 1, &next)))
    });
    assert_eq!(second.status(), 200, "{}", second.text());
    assert!(sent.to_string().contains("marmalade"));
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

/// Asks until the event of one of these requests arrives.
#[track_caller]
fn until_one_arrives(ask: impl Fn() -> String + Sync, feed: &mut Exchange, seen: &mut Vec<u8>) {
    let (asked, over, since) = (
        Mutex::new(Vec::new()),
        AtomicBool::new(false),
        Instant::now(),
    );
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // It ends by itself where the reader fails.
            while !over.load(Ordering::Relaxed) && since.elapsed() < PATIENCE {
                let id = ask();
                asked.lock().expect("no panic").push(id);
                // Few, because every piece of the stream is searched for all of them.
                std::thread::park_timeout(Duration::from_millis(50));
            }
        });
        feed.until_it(seen, "an event of another gateway", |seen| {
            let asked = asked.lock().expect("no panic");
            asked.iter().any(|id| contains(seen, id.as_bytes()))
        });
        over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_reader_at_one_gateway_sees_the_events_of_another_once() {
    let (_sandbox, _redis, gateways) = pair();
    let [here, there] = &gateways;
    let mut feed = there.open(&Request::get("/v1/events?events=inference.end"));
    assert_eq!(feed.head().status, 200);
    feed.until(&mut Vec::new(), ": connected");
    let body = scripted(Caller::Chat, "an event for all", false);
    let ask = || {
        let answer = here.send(&Request::json(Caller::Chat.path(), &body));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let id = answer.header("x-bardo-request-id");
        id.expect("an id").to_owned()
    };
    let (ids, text) = without_loss(&gateways, |_, _| {
        let mut seen = Vec::new();
        // The first ones are told before this gateway knows of the reader at the other.
        until_one_arrives(ask, &mut feed, &mut seen);
        let ids = [ask(), ask(), ask()];
        // Whatever arrives of the three has arrived before a later one does.
        until_one_arrives(ask, &mut feed, &mut seen);
        Some((ids, String::from_utf8(seen).expect("UTF-8")))
    });
    let places = ids.each_ref().map(|id| {
        let data = format!("\"request_id\":\"{id}\"");
        assert_eq!(text.matches(&data).count(), 1, "{id} in {text}");
        text.find(&data)
    });
    assert!(places.is_sorted(), "{text}");
}
