//! Retries at one backend: only requests that are surely free, not before the time that it named, and seldom (`docs/retries.md`).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::rig::{Gateway, config, direct, eventually, with};
use crate::scripted::{Scripted, Turn};
use crate::sse::Caller;

const GOOD: &str = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;
const BUSY: &str = r#"{"error":{"message":"later","type":"x","param":null,"code":"x"}}"#;

/// A provider that notes when it was asked, and may be told to be well.
struct Moody {
    upstream: Scripted,
    asked: Arc<Mutex<Vec<Instant>>>,
    well: Arc<Mutex<bool>>,
}

impl Moody {
    /// Refuses the first `times` requests like this.
    fn refusing(times: usize, refuse: impl Fn(&mut Turn) + Send + Sync + 'static) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let well = Arc::new(Mutex::new(false));
        let (seen, healed) = (Arc::clone(&asked), Arc::clone(&well));
        let upstream = Scripted::start(move |mut turn| {
            let number = {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.push(Instant::now());
                seen.len()
            };
            let healed = *healed.lock().unwrap_or_else(PoisonError::into_inner);
            if number <= times && !healed {
                refuse(&mut turn);
            } else {
                turn.json(GOOD);
            }
        });
        Self {
            upstream,
            asked,
            well,
        }
    }

    fn with_status(times: usize, status: u16, header: &'static str) -> Self {
        Self::refusing(times, move |turn| refuse(turn, status, header))
    }

    fn asked(&self) -> Vec<Instant> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.clone()
    }

    fn heal(&self) {
        *self.well.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }

    fn key(&self) -> Value {
        let mut key = direct("openai", &self.upstream.at("/v1"), &["m"]);
        key["api"] = json!("chat");
        key
    }
}

fn refuse(turn: &mut Turn, status: u16, header: &str) {
    turn.write(format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{header}connection: close\r\ncontent-length: {}\r\n\r\n{BUSY}",
        BUSY.len()
    ));
}

fn before(all: &[&Moody]) -> Gateway {
    let keys: Vec<Value> = all.iter().map(|one| one.key()).collect();
    Gateway::start(&config(&keys))
}

fn with_circuits(all: &[&Moody]) -> Gateway {
    let keys: Vec<Value> = all.iter().map(|one| one.key()).collect();
    let limits = json!({ "breaker": { "enabled": true }, "retry_budget": 0 });
    Gateway::start(&with(config(&keys), "upstream", limits))
}

fn ask(gateway: &Gateway, caller: Caller) -> Answer {
    let body = caller.request("m", "Hello", false);
    gateway.send(&Request::json(caller.path(), &body))
}

#[test]
fn a_refusal_without_a_time_is_tried_once_more_after_a_pause() {
    for status in [429, 503, 529] {
        let moody = Moody::with_status(1, status, "");
        let gateway = before(&[&moody]);
        let answer = ask(&gateway, Caller::Chat);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let asked = moody.asked();
        assert_eq!(asked.len(), 2, "{status}");
        assert!(asked[1] - asked[0] >= Duration::from_millis(100));
    }
}

#[test]
fn only_what_is_surely_free_is_tried_again() {
    for status in [400, 401, 403, 404, 408, 409, 422, 500, 502, 504] {
        let moody = Moody::with_status(9, status, "");
        let gateway = before(&[&moody]);
        for caller in Caller::ALL {
            let answer = ask(&gateway, caller);
            assert!(answer.status() >= 400, "{status}");
        }
        assert_eq!(moody.asked().len(), 3, "{status}");
    }
    let silent = Moody::refusing(9, |_| {});
    let gateway = before(&[&silent]);
    let answer = ask(&gateway, Caller::Chat);
    assert_eq!(answer.status(), 502);
    assert_eq!(answer.header("x-should-retry"), Some("false"));
    assert_eq!(silent.asked().len(), 1);
}

