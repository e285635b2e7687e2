//! Agents that sign requests in place of a key, and wallets that ask in their name within the limit
//! of a delegation.

use bardo_store::servers::{ChainNode, PostgresServer};
use bardo_x402::evm::{Address, B256, Signer, U256, keccak256};
use bardo_x402::identity::{AgentDelegation, GatewayRequest};
use bardo_x402::wire::{PaymentScheme, X402Version};
use serde_json::{Value, json};

use crate::agents::Bazaar;
use crate::http::{Answer, Request};
use crate::payer::{micro, now_s, paid, payment_of, refused, sign};
use crate::proof::{
    AGENT, delegate, delegated, delegation, fresh_nonce, header, message, owner, proven, reading,
};
use crate::rig::{Folder, Gateway, Sandbox, command, eventually};
use crate::sse::Caller;

/// Makes one member of a signed delegation wrong.
type Mistake = fn(&mut AgentDelegation);

/// A request of at most 200 tokens, which is no other's.
fn chat(words: &str) -> String {
    limited(Caller::Chat, words)
}

fn limited(caller: Caller, words: &str) -> String {
    let mut body = caller.request("gpt-5.5", words, false);
    let member = match caller {
        Caller::Chat => "max_completion_tokens",
        Caller::Anthropic => "max_tokens",
        Caller::Responses => "max_output_tokens",
    };
    body[member] = json!(200);
    body.to_string()
}

fn account() -> String {
    format!("wallet:8453:{:#x}", owner().address())
}

/// A gateway that knows the agent of the owner, whose account has money.
fn funded(usd: &str) -> Bazaar {
    let bazaar = Bazaar::open();
    register(&bazaar.node, &owner());
    deposit(&bazaar.gateway, &account(), usd);
    bazaar
}

fn register(node: &ChainNode, owner: &Signer) {
    let owner = owner.address().to_string();
    node.register(AGENT, &owner, 0).expect("an agent");
}

#[track_caller]
fn deposit(gateway: &Gateway, account: &str, usd: &str) {
    let path = format!("/admin/balances/{account}/deposits");
    let body = json!({ "usd": usd, "create": true });
    let answer = Request::json(&path, &body).send(gateway.admin);
    assert_eq!(answer.status(), 200, "{}", answer.text());
}

/// What was spent from an account, once nothing is held any more.
#[track_caller]
fn spent(gateway: &Gateway, account: &str) -> u64 {
    eventually("nothing is held", || {
        let path = format!("/admin/balances/{account}");
        let balance = Request::get(&path).send(gateway.admin).json();
        (micro(&balance["held"]) == 0).then(|| micro(&balance["spent"]))
    })
}

/// Sends what is made for each number, all at once.
fn at_once(count: u64, send: impl Fn(u64) -> Answer + Sync) -> Vec<Answer> {
    let send = &send;
    std::thread::scope(|scope| {
        let sent: Vec<_> = (0..count)
            .map(|number| scope.spawn(move || send(number)))
            .collect();
        sent.into_iter()
            .map(|one| one.join().expect("it answers"))
            .collect()
    })
}

#[test]
fn an_agent_asks_without_a_key_from_the_balance_of_its_wallet() {
    let bazaar = funded("5");
    for caller in Caller::ALL {
        let body = limited(caller, "Hi");
        let request = proven(caller.path(), &body, |_| {});
        let answer = bazaar.gateway.send(&request);
        assert_eq!(answer.status(), 200, "{caller:?}: {}", answer.text());
        refused(&bazaar.gateway.send(&request), 401, "identity_refused");
    }
    let balance = bazaar.gateway.send(&reading("/v1/balance"));
    assert_eq!(balance.status(), 200, "{}", balance.text());
    let balance = balance.json();
    assert_eq!(balance["account"], account());
    let spent = spent(&bazaar.gateway, &account());
    assert!(spent > 0);
    // No balance, no answer: a proof does not pay.
    bazaar.sandbox.forget();
    let poor = Bazaar::open();
    register(&poor.node, &owner());
    let answer = poor
        .gateway
        .send(&proven(Caller::Chat.path(), &chat("Hi"), |_| {}));
    assert_eq!(answer.status(), 402, "{}", answer.text());
    assert!(poor.sandbox.journal().is_empty(), "a provider was called");
    // So it is for a delegate of an owner who has too little.
    deposit(&poor.gateway, &account(), "0.005");
    let answer = poor.gateway.send(&delegated(
        Caller::Chat.path(),
        &chat("Ho"),
        &delegation(4_000_000),
    ));
    assert_eq!(answer.status(), 402, "{}", answer.text());
    assert!(poor.sandbox.journal().is_empty(), "a provider was called");
}

