//! How providers are paid, in receipts and metrics, and what that makes of the caller's charge.

use serde_json::{Value, json};

use crate::http::Request;
use crate::paying::maker;
use crate::paying::till::{Till, header, micro_of};
use crate::scripted::Scripted;
use crate::sse::Caller;

/// Billed backends, each of which has a model of its own.
fn backends(maker: &Scripted) -> Value {
    let service = |model: &str, price: Value| json!({ "api_key": "up-key", "base_url": maker.at("/v1"), "models": [model], "price": price });
    let mut config = maker::billed(maker);
    config["providers"]["openrouter"] = service("m-credits", maker::price());
    config["providers"]["venice"] = service("m-staked", Value::Null);
    config["providers"]["venice"]["diem_staked"] = json!(true);
    config["providers"]["local"] = service("m-own", maker::price());
    config["providers"]["local"]["api_key"] = json!("");
    config["providers"]["local"]["bill"] = json!(true);
    config
}

#[test]
fn receipts_and_metrics_say_how_the_provider_is_paid_and_staked_diem_costs_nothing() {
    let maker = maker::maker();
    let till = Till::new(backends(&maker));
    let key = till.rich("5");
    let gateway = till.open();
    for (model, provider, payment, cost) in [
        ("m-chat", "direct/openai", "api_key", 1_880),
        ("m-credits", "openrouter", "prepaid", 1_880),
        ("m-staked", "venice", "diem", 0),
        ("m-own", "local", "none", 1_880),
    ] {
        let body = Caller::Chat.request(model, "Hello", false);
        let answer = gateway.send(&key.ask(Caller::Chat, &body));
        assert_eq!(answer.status(), 200, "{model}: {}", answer.text());
        let id = header(&answer, "x-request-id");
        let receipt = gateway.send(&key.get(&format!("/v1/receipts/{id}"))).json();
        let told = &receipt["cost"];
        assert_eq!(told["provider_payment"], payment, "{receipt}");
        assert_eq!(micro_of(&told["provider_cost"]), cost, "{receipt}");
        let charge = if cost == 0 { 0 } else { maker::charge(2_000) };
        assert_eq!(micro_of(&told["charge"]), charge, "{receipt}");
        let metrics = Request::get("/metrics").send(gateway.admin).text();
        let line = format!(
            "bardo_provider_payments_total{{provider=\"{provider}\",payment=\"{payment}\"}} 1"
        );
        assert!(metrics.contains(&line), "{line}\n{metrics}");
    }
    // Nothing is known to be nothing, and not taken for unknown.
    let usage = gateway.send(&key.get("/v1/usage")).json();
    let rows = usage["data"].as_array().expect("rows");
    let staked = rows.iter().find(|row| row["provider"] == "venice");
    let staked = staked.expect("a row");
    assert_eq!(staked["provider_cost"], "0.000000", "{usage}");
    assert_eq!(usage["total"]["unpriced_requests"], 0, "{usage}");
    till.verify();
}

#[test]
fn a_price_of_the_owner_is_charged_although_diem_pays() {
    let maker = maker::maker();
    let mut config = backends(&maker);
    config["providers"]["venice"]["price"] = maker::price();
    let till = Till::new(config);
    let key = till.rich("5");
    let gateway = till.open();
    let body = Caller::Chat.request("m-staked", "Hello", false);
    assert_eq!(gateway.send(&key.ask(Caller::Chat, &body)).status(), 200);
    assert_eq!(till.stand(&key).spent, maker::charge(2_000));
}
