//! New settings without a restart: checked as a whole, swapped as a whole, told truthfully.

use serde_json::{Value, json};

use crate::http::Request;
use crate::rig::{Gateway, config, direct, eventually};
use crate::scripted::Scripted;
use crate::sse::Caller;

const ANSWER: &str = r#"{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;

fn serving(upstream: &Scripted, model: &str) -> Value {
    config(&[direct("openai", &upstream.at("/v1"), &[model])])
}

fn serves(gateway: &Gateway, model: &str) -> bool {
    let body = Caller::Chat.request(model, "Hello", false);
    let answer = gateway.send(&Request::json("/v1/chat/completions", &body));
    match answer.status() {
        200 => true,
        404 => false,
        other => panic!("{other}: {}", answer.text()),
    }
}

fn hash(gateway: &Gateway) -> String {
    let status = gateway.status();
    status["config"]["hash"]
        .as_str()
        .expect("a hash")
        .to_owned()
}

fn check(trigger: impl Fn(&Gateway)) {
    let upstream = Scripted::always(ANSWER);
    let gateway = Gateway::start(&serving(&upstream, "one"));
    let first = hash(&gateway);
    assert!(serves(&gateway, "one") && !serves(&gateway, "two"));

    gateway.configure(&serving(&upstream, "two").to_string());
    trigger(&gateway);
    eventually("the new settings are in force", || {
        serves(&gateway, "two").then_some(())
    });
    assert!(!serves(&gateway, "one"));
    let second = hash(&gateway);
    assert_ne!(first, second);

    for (bad, reason) in [
        ("providers: [", "config.yaml"),
        (r#"{"servr": {}}"#, "did you mean `server`?"),
        (
            r#"{"providers":{"direct":{"keys":[{"provider":"openai"}]}}}"#,
            "api_key",
        ),
        ("{}", "no provider is configured"),
    ] {
        gateway.configure(bad);
        trigger(&gateway);
        let error = eventually("the refusal is shown", || {
            let status = gateway.status();
            let error = status["config"]["reload_error"].as_str()?;
            error.contains(reason).then(|| error.to_owned())
        });
        assert!(serves(&gateway, "two"), "{error}");
        assert_eq!(hash(&gateway), second, "what runs is what is shown");
    }

    gateway.configure(&serving(&upstream, "one").to_string());
    trigger(&gateway);
    eventually("good settings are taken again", || {
        serves(&gateway, "one").then_some(())
    });
    assert_eq!(hash(&gateway), first);
    assert!(gateway.status()["config"]["reload_error"].is_null());
}

#[test]
fn by_a_signal() {
    check(|gateway| gateway.signal("HUP"));
}

#[test]
fn by_a_changed_file() {
    check(|_| {});
}

#[test]
fn keys_and_limits_change_too_and_listeners_stay() {
    let upstream = Scripted::always(ANSWER);
    let gateway = Gateway::start(&serving(&upstream, "m"));
    let mut newer = serving(&upstream, "m");
    newer["auth"] = json!({ "keys": [{ "id": "a", "key": "bardo_sk_a_0123456789abcdef" }] });
    newer["server"] = json!({ "max_body": "1KiB", "listen": "127.0.0.1:1" });
    gateway.configure(&newer.to_string());
    gateway.signal("HUP");
    let body = Caller::Chat.request("m", "Hello", false);
    let request = Request::json("/v1/chat/completions", &body);
    eventually("a key is asked for", || {
        (gateway.send(&request).status() == 401).then_some(())
    });
    let keyed = |body: &Value| {
        Request::json("/v1/chat/completions", body).with("x-api-key", "bardo_sk_a_0123456789abcdef")
    };
    assert_eq!(gateway.send(&keyed(&body)).status(), 200);
    let large = Caller::Chat.request("m", &"x".repeat(2000), false);
    assert_eq!(gateway.send(&keyed(&large)).status(), 413);
}

#[test]
fn no_request_fails_while_settings_change() {
    let upstream = Scripted::always(ANSWER);
    let gateway = Gateway::start(&serving(&upstream, "m"));
    let done = std::sync::atomic::AtomicBool::new(false);
    let sent = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut sent = 0;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                assert!(serves(&gateway, "m"));
                sent += 1;
            }
            sent
        });
        for n in 0..20 {
            let mut settings = serving(&upstream, "m");
            let bad = n % 2 == 1;
            settings["server"] =
                json!({ "max_body": if bad { json!("much") } else { json!(100_000 + n) } });
            let before = hash(&gateway);
            gateway.configure(&settings.to_string());
            gateway.signal("HUP");
            eventually("the change is seen", || {
                let status = gateway.status();
                let refused = !status["config"]["reload_error"].is_null();
                let same = status["config"]["hash"] == *before;
                (refused == bad && same == bad).then_some(())
            });
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        asking.join().expect("no request failed")
    });
    assert!(sent > 0);
}
