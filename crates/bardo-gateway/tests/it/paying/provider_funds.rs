//! What pays the providers, as operators see it: Bankr's credit, and the wallet that pays BlockRun.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::http::Request;
use crate::rig::{Folder, Gateway, Sandbox, command, config, eventually, everything, with};
use crate::scripted::Scripted;
use crate::sse::Caller;

const KEY: &str = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
/// A chain that does not answer.
const SILENT: u64 = u64::MAX;

/// A JSON-RPC endpoint of Base, on which every account has this much USDC.
fn chain(balance: &Arc<AtomicU64>) -> Scripted {
    let balance = Arc::clone(balance);
    let result = |call: &Value, balance: u64| match call["method"].as_str() {
        Some("eth_chainId") => json!("0x2105"),
        Some("eth_call") => json!(format!("{balance:#066x}")),
        _ => json!({ "number": "0x64", "hash": format!("0x{}", "11".repeat(32)),
            "parentHash": format!("0x{}", "12".repeat(32)), "timestamp": "0x6920d2c0" }),
    };
    Scripted::start(move |mut turn| {
        let balance = balance.load(Ordering::Relaxed);
        if balance == SILENT {
            return turn.answer(503, "text/plain", "later");
        }
        let answer = |call: &Value| json!({ "jsonrpc": "2.0", "id": call["id"], "result": result(call, balance) });
        let calls: Value = serde_json::from_str(turn.got.text()).expect("JSON");
        let answers = match calls.as_array() {
            Some(calls) => calls.iter().map(answer).collect(),
            None => answer(&calls),
        };
        turn.json(&answers.to_string());
    })
}

fn with_wallet(sandbox: &Sandbox, payments: Value) -> Value {
    let mut all = config(&[]);
    all["providers"]["blockrun"] =
        json!({ "base_url": sandbox.at("/blockrun/api/v1"), "wallet_key": KEY });
    all["alerts"] = json!({ "check_every": "100ms" });
    all["payments"] = payments;
    all
}

fn endpoints(chain: &Scripted) -> Value {
    json!({ "rpc_urls": [format!("http://{}", chain.address)], "rpc_allow_private": true })
}

/// The row of a provider in `/status`, once it is looked up.
fn row(gateway: &Gateway, provider: &str) -> Value {
    eventually("the funds are looked up", || {
        let status = Request::get("/status").send(gateway.admin).json();
        let rows = status["funds"].as_array().cloned().unwrap_or_default();
        let row = rows.into_iter().find(|row| row["provider"] == provider);
        row.filter(|row| !row["usd"].is_null() || !row["error"].is_null())
    })
}

fn page(gateway: &Gateway, path: &str) -> String {
    let text = Request::get(path).with("accept", "text/html");
    text.send(gateway.admin).text()
}

fn firing(gateway: &Gateway) -> Vec<Value> {
    let alerts = Request::get("/admin/alerts").send(gateway.admin).json();
    let firing = alerts["firing"].as_array().cloned().unwrap_or_default();
    firing
        .into_iter()
        .filter(|one| one["event"] == "provider.credit_low")
        .collect()
}

#[test]
fn a_wallet_with_less_than_one_call_can_cost_is_an_alert() {
    let sandbox = Sandbox::start();
    let balance = Arc::new(AtomicU64::new(999_999));
    let chain = chain(&balance);
    let gateway = Gateway::start(&with_wallet(&sandbox, endpoints(&chain)));
    let told = row(&gateway, "blockrun");
    assert_eq!(told["kind"], "wallet");
    assert_eq!(told["usd"], "0.999999", "{told}");
    assert_eq!(told["needs_usd"], "1.000000");
    assert!(told["read_at"].is_string(), "{told}");
    let alert = eventually("the alert", || firing(&gateway).pop());
    assert_eq!(alert["subject"], "blockrun wallet");
    assert!(
        alert["text"].to_string().contains("0.999999 USD"),
        "{alert}"
    );
    let metrics = Request::get("/metrics").send(gateway.admin).text();
    let line = r#"bardo_provider_funds_usd{provider="blockrun",kind="wallet"} 0.999999"#;
    assert!(metrics.contains(line), "{metrics}");
    let providers = page(&gateway, "/console/providers");
    assert!(providers.contains("$0.999999"), "{providers}");
    assert!(!providers.contains(&KEY[2..]));
}

#[test]
fn a_wallet_with_enough_is_none() {
    let sandbox = Sandbox::start();
    let chain = chain(&Arc::new(AtomicU64::new(1_000_000)));
    let gateway = Gateway::start(&with_wallet(&sandbox, endpoints(&chain)));
    assert_eq!(row(&gateway, "blockrun")["usd"], "1.000000");
    assert_eq!(firing(&gateway), Vec::<Value>::new());
}

