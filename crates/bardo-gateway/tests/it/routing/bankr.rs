//! The money that pays Bankr: the credit of the account, and the daily seed of agents that have not
//! earned yet.

use serde_json::{Value, json};

use crate::http::Request;
use crate::paying::till::{Till, header};
use crate::rig::{Gateway, Sandbox, eventually, everything, with};
use crate::sse::Caller;

/// Bankr and others, with these settings of Bankr.
fn config(sandbox: &Sandbox, bankr: Value) -> Value {
    with(everything(sandbox), "providers.bankr", bankr)
}

/// What speaks against Bankr for a call that could cost 0.96 USD.
fn reasons(gateway: &Gateway) -> String {
    let body = json!({ "model": "bardo/auto", "max_tokens": 64_000,
        "messages": [{ "role": "user", "content": "Earn." }],
        "bardo": { "subsystem": "autonomous" } });
    let told = gateway
        .send(&Request::json("/v1/route/explain", &body))
        .json();
    let candidates = told["candidates"].as_array().expect("candidates");
    let of_bankr = candidates
        .iter()
        .filter(|one| one["backend"] == "bankr" && one["model"] == "claude-sonnet-4-6");
    of_bankr.map(|one| one["reasons"].to_string()).collect()
}

#[test]
fn a_call_costs_a_tenth_of_the_credit_at_bankr_at_most() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&config(
        &sandbox,
        json!({ "self_funding": true, "lifetime_revenue_usd": 1 }),
    ));
    // The simulated account has 9.15 USD.
    let told = eventually("the credit is known", || {
        Some(reasons(&gateway)).filter(|told| told.contains("credit at Bankr"))
    });
    assert!(told.contains("above the limit of $0.915"), "{told}");
}

#[test]
fn a_configured_balance_stands_above_the_credit() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&config(
        &sandbox,
        json!({ "self_funding": true, "lifetime_revenue_usd": 1, "revenue_balance_usd": 2 }),
    ));
    eventually("the credit is known", || {
        let status = Request::get("/status").send(gateway.admin).json();
        (status["funds"][0]["usd"] == "9.150000").then_some(())
    });
    let told = reasons(&gateway);
    assert!(told.contains("above the limit of $0.20"), "{told}");
    assert!(
        told.contains("providers.bankr.revenue_balance_usd"),
        "{told}"
    );
}

#[test]
fn the_seed_of_a_day_is_spent_once_and_not_again_after_a_restart() {
    let sandbox = Sandbox::start();
    let till = Till::new(config(
        &sandbox,
        json!({ "self_funding": true, "lifetime_revenue_usd": 0 }),
    ));
    let key = till.rich("5");
    let provider = |gateway: &Gateway, golem: &str| {
        let script = json!({ "steps": [{ "text": "Well.", "usage": { "output": 2_000 } }] });
        let mut body = Caller::Chat.request("bardo/auto", "Hello", false);
        body["messages"][0]["content"] = json!(format!("Please. bardo-script: {script}"));
        body["max_tokens"] = json!(2_000);
        body["bardo"] = json!({ "subsystem": "autonomous", "golem_id": golem });
        let answer = gateway.send(&key.ask(Caller::Chat, &body));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        header(&answer, "x-bardo-provider").to_owned()
    };
    let gateway = till.open();
    let first = provider(&gateway, "one");
    assert_eq!(first, "bankr");
    // Each answer costs 0.03 USD or less of the 0.10.
    let calls = (0..20).take_while(|_| provider(&gateway, "one") == "bankr");
    let calls = calls.count();
    assert!((2..20).contains(&calls), "{calls}");
    assert_eq!(provider(&gateway, "two"), "bankr", "each agent has its own");
    drop(gateway);
    let gateway = till.open();
    assert_ne!(provider(&gateway, "one"), "bankr");
    assert_eq!(provider(&gateway, "two"), "bankr");
    till.verify();
}
