//! However many ask at once: what is sent on is paid for, and nobody's balance goes below nothing.

use std::sync::{Arc, Condvar, Mutex};

use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::paying::till::{Key, Till, micro_of};
use crate::rig::{Gateway, eventually};
use crate::scripted::{Scripted, Turn};
use crate::sse::{Caller, events};

/// As many as descriptors allow beside those that the other tests use.
const CALLERS: usize = 1_000;

/// A maker who answers nobody before it is told to, with as much as it is allowed to write.
struct Rush {
    upstream: Scripted,
    gate: Arc<(Mutex<bool>, Condvar)>,
}

impl Rush {
    fn new(unlimited: u64) -> Self {
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        let closed = Arc::clone(&gate);
        let upstream = Scripted::start(move |mut turn| {
            let (open, changed) = &*closed;
            let open = open.lock().expect("no panic");
            drop(changed.wait_while(open, |open| !*open).expect("no panic"));
            write(&mut turn, unlimited);
        });
        Self { upstream, gate }
    }

    fn open(&self) {
        let (open, changed) = &*self.gate;
        *open.lock().expect("no panic") = true;
        changed.notify_all();
    }
}

/// As many tokens as the request allows, or `unlimited`; nothing for the prompt.
fn write(turn: &mut Turn, unlimited: u64) {
    let body: Value = serde_json::from_str(turn.got.text()).expect("JSON");
    let limit = ["max_completion_tokens", "max_tokens"]
        .iter()
        .find_map(|name| body[*name].as_u64());
    // One that shows what it writes stops when it is done.
    let is_shown = body["stream"] == true && body["model"] == "m";
    let most = if is_shown { unlimited } else { u64::MAX };
    let tokens = limit.map_or(unlimited, |limit| limit.min(most));
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": tokens,
        "total_tokens": tokens + 10 });
    if body["stream"] == true {
        let chunk = |choices: Value, usage: &Value| {
            let chunk = json!({ "id": "c", "object": "chat.completion.chunk", "created": 1,
                "model": "m", "choices": choices, "usage": usage });
            format!("data: {chunk}\n\n")
        };
        turn.stream_head();
        let said = json!([{ "index": 0, "delta": { "content": "Hello" }, "finish_reason": null }]);
        turn.chunk(chunk(said, &Value::Null));
        let end = json!([{ "index": 0, "delta": {}, "finish_reason": "stop" }]);
        turn.chunk(chunk(end, &Value::Null));
        turn.chunk(chunk(json!([]), &usage) + "data: [DONE]\n\n");
        turn.end();
    } else {
        let choice = json!({ "index": 0, "finish_reason": "length",
            "message": { "role": "assistant", "content": "Hello" } });
        let body = json!({ "id": "c", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [choice], "usage": usage });
        turn.json(&body.to_string());
    }
}

/// Output costs `output` USD per million tokens, everything else nothing.
fn config(rush: &Rush, output: u64) -> Value {
    let mut config = crate::rig::config(&[json!({
        "provider": "openai", "api_key": "up-key", "base_url": rush.upstream.at("/v1"),
        "models": ["m", "gpt-5.5"], "api": "chat", "bill": true,
        "price": { "input_per_million": 0, "output_per_million": output },
    })]);
    config["inference"] = json!({ "spread_pct": 0 });
    config
}

fn question(key: &Key, number: usize, more: &Value) -> Request {
    let mut body = Caller::Chat.request("m", &format!("Question {number}"), false);
    let members = body.as_object_mut().expect("an object");
    members.extend(more.as_object().expect("an object").clone());
    key.ask(Caller::Chat, &body)
}

fn refused(gateway: &Gateway) -> usize {
    let metrics = Request::get("/metrics").send(gateway.admin).text();
    metrics
        .lines()
        .find_map(|line| {
            line.strip_prefix("bardo_refused_requests_total{code=\"insufficient_funds\"} ")
        })
        .map_or(0, |count| count.parse().expect("a number"))
}