/// A refusal that is called a failure of the server: other backends could carry it out and bill it.
#[test]
fn a_refusal_stays_a_refusal_whatever_it_is_called() {
    for (dialect, paths) in [
        ("chat", ["/v1", "/v1"]),
        ("responses", ["/v1", "/v1"]),
        ("anthropic", ["", "/v1"]),
    ] {
        for status in [400, 413, 422] {
            for kind in ["server_error", "api_error", "internal_error"] {
                let refusing = Scripted::start(move |mut turn| {
                    let body = json!({ "type": "error", "error": { "message": "no such luck", "type": kind } });
                    turn.answer(status, "application/json", &body.to_string());
                });
                let other = Scripted::always(GOOD);
                let provider = if dialect == "anthropic" {
                    "anthropic"
                } else {
                    "openai"
                };
                let mut key = direct(provider, &refusing.at(paths[0]), &["m"]);
                if provider == "openai" {
                    key["api"] = json!(dialect);
                }
                let mut second = direct("openai", &other.at(paths[1]), &["m"]);
                second["api"] = json!("chat");
                let limits = json!({ "breaker": { "enabled": true }, "retry_budget": 0 });
                let gateway = Gateway::start(&with(config(&[key, second]), "upstream", limits));
                // More than open a circuit.
                for _ in 0..12 {
                    for caller in Caller::ALL {
                        let answer = ask(&gateway, caller);
                        let what = format!("{dialect} {status} {kind}: {}", answer.text());
                        assert_eq!(answer.status(), status, "{what}");
                        assert!(answer.text().contains("no such luck"), "{what}");
                    }
                }
                assert_eq!(refusing.got().len(), 12 * Caller::ALL.len());
                assert_eq!(other.got().len(), 0, "asked for what was refused");
            }
        }
    }
}

#[test]
fn a_time_that_is_named_is_waited_for() {
    for (header, ms) in [
        ("retry-after-ms: 300\r\n", 300),
        ("retry-after: 1\r\n", 1_000),
        ("retry-after: 0.4\r\n", 400),
        ("x-ratelimit-reset-requests: 350ms\r\n", 350),
        (
            "date: Fri, 20 Nov 2026 12:00:00 GMT\r\nretry-after: Fri, 20 Nov 2026 12:00:01 GMT\r\n",
            1_000,
        ),
        (
            "date: Fri, 20 Nov 2026 12:00:00 GMT\r\nanthropic-ratelimit-tokens-reset: 2026-11-20T12:00:01Z\r\n",
            1_000,
        ),
    ] {
        let moody = Moody::with_status(1, 429, header);
        let gateway = before(&[&moody]);
        let answer = ask(&gateway, Caller::Chat);
        assert_eq!(answer.status(), 200, "{header} {}", answer.text());
        let asked = moody.asked();
        assert_eq!(asked.len(), 2, "{header}");
        assert!(asked[1] - asked[0] >= Duration::from_millis(ms), "{header}");
    }
}

#[test]
fn one_callers_limit_is_no_answer_to_another() {
    let moody = Moody::with_status(99, 429, "retry-after: 60\r\n");
    let gateway = before(&[&moody]);
    for number in 1..=5 {
        for caller in Caller::ALL {
            let answer = ask(&gateway, caller);
            assert_eq!(answer.status(), 429, "{}", answer.text());
            caller.check_error(&answer.json());
            let left = answer.header("retry-after").and_then(|s| s.parse().ok());
            assert!((30..=60).contains(&left.unwrap_or(0_u64)), "{number}");
            assert_eq!(answer.header("x-should-retry"), None, "the caller may");
        }
        // Each new request is asked for once, and none again before the time that was named.
        assert_eq!(moody.asked().len(), number * Caller::ALL.len());
    }
}

#[test]
fn meanwhile_another_backend_is_asked_without_a_detour() {
    let first = Moody::with_status(99, 503, "retry-after: 60\r\n");
    let second = Moody::with_status(0, 200, "");
    let gateway = before(&[&first, &second]);
    for _ in 0..5 {
        let answer = ask(&gateway, Caller::Chat);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_eq!(answer.header("x-bardo-provider"), Some("direct/openai#2"));
    }
    assert_eq!((first.asked().len(), second.asked().len()), (1, 5));
}

#[test]
fn a_time_in_the_body_counts_too() {
    let words = r#"{"error":{"code":429,"message":"later","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"40s"}]}}"#;
    let google = Scripted::start(move |mut turn| turn.answer(429, "application/json", words));
    let gateway = Gateway::start(&config(&[direct("google", &google.at(""), &["m"])]));
    for _ in 0..3 {
        let answer = ask(&gateway, Caller::Chat);
        assert_eq!(answer.status(), 429);
        let left = answer.header("retry-after").and_then(|s| s.parse().ok());
        assert!((20..=40).contains(&left.unwrap_or(0_u64)));
    }
    assert_eq!(google.got().len(), 3, "once for each request");
}

#[test]
fn an_sdk_that_repeats_its_request_is_not_multiplied() {
    let moody = Moody::with_status(99, 503, "");
    let gateway = before(&[&moody]);
    for count in ["1", "2"] {
        let body = Caller::Chat.request("m", "Hello", false);
        let request =
            Request::json(Caller::Chat.path(), &body).with("x-stainless-retry-count", count);
        assert_eq!(gateway.send(&request).status(), 503);
    }
    assert_eq!(moody.asked().len(), 2);
}

