//! Both requests of a verified decision fail over, and never use one backend at the same time.

use serde_json::{Value, json};

use super::verification::{FIRST, SECOND, kept, question, second, send, settings};
use crate::http::Request;
use crate::paying::till::{Till, header};
use crate::rig::{Gateway, Sandbox};
use crate::scripted::{Scripted, Turn};
use crate::sse::Caller;

/// A provider that refuses everything with this status.
fn refusing(status: u16) -> Scripted {
    Scripted::start(move |mut turn: Turn| {
        turn.answer(status, "application/json", r#"{"error":{"message":"no"}}"#);
    })
}

/// `settings`, with another backend of the second model behind the first one.
fn with_two_of_the_second(sandbox: &Sandbox, bad: &Scripted, good: &Scripted) -> Value {
    let mut settings = settings(sandbox, bad);
    let keys = settings["providers"]["direct"]["keys"].as_array_mut();
    let keys = keys.expect("a list");
    let mut other = keys[1].clone();
    other["base_url"] = json!(good.at("/v1"));
    keys.push(other);
    settings
}

#[test]
fn the_second_request_fails_over_to_a_backend_that_the_first_one_does_not_use() {
    let sandbox = Sandbox::start();
    for status in [401, 402, 404, 429, 503] {
        let (bad, good) = (refusing(status), second("Proceed"));
        let till = Till::new(with_two_of_the_second(&sandbox, &bad, &good));
        let gateway = till.open();
        for stream in [false, true] {
            let key = till.rich("5");
            let body = question(Caller::Chat, "Proceed", &json!({}), stream);
            let answer = send(&gateway, &key, Caller::Chat, &body);
            assert_eq!(answer.status(), 200, "{status}: {}", answer.text());
            let told = header(&answer, "x-bardo-verification");
            assert!(told.starts_with("agreed"), "{status} {told}");
            let id = header(&answer, "x-bardo-request-id");
            let other = kept(&gateway, &key, &format!("{id}_verify"));
            assert_eq!(other["provider"], "direct/openai#2", "{status} {other}");
            assert_eq!(till.stand(&key).held, 0, "{status}");
        }
        assert_eq!((bad.got().len(), good.got().len()), (2, 2), "{status}");
        till.verify();
    }
}

#[test]
fn the_first_request_fails_over_to_a_backend_that_the_second_one_leaves_to_it() {
    let sandbox = Sandbox::start();
    let (bad, good) = (refusing(402), second("Proceed"));
    let mut settings = settings(&sandbox, &good);
    let keys = settings["providers"]["direct"]["keys"].as_array_mut();
    let keys = keys.expect("a list");
    keys[0]["base_url"] = json!(bad.at("/anthropic"));
    keys[1]["models"] = json!(["gpt-6-sol"]);
    settings["providers"]["openrouter"] =
        crate::rig::everything(&sandbox)["providers"]["openrouter"].clone();
    let till = Till::new(settings);
    let gateway = till.open();
    for stream in [false, true] {
        let key = till.rich("9");
        let body = question(Caller::Chat, "Proceed", &json!({}), stream);
        let answer = send(&gateway, &key, Caller::Chat, &body);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let told = header(&answer, "x-bardo-verification");
        assert!(told.starts_with("agreed"), "{told}");
        let id = header(&answer, "x-bardo-request-id");
        let first = kept(&gateway, &key, id);
        assert_eq!(first["provider"], "openrouter", "{first}");
        let other = kept(&gateway, &key, &format!("{id}_verify"));
        assert_eq!(other["provider"], "direct/openai", "{other}");
    }
    till.verify();
}

#[test]
fn a_backend_without_credit_is_not_called_for_every_decision() {
    let sandbox = Sandbox::start();
    let (bad, good) = (refusing(402), second("Proceed"));
    let mut settings = with_two_of_the_second(&sandbox, &bad, &good);
    settings["upstream"]["breaker"] = json!({ "enabled": true });
    let gateway = Gateway::start(&settings);
    for _ in 0..5 {
        let body = question(Caller::Chat, "Proceed", &json!({}), false);
        let answer = gateway.send(&Request::json(Caller::Chat.path(), &body));
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }
    assert_eq!((bad.got().len(), good.got().len()), (2, 5));
}

#[test]
fn both_requests_never_use_one_backend_however_they_fail_over() {
    let sandbox = Sandbox::start();
    let good = second("Proceed");
    let mut settings = settings(&sandbox, &good);
    let keys = settings["providers"]["direct"]["keys"].as_array_mut();
    // The first model is down, and its fallback is the second one.
    keys.expect("a list")[0]["base_url"] = json!(refusing(503).at("/anthropic"));
    settings["inference"]["fallbacks"] = json!({ FIRST: [SECOND] });
    let gateway = Gateway::start(&settings);
    let body = question(Caller::Chat, "Proceed", &json!({}), false);
    let refused = gateway.send(&Request::json(Caller::Chat.path(), &body));
    assert_eq!(refused.status(), 502, "{}", refused.text());
    let code = &refused.json()["error"]["bardo_code"];
    assert_eq!(code, "verification_unavailable");
    assert_eq!(good.got().len(), 1);
}
