//! State of requests that gateways share through a real Redis server, on the built binary.

use bardo_store::servers::RedisServer;
use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::rig::{Gateway, Sandbox, eventually, makers, with};
use crate::sse::Caller;

const SECRET: &str = "an operator's secret of more than thirty-two bytes";

/// A gateway that shares its state through this Redis, which it has reached.
fn gateway(sandbox: &Sandbox, redis: &RedisServer) -> Gateway {
    let shared = json!({ "redis_url": redis.url(), "redis_key": SECRET });
    let gateway = Gateway::start(&with(makers(sandbox), "shared", shared));
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

/// The same answer, but for the headers that each delivery has of its own.
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
