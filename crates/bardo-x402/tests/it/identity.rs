//! Proofs of agents and their delegations.

use alloy_primitives::{address, b256, hex};
use bardo_x402::evm::{
    AccountSignatureError, Address, B256, EvmSignature, Signer, SigningAccount, U256, keccak256,
};
use bardo_x402::identity::*;
use bardo_x402::wire::encode_header;
use serde_json::{Value, json};

const AUDIENCE: &str = "https://gateway.example";
const BODY: &[u8] = br#"{"model":"m","messages":[]}"#;
const NOW: u64 = 1_800_000_060;
const DELEGATE: Address = address!("0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC");

/// A change of a message, and why it is refused then.
type Change<T> = (fn(&mut T), ProofRefusal);

/// The second of the test keys that local chains come with.
fn owner() -> Signer {
    Signer::from_hex("0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d").unwrap()
}

/// The third of the test keys that local chains come with.
fn delegate() -> Signer {
    Signer::from_hex("0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a").unwrap()
}

fn request() -> GatewayRequest {
    GatewayRequest {
        audience: AUDIENCE.into(),
        agent_registry: AgentRegistry::BASE,
        agent_id: U256::from(22),
        wallet: owner().address(),
        method: "POST".into(),
        path: "/v1/chat/completions".into(),
        body_hash: keccak256(BODY),
        nonce: B256::repeat_byte(0x11),
        issued_at: 1_800_000_000,
        expires_at: 1_800_000_120,
    }
}

fn delegation() -> AgentDelegation {
    AgentDelegation {
        audience: AUDIENCE.into(),
        agent_registry: AgentRegistry::BASE,
        agent_id: U256::from(22),
        owner: owner().address(),
        delegate: DELEGATE,
        scope: inference_scope(),
        max_spend: U256::from(5_000_000),
        nonce: B256::repeat_byte(0x11),
        not_before: 1_800_000_000,
        expires_at: 1_800_003_600,
    }
}

fn proof(request: GatewayRequest) -> AgentProof {
    let signature = owner().sign(request.digest()).to_bytes().to_vec();
    AgentProof {
        request,
        signature,
        delegation: None,
    }
}

fn delegated(delegation: AgentDelegation) -> AgentProof {
    let request = GatewayRequest {
        wallet: DELEGATE,
        ..request()
    };
    AgentProof {
        signature: delegate().sign(request.digest()).to_bytes().to_vec(),
        request,
        delegation: Some(SignedDelegation {
            signature: owner().sign(delegation.digest()).to_bytes().to_vec(),
            delegation,
        }),
    }
}

fn received() -> AgentRequest<'static> {
    AgentRequest {
        audience: AUDIENCE,
        registries: &[AgentRegistry::BASE],
        method: "POST",
        path: "/v1/chat/completions",
        body: BODY,
    }
}

fn verify(proof: AgentProof) -> Result<ProvenAgent, ProofRefusal> {
    let key = SigningAccount::Key;
    proof.check(&received(), NOW)?.verify(&key, &key)
}

#[test]
fn a_request_is_signed_as_other_wallets_sign_it() {
    assert_eq!(
        AgentRegistry::BASE.domain().separator(),
        b256!("0xe1c6e5f082872ef64036962a4129687533b203a1c9afab8fb7fffbed302d9c82")
    );
    let digest = request().digest();
    assert_eq!(
        digest,
        b256!("0x4ed65ee00c3f3a76dfdbe508d3e8728b33115b67854543e143871558a1a8fbf4")
    );
    let signature: EvmSignature = owner().sign(digest);
    assert_eq!(
        signature.to_string(),
        "0x1f1dceb07d7641938a78d1467a817a4ee6332a5b9fb8611a98614d9d450db9493237c6a425eff4c5ec79a03762b6bd0cba58a373edea39c84a97fe4a36e7ad181b"
    );
}

#[test]
fn a_delegation_is_signed_as_other_wallets_sign_it() {
    let digest = delegation().digest();
    assert_eq!(
        digest,
        b256!("0xd18aa03db45d14f189b439eb5d2355db4ca5f5fa7129d8827314435a75f00be1")
    );
    assert_eq!(
        owner().sign(digest).to_string(),
        "0x5e7b542ae18637b4e3f11de77e236ed68dbac57d0d0157deabf1b9384922ae2b2376ff35ad638acfcd0167a07d11e885a0d6e6c693ee9d7b210a5f7408e21bcc1b"
    );
}

