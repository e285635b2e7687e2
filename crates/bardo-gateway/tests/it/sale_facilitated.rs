//! Payments that a facilitator elsewhere settles, on a real chain: what it says is not believed, and
//! what it does not say is no refusal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bardo_store::servers::ChainNode;
use bardo_x402::evm::Signer;
use bardo_x402::wire::{PaymentScheme, SettlementReceipt, X402Version};
use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::payer::{self, micro, offer, paid, payment_of, receipt, refused, sign};
use crate::rig::{Folder, Gateway, Sandbox, command, eventually, everything, with};
use crate::scripted::{Scripted, Turn};
use crate::sse::Caller;

/// An account of the node, which sends what the facilitator settles.
const SENDER: &str = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const PAY_TO: &str = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const RICH: u64 = 10_000_000;

/// What the facilitator does at `/settle`.
#[derive(Clone, Copy, PartialEq)]
enum Settling {
    Honest,
    ThenHangs,
    ThenFails,
    SaysPending,
    Refuses,
    /// Settles, and says that the payment was used before, as after a request that was lost.
    SaysUsed,
    /// Settles nothing, and says that the payment was used before.
    SaysUsedFirst,
    Lies,
}

struct Facilitated {
    node: Arc<ChainNode>,
    sandbox: Sandbox,
    facilitator: Scripted,
    settling: Arc<Mutex<Settling>>,
    verdict: Arc<Mutex<(u16, &'static str)>>,
    gateway: Gateway,
}

const VALID: (u16, &str) = (200, r#"{"isValid":true}"#);
const SUPPORTED: &str = r#"{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:8453"}]}"#;

/// Sends the authorization of a request to the chain; the hash of its transaction, if a block took it.
fn transfer(node: &ChainNode, request: &Value) -> Option<String> {
    let payload = &request["paymentPayload"]["payload"];
    let signed = &payload["authorization"];
    let digits = |value: &Value| value.as_str().unwrap_or_default()[2..].to_owned();
    let number = |value: &Value| -> u64 { value.as_str().expect("text").parse().expect("digits") };
    let signature = digits(&payload["signature"]);
    let (r, s, v) = (&signature[..64], &signature[64..128], &signature[128..]);
    let data = format!(
        "0xe3ee160e{:0>64}{:0>64}{:064x}{:064x}{:064x}{}{v:0>64}{r}{s}",
        digits(&signed["from"]),
        digits(&signed["to"]),
        number(&signed["value"]),
        number(&signed["validAfter"]),
        number(&signed["validBefore"]),
        digits(&signed["nonce"]),
    );
    let sent = json!([{ "from": SENDER, "to": ChainNode::USDC, "data": data }]);
    let hash = node.call("eth_sendTransaction", &sent).ok()?;
    Some(hash.as_str()?.to_owned())
}

fn settle(node: &ChainNode, settling: Settling, mut turn: Turn) {
    let request: Value = serde_json::from_slice(&turn.got.body).expect("JSON");
    let network = &request["paymentRequirements"]["network"];
    let failed = |reason: &str| json!({ "success": false, "errorReason": reason, "transaction": "", "network": network });
    let answer = match settling {
        Settling::Refuses => failed("insufficient_funds"),
        Settling::SaysUsedFirst => failed("invalid_exact_evm_nonce_already_used"),
        Settling::Lies => json!({ "success": true, "network": network,
            "transaction": format!("0x{}", "ab".repeat(32)) }),
        _ => match transfer(node, &request) {
            None => failed("invalid_exact_evm_nonce_already_used"),
            Some(hash) => {
                json!({ "success": true, "transaction": hash, "network": network })
            }
        },
    };
    match settling {
        Settling::ThenHangs => drop(turn.closed()),
        Settling::ThenFails => turn.answer(502, "text/html", "<html>bad gateway</html>"),
        Settling::SaysUsed => {
            turn.json(&failed("invalid_exact_evm_nonce_already_used").to_string())
        }
        Settling::SaysPending => turn.json(&failed("settlement_pending").to_string()),
        _ => turn.json(&answer.to_string()),
    }
}

impl Facilitated {
    fn open(more: Value) -> Self {
        let node = Arc::new(ChainNode::start().expect("a node"));
        let payer = Signer::from_bytes(payer::KEY).expect("a key").address();
        node.mint(&payer.to_string(), RICH).expect("USDC");
        let settling = Arc::new(Mutex::new(Settling::Honest));
        let verdict = Arc::new(Mutex::new(VALID));
        let facilitator = Scripted::start({
            let (node, settling) = (Arc::clone(&node), Arc::clone(&settling));
            let verdict = Arc::clone(&verdict);
            move |mut turn| {
                let line = turn.got.line.clone();
                if line.contains("/supported") {
                    turn.json(SUPPORTED);
                } else if line.contains("/verify") {
                    let (status, body) = *verdict.lock().expect("nobody panicked");
                    turn.answer(status, "application/json", body);
                } else {
                    let settling = *settling.lock().expect("nobody panicked");
                    settle(&node, settling, turn);
                }
            }
        });
        let sandbox = Sandbox::start();
        let config = config(&node, &sandbox, &facilitator, more);
        let gateway = Gateway::start(&config);
        Self {
            node,
            sandbox,
            facilitator,
            settling,
            verdict,
            gateway,
        }
    }

    fn does(&self, settling: Settling) {
        *self.settling.lock().expect("nobody panicked") = settling;
    }

    fn chat(&self) -> Request {
        let mut body = Caller::Chat.request("gpt-5.5", "Hi", false);
        body["max_completion_tokens"] = json!(200);
        Request::json(Caller::Chat.path(), &body)
    }

    /// A paid request, not sent yet.
    fn payment(&self, version: X402Version) -> Request {
        let request = self.chat();
        let offered = self.gateway.send(&request);
        paid(&request, &sign(&offered, version, PaymentScheme::Exact))
    }

    fn settled(&self, answer: &Answer) -> Value {
        eventually("the settlement", || {
            let found = payment_of(&self.gateway, answer);
            (found["status"] == "settled").then_some(found)
        })
    }

    fn asked(&self, place: &str) -> Vec<Value> {
        let got = self.facilitator.got().into_iter();
        got.filter(|got| got.line.contains(place))
            .map(|got| serde_json::from_slice(&got.body).expect("JSON"))
            .collect()
    }

    fn revenue(&self) -> u64 {
        self.node.balance(PAY_TO).expect("a balance")
    }
}

fn config(node: &ChainNode, sandbox: &Sandbox, facilitator: &Scripted, more: Value) -> Value {
    let mut config = everything(sandbox);
    config["payments"] = json!({
        "enabled": true,
        "facilitator_url": facilitator.at("/x402/"),
        "facilitator_key": "token-of-the-facilitator",
        "quote_secret": "a secret of more than thirty-two characters",
        "schemes": ["exact"],
        "pay_to": PAY_TO,
        "rpc_urls": [node.url()],
        "rpc_allow_private": true,
        "confirmations": 1,
    });
    with(config, "payments", more)
}

#[test]
fn a_facilitator_verifies_and_settles_in_both_versions() {
    let shop = Facilitated::open(json!({}));
    let mut moved = 0;
    for version in [X402Version::V2, X402Version::V1] {
        let answer = shop.gateway.send(&shop.payment(version));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let found = receipt(&answer, version);
        let SettlementReceipt::Settled { transaction, .. } = found else {
            unreachable!("{found:?}");
        };
        let settled = shop.settled(&answer);
        let told = transaction.expect("a transaction").to_string();
        assert_eq!(settled["transaction"], told);
        moved += micro(&settled["settled_usd"]);
        assert_eq!(shop.revenue(), moved);
    }
    let (verified, settled) = (shop.asked("/x402/verify"), shop.asked("/x402/settle"));
    assert_eq!((verified.len(), settled.len()), (2, 2));
    assert_eq!(verified, settled, "the identical request");
    for request in settled {
        let requirement = &request["paymentRequirements"];
        assert_eq!(requirement["payTo"], PAY_TO, "{requirement}");
    }
    let token = "Bearer token-of-the-facilitator".to_owned();
    let key = ("authorization".to_owned(), token);
    let got = shop.facilitator.got();
    assert!(got.iter().all(|got| got.headers.contains(&key)), "{got:?}");
    assert!(!shop.gateway.log().contains("token-of-the-facilitator"));
    let status = shop.gateway.status();
    let name = shop.facilitator.address.to_string();
    assert_eq!(status["payments"]["facilitator"], name, "{status}");
    assert!(!status.to_string().contains("token-of-the-facilitator"));
    let page = Request::get("/console/payments").send(shop.gateway.admin);
    assert!(page.text().contains(&name));
}

#[test]
fn what_a_facilitator_does_not_say_is_found_on_the_chain_and_charged_once() {
    let shop = Facilitated::open(json!({ "settlement_wait": "200ms" }));
    let mut moved = 0;
    for settling in [
        Settling::ThenHangs,
        Settling::ThenFails,
        Settling::SaysPending,
        Settling::SaysUsed,
    ] {
        shop.does(settling);
        let request = shop.payment(X402Version::V2);
        let answer = shop.gateway.send(&request);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        // The payment is spent: no fresh offer, and no second answer.
        let again = shop.gateway.send(&request);
        refused(&again, 409, "payment_used");
        assert_eq!(again.header("payment-required"), None);
        let settled = shop.settled(&answer);
        moved += micro(&settled["settled_usd"]);
        assert_eq!(shop.revenue(), moved);
    }
    // Nobody believes what is not on the chain: no success, and no use of the payment.
    for settling in [Settling::SaysUsedFirst, Settling::Lies] {
        shop.does(settling);
        let answer = shop.gateway.send(&shop.payment(X402Version::V2));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let found = payment_of(&shop.gateway, &answer);
        assert_eq!(found["status"], "settling", "{found}");
        assert_eq!(found["transaction"], Value::Null, "{found}");
        shop.does(Settling::Honest);
        moved += micro(&shop.settled(&answer)["settled_usd"]);
        assert_eq!(shop.revenue(), moved);
    }
    let settled = shop.asked("/settle");
    let of_last = settled.last().expect("it was asked");
    let same = settled.iter().filter(|request| *request == of_last).count();
    assert!(same >= 2, "it was asked again with the identical request");
}

#[test]
fn a_refusal_is_told_before_a_provider_is_called_and_silence_is_no_refusal() {
    let shop = Facilitated::open(json!({}));
    let verdict = |status, body| {
        *shop.verdict.lock().expect("nobody panicked") = (status, body);
    };
    let request = shop.payment(X402Version::V2);
    shop.sandbox.forget();
    for status in [200, 400] {
        verdict(
            status,
            r#"{"isValid":false,"invalidReason":"sanctioned_wallet"}"#,
        );
        let answer = shop.gateway.send(&request);
        refused(&answer, 402, "payment_required");
        assert!(
            answer.text().contains("sanctioned_wallet"),
            "{}",
            answer.text()
        );
        assert_eq!(offer(&answer)["error"], "invalid_transaction_state");
    }
    for (status, body) in [
        (500, r#"{"isValid":false,"invalidReason":"down"}"#),
        (401, r#"{"isValid":false,"invalidReason":"who"}"#),
        (
            200,
            r#"{"isValid":false,"invalidReason":"unexpected_verify_error"}"#,
        ),
        (200, "<html>"),
    ] {
        verdict(status, body);
        let answer = shop.gateway.send(&request);
        refused(&answer, 503, "payment_pending");
        assert_eq!(answer.header("payment-required"), None, "{body}");
    }
    assert!(shop.sandbox.journal().is_empty(), "a provider was called");
    assert!(shop.asked("/settle").is_empty());
    let (status, body) = VALID;
    verdict(status, body);
    assert_eq!(shop.gateway.send(&request).status(), 200);
    // A settlement that is refused is a debt, with a status of success too.
    shop.does(Settling::Refuses);
    let answer = shop.gateway.send(&shop.payment(X402Version::V2));
    refused(&answer, 402, "payment_debt");
    assert!(
        answer.text().contains("insufficient_funds"),
        "{}",
        answer.text()
    );
}

#[test]
fn settings_that_a_facilitator_does_not_go_with_are_refused_by_name() {
    let (node, sandbox) = (ChainNode::start().expect("a node"), Sandbox::start());
    let asked = AtomicBool::new(false);
    let other = Scripted::start(move |mut turn| {
        asked.store(true, Ordering::Relaxed);
        turn.json(r#"{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:1"}]}"#);
    });
    for (more, words) in [
        (
            json!({ "schemes": ["upto", "exact"] }),
            "payments.facilitator_url` needs `schemes",
        ),
        (json!({ "pay_to": null }), "payments.pay_to` is required"),
        (json!({ "quote_secret": "short" }), "payments.quote_secret"),
        (
            json!({ "settlement_key": format!("0x{}", "59".repeat(32)) }),
            "exclude each other",
        ),
        (
            json!({ "facilitator_url": "no address" }),
            "payments.facilitator_url",
        ),
        (json!({}), "does not settle `exact` on eip155:8453"),
    ] {
        let config = config(&node, &sandbox, &other, more);
        let folder = Folder::new();
        let file = folder.write("config.yaml", &config.to_string());
        let mut serve = command(&folder);
        serve.args(["serve", "--config"]).arg(file);
        let refusal = Gateway::refusal(&folder, serve);
        assert!(refusal.contains(words), "{words}: {refusal}");
        assert!(!refusal.contains("token-of-the-facilitator"));
    }
}

#[test]
fn doctor_says_whether_the_facilitator_settles() {
    let (node, sandbox) = (ChainNode::start().expect("a node"), Sandbox::start());
    let doctor = |facilitator: &Scripted| {
        let config = config(&node, &sandbox, facilitator, json!({}));
        let folder = Folder::new();
        let file = folder.write("bardo.json", &config.to_string());
        let mut doctor = command(&folder);
        doctor.args(["doctor", "--json", "--config"]).arg(file);
        let out = doctor.output().expect("it runs");
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    for (body, words) in [
        (SUPPORTED, "it settles `exact` on the network"),
        (
            r#"{"kinds":[]}"#,
            "it does not settle `exact` on the network",
        ),
        ("<html>", "it does not answer"),
    ] {
        let said = doctor(&Scripted::always(body));
        assert!(said.contains(words), "{words}: {said}");
        assert!(!said.contains("token-of-the-facilitator"), "{said}");
    }
}
