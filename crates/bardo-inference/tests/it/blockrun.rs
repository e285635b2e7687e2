//! The simulated blockrun.ai, which verifies signatures as contracts do.

use std::sync::mpsc::channel;

use bardo_sandbox::{Sandbox, SandboxConfig};
use serde_json::{Value, json};

use crate::rig::{ServedProxy, chat};

/// The address of a sandbox that runs until the test ends.
fn sandbox() -> String {
    let (bound, address) = channel();
    std::thread::spawn(move || {
        let sandbox = Sandbox::bind(SandboxConfig::default()).expect("a free port");
        bound.send(sandbox.local_addr()).expect("the test waits");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(sandbox.run(std::future::pending()))
    });
    format!("http://{}", address.recv().expect("an address"))
}

fn proxy(flags: &[&str]) -> ServedProxy {
    let home = tempfile::tempdir().expect("a folder");
    ServedProxy::start(home, &format!("{}/blockrun/api/v1", sandbox()), flags)
}

fn with_model(model: &str, mut body: Value) -> Value {
    body["model"] = json!(model);
    body["max_tokens"] = json!(64);
    body
}

#[test]
fn every_dialect_of_blockrun_is_paid() {
    let proxy = proxy(&[]);
    let claude = "anthropic/claude-sonnet-5";
    let responses = json!({ "model": "openai/gpt-5.4", "input": "Hello", "store": false });
    for (path, body, answered) in [
        (
            "/v1/chat/completions",
            with_model(claude, chat("Hello")),
            "/choices/0/message/content",
        ),
        (
            "/v1/messages",
            with_model(claude, chat("Hello")),
            "/content/1/text",
        ),
        ("/v1/responses", responses, "/output/0"),
    ] {
        let before = proxy.spend()["payments"].as_u64().unwrap();
        let answer = proxy.ask(path, &body);
        assert_eq!(answer.status(), 200, "{path}: {}", answer.text());
        assert!(
            answer.json().pointer(answered).is_some(),
            "{path}: {}",
            answer.text()
        );
        assert_eq!(proxy.spend()["payments"], before + 1, "{path}");
    }
    assert_ne!(proxy.spend()["session"], "0.000000");
    assert_eq!(
        proxy.spend()["open"],
        "0.000000",
        "every payment has a receipt"
    );
}

#[test]
fn streams_of_blockrun_are_paid_and_translated() {
    for (flags, kind) in [(&[][..], "passed"), (&["--speaks", "chat"], "translated")] {
        let proxy = proxy(flags);
        let mut body = with_model("anthropic/claude-sonnet-5", chat("Hello"));
        body["stream"] = json!(true);
        let answer = proxy.ask("/v1/messages", &body);
        assert_eq!(answer.status(), 200, "{kind}: {}", answer.text());
        let text = answer.text();
        for part in [
            "event: message_start",
            "event: content_block_delta",
            "event: message_stop",
        ] {
            assert!(text.contains(part), "{kind}: {text}");
        }
        assert_eq!(proxy.spend()["payments"], 1, "{kind}");
    }
}

#[test]
fn free_models_of_blockrun_cost_nothing_and_wrong_ones_are_told() {
    let proxy = proxy(&[]);
    let free = with_model("nvidia/llama-3.2-11b-vision", chat("Hello"));
    assert_eq!(proxy.ask("/v1/chat/completions", &free).status(), 200);
    let wrong = proxy.ask(
        "/v1/chat/completions",
        &with_model("none/such", chat("Hello")),
    );
    assert_eq!(wrong.status(), 400);
    assert!(wrong.text().contains("none/such"), "{}", wrong.text());
    assert_eq!(proxy.spend()["payments"], 0);
}

#[test]
fn a_ceiling_of_blockrun_is_signed_by_permit2_and_counts_until_the_chain_speaks() {
    let chain = crate::seller::chain(8453, 1 << 40);
    let rpc = format!("http://127.0.0.1:{}", chain.port);
    let body = with_model("anthropic/claude-opus-5.5", chat("Hello"));
    let counted = |flags: &[&str]| {
        let proxy = proxy(flags);
        let answer = proxy.ask("/v1/messages", &body);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let spend = proxy.spend();
        assert_eq!(spend["payments"], 1);
        assert_eq!(spend["false_claims"], 0);
        let usd = |name: &str| spend[name].as_str().expect("USD").to_owned();
        (usd("session"), usd("open"))
    };
    let (ceiling, open) = counted(&["--scheme", "upto", "--rpc", &rpc]);
    assert_eq!(ceiling, open);
    let (price, open) = counted(&["--scheme", "exact"]);
    assert_eq!(open, "0.000000");
    assert!(ceiling > price, "{ceiling} {price}");
}

#[test]
fn a_ceiling_that_the_cap_excludes_gives_way_to_the_fixed_price() {
    let chain = crate::seller::chain(8453, 1 << 40);
    let rpc = format!("http://127.0.0.1:{}", chain.port);
    let flags = [
        "--scheme",
        "upto,exact",
        "--rpc",
        &rpc,
        "--cap-request",
        "0.01",
    ];
    let proxy = proxy(&flags);
    let body = with_model("anthropic/claude-opus-5.5", chat("Hello"));
    assert_eq!(proxy.ask("/v1/messages", &body).status(), 200);
    assert_eq!(proxy.spend()["payments"], 1);
}