#[test]
fn a_delegate_spends_from_the_owners_balance_up_to_the_limit_and_not_beyond() {
    let bazaar = funded("5");
    let limit = 20_000;
    let allowed = delegation(limit);
    let mut served = 0;
    let full = loop {
        let body = chat(&format!("Hi {served}"));
        let answer = bazaar
            .gateway
            .send(&delegated(Caller::Chat.path(), &body, &allowed));
        if answer.status() != 200 {
            break answer;
        }
        served += 1;
    };
    refused(&full, 429, "budget_exceeded");
    assert!(full.text().contains("maxSpend"), "{}", full.text());
    assert!(served > 0, "{}", full.text());
    let used = spent(&bazaar.gateway, &account());
    assert!(used <= limit && used > 0, "{used}");
    // It is refused before a provider is called, in each dialect.
    bazaar.sandbox.forget();
    for caller in Caller::ALL {
        let mut body: Value = serde_json::from_str(&limited(caller, "More")).expect("JSON");
        for member in ["max_completion_tokens", "max_tokens", "max_output_tokens"] {
            if body.get(member).is_some() {
                body[member] = json!(2_000);
            }
        }
        let request = delegated(caller.path(), &body.to_string(), &allowed);
        let answer = bazaar.gateway.send(&request);
        refused(&answer, 429, "budget_exceeded");
        let is_anthropic = answer.json()["type"] == "error";
        assert_eq!(
            is_anthropic,
            caller == Caller::Anthropic,
            "{}",
            answer.text()
        );
    }
    assert!(bazaar.sandbox.journal().is_empty(), "a provider was called");
    // The balance is the owner's affair.
    let answer = bazaar.gateway.send(&delegated(
        Caller::Chat.path(),
        &chat("Balance"),
        &delegation(limit),
    ));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert!(!answer.text().contains("balance"), "{}", answer.text());
    for name in ["x-bardo-balance", "x-bardo-balance-warning"] {
        assert_eq!(answer.header(name), None, "{name}");
    }
    // The owner is not bound by it, and another delegation is another limit.
    let own = bazaar
        .gateway
        .send(&proven(Caller::Chat.path(), &chat("The owner"), |_| {}));
    assert_eq!(own.status(), 200, "{}", own.text());
    assert!(own.header("x-bardo-balance").is_some());
    let other = delegated(Caller::Chat.path(), &chat("Another"), &delegation(limit));
    assert_eq!(bazaar.gateway.send(&other).status(), 200);
    // A delegation is for inference.
    let message = message(&delegate(), "GET", "/v1/balance", &[]);
    let proof = header(&delegate(), &message, Some((&delegation(limit), &owner())));
    let balance = Request::get("/v1/balance").with("x-bardo-agent-proof", &proof);
    refused(&bazaar.gateway.send(&balance), 401, "identity_refused");
    let nothing = delegated(Caller::Chat.path(), &chat("Nothing"), &delegation(0));
    refused(&bazaar.gateway.send(&nothing), 429, "budget_exceeded");
}

#[test]
fn one_nonce_is_one_answer_and_fifty_at_once_keep_to_the_limit() {
    let bazaar = funded("5");
    let limit = 30_000;
    let allowed = delegation(limit);
    let request = delegated(Caller::Chat.path(), &chat("Once"), &allowed);
    let answers = at_once(2, |_| bazaar.gateway.send(&request));
    let served = answers.iter().filter(|answer| answer.status() == 200);
    assert_eq!(served.count(), 1);
    let other = answers.iter().find(|answer| answer.status() != 200);
    refused(other.expect("one of them"), 401, "identity_refused");
    let answers = at_once(50, |number| {
        let body = chat(&format!("Hi {number}"));
        let request = delegated(Caller::Chat.path(), &body, &allowed);
        bazaar.gateway.send(&request)
    });
    let (served, others): (Vec<_>, Vec<_>) =
        answers.iter().partition(|answer| answer.status() == 200);
    assert!(!served.is_empty() && !others.is_empty(), "{}", served.len());
    for other in others {
        refused(other, 429, "budget_exceeded");
    }
    let used = spent(&bazaar.gateway, &account());
    assert!(used <= limit, "{used}");
}

