//! Callers without a key, who pay for single requests by x402 on a real chain: a node with the
//! contracts of payments at their real addresses.

use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

use bardo_store::servers::ChainNode;
use bardo_x402::evm::Signer;
use bardo_x402::wire::{PaymentScheme, SettlementReceipt, X402Version};
use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::payer::{self, micro, paid, payment_of, receipt, refused, sign};
use crate::rig::{Folder, Gateway, Sandbox, command, eventually, everything, with};
use crate::scripted::Scripted;
use crate::sse::Caller;

/// A key of the node's own, which has ETH: it settles.
const SETTLER: &str = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
/// An account that is paid and has no key here.
pub(crate) const PAY_TO: &str = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
/// The balance of a payer: 10 USDC.
pub(crate) const RICH: u64 = 10_000_000;

/// A gateway that sells on a chain of its own, and a payer with money.
pub(crate) struct Shop {
    pub(crate) node: ChainNode,
    pub(crate) gateway: Gateway,
    sandbox: Sandbox,
    pub(crate) payer: String,
}

impl Shop {
    pub(crate) fn open(more: Value) -> Self {
        let sandbox = Sandbox::start();
        Self::behind(sandbox, &sandbox.at("/openrouter/api/v1"), more)
    }

    /// A shop whose backend that is billed has this URL.
    fn behind(sandbox: Sandbox, openrouter: &str, more: Value) -> Self {
        let node = ChainNode::start().expect("a node");
        let payer = Signer::from_bytes(payer::KEY).expect("a key");
        let payer = payer.address().to_string();
        node.mint(&payer, RICH).expect("USDC");
        node.approve_permit2(&payer, RICH).expect("an allowance");
        let mut config = Self::config(&node, &sandbox, more);
        config["providers"]["openrouter"]["base_url"] = json!(openrouter);
        let gateway = Gateway::start(&config);
        Self {
            node,
            gateway,
            sandbox,
            payer,
        }
    }

    fn config(node: &ChainNode, sandbox: &Sandbox, more: Value) -> Value {
        let mut config = everything(sandbox);
        config["payments"] = json!({
            "enabled": true,
            "settlement_key": SETTLER,
            "pay_to": PAY_TO,
            "rpc_urls": [node.url()],
            "rpc_allow_private": true,
            "confirmations": 1,
        });
        with(config, "payments", more)
    }

    pub(crate) fn chat(&self) -> Request {
        let mut body = Caller::Chat.request("gpt-5.5", "Hi", false);
        body["max_completion_tokens"] = json!(200);
        Request::json(Caller::Chat.path(), &body)
    }

    pub(crate) fn buy(
        &self,
        request: &Request,
        version: X402Version,
        scheme: PaymentScheme,
    ) -> Answer {
        let payment = sign(&self.gateway.send(request), version, scheme);
        self.gateway.send(&paid(request, &payment))
    }

    #[track_caller]
    pub(crate) fn settled(&self, answer: &Answer) -> Value {
        eventually("the settlement", || {
            let found = payment_of(&self.gateway, answer);
            (found["status"] == "settled").then_some(found)
        })
    }

    /// Waits until the gateway has read the transfers of all blocks, and has booked what is due.
    #[track_caller]
    fn until_transfers_are_known(&self) {
        let head = self.node.head().expect("a block");
        eventually("all blocks are read", || {
            let status = Request::get("/status").send(self.gateway.admin).json();
            let known = status["payments"]["transfers_block"].as_u64();
            known.is_some_and(|block| block >= head).then_some(())
        });
    }

    pub(crate) fn revenue(&self) -> u64 {
        self.node.balance(PAY_TO).expect("a balance")
    }
}

