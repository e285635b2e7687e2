//! A backend that cannot take a request is passed over, and the caller is told which one and why.

use serde_json::{Value, json};

use crate::http::Request;
use crate::rig::{Gateway, Sandbox, everything};
use crate::routing::{asked, receipt};
use crate::sse::Caller;

const MODEL: &str = "claude-sonnet-5-5";

fn gateway(sandbox: &Sandbox) -> Gateway {
    let mut config = everything(sandbox);
    let providers = config["providers"].as_object_mut().expect("an object");
    providers.retain(|name, _| matches!(name.as_str(), "direct" | "openrouter"));
    config["inference"] = json!({ "provider_order": ["direct", "openrouter"] });
    Gateway::start(&config)
}

fn chat(model: &str, members: &Value) -> Value {
    let mut body = Caller::Chat.request(model, "Hello", false);
    for (name, value) in members.as_object().expect("an object") {
        body[name] = value.clone();
    }
    body
}

#[test]
fn an_answer_says_which_backend_was_passed_over_and_why() {
    let sandbox = Sandbox::start();
    let gateway = gateway(&sandbox);
    for (members, lost) in [
        (json!({ "n": 2 }), "n"),
        (json!({ "n": 2, "bardo": { "quality": "high" } }), "n"),
        (
            json!({ "seed": 7, "bardo": { "require": ["seed"] } }),
            "seed",
        ),
    ] {
        sandbox.forget();
        let body = chat(MODEL, &members);
        let answer = gateway.send(&Request::json(Caller::Chat.path(), &body));
        let kept = receipt(&gateway, &answer);
        assert_eq!(asked(&sandbox), ["openrouter"], "{members}");
        let sentence = format!("`direct/anthropic` was passed over: it would lose `{lost}`");
        let told = answer.header("x-bardo-warnings").unwrap_or_default();
        assert!(told.contains(&sentence), "{members} {told:?}");
        let passed =
            json!([{ "backend": "direct/anthropic", "reason": format!("would lose `{lost}`") }]);
        assert_eq!(kept["passed_over"], passed, "{kept}");

        let explained = gateway.send(&Request::json("/v1/route/explain", &body));
        let explained = explained.json();
        assert_eq!(explained["resolution"]["backend"], "openrouter");
        assert!(
            explained["warnings"].to_string().contains(&sentence),
            "{explained}"
        );
        let candidates = explained["candidates"].as_array().expect("a list");
        let passed = candidates
            .iter()
            .find(|one| one["backend"] == "direct/anthropic" && one["model"] == MODEL);
        let passed = passed.expect("the backend that comes first");
        assert_eq!(passed["eligible"], false, "{passed}");
        assert_eq!(
            passed["reasons"][0],
            format!("would lose `{lost}`"),
            "{passed}"
        );
    }
}

#[test]
fn nothing_is_said_where_the_first_backend_answers_or_no_other_may() {
    let sandbox = Sandbox::start();
    let gateway = gateway(&sandbox);
    let plain = gateway.send(&Request::json(
        Caller::Chat.path(),
        &chat(MODEL, &json!({})),
    ));
    assert_eq!(plain.header("x-bardo-warnings"), None);
    assert_eq!(receipt(&gateway, &plain)["passed_over"], json!([]));
    sandbox.forget();
    let pinned = chat(&format!("direct/anthropic/{MODEL}"), &json!({ "n": 2 }));
    let refused = gateway.send(&Request::json(Caller::Chat.path(), &pinned));
    assert_eq!(refused.status(), 400, "{}", refused.text());
    assert_eq!(refused.json()["error"]["param"], "n");
    assert_eq!(asked(&sandbox), [""; 0]);
}
