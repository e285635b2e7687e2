//! A wallet of the operator's that pays BlockRun per call. The seller verifies its signatures.

use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::rig::{Folder, Gateway, Sandbox, command, config, with};
use crate::sse::Caller;

/// A public test key and its address.
const KEY: &str = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
const ADDRESS: &str = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

fn blockrun(sandbox: &Sandbox, more: Value) -> Value {
    let mut all = config(&[]);
    all["providers"]["blockrun"] =
        json!({ "base_url": sandbox.at("/blockrun/api/v1"), "wallet_key": KEY });
    with(all, "providers.blockrun", more)
}

fn ask(gateway: &Gateway) -> Answer {
    let body = Caller::Chat.request("claude-sonnet-5", "Hello", false);
    gateway.send(&Request::json(Caller::Chat.path(), &body))
}

#[test]
fn each_call_is_paid_with_a_genuine_signature_and_is_in_the_receipt() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&blockrun(&sandbox, json!({})));
    for caller in Caller::ALL {
        for stream in [false, true] {
            let body = caller.request("claude-sonnet-5", "Hello", stream);
            let answer = gateway.send(&Request::json(caller.path(), &body));
            assert_eq!(answer.status(), 200, "{caller:?}: {}", answer.text());
            let id = answer.header("x-bardo-request-id").expect("an id");
            let receipt = gateway
                .send(&Request::get(&format!("/v1/receipts/{id}")))
                .json();
            let paid = &receipt["attempts"][0]["payment"];
            assert_eq!(paid["network"], "eip155:8453", "{receipt}");
            assert!(
                paid["reference"]
                    .as_str()
                    .is_some_and(|nonce| nonce.len() == 66)
            );
        }
    }
    // `balance verify` holds them against what was booked.
    let books = Request::get("/admin/verify").send(gateway.admin);
    let paid = &books.json()["provider_payments"];
    assert_eq!(paid["payments"], 2 * Caller::ALL.len(), "{}", books.text());
    assert_eq!(paid["unanswered"], "0.000000");
    let usd = |name: &str| paid[name].as_str().and_then(|usd| usd.parse::<f64>().ok());
    let [signed, taken, booked] = ["signed", "taken", "booked"].map(|name| usd(name).expect("USD"));
    assert!(signed > 0.0 && booked > 0.0 && taken <= signed, "{paid}");
    let difference = usd("difference").expect("USD");
    assert!((booked - taken - difference).abs() < 1e-9, "{paid}");
    let log = gateway.log();
    assert!(log.contains(ADDRESS), "the log names the wallet");
    assert!(!log.contains(&KEY[2..]), "the log has the key");
}

#[test]
fn a_wallet_that_may_pay_by_use_has_the_settled_amount_in_the_receipt() {
    let sandbox = Sandbox::start();
    // The sandbox offers `upto` for this model alone.
    for (model, scheme) in [("claude-opus-5-5", "upto"), ("claude-sonnet-5", "exact")] {
        let gateway = Gateway::start(&blockrun(&sandbox, json!({ "wallet_scheme": "upto" })));
        let mut body = Caller::Chat.request(model, "Hello", false);
        body["max_completion_tokens"] = json!(4_000);
        let answer = gateway.send(&Request::json(Caller::Chat.path(), &body));
        assert_eq!(answer.status(), 200, "{model}: {}", answer.text());
        let id = answer.header("x-bardo-request-id").expect("an id");
        let receipt = gateway
            .send(&Request::get(&format!("/v1/receipts/{id}")))
            .json();
        let paid = &receipt["attempts"][0]["payment"];
        assert_eq!(paid["scheme"], scheme, "{receipt}");
        assert_eq!(paid["settlement"], "settled", "{receipt}");
        assert!(
            paid["transaction"]
                .as_str()
                .is_some_and(|hash| hash.len() == 66)
        );
        let usd = |name: &str| paid[name].as_str().and_then(|usd| usd.parse::<f64>().ok());
        let (signed, settled) = (usd("amount").expect("USD"), usd("settled").expect("USD"));
        assert_eq!(settled < signed, scheme == "upto", "{paid}");
        let books = Request::get("/admin/verify").send(gateway.admin).json();
        let books = &books["provider_payments"];
        assert_eq!(books["taken"], paid["settled"], "{books}");
        assert_eq!(books["pending"], 0);
    }
}