#[test]
fn what_is_charged_moves_on_the_chain_in_every_scheme_and_version() {
    let shop = Shop::open(json!({}));
    let mut moved = 0;
    for (version, scheme) in [
        (X402Version::V2, PaymentScheme::Upto),
        (X402Version::V2, PaymentScheme::Exact),
        (X402Version::V1, PaymentScheme::Exact),
    ] {
        for stream in [false, true] {
            let mut body = Caller::Chat.request("gpt-5.5", "Hi", stream);
            body["max_completion_tokens"] = json!(200);
            let request = Request::json(Caller::Chat.path(), &body);
            let answer = shop.buy(&request, version, scheme);
            let what = format!("{version:?} {scheme:?} {stream}");
            assert_eq!(answer.status(), 200, "{what}: {}", answer.text());
            let found = shop.settled(&answer);
            moved += micro(&found["settled_usd"]);
            assert_eq!(shop.revenue(), moved, "{what}: {found}");
            assert_eq!(
                shop.node.balance(&shop.payer).expect("a balance"),
                RICH - moved
            );
            if !stream {
                let SettlementReceipt::Settled { transaction, .. } = receipt(&answer, version)
                else {
                    unreachable!("{what}: {}", answer.text());
                };
                let told = transaction.expect("a transaction").to_string();
                assert_eq!(found["transaction"], told, "{what}");
            }
        }
    }
}

#[test]
fn a_payer_without_money_allowance_or_signature_is_refused_before_a_provider_is_called() {
    let shop = Shop::open(json!({}));
    let request = shop.chat();
    let upto = sign(
        &shop.gateway.send(&request),
        X402Version::V2,
        PaymentScheme::Upto,
    );
    let exact = sign(
        &shop.gateway.send(&request),
        X402Version::V2,
        PaymentScheme::Exact,
    );
    shop.sandbox.forget();
    shop.node
        .approve_permit2(&shop.payer, 0)
        .expect("it is withdrawn");
    let answer = shop.gateway.send(&paid(&request, &upto));
    refused(&answer, 402, "payment_required");
    assert_eq!(payer::offer(&answer)["error"], "permit2_allowance_required");
    shop.node.empty(&shop.payer).expect("it is gone");
    let answer = shop.gateway.send(&paid(&request, &exact));
    refused(&answer, 402, "payment_required");
    assert_eq!(
        payer::offer(&answer)["error"],
        "invalid_exact_evm_insufficient_balance"
    );
    assert_eq!(shop.sandbox.journal().len(), 0);
    shop.node.mint(&shop.payer, RICH).expect("USDC");
    assert_eq!(shop.gateway.send(&paid(&request, &exact)).status(), 200);
}

#[test]
fn a_used_nonce_is_refused_also_by_a_gateway_that_forgot_it() {
    let shop = Shop::open(json!({}));
    let request = shop.chat();
    let payment = sign(
        &shop.gateway.send(&request),
        X402Version::V2,
        PaymentScheme::Exact,
    );
    let answer = shop.gateway.send(&paid(&request, &payment));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    shop.settled(&answer);
    let other = Gateway::start(&Shop::config(&shop.node, &shop.sandbox, json!({})));
    let answer = other.send(&paid(&request, &payment));
    refused(&answer, 402, "payment_required");
    assert_eq!(
        payer::offer(&answer)["error"],
        "invalid_exact_evm_nonce_already_used"
    );
}

#[test]
fn a_settled_payment_that_comes_again_gets_its_answer_and_no_fresh_offer() {
    let shop = Shop::open(json!({}));
    for scheme in [PaymentScheme::Upto, PaymentScheme::Exact] {
        let request = shop.chat();
        let payment = sign(&shop.gateway.send(&request), X402Version::V2, scheme);
        let request = paid(&request, &payment);
        let keyed = request.clone().with("idempotency-key", scheme.name());
        let answer = shop.gateway.send(&keyed);
        assert_eq!(answer.status(), 200, "{scheme:?}: {}", answer.text());
        shop.settled(&answer);
        shop.node.mine(3).expect("blocks");
        let moved = shop.revenue();
        let again = shop.gateway.send(&keyed);
        assert_eq!(again.status(), 200, "{scheme:?}: {}", again.text());
        assert_eq!(again.text(), answer.text());
        let again = shop.gateway.send(&request);
        refused(&again, 409, "payment_used");
        assert_eq!(again.header("payment-required"), None, "{scheme:?}");
        assert_eq!(shop.revenue(), moved);
    }
}