/// All ask at once; those who cannot pay are refused while the others wait. Answers what reached
/// the maker, and the answers.
#[track_caller]
fn all_at_once(rush: &Rush, till: &Till, key: &Key, more: &Value) -> (usize, Vec<Answer>) {
    let gateway = till.open();
    let mut waiting: Vec<_> = (0..CALLERS)
        .map(|number| gateway.open(&question(key, number, more)))
        .collect();
    eventually("everybody is sent on or refused", || {
        let sent = rush.upstream.got().len();
        (sent + refused(&gateway) >= CALLERS).then_some(())
    });
    let sent = rush.upstream.got().len();
    rush.open();
    let answers: Vec<Answer> = waiting.iter_mut().map(|one| one.answer()).collect();
    assert_eq!(rush.upstream.got().len(), sent);
    for answer in &answers {
        assert!([200, 402].contains(&answer.status()), "{}", answer.text());
        if answer.status() == 402 {
            let body = answer.json();
            assert_eq!(body["error"]["bardo_code"], "insufficient_funds", "{body}");
        }
    }
    let paid = answers.iter().filter(|answer| answer.status() == 200);
    assert_eq!(paid.count(), sent, "whoever was sent on was answered");
    let stand = till.stand(key);
    assert_eq!(stand.held, 0, "{stand:?}");
    let shown = gateway.send(&key.get("/v1/usage")).json();
    assert_eq!(micro_of(&shown["total"]["charge"]), stand.spent, "{shown}");
    let metrics = Request::get("/metrics").send(gateway.admin).text();
    assert!(!metrics.contains("kind=\"shortfall\"} 1"), "{metrics}");
    till.verify();
    (sent, answers)
}

#[test]
fn with_limits_of_their_own() {
    let rush = Rush::new(0);
    // 100 tokens are 0.10 USD.
    let till = Till::new(config(&rush, 1_000));
    let key = till.rich("3.70");
    let (sent, _) = all_at_once(&rush, &till, &key, &json!({ "max_tokens": 100 }));
    assert_eq!(sent, 37);
    assert_eq!(till.stand(&key).available, 0);
}

#[test]
fn without_limits_each_gets_what_a_part_of_the_balance_pays() {
    let rush = Rush::new(1_000_000);
    let till = Till::new(config(&rush, 1_000));
    let key = till.rich("3.70");
    let (sent, answers) = all_at_once(&rush, &till, &key, &json!({}));
    // The least that is worth beginning with is 256 tokens, 0.256 USD.
    assert!((1..=14).contains(&sent), "{sent}");
    for answer in answers.iter().filter(|answer| answer.status() == 200) {
        assert_eq!(answer.header("x-bardo-degraded"), Some("max_tokens"));
    }
    for got in rush.upstream.got() {
        let body: Value = serde_json::from_str(got.text()).expect("JSON");
        let limit = body["max_completion_tokens"]
            .as_u64()
            .or(body["max_tokens"].as_u64());
        assert!(
            (256..=925).contains(&limit.expect("a limit is set")),
            "{body}"
        );
    }
}

#[test]
fn streams_without_limits_begin_with_a_slice() {
    let rush = Rush::new(4_096);
    // A slice of 4096 tokens is 0.04096 USD.
    let till = Till::new(config(&rush, 10));
    let key = till.rich("1.515520");
    let (sent, answers) = all_at_once(&rush, &till, &key, &json!({ "stream": true }));
    assert_eq!(sent, 37);
    for answer in answers.iter().filter(|answer| answer.status() == 200) {
        let events = events(&answer.body);
        assert_eq!(events.last(), Some(&json!("[DONE]")), "{}", answer.text());
    }
    assert_eq!(till.stand(&key).available, 0);
}

/// What the maker bills for a request that it was sent, at 10 USD per million tokens of output.
fn bill(body: &str, unlimited: u64) -> u64 {
    let body: Value = serde_json::from_str(body).expect("JSON");
    let limit = body["max_completion_tokens"].as_u64();
    limit.or(body["max_tokens"].as_u64()).unwrap_or(unlimited) * 10
}