#[test]
fn a_keystore_pays_once_its_passphrase_is_there() {
    let (sandbox, folder) = (Sandbox::start(), Folder::new());
    let key = std::array::from_fn(|at| {
        u8::from_str_radix(&KEY[2 + 2 * at..4 + 2 * at], 16).expect("digits")
    });
    let sealed = bardo_keystore::seal(&key, "correct horse").expect("a keystore");
    let file = folder.0.join("wallet.json");
    std::fs::write(&file, sealed).expect("a file");
    let keystore = format!("file:{}", file.display());
    let settings = json!({ "wallet_key": keystore, "wallet_passphrase": "correct horse" });
    let gateway = Gateway::start(&blockrun(&sandbox, settings));
    assert_eq!(ask(&gateway).status(), 200);
    let log = gateway.log();
    assert!(
        log.contains(ADDRESS) && !log.contains("correct horse"),
        "{log}"
    );
}

#[test]
fn a_wallet_pays_no_more_than_its_caps() {
    let sandbox = Sandbox::start();
    for (cap, told) in [
        (
            "wallet_max_per_call_usd",
            "is above the limit of 0.000001 USD",
        ),
        (
            "wallet_max_per_day_usd",
            "the wallet may pay 0.000001 USD a day",
        ),
    ] {
        let gateway = Gateway::start(&blockrun(&sandbox, json!({ cap: 0.000_001 })));
        let answer = ask(&gateway);
        assert!(answer.status() >= 400, "{cap}: {}", answer.text());
        let log = gateway.log();
        assert!(log.contains(told), "{cap}: {log}");
    }
}

#[test]
fn a_wallet_for_the_test_network_does_not_pay_on_the_real_one() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&blockrun(
        &sandbox,
        json!({ "wallet_network": "base-sepolia" }),
    ));
    assert!(ask(&gateway).status() >= 400);
}

#[test]
fn settings_that_mean_nothing_are_refused_without_the_key() {
    let sandbox = Sandbox::start();
    for (more, told) in [
        (
            json!({ "wallet_key": "0x1234" }),
            "`providers.blockrun.wallet_key`: a private key is 32 bytes",
        ),
        (json!({ "api_key": "brk_live_1" }), "keep one"),
        (
            json!({ "wallet_max_per_day_usd": -1 }),
            "wallet_max_per_day_usd",
        ),
    ] {
        let folder = Folder::new();
        let file = folder.write("bardo.json", &blockrun(&sandbox, more).to_string());
        let mut serve = command(&folder);
        serve.args(["serve", "--config"]).arg(file);
        let refused = Gateway::refusal(&folder, serve);
        assert!(refused.contains(told), "{told}: {refused}");
        assert!(!refused.contains(&KEY[2..]));
    }
}

#[test]
fn doctor_says_what_pays_a_seller_per_call() {
    let folder = Folder::new();
    let told =
        format!("{ADDRESS} pays each call: at most 1.000000 USD for one and 2.000000 USD in a day");
    for (blockrun, state, told) in [
        (json!({}), "problem", "neither a key nor a wallet"),
        (
            json!({ "wallet_key": KEY, "wallet_max_per_day_usd": 2 }),
            "ok",
            &*told,
        ),
    ] {
        let config = json!({ "providers": { "blockrun": blockrun } });
        let file = folder.write("bardo.json", &config.to_string());
        let mut doctor = command(&folder);
        doctor
            .args(["doctor", "--json", "--offline", "--config"])
            .arg(file);
        let out = doctor.output().expect("it runs").stdout;
        let out = String::from_utf8(out).expect("UTF-8");
        let line = out.lines().find(|line| line.contains(told));
        let line = line.unwrap_or_else(|| panic!("{told}: {out}"));
        let found: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(found["state"], state, "{line}");
        assert!(!out.contains(&KEY[2..]));
    }
}