/// A provider that hands requests on to the simulated one, but none before the sender is dropped.
fn holding(sandbox: Sandbox) -> (Scripted, Sender<()>) {
    let (release, held) = channel();
    let held = Mutex::new(held);
    let provider = Scripted::start(move |mut turn| {
        // Nothing is ever sent: it ends with the sender.
        let _: Result<(), _> = held.lock().expect("no panic").recv();
        let mut line = turn.got.line.split(' ');
        let (method, path) = (line.next().expect("a method"), line.next().expect("a path"));
        let mut request = Request::post(path, turn.got.body.clone()).method(method);
        let mut headers = turn.got.headers.iter();
        if let Some((name, key)) = headers.find(|(name, _)| name == "authorization") {
            request = request.with(name, key);
        }
        let answer = request.send(sandbox.address);
        turn.answer(answer.status(), "application/json", &answer.text());
    });
    (provider, release)
}

/// A shop, and an answer whose payer moved its money away before the settlement.
fn unpaid() -> (Shop, Answer) {
    let sandbox = Sandbox::start();
    let (provider, release) = holding(sandbox);
    let shop = Shop::behind(sandbox, &provider.at("/openrouter/api/v1"), json!({}));
    let request = shop.chat();
    let payment = sign(
        &shop.gateway.send(&request),
        X402Version::V2,
        PaymentScheme::Upto,
    );
    let mut sent = paid(&request, &payment).open(shop.gateway.address);
    eventually("the provider is called", || {
        let got = provider.got();
        got.iter()
            .any(|got| got.line.starts_with("POST "))
            .then_some(())
    });
    shop.node.empty(&shop.payer).expect("it is gone");
    drop(release);
    let answer = sent.answer();
    refused(&answer, 402, "payment_debt");
    (shop, answer)
}

#[test]
fn an_operator_writes_a_debt_off_by_the_admin_api() {
    let (shop, _) = unpaid();
    let admin = |request: Request| request.send(shop.gateway.admin);
    let debts = admin(Request::get("/admin/payments/debts")).json();
    let id = debts["data"][0]["id"].as_str().expect("a debt").to_owned();
    let owed = micro(&debts["data"][0]["debt_usd"]);
    assert!(owed > 0 && micro(&debts["totals"]["debt_usd"]) == owed);
    let path = format!("/admin/payments/debts/{id}/write_off");
    let order = json!({ "reason": "the wallet was emptied by its owner's tool" });
    let written = admin(Request::json(&path, &order));
    assert_eq!(written.status(), 200, "{}", written.text());
    let written = written.json();
    assert_eq!(micro(&written["debt_usd"]), 0, "{written}");
    let end = written["debt_end"].as_str().expect("the end");
    assert!(end.contains("admin API: the wallet was emptied"), "{end}");
    assert_eq!(admin(Request::json(&path, &order)).status(), 409);
    let debts = admin(Request::get("/admin/payments/debts")).json();
    assert_eq!(debts["data"], json!([]));
    // The wallet is served again.
    shop.node.mint(&shop.payer, RICH).expect("USDC");
    shop.node.mine(1).expect("a block");
    eventually("the wallet pays", || {
        let answer = shop.buy(&shop.chat(), X402Version::V2, PaymentScheme::Upto);
        (answer.status() == 200).then_some(())
    });
}

#[test]
fn money_that_is_withdrawn_before_the_settlement_is_a_debt_that_blocks() {
    let (shop, answer) = unpaid();
    let request = shop.chat();
    assert!(
        !answer.text().contains("choices"),
        "the answer is kept back"
    );
    shop.node.mint(&shop.payer, RICH).expect("USDC");
    let answer = shop.buy(&request, X402Version::V2, PaymentScheme::Upto);
    refused(&answer, 402, "payment_debt");
    assert_eq!(shop.revenue(), 0);
    // A deposit pays it, and the wallet is served again.
    let deposit = Request::json("/v1/deposits", &json!({ "amount_usd": "0.50" }));
    let paid_in = shop.buy(&deposit, X402Version::V2, PaymentScheme::Exact);
    assert_eq!(paid_in.status(), 200, "{}", paid_in.text());
    shop.node.mine(2).expect("confirmations");
    eventually("the debt to be paid", || {
        let answer = shop.buy(&request, X402Version::V2, PaymentScheme::Upto);
        (answer.status() == 200).then_some(())
    });
    assert!(shop.revenue() > 500_000);
}