#[test]
fn a_proof_speaks_for_its_wallet_or_for_the_owner_who_delegated() {
    let own = verify(proof(request())).unwrap();
    assert_eq!(own.authority, owner().address());
    assert_eq!(own.delegated, None);
    assert_eq!(own.claim.expires_at, 1_800_000_120);
    let by_delegation = verify(delegated(delegation())).unwrap();
    assert_eq!(by_delegation.wallet, DELEGATE);
    assert_eq!(by_delegation.authority, owner().address());
    let spend = by_delegation.delegated.unwrap();
    assert_eq!(spend.max_spend, U256::from(5_000_000));
}

#[test]
fn a_proof_of_another_request_or_time_is_refused() {
    use ProofRefusal::{Audience, Expired, Future, OtherRequest, Registry, TooLong};
    let sepolia = AgentRegistry {
        network: bardo_x402::token::EvmNetwork::BASE_SEPOLIA,
        ..AgentRegistry::BASE
    };
    let changes: [Change<GatewayRequest>; 8] = [
        (|r| r.audience.push('/'), Audience),
        (|r| r.method = "GET".into(), OtherRequest("method")),
        (|r| r.path.push('?'), OtherRequest("path")),
        (|r| r.body_hash.0[31] ^= 1, OtherRequest("bodyHash")),
        (|r| r.issued_at = NOW + 31, Future),
        (|r| r.expires_at = NOW, Expired("request")),
        (
            |r| r.expires_at = r.issued_at + 301,
            TooLong {
                what: "request",
                most_s: 300,
            },
        ),
        (|r| r.agent_registry.contract = DELEGATE, Registry),
    ];
    for (change, refusal) in changes {
        let mut request = request();
        change(&mut request);
        assert_eq!(verify(proof(request)), Err(refusal));
    }
    let other_chain = GatewayRequest {
        agent_registry: sepolia,
        ..request()
    };
    assert_eq!(verify(proof(other_chain)), Err(Registry));
}

#[test]
fn a_delegation_that_does_not_fit_is_refused() {
    use ProofRefusal::{Delegation, Expired, NotYet, TooLong};
    let changes: [Change<AgentDelegation>; 8] = [
        (|d| d.audience.push('/'), Delegation("audience")),
        (
            |d| d.agent_registry.contract = DELEGATE,
            Delegation("agentRegistry"),
        ),
        (|d| d.agent_id = U256::from(23), Delegation("agentId")),
        (|d| d.delegate = d.owner, Delegation("delegate")),
        (|d| d.scope = keccak256("everything"), Delegation("scope")),
        (|d| d.not_before = NOW + 1, NotYet),
        (|d| d.expires_at = NOW, Expired("delegation")),
        (
            |d| d.expires_at = d.not_before + 30 * 24 * 3_600 + 1,
            TooLong {
                what: "delegation",
                most_s: 30 * 24 * 3_600,
            },
        ),
    ];
    for (change, refusal) in changes {
        let mut delegation = delegation();
        change(&mut delegation);
        assert_eq!(verify(delegated(delegation)), Err(refusal));
    }
}

#[test]
fn a_field_that_was_changed_after_the_signature_is_refused() {
    let signer = AccountSignatureError::Signer;
    let mut other_agent = proof(request());
    other_agent.request.agent_id = U256::from(23);
    assert_eq!(
        verify(other_agent),
        Err(ProofRefusal::WalletSignature(signer))
    );
    let mut more_money = delegated(delegation());
    more_money.delegation.as_mut().unwrap().delegation.max_spend = U256::MAX;
    assert_eq!(
        verify(more_money),
        Err(ProofRefusal::OwnerSignature(signer))
    );
    let mut other_owner = delegated(delegation());
    other_owner.delegation.as_mut().unwrap().delegation.owner = DELEGATE;
    assert_eq!(
        verify(other_owner),
        Err(ProofRefusal::OwnerSignature(signer))
    );
    let contract = SigningAccount::Contract { answer: Vec::new() };
    let checked = proof(request()).check(&received(), NOW).unwrap();
    assert_eq!(checked.wallet_call()[..4], hex!("1626ba7e"));
    assert_eq!(checked.owner_call(), None);
    let by_delegate = delegated(delegation()).check(&received(), NOW).unwrap();
    let (asked, call) = by_delegate.owner_call().unwrap();
    assert_eq!(
        (asked, &call[..4]),
        (owner().address(), &hex!("1626ba7e")[..])
    );
    assert_eq!(
        checked.verify(&contract, &SigningAccount::Key),
        Err(ProofRefusal::WalletSignature(
            AccountSignatureError::Contract
        ))
    );
}