#[test]
fn two_gateways_on_one_store_count_one_limit_and_one_revocation() {
    let (node, sandbox) = (ChainNode::start().expect("a node"), Sandbox::start());
    register(&node, &owner());
    let server = PostgresServer::start().expect("a database server");
    let url = server.database().expect("a database");
    let mut config = Bazaar::config(&node, &sandbox);
    config["store"] = json!({ "url": url });
    let gateways = [Gateway::start(&config), Gateway::start(&config)];
    deposit(&gateways[0], &account(), "5");
    let (limit, path) = (30_000, Caller::Chat.path());
    let allowed = delegation(limit);
    let request = delegated(path, &chat("Once"), &allowed);
    let answers = at_once(2, |number| {
        gateways[usize::from(number % 2 == 0)].send(&request)
    });
    let served = answers.iter().filter(|answer| answer.status() == 200);
    assert_eq!(served.count(), 1);
    let answers = at_once(30, |number| {
        let body = chat(&format!("Hi {number}"));
        let request = delegated(path, &body, &allowed);
        gateways[usize::from(number % 2 == 0)].send(&request)
    });
    assert!(answers.iter().any(|answer| answer.status() == 429));
    let used = spent(&gateways[0], &account());
    assert!(used <= limit, "{used}");
    let fresh = delegation(limit);
    let revoked = gateways[0].send(&revoke(fresh.nonce));
    assert_eq!(revoked.status(), 200, "{}", revoked.text());
    let answer = gateways[1].send(&delegated(path, &chat("Late"), &fresh));
    refused(&answer, 401, "identity_refused");
}

fn revoke(nonce: B256) -> Request {
    let body = json!({ "nonce": nonce.to_string() }).to_string();
    proven("/v1/identity/delegations/revoke", &body, |_| {})
}

#[test]
fn an_owner_takes_a_delegation_back_and_nobody_else_does() {
    let bazaar = funded("5");
    let path = Caller::Chat.path();
    let allowed = delegation(1_000_000);
    let ask = |words: &str| {
        bazaar
            .gateway
            .send(&delegated(path, &chat(words), &allowed))
    };
    assert_eq!(ask("one").status(), 200);
    let body = json!({ "nonce": allowed.nonce.to_string() }).to_string();
    let place = "/v1/identity/delegations/revoke";
    // A wallet without authority over its agent revokes nothing, and with it, delegations of its own
    // alone.
    let foreign = |agent: u64| {
        let mut message = message(&delegate(), "POST", place, body.as_bytes());
        message.agent_id = U256::from(agent);
        let proof = header(&delegate(), &message, None);
        let request = Request::post(place, body.as_str()).with("x-bardo-agent-proof", &proof);
        bazaar.gateway.send(&request)
    };
    refused(&foreign(AGENT), 401, "identity_refused");
    let other = delegate().address().to_string();
    bazaar
        .node
        .register(AGENT + 1, &other, 0)
        .expect("an agent");
    assert_eq!(foreign(AGENT + 1).status(), 200);
    assert_eq!(ask("two").status(), 200);
    refused(
        &bazaar.gateway.send(&delegated(place, &body, &allowed)),
        401,
        "identity_refused",
    );
    for bad in ["", "{}", r#"{"nonce":"0x1"}"#] {
        let answer = bazaar.gateway.send(&proven(place, bad, |_| {}));
        refused(&answer, 400, "invalid_request");
    }
    for _ in 0..2 {
        let answer = bazaar.gateway.send(&revoke(allowed.nonce));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_eq!(answer.json()["status"], "revoked");
        let answer = ask("three");
        refused(&answer, 401, "identity_refused");
        assert!(answer.text().contains("revoked"), "{}", answer.text());
    }
}