#[test]
fn a_chain_that_does_not_answer_is_no_refusal_and_settles_later() {
    let shop = Shop::open(json!({ "settlement_wait": "100ms" }));
    let request = shop.chat();
    let payment = sign(
        &shop.gateway.send(&request),
        X402Version::V2,
        PaymentScheme::Upto,
    );
    shop.node.freeze();
    let answer = shop.gateway.send(&paid(&request, &payment));
    refused(&answer, 503, "payment_pending");
    assert_eq!(answer.header("payment-required"), None, "no fresh offer");
    shop.node.thaw();
    // Blocks that are not made: the answer comes, and its receipt says what is not known yet.
    shop.node.mines_by_itself(false).expect("it answers");
    let answer = shop.gateway.send(&paid(&request, &payment));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert!(receipt(&answer, X402Version::V2).is_pending());
    shop.node.mines_by_itself(true).expect("it answers");
    shop.node.mine(1).expect("a block");
    let found = shop.settled(&answer);
    assert_eq!(shop.revenue(), micro(&found["settled_usd"]));
}

#[test]
fn a_transfer_to_the_gateway_is_credit_of_the_wallet_once_also_over_a_reorganization() {
    let shop = Shop::open(json!({ "confirmations": 2 }));
    let account = format!("wallet:8453:{}", shop.payer.to_lowercase());
    let credit = || {
        let path = format!("/admin/balances/{account}");
        let found = Request::get(&path).send(shop.gateway.admin).json();
        found["deposited"]
            .as_str()
            .map_or(0, |_| micro(&found["deposited"]))
    };
    eventually("the watcher to begin", || {
        shop.gateway
            .log()
            .contains("transfers are watched")
            .then_some(())
    });
    let pay = |units: u64| shop.node.transfer(&shop.payer, PAY_TO, units);
    pay(700_000).expect("a transfer");
    shop.node.mine(3).expect("blocks");
    eventually("the credit", || (credit() == 700_000).then_some(()));
    // A transfer whose block vanishes is none.
    let before = shop.node.snapshot().expect("a snapshot");
    pay(900_000).expect("a transfer");
    shop.until_transfers_are_known();
    shop.node.revert(&before).expect("it goes back");
    shop.node.mine(6).expect("other blocks");
    pay(100_000).expect("a transfer");
    shop.node.mine(3).expect("blocks");
    eventually("the credit", || (credit() == 800_000).then_some(()));
    // What settles a payment is no deposit.
    let answer = shop.buy(&shop.chat(), X402Version::V2, PaymentScheme::Exact);
    let booked = micro(&shop.settled(&answer)["settled_usd"]);
    shop.node.mine(3).expect("blocks");
    eventually("the booking", || {
        (credit() == 800_000 + booked).then_some(())
    });
    shop.node.mine(3).expect("blocks");
    shop.until_transfers_are_known();
    assert_eq!(credit(), 800_000 + booked);
}

#[test]
fn operators_see_payments_and_the_chain_in_status_metrics_and_the_books() {
    let shop = Shop::open(json!({}));
    let answer = shop.buy(&shop.chat(), X402Version::V2, PaymentScheme::Upto);
    shop.settled(&answer);
    let status = Request::get("/status").send(shop.gateway.admin).json();
    let endpoint = &status["payments"]["endpoints"][0];
    assert_eq!(endpoint["reason"], Value::Null, "{status}");
    assert_eq!(status["payments"]["pay_to"], PAY_TO);
    let metrics = || Request::get("/metrics").send(shop.gateway.admin).text();
    let lines = [
        "bardo_sale_payments{stage=\"settled\"} 1",
        "bardo_sale_usd_micro{stage=\"debt\"} 0",
        "bardo_chain_endpoints{stage=\"up\"} 1",
    ];
    for line in lines {
        assert!(metrics().contains(line), "{line}: {}", metrics());
    }
    shop.node.freeze();
    eventually("the endpoint to be set aside", || {
        metrics()
            .contains("bardo_chain_endpoints{stage=\"up\"} 0")
            .then_some(())
    });
    shop.node.thaw();
}