/// F4 at the size of a test: everything is refused.
#[test]
fn a_provider_that_refuses_everything_sees_a_fifth_more_at_most() {
    const REQUESTS: usize = 30;
    let moody = Moody::with_status(9_999, 429, "");
    let gateway = before(&[&moody]);
    for _ in 0..REQUESTS {
        assert_eq!(ask(&gateway, Caller::Chat).status(), 429);
    }
    let asked = moody.asked().len();
    assert!(asked > REQUESTS, "some are tried again");
    assert!(asked * 10 <= REQUESTS * 12, "{asked} for {REQUESTS}");
    // And then all is well at once.
    moody.heal();
    for _ in 0..5 {
        assert_eq!(ask(&gateway, Caller::Chat).status(), 200);
    }
}

#[test]
fn backends_that_all_fail_are_not_all_asked_for_each_request() {
    const REQUESTS: usize = 30;
    let all: Vec<Moody> = (0..3).map(|_| Moody::with_status(9_999, 429, "")).collect();
    let gateway = before(&all.iter().collect::<Vec<_>>());
    for _ in 0..REQUESTS {
        assert_eq!(ask(&gateway, Caller::Chat).status(), 429);
    }
    let asked: usize = all.iter().map(|one| one.asked().len()).sum();
    // The first requests find out that all of them are unwell.
    assert!(asked * 10 <= REQUESTS * 12 + 80, "{asked} for {REQUESTS}");
}

#[test]
fn a_backend_that_keeps_failing_is_left_alone_and_shown() {
    let first = Moody::with_status(9_999, 500, "");
    let second = Moody::with_status(0, 200, "");
    let gateway = with_circuits(&[&first, &second]);
    for _ in 0..25 {
        assert_eq!(ask(&gateway, Caller::Chat).status(), 200);
    }
    assert_eq!((first.asked().len(), second.asked().len()), (10, 25));
    let status = gateway.status();
    let circuit = &status["circuits"][0];
    assert_eq!(circuit["provider"], "direct/openai");
    assert_eq!(circuit["model"], "m");
    assert_eq!(circuit["state"], "open");
    assert_eq!(circuit["failures_in_a_row"], 10);
    let left = circuit["retry_in_ms"].as_u64().unwrap_or_default();
    assert!((1..=30_000).contains(&left), "{circuit}");
}

#[test]
fn the_only_backend_is_asked_for_each_request_though_its_circuit_is_open() {
    let moody = Moody::with_status(9_999, 500, "");
    let gateway = with_circuits(&[&moody]);
    for _ in 0..10 {
        assert_eq!(ask(&gateway, Caller::Chat).status(), 502);
    }
    for number in 1..=5 {
        for caller in Caller::ALL {
            let answer = ask(&gateway, caller);
            assert_eq!(answer.status(), 502, "{}", answer.text());
            caller.check_error(&answer.json());
            assert_eq!(answer.json()["error"]["bardo_code"], "upstream_failed");
        }
        assert_eq!(moody.asked().len(), 10 + number * Caller::ALL.len());
    }
    // Never in silence.
    let circuit = &gateway.status()["circuits"][0];
    assert_eq!(circuit["state"], "open");
    assert_eq!(circuit["asked_anyway"], 15);
    let metrics = Request::get("/metrics").send(gateway.admin).text();
    assert!(metrics.contains("breakers_open 1\n"), "{metrics}");
    assert!(metrics.contains("breakers_asked_anyway 1\n"), "{metrics}");
    let told = gateway
        .log()
        .matches("no other backend is available")
        .count();
    assert_eq!(told, 1, "once for each time that it opens");
    // And the first request after its recovery is answered.
    moody.heal();
    for _ in 0..5 {
        assert_eq!(ask(&gateway, Caller::Chat).status(), 200);
    }
    assert_eq!(moody.asked().len(), 30);
    assert_eq!(gateway.status()["circuits"][0]["state"], "closed");
}

