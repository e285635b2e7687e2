use super::*;
use crate::venice::attestation::model_secret;
use base64::Engine as _;

const MODEL: &str = "e2ee-glm-5-1";

fn world() -> World {
    World::new(7, Vec::new())
}

fn request(more: Value) -> Recorded {
    let mut body =
        json!({ "model": "zai-org-glm-5-2", "messages": [{ "role": "user", "content": "hi" }] });
    body.as_object_mut()
        .expect("an object")
        .extend(more.as_object().expect("an object").clone());
    Recorded::test("venice", "/api/v1/chat/completions", &body)
}

fn get(world: &World, path: &str) -> Reply {
    handle(
        &Recorded::test("venice", &format!("/api/v1{path}"), &Value::Null),
        world,
    )
}

/// An encrypted request by a client that knows the model's key.
fn encrypted(world: &World, text: &str, stream: bool) -> Recorded {
    let model = model_secret(MODEL, world).public_key();
    let sealed = cipher::seal(&model, &cipher::secret(&[5; 32]), &[1; 12], text.as_bytes());
    let mut request = request(json!({ "model": MODEL, "stream": stream,
        "messages": [{ "role": "user", "content": sealed }] }));
    let client = cipher::secret(&[6; 32]).public_key();
    for (name, value) in [
        (
            "x-venice-tee-client-pub-key",
            cipher::to_hex(&cipher::public_bytes(&client)),
        ),
        (
            "x-venice-tee-model-pub-key",
            cipher::to_hex(&cipher::public_bytes(&model)),
        ),
        ("x-venice-tee-signing-algo", "ecdsa".to_owned()),
    ] {
        request.headers.insert(name, value.parse().expect("ascii"));
    }
    request
}

#[test]
fn an_answer_has_cost_and_headers() {
    let reply = handle(
        &request(json!({ "venice_parameters": { "enable_web_search": "on" } })),
        &world(),
    );
    let body = reply.body();
    assert!(body["cost"]["diem"].as_f64() > Some(0.0));
    assert_eq!(body["venice_parameters"]["enable_web_search"], "on");
    assert!(body["choices"][0]["message"]["reasoning_content"].is_string());
    assert_eq!(
        body["usage"]["prompt_tokens_details"]["cache_creation_input_tokens"],
        0
    );
    assert_eq!(reply.header("x-venice-model-id"), Some("zai-org-glm-5-2"));
    assert!(reply.header("x-venice-balance-diem").is_some());
}

#[test]
fn what_the_model_cannot_do_is_refused() {
    let tools = json!([{ "type": "function", "function": { "name": "f" } }]);
    for (more, status) in [
        (
            json!({ "venice_parameters": { "enable_web_search": true } }),
            400,
        ),
        (json!({ "venice_parameters": { "unknown": true } }), 400),
        (json!({ "reasoning_effort": "xhigh" }), 400),
        (json!({ "model": MODEL, "tools": tools }), 400),
        (json!({ "model": "deepseek-r1" }), 404),
        (json!({ "model": "default" }), 200),
        (
            json!({ "model": "kimi-k3:enable_web_search=auto&strip_thinking_response=true" }),
            200,
        ),
    ] {
        let reply = handle(&request(more.clone()), &world());
        assert_eq!(reply.status, status, "{more}");
        assert_eq!(reply.body()["error"].is_string(), status != 200);
    }
    let mut keyless = request(json!({}));
    keyless.headers.remove("authorization");
    let offered = handle(&keyless, &world());
    assert_eq!(offered.status, 402);
    assert!(offered.header("payment-required").is_some());
}

#[test]
fn an_encrypted_chat_is_ciphertext_both_ways() {
    let world = world();
    let script = r#"bardo-script: {"steps":[{"think":"hm","text":"secret words"}]}"#;
    let reply = handle(&encrypted(&world, script, true), &world);
    assert_eq!(
        (reply.status, reply.header("x-venice-tee")),
        (200, Some("true"))
    );
    let client = cipher::secret(&[6; 32]);
    let mut texts = [String::new(), String::new()];
    for event in reply.events() {
        for (at, name) in ["content", "reasoning_content"].iter().enumerate() {
            let sealed = event["choices"][0]["delta"][name]
                .as_str()
                .unwrap_or_default();
            if !sealed.is_empty() {
                assert!(sealed.len() >= 186);
                let plain = cipher::open(&client, sealed).expect("decrypts");
                texts[at].push_str(&String::from_utf8(plain).expect("text"));
            }
        }
    }
    assert_eq!(texts, ["secret words", "hm"]);
}