#[test]
fn a_proof_of_work_with_one_wrong_part_is_refused_and_no_provider_is_called() {
    let bazaar = funded("5");
    let (path, body) = (Caller::Chat.path(), chat("Hi"));
    let send = |message: &GatewayRequest, given: &AgentDelegation, by: &Signer| {
        let proof = header(&delegate(), message, Some((given, by)));
        let request = Request::post(path, body.as_str()).with("x-bardo-agent-proof", &proof);
        bazaar.gateway.send(&request)
    };
    let right = || message(&delegate(), "POST", path, body.as_bytes());
    let wrong: [(&str, Mistake); 9] = [
        ("audience", |one| one.audience.push('/')),
        ("registry", |one| {
            one.agent_registry.contract = Address::repeat_byte(7)
        }),
        ("agent", |one| one.agent_id = U256::from(AGENT + 1)),
        ("delegate", |one| one.delegate = one.owner),
        ("owner", |one| one.owner = Address::repeat_byte(9)),
        ("scope", |one| one.scope = keccak256("everything")),
        ("not yet", |one| one.not_before = now_s() + 600),
        ("over", |one| one.expires_at = now_s() - 1),
        ("too long", |one| {
            one.expires_at = one.not_before + 31 * 24 * 3_600
        }),
    ];
    for (what, change) in wrong {
        let mut given = delegation(1_000_000);
        change(&mut given);
        let answer = send(&right(), &given, &owner());
        assert_eq!(answer.status(), 401, "{what}: {}", answer.text());
    }
    // A delegation that its owner did not sign, and one of somebody who does not own the agent.
    let answer = send(&right(), &delegation(1_000_000), &delegate());
    refused(&answer, 401, "identity_refused");
    let foreign = AgentDelegation {
        owner: delegate().address(),
        ..delegation(1_000_000)
    };
    let answer = send(&right(), &foreign, &delegate());
    refused(&answer, 401, "identity_refused");
    // The delegate alone has no authority, and another body is another request.
    let proof = header(&delegate(), &right(), None);
    let alone = Request::post(path, body.as_str()).with("x-bardo-agent-proof", &proof);
    refused(&bazaar.gateway.send(&alone), 401, "identity_refused");
    let good = delegation(1_000_000);
    let proof = header(&delegate(), &right(), Some((&good, &owner())));
    let other = Request::post(path, chat("ho")).with("x-bardo-agent-proof", &proof);
    refused(&bazaar.gateway.send(&other), 401, "identity_refused");
    let twice = delegated(path, &body, &good).with("x-bardo-agent-proof", &proof);
    refused(&bazaar.gateway.send(&twice), 400, "invalid_request");
    let packed = delegated(path, &body, &good).with("content-encoding", "gzip");
    assert_eq!(bazaar.gateway.send(&packed).status(), 415);
    assert!(bazaar.sandbox.journal().is_empty(), "a provider was called");
    // A sale of the agent ends it, and a chain that does not answer proves nothing.
    let ask = |words: &str| bazaar.gateway.send(&delegated(path, &chat(words), &good));
    assert_eq!(ask("one").status(), 200);
    register(&bazaar.node, &delegate());
    refused(&ask("two"), 401, "identity_refused");
    register(&bazaar.node, &owner());
    assert_eq!(ask("three").status(), 200);
    bazaar.node.freeze();
    refused(&ask("four"), 503, "payment_pending");
    bazaar.node.thaw();
}

/// A key of an account with money, made by the operator.
fn key(gateway: &Gateway, scopes: &Value) -> Value {
    let body = json!({ "deposit_usd": "5", "scopes": scopes });
    Request::json("/admin/keys", &body)
        .send(gateway.admin)
        .json()
}

fn link(gateway: &Gateway, key: &Value) -> Answer {
    let bearer = format!("Bearer {}", key["key"].as_str().expect("a key"));
    let note = fresh_nonce().to_string();
    let request = proven("/v1/identity/link", &note, |_| {});
    gateway.send(&request.with("authorization", &bearer))
}

