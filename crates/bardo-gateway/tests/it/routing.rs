//! Who answers where callers say what they need: hints, privacy, budgets and what an owner
//! configures, on the built binary.

mod bankr;
pub(crate) mod bound;
mod budget;
mod configuration;
mod cost_limits;
mod hints;
mod operations;
mod order;
mod privacy;
mod verification;
mod verified_failover;

use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::rig::{Gateway, Sandbox};
use crate::sse::Caller;

/// BlockRun, OpenRouter and Venice, asked in this order where nothing else decides.
fn trio(sandbox: &Sandbox) -> Value {
    let mut config = crate::rig::everything(sandbox);
    let providers = config["providers"].as_object_mut().expect("an object");
    providers.retain(|name, _| matches!(name.as_str(), "openrouter" | "venice"));
    providers.insert(
        "blockrun".into(),
        json!({ "api_key": "brk_key", "base_url": sandbox.at("/blockrun/v1") }),
    );
    config["inference"] = json!({ "provider_order": ["blockrun", "openrouter", "venice"] });
    config
}

/// A request for an answer of at most so many tokens, with hints in its body.
fn hinted(caller: Caller, model: &str, hints: &Value) -> Value {
    let mut body = caller.request(model, "Hello", false);
    body["bardo"] = hints.clone();
    body
}

fn ask(gateway: &Gateway, caller: Caller, model: &str, hints: &Value) -> Answer {
    let body = hinted(caller, model, hints);
    gateway.send(&Request::json(caller.path(), &body))
}

/// The receipt of an answer.
#[track_caller]
fn receipt(gateway: &Gateway, answer: &Answer) -> Value {
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let id = crate::paying::till::header(answer, "x-bardo-request-id");
    let receipt = gateway.send(&Request::get(&format!("/v1/receipts/{id}")));
    assert_eq!(receipt.status(), 200, "{}", receipt.text());
    receipt.json()
}

/// The services that were asked for an answer, in order.
fn asked(sandbox: &Sandbox) -> Vec<String> {
    let entries = sandbox.journal();
    let answers = entries.iter().filter(|entry| entry["method"] == "POST");
    answers
        .map(|entry| entry["service"].as_str().expect("a service").to_owned())
        .collect()
}
