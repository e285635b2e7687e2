//! Wallets that sign requests: keys for their accounts, and links with their agents (ERC-8004), on a
//! real chain.

use bardo_store::servers::ChainNode;
use bardo_x402::evm::keccak256;
use bardo_x402::identity::GatewayRequest;
use bardo_x402::wire::{PaymentScheme, X402Version};
use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::payer::{micro, now_s, paid, payment_of, refused, sign};
use crate::proof::{AGENT, AUDIENCE, owner, proven};
use crate::rig::{Gateway, Sandbox, eventually, everything};
use crate::sse::Caller;

const REVIEWER: &str = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";

/// Makes one member of a signed request wrong.
type Mistake = fn(&mut GatewayRequest);

/// A gateway that knows agents, and a wallet with money on its chain.
pub(crate) struct Bazaar {
    pub(crate) node: ChainNode,
    pub(crate) sandbox: Sandbox,
    pub(crate) gateway: Gateway,
}

impl Bazaar {
    pub(crate) fn open() -> Self {
        let node = ChainNode::start().expect("a node");
        let sandbox = Sandbox::start();
        let gateway = Gateway::start(&Self::config(&node, &sandbox));
        Self {
            node,
            sandbox,
            gateway,
        }
    }

    pub(crate) fn config(node: &ChainNode, sandbox: &Sandbox) -> Value {
        let wallet = owner().address().to_string();
        node.mint(&wallet, 10_000_000).expect("USDC");
        node.approve_permit2(&wallet, 10_000_000)
            .expect("an allowance");
        let mut config = everything(sandbox);
        config["payments"] = json!({
            "enabled": true,
            "settlement_key": "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
            "rpc_urls": [node.url()],
            "rpc_allow_private": true,
            "confirmations": 1,
            "public_url": AUDIENCE,
            "reviewers": [REVIEWER],
        });
        config
    }

    fn buy(&self) -> (Answer, u64) {
        let mut body = Caller::Chat.request("gpt-5.5", "Hi", false);
        body["max_completion_tokens"] = json!(200);
        let request = Request::json(Caller::Chat.path(), &body);
        let payment = sign(
            &self.gateway.send(&request),
            X402Version::V2,
            PaymentScheme::Upto,
        );
        let answer = self.gateway.send(&paid(&request, &payment));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let found = payment_of(&self.gateway, &answer);
        let charged = micro(&found["charged_usd"]);
        (answer, charged)
    }
}

#[test]
fn a_wallet_gets_a_key_for_its_account_by_a_signature() {
    let bazaar = Bazaar::open();
    let request = proven("/v1/keys", r#"{"name":"laptop"}"#, |_| {});
    let answer = bazaar.gateway.send(&request);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let made: Value = answer.json();
    assert_eq!(made["name"], "laptop");
    let key = format!("Bearer {}", made["key"].as_str().expect("a key"));
    let balance = Request::get("/v1/balance").with("authorization", &key);
    let balance = bazaar.gateway.send(&balance);
    assert_eq!(balance.status(), 200, "{}", balance.text());
    let account = balance.json()["account"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(account.starts_with("wallet:8453:0x"), "{account}");
    refused(&bazaar.gateway.send(&request), 401, "identity_refused");
}

#[test]
fn a_proof_with_one_wrong_member_is_refused() {
    let bazaar = Bazaar::open();
    let wrong: [(&str, Mistake); 7] = [
        ("audience", |message| {
            message.audience = "https://other.example".to_owned()
        }),
        ("method", |message| message.method = "GET".to_owned()),
        ("path", |message| message.path = "/v1/other".to_owned()),
        ("body", |message| message.body_hash = keccak256("other")),
        ("expired", |message| message.expires_at = now_s() - 1),
        ("too long", |message| message.expires_at = now_s() + 4_000),
        ("wallet", |message| {
            message.wallet = bardo_x402::evm::Address::repeat_byte(9)
        }),
    ];
    for (what, change) in wrong {
        let answer = bazaar.gateway.send(&proven("/v1/keys", "{}", change));
        assert_eq!(answer.status(), 401, "{what}: {}", answer.text());
    }
    for proof in ["", "not base64!", "e30="] {
        let request = Request::post("/v1/keys", "{}").with("x-bardo-agent-proof", proof);
        refused(&bazaar.gateway.send(&request), 400, "invalid_request");
    }
    refused(
        &bazaar.gateway.send(&Request::post("/v1/keys", "{}")),
        400,
        "invalid_request",
    );
}

#[test]
fn a_linked_wallet_pays_less_by_the_reputation_of_its_agent() {
    let bazaar = Bazaar::open();
    let (_, usual) = bazaar.buy();
    let link = |note: &str| proven("/v1/identity/link", note, |_| {});
    refused(&bazaar.gateway.send(&link("1")), 401, "identity_refused");
    bazaar
        .node
        .register(AGENT, REVIEWER, 600)
        .expect("an agent");
    refused(&bazaar.gateway.send(&link("2")), 401, "identity_refused");
    let wallet = owner().address().to_string();
    bazaar.node.register(AGENT, &wallet, 600).expect("an agent");
    let answer = bazaar.gateway.send(&link("3"));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let linked = answer.json();
    assert_eq!(linked["tier"], "trusted", "{linked}");
    assert_eq!(linked["reputation"], 600);
    let (answer, less) = bazaar.buy();
    // 12 % in place of 20 %, on the same answer.
    assert!(less < usual, "{less} {usual}");
    assert_eq!(
        (less * 120).div_ceil(112) / 10,
        usual / 10,
        "{less} {usual}"
    );
    eventually("the settlement", || {
        (payment_of(&bazaar.gateway, &answer)["status"] == "settled").then_some(())
    });
}