#[test]
fn a_linked_agent_draws_on_the_account_of_the_key_for_as_long_as_the_key_is_good() {
    let bazaar = funded("1");
    let gateway = &bazaar.gateway;
    let made = key(gateway, &json!(["spend-total=0.05", "backends=openrouter"]));
    let answer = link(gateway, &made);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let linked = made["account"].as_str().expect("an account");
    assert_eq!(answer.json()["account"], linked);
    let path = Caller::Chat.path();
    let own = gateway.send(&proven(path, &chat("Hi"), |_| {}));
    assert_eq!(own.status(), 200, "{}", own.text());
    let good = delegation(20_000);
    assert_eq!(
        gateway.send(&delegated(path, &chat("Ho"), &good)).status(),
        200
    );
    assert!(spent(gateway, linked) > 0);
    assert_eq!(spent(gateway, &account()), 0);
    // The limits of the key hold, and no key without them is to be had.
    let mut long: Value = serde_json::from_str(&chat("Long")).expect("JSON");
    long["max_completion_tokens"] = json!(3_000);
    let answer = gateway.send(&proven(path, &long.to_string(), |_| {}));
    refused(&answer, 429, "budget_exceeded");
    let answer = gateway.send(&proven("/v1/keys", "{}", |_| {}));
    refused(&answer, 400, "invalid_request");
    // A new link does not begin a delegation anew.
    let second = key(gateway, &json!([]));
    assert_eq!(link(gateway, &second).status(), 200);
    let answer = gateway.send(&delegated(path, &chat("Again"), &good));
    refused(&answer, 401, "identity_refused");
    let answer = gateway.send(&proven("/v1/keys", "{}", |_| {}));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert_eq!(answer.json()["account"], second["account"]);
    // A key that ends gives none that does not.
    let body = json!({ "deposit_usd": "5", "expires": "1h" });
    let ending = Request::json("/admin/keys", &body).send(gateway.admin);
    assert_eq!(link(gateway, &ending.json()).status(), 200);
    let answer = gateway.send(&proven("/v1/keys", "{}", |_| {}));
    refused(&answer, 400, "invalid_request");
    assert_eq!(link(gateway, &second).status(), 200);
    // A revoked key takes the link with it.
    let id = second["id"].as_str().expect("an id");
    let revoked = Request::post(&format!("/admin/keys/{id}/revoke"), "").send(gateway.admin);
    assert_eq!(revoked.status(), 200, "{}", revoked.text());
    for (path, body) in [(path, chat("Late")), ("/v1/keys", "{}".to_owned())] {
        let answer = gateway.send(&proven(path, &body, |_| {}));
        refused(&answer, 401, "identity_refused");
    }
}

#[test]
fn a_key_beside_a_proof_is_refused_and_a_payment_beside_it_pays() {
    let bazaar = funded("1");
    let gateway = &bazaar.gateway;
    let made = key(gateway, &json!([]));
    let bearer = format!("Bearer {}", made["key"].as_str().expect("a key"));
    let (path, body) = (Caller::Chat.path(), chat("Hi"));
    let both = proven(path, &body, |_| {}).with("authorization", &bearer);
    refused(&gateway.send(&both), 400, "invalid_request");
    // SDKs insist on sending something.
    let placeholder = proven(path, &body, |_| {}).with("authorization", "Bearer sk-none");
    assert_eq!(gateway.send(&placeholder).status(), 200);
    let before = spent(gateway, &account());
    let body = chat("Paid");
    let offered = gateway.send(&Request::post(path, body.as_str()));
    let payment = sign(&offered, X402Version::V2, PaymentScheme::Upto);
    let answer = gateway.send(&paid(&proven(path, &body, |_| {}), &payment));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let found = payment_of(gateway, &answer);
    assert_eq!(found["account"], account());
    let charged = micro(&found["charged_usd"]);
    bazaar.node.mine(2).expect("blocks");
    eventually("the payment is booked", || {
        (spent(gateway, &account()) == before + charged).then_some(())
    });
    let path = format!("/admin/balances/{}", account());
    let balance = Request::get(&path).send(gateway.admin).json();
    let left = micro(&balance["available"]);
    assert_eq!(left, 1_000_000 - before, "the balance paid a second time");
}