fn as_json() -> Value {
    json!({
        "type": "request",
        "message": {
            "audience": AUDIENCE, "agentRegistry": AgentRegistry::BASE.to_string(), "agentId": "22",
            "wallet": owner().address().to_string(), "method": "POST",
            "path": "/v1/chat/completions", "bodyHash": keccak256(BODY).to_string(),
            "nonce": B256::repeat_byte(0x11).to_string(),
            "issuedAt": "1800000000", "expiresAt": "1800000120",
        },
        "signature": hex::encode_prefixed(proof(request()).signature),
        "delegation": {
            "message": {
                "audience": AUDIENCE, "agentRegistry": AgentRegistry::BASE.to_string(),
                "agentId": "22", "owner": owner().address().to_string(),
                "delegate": DELEGATE.to_string(), "scope": inference_scope().to_string(),
                "maxSpend": "5000000", "nonce": B256::repeat_byte(0x11).to_string(),
                "notBefore": "1800000000", "expiresAt": "1800003600",
            },
            "signature": "0x00",
        },
    })
}

fn read(json: &Value) -> Result<AgentProof, bardo_x402::wire::MalformedMessage> {
    AgentProof::from_header(encode_header(&json.to_string()).as_bytes())
}

#[test]
fn a_header_is_read_strictly() {
    let whole = read(&as_json()).unwrap();
    assert_eq!(whole.request, request());
    assert_eq!(whole.delegation.unwrap().delegation, delegation());
    for (pointer, value) in [
        ("/type", json!("delegation")),
        ("/message/agentId", json!(22)),
        (
            "/message/agentRegistry",
            json!("eip155:8453:0x8004A169FB4a3325136EB29fA0ceB6D2e539a432"),
        ),
        ("/message/issuedAt", json!("18446744073709551616")),
        ("/message/bodyHash", Value::Null),
        ("/message/unheardOf", json!(1)),
        ("/delegation/message/unheardOf", json!(1)),
        ("/unheardOf", json!(1)),
        ("/signature", json!("x".repeat(9_000))),
    ] {
        let mut other = as_json();
        let (parent, member) = pointer.rsplit_once('/').unwrap();
        other.pointer_mut(parent).unwrap()[member] = value;
        assert!(read(&other).is_err(), "{pointer}");
    }
}

#[test]
fn registries_are_asked_by_their_selectors() {
    let selector = |name: &str| keccak256(name)[..4].to_vec();
    let id = U256::from(22);
    assert_eq!(registry::owner_of(id)[..4], selector("ownerOf(uint256)"));
    assert_eq!(
        registry::agent_wallet(id)[..4],
        selector("getAgentWallet(uint256)")
    );
    assert_eq!(
        registry::is_authorized_or_owner(DELEGATE, id)[..4],
        selector("isAuthorizedOrOwner(address,uint256)")
    );
    let call = registry::feedback_summary(id, &[DELEGATE], "a", "");
    assert_eq!(
        call[..4],
        selector("getSummary(uint256,address[],string,string)")
    );
    let word = |index: usize| U256::from_be_slice(&call[4 + index * 32..][..32]);
    let offsets = [word(1), word(2), word(3)].map(|offset| offset.to::<usize>() / 32);
    assert_eq!(offsets, [4, 6, 8]);
    assert_eq!(
        (word(4), word(6), word(8)),
        (U256::from(1), U256::from(1), U256::ZERO)
    );
    assert_eq!(registry::account(&DELEGATE.into_word()[..]), Some(DELEGATE));
    assert_eq!(registry::account(&[0; 32]), None);
    assert_eq!(registry::account(&[1; 32]), None);
    assert_eq!(registry::account(&[0; 31]), None);
}

#[test]
fn a_score_is_count_times_average_within_bounds() {
    use registry::FeedbackSummary;
    let score = |count, value, decimals| {
        let summary = FeedbackSummary {
            count,
            value,
            decimals,
        };
        summary.score()
    };
    assert_eq!(score(60, 90, 0), 54);
    assert_eq!(score(60, 9_050, 2), 54);
    assert_eq!(score(60, -1, 0), 0);
    assert_eq!(score(60, 101, 0), 60);
    assert_eq!(score(u64::MAX, i128::MAX, 18), u64::MAX);

    let words = |words: [U256; 3]| words.map(|word| word.to_be_bytes::<32>()).concat();
    let decode = |count, value, decimals| {
        let words = words([U256::from(count), value, U256::from(decimals)]);
        FeedbackSummary::decode(&words)
    };
    let negative = U256::MAX;
    assert_eq!(decode(3, negative, 2).unwrap().value, -1);
    assert_eq!(decode(3, U256::from(1) << 127, 2), None);
    assert_eq!(decode(3, U256::ZERO, 19), None);
    assert_eq!(FeedbackSummary::decode(&[0; 64]), None);
}
