//! Stored answers that gateways share through a real Redis server, on the built binary.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use bardo_store::servers::RedisServer;
use serde_json::json;

use crate::http::{Answer, Request};
use crate::rig::{Gateway, Sandbox, eventually, makers, with};
use crate::sse::Caller;

const SECRET: &str = "an operator's secret of more than thirty-two bytes";

/// A gateway with the cache of this Redis behind its own, which shares its answers by now.
fn gateway(sandbox: &Sandbox, redis: &RedisServer) -> Gateway {
    let shared = json!({ "redis_url": redis.url(), "redis_key": SECRET });
    let gateway = Gateway::start(&with(makers(sandbox), "cache", shared));
    eventually("answers are shared", || {
        (second_level(&gateway)["knows_removals"] == true).then_some(())
    });
    gateway
}

fn second_level(gateway: &Gateway) -> serde_json::Value {
    let stats = Request::get("/admin/cache").send(gateway.admin).json();
    stats["second_level"].clone()
}

fn ask(gateway: &Gateway, mark: &str, cache: &str) -> Answer {
    let text = format!("{mark} and a few more words that fill this answer up to its end.");
    let script = json!({ "steps": [{ "text": text }] });
    let question = format!("Please. bardo-script: {script}");
    let body = Caller::Chat
        .request("gpt-5.5", &question, false)
        .to_string();
    gateway.send(&Request::post(Caller::Chat.path(), body).with("x-bardo-cache", cache))
}

/// Asks questions until the answer to one is in Redis, for a busy machine may lose some on the way.
/// The marks of those that were asked.
fn stored(gateway: &Gateway, redis: &RedisServer) -> Vec<String> {
    let mut marks = Vec::new();
    eventually("an answer is in Redis", || {
        let mark = format!("stored-{}", marks.len());
        let answer = ask(gateway, &mark, "default");
        assert_eq!(answer.header("x-bardo-cache"), Some("miss"));
        marks.push(mark);
        (!names(redis, "bardo:{cache}:e:*").is_empty()).then_some(())
    });
    marks
}

/// Waits for a loss of this kind in the metrics, while requests go on to be answered.
fn lost(gateway: &Gateway, reason: &str, mark: &str) {
    let line = format!("bardo_cache_second_level_losses_total{{reason=\"{reason}\"}} 0");
    let mut number = 0;
    eventually(reason, || {
        number += 1;
        let answer = ask(gateway, &format!("{mark}-{number}"), "default");
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_eq!(answer.header("x-bardo-cache"), Some("miss"));
        let metrics = Request::get("/metrics").send(gateway.admin).text();
        (!metrics.contains(&line)).then_some(())
    });
}

/// The names in Redis that begin like this.
fn names(redis: &RedisServer, pattern: &str) -> Vec<String> {
    let url = redis.url();
    let address = url.trim_start_matches("redis://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).expect("Redis listens");
    write!(stream, "KEYS {pattern}\r\n").expect("it is sent");
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).expect("Redis answers");
        line
    };
    let head = line();
    let count: usize = head
        .trim()
        .trim_start_matches('*')
        .parse()
        .expect("a count");
    (0..count)
        .map(|_| {
            line();
            line().trim().to_owned()
        })
        .collect()
}

/// Sets a value to bytes that no gateway wrote.
fn overwrite(redis: &RedisServer, name: &str, value: &str) {
    let url = redis.url();
    let address = url.trim_start_matches("redis://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).expect("Redis listens");
    write!(stream, "SET {name} {value} KEEPTTL\r\n").expect("it is sent");
    let mut said = [0; 5];
    stream.read_exact(&mut said).expect("Redis answers");
    assert_eq!(&said, b"+OK\r\n");
}

#[test]
fn an_answer_that_one_gateway_stored_is_served_by_another() {
    let (sandbox, redis) = (Sandbox::start(), RedisServer::start().expect("Redis"));
    let (here, there) = (gateway(&sandbox, &redis), gateway(&sandbox, &redis));
    let marks = stored(&here, &redis);
    sandbox.forget();
    let (mark, second) = eventually("the answer arrives", || {
        marks.iter().find_map(|mark| {
            let answer = ask(&there, mark, "only-if-cached");
            (answer.status() == 200).then_some((mark, answer))
        })
    });
    assert_eq!(second.header("x-bardo-cache"), Some("hash"));
    assert_eq!(second.header("x-bardo-cost"), Some("0.000000"));
    let first = ask(&here, mark, "default");
    assert_eq!(first.header("x-bardo-cache"), Some("hash"));
    let words = |answer: &Answer| answer.json()["choices"][0]["message"]["content"].clone();
    assert_eq!(words(&first), words(&second));
    assert!(sandbox.journal().is_empty(), "no provider is called");
}

#[test]
fn a_redis_that_is_gone_or_silent_is_a_miss_and_a_count() {
    let (sandbox, mut redis) = (Sandbox::start(), RedisServer::start().expect("Redis"));
    let gateway = gateway(&sandbox, &redis);
    redis.freeze();
    lost(&gateway, "slow", "silent");
    redis.thaw();
    redis.stop();
    lost(&gateway, "down", "gone");
    // Its own memory goes on.
    let again = ask(&gateway, "gone-1", "default");
    assert_eq!(again.header("x-bardo-cache"), Some("hash"));
}

#[test]
fn bytes_that_no_gateway_wrote_are_a_miss_and_a_count() {
    let (sandbox, redis) = (Sandbox::start(), RedisServer::start().expect("Redis"));
    let (here, there) = (gateway(&sandbox, &redis), gateway(&sandbox, &redis));
    let marks = stored(&here, &redis);
    let forge = || {
        let names = names(&redis, "bardo:{cache}:e:*");
        names
            .iter()
            .for_each(|name| overwrite(&redis, name, "forged"));
    };
    eventually("the forgery is noticed", || {
        forge();
        for mark in &marks {
            let answer = ask(&there, mark, "only-if-cached");
            // One that was late is whole.
            let text = answer.text();
            assert!(answer.status() == 412 || text.contains(mark), "{text}");
        }
        let losses = &second_level(&there)["losses"];
        let count = |reason: &str| losses[reason].as_u64().expect("a count");
        (count("foreign") + count("corrupt") > 0).then_some(())
    });
    let live = ask(&there, &marks[0], "default");
    assert_eq!(live.header("x-bardo-cache"), Some("miss"));
}

#[test]
fn answers_that_their_account_removes_are_gone_from_redis_too() {
    let (sandbox, redis) = (Sandbox::start(), RedisServer::start().expect("Redis"));
    let here = gateway(&sandbox, &redis);
    let marks = stored(&here, &redis);
    let removed = eventually("Redis answers in time", || {
        let removed = here.send(&Request::get("/v1/cache").method("DELETE"));
        let removed = removed.json();
        removed["second_level"]["error"]
            .is_null()
            .then_some(removed)
    });
    assert!(removed["second_level"]["flushed"].is_u64(), "{removed}");
    assert_eq!(names(&redis, "bardo:{cache}:e:*"), [""; 0]);
    let there = gateway(&sandbox, &redis);
    for mark in &marks {
        assert_eq!(ask(&there, mark, "only-if-cached").status(), 412);
    }
}