#[test]
fn a_chain_that_is_not_the_one_of_the_settings_refuses_the_start() {
    let node = ChainNode::start().expect("a node");
    let sandbox = Sandbox::start();
    for (more, told) in [
        (
            json!({ "network": "base-sepolia" }),
            "the endpoints are of chain 8453; chain 84532 is needed",
        ),
        (
            json!({ "settlement_key": "" }),
            "`payments.settlement_key` is required",
        ),
        (
            json!({ "settlement_key": "0x1234" }),
            "`payments.settlement_key`: a private key is 32 bytes",
        ),
        (json!({ "rpc_urls": [] }), "`payments.rpc_urls` is required"),
        (
            json!({ "rpc_quorum": 2 }),
            "`payments.rpc_quorum` is larger",
        ),
        (
            json!({ "pay_to": "0x12" }),
            "`payments.pay_to` must be an address",
        ),
        (
            json!({ "settle_first": true }),
            "`payments.settle_first` needs",
        ),
        (json!({ "schemes": [] }), "`payments.schemes` is empty"),
        (
            json!({ "min_request_usd": 1 }),
            "`payments.min_request_usd` must be above 0",
        ),
    ] {
        let folder = Folder::new();
        let config = Shop::config(&node, &sandbox, more);
        let file = folder.write("bardo.json", &config.to_string());
        let mut serve = command(&folder);
        serve.args(["serve", "--config"]).arg(file);
        let refused = Gateway::refusal(&folder, serve);
        assert!(refused.contains(told), "{told}: {refused}");
        assert!(!refused.contains(&SETTLER[2..]));
    }
}

#[test]
fn doctor_checks_the_chain_and_the_gas() {
    let node = ChainNode::start().expect("a node");
    let sandbox = Sandbox::start();
    let doctor = |more: Value| {
        let folder = Folder::new();
        let config = Shop::config(&node, &sandbox, more);
        let file = folder.write("bardo.json", &config.to_string());
        let mut doctor = command(&folder);
        doctor.args(["doctor", "--json", "--config"]).arg(file);
        let out = doctor.output().expect("it runs");
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    let told = doctor(json!({}));
    for words in [
        "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 settles payments",
        "the contracts are there",
        "millionths of an ETH",
        "it agrees with the chain",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(!told.contains(&SETTLER[2..]));
    let poor = "0x1111111111111111111111111111111111111111111111111111111111111111";
    let told = doctor(json!({ "settlement_key": poor }));
    assert!(told.contains("has no ETH"), "{told}");
    let told = doctor(json!({ "network": "base-sepolia" }));
    assert!(told.contains("chain 84532 is needed"), "{told}");
}

#[test]
fn a_gateway_that_dies_after_the_answer_settles_when_it_is_back() {
    let node = ChainNode::start().expect("a node");
    let payer = Signer::from_bytes(payer::KEY)
        .expect("a key")
        .address()
        .to_string();
    node.mint(&payer, RICH).expect("USDC");
    node.approve_permit2(&payer, RICH).expect("an allowance");
    let sandbox = Sandbox::start();
    let config = Shop::config(&node, &sandbox, json!({ "settlement_wait": "100ms" }));
    let folder = Folder::new();
    let data = folder.0.join("data");
    let start = || {
        let own = Folder::new();
        let file = own.write("config.yaml", &config.to_string());
        let mut serve = command(&own);
        serve.args(["serve", "--config"]).arg(file);
        serve.arg("--data-dir").arg(&data);
        Gateway::run(own, serve, &[])
    };
    let mut gateway = start();
    let mut body = Caller::Chat.request("gpt-5.5", "Hi", false);
    body["max_completion_tokens"] = json!(200);
    let request = Request::json(Caller::Chat.path(), &body);
    let payment = sign(
        &gateway.send(&request),
        X402Version::V2,
        PaymentScheme::Upto,
    );
    node.mines_by_itself(false).expect("it answers");
    let answer = gateway.send(&paid(&request, &payment));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    gateway.signal("KILL");
    gateway.wait();
    node.mines_by_itself(true).expect("it answers");
    node.mine(1).expect("a block");
    let gateway = start();
    let found = eventually("the settlement", || {
        let found = payment_of(&gateway, &answer);
        (found["status"] == "settled").then_some(found)
    });
    let revenue = node.balance(PAY_TO).expect("a balance");
    assert_eq!(revenue, micro(&found["settled_usd"]));
    // The payment buys nothing more, and asks for no other.
    let again = gateway.send(&paid(&request, &payment));
    refused(&again, 409, "payment_used");
    assert_eq!(again.header("payment-required"), None);
}