#[test]
fn a_balance_that_nobody_tells_is_unknown_and_not_zero() {
    let sandbox = Sandbox::start();
    let silent = chain(&Arc::new(AtomicU64::new(SILENT)));
    let known = chain(&Arc::new(AtomicU64::new(5_000_000)));
    let other_network = with(
        json!({ "p": endpoints(&known) }),
        "p",
        json!({ "network": "base-sepolia" }),
    );
    for (payments, reason) in [
        (json!({}), "payments.rpc_urls"),
        (endpoints(&silent), ""),
        (other_network["p"].clone(), "another network"),
    ] {
        let gateway = Gateway::start(&with_wallet(&sandbox, payments));
        let told = row(&gateway, "blockrun");
        assert_eq!(told["usd"], Value::Null, "{told}");
        let error = told["error"].as_str().expect("a reason");
        assert!(error.contains(reason), "{error}");
        assert_eq!(firing(&gateway), Vec::<Value>::new(), "{error}");
        let metrics = Request::get("/metrics").send(gateway.admin).text();
        assert!(!metrics.contains("provider_funds_usd{"), "{metrics}");
        let providers = page(&gateway, "/console/providers");
        assert!(providers.contains("unknown"), "{providers}");
    }
}

#[test]
fn the_doctor_reads_the_wallet() {
    let sandbox = Sandbox::start();
    let balance = Arc::new(AtomicU64::new(0));
    let chain = chain(&balance);
    let folder = Folder::new();
    let settings = with(
        with_wallet(&sandbox, endpoints(&chain)),
        "providers.blockrun",
        json!({ "wallet_scheme": "upto" }),
    );
    let file = folder.write("wallet.yaml", &settings.to_string());
    let look = |subject: &str| {
        let mut doctor = command(&folder);
        doctor.args(["doctor", "--json", "--config"]).arg(&file);
        let out = doctor.output().expect("it runs").stdout;
        let findings = String::from_utf8(out).expect("UTF-8");
        let mut findings = findings
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        findings
            .find(|one| one["subject"] == subject)
            .expect("a finding")
    };
    for (amount, state, part) in [
        (999_999, "warning", "0.999999 USDC"),
        (1_000_000, "ok", "1.000000 USDC"),
        (SILENT, "unknown", ""),
    ] {
        balance.store(amount, Ordering::Relaxed);
        // This chain says one number for the balance and for the approval.
        let approval = look("Permit2 of the wallet");
        assert_eq!(approval["state"], state, "{approval}");
        let told = look("balance of the wallet");
        assert_eq!(told["state"], state, "{told}");
        assert!(told["text"].to_string().contains(part), "{told}");
    }
}

#[test]
fn the_credit_at_bankr_is_shown_whether_or_not_it_bounds_calls() {
    let sandbox = Sandbox::start();
    let alerts = json!({ "check_every": "100ms", "low_credit_usd": 10 });
    for bankr in [json!({}), json!({ "self_funding": true })] {
        let mut settings = with(everything(&sandbox), "providers.bankr", bankr);
        settings["alerts"] = alerts.clone();
        let gateway = Gateway::start(&settings);
        let told = row(&gateway, "bankr");
        // The simulated account has 9.15 USD.
        assert_eq!(
            (&told["kind"], &told["usd"]),
            (&json!("credit"), &json!("9.150000"))
        );
        assert_eq!(told["daily_budget"], Value::Null, "none is set");
        let alert = eventually("the alert", || firing(&gateway).pop());
        assert_eq!(alert["subject"], "bankr");
        let metrics = Request::get("/metrics").send(gateway.admin).text();
        let line = r#"bardo_provider_funds_usd{provider="bankr",kind="credit"} 9.15"#;
        assert!(metrics.contains(line), "{metrics}");
    }
}

#[test]
fn usage_at_bankr_stands_beside_the_receipts() {
    let sandbox = Sandbox::start();
    let settings = everything(&sandbox);
    let gateway = Gateway::start(&settings);
    let body = Caller::Chat.request("bankr/claude-sonnet-4-6", "Hello", false);
    let answer = gateway.send(&Request::json(Caller::Chat.path(), &body));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    drop(gateway);
    // The next one reads what the simulated account counted.
    let gateway = Gateway::start(&settings);
    let usage = eventually("the usage", || {
        Some(row(&gateway, "bankr")["usage"].clone()).filter(Value::is_object)
    });
    assert_eq!(usage["days"], 30);
    assert_ne!(usage["provider_usd"], "0.000000", "{usage}");
    assert_eq!(usage["receipts_usd"], "0.000000", "in a folder of its own");
}

#[test]
fn a_budget_of_the_day_is_shown_as_bankr_says_it() {
    let bankr = Scripted::start(|mut turn| {
        let path = turn.got.line.split(' ').nth(1).unwrap_or_default();
        match path {
            "/v1/credits" => turn
                .json(r#"{"balanceUsd":9,"effectiveBalanceUsd":8.5,"dailyBudget":{"limitUsd":5}}"#),
            "/v1/usage?days=30" => turn.json(r#"{"days":30,"totals":{"totalCost":0.41}}"#),
            _ => turn.answer(404, "application/json", "{}"),
        }
    });
    let mut settings = config(&[]);
    let base_url = format!("http://{}/v1", bankr.address);
    settings["providers"]["bankr"] =
        json!({ "api_key": "bk_1", "base_url": base_url, "allow_private": true });
    let gateway = Gateway::start(&settings);
    let told = row(&gateway, "bankr");
    assert_eq!(told["usd"], "8.500000", "{told}");
    assert_eq!(told["daily_budget"], json!({ "limitUsd": 5 }));
    let providers = page(&gateway, "/console/providers");
    assert!(providers.contains("limitUsd"), "{providers}");
}