#[test]
fn streams_that_think_unseen_never_come_to_more_than_the_balance() {
    // It thinks for as long as it may before it says a word.
    let rush = Rush::new(128_000);
    let till = Till::new(config(&rush, 10));
    let key = till.rich("0.50");
    let (sent, answers) = all_at_once(
        &rush,
        &till,
        &key,
        &json!({ "stream": true, "model": "gpt-5.5" }),
    );
    assert!(sent > 0);
    for answer in answers.iter().filter(|answer| answer.status() == 200) {
        assert_eq!(answer.header("x-bardo-degraded"), Some("max_tokens"));
    }
    let got = rush.upstream.got();
    let bills: u64 = got.iter().map(|got| bill(got.text(), 128_000)).sum();
    assert!(bills <= 500_000, "{bills} for 0.50 USD");
    assert_eq!(till.stand(&key).spent, bills);
}

#[test]
fn a_limit_that_is_set_for_a_stream_changes_no_other_byte() {
    let rush = Rush::new(1_000);
    rush.open();
    let till = Till::new(config(&rush, 10));
    let key = till.rich("0.50");
    let gateway = till.open();
    let head = r#"{ "model":"gpt-5.5" ,"messages":[{"content":"Hi","role":"user"}],"#;
    let rest = r#""stream":true,"stream_options":{"include_usage":true}, "x" : 1.50"#;
    let send = |more: &str| {
        let request = Request::post("/v1/chat/completions", format!("{head}{rest}{more}}}"));
        let answer = gateway.send(&key.sign(request));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let got = rush.upstream.got();
        let sent = got.last().expect("it is sent").text().to_owned();
        (sent, answer.header("x-bardo-degraded").map(str::to_owned))
    };
    let (sent, degraded) = send("");
    let (before, limit) = sent
        .split_once(r#","max_completion_tokens":"#)
        .expect(&sent);
    assert_eq!(before, format!("{head}{rest}"));
    assert!(limit.trim_end_matches('}').parse::<u64>().is_ok(), "{sent}");
    assert_eq!(degraded.as_deref(), Some("max_tokens"));
    // One that has a limit, and one whose balance pays for the longest answer, go as they came.
    let own = r#", "max_completion_tokens": 1e2"#;
    assert_eq!(send(own), (format!("{head}{rest}{own}}}"), None));
    till.one(&["balance", "deposit", "--key", &key.id, "--usd", "100"]);
    assert_eq!(send(""), (format!("{head}{rest}}}"), None));
    till.verify();
}

#[test]
fn a_stream_that_outgrows_the_balance_ends_with_an_error() {
    // Half a million words, as fast as they are taken.
    let upstream = Scripted::start(|mut turn| {
        turn.stream_head();
        let chunk = json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{ "index": 0, "delta": { "content": " one two three four" },
                "finish_reason": null }] });
        let text = format!("data: {chunk}\n\n");
        turn.flood(format!("{:x}\r\n{text}\r\n", text.len()), 32 << 20);
    });
    let rush = Rush {
        upstream,
        gate: Arc::default(),
    };
    let till = Till::new(config(&rush, 10));
    let key = till.rich("0.1");
    let gateway = till.open();
    // Requests in Anthropic's dialect have a limit, so nothing is held in slices for them.
    for caller in [Caller::Chat, Caller::Responses] {
        till.one(&["balance", "deposit", "--key", &key.id, "--usd", "0.1"]);
        let before = till.stand(&key);
        let answer = gateway.send(&key.ask(caller, &caller.request("m", "Hello", true)));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let text = answer.text();
        assert!(!text.contains(caller.terminal()), "never a clean end");
        let events = events(&answer.body);
        let last = events.last().expect("an error");
        caller.check_error_event(last);
        assert!(
            last.to_string()
                .contains("balance of the account is used up"),
            "{last}"
        );
        let stand = eventually("it is settled", || {
            let stand = till.stand(&key);
            (stand.held == 0 && stand.spent > before.spent).then_some(stand)
        });
        assert!(stand.spent <= stand.deposited);
    }
    till.verify();
}