/// A backend that never answers would make every caller wait.
#[test]
fn an_only_backend_that_is_dead_is_looked_at_by_one_request_and_comes_back_by_itself() {
    let moody = Moody::refusing(9_999, |turn| {
        turn.closed();
    });
    // So long that a machine under load is not taken for a dead backend.
    let limits = json!({ "breaker": { "enabled": true, "failures": 3 }, "header_timeout": "1s" });
    let gateway = Gateway::start(&with(config(&[moody.key()]), "upstream", limits));
    for _ in 0..3 {
        assert_eq!(ask(&gateway, Caller::Chat).status(), 504);
    }
    for caller in Caller::ALL {
        let answer = ask(&gateway, caller);
        assert_eq!(answer.status(), 503, "{}", answer.text());
        caller.check_error(&answer.json());
        assert_eq!(answer.json()["error"]["bardo_code"], "circuit_open");
        let left = answer.header("retry-after").and_then(|s| s.parse().ok());
        assert!((1..=3).contains(&left.unwrap_or(0_u64)));
        assert_eq!(answer.header("x-should-retry"), None);
    }
    assert_eq!(moody.asked().len(), 3);
    moody.heal();
    eventually("it is looked at again", || {
        (ask(&gateway, Caller::Chat).status() == 200).then_some(())
    });
    assert_eq!(moody.asked().len(), 4, "by one request alone");
    for _ in 0..5 {
        assert_eq!(ask(&gateway, Caller::Chat).status(), 200);
    }
    assert_eq!(gateway.status()["circuits"][0]["state"], "closed");
}

#[test]
fn an_open_backend_is_asked_once_by_each_request_whatever_the_budget_allows() {
    let moody = Moody::with_status(9_999, 503, "");
    let limits = json!({ "breaker": { "enabled": true }, "retry_budget": 1.0 });
    let gateway = Gateway::start(&with(config(&[moody.key()]), "upstream", limits));
    eventually("it opens", || {
        assert_eq!(ask(&gateway, Caller::Chat).status(), 503);
        (gateway.status()["circuits"][0]["state"] == "open").then_some(())
    });
    let before = moody.asked().len();
    for _ in 0..10 {
        let answer = ask(&gateway, Caller::Chat);
        assert_eq!(answer.status(), 503, "{}", answer.text());
        assert_ne!(answer.json()["error"]["bardo_code"], "circuit_open");
    }
    assert_eq!(moody.asked().len(), before + 10);
}

#[test]
fn where_all_circuits_are_open_one_backend_is_asked_for_each_request() {
    let all: Vec<Moody> = (0..2).map(|_| Moody::with_status(9_999, 500, "")).collect();
    let gateway = with_circuits(&all.iter().collect::<Vec<_>>());
    let asked = || -> usize { all.iter().map(|one| one.asked().len()).sum() };
    let circuits = |gateway: &Gateway| -> usize {
        let status = gateway.status();
        let all = status["circuits"].as_array().expect("circuits");
        all.iter().filter(|one| one["state"] == "open").count()
    };
    eventually("both open", || {
        assert_eq!(ask(&gateway, Caller::Chat).status(), 502);
        (circuits(&gateway) == 2).then_some(())
    });
    let before = asked();
    for _ in 0..10 {
        assert_eq!(ask(&gateway, Caller::Chat).status(), 502);
    }
    assert_eq!(asked(), before + 10);
    all[1].heal();
    all[0].heal();
    assert_eq!(ask(&gateway, Caller::Chat).status(), 200);
}

#[test]
fn what_callers_bring_about_opens_nothing() {
    for status in [400, 401, 404, 422, 429] {
        let moody = Moody::with_status(12, status, "");
        let gateway = with_circuits(&[&moody]);
        for _ in 0..12 {
            assert!(ask(&gateway, Caller::Chat).status() >= 400, "{status}");
        }
        assert_eq!(ask(&gateway, Caller::Chat).status(), 200, "{status}");
        assert_eq!(moody.asked().len(), 13, "{status}");
    }
}

#[test]
fn circuits_can_be_switched_off() {
    let moody = Moody::with_status(30, 500, "");
    let gateway = before(&[&moody]);
    for _ in 0..30 {
        assert_eq!(ask(&gateway, Caller::Chat).status(), 502);
    }
    assert_eq!(ask(&gateway, Caller::Chat).status(), 200);
}

/// Its answers end in the middle, again and again.
#[test]
fn answers_that_break_off_count_as_failures() {
    let upstream = Scripted::streams(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hel\"}}]}\n\n",
    );
    let limits = json!({ "breaker": { "enabled": true } });
    let keys = config(&[direct("openai", &upstream.at("/v1"), &["m"])]);
    let gateway = Gateway::start(&with(keys, "upstream", limits));
    let body = Caller::Chat.request("m", "Hello", true);
    let request = Request::json(Caller::Chat.path(), &body);
    let mut begun = 0;
    eventually("it opens", || {
        begun += u32::from(gateway.send(&request).status() == 200);
        (gateway.status()["circuits"][0]["state"] == "open").then_some(())
    });
    // Each counts once, as a failure: ten in a row open the circuit.
    assert_eq!(begun, 10);
    // There is nobody else, and it does begin.
    assert_eq!(gateway.send(&request).status(), 200);
}