#[test]
fn encrypted_mode_insists_on_its_rules() {
    let world = world();
    let error = |request: &Recorded| handle(request, &world).body()["error"].clone();
    assert_eq!(
        error(&encrypted(&world, "x", false)),
        "E2EE requires streaming"
    );
    let mut plain = encrypted(&world, "x", true);
    plain.body = json!({ "model": MODEL, "stream": true,
        "messages": [{ "role": "user", "content": "plain text" }] })
    .to_string()
    .into();
    assert_eq!(error(&plain), "Encrypted field is not valid hex");
    let mut wrong_key = encrypted(&world, "x", true);
    wrong_key.headers.insert(
        "x-venice-tee-client-pub-key",
        "04ab".parse().expect("ascii"),
    );
    assert_eq!(error(&wrong_key), "Invalid public key");
    // With a header missing, the ciphertext is just text.
    let mut half = encrypted(&world, "x", true);
    half.headers.remove("x-venice-tee-signing-algo");
    assert_eq!(handle(&half, &world).status, 200);
}

#[test]
fn the_quote_binds_key_and_nonce() {
    let world = world();
    let nonce = "ab".repeat(32);
    let body = get(
        &world,
        &format!("/tee/attestation?model={MODEL}&nonce={nonce}"),
    )
    .body();
    let quote = base64::engine::general_purpose::STANDARD
        .decode(body["intel_quote"].as_str().expect("text"))
        .expect("base64");
    let key = cipher::public_from_hex(body["signing_key"].as_str().expect("hex")).expect("a key");
    assert_eq!(quote[4], 0x81);
    assert_eq!(quote[48 + 120] & 1, 0);
    assert_eq!(quote[48 + 520..48 + 540], cipher::address(&key));
    assert_eq!(quote[48 + 540..48 + 552], [0; 12]);
    assert_eq!(cipher::to_hex(&quote[48 + 552..48 + 584]), nonce);
    assert_eq!(
        get(&world, &format!("/tee/attestation?model={MODEL}&nonce=ab")).status,
        502
    );
    assert_eq!(
        get(
            &world,
            &format!("/tee/attestation?model=kimi-k3&nonce={nonce}")
        )
        .status,
        404
    );
}

#[test]
fn each_flaw_breaks_one_binding() {
    let world = world();
    let nonce = format!("{}{}", "00".repeat(16), "ff".repeat(16));
    let attest = |flaw: &str| {
        let path = format!("/api/v1/tee/attestation?model={MODEL}&nonce={nonce}");
        let mut request = Recorded::test("venice", &path, &Value::Null);
        request.faults =
            crate::fault::Faults::parse(&json!({ "kind": "attestation", "flaw": flaw }))
                .expect("known");
        let body = handle(&request, &world).body();
        let quote = base64::engine::general_purpose::STANDARD
            .decode(body["intel_quote"].as_str().expect("text"))
            .expect("base64");
        (body, quote)
    };
    assert_eq!(attest("debug").1[48 + 120] & 1, 1);
    assert_ne!(attest("nonce").0["nonce"], json!(nonce));
    let (body, quote) = attest("binding");
    let key = cipher::public_from_hex(body["signing_key"].as_str().expect("hex")).expect("a key");
    assert_ne!(quote[48 + 520..48 + 540], cipher::address(&key));
    assert_eq!(attest("unverified").0["verified"], false);
}

#[test]
fn an_answer_can_be_signed_for() {
    let world = world();
    let id = handle(&request(json!({ "model": MODEL })), &world).body()["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let body = get(
        &world,
        &format!("/tee/signature?model={MODEL}&request_id={id}"),
    )
    .body();
    assert!(body["text"].as_str().expect("text").starts_with(MODEL));
    assert_eq!(body["signature"].as_str().map(str::len), Some(2 + 130));
    assert_eq!(
        get(
            &world,
            &format!("/tee/signature?model={MODEL}&request_id=x")
        )
        .status,
        502
    );
}

#[test]
fn models_and_traits_need_no_key() {
    let world = world();
    let mut request = Recorded::test("venice", "/api/v1/models", &Value::Null);
    request.headers.remove("authorization");
    let rows = handle(&request, &world).body()["data"]
        .as_array()
        .cloned()
        .expect("rows");
    assert!(
        rows.iter()
            .all(|row| row["model_spec"]["capabilities"]["supportsTeeAttestation"].is_boolean())
    );
    assert_eq!(
        get(&world, "/models/traits").body()["data"]["default"],
        "zai-org-glm-5-2"
    );
    assert_eq!(
        get(&world, "/models?type=embedding").body()["data"][0]["id"],
        "text-embedding-bge-m3"
    );
}
