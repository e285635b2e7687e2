//! `route explain`, as an endpoint and as a verb: why a request would go where it would go.

use serde_json::{Value, json};

use crate::http::Request;
use crate::rig::{Folder, Gateway, Sandbox, command, everything, with};

fn request() -> Value {
    json!({
        "model": "bardo/auto",
        "max_tokens": 100,
        "messages": [{ "role": "user", "content": "Dream." }],
        "bardo": { "subsystem": "dream_rem", "vitality": 0.2 },
    })
}

#[test]
fn a_decision_is_explained_and_nobody_is_asked() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    sandbox.forget();
    for path in ["/v1/route/explain", "/anthropic/v1/route/explain"] {
        let answer = gateway.send(&Request::json(path, &request()));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let told = answer.json();
        assert_eq!(told["intent"]["subsystem"], "dream_rem");
        assert_eq!(told["intent"]["security_class"], "private");
        assert_eq!(told["refusal"], Value::Null);
        let chosen = &told["resolution"];
        assert!(
            chosen["backend"].is_string() && chosen["model"].is_string(),
            "{told}"
        );
        let candidates = told["candidates"].as_array().unwrap();
        assert!(candidates.len() > 3, "{told}");
        for candidate in candidates {
            for member in ["backend", "model", "eligible", "reasons", "score"] {
                assert!(candidate.get(member).is_some(), "{member}: {candidate}");
            }
            let silent = candidate["reasons"].as_array().unwrap().is_empty();
            assert!(candidate["eligible"] == true || !silent, "{candidate}");
        }
        assert!(told["profile"]["row"].is_string(), "{told}");
    }
    let asked = sandbox.journal();
    let asked: Vec<&Value> = asked
        .iter()
        .filter(|entry| entry["method"] == "POST")
        .collect();
    assert!(asked.is_empty(), "{asked:?}");
}

#[test]
fn every_dialect_is_known_by_its_body() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    let ask = |body: Value| gateway.send(&Request::json("/v1/route/explain", &body));
    let messages = json!([{ "role": "user", "content": "Hello" }]);
    for body in [
        json!({ "model": "gpt-5.5", "messages": messages }),
        json!({ "model": "gpt-5.5", "max_tokens": 9, "system": "s", "messages": messages }),
        json!({ "model": "gpt-5.5", "input": "Hello" }),
        json!({ "model": "gpt-5.5", "prompt": "Hello" }),
    ] {
        let answer = ask(body.clone());
        assert_eq!(answer.status(), 200, "{body}: {}", answer.text());
        assert_eq!(answer.json()["resolution"]["model"], "gpt-5.5", "{body}");
    }
    let none = ask(json!({ "messages": messages }));
    assert_eq!(none.status(), 400);
    let get = gateway.send(&Request::get("/v1/route/explain"));
    assert_eq!(get.status(), 405);
}

#[test]
fn a_refusal_is_an_explanation_and_says_what_would_mend_it() {
    let sandbox = Sandbox::start();
    let settings = with(
        everything(&sandbox),
        "providers",
        json!({ "venice": null, "local": null }),
    );
    let gateway = Gateway::start(&settings);
    let mut body = request();
    body["bardo"]["security_class"] = json!("tee");
    let told = gateway
        .send(&Request::json("/v1/route/explain", &body))
        .json();
    assert_eq!(told["resolution"], Value::Null, "{told}");
    assert_eq!(told["refusal"]["code"], "privacy_unavailable");
    assert!(
        told["refusal"]["advice"]
            .as_str()
            .unwrap()
            .contains("providers."),
        "{told}"
    );
    let refused = gateway.send(&Request::json("/v1/chat/completions", &body));
    assert_eq!(refused.status(), 400);
    assert_eq!(refused.json()["error"]["bardo_code"], "privacy_unavailable");
}

#[test]
fn the_verb_explains_without_a_server_and_without_a_provider() {
    let folder = Folder::new();
    let run = |arguments: &[&str]| {
        let output = command(&folder)
            .args(["route", "explain", "--sandbox"])
            .args(arguments)
            .env("COLUMNS", "80")
            .output()
            .expect("it runs");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let (code, json, err) = run(&["--json", "--subsystem", "risk", "--vitality", "0"]);
    assert_eq!(code, Some(0), "{err}");
    let told: Value = serde_json::from_str(&json).expect("one object");
    assert_eq!(told["intent"]["subsystem"], "risk");
    let (code, words, err) = run(&["--subsystem", "dream_rem"]);
    assert_eq!(code, Some(0), "{err}");
    for part in [
        "Request for bardo/auto, subsystem dream_rem",
        "Requirements",
        "Backends, chosen by the gateway",
        "1.",
    ] {
        assert!(words.contains(part), "{words}");
    }
    let (code, words, err) = run(&["--security-class", "e2ee", "--tools"]);
    assert_eq!(code, Some(1), "{words}{err}");
    assert!(words.contains("No backend can serve it"), "{words}");
    let file = folder.write("request.json", &request().to_string());
    let file = file.to_str().expect("UTF-8");
    let (code, words, err) = run(&[file, "--model", "gpt-5.5", "--subsystem", "curator"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        words.contains("Request for gpt-5.5, subsystem curator"),
        "{words}"
    );
    // A dream has to stay private, and nobody private has this model.
    let (code, words, _) = run(&[file, "--model", "gpt-5.5"]);
    assert_eq!(code, Some(1), "{words}");
    for part in [
        "subsystem dream_rem",
        "No backend can serve it",
        "accept_degraded",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
}

#[test]
fn events_are_filtered_by_name_and_names_nobody_has_are_refused() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    let refused = gateway.send(&Request::get("/v1/events?events=inference.ned"));
    assert_eq!(refused.status(), 400);
    let mut feed = gateway.open(&Request::get(
        "/v1/events?events=provider:resolved,inference.end",
    ));
    assert_eq!(feed.head().status, 200);
    let mut seen = Vec::new();
    feed.until(&mut seen, ": connected");
    let mut body = request();
    body["bardo"]["golem_id"] = json!("g1");
    body["bardo"]["tick"] = json!(3);
    let answer = gateway.send(&Request::json("/v1/chat/completions", &body));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    feed.until(&mut seen, "event: inference.end");
    feed.until(&mut seen, "\n\n");
    let seen = String::from_utf8(seen).expect("UTF-8");
    assert!(seen.contains("event: provider.resolved"), "{seen}");
    assert!(
        seen.contains("\"golem_id\":\"g1\"") && seen.contains("\"tick\":3"),
        "{seen}"
    );
    assert!(!seen.contains("event: inference.start"), "{seen}");
}
