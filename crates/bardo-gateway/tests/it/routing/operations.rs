//! A chat for a model of embeddings, and embeddings of a model for chats, are refused before a
//! provider is called, with the names of models that fit.

use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::rig::{Gateway, Sandbox, everything};
use crate::routing::asked;
use crate::sse::Caller;

fn gateway(sandbox: &Sandbox) -> Gateway {
    let mut config = everything(sandbox);
    config["inference"] = json!({ "aliases": {
        "vectors": "text-embedding-3-small",
        "writer": "gpt-5.5",
    } });
    let keys = config["providers"]["direct"]["keys"].as_array_mut();
    keys.expect("a list").push(json!({
        "provider": "openai_compatible",
        "name": "groq",
        "api_key": "up-key",
        "base_url": sandbox.at("/openai/v1"),
        "models": ["my-embedder", "my-writer"],
    }));
    Gateway::start(&config)
}

#[track_caller]
fn check_refused(caller: Caller, answer: &Answer, able: &str) {
    assert_eq!(answer.status(), 400, "{}", answer.text());
    let body = answer.json();
    caller.check_error(&body);
    assert_eq!(
        body["error"]["bardo_code"], "operation_unavailable",
        "{body}"
    );
    let message = body["error"]["message"].as_str().expect("a message");
    let named = message.split_once("models that do: ").expect("names").1;
    assert!(named.contains(able), "{message}");
}

#[test]
fn a_chat_for_a_model_of_embeddings_is_refused_in_each_dialect() {
    let sandbox = Sandbox::start();
    let gateway = gateway(&sandbox);
    sandbox.forget();
    for model in [
        "text-embedding-3-small",
        "vectors",
        "direct/openai/text-embedding-3-small",
        "openai/text-embedding-3-small",
    ] {
        for caller in Caller::ALL {
            for hints in [Value::Null, json!({ "quality": "high" })] {
                let mut body = caller.request(model, "Hello", false);
                if !hints.is_null() {
                    body["bardo"] = hints;
                }
                let answer = gateway.send(&Request::json(caller.path(), &body));
                check_refused(caller, &answer, "`gpt-");
            }
        }
    }
    assert_eq!(asked(&sandbox), [""; 0]);
}

#[test]
fn embeddings_of_a_model_for_chats_are_refused() {
    let sandbox = Sandbox::start();
    let gateway = gateway(&sandbox);
    sandbox.forget();
    for (model, able) in [
        ("gpt-5.5", "`text-embedding-3-"),
        ("writer", "`text-embedding-3-"),
        ("direct/openai/gpt-5.5", "`text-embedding-3-"),
        ("openrouter/gpt-5.5", "`text-embedding-3-"),
        ("claude-sonnet-5-5", "embedding"),
        ("gemini-3-flash", "`gemini-embedding-"),
    ] {
        let body = json!({ "model": model, "input": "one" });
        let answer = gateway.send(&Request::json("/v1/embeddings", &body));
        check_refused(Caller::Chat, &answer, able);
    }
    assert_eq!(asked(&sandbox), [""; 0]);
}

#[test]
fn a_model_that_the_catalog_does_not_know_is_left_to_its_server() {
    let sandbox = Sandbox::start();
    let gateway = gateway(&sandbox);
    for model in ["my-embedder", "direct/groq/my-embedder", "my-writer"] {
        sandbox.forget();
        let chat = Caller::Chat.request(model, "Hello", false);
        gateway.send(&Request::json(Caller::Chat.path(), &chat));
        let vectors = json!({ "model": model, "input": "one" });
        gateway.send(&Request::json("/v1/embeddings", &vectors));
        assert_eq!(asked(&sandbox).len(), 2, "{model}");
    }
}
