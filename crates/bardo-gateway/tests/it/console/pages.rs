//! Pages about agents, routing and Venice: what they show, and that values stay text.

use serde_json::{Value, json};

use super::{READER, TOKEN, log_in, page};
use crate::http::Request;
use crate::rig::{Folder, Gateway, Sandbox, command, everything, with};

const HOSTILE: &str = "<script>alert(1)</script>";

fn body() -> Value {
    json!({ "model": "gpt-5.5", "messages": [{ "role": "user", "content": "Hi" }] })
}

#[track_caller]
fn shown(gateway: &Gateway, path: &str) -> String {
    let answer = page(path).send(gateway.admin);
    let text = answer.text();
    assert_eq!(answer.status(), 200, "{path}: {text}");
    assert!(
        !text.contains("<script>") && !text.contains(" style=") && !text.contains(" onclick"),
        "{path}: {text}"
    );
    text
}

#[test]
fn agents_are_listed_with_their_subsystems_sessions_and_state() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    let empty = shown(&gateway, "/console/golems");
    assert!(empty.contains("X-Bardo-Golem-Id: my-agent"), "{empty}");
    for golem in ["agent-1", "agent-1", HOSTILE] {
        let request = Request::json("/v1/chat/completions", &body())
            .with("x-bardo-golem-id", golem)
            .with("x-bardo-subsystem", "dream_rem")
            // No backend of the sandbox protects this model as dreams want it.
            .with("x-bardo-accept-degraded", "true")
            .with("x-bardo-session-id", "night-7")
            .with("x-bardo-phase", "conservation")
            .with("x-bardo-sustainability", "0.8");
        let answer = gateway.send(&request);
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }
    let list = shown(&gateway, "/console/golems?window=30d");
    for part in [
        "agent-1",
        "conservation",
        "0.8",
        "dream_rem",
        "&#60;script&#62;",
    ] {
        assert!(list.contains(part), "{part}: {list}");
    }
    let one = shown(&gateway, "/console/golems/agent-1");
    for part in [
        "night-7",
        "dream_rem",
        "golem=agent-1",
        "Of its latest 2 requests",
        "class=\"bar-part\"",
    ] {
        assert!(one.contains(part), "{part}: {one}");
    }
    shown(
        &gateway,
        "/console/golems/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
    );
    let rows = Request::get("/console/golems.json")
        .send(gateway.admin)
        .json();
    let found = rows.as_array().expect("rows");
    let agent = found.iter().find(|row| row["golem"] == "agent-1");
    assert_eq!(agent.expect("the agent")["requests"], 2);
    let unknown = page("/console/golems/nobody").send(gateway.admin);
    assert_eq!(unknown.status(), 404);
}

#[test]
fn a_routing_question_is_in_its_address_and_asks_no_backend() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    sandbox.forget();
    let plain = shown(&gateway, "/console/routing");
    for part in [
        "plain client",
        "dream_rem",
        "What filters removed",
        "Second choice",
    ] {
        assert!(plain.contains(part), "{part}: {plain}");
    }
    let asked = shown(
        &gateway,
        "/console/routing?subsystem=dream_rem&vitality=20&sustainability=40&phase=desperate&max_cost_usd=0.000001&tokens=3000&model=bardo%2Fauto",
    );
    for part in [
        "value=\"20\"",
        "value=\"40\"",
        "value=\"3000\"",
        "value=\"0.000001\"",
        "<option value=\"desperate\" selected>",
        "max_cost_usd",
    ] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    let hostile = "/console/routing?model=%3Cscript%3E&max_cost_usd=%3Cscript%3E";
    assert!(shown(&gateway, hostile).contains("would be refused"));
    let told = Request::get("/console/routing.json?subsystem=dream_rem").send(gateway.admin);
    assert_eq!(told.json()["intent"]["subsystem"], "dream_rem");
    let sent = sandbox.journal();
    assert!(
        !sent.iter().any(|entry| entry["method"] == "POST"),
        "{sent:?}"
    );
}

#[test]
fn what_is_known_of_venice_is_listed_and_not_called_verified() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    let answer = gateway.send(&Request::json("/v1/chat/completions", &body()));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let text = shown(&gateway, "/console/venice");
    assert!(text.contains("listed, not verified"), "{text}");
    assert!(text.contains("verifies no attestation"), "{text}");
    let status = Request::get("/console/venice.json")
        .send(gateway.admin)
        .json();
    assert_eq!(status["configured"], true);
    assert_eq!(status["attestation_verified"], false);
    assert_eq!(status["balance"], Value::Null);
    let models = &status["models"];
    assert!(
        models["total"].as_u64().is_some_and(|total| total > 0),
        "{status}"
    );
    let of_client = gateway.send(&Request::get("/venice/status"));
    assert_eq!(of_client.status(), 200, "{}", of_client.text());
    assert_eq!(of_client.json()["models"], *models);
}

/// Resellers list the models of Venice under other names.
#[test]
fn each_model_of_venice_is_counted_once() {
    let folder = Folder::new();
    let mut sandboxed = command(&folder);
    sandboxed.args(["serve", "--sandbox", "--fast"]);
    let gateway = Gateway::run(folder, sandboxed, &[]);
    let listed = Request::get("/status").send(gateway.admin).json();
    let mut lists = listed["lists"].as_array().into_iter().flatten();
    let of_venice = lists.find(|list| list["provider"] == "venice");
    let status = Request::get("/console/venice.json")
        .send(gateway.admin)
        .json();
    assert_eq!(
        status["models"]["total"],
        of_venice.expect("the list of Venice")["models"],
        "{status}"
    );
    let text = shown(&gateway, "/console/venice");
    let link = "model=zai-org-glm-5-2\"";
    assert_eq!(text.matches(link).count(), 1, "{text}");
}

#[test]
fn a_reader_sees_agents_routing_and_venice() {
    let sandbox = Sandbox::start();
    let tokens = json!({ "admin_token": TOKEN, "admin_read_token": READER });
    let gateway = Gateway::start(&with(everything(&sandbox), "server", tokens));
    for token in [READER, TOKEN] {
        let cookie = log_in(&gateway, token, "");
        for path in ["/console/golems", "/console/routing", "/console/venice"] {
            let answer = page(path).with("cookie", &cookie).send(gateway.admin);
            assert_eq!(answer.status(), 200, "{path}");
            assert_eq!(page(path).send(gateway.admin).status(), 303, "{path}");
        }
    }
}