#[test]
fn a_wallet_uses_nothing_at_the_operators_cost() {
    let bazaar = funded("1");
    let gateway = &bazaar.gateway;
    let answer = gateway.send(&proven("/v1/keys", "{}", |_| {}));
    let bearer = format!("Bearer {}", answer.json()["key"].as_str().expect("a key"));
    let body = Caller::Chat.request("local-small", "Hi", false);
    let path = Caller::Chat.path();
    let by_key = Request::json(path, &body).with("authorization", &bearer);
    let by_proof = proven(path, &body.to_string(), |_| {});
    for request in [by_key, by_proof] {
        let answer = gateway.send(&request);
        assert_ne!(answer.status(), 200, "{}", answer.text());
    }
    assert!(bazaar.sandbox.journal().is_empty(), "a backend was called");
}

#[test]
fn junk_proofs_of_one_address_are_limited_before_the_chain_is_read() {
    let (node, sandbox) = (ChainNode::start().expect("a node"), Sandbox::start());
    let mut config = Bazaar::config(&node, &sandbox);
    config["limits"] = json!({ "requests_per_minute": 5 });
    let gateway = Gateway::start(&config);
    for path in ["/v1/keys", Caller::Chat.path()] {
        let mut statuses: Vec<u16> = (0..8)
            .map(|_| {
                let stranger = |message: &mut GatewayRequest| {
                    message.wallet = Address::repeat_byte(9);
                };
                let request = proven(path, &chat("Hi"), stranger);
                gateway.send(&request).status()
            })
            .collect();
        statuses.dedup();
        assert_eq!(statuses.last(), Some(&429), "{path}: {statuses:?}");
    }
}

/// The code of a contract that returns the first bytes of a word.
fn returning(word: &str, length: u8) -> String {
    format!("0x7f{word:0<64}60005260{length:02x}6000f3")
}

#[test]
fn a_wallet_that_is_a_contract_speaks_by_its_affirmation_alone() {
    let bazaar = funded("5");
    let path = Caller::Chat.path();
    let address = owner().address().to_string();
    let ask = |code: &str, words: &str| {
        let set = bazaar.node.call("anvil_setCode", &json!([address, code]));
        set.expect("it has code");
        let given = delegation(100_000);
        let proof = delegated(path, &chat(words), &given);
        bazaar.gateway.send(&proof)
    };
    let magic = "1626ba7e";
    assert_eq!(ask(&returning(magic, 32), "good").status(), 200);
    for (code, what) in [
        (returning("ffffffff", 32), "another word"),
        (returning(magic, 31), "31 bytes"),
        ("0x60006000fd".to_owned(), "a revert"),
        ("0x5b600056".to_owned(), "a loop"),
        (
            format!("0xef0100{}", "11".repeat(20)),
            "an account of EIP-7702",
        ),
    ] {
        let answer = ask(&code, what);
        assert_eq!(answer.status(), 401, "{what}: {}", answer.text());
    }
    let answer = ask("0x", "a key");
    assert_eq!(answer.status(), 200, "{}", answer.text());
}

#[test]
fn a_limit_and_a_used_nonce_outlive_the_process() {
    let (node, sandbox) = (ChainNode::start().expect("a node"), Sandbox::start());
    register(&node, &owner());
    let config = Bazaar::config(&node, &sandbox);
    let data = Folder::new();
    let start = || {
        let own = Folder::new();
        let file = own.write("config.yaml", &config.to_string());
        let mut serve = command(&own);
        serve.args(["serve", "--config"]).arg(file);
        serve.arg("--data-dir").arg(data.0.join("data"));
        Gateway::run(own, serve, &[])
    };
    let mut gateway = start();
    deposit(&gateway, &account(), "5");
    let path = Caller::Chat.path();
    let allowed = delegation(12_000);
    let mut body: Value = serde_json::from_str(&chat("Hi")).expect("JSON");
    body["stream"] = json!(true);
    let request = delegated(path, &body.to_string(), &allowed);
    let answer = gateway.send(&request);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert!(answer.text().contains("[DONE]"), "{}", answer.text());
    let before = spent(&gateway, &account());
    assert!(before > 0);
    gateway.signal("KILL");
    gateway.wait();
    let gateway = start();
    refused(&gateway.send(&request), 401, "identity_refused");
    let mut served = 0;
    while gateway
        .send(&delegated(path, &chat(&format!("{served}")), &allowed))
        .status()
        == 200
    {
        served += 1;
    }
    let used = spent(&gateway, &account());
    assert!(used <= 12_000, "{before} {used}");
}
