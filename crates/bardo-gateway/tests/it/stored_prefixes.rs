//! Prefixes that Gemini stores, by the built binary and its configuration.

use serde_json::{Value, json};

use crate::http::Request;
use crate::rig::{Gateway, Sandbox, eventually, everything};

/// A request with a long system prompt. Gemini's own cache reads nothing of it.
fn request(stream: bool) -> Request {
    let script = json!({ "steps": [{ "text": "Hi" }], "usage": { "cache_read": 0 } });
    let body = json!({
        "model": "direct/google/gemini-3-flash",
        "stream": stream,
        "messages": [
            { "role": "system", "content": "Follow these rules closely. ".repeat(2_000) },
            { "role": "user", "content": format!("Please. bardo-script: {script}") },
        ],
    });
    Request::json("/v1/chat/completions", &body)
}

/// The requests about stored prefixes that Gemini got, by method.
fn orders(sandbox: &Sandbox) -> Vec<String> {
    let journal = sandbox.journal();
    let is_order = |entry: &&Value| {
        let path = entry["path"].as_str().expect("a path");
        path.contains("/v1beta/cachedContents")
    };
    let orders = journal.iter().filter(is_order);
    orders
        .map(|entry| entry["method"].as_str().expect("a method").to_owned())
        .collect()
}

#[test]
fn gemini_stores_a_prefix_where_the_configuration_says_so_and_it_is_gone_with_the_process() {
    let sandbox = Sandbox::start();
    let settings = everything(&sandbox);
    let plain = Gateway::start(&settings);
    for _ in 0..8 {
        assert_eq!(plain.send(&request(false)).status(), 200);
    }
    assert!(orders(&sandbox).is_empty(), "it is off by default");
    drop(plain);

    let mut settings = settings;
    settings["inference"]["caching"]["gemini"] =
        json!({ "enabled": true, "storage_usd_per_mtok_hour": 1 });
    let mut gateway = Gateway::start(&settings);
    for _ in 0..8 {
        assert_eq!(gateway.send(&request(false)).status(), 200);
    }
    eventually("a prefix is stored", || {
        let body = gateway.send(&request(true));
        assert_eq!(body.status(), 200);
        let journal = sandbox.journal();
        let last = journal.last()?["body"].as_str()?;
        let last: Value = serde_json::from_str(last).ok()?;
        last["cachedContent"].as_str()?;
        last.get("systemInstruction").is_none().then_some(())
    });
    assert_eq!(orders(&sandbox), ["POST"], "one for all");
    gateway.signal("TERM");
    assert!(gateway.wait().success());
    assert_eq!(orders(&sandbox), ["POST", "DELETE"]);
}
